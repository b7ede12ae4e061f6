// Revival: how parked messages come back. Some wait for an operator. Others ran out of attempts
// because their destination was not there: they go back in line with fresh attempts as soon as the
// route hears of a success. Until then one of them is tried from time to time, because no other
// message may.
//
// Invariants
//   - While a walk is under way its destination stays in memory, and there is one walk at a
//     time.
//   - As long as a message may be parked for want of reach, a due entry makes the route look.
#pragma once

#include "postrider/core/delivery/delivery.h"
#include "postrider/core/delivery/routes.h"
#include "postrider/core/engine.h"
#include "postrider/core/step.h"
#include "postrider/core/window/census.h"
#include "postrider/core/window/destinations.h"
#include "postrider/core/window/lookup.h"
#include "postrider/core/window/residents.h"
#include "postrider/core/window/state_records.h"
#include "postrider/core/window/window.h"
#include "postrider/model/answer.h"

namespace postrider::core {

class Revival {
 public:
  Revival(const EngineLimits& limits, Tallies& tallies, Residents& residents, Census& census,
          Destinations& destinations, Window& window, StateRecords& records, Lookup& lookup,
          Routes& routes, Delivery& delivery)
      : limits_(limits),
        tallies_(tallies),
        residents_(residents),
        census_(census),
        destinations_(destinations),
        window_(window),
        records_(records),
        lookup_(lookup),
        routes_(routes),
        delivery_(delivery) {}
  Revival(const Revival&) = delete;
  Revival& operator=(const Revival&) = delete;

  void revive(Step& step, const Chore& chore);
  void put_back(Step& step, Slot slot);
  void wake_route(Step& step, const Chore& chore);

 private:
  void look_at_parked(Step& step, Slot slot);
  void end_revival(Step& step, Slot slot, bool some_wait);

  const EngineLimits& limits_;
  Tallies& tallies_;
  Residents& residents_;
  Census& census_;
  Destinations& destinations_;
  Window& window_;
  StateRecords& records_;
  Lookup& lookup_;
  Routes& routes_;
  Delivery& delivery_;
};

}  // namespace postrider::core
