// Seen: what came before, in two generations of bounded size, of which the older goes when the
// newer is full. One owner, one thread.
#pragma once

#include <cstddef>
#include <unordered_set>

#include "postrider/protocols/reticulum/bytes.h"
#include "postrider/protocols/reticulum/packet.h"

namespace postrider::reticulum {

template <std::size_t kSize>
class Seen {
 public:
  explicit Seen(std::size_t generation_max) : generation_max_(generation_max) {}

  bool contains(const Bytes<kSize>& key) const {
    return newer_.contains(key) || older_.contains(key);
  }
  // False: it was there.
  bool add(const Bytes<kSize>& key) {
    if (contains(key)) return false;
    if (newer_.size() >= generation_max_) {
      older_ = std::move(newer_);
      newer_.clear();
    }
    newer_.insert(key);
    return true;
  }
  std::size_t size() const { return newer_.size() + older_.size(); }

 private:
  std::size_t generation_max_;
  std::unordered_set<Bytes<kSize>, HashOfBytes> newer_;
  std::unordered_set<Bytes<kSize>, HashOfBytes> older_;
};

inline constexpr std::size_t kSeenPacketsMax = 262'144;  // of each generation
inline constexpr std::size_t kSeenPathTagsMax = 16'000;

// Which packets pass although they came before.
bool may_repeat(const Packet& packet);
// What an endpoint drops by its header alone. `hops` are those after the increment.
bool is_for_endpoint(const Packet& packet, std::uint8_t hops, const Address* own_transport_id);

}  // namespace postrider::reticulum
