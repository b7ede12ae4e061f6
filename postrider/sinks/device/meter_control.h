// What can be seen and set in a far side with meters behind it, over HTTP while it runs:
//
//   GET /ledger[?meter=M]   what the meters were told and what they did
//   GET /faults             all switches; POST sets some ({"lose-events": 20}), DELETE all to "off"
//
// The bodies of these, as pure functions; each far side adds the paths that only it has.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "postrider/base/result.h"
#include "postrider/sim/fields/device/peers/meter_ledger.h"
#include "postrider/sim/fields/device/peers/network_server.h"
#include "postrider/sim/fields/device/peers/vendor.h"
#include "postrider/sinks/common/sink_control.h"

namespace postrider {

// Tokens are shown by their last digits only. Of all meters when `meter` is empty.
std::string render_ledger(const sim::MeterLedger& ledger, std::string_view meter);

std::string render_faults(const sim::NetworkFaults& faults);
std::string render_faults(const sim::VendorFaults& faults);
// All of the body or nothing. kInvalid names what is wrong.
Result<void> read_faults(std::string_view body, sim::NetworkFaults& faults);
Result<void> read_faults(std::string_view body, sim::VendorFaults& faults);

// Answers what both sinks have; nothing for another path.
template <class Faults>
std::optional<SinkControlAnswer> answer_control(std::string_view method, std::string_view target,
                                                std::string_view body,
                                                const sim::MeterLedger& ledger, Faults& faults) {
  const SinkTarget where = split_target(target);
  if (where.path == "/ledger") {
    if (method != "GET") return control_error(405, "the ledger can only be read");
    return SinkControlAnswer{200, render_ledger(ledger, query_word(where.query, "meter"))};
  }
  if (where.path != "/faults") return std::nullopt;
  if (method == "DELETE") {
    faults = {};
  } else if (method == "POST") {
    if (const Result<void> set = read_faults(body, faults); !set)
      return control_error(400, set.error().detail);
  } else if (method != "GET") {
    return control_error(405, "faults can be read, set and deleted");
  }
  return SinkControlAnswer{200, render_faults(faults)};
}

}  // namespace postrider
