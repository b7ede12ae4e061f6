// Inquiry: what is there, page by page. Answers change nothing that is seen, and decide nothing;
// cursors are keys of the store, and outside data when they come back.
//
// Invariants
//   - Every answer is a bounded piece, so that a look at ten million messages holds nothing up.
//   - A list brings no destination into memory.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "postrider/base/packing.h"
#include "postrider/core/books/cards.h"
#include "postrider/core/books/letters.h"
#include "postrider/core/books/names.h"
#include "postrider/core/books/receipts.h"
#include "postrider/core/books/sequences.h"
#include "postrider/core/books/shared_bodies.h"
#include "postrider/core/desk/fanout.h"
#include "postrider/core/desk/holds.h"
#include "postrider/core/desk/jobs.h"
#include "postrider/core/desk/operations.h"
#include "postrider/core/desk/rerun.h"
#include "postrider/core/engine.h"
#include "postrider/core/places/shared_gates.h"
#include "postrider/core/step.h"
#include "postrider/core/window/census.h"
#include "postrider/core/window/destinations.h"
#include "postrider/core/window/lookup.h"
#include "postrider/core/window/residents.h"
#include "postrider/core/window/sleepers.h"
#include "postrider/core/window/state_records.h"
#include "postrider/core/window/templates.h"
#include "postrider/core/window/window.h"
#include "postrider/model/id_codec.h"

namespace postrider::core {

class Inquiry {
 public:
  Inquiry(const EngineOptions& options, const EngineLimits& limits, Receipts& receipts,
          const IdCodec& ids, Dictionaries dictionaries, Sequences& sequences, SharedBodies& bodies,
          Letters& letters, Names& names, Cards& cards, Residents& residents, Sleepers& sleepers,
          Census& census, Destinations& destinations, Window& window, StateRecords& records,
          Lookup& lookup, SharedGates& gates, Operations& operations, Reruns& reruns, Holds& holds,
          Fanouts& fanouts, Jobs& jobs)
      : options_(options),
        limits_(limits),
        receipts_(receipts),
        ids_(ids),
        dictionaries_(dictionaries),
        sequences_(sequences),
        bodies_(bodies),
        letters_(letters),
        names_(names),
        cards_(cards),
        residents_(residents),
        sleepers_(sleepers),
        census_(census),
        destinations_(destinations),
        window_(window),
        records_(records),
        lookup_(lookup),
        gates_(gates),
        operations_(operations),
        reruns_(reruns),
        holds_(holds),
        fanouts_(fanouts),
        jobs_(jobs) {}
  Inquiry(const Inquiry&) = delete;
  Inquiry& operator=(const Inquiry&) = delete;

  void on(Step& step, const Query& query);

 private:
  // Destinations with messages: their census when that has a record, and the number behind them.
  struct QueuePlaces {
    std::map<std::uint64_t, std::optional<Blob>> census;
    std::optional<std::uint64_t> next;  // unset: those were all
  };
  // What was counted so far, and what must be known of a destination for that.
  struct ShapeCount {
    struct One {
      ShapeRow row;
      const ProfileSpec* profile = nullptr;  // null: we do not have it any more
    };
    std::map<std::uint64_t, One> by_destination;
    std::uint64_t messages = 0;
  };
  std::optional<Answer> read_log(Step& step, const Query& query);
  std::optional<Answer> list_dead(Step& step, const Query& query);
  bool list_parked(Step& step, const Query& query, std::uint32_t limit, DeadLetters& out);
  std::optional<Answer> describe(Step& step, const Query& query);
  static DestinationView view_of(const Resident& resident, Timestamp now);
  static DestinationView view_of(const Templates::Template& wide);
  std::optional<Answer> list_destinations(Step& step, const Query& query);
  std::optional<Answer> list_messages(Step& step, const Query& query);
  std::string list_rows(Step& step, const Rows& rows, std::optional<DestinationId> only,
                        std::uint32_t limit, MessagePage& page);
  std::optional<Explanation> explain_row(Step& step, const Row& row, const Row* state);
  std::optional<Answer> show_message(Step& step, MessageId id);
  std::optional<Answer> read_mailbox(Step& step, const Query& query);
  std::optional<Answer> show_cards(Step& step, const Query& query);
  std::optional<MailboxPage::Item> read_item(Step& step, Slot box, const Row& row);
  std::optional<Answer> list_arrivals(Step& step, const Query& query);
  std::optional<Answer> list_audit(Step& step, const Query& query);
  std::optional<Answer> list_groups(Step& step, const Query& query);
  std::optional<Answer> look_up_operation(Step& step, const OperationKey& key);
  std::optional<Answer> list_runs(Step& step, MessageId first);
  std::optional<Answer> show_group(Step& step, const Query& query);
  std::optional<Answer> list_fanout_groups(Step& step, const Query& query);
  std::optional<Answer> explain(Step& step, MessageId id);
  void name_destination(const Destinations::Destined& destined, Explanation& out) const;
  std::optional<Answer> explain_unreadable(Step& step, MessageId id);
  Explanation explain_entry(const Step& step, const Entry& entry) const;
  bool waits_behind(const Lane& lane, const Entry& entry) const;
  void explain_gates(const Step& step, const Entry& entry, const Resident& resident,
                     Explanation& out) const;
  void explain_next(const Step& step, const Entry& entry, const Resident& resident,
                    Explanation& out) const;
  bool find_batch(Step& step, Slot resident, Explanation& out);
  bool find_gap(Step& step, const Entry& entry, Explanation& out);
  QueuePlaces queues_from(Step& step, const std::string& first, std::uint32_t limit) const;
  void look_for_oldest(const Resident& resident, QueueRow& row) const;
  void tell_config(Step& step, DestinationId id, QueueRow& row) const;
  QueueRow queue_row(Step& step, DestinationId id, const std::optional<Blob>* census);
  std::optional<Answer> list_queues(Step& step, const Query& query);
  std::optional<Answer> go_on_with_queue(Step& step, const std::string& cursor);
  std::optional<Answer> shape(Step& step, const Query& query);
  bool know(Step& step, DestinationId id, ShapeCount& census) const;
  void count_in(Step& step, const Message& message, const Row* state, ShapeCount& census) const;
  static DestinationView::Activity activity_of(const Resident& resident, Timestamp now);

  const EngineOptions& options_;
  const EngineLimits& limits_;
  Receipts& receipts_;
  const IdCodec& ids_;
  Dictionaries dictionaries_;
  Sequences& sequences_;
  SharedBodies& bodies_;
  Letters& letters_;
  Names& names_;
  Cards& cards_;
  Residents& residents_;
  Sleepers& sleepers_;
  Census& census_;
  Destinations& destinations_;
  Window& window_;
  StateRecords& records_;
  Lookup& lookup_;
  SharedGates& gates_;
  Operations& operations_;
  Reruns& reruns_;
  Holds& holds_;
  Fanouts& fanouts_;
  Jobs& jobs_;
};

}  // namespace postrider::core
