// ChirpstackSink: the modelled network server as a real process's far side: gRPC over HTTP/2 for
// commands, events as POSTs to a URL and over MQTT, and a control endpoint (sinks/sink_control.h).
// For `postrider sink chirpstack`, the demo and tests with real processes. One thread, whoever
// calls run(); stop() may come from others.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "postrider/base/result.h"
#include "postrider/base/time.h"
#include "postrider/sim/fields/device/peers/network_server.h"

namespace postrider {

struct ChirpstackSinkOptions {
  std::string grpc = "0";           // "PORT" on loopback or "ADDRESS:PORT"; 0 is any
  std::string control = "0";        // the same
  std::vector<std::string> events;  // URLs; each event goes to each, once
  std::string header_name;          // of every event: a shared secret, say
  std::string header_value;
  std::string mqtt_host;  // empty: no MQTT
  std::uint16_t mqtt_port = 1883;
  std::string mqtt_client = "postrider-sink";
  Duration event_time_out{5'000};  // then the event is lost: the real server does not repeat
  sim::NetworkServerOptions server;
  sim::NetworkFaults faults;
  std::uint64_t seed = 1;
};

struct ChirpstackSinkCounts {
  std::uint64_t posted = 0;   // answered with 2xx
  std::uint64_t unheard = 0;  // not
};

class ChirpstackSink {
 public:
  // An Error names the option that is wrong, or why a port cannot be had.
  static Result<std::unique_ptr<ChirpstackSink>> open(ChirpstackSinkOptions options);
  ~ChirpstackSink();
  ChirpstackSink(const ChirpstackSink&) = delete;
  ChirpstackSink& operator=(const ChirpstackSink&) = delete;

  std::string grpc_address() const;
  std::string control_address() const;
  void run(bool until_signal);  // until stop(), or SIGINT or SIGTERM
  void stop();                  // any thread
  std::string summary() const;  // when it has stopped

 private:
  class Impl;
  explicit ChirpstackSink(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace postrider
