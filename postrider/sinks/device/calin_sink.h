// The modelled vendor as a far side: its HTTP API in one of two versions, and on the same port the
// control endpoint (sinks/device/meter_control.h).
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "postrider/base/result.h"
#include "postrider/sim/fields/device/peers/vendor.h"
#include "postrider/sinks/common/far_side.h"

namespace postrider {

struct CalinSinkOptions {
  std::string listen = "0";  // "PORT" on loopback or "ADDRESS:PORT"; 0 is any
  sim::VendorOptions vendor;
  sim::VendorFaults faults;
  std::uint64_t seed = 1;
};

// An Error names the option that is wrong, or why the port cannot be had.
Result<std::unique_ptr<FarSide>> open_calin_sink(CalinSinkOptions options);

}  // namespace postrider
