// MqttLink: one connection to a broker, by libmosquitto driven from our loop. Made for one
// connection and thrown away with it: the library would else send again by itself what was not
// acknowledged, and that is not its decision. On the loop's thread; owned by the transport.
//
// The library puts an acknowledgement into its outbox before we have seen the event. It is told
// that it has threads, so that it only ever fills the outbox, and nothing of the outbox leaves
// while the link is held: that is how an event is acknowledged after it is durable and never
// before.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "postrider/base/result.h"
#include "postrider/transports/net/tls.h"

namespace boost::asio {
class io_context;
}

namespace postrider {

// None of it is called from inside a call of the link; all of it may destroy the link.
class MqttLinkUser {
 public:
  virtual ~MqttLinkUser() = default;
  virtual void link_ready() = 0;  // connected and subscribed
  // Events that came together; the link is held until release().
  virtual void link_arrived() = 0;
  virtual void link_published(std::vector<int> ids) = 0;  // acknowledged by the broker
  virtual void link_lost(std::string why) = 0;
};

struct MqttLinkSettings {
  std::string client_id;
  std::string user;  // empty: none
  std::string password;
  int keep_alive_seconds = 60;
  bool clean_session = false;
  TlsContext tls;  // null: cleartext
  std::vector<std::string> subscriptions;
  std::uint32_t events_max = 64;  // read before they are handed on
};

struct MqttEvent {
  std::string topic;
  std::string bytes;
};

class MqttLink {
 public:
  MqttLink(boost::asio::io_context& loop, const MqttLinkSettings& settings, MqttLinkUser& user);
  ~MqttLink();  // without a word to the broker
  MqttLink(const MqttLink&) = delete;
  MqttLink& operator=(const MqttLink&) = delete;

  Result<void> connect(const std::string& address, std::uint16_t port);
  // The id that link_published will tell, or nothing: the library refuses it.
  Result<int> publish(const std::string& topic, std::string_view bytes);
  bool has_left(std::uint64_t published) const;  // may bytes since then have left?
  std::uint64_t writes() const;                  // to be remembered when publishing
  std::vector<MqttEvent> take_events();          // of link_arrived
  void release();                                // all of them are durable
  void tend();                                   // every second or so: keep-alive
  void say_goodbye();                            // if nothing is held

 private:
  class Core;
  std::shared_ptr<Core> core_;  // shared with handlers under way
};

}  // namespace postrider
