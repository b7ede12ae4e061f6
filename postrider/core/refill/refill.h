// Refill: from disk into the window. Catch-up, recovery and backpressure are this part.
//
// Invariants
//   - A lane has at most one page on its way, and its destination stays in memory meanwhile.
//   - Everything of a lane that is ready to go and not in memory lies at or behind the cursor;
//     the head in the owed record is at or before the cursor and all cold entries in memory.
//   - A page whose lane went to disk meanwhile is thrown away, because it lacks what went there.
//   - Members of an open batch come by their ids, whether the window has room or not: nothing else
//     of their destination could start before them.
#pragma once

#include "postrider/core/books/due.h"
#include "postrider/core/books/shared_bodies.h"
#include "postrider/core/delivery/batches.h"
#include "postrider/core/delivery/delivery.h"
#include "postrider/core/delivery/routes.h"
#include "postrider/core/engine.h"
#include "postrider/core/places/shared_gates.h"
#include "postrider/core/rules/timers.h"
#include "postrider/core/step.h"
#include "postrider/core/window/census.h"
#include "postrider/core/window/destinations.h"
#include "postrider/core/window/lookup.h"
#include "postrider/core/window/residents.h"
#include "postrider/core/window/sleepers.h"
#include "postrider/core/window/state_records.h"
#include "postrider/core/window/window.h"
#include "postrider/model/answer.h"

namespace postrider::core {

class Refill {
 public:
  Refill(const EngineLimits& limits, Tallies& tallies, Timers& timers, SharedBodies& bodies,
         Due& due, Residents& residents, Sleepers& sleepers, Census& census,
         Destinations& destinations, Window& window, StateRecords& records, Lookup& lookup,
         SharedGates& gates, Routes& routes, Batches& batches, Delivery& delivery)
      : limits_(limits),
        tallies_(tallies),
        timers_(timers),
        bodies_(bodies),
        due_(due),
        residents_(residents),
        sleepers_(sleepers),
        census_(census),
        destinations_(destinations),
        window_(window),
        records_(records),
        lookup_(lookup),
        gates_(gates),
        routes_(routes),
        batches_(batches),
        delivery_(delivery) {}
  Refill(const Refill&) = delete;
  Refill& operator=(const Refill&) = delete;

  void maybe_refill(Step& step, Slot slot);
  void refill(Step& step, const Chore& chore);
  bool settle_in(Step& step, Slot slot, Message message, const std::optional<StoredState>& stored,
                 bool hot);
  void wake_message(Step& step, const Chore& chore);
  void rouse_lane(Step& step, MessageId id);
  void expire_message(Step& step, const Chore& chore);
  void bring_batch_later(Step& step, Slot slot);
  void bring_batch(Step& step, const Chore& chore);

 private:
  Scan refill_scan(const Resident& resident, const Lane& lane) const;
  void take_rows(Step& step, Slot slot, std::uint8_t number, const Rows& rows);
  void take_row(Step& step, Slot slot, std::uint8_t number, const Row& row, const Row* state);
  void settle_value(Step& step, Slot slot);
  void resume_state(Step& step, Slot slot);

  const EngineLimits& limits_;
  Tallies& tallies_;
  Timers& timers_;
  SharedBodies& bodies_;
  Due& due_;
  Residents& residents_;
  Sleepers& sleepers_;
  Census& census_;
  Destinations& destinations_;
  Window& window_;
  StateRecords& records_;
  Lookup& lookup_;
  SharedGates& gates_;
  Routes& routes_;
  Batches& batches_;
  Delivery& delivery_;
};

}  // namespace postrider::core
