// Starts: which destination starts next. Destinations with something to send stand in a ring, by
// tenant, and start one attempt each in turn, so that a long queue costs its neighbours nothing.
// `settle` is the end of every step: each destination that the step looked at gets a page from disk
// if it has room, its place in the ring, and its place among the idle ones.
//
// Invariants
//   - A resident stands in the ring at most once, `in_ring` says so, and it is charged under the
//     tenant under which it was added.
//   - After `settle` no look is open, and either nothing in the ring can start, or all places
//     are taken, or starts are held.
//   - A route catches up exactly as long as one of the lanes that start meanwhile owes something.
//     In this time these lanes start in their order, and no other lane does, but for an open
//     batch.
//   - While a batch of a destination is open, nothing of it starts but its leader, and that only
//     when all followers are in memory.
//   - A message that rides leads nothing before its time; the look of its destination brings that
//     time.
//   - A destination that found no room is looked at again when that may have changed: by the end
//     of one of its attempts, by a place in its group, or by a place among those for routes not
//     known to answer.
#pragma once

#include <deque>

#include "postrider/core/books/shared_bodies.h"
#include "postrider/core/delivery/delivery.h"
#include "postrider/core/delivery/routes.h"
#include "postrider/core/engine.h"
#include "postrider/core/places/attempts.h"
#include "postrider/core/places/limit_groups.h"
#include "postrider/core/places/shared_gates.h"
#include "postrider/core/refill/refill.h"
#include "postrider/core/rules/timers.h"
#include "postrider/core/starts/ring.h"
#include "postrider/core/step.h"
#include "postrider/core/window/lookup.h"
#include "postrider/core/window/residents.h"
#include "postrider/core/window/sleepers.h"
#include "postrider/core/window/window.h"
#include "postrider/model/answer.h"

namespace postrider::core {

class Starts {
 public:
  Starts(const EngineLimits& limits, Tallies& tallies, Timers& timers, SharedBodies& bodies,
         Residents& residents, Sleepers& sleepers, Window& window, Lookup& lookup,
         Attempts& attempts, LimitGroups& limit_groups, SharedGates& gates, Routes& routes,
         const Batches& batches, Delivery& delivery, Refill& refill)
      : limits_(limits),
        tallies_(tallies),
        timers_(timers),
        bodies_(bodies),
        residents_(residents),
        sleepers_(sleepers),
        window_(window),
        lookup_(lookup),
        attempts_(attempts),
        limit_groups_(limit_groups),
        gates_(gates),
        routes_(routes),
        batches_(batches),
        delivery_(delivery),
        refill_(refill) {}
  Starts(const Starts&) = delete;
  Starts& operator=(const Starts&) = delete;

  void settle(Step& step);
  void serve_gate(Step& step, GateName name);
  void serve_group(Step& step, GateName name);
  void evict_surplus();
  void forget_resident(Slot slot);
  void read_lower(Step& step, const Chore& chore);
  void hold() { held_ = true; }  // from now on nothing is started

 private:
  void ring(Slot slot);
  void serve_looks(Step& step);
  void pump(Step& step);
  bool start_next(Step& step, Slot slot);
  Timestamp rides_until(const Lane& lane, const Resident& resident) const;
  bool has_caught_up(const Resident& resident) const;
  void end_catch_up(Step& step, Slot slot);
  bool may_expire(const Entry& entry) const;
  bool try_start(Step& step, Slot slot);
  bool go_on_with_batch(Step& step, Slot slot);
  bool waits_for_more(const Step& step, const Entry& entry);
  bool has_room(Step& step, Slot slot);
  bool let_crowd_in();
  Slot first_by_age(const Lane& lane, const Policy& policy, Timestamp now) const;
  Slot whose_turn(Step& step, Slot slot, Lane& lane);
  std::uint64_t top_of(const Lane& lane) const;
  Slot favourite(Step& step, Slot slot, Lane& lane);
  Slot next_lower(const Lane& lane, MessageId from) const;
  void look_below(Step& step, Slot slot, Lane& lane);
  bool look_from(Step& step, Slot slot, Lane& lane, MessageId from);
  Scan lower_scan(const Resident& resident, const Lane& lane) const;
  MessageId take_lower(Step& step, Slot slot, std::uint8_t number, const Rows& rows);
  void end_look(Step& step, Slot slot, Lane& lane, MessageId behind, bool complete);
  bool start_by_turns(Step& step, Slot slot, Slot chosen);
  bool start_lowest(Step& step, Slot slot, const Lane& lane);

  const EngineLimits& limits_;
  Tallies& tallies_;
  Timers& timers_;
  SharedBodies& bodies_;
  Residents& residents_;
  Sleepers& sleepers_;
  Window& window_;
  Lookup& lookup_;
  Attempts& attempts_;
  LimitGroups& limit_groups_;
  SharedGates& gates_;
  Routes& routes_;
  const Batches& batches_;
  Delivery& delivery_;
  Refill& refill_;
  Ring ring_;
  std::deque<Slot> crowded_;  // destinations that are not known to answer, and want a place
  bool held_ = false;
};

}  // namespace postrider::core
