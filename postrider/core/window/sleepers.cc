#include "postrider/core/window/sleepers.h"

namespace postrider::core {

void Sleepers::put_to_sleep(Slot resident, MessageId id, StateIndex state, Timestamp accepted) {
  const auto number = static_cast<std::uint8_t>(residents_.profile_number(resident));
  if (!sleepers_.emplace(id, Sleeper{accepted, number, state}).second) return;
  ++states_[number][state];
  ++by_destination_[id.destination().value()];
}

void Sleepers::wake_sleeper(MessageId id) {
  const auto found = sleepers_.find(id);
  if (found == sleepers_.end()) return;
  --states_[found->second.profile][found->second.state];
  const auto of = by_destination_.find(id.destination().value());
  if (of != by_destination_.end() && --of->second == 0) by_destination_.erase(of);
  sleepers_.erase(found);
}

Timestamp Sleepers::oldest_of(DestinationId id) const {
  Timestamp oldest;
  const auto end = sleepers_.lower_bound({(id.value() + 1) << 20, 0});
  for (auto it = sleepers_.lower_bound({id.value() << 20, 0}); it != end; ++it) {
    if (!oldest.is_set() || it->second.accepted < oldest) oldest = it->second.accepted;
  }
  return oldest;
}

}  // namespace postrider::core
