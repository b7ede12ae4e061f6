// Receipts: the engine's books. Counters of the conservation law, the outcome log (one page per
// commit), ends by id, dead letters, and the buckets by which all of them, and the ledger, are kept
// for a while and then dropped.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "postrider/base/time.h"
#include "postrider/core/books/cause_counts.h"
#include "postrider/core/engine.h"
#include "postrider/model/effects.h"
#include "postrider/model/message.h"
#include "postrider/model/records/records.h"

namespace postrider {

class Receipts {
 public:
  Receipts(const EngineOptions& options, Books books, Timestamp now);

  Counters& counters() { return meta_.counters; }
  const Counters& counters() const { return meta_.counters; }
  const IdKey& id_key() const { return meta_.id_key; }
  // Cards of profiles, as they are counted.
  std::uint64_t cards_of(std::string_view profile) const {
    const auto found = meta_.cards.find(profile);
    return found == meta_.cards.end() ? 0 : found->second;
  }
  void count_cards(std::string_view profile, std::int64_t by);
  const std::map<std::string, std::uint64_t, std::less<>>& cards() const { return meta_.cards; }
  // Entries of the log since this incarnation began, by kind.
  const std::array<std::uint64_t, LogEntry::kKinds>& noted() const { return noted_; }

  // Appends to the page of this turn.
  void note(LogEntry entry);
  // Writes the end record and, with `content`, the dead letter or the history, whose bucket the
  // record gets; counts it and appends it to the page.
  void end(EndRecord& end, const Message* content, WriteBatch& out);

  // Puts into the running bucket of a space, and keeps the bucket's size.
  void put_kept(Kept kept, std::string key, std::string_view value, WriteBatch& out);
  // A dead letter leaves before its bucket does: redriven or dropped. `size` is that of its value.
  // Phase and cause are those of its end; without them it could not be read.
  struct Leaving {
    keys::Bucket bucket = 0;
    MessageId id;
    std::size_t size = 0;
    std::optional<Phase> phase;
    FailureClass cause = FailureClass::kNone;
  };
  void take_letter(const Leaving& letter, Timestamp now, WriteBatch& out);
  // Parked messages are counted, too.
  void add_parked(MessageId id, Timestamp at, std::string_view reason);
  void take_parked(MessageId id);
  const CauseCounts& cause_counts() const { return cause_counts_; }
  // An operator did something; `sequence` is a fresh one.
  void audit(const AuditRecord& record, Sequence sequence, WriteBatch& out);
  // News that waited and does no longer. Closed buckets count what came, not what is left.
  void take_pending_news(keys::Bucket bucket, std::string key, WriteBatch& out);
  bool may_have_pending_news() const;
  keys::Bucket running(Kept kept) const { return info(kept).number; }
  // Whether what is counted of cold messages is all of them. It is not after a count was lost; but
  // when nothing lives there is nothing to count.
  bool counted() const { return meta_.counted; }
  void lose_count() { meta_.counted = false; }
  // Buckets that may hold something, newest first.
  std::vector<keys::Bucket> buckets(Kept kept) const;
  keys::Bucket oldest(Kept kept) const;
  BucketInfo sum(Kept kept) const;  // of all its buckets: count and bytes
  // True when an entry at or behind the position was removed before a reader could get it from
  // there.
  bool fell_behind(const LogPosition& from) const {
    return from.page != 0 && from.page <= meta_.log_removed;
  }

  // The page and the meta record of a turn; closes and drops buckets whose time has come. `page` is
  // a fresh sequence.
  void close_turn(Timestamp now, const WallBooks& wall, Sequence page, WriteBatch& out);
  bool has_page() const { return !page_.empty() || cause_counts_.changed(); }
  // Whether something of it must be written: the bias, by more than slewing does, or a leap.
  bool wall_moved(const WallBooks& wall) const;
  // What stamps mean by the time that is right now.
  const WallBooks& wall() const { return wall_; }
  void set_wall(const WallBooks& wall) { wall_ = wall; }

  // When a bucket must be closed or dropped by age; the engine arms a timer for it.
  Timestamp next_retention(Timestamp now) const;
  // News that waits and names are kept until those that belong together have met: a stop may have
  // lasted longer than they are kept.
  void hold_news(bool held) { news_held_ = held; }
  // Whether that may be earlier than when it was last asked for.
  bool retention_moved() { return std::exchange(moved_, false); }
  // Whether a bucket of dead letters was dropped since it was last asked for.
  bool letters_dropped() { return std::exchange(letters_dropped_, false); }
  // Closes and drops by age and size; true when something was written.
  bool retain(Timestamp now, WriteBatch& out);

 private:
  bool is_held(Kept kept) const {
    return news_held_ && (kept == Kept::kPendingNews || kept == Kept::kNames);
  }
  bool news_held_ = false;
  BucketInfo& info(Kept kept) { return meta_.running[static_cast<std::size_t>(kept)]; }
  const BucketInfo& info(Kept kept) const { return meta_.running[static_cast<std::size_t>(kept)]; }
  BucketList& closed(Kept kept) { return closed_[static_cast<std::size_t>(kept)]; }
  const BucketList& closed(Kept kept) const { return closed_[static_cast<std::size_t>(kept)]; }
  const Retention& retention(Kept kept) const { return retention_[static_cast<std::size_t>(kept)]; }
  Duration span(Kept kept) const;
  bool wants_closing(Kept kept, Timestamp now) const;
  void close_bucket(Kept kept, Timestamp now, WriteBatch& out);
  bool drop_buckets(Kept kept, Timestamp now, WriteBatch& out);
  void count_removed(Kept kept, std::uint64_t count);

  // The newest thing in the oldest closed bucket is as old as the next bucket's beginning.
  Timestamp newest_in_oldest(Kept kept) const {
    return wall_.meant(closed(kept).size() > 1 ? closed(kept)[1].started : info(kept).started);
  }

  Timestamp began_;
  Meta meta_;       // its `wall` as it was written last
  WallBooks wall_;  // as it is
  std::array<std::uint64_t, LogEntry::kKinds> noted_{};
  std::array<BucketList, kKept> closed_;
  std::array<Retention, kKept> retention_;
  CauseCounts cause_counts_;
  bool close_dead_ = false;  // letters in the running bucket have no groups
  bool moved_ = false;
  bool letters_dropped_ = false;
  std::vector<LogEntry> page_;
  std::string scratch_;  // each message ends through it, so it is not allocated anew
};

}  // namespace postrider
