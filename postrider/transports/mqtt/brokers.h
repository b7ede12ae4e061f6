// Brokers: every MQTT broker of the configuration. Commands go out by a request whose target is
// "BROKER TOPIC"; events come in, are told to the engine, and are acknowledged to their broker when
// the engine's answer says that they are durable. On the loop's thread; owned by the node.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "postrider/base/result.h"
#include "postrider/model/answer.h"
#include "postrider/model/event.h"
#include "postrider/model/seams/transport.h"
#include "postrider/transports/mqtt/mqtt_transport.h"

namespace postrider {

struct BrokerOptions {
  std::string name;    // without blanks
  std::string source;  // what brings events by it; empty: the broker takes commands only
  MqttTransportOptions mqtt;
};

// Of the events of one broker.
struct BrokerCounts {
  std::uint64_t taken = 0;      // durable, doubles among them
  std::uint64_t unknown = 0;    // topics and words that nobody knows; acknowledged
  std::uint64_t malformed = 0;  // bytes that are no event, or too many; acknowledged
  std::uint64_t refused = 0;    // by the engine, for good; acknowledged
  std::uint64_t put_off = 0;    // the door was shut: the broker sends them again
};

struct BrokerState {
  std::string_view name;
  bool ready = false;
  std::string problem;  // why it is not ready; or of the last event that was refused
  BrokerCounts counts;
};

// What a broker brought.
struct BrokerEvent {
  std::string_view source;  // of the broker's options
  std::string_view topic;
  std::string_view bytes;  // as they came
};

// The event as the engine takes it; the same event, brought twice, has the same key. kNotFound for
// a source, topic or word that no profile knows; any other Error for bytes that are no such event.
using MakeArrival = std::function<Result<Arrived>(const BrokerEvent& event)>;

class Brokers final : public Transport {
 public:
  using Ended = MqttTransport::Ended;
  struct Hooks {
    Ended ended;
    // False: the engine takes nothing now, and `done` is not called.
    std::function<bool(Arrived, std::function<void(const Answer&)> done)> post;
    MakeArrival arrival;
  };

  // An Error names the broker and the option that is wrong.
  static Result<std::unique_ptr<Brokers>> make(boost::asio::io_context& loop,
                                               std::vector<BrokerOptions> brokers, Hooks hooks);
  ~Brokers() override;
  Brokers(const Brokers&) = delete;
  Brokers& operator=(const Brokers&) = delete;

  void start(AttemptId attempt, WireRequest request) override;  // no such broker: kNoName
  void abort(AttemptId attempt) override;
  std::size_t connections() const override;
  std::vector<BrokerState> states() const;

 private:
  class Impl;
  explicit Brokers(std::shared_ptr<Impl> impl);
  std::shared_ptr<Impl> impl_;  // shared with nobody; answers that come later watch it weakly
};

}  // namespace postrider
