// EgressRig: the egress with its relays over real sockets, on one loop: a client that stands for
// the homeserver, servers with TLS, a name server, and a clock that stands still.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "postrider/doors/matrix/egress.h"
#include "postrider/doors/matrix/relay.h"
#include "postrider/doors/matrix/ways.h"
#include "postrider/servers/http/http_server.h"
#include "postrider/servers/http/http_server_testing.h"
#include "postrider/transports/http/peers_testing.h"

namespace postrider::matrix_door {

inline constexpr const char* kRigSecret = "a secret of sixteen";
inline constexpr const char* kRigName = "us.example";

const Certificate& rig_authority();

class RigClock final : public Clock {
 public:
  explicit RigClock(const Timestamp& boot) : boot_(boot) {}
  Instant read() const override {
    return {.boot = boot_, .wall = boot_ + Duration(1'800'000'000'000)};
  }

 private:
  const Timestamp& boot_;
};

// A Matrix server with a certificate for `host`, which the rig's name server knows.
class FarServer {
 public:
  FarServer(WireRig& rig, const std::string& host, Peer::Script script);
  ~FarServer();
  std::string name() const { return host_ + ":" + std::to_string(peer.port()); }

 private:
  std::string host_;
  std::unique_ptr<boost::asio::ssl::context> context_;

 public:
  Peer peer;
};

class EgressRig : public WireRig {
 public:
  EgressRig();
  ~EgressRig() override;
  void open();  // with the options as they are now

  // A client with one request on its way; `lines` end with "\r\n" each.
  std::unique_ptr<RawClient> send(std::string_view method, const std::string& target,
                                  const std::string& lines = {}, std::string_view body = {});
  HttpReply reply(RawClient& client, bool to_head = false);
  HttpReply call(std::string_view method, const std::string& target, const std::string& lines = {},
                 std::string_view body = {});
  // With the secret.
  HttpReply relayed(std::string_view method, const std::string& server, const std::string& path,
                    const std::string& lines = {}, std::string_view body = {});
  static std::string secret_line();

  RigClock clock{now};
  WaysOptions ways_options;
  RelayOptions relay_options;
  EgressOptions egress_options;
  HttpLimits limits;
  std::vector<std::string> taken;  // "SERVER ID BODY" of transactions
  std::vector<std::string> seen;   // servers
  std::vector<std::string> closed_servers;
  std::unique_ptr<Ways> ways;
  std::unique_ptr<Relays> relays;
  std::unique_ptr<Egress> egress;
  std::unique_ptr<HttpServer> server;
  std::string address;

 private:
  Transport& tested() override { return ways->streams(); }
  void sweep() override;
};

}  // namespace postrider::matrix_door
