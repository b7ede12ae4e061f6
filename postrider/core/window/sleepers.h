// Sleepers: hot messages in a short back-off, which take no place in the window. In order of their
// ids, so that the sleepers of one destination stand together.
//
// Invariants
//   - A sleeper is not in the window, and a timer wakes it.
//   - The counts by state and by destination are those of the sleepers.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <unordered_map>
#include <vector>

#include "postrider/core/step.h"
#include "postrider/core/window/residents.h"

namespace postrider::core {

class Sleepers {
 public:
  Sleepers(Residents& residents, std::size_t profiles) : residents_(residents), states_(profiles) {}
  Sleepers(const Sleepers&) = delete;
  Sleepers& operator=(const Sleepers&) = delete;

  void put_to_sleep(Slot resident, MessageId id, StateIndex state, Timestamp accepted);
  void wake_sleeper(MessageId id);
  bool contains(MessageId id) const { return sleepers_.contains(id); }
  std::size_t size() const { return sleepers_.size(); }
  std::size_t memory_bytes() const {
    constexpr std::size_t kNode = 3 * sizeof(void*);  // what a tree adds to each element, about
    return sleepers_.size() * (sizeof(MessageId) + sizeof(Sleeper) + kNode);
  }
  bool any_of(std::uint64_t destination) const { return by_destination_.contains(destination); }
  std::uint64_t count_of(std::uint64_t destination) const {
    const auto found = by_destination_.find(destination);
    return found == by_destination_.end() ? 0 : found->second;
  }
  Timestamp oldest_of(DestinationId id) const;  // by acceptance; unset: there is none
  bool any_of_lane(DestinationId id, std::uint8_t lane) const;
  // Sleepers of one destination from `from` on, in the order of their ids, at most `limit`.
  std::vector<MessageId> page_of(DestinationId id, MessageId from, std::size_t limit) const;
  const std::unordered_map<std::uint64_t, std::uint64_t>& destinations() const {
    return by_destination_;
  }
  std::uint64_t in_state(std::size_t profile, std::size_t state) const {
    return states_[profile][state];
  }

 private:
  Residents& residents_;
  std::map<MessageId, Sleeper> sleepers_;
  std::vector<std::array<std::uint64_t, kStatesMax>> states_;  // by profile
  std::unordered_map<std::uint64_t, std::uint64_t> by_destination_;
};

}  // namespace postrider::core
