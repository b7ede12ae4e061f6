// StateRecords: what the store has of the entries in memory: their state, in which space it lies,
// and which due entry wakes it. Also the way of a window to disk.
//
// Invariants
//   - `stored` is set exactly while a state record exists, and `recorded` is the state that it
//     says; the census counts cold entries by it.
//   - A record that names no due entry lies at or behind the head of its lane, so a restart
//     finds it.
//   - A record is hot or cold together with its message.
#pragma once

#include <optional>

#include "postrider/base/time.h"
#include "postrider/core/books/sequences.h"
#include "postrider/core/engine.h"
#include "postrider/core/step.h"
#include "postrider/core/window/census.h"
#include "postrider/core/window/destinations.h"
#include "postrider/core/window/residents.h"
#include "postrider/core/window/window.h"

namespace postrider::core {

class StateRecords {
 public:
  // `acted_until`: when the former owner can have acted last.
  StateRecords(const EngineLimits& limits, Timestamp started, Timestamp acted_until,
               Sequences& sequences, Residents& residents, Census& census,
               Destinations& destinations, Window& window)
      : limits_(limits),
        started_(started),
        acted_until_(acted_until),
        sequences_(sequences),
        residents_(residents),
        census_(census),
        destinations_(destinations),
        window_(window) {}
  StateRecords(const StateRecords&) = delete;
  StateRecords& operator=(const StateRecords&) = delete;

  void store_state(Step& step, Entry& entry);
  void store_dirty(Step& step, Entry& entry);
  void store_awake(Step& step, Entry& entry);
  void forget_state(Step& step, Entry& entry);
  bool move_to_cold(Step& step, Slot slot);
  void mark_holding(Step& step, Entry& entry, bool holding);
  void spill(Step& step, Slot slot, Lane& lane);
  void spill_all(Step& step, Slot slot);
  // The followers of the open batch go to disk, and are read again when their leader starts.
  void spill_claimed(Step& step, Slot slot);
  void adopt_state(Entry& entry, const std::optional<StoredState>& stored);
  AttemptList* attempts_of(Entry& entry) const;

  void count_adopted(Entry& entry, const std::optional<StoredState>& stored) {
    --census_.in_state(entry);
    adopt_state(entry, stored);
    ++census_.in_state(entry);
    if (may_be_lost(entry)) entry.state.lost = true;
  }

 private:
  void spill_entry(Step& step, Slot slot, Lane& lane, Slot entry);
  bool may_be_lost(const Entry& entry) const;
  void lose_attempt(Entry& entry) const;

  const EngineLimits& limits_;
  Timestamp started_;
  Timestamp acted_until_;
  Sequences& sequences_;
  Residents& residents_;
  Census& census_;
  Destinations& destinations_;
  Window& window_;
};

}  // namespace postrider::core
