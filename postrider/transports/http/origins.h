// Origins: what we know about each place that requests go to: its name (scheme, host, port)
// together with whom it is trusted by and where it is reached. Connections are shared within one
// Origin and never between two. On the loop's thread; owned by the transport.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "postrider/transports/http/exchange.h"
#include "postrider/transports/net/linked_list.h"
#include "postrider/transports/net/origin_host.h"

namespace postrider {

struct Origin : OriginHost, Hook<struct UnusedOrigin>, Hook<struct WaitingOrigin> {
  std::vector<Connection*> idle;                  // kept connections, the one used last at the end
  LinkedList<Exchange, WaitingExchange> waiting;  // for a connection, in order
  std::uint32_t connections = 0;                  // open ones
  std::uint8_t ring = 0;                          // of Waiters, while some wait
  bool answers = false;                           // it did, the last time
  std::uint32_t users = 0;                        // exchanges and connections
  const std::string* key = nullptr;
};

class Origins {
 public:
  // `usual` as for OriginHosts. At most `unused_max` hosts without a user are remembered.
  Origins(TlsContext usual, std::size_t unused_max);

  // Adds a user. `via` as for OriginHosts.
  Origin& take(std::string_view name, std::string_view trust, std::string_view via);
  void add_user(Origin& origin) { ++origin.users; }
  void leave(Origin& origin);
  std::size_t size() const { return origins_.size(); }

 private:
  OriginHosts hosts_;
  std::size_t unused_max_;
  std::size_t unused_ = 0;
  std::unordered_map<std::string, Origin, TextHash, std::equal_to<>> origins_;
  LinkedList<Origin, UnusedOrigin> unused_list_;  // longest unused first
  std::string key_;                               // made anew for each take; keeps its memory
};

}  // namespace postrider
