// Arrivals: what comes unasked, and which messages it is about. Everything is read before anything
// is changed.
//
// Invariants
//   - An arrival is a record in the commit of what it changed, and is about a message once.
//   - News whose name is not known yet waits as a record; whichever of the two comes second,
//     they meet.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "postrider/core/books/names.h"
#include "postrider/core/books/nested.h"
#include "postrider/core/books/receipts.h"
#include "postrider/core/books/sequences.h"
#include "postrider/core/delivery/delivery.h"
#include "postrider/core/delivery/rousing.h"
#include "postrider/core/desk/operations.h"
#include "postrider/core/engine.h"
#include "postrider/core/places/shared_gates.h"
#include "postrider/core/refill/restore.h"
#include "postrider/core/step.h"
#include "postrider/core/window/lookup.h"
#include "postrider/core/window/residents.h"
#include "postrider/core/window/window.h"
#include "postrider/model/answer.h"

namespace postrider::core {

class Arrivals {
 public:
  Arrivals(const EngineOptions& options, const EngineLimits& limits, Tallies& tallies,
           Receipts& receipts, Sequences& sequences, Names& names, Nested& nested,
           Residents& residents, Destinations& destinations, Window& window, Lookup& lookup,
           SharedGates& gates, Delivery& delivery, Rousing& rousing, Restore& restore,
           Operations& operations)
      : options_(options),
        limits_(limits),
        tallies_(tallies),
        receipts_(receipts),
        sequences_(sequences),
        names_(names),
        nested_(nested),
        residents_(residents),
        destinations_(destinations),
        window_(window),
        lookup_(lookup),
        gates_(gates),
        delivery_(delivery),
        rousing_(rousing),
        restore_(restore),
        operations_(operations) {}
  Arrivals(const Arrivals&) = delete;
  Arrivals& operator=(const Arrivals&) = delete;

  void on(Step& step, const Arrived& arrived);
  void claim(Step& step, const Chore& chore);

 private:
  struct Overheard {  // what a message that declined the news notes of it; unset: none did
    MessageId id = {};
    std::string notes = {};
  };
  struct Target {  // the message that a subject is about
    Slot slot = kNoSlot;
    MessageId id = {};
    std::uint16_t attempt = 0;
    MessageId late = {};    // it has ended
    std::string tail = {};  // none yet: the name for which the news waits
    Reading reading = {};   // what the news means to it
    Overheard overheard = {};
  };
  class Witness;
  struct Candidate {
    NameEntry::Holder holder;
    bool by_gate = false;
    bool second = false;  // by another name than the first: when it has ended, that says nothing
    bool idle = false;
  };
  std::optional<Answer> take_arrival(Step& step, const ProfileSpec& profile,
                                     const Arrived& arrived);
  std::vector<Candidate> candidates_for(Step& step, const ProfileSpec& profile,
                                        const Subject& subject);
  Timestamp debt_before(Step& step, const ProfileSpec& profile, const Entry& entry);
  Target find_target(Step& step, const ProfileSpec& profile, const Subject& subject);
  void overhear(Step& step, const Overheard& overheard);
  bool fits(const Subject& subject) const;

  const EngineOptions& options_;
  const EngineLimits& limits_;
  Tallies& tallies_;
  Receipts& receipts_;
  Sequences& sequences_;
  Names& names_;
  Nested& nested_;
  Residents& residents_;
  Destinations& destinations_;
  Window& window_;
  Lookup& lookup_;
  SharedGates& gates_;
  Delivery& delivery_;
  Rousing& rousing_;
  Restore& restore_;
  Operations& operations_;
};

}  // namespace postrider::core
