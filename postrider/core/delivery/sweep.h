// Sweep: ends messages of a destination that are not worth sending any more: the messages of lanes
// that are dropped when the route becomes deep. It goes through the lanes in pages, from the newest
// back.
//
// Invariants
//   - A sweep ends messages that wait, never one that is on its way, and only such as were accepted
//     before it was asked for.
//   - The route says that a sweep is owed until its last page is done, so a crash repeats it; a
//     repeated sweep finds less to do and changes nothing else.
//   - While a sweep is under way its destination stays in memory.
#pragma once

#include <string>

#include "postrider/core/delivery/delivery.h"
#include "postrider/core/delivery/routes.h"
#include "postrider/core/engine.h"
#include "postrider/core/step.h"
#include "postrider/core/window/lookup.h"
#include "postrider/core/window/residents.h"
#include "postrider/core/window/sleepers.h"
#include "postrider/core/window/window.h"
#include "postrider/model/answer.h"

namespace postrider::core {

class Sweep {
 public:
  Sweep(const EngineLimits& limits, Tallies& tallies, Residents& residents, Sleepers& sleepers,
        Window& window, Lookup& lookup, Routes& routes, Delivery& delivery)
      : limits_(limits),
        tallies_(tallies),
        residents_(residents),
        sleepers_(sleepers),
        window_(window),
        lookup_(lookup),
        routes_(routes),
        delivery_(delivery) {}
  Sweep(const Sweep&) = delete;
  Sweep& operator=(const Sweep&) = delete;

  void sweep(Step& step, const Chore& chore);

 private:
  struct Page {
    std::vector<MessageId> ids;
    bool complete = false;  // of this lane
    std::string next;
  };
  Page read_page(Step& step, const Chore& chore, const Resident& resident);
  void go_on(Step& step, Slot slot, const Chore& chore, Page page);

  const EngineLimits& limits_;
  Tallies& tallies_;
  Residents& residents_;
  Sleepers& sleepers_;
  Window& window_;
  Lookup& lookup_;
  Routes& routes_;
  Delivery& delivery_;
};

}  // namespace postrider::core
