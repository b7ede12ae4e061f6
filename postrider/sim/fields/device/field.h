// The field of metering devices: queues whose commands go to network servers and vendors, meters
// behind them, and consumers of events, which are webhooks.
#pragma once

#include "postrider/sim/world/field.h"

namespace postrider::sim {

const Field& device_field();

}  // namespace postrider::sim
