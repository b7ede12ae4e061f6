// The modelled Matrix server as a far side: federation over TLS, and on a port of its own, in clear
// text, what it counted.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "postrider/base/result.h"
#include "postrider/sim/fields/matrix/receiver.h"
#include "postrider/sinks/common/far_side.h"
#include "postrider/sinks/common/sink_listener.h"

namespace postrider {

struct MatrixSinkOptions {
  std::string listen = "0";   // "PORT" on loopback or "ADDRESS:PORT"; 0 is any
  std::string control = "0";  // likewise
  SinkTls tls;                // without files: clear text
  sim::ReceiverOptions receiver;
  sim::ReceiverFaults faults;
  std::uint64_t seed = 1;
};

// The control port:
//   GET /counts   what came and what became of it
//   GET /applied  every event and message to devices, in their order: {"id", "room", "times"}
//   POST /faults  {"fail":…, "fail_status":…, "lose_answers":…, "hang":…, "slow_ms":…}: those given
//
// An Error names the option that is wrong, or why a port cannot be had.
Result<std::unique_ptr<FarSide>> open_matrix_sink(MatrixSinkOptions options);

}  // namespace postrider
