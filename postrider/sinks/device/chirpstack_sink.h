// The modelled network server as a far side: gRPC over HTTP/2 for commands, events as POSTs to a
// URL and over MQTT, and a control endpoint (sinks/device/meter_control.h).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "postrider/base/result.h"
#include "postrider/base/time.h"
#include "postrider/sim/fields/device/peers/network_server.h"
#include "postrider/sinks/common/far_side.h"

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

// Its address() is that of gRPC. An Error names the option that is wrong, or why a port cannot be
// had.
Result<std::unique_ptr<FarSide>> open_chirpstack_sink(ChirpstackSinkOptions options);

}  // namespace postrider
