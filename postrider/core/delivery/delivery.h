// Delivery: the interpreter of the profiles' tables. A signal finds its row; the row's verb is
// carried out here and nowhere else.
//
// Invariants
//   - A message is in one state of its profile's table, and changes it by a row of that table
//     only.
//   - An attempt is open only in a state in flight. Leaving that state closes or aborts it, and
//     gives back the gates unless the next state keeps them.
//   - What a step decides about a message is in the commit of that step; bytes leave afterwards.
//   - An end removes every record of the message and writes its end record, once. When the leader
//     of a batch is delivered, or its fate is unknown, its followers end so in the same commit; by
//     any other end, and when it is parked or released, they go back to their lanes.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "postrider/base/rng.h"
#include "postrider/core/books/cards.h"
#include "postrider/core/books/due.h"
#include "postrider/core/books/names.h"
#include "postrider/core/books/nested.h"
#include "postrider/core/books/receipts.h"
#include "postrider/core/books/shared_bodies.h"
#include "postrider/core/books/waiters.h"
#include "postrider/core/delivery/batches.h"
#include "postrider/core/delivery/routes.h"
#include "postrider/core/engine.h"
#include "postrider/core/places/attempts.h"
#include "postrider/core/places/shared_gates.h"
#include "postrider/core/rules/retry.h"
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
#include "postrider/model/id_codec.h"

namespace postrider::core {

class Delivery {
 public:
  Delivery(const EngineOptions& options, const EngineLimits& limits, Tallies& tallies,
           Receipts& receipts, Timers& timers, const IdCodec& ids, SharedBodies& bodies,
           Names& names, Nested& nested, Cards& cards, Waiters& waiters, Due& due,
           Residents& residents, Sleepers& sleepers, Census& census, Destinations& destinations,
           Window& window, StateRecords& records, Lookup& lookup, Attempts& attempts,
           SharedGates& gates, Routes& routes, Batches& batches, std::uint64_t seed)
      : options_(options),
        limits_(limits),
        tallies_(tallies),
        receipts_(receipts),
        timers_(timers),
        ids_(ids),
        bodies_(bodies),
        names_(names),
        nested_(nested),
        cards_(cards),
        waiters_(waiters),
        due_(due),
        residents_(residents),
        sleepers_(sleepers),
        census_(census),
        destinations_(destinations),
        window_(window),
        records_(records),
        lookup_(lookup),
        attempts_(attempts),
        gates_(gates),
        routes_(routes),
        batches_(batches),
        rng_(seed) {
    for (const ProfileSpec* profile : options_.profiles) {
      auto& methods = row_use_.emplace_back();
      for (const Method& method : profile->methods) methods.emplace_back(method.rows.size(), 0);
    }
  }
  Delivery(const Delivery&) = delete;
  Delivery& operator=(const Delivery&) = delete;

  Facts facts_of(const Step& step, const Entry& entry, Cabinet* cabinet = nullptr) const;
  void leave_step(const Step& step, Entry& entry, StateIndex to, On on);
  const Transition* next_row(Step& step, Entry& entry, On signal, const Reading* reading,
                             std::optional<Timestamp>& due);
  void apply(Step& step, Slot slot, On signal, const Reading* reading);
  bool raise_remembered(Step& step, Slot slot);
  // `remark`: what the far side said about it, though it took it.
  // `outcome`: what callers are told, of a profile that keeps that; null: nothing.
  void end(Step& step, Slot slot, StateIndex to, std::string_view remark = {},
           const std::string* outcome = nullptr);
  // The batch of this destination is given up; what its followers did not hear counts now.
  void give_batch_back(Step& step, Slot resident, bool splits = false);
  bool call_off(Step& step, Slot slot, std::string_view reason);
  // Reads the sleeping messages whose key may be this one, so that `supersede` finds them.
  void locate_values(Step& step, Slot resident, std::uint8_t lane, std::string_view key);
  // Ends what waits in memory, of this lane and key, and was accepted before `newer`, where the
  // lane keeps the latest only.
  void supersede(Step& step, Slot resident, std::uint8_t lane, std::string_view key,
                 Sequence newer);
  // Ends this one, if a newer one in memory takes its place.
  void end_if_replaced(Step& step, Slot slot);
  // Ends a message that waits because there is a newer one of its key. False: it stays.
  bool end_replaced(Step& step, Slot slot);
  // A message with a key has come to the disk: perhaps there is much to sweep.
  void note_cold_value(Step& step, Slot resident, std::uint8_t lane);
  void on(Step& step, const AttemptNews& news);
  void on(Step& step, const AttemptEnded& ended);
  void on(Step& step, const ReceiptArrived& receipt);
  void probe_again(Step& step, Slot slot);
  void unpark(Step& step, MessageId id);
  void refresh_attempts(const Step& step, Entry& entry) const;
  void tell(Step& step, Slot slot, const Reading& reading, std::uint16_t attempt, Timestamp at);
  void note_late(Step& step, MessageId id, std::string_view source);

  Phase last_end() const { return last_end_; }  // how the last message ended
  const std::vector<std::vector<std::vector<std::uint64_t>>>& row_use() const { return row_use_; }

 private:
  const Opaque* parsed_of(const Entry& entry) const;
  static Timestamp back_off_end(const Step& step, const Entry& entry);
  std::optional<Timestamp> retry_due(Step& step, const Entry& entry, const Reading* reading);
  void raise(Step& step, Slot resident, const Transition& row, const Entry& entry);
  void become_deep(Step& step, Slot resident);
  void carry_out(Step& step, Slot slot, const Transition& row, std::optional<Timestamp> due,
                 const Reading* reading);
  void remember(Step& step, Entry& entry, On signal);
  void enter(Step& step, Slot slot, StateIndex to, std::optional<Timestamp> due);
  void settle_visitor(Entry& entry);
  Timestamp timer_due(const Step& step, const Entry& entry, const StateRow& target) const;
  void sleep(Step& step, Slot slot);
  void end_attempt(Step& step, Slot slot, const Reading& reading);
  void leave_attempt(Step& step, Slot slot, bool ended = false);
  void close_attempt(Step& step, Entry& entry);
  void start_attempt(Step& step, Slot slot, StateIndex to, AttemptKind kind);
  void claim_followers(Step& step, Slot slot);
  std::vector<Facts> follower_facts(const Entry& leader, Timestamp at, Timestamp wall) const;
  void end_members(Step& step, Slot slot, StateIndex to, On signal, const Reading* reading);
  WireRequest encode_intent(Step& step, Entry& entry, StateIndex to);
  void start_probe(Step& step, Slot slot, StateIndex to);
  void abandon(Step& step, const Entry& entry);
  void tell_lost(Entry& entry, Phase phase);
  void tell_waiters(Step& step, const ProfileSpec& profile, const EndRecord& end,
                    const std::string* outcome);
  bool is_replaced(const Step& step, const Entry& entry) const;
  Duration age_of(const Step& step, const Entry& entry) const;
  void leave_behind(Step& step, const Entry& entry, StateIndex to, EndRecord& record);
  void note_attempt(const Step& step, Entry& entry, Phase to, On signal, const Reading* reading);
  void note_end(Step& step, const Entry& entry, Phase phase);
  void note_failure(Timestamp now, const Entry& entry);
  On poison_signal(const Entry& entry) const;
  void let_others_pass(Step& step, Entry& entry, const Transition& row);
  void park(Step& step, Slot slot);
  void park_for_reach(Step& step, Slot slot);
  void absorb(Step& step, Entry& entry, const Reading& reading, bool answers_send);
  void apply_reading(Step& step, Slot slot, const Reading& reading, std::uint16_t attempt,
                     Timestamp at);

  const EngineOptions& options_;
  const EngineLimits& limits_;
  Tallies& tallies_;
  Receipts& receipts_;
  Timers& timers_;
  const IdCodec& ids_;
  SharedBodies& bodies_;
  Names& names_;
  Nested& nested_;
  Cards& cards_;
  Waiters& waiters_;
  Due& due_;
  Residents& residents_;
  Sleepers& sleepers_;
  Census& census_;
  Destinations& destinations_;
  Window& window_;
  StateRecords& records_;
  Lookup& lookup_;
  Attempts& attempts_;
  SharedGates& gates_;
  Routes& routes_;
  Batches& batches_;
  Rng rng_;
  std::vector<std::vector<std::vector<std::uint64_t>>> row_use_;  // profile, method, row
  Phase last_end_ = Phase::kDelivered;
};

}  // namespace postrider::core
