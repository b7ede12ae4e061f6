// Quarantine: where records go that cannot be read, and what else is known of them then.
//
// Invariants
//   - A record is put there and removed from its place in one commit, and counted once.
//   - What such a message held until its end is given back, and its lane goes on.
#pragma once

#include "postrider/core/books/cards.h"
#include "postrider/core/books/receipts.h"
#include "postrider/core/books/shared_bodies.h"
#include "postrider/core/places/shared_gates.h"
#include "postrider/core/refill/refill.h"
#include "postrider/core/step.h"
#include "postrider/core/window/census.h"
#include "postrider/core/window/residents.h"
#include "postrider/core/window/window.h"

namespace postrider::core {

class Quarantine {
 public:
  Quarantine(Receipts& receipts, SharedBodies& bodies, Cards& cards, Residents& residents,
             Census& census, Window& window, SharedGates& gates, Refill& refill)
      : receipts_(receipts),
        bodies_(bodies),
        cards_(cards),
        residents_(residents),
        census_(census),
        window_(window),
        gates_(gates),
        refill_(refill) {}
  Quarantine(const Quarantine&) = delete;
  Quarantine& operator=(const Quarantine&) = delete;

  void quarantine(Step& step, const Row& row);

 private:
  Receipts& receipts_;
  SharedBodies& bodies_;
  Cards& cards_;
  Residents& residents_;
  Census& census_;
  Window& window_;
  SharedGates& gates_;
  Refill& refill_;
};

}  // namespace postrider::core
