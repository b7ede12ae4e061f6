// Egress: what a homeserver hands over, at a listener of its own. Each request is for another
// server, "PUT matrix-federation://SERVER/path", and has a secret. A transaction is taken; every
// other request is relayed. On the loop's thread; owned by the door.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "postrider/doors/matrix/relay.h"
#include "postrider/protocols/matrix/server_name.h"
#include "postrider/servers/http/http_server.h"

namespace postrider::matrix_door {

struct EgressOptions {
  std::string secret;                      // not empty
  std::string server_name;                 // ours
  std::vector<std::string> allow_servers;  // none: all
};

// A transaction as it came; it is answered by whoever takes it.
struct HandedOver {
  matrix::EgressTarget target;
  std::string_view body;
  HttpExchangePtr exchange;
};
using TakeTransaction = std::function<void(const HandedOver& transaction)>;

struct EgressCounts {
  std::uint64_t unauthorized = 0;
  std::uint64_t refused = 0;  // by target or name
  std::uint64_t transactions = 0;
};

class Egress final {
 public:
  Egress(EgressOptions options, Relays& relays, TakeTransaction take);

  // The limits of the listener, made of those of the daemon's.
  static HttpLimits limits(HttpLimits usual);
  HttpHandler handler();
  const EgressCounts& counts() const { return counts_; }

 private:
  // Nothing: the request is answered.
  std::optional<matrix::EgressTarget> check(const HttpRequest& request,
                                            const HttpExchangePtr& exchange);
  bool knows_secret(const HttpRequest& request) const;
  bool may_speak_to(std::string_view server) const;
  void refuse(const HttpExchangePtr& exchange, const HttpResponse& response);

  EgressOptions options_;
  std::array<std::uint8_t, 32> digest_;
  Relays& relays_;
  TakeTransaction take_;
  EgressCounts counts_;
};

}  // namespace postrider::matrix_door
