#include "postrider/protocols/reticulum/announce_gate.h"

namespace postrider::reticulum {

bool AnnounceGate::take_turn(Timestamp now) {
  while (!turns_.empty() && turns_.front() + 1s <= now) turns_.pop_front();
  if (turns_.size() >= kPerSecond) return false;
  turns_.push_back(now);
  return true;
}

bool AnnounceGate::offer(const Address& destination, std::string_view raw, std::uint8_t hops,
                         Timestamp now) {
  // Those that wait go first.
  if (held_.empty() && take_turn(now)) return true;
  const auto found = held_.find(destination);
  if (found != held_.end()) {
    found->second = {std::string(raw), hops};
    return false;
  }
  if (held_.size() >= kHeldMax) {
    ++dropped_;
    return false;
  }
  held_.emplace(destination, Held{std::string(raw), hops});
  order_.push_back(destination);
  return false;
}

std::optional<AnnounceGate::Held> AnnounceGate::release(Timestamp now) {
  if (order_.empty() || !take_turn(now)) return std::nullopt;
  const auto found = held_.find(order_.front());
  Held out = std::move(found->second);
  held_.erase(found);
  order_.pop_front();
  return out;
}

std::optional<Timestamp> AnnounceGate::next_deadline() const {
  if (order_.empty()) return std::nullopt;
  return turns_.size() < kPerSecond ? turns_.empty() ? Timestamp() : turns_.back()
                                    : turns_.front() + 1s;
}

}  // namespace postrider::reticulum
