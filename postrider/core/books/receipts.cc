#include "postrider/core/books/receipts.h"

#include <algorithm>

#include "postrider/base/check.h"
#include "postrider/base/planted.h"
#include "postrider/model/records/keys.h"

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

// As many as there are: their writer was bounded.
Scan whole(char space) {
  return {keys::space(space), keys::after_prefix(keys::space(space)), UINT32_MAX};
}

// Neither of them is worth refusing to start: what cannot be read goes into quarantine.
void read_groups(const Found& found, Books& books) {
  const Rows* rows = found.scan(whole(keys::kGroup));
  if (rows == nullptr) return;
  for (const Row& row : rows->rows) {
    const auto name = parse_group_key(row.first);
    auto group = decode_group(row.second.view());
    if (!name || !group) {
      books.damaged.push_back(row);
      continue;
    }
    books.groups.emplace_hint(books.groups.end(), *name, std::move(*group));
  }
}

void read_jobs(const Found& found, Books& books) {
  const Rows* rows = found.scan(whole(keys::kJob));
  if (rows == nullptr) return;
  for (const Row& row : rows->rows) {
    auto job = decode_job(row.second.view());
    if (job && row.first == keys::job(job->id.value())) {
      books.jobs.push_back(std::move(*job));
    } else {
      books.damaged.push_back(row);
    }
  }
}

void read_holds(const Found& found, Books& books) {
  const Rows* rows = found.scan(whole(keys::kHold));
  if (rows == nullptr) return;
  for (const Row& row : rows->rows) {
    auto hold = decode_hold(row.second.view());
    if (hold && row.first == keys::hold(hold->rule.name)) {
      books.holds.push_back(std::move(*hold));
    } else {
      books.damaged.push_back(row);
    }
  }
}

// Pages of the census and templates are neighbours: one scan reads both.
Scan census_and_templates() {
  static_assert(keys::kTemplate == keys::kCensusPage + 1);
  return {keys::space(keys::kCensusPage), keys::after_prefix(keys::space(keys::kTemplate)),
          whole(keys::kCensusPage).limit};
}

void read_template(const Row& row, Books& books) {
  auto config = decode_config(row.second.view());
  if (config && row.first == keys::template_of(config->name)) {
    books.templates.push_back(std::move(*config));
  } else {
    books.damaged.push_back(row);
  }
}

void read_census_and_templates(const Found& found, Books& books) {
  const Rows* rows = found.scan(census_and_templates());
  if (rows == nullptr) return;
  for (const Row& row : rows->rows) {
    if (row.first[0] == keys::kTemplate) {
      read_template(row, books);
      continue;
    }
    const auto sequence = keys::parse_census_page(row.first);
    auto counts = decode_census_page(row.second.view());
    if (sequence && counts) {
      books.census.push_back({*sequence, std::move(*counts)});
    } else {
      books.damaged.push_back(row);
      books.meta.counted = false;
    }
  }
}

}  // namespace

Reads books_reads() {
  Reads reads;
  reads.keys.push_back(keys::meta());
  for (const Kept kept : kAllKept) reads.keys.push_back(keys::buckets(space_of(kept)));
  for (const char space : {keys::kGroup, keys::kJob, keys::kHold})
    reads.scans.push_back(whole(space));
  reads.scans.push_back(census_and_templates());
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
  read_groups(found, books);
  read_jobs(found, books);
  read_holds(found, books);
  read_census_and_templates(found, books);
  return books;
}

Receipts::Receipts(const EngineOptions& options, Books books, Timestamp now)
    : began_(now),
      meta_(books.meta),
      wall_(meta_.wall),
      closed_(std::move(books.closed)),
      retention_{options.ledger,   options.log,   options.ends,
                 options.dead,     options.names, options.pending_news,
                 options.arrivals, options.audit, options.history},
      cause_counts_(std::move(books.groups), options.limits.dead_groups_max) {
  if (meta_.counters.live() == 0) meta_.counted = true;
  if (meta_.id_key == IdKey()) meta_.id_key = options.id_key;
  for (const Kept kept : {Kept::kLedger, Kept::kLog, Kept::kEnds, Kept::kDead}) {
    if (!info(kept).started.is_set()) info(kept).started = now;
  }
  BucketList dead = closed(Kept::kDead);
  dead.push_back(info(Kept::kDead));
  for (const BucketInfo& bucket : dead) {
    const std::uint64_t known = cause_counts_.letters_in(bucket.number);
    if (bucket.count <= known) continue;
    cause_counts_.add_unknown(bucket.number, bucket.count - known);
    // New letters get groups again as soon as they come into a new bucket.
    close_dead_ = close_dead_ || bucket.number == running(Kept::kDead);
  }
}

void Receipts::note(LogEntry entry) {
  if (planted(Bug::kEndWithoutLog) && entry.kind == LogEntry::Kind::kEnd &&
      entry.phase == Phase::kExpired)
    return;
  ++noted_[static_cast<std::size_t>(entry.kind)];
  page_.push_back(std::move(entry));
}

void Receipts::end(EndRecord& end, const Message* content, WriteBatch& out) {
  if (content != nullptr) {
    const Kept kept = leaves_letter(end.phase) ? Kept::kDead : Kept::kHistory;
    end.content_bucket = running(kept);
    const DeadLetter dead{.id = end.id,
                          .phase = end.phase,
                          .at = end.at,
                          .cause = end.cause,
                          .attempts = end.attempts,
                          .reason = end.reason};
    // History outlives the messages with which this one shared its body, and has it whole.
    const bool whole = kept == Kept::kHistory && content->shared.id != 0;
    const Blob record = whole ? encode_whole(*content) : content->record;
    put_kept(kept, content_key(end.content_bucket, end.id, end.phase),
             encode_dead(dead, record.view()), out);
    // What a letter refers to is kept for it: a bound in bytes must hold for that, too.
    if (kept == Kept::kDead) info(kept).bytes += content->shared.bytes;
  }
  if (leaves_letter(end.phase)) {
    cause_counts_.add({.name = {end.content_bucket, end.id.destination(), end.phase, end.cause},
                       .at = end.at,
                       .id = end.id,
                       .reason = end.reason});
  }
  encode_end(end, scratch_);
  put_kept(Kept::kEnds, keys::end(running(Kept::kEnds), end.id.sequence()), scratch_, out);
  ++counter_of(meta_.counters, end.phase);
  note({.position = {},
        .kind = LogEntry::Kind::kEnd,
        .at = end.at,
        .id = end.id,
        .phase = end.phase,
        .cause = end.cause,
        .attempts = end.attempts,
        .reason = end.reason,
        .accepted = end.accepted});
}

void Receipts::put_kept(Kept kept, std::string key, std::string_view value, WriteBatch& out) {
  BucketInfo& bucket = info(kept);
  // The later spaces begin when they are first used, and cost nothing until then.
  if (!bucket.started.is_set()) bucket.started = std::max(began_, meta_.clock_floor);
  moved_ = moved_ || bucket.count == 0;
  ++bucket.count;
  bucket.bytes += key.size() + value.size();
  out.put(std::move(key), Blob::copy_of(value));
}

void Receipts::take_letter(const Leaving& letter, Timestamp now, WriteBatch& out) {
  const keys::Bucket bucket = letter.bucket;
  std::string key = keys::dead(bucket, letter.id);
  const DestinationId destination = letter.id.destination();
  if (letter.phase && !planted(Bug::kGroupKeepsRedriven))
    cause_counts_.take({bucket, destination, *letter.phase, letter.cause});
  if (!letter.phase) {
    cause_counts_.lose({.name = {.bucket = bucket, .destination = destination},
                        .at = now,
                        .id = letter.id,
                        .reason = "it could not be read"});
  }
  const auto leaves = [&](BucketInfo& from) {
    if (planted(Bug::kLetterStaysCounted)) return;
    --from.count;
    from.bytes -= key.size() + letter.size;
  };
  if (bucket == running(Kept::kDead)) leaves(info(Kept::kDead));
  for (BucketInfo& other : closed(Kept::kDead)) {
    if (other.number != bucket) continue;
    leaves(other);
    out.put(keys::buckets(space_of(Kept::kDead)), encode_buckets(closed(Kept::kDead)));
  }
  out.remove(std::move(key));
}

void Receipts::add_parked(MessageId id, Timestamp at, std::string_view reason) {
  cause_counts_.add({.name = {.destination = id.destination(), .phase = Phase::kParked},
                     .at = at,
                     .id = id,
                     .reason = reason});
}

void Receipts::take_parked(MessageId id) {
  cause_counts_.take({.destination = id.destination(), .phase = Phase::kParked});
}

void Receipts::audit(const AuditRecord& record, Sequence sequence, WriteBatch& out) {
  put_kept(Kept::kAudit, keys::audit(running(Kept::kAudit), sequence), encode_audit(record), out);
}

void Receipts::take_pending_news(keys::Bucket bucket, std::string key, WriteBatch& out) {
  if (bucket == running(Kept::kPendingNews) && info(Kept::kPendingNews).count > 0)
    --info(Kept::kPendingNews).count;
  out.remove(std::move(key));
}

bool Receipts::may_have_pending_news() const {
  return info(Kept::kPendingNews).count > 0 || !closed(Kept::kPendingNews).empty();
}

std::vector<keys::Bucket> Receipts::buckets(Kept kept) const {
  std::vector<keys::Bucket> numbers{running(kept)};
  const BucketList& list = closed(kept);
  for (auto it = list.rbegin(); it != list.rend(); ++it) numbers.push_back(it->number);
  return numbers;
}

BucketInfo Receipts::sum(Kept kept) const {
  BucketInfo sum = info(kept);
  for (const BucketInfo& bucket : closed(kept)) {
    sum.count += bucket.count;
    sum.bytes += bucket.bytes;
  }
  return sum;
}

keys::Bucket Receipts::oldest(Kept kept) const {
  return closed(kept).empty() ? running(kept) : closed(kept).front().number;
}

Duration Receipts::span(Kept kept) const {
  return std::max(retention(kept).age / kParts, Duration(1));
}

bool Receipts::wants_closing(Kept kept, Timestamp now) const {
  const BucketInfo& bucket = info(kept);
  if (kept == Kept::kDead && close_dead_ && bucket.count > 0) return true;
  const std::uint64_t bytes_max = retention(kept).bytes;
  if (bytes_max != 0 && bucket.bytes > bytes_max / kParts) return true;
  const std::uint64_t count_max = retention(kept).count;
  if (count_max != 0 && bucket.count * kParts >= std::max<std::uint64_t>(count_max, kParts))
    return true;
  return bucket.count > 0 && now - bucket.started >= span(kept);
}

void Receipts::close_bucket(Kept kept, Timestamp now, WriteBatch& out) {
  BucketInfo& bucket = info(kept);
  if (kept == Kept::kDead) close_dead_ = false;
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
    case Kept::kPendingNews: meta_.counters.removed_pending_news += count; return;
    case Kept::kArrivals: meta_.counters.removed_arrivals += count; return;
    case Kept::kAudit:
    case Kept::kHistory: return;
  }
}

bool Receipts::drop_buckets(Kept kept, Timestamp now, WriteBatch& out) {
  BucketList& list = closed(kept);
  std::uint64_t bytes = info(kept).bytes;
  std::uint64_t records = info(kept).count;
  for (const BucketInfo& bucket : list) bytes += bucket.bytes, records += bucket.count;
  bool dropped = false;
  while (!list.empty()) {
    const bool too_old = !is_held(kept) && now - newest_in_oldest(kept) >= retention(kept).age;
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
    if (kept == Kept::kDead) {
      cause_counts_.drop_bucket(gone.number, out);
      letters_dropped_ = true;
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

void Receipts::count_cards(std::string_view profile, std::int64_t by) {
  const auto place = meta_.cards.try_emplace(std::string(profile), 0).first;
  // A key that was damaged may name another profile, so there may be none to take away.
  const std::uint64_t less = by < 0 ? static_cast<std::uint64_t>(-by) : 0;
  place->second -= std::min(place->second, less);
  place->second += by > 0 ? static_cast<std::uint64_t>(by) : 0;
  if (place->second == 0) meta_.cards.erase(place);
}

void Receipts::close_turn(Timestamp now, const WallBooks& wall, Sequence page, WriteBatch& out) {
  retain(now, out);
  cause_counts_.write(out);
  if (!page_.empty()) {
    info(Kept::kLog).last_page = page.value();
    put_kept(Kept::kLog, keys::log(running(Kept::kLog), page), encode_log(page_), out);
    page_.clear();
  }
  if (out.empty() && !wall_moved(wall)) return;
  meta_.clock_floor = now;
  meta_.wall = wall;
  out.put(keys::meta(), encode_meta(meta_));
}

bool Receipts::wall_moved(const WallBooks& wall) const {
  const Duration by = wall.bias - meta_.wall.bias;
  return by >= kBiasStep || by <= -kBiasStep || wall.leaps != meta_.wall.leaps ||
         wall.doubt.from != meta_.wall.doubt.from;
}

Timestamp Receipts::next_retention(Timestamp now) const {
  Timestamp next = Timestamp::never();
  for (const Kept kept : kAllKept) {
    if (info(kept).count > 0) next = std::min(next, info(kept).started + span(kept));
    if (closed(kept).empty() || is_held(kept)) continue;
    next = std::min(next, newest_in_oldest(kept) + retention(kept).age);
  }
  return std::max(next, now + Duration(1));
}

}  // namespace postrider
