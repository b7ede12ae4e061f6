#include "postrider/model/records/keys.h"

#include <algorithm>
#include <optional>

#include "postrider/base/codec.h"
#include "postrider/base/hash.h"
#include "postrider/base/packing.h"

namespace postrider::keys {
namespace {

class Builder {
 public:
  explicit Builder(char space) { key_.push_back(space); }
  Builder& u8(std::uint8_t v) { return Writer(key_).u8(v), *this; }
  Builder& u32(std::uint32_t v) { return Writer(key_).u32(v), *this; }
  Builder& u64(std::uint64_t v) { return Writer(key_).u64(v), *this; }
  Builder& id(MessageId id) { return u64(id.high).u64(id.low); }
  Builder& raw(std::string_view bytes) { return key_.append(bytes), *this; }
  // A length in front keeps (scope "a", key "bc") apart from (scope "ab", key "c").
  Builder& text(std::string_view bytes) { return Writer(key_).text(bytes), *this; }
  std::string take() { return std::move(key_); }

 private:
  std::string key_;
};

constexpr std::uint8_t kGapMark = 'g';  // begins the value of one that was parked as a gap

std::string of_destination(char space, DestinationId destination) {
  return Builder(space).u64(destination.value()).take();
}

// What a short name begins with. Text hardly ever begins with such a byte; when it does, kPlain
// stands in front of it.
constexpr char kPlain = 0;
constexpr char kUuid = 1;
constexpr char kHexAndUuid = 2;  // behind it the number of bytes in front of the slash
constexpr std::size_t kUuidBytes = 16;

bool is_hex(std::string_view text) {
  return text.size() % 2 == 0 && std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

std::string digits_of(std::string_view bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string out;
  for (const char c : bytes) {
    out.push_back(kDigits[static_cast<unsigned char>(c) >> 4U]);
    out.push_back(kDigits[static_cast<unsigned char>(c) & 15U]);
  }
  return out;
}

}  // namespace

std::string short_name(std::string_view name) {
  if (std::string uuid = bytes_of_uuid(name); !uuid.empty()) return kUuid + uuid;
  const std::size_t slash = name.find('/');
  if (slash != std::string_view::npos && slash <= 64 && is_hex(name.substr(0, slash))) {
    const std::string uuid = bytes_of_uuid(name.substr(slash + 1));
    std::string out{kHexAndUuid, static_cast<char>(slash / 2)};
    for (std::size_t i = 0; i < slash; i += 2) {
      const auto digit = [&](std::size_t at) {
        return static_cast<unsigned>(name[at] <= '9' ? name[at] - '0' : name[at] - 'a' + 10);
      };
      out.push_back(static_cast<char>(digit(i) << 4U | digit(i + 1)));
    }
    if (!uuid.empty()) return out + uuid;
  }
  const bool like_short = !name.empty() && static_cast<unsigned char>(name[0]) <= kHexAndUuid;
  return (like_short ? std::string(1, kPlain) : std::string()).append(name);
}

std::string long_name(std::string_view name) {
  if (name.empty() || static_cast<unsigned char>(name[0]) > kHexAndUuid) return std::string(name);
  if (name[0] == kUuid && name.size() == 1 + kUuidBytes) return text_of_uuid(name.substr(1));
  if (name[0] == kHexAndUuid && name.size() >= 2) {
    const std::size_t bytes = static_cast<unsigned char>(name[1]);
    if (name.size() == 2 + bytes + kUuidBytes)
      return digits_of(name.substr(2, bytes)) + '/' + text_of_uuid(name.substr(2 + bytes));
  }
  return std::string(name[0] == kPlain ? name.substr(1) : name);
}

std::string meta() { return {kMeta}; }
std::string buckets(char space) { return {kBuckets, space}; }
std::string config(DestinationId destination) { return of_destination(kConfig, destination); }
std::string route(DestinationId destination) { return of_destination(kRoute, destination); }
std::string owed(DestinationId destination) { return of_destination(kOwed, destination); }
std::string census(DestinationId destination) { return of_destination(kCensus, destination); }
std::string census_page(Sequence sequence) {
  return Builder(kCensusPage).u64(sequence.value()).take();
}
std::string hot(Sequence sequence, Part part) {
  return Builder(kHot).u64(sequence.value()).u8(static_cast<std::uint8_t>(part)).take();
}
std::string cold(MessageId id, Part part) {
  return Builder(kCold).id(id).u8(static_cast<std::uint8_t>(part)).take();
}
std::string parked(MessageId id) { return Builder(kParked).id(id).take(); }
std::string holding(MessageId id) { return Builder(kHolding).id(id).take(); }
std::string parked_for_reach(Timestamp from) {
  std::string value;
  Writer(value).i64(from.ms());
  return value;
}
std::string parked_as_gap(std::uint64_t gate) {
  std::string value;
  Writer(value).u8(kGapMark).u64(gate);
  return value;
}

std::string due(Timestamp at, DueKind kind, MessageId id) {
  return Builder(kDue)
      .u64(static_cast<std::uint64_t>(at.ms()))
      .u8(static_cast<std::uint8_t>(kind))
      .id(id)
      .take();
}
std::string ledger(Bucket bucket, std::string_view scope, std::string_view key) {
  return Builder(kLedger).u32(bucket).text(scope).raw(key).take();
}
std::string session(Bucket bucket, std::string_view scope, std::string_view key) {
  return Builder(kSession).u32(bucket).text(scope).raw(key).take();
}
std::string log(Bucket bucket, Sequence page) {
  return Builder(kLog).u32(bucket).u64(page.value()).take();
}
std::string end(Bucket bucket, Sequence message) {
  return Builder(kEnd).u32(bucket).u64(message.value()).take();
}
std::string dead(Bucket bucket, MessageId id) { return Builder(kDead).u32(bucket).id(id).take(); }
std::string history(Bucket bucket, MessageId id) {
  return Builder(kHistory).u32(bucket).id(id).take();
}
std::string name(Bucket bucket, std::string_view scope, std::string_view name) {
  return Builder(kName).u32(bucket).text(scope).raw(short_name(name)).take();
}
std::string pending_news(Bucket bucket, std::string_view scope, std::string_view name) {
  return Builder(kPendingNews).u32(bucket).text(scope).raw(short_name(name)).take();
}
std::string arrival(Bucket bucket, Sequence sequence) {
  return Builder(kArrival).u32(bucket).u64(sequence.value()).take();
}
std::string job(std::uint64_t sequence) { return Builder(kJob).u64(sequence).take(); }
std::string hold(std::string_view name) { return Builder(kHold).raw(name).take(); }
std::string audit(Bucket bucket, Sequence sequence) {
  return Builder(kAudit).u32(bucket).u64(sequence.value()).take();
}
std::string nested(Sequence sequence) { return Builder(kNested).u64(sequence.value()).take(); }
std::string body(std::uint64_t id, BodyPart part) {
  return Builder(kBody).u64(id).u8(static_cast<std::uint8_t>(part)).take();
}
std::string body_letter(Bucket bucket, std::uint64_t body, MessageId id) {
  return Builder(kBodyLetter).u32(bucket).u64(body).id(id).take();
}
std::string fanout_group(std::string_view name) { return Builder(kFanout).raw(name).take(); }
std::string template_of(std::string_view name) { return Builder(kTemplate).raw(name).take(); }
std::string like(std::string_view template_name) {
  return Builder(kLike).text(template_name).take();
}
std::string like(std::string_view template_name, DestinationId destination) {
  return Builder(kLike).text(template_name).u64(destination.value()).take();
}
std::string card_drawer(std::string_view profile, std::string_view drawer) {
  return Builder(kCard).text(profile).text(drawer).take();
}
std::string card(std::string_view profile, std::string_view drawer, std::string_view key) {
  return card_drawer(profile, drawer).append(key);
}
MessageId due_id_of_card(std::string_view card) {
  // Keys come from far sides, so no two of them may be made to share one entry.
  const Fingerprint print = fingerprint(card);
  Reader reader({reinterpret_cast<const char*>(print.data()), print.size()});
  MessageId id;
  id.high = reader.u64();
  id.low = reader.u64();
  return id;
}
std::string quarantine(std::string_view key) { return Builder(kQuarantine).raw(key).take(); }

std::string after_prefix(std::string prefix) {
  while (!prefix.empty() && static_cast<unsigned char>(prefix.back()) == 0xFF) prefix.pop_back();
  if (!prefix.empty())
    prefix.back() = static_cast<char>(static_cast<unsigned char>(prefix.back()) + 1);
  return prefix;
}
std::string space(char prefix) { return {prefix}; }
std::string bucket(char space, Bucket number) { return Builder(space).u32(number).take(); }
std::string cold_lane(DestinationId destination, std::uint8_t lane) {
  // shard ‖ destination ‖ lane are the first 48 bits of an id.
  const std::uint64_t head = (destination.value() << 4) | lane;
  Builder key(kCold);
  for (int shift = 40; shift >= 0; shift -= 8) key.u8(static_cast<std::uint8_t>(head >> shift));
  return key.take();
}

namespace {

// Opens a key of `space` with exactly `size` bytes behind the space.
std::optional<Reader> open(std::string_view key, char space, std::size_t size) {
  if (key.size() != size + 1 || key[0] != space) return std::nullopt;
  return Reader(key.substr(1));
}

}  // namespace

std::optional<DueKey> parse_due(std::string_view key) {
  auto reader = open(key, kDue, 25);
  if (!reader) return std::nullopt;
  DueKey out{};
  out.at = Timestamp(reader->i64());
  const std::uint8_t kind = reader->u8();
  if (kind < 1 || kind > 4) return std::nullopt;
  out.kind = static_cast<DueKind>(kind);
  out.id.high = reader->u64();
  out.id.low = reader->u64();
  return out;
}

std::optional<PartKey> parse_hot(std::string_view key) {
  auto reader = open(key, kHot, 9);
  if (!reader) return std::nullopt;
  PartKey out{};
  out.sequence = Sequence(reader->u64());
  const std::uint8_t part = reader->u8();
  if (part > 1) return std::nullopt;
  out.part = static_cast<Part>(part);
  return out;
}

std::optional<PartKey> parse_cold(std::string_view key) {
  auto reader = open(key, kCold, 17);
  if (!reader) return std::nullopt;
  PartKey out{};
  out.id.high = reader->u64();
  out.id.low = reader->u64();
  out.sequence = out.id.sequence();
  const std::uint8_t part = reader->u8();
  if (part > 1) return std::nullopt;
  out.part = static_cast<Part>(part);
  return out;
}

std::optional<Sequence> parse_census_page(std::string_view key) {
  auto reader = open(key, kCensusPage, 8);
  if (!reader) return std::nullopt;
  return Sequence(reader->u64());
}

std::optional<LikeKey> parse_like(std::string_view key) {
  if (key.empty() || key[0] != kLike) return std::nullopt;
  Reader reader(key.substr(1));
  LikeKey out;
  out.template_name = reader.text();
  out.destination = DestinationId(reader.u64());
  return reader.at_end() ? std::optional(out) : std::nullopt;
}
std::optional<CardKey> parse_card(std::string_view key) {
  if (key.empty() || key[0] != kCard) return std::nullopt;
  Reader reader(key.substr(1));
  CardKey out;
  out.profile = reader.text();
  out.drawer = reader.text();
  if (!reader.ok()) return std::nullopt;
  out.key = key.substr(card_drawer(out.profile, out.drawer).size());
  return out;
}
std::optional<DestinationId> parse_destination(std::string_view key) {
  if (key.size() != 9) return std::nullopt;
  return DestinationId(Reader(key.substr(1)).u64());
}

namespace {

std::optional<MessageId> parse_id(std::string_view key, char space) {
  auto reader = open(key, space, 16);
  if (!reader) return std::nullopt;
  MessageId id;
  id.high = reader->u64();
  id.low = reader->u64();
  return id;
}

}  // namespace

std::optional<Timestamp> parse_parked_for_reach(std::string_view value) {
  if (value.size() != 8) return std::nullopt;
  return Timestamp(Reader(value).i64());
}

std::optional<std::uint64_t> parse_parked_as_gap(std::string_view value) {
  if (value.size() != 9) return std::nullopt;
  Reader reader(value);
  if (reader.u8() != kGapMark) return std::nullopt;
  return reader.u64();
}

std::optional<MessageId> parse_parked(std::string_view key) { return parse_id(key, kParked); }
std::optional<MessageId> parse_holding(std::string_view key) { return parse_id(key, kHolding); }

std::optional<BodyKey> parse_body(std::string_view key) {
  auto reader = open(key, kBody, 9);
  if (!reader) return std::nullopt;
  BodyKey out{};
  out.id = reader->u64();
  const std::uint8_t part = reader->u8();
  if (part > 1) return std::nullopt;
  out.part = static_cast<BodyPart>(part);
  return out;
}

std::optional<BodyLetterKey> parse_body_letter(std::string_view key) {
  auto reader = open(key, kBodyLetter, 28);
  if (!reader) return std::nullopt;
  BodyLetterKey out{};
  out.bucket = reader->u32();
  out.body = reader->u64();
  out.id.high = reader->u64();
  out.id.low = reader->u64();
  return out;
}

std::optional<BucketKey> parse_bucketed(std::string_view key) {
  if (key.size() != 13 && key.size() != 21) return std::nullopt;
  Reader reader(key.substr(1));
  BucketKey out{};
  out.bucket = reader.u32();
  out.high = reader.u64();
  out.low = key.size() == 21 ? reader.u64() : 0;
  return out;
}

}  // namespace postrider::keys
