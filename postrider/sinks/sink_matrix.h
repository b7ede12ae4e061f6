// MatrixSink: the modelled Matrix server as a real process's far side: federation over TLS, and on
// a port of its own, in clear text, what it counted. For `postrider sink matrix` and tests with
// real processes. One thread, whoever calls run(); stop() may come from others.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "postrider/base/result.h"
#include "postrider/sim/fields/matrix/receiver.h"
#include "postrider/sinks/sink_listener.h"

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
class MatrixSink {
 public:
  // An Error names the option that is wrong, or why the port cannot be had.
  static Result<std::unique_ptr<MatrixSink>> open(MatrixSinkOptions options);
  ~MatrixSink();
  MatrixSink(const MatrixSink&) = delete;
  MatrixSink& operator=(const MatrixSink&) = delete;

  std::string address() const;
  std::string control_address() const;
  void run(bool until_signal);  // until stop(), or SIGINT or SIGTERM
  void stop();                  // any thread
  std::string summary() const;  // when it has stopped

 private:
  class Impl;
  explicit MatrixSink(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace postrider
