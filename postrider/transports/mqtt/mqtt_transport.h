// MqttTransport: commands to and events from one MQTT broker (3.1.1), on the loop's thread. Stays
// connected by itself; decides nothing and repeats nothing.
//
// A request's target is a topic, its body what is published there with QoS 1; verb and headers are
// not used. How sure an end is:
//   kRefused              not connected, or nothing of it has left before the connection was lost
//   kNoName, kForbidden   no topic to publish to; too large
//   kTimedOut, kReset     may have left, and the broker has not acknowledged it
//   kAnswered, status 0   the broker has it
//
// Events come with their bytes and a `durable` to call once, now or later, on the loop's thread.
// They are acknowledged to the broker when all that came together are durable, and never before;
// after durable(false), a lost connection or a crash the broker sends them again, so whoever takes
// them must know doubles. While events are not durable yet nothing is read and nothing leaves,
// publishes included.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "postrider/base/result.h"
#include "postrider/base/time.h"
#include "postrider/model/seams/transport.h"

namespace boost::asio {
class io_context;
}

namespace postrider {

struct MqttTransportOptions {
  std::string host;  // a name, or an address; IPv6 in brackets
  std::uint16_t port = 1883;
  bool tls = false;
  std::string trust;       // certificates in PEM that are trusted instead of trust_file's
  std::string trust_file;  // PEM; empty: the system's
  std::string client_id;   // the broker keeps the session under it, so it must stay the same
  std::string user;        // empty: none
  std::string password;
  std::vector<std::string> subscriptions;  // filters, "application/+/device/+/event/+"
  std::uint32_t publishes_max = 1000;      // not acknowledged yet; more are refused
  std::uint32_t publish_bytes_max = 256 * 1024;
  std::uint32_t events_max = 64;                // of one round of acknowledgements
  std::uint32_t event_bytes_max = 1024 * 1024;  // larger ones are counted and acknowledged
  Duration keep_alive{60'000};
  Duration connect_time_out{10'000};  // until the broker has taken us and our subscriptions
  Duration publish_time_out_max{60'000};
  Duration back_off_min{1'000};  // before connecting again; doubles
  Duration back_off_max{60'000};
  std::vector<std::string> allow;         // "127.0.0.0/8": private ranges we may reach
  std::vector<std::string> name_servers;  // "127.0.0.1:5353"; none: the system's
  std::function<Timestamp()> now;         // for tests; none: the steady clock
};

struct MqttTransportCounts {
  std::uint64_t connects = 0;   // begun
  std::uint64_t published = 0;  // acknowledged
  std::uint64_t events = 0;     // handed up
  std::uint64_t oversized = 0;  // events above event_bytes_max: acknowledged, not handed up
};

// What make() says about the options before it touches anything. The Error names the option.
Result<void> check_mqtt_options(const MqttTransportOptions& options);

class MqttTransport final : public Transport {
 public:
  // Neither is called from inside start(). Both may start, abort and close, but not destroy the
  // transport.
  using Ended = std::function<void(AttemptId, WireReply)>;
  using Durable = std::function<void(bool)>;
  using Arrived = std::function<void(std::string_view topic, std::string_view bytes, Durable)>;

  // Connects by itself. An Error names the option that is wrong.
  static Result<std::unique_ptr<MqttTransport>> make(boost::asio::io_context& loop,
                                                     MqttTransportOptions options, Ended ended,
                                                     Arrived arrived);
  ~MqttTransport() override;
  MqttTransport(const MqttTransport&) = delete;
  MqttTransport& operator=(const MqttTransport&) = delete;

  void start(AttemptId attempt, WireRequest request) override;
  void abort(AttemptId attempt) override;
  std::size_t connections() const override;
  bool ready() const;           // connected and subscribed
  std::string problem() const;  // why it is not, as far as known
  MqttTransportCounts counts() const;
  void sweep();  // what its own timer does; for tests that move the clock
  void close();  // leaves the broker; nothing is told afterwards

 private:
  class Impl;
  explicit MqttTransport(std::shared_ptr<Impl> impl);
  std::shared_ptr<Impl> impl_;  // shared with nobody; handlers watch it weakly
};

}  // namespace postrider
