#include "postrider/core/receipts.h"

#include <algorithm>

#include "postrider/base/check.h"
#include "postrider/base/planted.h"
#include "postrider/model/keys.h"

namespace postrider {
namespace {

// A space is cut into about so many buckets over its retention: a look-up by id asks each, a drop
// is one part of it.
constexpr int kParts = 4;
// Smaller errors of the wall clock are slewed and need no commit of their own.
constexpr Duration kBiasStep(1000);

std::uint64_t& counter_of(Counters& counters, Phase phase) {
  switch (phase) {
    case Phase::kDelivered: return counters.delivered;
    case Phase::kDead: return counters.dead;
    case Phase::kExpired: return counters.expired;
    case Phase::kCancelled: return counters.cancelled;
    case Phase::kIndeterminate: return counters.indeterminate;
    case Phase::kQueued:
    case Phase::kInFlight:
    case Phase::kAwaiting:
    case Phase::kBackoff:
    case Phase::kParked: break;
  }
  POSTRIDER_CHECK(false);
  return counters.dead;
}

}  // namespace

Reads books_reads() {
  Reads reads;
  reads.keys.push_back(keys::meta());
  for (const Kept kept : kAllKept) reads.keys.push_back(keys::buckets(space_of(kept)));
  return reads;
}

Result<Books> read_books(const Found& found) {
  Books books;
  const auto* meta = found.get(keys::meta());
  if (meta != nullptr && meta->has_value()) {
    POSTRIDER_TRY(decoded, decode_meta((*meta)->view()));
    books.meta = decoded;
  }
  for (const Kept kept : kAllKept) {
    const auto* list = found.get(keys::buckets(space_of(kept)));
    if (list == nullptr || !list->has_value()) continue;
    POSTRIDER_TRY(decoded, decode_buckets((*list)->view()));
    books.closed[static_cast<std::size_t>(kept)] = decoded;
  }
  return books;
}

Receipts::Receipts(const EngineOptions& options, Books books, Timestamp now)
    : began_(now),
      meta_(books.meta),
      closed_(std::move(books.closed)),
      retention_{options.ledger, options.log,    options.ends,    options.dead,
                 options.names,  options.halves, options.arrivals} {
  for (const Kept kept : {Kept::kLedger, Kept::kLog, Kept::kEnds, Kept::kDead}) {
    if (!info(kept).started.is_set()) info(kept).started = now;
  }
}

void Receipts::note(LogEntry entry) {
  if (planted(Bug::kEndWithoutLog) && entry.kind == LogEntry::Kind::kEnd &&
      entry.phase == Phase::kExpired)
    return;
  ++noted_[static_cast<std::size_t>(entry.kind)];
  page_.push_back(std::move(entry));
}

void Receipts::end(const EndRecord& end, const Message* letter, WriteBatch& out) {
  EndRecord stored = end;
  if (letter != nullptr) {
    stored.dead_bucket = running(Kept::kDead);
    const DeadLetter dead{end.id, end.phase, end.at, end.cause, end.attempts, end.reason};
    put_kept(Kept::kDead, keys::dead(stored.dead_bucket, end.id),
             encode_dead(dead, letter->record.view()), out);
  }
  encode_end(stored, scratch_);
  put_kept(Kept::kEnds, keys::end(running(Kept::kEnds), end.id.sequence()), scratch_, out);
  ++counter_of(meta_.counters, end.phase);
  note({.position = {},
        .kind = LogEntry::Kind::kEnd,
        .at = end.at,
        .id = end.id,
        .phase = end.phase,
        .cause = end.cause,
        .attempts = end.attempts,
        .reason = end.reason});
}

void Receipts::put_kept(Kept kept, std::string key, std::string_view value, WriteBatch& out) {
  BucketInfo& bucket = info(kept);
  // The later spaces begin when they are first used, and cost nothing until then.
  if (!bucket.started.is_set()) bucket.started = std::max(began_, meta_.clock_floor);
  ++bucket.count;
  bucket.bytes += key.size() + value.size();
  out.put(std::move(key), value);
}

void Receipts::take_letter(keys::Bucket bucket, MessageId id, std::size_t size, WriteBatch& out) {
  std::string key = keys::dead(bucket, id);
  const auto leaves = [&](BucketInfo& from) {
    if (planted(Bug::kLetterStaysCounted)) return;
    --from.count;
    from.bytes -= key.size() + size;
  };
  if (bucket == running(Kept::kDead)) leaves(info(Kept::kDead));
  for (BucketInfo& other : closed(Kept::kDead)) {
    if (other.number != bucket) continue;
    leaves(other);
    out.put(keys::buckets(space_of(Kept::kDead)), encode_buckets(closed(Kept::kDead)));
  }
  out.remove(std::move(key));
}

void Receipts::take_half(keys::Bucket bucket, std::string key, WriteBatch& out) {
  if (bucket == running(Kept::kHalves) && info(Kept::kHalves).count > 0)
    --info(Kept::kHalves).count;
  out.remove(std::move(key));
}

bool Receipts::may_have_halves() const {
  return info(Kept::kHalves).count > 0 || !closed(Kept::kHalves).empty();
}

std::vector<keys::Bucket> Receipts::buckets(Kept kept) const {
  std::vector<keys::Bucket> numbers{running(kept)};
  const BucketList& list = closed(kept);
  for (auto it = list.rbegin(); it != list.rend(); ++it) numbers.push_back(it->number);
  return numbers;
}

keys::Bucket Receipts::oldest(Kept kept) const {
  return closed(kept).empty() ? running(kept) : closed(kept).front().number;
}

Duration Receipts::span(Kept kept) const {
  return std::max(retention(kept).age / kParts, Duration(1));
}

bool Receipts::wants_closing(Kept kept, Timestamp now) const {
  const BucketInfo& bucket = info(kept);
  const std::uint64_t bytes_max = retention(kept).bytes;
  if (bytes_max != 0 && bucket.bytes > bytes_max / kParts) return true;
  const std::uint64_t count_max = retention(kept).count;
  if (count_max != 0 && bucket.count * kParts >= std::max<std::uint64_t>(count_max, kParts))
    return true;
  return bucket.count > 0 && now - bucket.started >= span(kept);
}

void Receipts::close_bucket(Kept kept, Timestamp now, WriteBatch& out) {
  BucketInfo& bucket = info(kept);
  closed(kept).push_back(bucket);
  bucket = BucketInfo{.number = bucket.number + 1, .started = now};
  out.put(keys::buckets(space_of(kept)), encode_buckets(closed(kept)));
}

void Receipts::count_removed(Kept kept, std::uint64_t count) {
  switch (kept) {
    case Kept::kLedger: meta_.counters.removed_ledger += count; return;
    case Kept::kLog: return;  // the same ends are counted once, by id
    case Kept::kEnds: meta_.counters.removed_ends += count; return;
    case Kept::kDead: meta_.counters.removed_dead += count; return;
    case Kept::kNames: meta_.counters.removed_names += count; return;
    case Kept::kHalves: meta_.counters.removed_halves += count; return;
    case Kept::kArrivals: meta_.counters.removed_arrivals += count; return;
  }
}

bool Receipts::drop_buckets(Kept kept, Timestamp now, WriteBatch& out) {
  BucketList& list = closed(kept);
  std::uint64_t bytes = info(kept).bytes;
  std::uint64_t records = info(kept).count;
  for (const BucketInfo& bucket : list) bytes += bucket.bytes, records += bucket.count;
  bool dropped = false;
  while (!list.empty()) {
    // The newest thing in a closed bucket is as old as the next bucket's beginning.
    const Timestamp newest = list.size() > 1 ? list[1].started : info(kept).started;
    const bool too_old = !is_held(kept) && now - newest >= retention(kept).age;
    const bool too_many = retention(kept).count != 0 && records > retention(kept).count;
    const bool too_big = too_many || (retention(kept).bytes != 0 && bytes > retention(kept).bytes);
    if (!too_old && !too_big) break;
    const BucketInfo gone = list.front();
    list.erase(list.begin());
    bytes -= gone.bytes;
    records -= gone.count;
    dropped = true;
    out.remove_range(keys::bucket(space_of(kept), gone.number),
                     keys::bucket(space_of(kept), gone.number + 1));
    if (kept == Kept::kLedger) {  // sessions live and go with the ledger's buckets
      out.remove_range(keys::bucket(keys::kSession, gone.number),
                       keys::bucket(keys::kSession, gone.number + 1));
    }
    count_removed(kept, gone.count);
    if (kept == Kept::kLog) {  // a notice in the log about the log would never end
      meta_.log_removed = gone.last_page;
      continue;
    }
    LogEntry notice;
    notice.kind = LogEntry::Kind::kRemoved;
    notice.at = now;
    notice.reason = std::to_string(gone.count) + " records of space " + space_of(kept) +
                    (too_old ? " by age" : " by size");
    note(std::move(notice));
  }
  if (dropped) out.put(keys::buckets(space_of(kept)), encode_buckets(list));
  return dropped;
}

bool Receipts::retain(Timestamp now, WriteBatch& out) {
  bool wrote = false;
  for (const Kept kept : kAllKept) {
    if (wants_closing(kept, now)) {
      close_bucket(kept, now, out);
      wrote = true;
    }
    wrote = drop_buckets(kept, now, out) || wrote;
  }
  return wrote;
}

void Receipts::close_turn(Timestamp now, Duration wall_bias, Sequence page, WriteBatch& out) {
  retain(now, out);
  if (!page_.empty()) {
    info(Kept::kLog).last_page = page.value();
    put_kept(Kept::kLog, keys::log(running(Kept::kLog), page), encode_log(page_), out);
    page_.clear();
  }
  if (out.empty() && !bias_moved(wall_bias)) return;
  meta_.clock_floor = now;
  meta_.wall_bias = wall_bias;
  out.put(keys::meta(), encode_meta(meta_));
}

bool Receipts::bias_moved(Duration wall_bias) const {
  const Duration by = wall_bias - meta_.wall_bias;
  return by >= kBiasStep || by <= -kBiasStep;
}

Timestamp Receipts::next_retention(Timestamp now) const {
  Timestamp next = Timestamp::never();
  for (const Kept kept : kAllKept) {
    if (info(kept).count > 0) next = std::min(next, info(kept).started + span(kept));
    if (closed(kept).empty() || is_held(kept)) continue;
    const Timestamp newest = closed(kept).size() > 1 ? closed(kept)[1].started : info(kept).started;
    next = std::min(next, newest + retention(kept).age);
  }
  return std::max(next, now + Duration(1));
}

}  // namespace postrider
