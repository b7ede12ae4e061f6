// WireRig: the API of a rig behind the real server, over real sockets.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "postrider/api/http_api_testing.h"
#include "postrider/servers/http/http_server_testing.h"

namespace postrider::api {

template <class Rig>
class WireRig : public Rig {
 protected:
  void SetUp() override {
    Rig::SetUp();
    wire.handler = this->handler;
    wire.start();
  }
  // Opens the API anew, with the options as they are now.
  void reopen() {
    this->open();
    wire.handler = this->handler;
    wire.start();
  }
  // Lets client, server, API and host go on until the client has seen what it waits for.
  bool until(RawClient& client, const std::function<bool()>& done) {
    return wire.pump_until([&] {
      this->settle();
      this->api->tick();
      client.receive();
      return done();
    });
  }
  HttpReply reply_to(RawClient& client, const std::string& bytes, bool to_head = false) {
    std::optional<HttpReply> found;
    EXPECT_TRUE(client.send(bytes));
    EXPECT_TRUE(until(client, [&] {
      found = take_reply(client.received, to_head);
      return found.has_value();
    }));
    return found.value_or(HttpReply());
  }
  static std::string request(const std::string& method, const std::string& target,
                             const std::string& body, const std::string& type) {
    return method + " " + target + " HTTP/1.1\r\nhost: localhost\r\ncontent-type: " + type +
           "\r\ncontent-length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
  }
  // The answer to a request whose head alone is sent: nothing of the body was collected.
  HttpReply reply_to_head(const std::string& head) {
    const auto client = wire.connect();
    HttpReply reply = reply_to(*client, head);
    EXPECT_EQ(wire.server->held_bytes(), 0U) << head;
    return reply;
  }
  HttpRig wire;
};

}  // namespace postrider::api
