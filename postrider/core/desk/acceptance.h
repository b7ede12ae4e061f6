// Acceptance: how a message gets in. Admission by the profile, effect and seal are one commit.
//
// Invariants
//   - A message is hot only when its lane has nothing on disk and room in its window; else it
//     would overtake.
//   - An accepted message is counted, has its record, and is found by a restart: in the hot
//     space, by its due entry, or behind the head of its lane.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "postrider/base/packing.h"
#include "postrider/core/books/cards.h"
#include "postrider/core/books/due.h"
#include "postrider/core/books/names.h"
#include "postrider/core/books/receipts.h"
#include "postrider/core/books/sequences.h"
#include "postrider/core/books/waiters.h"
#include "postrider/core/delivery/delivery.h"
#include "postrider/core/desk/operations.h"
#include "postrider/core/desk/rerun.h"
#include "postrider/core/engine.h"
#include "postrider/core/step.h"
#include "postrider/core/window/census.h"
#include "postrider/core/window/destinations.h"
#include "postrider/core/window/lookup.h"
#include "postrider/core/window/residents.h"
#include "postrider/core/window/window.h"

namespace postrider::core {

class Acceptance {
 public:
  struct Draft {  // a message on its way in
    Slot resident;
    std::uint8_t lane;
    std::uint16_t priority;
    Timestamp not_before;
    Timestamp expires;
    MessageId origin;
    std::string_view attributes;
    std::string_view body;
    const SharedBody* shared = nullptr;      // where the body is, when others have it too
    const Dictionary* dictionary = nullptr;  // of the body, instead of the profile's
    ParsedMessage parsed = {};  // by the profile's `read`, when that was called already
  };
  struct Firm {  // a submit that is accepted in the step of what it follows from, or not at all
    Slot resident;
    Admission admission = {};
    ParsedMessage parsed = {};
    NameEntry older = {};  // messages that it supersedes
  };
  struct Taken {
    MessageId id;
    bool readmits = false;  // its method does
  };
  Acceptance(const EngineLimits& limits, Receipts& receipts, Dictionaries dictionaries,
             Sequences& sequences, Names& names, Cards& cards, Waiters& waiters, Due& due,
             Residents& residents, Census& census, Destinations& destinations, Window& window,
             Lookup& lookup, Delivery& delivery, Operations& operations, Reruns& reruns)
      : limits_(limits),
        receipts_(receipts),
        dictionaries_(dictionaries),
        sequences_(sequences),
        names_(names),
        cards_(cards),
        waiters_(waiters),
        due_(due),
        residents_(residents),
        census_(census),
        destinations_(destinations),
        window_(window),
        lookup_(lookup),
        delivery_(delivery),
        operations_(operations),
        reruns_(reruns) {}
  Acceptance(const Acceptance&) = delete;
  Acceptance& operator=(const Acceptance&) = delete;

  void on(Step& step, const Submit& submit);
  static Answer no_destination(const std::string& name);
  static std::optional<Answer> refuse_expired(const Step& step, Timestamp expires);
  static std::optional<std::string> closed_to_new(const Resident& resident);
  // Of a mailbox; `ahead` messages are accepted before it in the same step.
  static bool is_full(const Resident& resident, std::size_t bytes, std::uint64_t ahead = 0);
  static Answer no_room(const Resident& resident);
  std::optional<Result<Taken>> take_message(Step& step, Draft&& draft);
  MessageId admit_instead(Step& step, Draft&& draft, const Admission& admission, NameEntry& older);
  MessageId admit(Step& step, Draft&& draft, const Admission& admission);
  // Reads what a new message of this key may take the place of.
  void locate_values(Step& step, Slot resident, std::uint8_t lane, std::string_view key) {
    delivery_.locate_values(step, resident, lane, key);
  }
  NameEntry find_older(Step& step, std::string_view scope, std::string_view key);
  // What the profile says to a message of this destination.
  Result<Admission> ask(Step& step, const Draft& draft);
  // Why one of these submits would be refused; nothing: all would be accepted, and `out` says how,
  // or something must be read first. Nothing is changed.
  std::optional<Answer> judge_firm(Step& step, std::span<const NestedSubmit> submits,
                                   std::vector<Firm>& out);
  // In the same step. Returns the id of the first.
  MessageId take_firm(Step& step, std::span<const NestedSubmit> submits, std::vector<Firm>& firm);
  void submit_nested(Step& step, const Chore& chore);
  std::optional<Answer> invalid(const Caller& caller, std::uint8_t lane,
                                std::string_view attributes, std::string_view body) const;

 private:
  std::optional<Answer> judge_one(Step& step, const NestedSubmit& submit,
                                  std::span<const NestedSubmit> all, std::vector<Firm>& out);
  void expect_more(Step& step, const Submit& submit);
  std::optional<Answer> accept(Step& step, const Submit& submit);
  static std::optional<Answer> refuse_full(const Receipts& receipts, const EngineLimits& limits,
                                           const Cards& cards, const ProfileSpec& profile);
  bool fits_window(const Resident& resident, const Lane* lane, std::size_t bytes,
                   Timestamp now) const;
  void accept_hot(Step& step, Slot resident, Message&& message, ParsedMessage parsed);
  void accept_cold(Step& step, Slot slot, const Message& message);
  void supersede(Step& step, NameEntry& older);

  const EngineLimits& limits_;
  Receipts& receipts_;
  Dictionaries dictionaries_;
  Sequences& sequences_;
  Names& names_;
  Cards& cards_;
  Waiters& waiters_;
  Due& due_;
  Residents& residents_;
  Census& census_;
  Destinations& destinations_;
  Window& window_;
  Lookup& lookup_;
  Delivery& delivery_;
  Operations& operations_;
  Reruns& reruns_;
  bool expected_more_ = false;  // a submit said that more follow
};

}  // namespace postrider::core
