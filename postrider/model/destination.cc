#include "postrider/model/destination.h"

#include <algorithm>

#include "postrider/base/check.h"
#include "postrider/base/codec.h"

namespace postrider {
namespace {

constexpr std::uint8_t kDestinationVersion = 1;
constexpr std::uint8_t kRemoved = 1;
constexpr std::uint8_t kDraining = 2;
constexpr std::uint8_t kLike = 4;
constexpr std::uint8_t kIdle = 8;
constexpr char kWildcard = '*';
constexpr std::array<std::string_view, kHealths> kHealthNames = {
    "normal", "wait", "probe", "paused", "disabled", "deep", "catch-up"};

// What few routes have stands behind the others, each with a bit.
constexpr std::uint8_t kHasInterval = 1;
constexpr std::uint8_t kHasDelivered = 2;
constexpr std::uint8_t kHasSweep = 4;
constexpr std::uint8_t kHasPosition = 8;
constexpr std::uint8_t kHasBatches = 16;
constexpr std::uint8_t kHasLatest = 32;
constexpr std::uint8_t kHasAll =
    kHasInterval | kHasDelivered | kHasSweep | kHasPosition | kHasBatches | kHasLatest;

bool has_batches(const Route& route) {
  return route.claims != 0 || route.members_max != 0 || !route.refused.empty() ||
         route.batch.is_open();
}

// Members of one batch mostly stand in one lane and were accepted one after the other, so most of
// them take three bytes.
void write_ids(Writer& writer, const std::vector<MessageId>& ids) {
  writer.varint(ids.size());
  MessageId last;
  for (const MessageId id : ids) {
    writer.near(static_cast<std::int64_t>(id.high), static_cast<std::int64_t>(last.high));
    writer.near(static_cast<std::int64_t>(id.low), static_cast<std::int64_t>(last.low));
    last = id;
  }
}

std::vector<MessageId> read_ids(Reader& reader, std::size_t most) {
  const std::uint64_t count = reader.varint();
  if (count > most) reader.fail();
  std::vector<MessageId> ids;
  MessageId last;
  for (std::uint64_t i = 0; i < count && reader.ok(); ++i) {
    last.high = static_cast<std::uint64_t>(reader.near(static_cast<std::int64_t>(last.high)));
    last.low = static_cast<std::uint64_t>(reader.near(static_cast<std::int64_t>(last.low)));
    ids.push_back(last);
  }
  return ids;
}

std::string encode_batches(const Route& route) {
  std::string out;
  Writer writer(out);
  writer.varint(route.claims).varint(route.members_max);
  write_ids(writer, route.refused);
  if (!route.batch.is_open()) return out;
  std::vector<MessageId> members = {route.batch.leader};
  members.insert(members.end(), route.batch.followers.begin(), route.batch.followers.end());
  write_ids(writer, members);
  return out;
}

bool decode_batches(std::string_view bytes, Route& route) {
  Reader reader(bytes);
  route.claims = reader.varint32();
  route.members_max = reader.varint16();
  route.refused = read_ids(reader, kBatchMembersMax);
  if (!reader.ok() || reader.at_end()) return reader.ok() && has_batches(route);
  std::vector<MessageId> members = read_ids(reader, kBatchMembersMax);
  if (!reader.at_end() || members.empty() || !members.front().is_set()) return false;
  route.batch.leader = members.front();
  route.batch.followers.assign(members.begin() + 1, members.end());
  return true;
}

bool is_letter_or_digit(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

// What may stand in a name, the wildcard aside.
bool has_name_characters(std::string_view name) {
  constexpr std::string_view kMarks = "._-:@+=~[]";
  return !name.empty() && is_letter_or_digit(name[0]) &&
         std::all_of(name.begin(), name.end(), [&](char c) {
           return is_letter_or_digit(c) || kMarks.find(c) != std::string_view::npos;
         });
}

}  // namespace

bool is_destination_name(std::string_view name) {
  return name.size() <= kDestinationNameBytesMax && has_name_characters(name);
}

bool is_template_name(std::string_view name) {
  return name.size() <= kDestinationNameBytesMax && name.ends_with(kWildcard) &&
         has_name_characters(name.substr(0, name.size() - 1));
}

bool fits_template(std::string_view template_name, std::string_view name) {
  template_name.remove_suffix(1);
  return name.size() > template_name.size() && name.starts_with(template_name);
}

NamedTexts merged(NamedTexts settings, const NamedTexts& changes) {
  for (const NamedText& change : changes) {
    std::erase_if(settings, [&](const NamedText& text) { return text.first == change.first; });
    if (!change.second.empty()) settings.push_back(change);
  }
  return settings;
}

std::string_view name_of(Health health) {
  const auto index = static_cast<std::size_t>(health);
  POSTRIDER_CHECK(index < kHealthNames.size());
  return kHealthNames[index];
}

std::string encode_config(const DestinationConfig& config) {
  std::string out(1, static_cast<char>(kDestinationVersion));
  Writer writer(out);
  writer
      .u8(static_cast<std::uint8_t>(
          (config.removed ? kRemoved : 0) | (config.draining ? kDraining : 0) |
          (config.like.empty() ? 0 : kLike) | (config.idle_since.is_set() ? kIdle : 0)))
      .text(config.name)
      .text(config.profile);
  if (!config.like.empty()) writer.text(config.like);
  if (config.idle_since.is_set()) writer.i64(config.idle_since.ms());
  writer.raw(encode_texts(config.settings));
  seal_record(out);
  return out;
}

Result<DestinationConfig> decode_config(std::string_view record) {
  Reader reader = open_record(record, kDestinationVersion);
  DestinationConfig config;
  const std::uint8_t flags = reader.u8();
  config.removed = (flags & kRemoved) != 0;
  config.draining = (flags & kDraining) != 0;
  if ((flags & ~(kRemoved | kDraining | kLike | kIdle)) != 0) reader.fail();
  config.name = reader.text();
  config.profile = reader.text();
  if ((flags & kLike) != 0) config.like = reader.text();
  if ((flags & kIdle) != 0) config.idle_since = Timestamp(reader.i64());
  if (!reader.ok()) return fail(ErrorCode::kCorrupt, "destination record");
  POSTRIDER_TRY(settings, decode_texts(reader.rest()));
  config.settings = std::move(settings);
  return config;
}

bool OpenBatch::claims(MessageId id) const {
  return std::find(followers.begin(), followers.end(), id) != followers.end();
}

std::string encode_route(const Route& route) {
  std::string out(1, static_cast<char>(kDestinationVersion));
  Writer(out)
      .u8(static_cast<std::uint8_t>(route.health))
      .u16(route.strikes)
      .u16(route.waits)
      .i64(route.closed_until.ms())
      .i64(route.failing_since.ms())
      .i64(route.health_since.ms())
      .i64(route.seen_at.ms())
      .i64(route.held_since.ms())
      .i64(route.held.count())
      .i64(route.revive_at.ms())
      .text(route.reason);
  const auto has = static_cast<std::uint8_t>((route.interval > Duration(0) ? kHasInterval : 0) |
                                             (route.delivered_at.is_set() ? kHasDelivered : 0) |
                                             (route.sweep_until.is_set() ? kHasSweep : 0) |
                                             (route.position > 0 ? kHasPosition : 0) |
                                             (has_batches(route) ? kHasBatches : 0) |
                                             (route.latest_until.is_set() ? kHasLatest : 0));
  if (has != 0) {
    Writer more(out);
    more.u8(has);
    if ((has & kHasInterval) != 0) more.i64(route.interval.count());
    if ((has & kHasDelivered) != 0) more.i64(route.delivered_at.ms());
    if ((has & kHasSweep) != 0) more.i64(route.sweep_until.ms());
    if ((has & kHasPosition) != 0) more.u64(route.position);
    if ((has & kHasBatches) != 0) more.text(encode_batches(route));
    if ((has & kHasLatest) != 0) more.i64(route.latest_until.ms());
  }
  seal_record(out);
  return out;
}

Result<Route> decode_route(std::string_view record) {
  Reader reader = open_record(record, kDestinationVersion);
  Route route;
  const std::uint8_t health = reader.u8();
  if (health >= kHealths) reader.fail();
  route.health = static_cast<Health>(health);
  route.strikes = reader.u16();
  route.waits = reader.u16();
  route.closed_until = Timestamp(reader.i64());
  route.failing_since = Timestamp(reader.i64());
  route.health_since = Timestamp(reader.i64());
  route.seen_at = Timestamp(reader.i64());
  route.held_since = Timestamp(reader.i64());
  route.held = Duration(reader.i64());
  route.revive_at = Timestamp(reader.i64());
  route.reason = reader.text();
  if (reader.ok() && !reader.at_end()) {
    const std::uint8_t has = reader.u8();
    if (has == 0 || (has & ~kHasAll) != 0) reader.fail();
    if ((has & kHasInterval) != 0) route.interval = Duration(reader.i64());
    if ((has & kHasDelivered) != 0) route.delivered_at = Timestamp(reader.i64());
    if ((has & kHasSweep) != 0) route.sweep_until = Timestamp(reader.i64());
    if ((has & kHasPosition) != 0) route.position = reader.u64();
    if ((has & kHasBatches) != 0 && !decode_batches(reader.text(), route)) reader.fail();
    if ((has & kHasLatest) != 0) route.latest_until = Timestamp(reader.i64());
    // The encoder writes each of them only when there is one.
    if (((has & kHasInterval) != 0 && route.interval <= Duration(0)) ||
        ((has & kHasDelivered) != 0 && !route.delivered_at.is_set()) ||
        ((has & kHasSweep) != 0 && !route.sweep_until.is_set()) ||
        ((has & kHasPosition) != 0 && route.position == 0) ||
        ((has & kHasLatest) != 0 && !route.latest_until.is_set()))
      reader.fail();
  }
  if (!reader.at_end()) return fail(ErrorCode::kCorrupt, "route record");
  return route;
}

std::string encode_owed(const Owed& owed) {
  std::string out(1, static_cast<char>(kDestinationVersion));
  Writer writer(out);
  for (std::uint8_t lane = 0; lane < kLanes; ++lane) {
    if (!owed.heads[lane].is_set()) continue;
    writer.u8(lane).u64(owed.heads[lane].high).u64(owed.heads[lane].low);
  }
  seal_record(out);
  return out;
}

Result<Owed> decode_owed(std::string_view record) {
  Reader reader = open_record(record, kDestinationVersion);
  Owed owed;
  while (reader.ok() && !reader.at_end()) {
    const std::uint8_t lane = reader.u8();
    MessageId head;
    head.high = reader.u64();
    head.low = reader.u64();
    if (lane >= kLanes) reader.fail();
    if (reader.ok()) owed.heads[lane] = head;
  }
  if (!reader.ok()) return fail(ErrorCode::kCorrupt, "owed record");
  return owed;
}

std::string encode_used(Timestamp at) {
  std::string out(1, static_cast<char>(kDestinationVersion));
  Writer(out).i64(at.ms());
  seal_record(out);
  return out;
}

Result<Timestamp> decode_used(std::string_view record) {
  if (record.empty()) return Timestamp();
  Reader reader = open_record(record, kDestinationVersion);
  const Timestamp at(reader.i64());
  if (!reader.at_end()) return fail(ErrorCode::kCorrupt, "time of the last use");
  return at;
}

}  // namespace postrider
