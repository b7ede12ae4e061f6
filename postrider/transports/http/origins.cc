#include "postrider/transports/http/origins.h"

#include <utility>

namespace postrider {

Origins::Origins(TlsContext usual, std::size_t unused_max)
    : hosts_(std::move(usual)), unused_max_(unused_max) {}

Origin& Origins::take(std::string_view name, std::string_view trust, std::string_view via) {
  std::string_view key = name;
  if (!trust.empty() || !via.empty()) {
    key_.assign(name).append("\n").append(via).append("\n").append(trust);
    key = key_;
  }
  auto found = origins_.find(key);
  if (found == origins_.end()) {
    found = origins_.try_emplace(std::string(key)).first;
    found->second.key = &found->first;
    hosts_.fill(found->second, name, trust, via);
  } else if (found->second.users == 0) {
    found->second.Hook<UnusedOrigin>::unlink();
    --unused_;
  }
  ++found->second.users;
  return found->second;
}

void Origins::leave(Origin& origin) {
  if (--origin.users > 0) return;
  unused_list_.push_back(origin);
  ++unused_;
  if (unused_ <= unused_max_) return;
  const std::string key = *unused_list_.front().key;  // the map frees the original while it looks
  origins_.erase(origins_.find(key));
  --unused_;
}

}  // namespace postrider
