// The checkers of device worlds, one maker each. Numbers are those of the architecture.
#pragma once

#include <memory>

#include "postrider/sim/checkers/all.h"
#include "postrider/sim/fields/device/peers/meter_ledger.h"

namespace postrider::sim {

// 21: what the meters really did, and what was said about it
std::unique_ptr<Checker> make_meter_checker(const CheckerContext& context, Notebook& notebook,
                                            const MeterLedger& ledger);
CheckerMaker make_event_checker;  // 22: one end, one event; and the first start has one, too
CheckerMaker make_proof_checker;  // 23: an act is sent again only when the former attempt is closed
CheckerMaker make_places_checker;  // 24: places of gateways and devices, spacing, order of acts
CheckerMaker make_radio_checker;   // 25: news of a network server reaches its command

}  // namespace postrider::sim
