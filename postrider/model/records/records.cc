#include "postrider/model/records/records.h"

#include "postrider/base/check.h"
#include "postrider/base/codec.h"

namespace postrider {
namespace {

constexpr std::uint8_t kVersion = 1;

std::string begin() {
  std::string out;
  out.reserve(128);  // most records fit, so that writing one allocates once
  out.push_back(static_cast<char>(kVersion));
  return out;
}

void put_time(Writer& writer, Timestamp at) { writer.varint(static_cast<std::uint64_t>(at.ms())); }
Timestamp get_time(Reader& reader) { return Timestamp(static_cast<std::int64_t>(reader.varint())); }

void put_id(Writer& writer, MessageId id) { writer.u64(id.high).u64(id.low); }
MessageId get_id(Reader& reader) {
  MessageId id;
  id.high = reader.u64();
  id.low = reader.u64();
  return id;
}

// Enumerators come from outside the process once they are stored.
template <class Enum>
Enum get_enum(Reader& reader, std::size_t count) {
  const std::uint8_t value = reader.u8();
  if (value >= count) reader.fail();
  return static_cast<Enum>(value < count ? value : 0);
}

// A text with the number of the dictionary in front by which it is packed; 0: it is as it is.
constexpr std::size_t kPackedMax = 4096;  // longer ones are not worth the time
constexpr std::size_t kUnpackedMax = std::size_t{1} << 20;
void put_packed(Writer& writer, std::string_view text, const Dictionary* dictionary) {
  std::string packed;
  const bool tries = dictionary != nullptr && text.size() <= kPackedMax;
  if (tries) packed = pack(text, *dictionary);
  const bool smaller = tries && packed.size() < text.size();
  writer.u8(smaller ? dictionary->number() : std::uint8_t{0});
  writer.text(smaller ? std::string_view(packed) : text);
}
struct Unpacked {
  std::string text;
  std::uint8_t dictionary = 0;
};
Unpacked get_packed(Reader& reader, Dictionaries dictionaries) {
  Unpacked out;
  out.dictionary = reader.u8();
  const std::string_view bytes = reader.text();
  if (out.dictionary == 0) {
    out.text = bytes;
  } else if (const Dictionary* dictionary = find_dictionary(dictionaries, out.dictionary)) {
    auto text = unpack(bytes, *dictionary, kUnpackedMax);
    if (!text) reader.fail();
    if (text) out.text = std::move(*text);
  }
  return out;
}

void put_bucket(Writer& writer, const BucketInfo& bucket) {
  writer.u32(bucket.number)
      .i64(bucket.started.ms())
      .varint(bucket.count)
      .varint(bucket.bytes)
      .varint(bucket.last_page);
}
BucketInfo get_bucket(Reader& reader) {
  BucketInfo bucket;
  bucket.number = reader.u32();
  bucket.started = Timestamp(reader.i64());
  bucket.count = reader.varint();
  bucket.bytes = reader.varint();
  bucket.last_page = reader.varint();
  return bucket;
}

constexpr std::uint8_t kMetaFanouts = 1;  // there were fan-outs: their counters follow
constexpr std::uint8_t kMetaCards = 8;    // profiles have cards: their numbers follow
constexpr std::array<std::uint64_t Counters::*, 3> kFanoutFields = {
    &Counters::fanouts, &Counters::shared_bodies, &Counters::shared_bytes};
constexpr std::uint8_t kEndOrigin = 1;
constexpr std::uint8_t kEndNotes = 2;
constexpr std::uint8_t kEndPast = 4;
constexpr std::uint8_t kEndLetter = 8;
constexpr std::uint8_t kCounted = 4;      // beside the bits of the buckets that are used
constexpr std::size_t kUsualBuckets = 4;  // that every store has
constexpr std::array<std::uint64_t Counters::*, 15> kCounterFields = {
    &Counters::accepted,
    &Counters::delivered,
    &Counters::dead,
    &Counters::expired,
    &Counters::cancelled,
    &Counters::indeterminate,
    &Counters::redriven,
    &Counters::dropped,
    &Counters::quarantined,
    &Counters::removed_ends,
    &Counters::removed_dead,
    &Counters::removed_ledger,
    &Counters::removed_names,
    &Counters::removed_pending_news,
    &Counters::removed_arrivals};

// The first four spaces are in every store and need no bit: the ninth has the bit of the second.
constexpr unsigned bit_of(std::size_t kept) { return 1U << (kept < 8 ? kept : kept - 7); }
constexpr unsigned kKeptBits = 0b1111'0010;
static_assert(kKept == kUsualBuckets + 5);

}  // namespace

char space_of(Kept kept) {
  switch (kept) {
    case Kept::kLedger: return keys::kLedger;
    case Kept::kLog: return keys::kLog;
    case Kept::kEnds: return keys::kEnd;
    case Kept::kDead: return keys::kDead;
    case Kept::kNames: return keys::kName;
    case Kept::kPendingNews: return keys::kPendingNews;
    case Kept::kArrivals: return keys::kArrival;
    case Kept::kAudit: return keys::kAudit;
    case Kept::kHistory: return keys::kHistory;
  }
  POSTRIDER_CHECK(false);
  return 0;
}

namespace {

// Leaps that were believed, and the one that is in doubt, if there is any. Most stores never have
// one, and then nothing of this is written.
void put_wall(Writer& writer, const WallBooks& wall) {
  writer.varint(wall.leaps.size());
  for (const Leap& leap : wall.leaps)
    writer.i64(leap.from.ms()).near(leap.until.ms(), leap.from.ms()).svarint(leap.by.count());
  writer.i64(wall.doubt.from.ms()).svarint(wall.doubt.by.count());
}

void get_wall(Reader& reader, WallBooks& wall) {
  const std::uint64_t count = reader.varint();
  if (count > WallBooks::kLeapsMax) return reader.fail();
  for (std::uint64_t i = 0; i < count && reader.ok(); ++i) {
    Leap leap;
    leap.from = Timestamp(reader.i64());
    leap.until = Timestamp(reader.near(leap.from.ms()));
    leap.by = Duration(reader.svarint());
    wall.leaps.push_back(leap);
  }
  wall.doubt.from = Timestamp(reader.i64());
  wall.doubt.by = Duration(reader.svarint());
  if (wall.plain()) reader.fail();
}

void get_card_counts(Reader& reader, Meta& meta) {
  const std::uint64_t profiles = reader.varint();
  for (std::uint64_t i = 0; i < profiles && reader.ok(); ++i) {
    const std::string profile(reader.text());
    const std::uint64_t count = reader.varint();
    const bool next = meta.cards.empty() || meta.cards.rbegin()->first < profile;
    if (!next || count == 0) return reader.fail();
    meta.cards.emplace_hint(meta.cards.end(), profile, count);
  }
  if (meta.cards.empty()) reader.fail();
}

}  // namespace

std::string encode_meta(const Meta& meta) {
  std::string out = begin();
  Writer writer(out);
  for (const auto field : kCounterFields) writer.varint(meta.counters.*field);
  writer.i64(meta.clock_floor.ms()).i64(meta.wall.bias.count());
  for (std::size_t i = 0; i < kUsualBuckets; ++i) put_bucket(writer, meta.running[i]);
  // Most stores never use the others, and this record is part of every commit.
  std::uint8_t used = meta.counted ? kCounted : std::uint8_t{0};
  for (std::size_t i = kUsualBuckets; i < kKept; ++i)
    used = static_cast<std::uint8_t>(used | (meta.running[i] != BucketInfo() ? bit_of(i) : 0U));
  if (meta.counters.fanouts != 0) used |= kMetaFanouts;
  if (!meta.cards.empty()) used |= kMetaCards;
  writer.u8(used);
  if (meta.counters.fanouts != 0) {
    for (const auto field : kFanoutFields) writer.varint(meta.counters.*field);
  }
  for (std::size_t i = kUsualBuckets; i < kKept; ++i) {
    if ((used & bit_of(i)) != 0) put_bucket(writer, meta.running[i]);
  }
  if (!meta.cards.empty()) {
    writer.varint(meta.cards.size());
    for (const auto& [profile, count] : meta.cards) writer.text(profile).varint(count);
  }
  writer.varint(meta.log_removed);
  writer.raw({reinterpret_cast<const char*>(meta.id_key.data()), meta.id_key.size()});
  if (!meta.wall.plain()) put_wall(writer, meta.wall);
  seal_record(out);
  return out;
}

Result<Meta> decode_meta(std::string_view record) {
  Reader reader = open_record(record, kVersion);
  Meta meta;
  for (const auto field : kCounterFields) meta.counters.*field = reader.varint();
  meta.clock_floor = Timestamp(reader.i64());
  meta.wall.bias = Duration(reader.i64());
  for (std::size_t i = 0; i < kUsualBuckets; ++i) meta.running[i] = get_bucket(reader);
  const std::uint8_t used = reader.u8();
  if ((used & ~(kKeptBits | kMetaFanouts | kCounted | kMetaCards)) != 0) reader.fail();
  meta.counted = (used & kCounted) != 0;
  if ((used & kMetaFanouts) != 0) {
    for (const auto field : kFanoutFields) meta.counters.*field = reader.varint();
    if (meta.counters.fanouts == 0) reader.fail();
  }
  for (std::size_t i = kUsualBuckets; i < kKept; ++i) {
    if ((used & bit_of(i)) != 0) meta.running[i] = get_bucket(reader);
  }
  if ((used & kMetaCards) != 0) get_card_counts(reader, meta);
  meta.log_removed = reader.varint();
  const std::string_view key = reader.raw(meta.id_key.size());
  std::copy(key.begin(), key.end(), reinterpret_cast<char*>(meta.id_key.data()));
  if (reader.ok() && !reader.at_end()) get_wall(reader, meta.wall);
  if (!reader.at_end()) return fail(ErrorCode::kCorrupt, "meta record");
  return meta;
}

Result<IdKey> id_key_of(const Meta& meta) {
  if (meta.id_key == IdKey())
    return fail(ErrorCode::kCorrupt, "the meta record has no key for message ids");
  return meta.id_key;
}

std::string encode_buckets(const BucketList& buckets) {
  std::string out = begin();
  Writer writer(out);
  writer.varint(buckets.size());
  for (const BucketInfo& bucket : buckets) put_bucket(writer, bucket);
  seal_record(out);
  return out;
}

Result<BucketList> decode_buckets(std::string_view record) {
  Reader reader = open_record(record, kVersion);
  BucketList buckets;
  for (std::uint64_t left = reader.varint(); left > 0 && reader.ok(); --left)
    buckets.push_back(get_bucket(reader));
  if (!reader.at_end()) return fail(ErrorCode::kCorrupt, "bucket list");
  return buckets;
}

std::string encode_ledger(const LedgerEntry& entry) {
  std::string out = begin();
  const std::string_view print(reinterpret_cast<const char*>(entry.fingerprint.data()),
                               entry.fingerprint.size());
  Writer(out).raw(print).i64(entry.at.ms()).text(entry.answer);
  seal_record(out);
  return out;
}

Result<LedgerEntry> decode_ledger(std::string_view record) {
  Reader reader = open_record(record, kVersion);
  LedgerEntry entry;
  const std::string_view print = reader.raw(entry.fingerprint.size());
  if (reader.ok())
    std::copy(print.begin(), print.end(), reinterpret_cast<char*>(entry.fingerprint.data()));
  entry.at = Timestamp(reader.i64());
  entry.answer = reader.text();
  if (!reader.at_end()) return fail(ErrorCode::kCorrupt, "ledger entry");
  return entry;
}

std::string encode_session(const SessionEntry& entry) {
  std::string out = begin();
  Writer(out).u64(entry.highest).i64(entry.at.ms());
  seal_record(out);
  return out;
}

Result<SessionEntry> decode_session(std::string_view record) {
  Reader reader = open_record(record, kVersion);
  SessionEntry entry;
  entry.highest = reader.u64();
  entry.at = Timestamp(reader.i64());
  if (!reader.at_end()) return fail(ErrorCode::kCorrupt, "session entry");
  return entry;
}

std::string encode_log(const std::vector<LogEntry>& entries) {
  std::string out = begin();
  out.reserve(8 + entries.size() * 32);
  Writer writer(out);
  writer.varint(entries.size());
  std::int64_t before = 0;
  for (const LogEntry& entry : entries) {
    writer.u8(static_cast<std::uint8_t>(entry.kind)).near(entry.at.ms(), before);
    before = entry.at.ms();
    put_id(writer, entry.id);
    writer.u8(static_cast<std::uint8_t>(entry.phase))
        .u8(static_cast<std::uint8_t>(entry.cause))
        .varint(entry.attempts)
        .near(entry.accepted.ms(), before)
        .text(entry.reason);
  }
  seal_record(out);
  return out;
}

Result<std::vector<LogEntry>> decode_log(std::string_view record, keys::Bucket bucket,
                                         Sequence page) {
  Reader reader = open_record(record, kVersion);
  std::vector<LogEntry> entries;
  std::uint32_t index = 0;
  std::int64_t before = 0;
  for (std::uint64_t left = reader.varint(); left > 0 && reader.ok(); --left, ++index) {
    LogEntry entry;
    entry.position = {bucket, page.value(), index};
    entry.kind = get_enum<LogEntry::Kind>(reader, LogEntry::kKinds);
    before = reader.near(before);
    entry.at = Timestamp(before);
    entry.id = get_id(reader);
    entry.phase = get_enum<Phase>(reader, kPhases);
    entry.cause = get_enum<FailureClass>(reader, kFailureClasses);
    entry.attempts = reader.varint16();
    entry.accepted = Timestamp(reader.near(before));
    entry.reason = reader.text();
    entries.push_back(std::move(entry));
  }
  if (!reader.at_end()) return fail(ErrorCode::kCorrupt, "log page");
  return entries;
}

std::string encode_end(const EndRecord& end) {
  std::string out;
  encode_end(end, out);
  return out;
}

void encode_end(const EndRecord& end, std::string& out) {
  out.assign(1, static_cast<char>(kVersion));
  Writer writer(out);
  const bool has_origin = end.origin.is_set();
  writer.u8(static_cast<std::uint8_t>(
      (has_origin ? kEndOrigin : 0) | (end.notes.empty() ? 0 : kEndNotes) |
      (end.past.empty() ? 0 : kEndPast) | (end.content_bucket == 0 ? 0 : kEndLetter)));
  put_id(writer, end.id);
  writer.u8(static_cast<std::uint8_t>(end.phase))
      .u8(static_cast<std::uint8_t>(end.cause))
      .varint(end.attempts);
  put_time(writer, end.accepted);
  writer.near(end.at.ms(), end.accepted.ms());
  if (end.content_bucket != 0) writer.varint(end.content_bucket);
  if (has_origin) put_id(writer, end.origin);
  if (!end.notes.empty()) writer.text(end.notes);
  if (!end.past.empty()) writer.text(end.past);
  writer.text(end.reason);
  seal_record(out);
}

Result<EndRecord> decode_end(std::string_view record) {
  Reader reader = open_record(record, kVersion);
  EndRecord end;
  const std::uint8_t flags = reader.u8();
  if (flags >= 2 * kEndLetter) reader.fail();
  end.id = get_id(reader);
  end.phase = get_enum<Phase>(reader, kPhases);
  end.cause = get_enum<FailureClass>(reader, kFailureClasses);
  end.attempts = reader.varint16();
  end.accepted = get_time(reader);
  end.at = Timestamp(reader.near(end.accepted.ms()));
  if ((flags & kEndLetter) != 0) end.content_bucket = reader.varint32();
  if ((flags & kEndOrigin) != 0) end.origin = get_id(reader);
  if ((flags & kEndNotes) != 0) end.notes = reader.text();
  if ((flags & kEndPast) != 0) end.past = reader.text();
  end.reason = reader.text();
  if (!reader.at_end()) return fail(ErrorCode::kCorrupt, "end record");
  return end;
}

std::string encode_name(const NameEntry& entry) {
  std::string out = begin();
  Writer writer(out);
  put_time(writer, entry.at);
  writer.varint(entry.holders.size());
  for (const NameEntry::Holder& holder : entry.holders) {
    put_id(writer, holder.id);
    writer.varint(holder.attempt);
  }
  seal_record(out);
  return out;
}

Result<NameEntry> decode_name(std::string_view record) {
  Reader reader = open_record(record, kVersion);
  NameEntry entry;
  entry.at = get_time(reader);
  for (std::uint64_t left = reader.varint(); left > 0 && reader.ok(); --left) {
    NameEntry::Holder holder;
    holder.id = get_id(reader);
    holder.attempt = reader.varint16();
    entry.holders.push_back(holder);
  }
  if (!reader.at_end()) return fail(ErrorCode::kCorrupt, "name entry");
  return entry;
}

std::string encode_pending_news(const PendingNews& entry) {
  std::string out = begin();
  Writer writer(out);
  writer.varint(entry.news.size());
  for (const PendingNews::News& news : entry.news)
    writer.i64(news.at.ms()).i64(news.window.count()).text(news.detail);
  seal_record(out);
  return out;
}

Result<PendingNews> decode_pending_news(std::string_view record) {
  Reader reader = open_record(record, kVersion);
  PendingNews entry;
  for (std::uint64_t left = reader.varint(); left > 0 && reader.ok(); --left) {
    PendingNews::News news;
    news.at = Timestamp(reader.i64());
    news.window = Duration(reader.i64());
    news.detail = reader.text();
    entry.news.push_back(std::move(news));
  }
  if (!reader.at_end()) return fail(ErrorCode::kCorrupt, "half entry");
  return entry;
}

std::string encode_card(const CardRecord& card) {
  std::string out = begin();
  Writer writer(out);
  put_time(writer, card.written);
  put_time(writer, card.expires);
  writer.text(card.bytes);
  seal_record(out);
  return out;
}

Result<CardRecord> decode_card(std::string_view record) {
  Reader reader = open_record(record, kVersion);
  CardRecord card;
  card.written = get_time(reader);
  card.expires = get_time(reader);
  card.bytes = reader.text();
  if (!reader.at_end()) return fail(ErrorCode::kCorrupt, "card");
  return card;
}

std::string encode_arrival(const ArrivalRecord& arrival, const Dictionary* dictionary) {
  std::string out = begin();
  Writer writer(out);
  put_time(writer, arrival.at);
  writer.text(arrival.profile)
      .text(arrival.source.origin)
      .text(arrival.source.kind)
      .text(arrival.source.format);
  put_packed(writer, arrival.bytes, dictionary);
  seal_record(out);
  return out;
}

Result<ArrivalRecord> decode_arrival(std::string_view record, Dictionaries dictionaries) {
  Reader reader = open_record(record, kVersion);
  ArrivalRecord arrival;
  arrival.at = get_time(reader);
  arrival.profile = reader.text();
  arrival.source.origin = reader.text();
  arrival.source.kind = reader.text();
  arrival.source.format = reader.text();
  arrival.bytes = get_packed(reader, dictionaries).text;
  if (!reader.at_end()) return fail(ErrorCode::kCorrupt, "arrival");
  return arrival;
}

std::string encode_nested(const NestedRecord& nested, const Dictionary* dictionary) {
  std::string out = begin();
  Writer writer(out);
  put_id(writer, nested.from);
  writer.u8(nested.lane).varint(nested.priority).text(nested.destination).text(nested.attributes);
  put_packed(writer, nested.body, dictionary);
  seal_record(out);
  return out;
}

Result<NestedRecord> decode_nested(std::string_view record, Dictionaries dictionaries) {
  Reader reader = open_record(record, kVersion);
  NestedRecord nested;
  nested.from = get_id(reader);
  nested.lane = reader.u8();
  nested.priority = reader.varint16();
  nested.destination = reader.text();
  nested.attributes = reader.text();
  Unpacked body = get_packed(reader, dictionaries);
  nested.body = std::move(body.text);
  nested.dictionary = body.dictionary;
  if (!reader.at_end()) return fail(ErrorCode::kCorrupt, "nested submit");
  return nested;
}

namespace {

void put_census(Writer& writer, const CensusRecord& census) {
  const bool keeps = census.kept_bytes != 0;
  writer.text(census.profile).varint(census.states.size() << 1 | (keeps ? 1U : 0U));
  for (const auto& [state, count] : census.states) writer.u8(state).varint(count);
  if (keeps) writer.varint(census.kept_bytes);
}

CensusRecord get_census(Reader& reader) {
  CensusRecord census;
  census.profile = reader.text();
  const std::uint64_t head = reader.varint();
  for (std::uint64_t left = head >> 1; left > 0 && reader.ok(); --left) {
    const StateIndex state = reader.u8();
    census.states.emplace_back(state, reader.varint());
    if (state >= kStatesMax) reader.fail();
  }
  if ((head & 1) != 0) {
    census.kept_bytes = reader.varint();
    if (census.kept_bytes == 0) reader.fail();
  }
  return census;
}

}  // namespace

std::string encode_census(const CensusRecord& census) {
  std::string out = begin();
  Writer writer(out);
  put_census(writer, census);
  seal_record(out);
  return out;
}

Result<CensusRecord> decode_census(std::string_view record) {
  Reader reader = open_record(record, kVersion);
  CensusRecord census = get_census(reader);
  if (!reader.at_end()) return fail(ErrorCode::kCorrupt, "census");
  return census;
}

std::string encode_census_page(const std::vector<CensusOf>& counts) {
  std::string out = begin();
  Writer writer(out);
  writer.varint(counts.size());
  for (const CensusOf& count : counts) {
    writer.varint(count.destination.value());
    put_census(writer, count.census);
  }
  seal_record(out);
  return out;
}

Result<std::vector<CensusOf>> decode_census_page(std::string_view record) {
  Reader reader = open_record(record, kVersion);
  std::vector<CensusOf> counts;
  for (std::uint64_t left = reader.varint(); left > 0 && reader.ok(); --left) {
    const DestinationId destination(reader.varint());
    counts.push_back({destination, get_census(reader)});
  }
  if (!reader.at_end()) return fail(ErrorCode::kCorrupt, "page of the census");
  return counts;
}

std::string encode_dead(const DeadLetter& letter, std::string_view message) {
  std::string out = begin();
  Writer writer(out);
  put_id(writer, letter.id);
  writer.u8(static_cast<std::uint8_t>(letter.phase))
      .i64(letter.at.ms())
      .u8(static_cast<std::uint8_t>(letter.cause));
  writer.u16(letter.attempts).text(letter.reason).text(message);
  seal_record(out);
  return out;
}

Result<DeadRecord> decode_dead(std::string_view record) {
  Reader reader = open_record(record, kVersion);
  DeadRecord dead;
  dead.letter.id = get_id(reader);
  dead.letter.phase = get_enum<Phase>(reader, kPhases);
  dead.letter.at = Timestamp(reader.i64());
  dead.letter.cause = get_enum<FailureClass>(reader, kFailureClasses);
  dead.letter.attempts = reader.u16();
  dead.letter.reason = reader.text();
  dead.message = reader.text();
  if (!reader.at_end()) return fail(ErrorCode::kCorrupt, "dead letter");
  return dead;
}

}  // namespace postrider
