#include "postrider/core/window/sleepers.h"

#include <algorithm>

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

bool Sleepers::any_of_lane(DestinationId id, std::uint8_t lane) const {
  // The highest priority sorts first.
  const auto first = sleepers_.lower_bound(MessageId::make(id, lane, UINT16_MAX, Sequence(0)));
  return first != sleepers_.end() && first->first.destination() == id &&
         first->first.lane() == lane;
}

std::vector<MessageId> Sleepers::page_of(DestinationId id, MessageId from,
                                         std::size_t limit) const {
  std::vector<MessageId> out;
  const MessageId first = std::max(from, MessageId{id.value() << 20, 0});
  for (auto it = sleepers_.lower_bound(first);
       it != sleepers_.end() && it->first.destination() == id && out.size() < limit; ++it)
    out.push_back(it->first);
  return out;
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
