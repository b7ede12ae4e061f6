#include "postrider/transports/http/hosts.h"

#include <utility>

namespace postrider {

Hosts::Hosts(TlsContext usual, std::size_t unused_max)
    : origins_(std::move(usual)), unused_max_(unused_max) {}

Host& Hosts::take(std::string_view origin, std::string_view trust) {
  std::string_view key = origin;
  if (!trust.empty()) {
    key_.assign(origin).append("\n").append(trust);
    key = key_;
  }
  auto found = hosts_.find(key);
  if (found == hosts_.end()) {
    found = hosts_.try_emplace(std::string(key)).first;
    found->second.key = &found->first;
    origins_.fill(found->second, origin, trust);
  } else if (found->second.users == 0) {
    found->second.Hook<UnusedHost>::unlink();
    --unused_;
  }
  ++found->second.users;
  return found->second;
}

void Hosts::leave(Host& host) {
  if (--host.users > 0) return;
  unused_list_.push_back(host);
  ++unused_;
  if (unused_ <= unused_max_) return;
  const std::string key = *unused_list_.front().key;  // the map frees the original while it looks
  hosts_.erase(hosts_.find(key));
  --unused_;
}

}  // namespace postrider
