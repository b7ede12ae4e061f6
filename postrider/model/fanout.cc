#include "postrider/model/fanout.h"

#include <algorithm>
#include <cstring>

#include "postrider/base/codec.h"
#include "postrider/base/planted.h"

namespace postrider {
namespace {

constexpr std::uint8_t kFanoutVersion = 1;
constexpr std::size_t kIdDigits = 16;
constexpr std::string_view kDigits = "0123456789abcdef";
constexpr std::string_view kWildcard = ".*";

bool is_type_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '-' || c == '.';
}

bool covers(std::string_view subscription, std::string_view type) {
  if (subscription == "*") return true;
  if (!subscription.ends_with(kWildcard)) return subscription == type;
  // The dot belongs to it: "invoice.*" is not for "invoices.paid".
  subscription.remove_suffix(planted(Bug::kSubscriptionTooWide) ? 2 : 1);
  return type.starts_with(subscription);
}

}  // namespace

std::string to_string(FanoutId id) {
  std::string out;
  for (int shift = 60; shift >= 0; shift -= 4) out.push_back(kDigits[id.value() >> shift & 15]);
  return out;
}

std::optional<FanoutId> parse_fanout_id(std::string_view text) {
  if (text.size() != kIdDigits) return std::nullopt;
  std::uint64_t value = 0;
  for (const char c : text) {
    const std::size_t digit = kDigits.find(c);
    if (digit == std::string_view::npos) return std::nullopt;
    value = value << 4 | digit;
  }
  return FanoutId(value);
}

std::string encode_fanout_group(const FanoutGroup& group) {
  std::string out(1, static_cast<char>(kFanoutVersion));
  Writer writer(out);
  writer.text(group.name)
      .u8(group.skip_closed ? 1 : 0)
      .i64(group.changed.ms())
      .varint(group.members.size());
  for (const FanoutMember& member : group.members) {
    writer.text(member.destination).varint(member.types.size());
    for (const std::string& type : member.types) writer.text(type);
  }
  seal_record(out);
  return out;
}

Result<FanoutGroup> decode_fanout_group(std::string_view record) {
  Reader reader = open_record(record, kFanoutVersion);
  FanoutGroup group;
  group.name = reader.text();
  const std::uint8_t skip = reader.u8();
  if (skip > 1) reader.fail();
  group.skip_closed = skip == 1;
  group.changed = Timestamp(reader.i64());
  for (std::uint64_t left = reader.varint(); left > 0 && reader.ok(); --left) {
    FanoutMember& member = group.members.emplace_back();
    member.destination = reader.text();
    for (std::uint64_t types = reader.varint(); types > 0 && reader.ok(); --types)
      member.types.emplace_back(reader.text());
  }
  if (!reader.at_end()) return fail(ErrorCode::kCorrupt, "group");
  return group;
}

bool is_event_type(std::string_view type) {
  return !type.empty() && type.size() <= kEventTypeBytesMax &&
         std::all_of(type.begin(), type.end(), is_type_character);
}

bool is_subscription(std::string_view text) {
  if (text == "*") return true;
  if (text.size() > kEventTypeBytesMax) return false;
  if (text.ends_with(kWildcard)) text.remove_suffix(kWildcard.size());
  return is_event_type(text);
}

bool subscribes(const FanoutMember& member, std::string_view type) {
  if (member.types.empty()) return true;
  return !type.empty() && std::any_of(member.types.begin(), member.types.end(),
                                      [type](const std::string& one) { return covers(one, type); });
}

std::string encode_fanout(const FanoutView& view) {
  std::string out;
  Writer writer(out);
  writer.u64(view.id.value()).varint(view.members.size());
  for (const FanoutView::Member& member : view.members)
    writer.text(member.destination).u64(member.message.high).u64(member.message.low);
  writer.varint(view.skipped.size());
  for (const std::string& name : view.skipped) writer.text(name);
  return out;
}

Result<FanoutView> decode_fanout(std::string_view bytes) {
  Reader reader(bytes);
  FanoutView view;
  view.id = FanoutId(reader.u64());
  for (std::uint64_t left = reader.varint(); left > 0 && reader.ok(); --left) {
    FanoutView::Member& member = view.members.emplace_back();
    member.destination = reader.text();
    member.message.high = reader.u64();
    member.message.low = reader.u64();
  }
  for (std::uint64_t left = reader.varint(); left > 0 && reader.ok(); --left)
    view.skipped.emplace_back(reader.text());
  if (!reader.at_end()) return fail(ErrorCode::kCorrupt, "fan-out");
  return view;
}

Blob encode_body(std::string_view body) {
  const std::size_t content = 1 + body.size();
  return Blob::make(content + 4, [&](char* to) {
    to[0] = static_cast<char>(kFanoutVersion);
    if (!body.empty()) std::memcpy(to + 1, body.data(), body.size());
    const std::uint32_t crc = crc32c({to, content});
    for (std::size_t i = 0; i < 4; ++i) to[content + i] = static_cast<char>(crc >> (24 - 8 * i));
  });
}

Result<std::string_view> decode_body(std::string_view record) {
  const Reader reader = open_record(record, kFanoutVersion);
  if (!reader.ok()) return fail(ErrorCode::kCorrupt, "shared body");
  return reader.rest();
}

std::string_view body_in(const Blob& record) {
  constexpr std::size_t kFrame = 5;  // version and checksum
  const std::string_view whole = record.view();
  return whole.size() < kFrame ? std::string_view() : whole.substr(1, whole.size() - kFrame);
}

std::string encode_body_count(const BodyCount& count) {
  std::string out(1, static_cast<char>(kFanoutVersion));
  Writer(out).u32(count.references).u32(count.bytes);
  seal_record(out);
  return out;
}

Result<BodyCount> decode_body_count(std::string_view record) {
  Reader reader = open_record(record, kFanoutVersion);
  BodyCount count;
  count.references = reader.u32();
  count.bytes = reader.u32();
  if (!reader.at_end() || count.references == 0) return fail(ErrorCode::kCorrupt, "body count");
  return count;
}

}  // namespace postrider
