// Restore: back to work after a stop of any kind, page by page, without replaying history. First
// the hot messages, which are few, and the gates that cold ones hold; then due entries and owed
// destinations, while new messages are accepted already.
//
// Invariants
//   - Nothing starts before all hot messages and all held gates are back.
//   - Owed destinations come into memory as idle ones leave it, but at least a page of them in a
//     second.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "postrider/core/books/receipts.h"
#include "postrider/core/books/shared_bodies.h"
#include "postrider/core/engine.h"
#include "postrider/core/places/shared_gates.h"
#include "postrider/core/refill/refill.h"
#include "postrider/core/rules/timers.h"
#include "postrider/core/step.h"
#include "postrider/core/window/census.h"
#include "postrider/core/window/destinations.h"
#include "postrider/core/window/lookup.h"
#include "postrider/core/window/residents.h"
#include "postrider/core/window/window.h"

namespace postrider::core {

class Restore {
 public:
  Restore(const EngineLimits& limits, Receipts& receipts, Timers& timers, SharedBodies& bodies,
          Residents& residents, Census& census, Destinations& destinations, Window& window,
          Lookup& lookup, SharedGates& gates, Refill& refill, std::vector<Row> damaged)
      : limits_(limits),
        receipts_(receipts),
        timers_(timers),
        bodies_(bodies),
        residents_(residents),
        census_(census),
        destinations_(destinations),
        window_(window),
        lookup_(lookup),
        gates_(gates),
        refill_(refill),
        damaged_books_(std::move(damaged)) {}
  Restore(const Restore&) = delete;
  Restore& operator=(const Restore&) = delete;

  void restore_hot(Step& step, const Chore& chore);
  // True: hot messages and held gates are back, and `begin_work` may follow.
  bool restore_holding(Step& step, const Chore& chore);
  void begin_work(Step& step);
  void restore_owed(Step& step, const Chore& chore);
  void go_on_with_owed(Step& step, bool regardless);

  bool restoring() const { return window_.restoring() || !owed_scanned_; }

 private:
  void restore_hot_row(Step& step, const Row& row, const Row* state);

  const EngineLimits& limits_;
  Receipts& receipts_;
  Timers& timers_;
  SharedBodies& bodies_;
  Residents& residents_;
  Census& census_;
  Destinations& destinations_;
  Window& window_;
  Lookup& lookup_;
  SharedGates& gates_;
  Refill& refill_;
  std::vector<Row> damaged_books_;  // found when the books were read
  bool owed_scanned_ = false;
  std::optional<std::string> owed_waits_at_;  // the scan of owed destinations waits for room …
  TimerHandle owed_timer_ = 0;                // … but not for ever
};

}  // namespace postrider::core
