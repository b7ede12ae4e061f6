// Residents: destinations in memory, and which of them may be forgotten. Everything that matters
// about an idle destination is in the store.
//
// Invariants
//   - A resident is found by its id exactly as long as it is in the slab.
//   - Only a resident without entries, chores and work on disk stands in the list of idle ones,
//     which is ordered by the last touch.
//   - The turns of a lane's lower priorities outlive its resident, within a bound.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

#include "postrider/core/engine.h"
#include "postrider/core/rules/health.h"
#include "postrider/core/rules/timers.h"
#include "postrider/core/step.h"
#include "postrider/core/window/entries.h"

namespace postrider::core {

class Residents {
 public:
  struct Turns {  // of the lower priorities of a lane whose destination is not in memory
    std::uint64_t last_turn = 0;
    std::uint64_t ahead = UINT64_MAX;
    std::uint8_t passed = 0;
  };
  Residents(const EngineOptions& options, const EngineLimits& limits, Timers& timers)
      : options_(options), limits_(limits), timers_(timers) {}
  Residents(const Residents&) = delete;
  Residents& operator=(const Residents&) = delete;

  void leave_lru(Slot slot);
  void touch(const Step& step, Slot slot);
  void look_later(Slot slot, Timestamp at);
  bool startable(const Resident& resident, Timestamp now) const;
  bool awake(const Resident& resident, Timestamp now) const;
  void remember_turns(const Resident& resident);
  void recall_turns(DestinationId destination, Lane& lane);
  static void begin_throttle(Resident& resident);
  std::size_t profile_number(Slot resident) const;

  [[gnu::always_inline]] Resident& operator[](Slot slot) { return slab_[slot]; }
  [[gnu::always_inline]] const Resident& operator[](Slot slot) const { return slab_[slot]; }
  Slot find(std::uint64_t destination) const {  // none: it is not in memory
    const auto found = by_destination_.find(destination);
    return found == by_destination_.end() ? kNoSlot : found->second;
  }
  bool contains(std::uint64_t destination) const { return by_destination_.contains(destination); }
  Slot add(Resident resident);
  void remove(Slot slot);  // nothing of it is in memory, and nothing is on its way
  std::size_t size() const { return slab_.size(); }
  Slot capacity() const {
    return slab_.capacity();
  }  // all slots are below it; free ones are unbound
  std::size_t idle() const { return lru_size_; }
  // The one that has been idle for longest, when there are too many and it may go; none otherwise.
  Slot surplus() const;
  // Destinations that came into memory or were configured since the last call: a hold may fit.
  void note_fresh(DestinationId id) { fresh_.push_back(id); }
  std::vector<DestinationId> take_fresh() { return std::exchange(fresh_, {}); }
  // Destinations that are being drained and were seen to be idle.
  std::vector<DestinationId> take_drained() { return std::exchange(drained_, {}); }
  void drop_drained(DestinationId id) { std::erase(drained_, id); }
  std::size_t memory_bytes() const;
  // What a sign of life that is no delivery means to this route.
  HealthOn contact(Slot slot) const {
    return slab_[slot].bound->policy.health.contact_clears ? HealthOn::kOk : HealthOn::kSeen;
  }

 private:
  const EngineOptions& options_;
  const EngineLimits& limits_;
  Timers& timers_;
  Slab<Resident> slab_;
  std::unordered_map<std::uint64_t, Slot> by_destination_;
  Slot lru_first_ = kNoSlot;
  Slot lru_last_ = kNoSlot;
  std::uint32_t lru_size_ = 0;
  std::unordered_map<std::uint64_t, Turns> turns_;  // by the lane's first id, its high half
  std::vector<DestinationId> fresh_;
  std::vector<DestinationId> drained_;
};

}  // namespace postrider::core
