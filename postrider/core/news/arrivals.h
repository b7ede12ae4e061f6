// Arrivals: what comes unasked, and which messages it is about. Everything is read before anything
// is changed.
//
// Invariants
//   - An arrival is a record in the commit of what it changed, and is about a message once. One
//     whose cards or firm submits cannot be taken changes nothing.
//   - News whose name is not known yet waits as a record; whichever of the two comes second,
//     they meet.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "postrider/core/books/cards.h"
#include "postrider/core/books/names.h"
#include "postrider/core/books/nested.h"
#include "postrider/core/books/receipts.h"
#include "postrider/core/books/sequences.h"
#include "postrider/core/delivery/delivery.h"
#include "postrider/core/delivery/rousing.h"
#include "postrider/core/desk/acceptance.h"
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
           Receipts& receipts, Sequences& sequences, Names& names, Nested& nested, Cards& cards,
           Residents& residents, Destinations& destinations, Window& window, Lookup& lookup,
           SharedGates& gates, Delivery& delivery, Rousing& rousing, Restore& restore,
           Operations& operations, Acceptance& acceptance)
      : options_(options),
        limits_(limits),
        tallies_(tallies),
        receipts_(receipts),
        sequences_(sequences),
        names_(names),
        nested_(nested),
        cards_(cards),
        residents_(residents),
        destinations_(destinations),
        window_(window),
        lookup_(lookup),
        gates_(gates),
        delivery_(delivery),
        rousing_(rousing),
        restore_(restore),
        operations_(operations),
        acceptance_(acceptance) {}
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
  struct Wants {  // what an arrival would write beside what it says of messages
    std::vector<Acceptance::Firm> firm = {};
    std::uint64_t refused = 0;  // what was beyond the limits
  };
  std::optional<Answer> refuse_whole(Step& step, const ProfileSpec& profile,
                                     const Received& received, std::span<const Target> targets,
                                     Wants& wants);
  void tell_target(Step& step, const Subject& subject, const Target& target,
                   const ArrivalSource& source);
  Answer answer_to(const Received& received) const;
  std::vector<Candidate> candidates_for(Step& step, const ProfileSpec& profile,
                                        const Subject& subject);
  Timestamp debt_before(Step& step, const ProfileSpec& profile, const Entry& entry);
  Target find_target(Step& step, const ProfileSpec& profile, const Subject& subject);
  struct Claim {  // of a message on news that waited for its name
    NameEntry::Holder holder = {};
    Slot slot = kNoSlot;
    Timestamp named;  // when it was given the name
    Timestamp owed;   // when the name was given last that the open attempt would leave behind
  };
  Reading hear(Step& step, const Claim& claim, const PendingNews::News& news, OpenCabinet& cabinet);
  bool is_near(const Claim& claim, const PendingNews::News& news) const;
  std::optional<Reading> hear_first(Step& step, const Claim& claim,
                                    const std::vector<PendingNews::News>& news);
  void overhear(Step& step, const Overheard& overheard);
  bool fits(const Subject& subject) const;

  const EngineOptions& options_;
  const EngineLimits& limits_;
  Tallies& tallies_;
  Receipts& receipts_;
  Sequences& sequences_;
  Names& names_;
  Nested& nested_;
  Cards& cards_;
  Residents& residents_;
  Destinations& destinations_;
  Window& window_;
  Lookup& lookup_;
  SharedGates& gates_;
  Delivery& delivery_;
  Rousing& rousing_;
  Restore& restore_;
  Operations& operations_;
  Acceptance& acceptance_;
};

}  // namespace postrider::core
