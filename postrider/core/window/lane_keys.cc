#include "postrider/core/window/lane_keys.h"

namespace postrider::core {

void LaneKeys::set_asleep(Held& held, bool asleep) {
  if (held.asleep == asleep) return;
  held.asleep = asleep;
  if (asleep) {
    ++asleep_;
  } else {
    --asleep_;
  }
}

void LaneKeys::add(const Message& message, Slot slot) {
  Held& held = values_[place_of(message.id, message.key())];
  held.id = message.id;
  held.slot = slot;
}

void LaneKeys::leave(const Message& message) {
  const auto found = values_.find(place_of(message.id, message.key()));
  if (found == values_.end()) return;
  if (found->second.asleep) {
    found->second.slot = kNoSlot;
  } else {
    values_.erase(found);
  }
}

void LaneKeys::fall_asleep(const Message& message) {
  const Place place = place_of(message.id, message.key());
  const auto found = values_.find(place);
  if (asleep_ >= asleep_max_ && (found == values_.end() || !found->second.asleep)) return;
  Held& held = found == values_.end() ? values_[place] : found->second;
  held.id = message.id;
  set_asleep(held, true);
}

void LaneKeys::wake(const Message& message) {
  const auto found = values_.find(place_of(message.id, message.key()));
  if (found != values_.end()) set_asleep(found->second, false);
}

void LaneKeys::forget(MessageId id, std::string_view key) {
  const auto found = values_.find(place_of(id, key));
  if (found == values_.end()) return;
  set_asleep(found->second, false);
  values_.erase(found);
}

std::vector<LaneKeys::Value> LaneKeys::of(MessageId any_of_lane, std::string_view key) const {
  std::vector<Value> out;
  const Place first{lane_of(any_of_lane), hash64(key), 0};
  for (auto it = values_.lower_bound(first);
       it != values_.end() && it->first.lane == first.lane && it->first.hash == first.hash; ++it)
    out.push_back({it->second.id, it->second.slot});
  return out;
}

}  // namespace postrider::core
