// Window: the messages in memory, the order of those that are ready in their lanes, and how much
// they take up.
//
// Invariants
//   - An entry is found by its id exactly as long as it is in the slab, and stands in the list
//     of its destination.
//   - An entry waits at one place at most (Entry::Waits). The ready list of a lane holds exactly
//     its entries with kInLane, in the order of ids; `in_memory`, `ready`, `at_gates`,
//     `at_lasting` and `at_order` of a lane count its entries.
//   - A queued entry waits as kClaimed exactly while the open batch of its destination claims it.
//   - `lane.cold` holds exactly the ids of its entries whose records are in the cold space.
//   - The bytes are those of all entries; shared bodies are counted once, by their owner.
// `check` tells of an entry, or a lane, that breaks one of them.
#pragma once

#include <cstdint>
#include <memory_resource>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "postrider/core/books/receipts.h"
#include "postrider/core/books/shared_bodies.h"
#include "postrider/core/engine.h"
#include "postrider/core/rules/timers.h"
#include "postrider/core/step.h"
#include "postrider/core/window/census.h"
#include "postrider/core/window/destinations.h"
#include "postrider/core/window/lane_keys.h"
#include "postrider/core/window/residents.h"

namespace postrider::core {

class Window {
 public:
  Window(const EngineLimits& limits, Receipts& receipts, Timers& timers, SharedBodies& bodies,
         Residents& residents, Census& census, Destinations& destinations)
      : limits_(limits),
        receipts_(receipts),
        timers_(timers),
        bodies_(bodies),
        residents_(residents),
        census_(census),
        destinations_(destinations) {}
  Window(const Window&) = delete;
  Window& operator=(const Window&) = delete;

  const Method& method_of(const Entry& entry) const {
    return residents_[entry.destination].bound->profile->methods[entry.state.method];
  }
  const StateRow& state_of(const Entry& entry) const {
    return residents_[entry.destination].bound->profile->states[entry.state.state];
  }
  static const Intent* intent_of(const Entry& entry);
  void set_reason(Entry& entry, std::string_view reason);
  Slot add_entry(Step& step, Slot slot, Message&& message, bool hot);
  void forget_entry(Step& step, Slot slot);
  bool in_order(const Entry& entry) const;
  bool goes_by_lane(const Entry& entry) const;
  bool owes_before(const Lane& lane, const Entry& entry) const;
  bool keeps_gates(const Entry& entry) const;
  void make_ready(Step& step, Slot slot);
  void unready(Slot slot);
  void claim(Step& step, Slot slot);  // as a follower of the open batch of its destination
  bool is_claimed(const Entry& entry) const {
    const OpenBatch& batch = residents_[entry.destination].route.batch;
    return batch.is_open() && batch.claims(entry.message.id);
  }
  bool leads(const Entry& entry) const {
    return residents_[entry.destination].route.batch.leader == entry.message.id;
  }

  [[gnu::always_inline]] Entry& operator[](Slot slot) { return entries_[slot]; }
  [[gnu::always_inline]] const Entry& operator[](Slot slot) const { return entries_[slot]; }
  Slot find(MessageId id) const {  // none: it is not in memory
    const auto found = by_id_.find(id);
    return found == by_id_.end() ? kNoSlot : found->second;
  }
  bool contains(MessageId id) const { return by_id_.contains(id); }
  Slot at(MessageId id) const { return by_id_.at(id); }
  std::size_t size() const { return entries_.size(); }
  Slot capacity() const { return entries_.capacity(); }
  std::uint64_t bytes() const { return bytes_ + bodies_.bytes(); }
  std::size_t memory_bytes() const;
  Phase phase_of(const Entry& entry) const { return state_of(entry).phase; }

  // Entries that were read for this event only; they leave with it, unless it changed them.
  void add_visitor(Slot slot) { visitors_.push_back(slot); }
  std::vector<Slot> take_visitors() { return std::exchange(visitors_, {}); }

  // The first entry or lane that breaks an invariant, in words; empty: none does. Between two
  // steps.
  std::string check() const;

  LaneKeys& keys() { return keys_; }
  const LaneKeys& keys() const { return keys_; }

  // Nothing starts, and new messages are cold, until gates and hot messages are back.
  bool restoring() const { return restoring_; }
  void end_restoring() { restoring_ = false; }

  // The times of a message that was accepted while the wall was in doubt mean later ones.
  Duration later(const Message& message) const {
    return receipts_.wall().meant(message.accepted) - message.accepted;
  }
  bool is_expired(const Message& message, Timestamp now) const {
    return message.expires.is_set() && message.expires + later(message) <= now;
  }
  Timestamp due_of(const Message& message, const State& state) const {
    return state.due + (state.due == message.not_before ? later(message) : Duration(0));
  }

 private:
  void unlink(Resident& resident, const Entry& entry);
  static void leave_gate(Entry& entry, Lane& lane);
  void begin_run(Lane& lane, Slot slot);
  void end_run(Lane& lane, const Entry& entry);

  const EngineLimits& limits_;
  Receipts& receipts_;
  Timers& timers_;
  SharedBodies& bodies_;
  Residents& residents_;
  Census& census_;
  Destinations& destinations_;
  // The table that changes with every message takes its nodes from a pool.
  std::pmr::unsynchronized_pool_resource pool_;
  Slab<Entry> entries_;
  std::pmr::unordered_map<MessageId, Slot> by_id_{&pool_};
  LaneKeys keys_{limits_.hot_sleepers_max};
  std::uint64_t bytes_ = 0;
  std::vector<Slot> visitors_;
  bool restoring_ = true;
};

}  // namespace postrider::core
