// CalinSink: the modelled vendor as a real process's far side: its HTTP API in one of two versions,
// and on the same port the control endpoint (sinks/sink_control.h). For `postrider sink calin`, the
// demo and tests with real processes. One thread, whoever calls run(); stop() may come from others.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "postrider/base/result.h"
#include "postrider/sim/fields/device/peers/vendor.h"

namespace postrider {

struct CalinSinkOptions {
  std::string listen = "0";  // "PORT" on loopback or "ADDRESS:PORT"; 0 is any
  sim::VendorOptions vendor;
  sim::VendorFaults faults;
  std::uint64_t seed = 1;
};

class CalinSink {
 public:
  // An Error names the option that is wrong, or why the port cannot be had.
  static Result<std::unique_ptr<CalinSink>> open(CalinSinkOptions options);
  ~CalinSink();
  CalinSink(const CalinSink&) = delete;
  CalinSink& operator=(const CalinSink&) = delete;

  std::string address() const;
  void run(bool until_signal);  // until stop(), or SIGINT or SIGTERM
  void stop();                  // any thread
  std::string summary() const;  // when it has stopped

 private:
  class Impl;
  explicit CalinSink(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace postrider
