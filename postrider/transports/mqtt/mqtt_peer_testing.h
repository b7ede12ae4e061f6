// What the tests of the MQTT transport talk to: the broker of Debian as a process, a second client,
// and scripted brokers that misbehave (Peer of the HTTP tests, with the packets below).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <boost/asio/io_context.hpp>

#include "postrider/transports/http/peers_testing.h"
#include "postrider/transports/mqtt/mqtt_transport.h"

namespace postrider {

// Packets of MQTT 3.1.1, as a broker sends them.
std::string mqtt_connack(int code = 0);
std::string mqtt_suback(std::uint16_t id, const std::vector<int>& granted);
std::string mqtt_puback(std::uint16_t id);
std::string mqtt_publish(std::string_view topic, std::string_view bytes, std::uint16_t id);

// A mosquitto of its own, on loopback, with its files in a directory that goes away with it.
class Broker {
 public:
  static bool is_installed();
  // $DIR in the settings is the directory, and the files are there when it starts.
  explicit Broker(std::string more_settings, const std::map<std::string, std::string>& files = {});
  ~Broker();
  Broker(const Broker&) = delete;
  Broker& operator=(const Broker&) = delete;
  void stop();
  void restart();  // at the same port
  std::uint16_t port() const { return port_; }

 private:
  void write(const std::string& name, const std::string& text) const;
  bool run();
  std::string directory_;
  std::string more_settings_;
  std::uint16_t port_ = 0;
  int process_ = 0;
};

class MqttRig {
 public:
  struct Event {
    std::string topic;
    std::string bytes;
    MqttTransport::Durable durable;
  };
  static MqttTransportOptions local(std::uint16_t port, const std::string& client_id = "postrider");
  explicit MqttRig(boost::asio::io_context& context) : loop(context) {}
  ~MqttRig();

  void open(MqttTransportOptions options);  // its clock is ours
  void open_ready(MqttTransportOptions options);
  AttemptId start(const std::string& topic, std::string_view body = "{}", Duration time_out = 15s);
  WireReply end_of(AttemptId attempt);  // waits for it, and that it comes once
  bool has_ended(AttemptId attempt) const { return ended.contains(attempt.value()); }
  void until(const std::function<bool()>& so);  // a test that waits in vain fails
  void settle();
  void advance(Duration time);  // and sweep

  boost::asio::io_context& loop;
  Timestamp now{1'000'000};
  std::map<std::uint64_t, std::vector<WireReply>> ended;
  std::vector<Event> events;
  std::optional<bool> verdict = true;  // on each event, at once; none: the test calls `durable`
  std::unique_ptr<MqttTransport> transport;

 private:
  std::uint64_t next_ = 1;
};

}  // namespace postrider
