// Rousing: what a sign of life of a destination does. Its route hears of it, and so do its messages
// in back-off, where their table has a use for it: they need not wait any longer. They are found in
// pages: sleepers outside the window, entries of the window, and messages on disk.
//
// Invariants
//   - One walk at a time for a destination; a sign of life meanwhile begins another one after it.
//   - While a walk is under way its destination stays in memory.
//   - A walk reads the disk only when the census knows messages there that it could be about.
#pragma once

#include <string_view>
#include <vector>

#include "postrider/core/books/due.h"
#include "postrider/core/delivery/delivery.h"
#include "postrider/core/delivery/routes.h"
#include "postrider/core/engine.h"
#include "postrider/core/step.h"
#include "postrider/core/window/lookup.h"
#include "postrider/core/window/residents.h"
#include "postrider/core/window/sleepers.h"
#include "postrider/core/window/state_records.h"
#include "postrider/core/window/window.h"
#include "postrider/model/answer.h"

namespace postrider::core {

class Rousing {
 public:
  Rousing(const EngineLimits& limits, Tallies& tallies, Due& due, Residents& residents,
          Sleepers& sleepers, Window& window, StateRecords& records, Lookup& lookup, Routes& routes,
          Delivery& delivery)
      : limits_(limits),
        tallies_(tallies),
        due_(due),
        residents_(residents),
        sleepers_(sleepers),
        window_(window),
        records_(records),
        lookup_(lookup),
        routes_(routes),
        delivery_(delivery) {}
  Rousing(const Rousing&) = delete;
  Rousing& operator=(const Rousing&) = delete;

  void hear_sign_of_life(Step& step, Slot slot, std::string_view reason);
  void rouse(Step& step, const Chore& chore);

 private:
  void begin(Step& step, Slot slot);
  bool is_roused(const ProfileSpec& profile, const Entry& entry) const;
  bool has_some_on_disk(const Resident& resident) const;
  void rouse_one(Step& step, Slot slot);

  const EngineLimits& limits_;
  Tallies& tallies_;
  Due& due_;
  Residents& residents_;
  Sleepers& sleepers_;
  Window& window_;
  StateRecords& records_;
  Lookup& lookup_;
  Routes& routes_;
  Delivery& delivery_;
};

}  // namespace postrider::core
