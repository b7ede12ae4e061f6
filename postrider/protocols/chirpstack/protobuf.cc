// unity: alone, its names are those of events.cc
// The protobuf form of the events; the field numbers are those of the server's integration API.
#include "postrider/protocols/grpc/protobuf.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "postrider/protocols/chirpstack/chirpstack.h"
#include "postrider/protocols/chirpstack/events.h"
#include "postrider/protocols/chirpstack/words.h"
#include "postrider/protocols/web/http_text.h"

namespace postrider::chirpstack {
namespace {

using protobuf::Field;
using protobuf::Reader;
using protobuf::WireType;

constexpr float kMilli = 1000.0F;
constexpr float kMilliMax = 1e9F;

bool is_text(const Field& field, std::uint32_t number) {
  return field.is(number, WireType::kBytes);
}
bool is_number(const Field& field, std::uint32_t number) {
  return field.is(number, WireType::kVarint);
}

Result<void> read_device(Reader reader, Event& event) {
  while (true) {
    POSTRIDER_TRY(field, reader.next());
    if (!field) return {};
    if (is_text(*field, 3)) event.application_id = field->bytes;
    if (is_text(*field, 7)) event.device_name = field->bytes;
    if (is_text(*field, 8)) event.dev_eui = field->bytes;
  }
}

Result<void> read_heard(Reader reader, Event& event) {
  Heard heard;
  while (true) {
    POSTRIDER_TRY(field, reader.next());
    if (!field) break;
    if (is_text(*field, 1)) heard.gateway_id = field->bytes;
    if (is_number(*field, 6)) heard.rssi = field->i32();
    if (field->is(7, WireType::kFixed32)) heard.snr_milli = to_milli(field->f32());
  }
  keep_best(event.heard, std::move(heard));
  return {};
}

// One pair of a map: 1 is the name, 2 the value.
Result<void> read_context(Reader reader, Event& event) {
  std::string_view name;
  std::string_view value;
  while (true) {
    POSTRIDER_TRY(field, reader.next());
    if (!field) break;
    if (is_text(*field, 1)) name = field->bytes;
    if (is_text(*field, 2)) value = field->bytes;
  }
  if (name == kItemInContext) event.queue_item_id = value;
  return {};
}

Result<void> read_up(const Reader& reader, const Field& field, Event& event) {
  if (is_text(field, 4)) event.dev_addr = field.bytes;
  if (is_number(field, 7)) event.f_cnt = field.u32();
  if (is_number(field, 8)) event.f_port = field.u32();
  if (is_number(field, 9)) event.confirmed = field.boolean();
  if (is_text(field, 10)) event.data = field.bytes;
  if (is_text(field, 12)) return read_heard(reader.nested(field), event);
  return {};
}

Result<void> read_log(const Reader& reader, const Field& field, Event& event) {
  if (is_number(field, 3)) event.level = enumerator_name(kLogLevels, field.u32());
  if (is_number(field, 4)) event.code = enumerator_name(kLogCodes, field.u32());
  if (is_text(field, 5)) event.description = field.bytes;
  if (is_text(field, 6)) return read_context(reader.nested(field), event);
  return {};
}

void read_ack(const Field& field, Event& event) {
  if (is_text(field, 4)) event.queue_item_id = field.bytes;
  if (is_number(field, 5)) event.acknowledged = field.boolean();
  if (is_number(field, 6)) event.f_cnt_down = field.u32();
}

void read_txack(const Field& field, Event& event) {
  if (is_number(field, 1)) event.downlink_id = field.u32();
  if (is_text(field, 4)) event.queue_item_id = field.bytes;
  if (is_number(field, 5)) event.f_cnt_down = field.u32();
  if (is_text(field, 6)) event.gateway_id = field.bytes;
}

void read_status(const Field& field, Event& event) {
  if (is_number(field, 5)) event.margin = field.i32();
  if (is_number(field, 6)) event.external_power_source = field.boolean();
  if (is_number(field, 7)) event.battery_level_unavailable = field.boolean();
  if (field.is(8, WireType::kFixed32)) event.battery_milli = to_milli(field.f32());
}

Result<void> read_body(const Reader& reader, const Field& field, Event& event) {
  switch (event.kind) {
    case EventKind::kUp: return read_up(reader, field, event);
    case EventKind::kLog: return read_log(reader, field, event);
    case EventKind::kAck: read_ack(field, event); break;
    case EventKind::kTxAck: read_txack(field, event); break;
    case EventKind::kStatus: read_status(field, event); break;
    case EventKind::kJoin:
      if (is_text(field, 4)) event.dev_addr = field.bytes;
      break;
    case EventKind::kOther: break;
  }
  return {};
}

// A log has no deduplication id in front, so everything stands one number lower.
constexpr std::uint32_t time_number(EventKind kind) { return kind == EventKind::kLog ? 1 : 2; }

Result<void> read_common(const Reader& reader, const Field& field, Event& event) {
  const std::uint32_t time = time_number(event.kind);
  if (is_text(field, time)) {
    POSTRIDER_TRY(at, protobuf::read_timestamp(reader.nested(field)));
    event.time = at;
  } else if (is_text(field, time + 1)) {
    return read_device(reader.nested(field), event);
  } else if (time == 2 && is_text(field, 1)) {
    event.deduplication_id = field.bytes;
  }
  return {};
}

std::string encode_device(const Event& event) {
  std::string out;
  protobuf::Writer(out)
      .bytes(3, event.application_id)
      .bytes(7, event.device_name)
      .bytes(8, event.dev_eui);
  return out;
}

void write_up(const Event& event, protobuf::Writer& writer) {
  writer.bytes(4, event.dev_addr)
      .varint(7, event.f_cnt)
      .varint(8, event.f_port)
      .boolean(9, event.confirmed)
      .bytes(10, event.data);
  if (!event.heard) return;
  std::string heard;
  protobuf::Writer(heard)
      .bytes(1, event.heard->gateway_id)
      .i32(6, event.heard->rssi)
      .f32(7, static_cast<float>(event.heard->snr_milli) / kMilli);
  writer.message(12, heard);
}

void write_log(const Event& event, protobuf::Writer& writer) {
  writer.varint(3, enumerator_number(kLogLevels, event.level))
      .varint(4, enumerator_number(kLogCodes, event.code))
      .bytes(5, event.description);
  if (event.queue_item_id.empty()) return;
  std::string pair;
  protobuf::Writer(pair).bytes(1, kItemInContext).bytes(2, event.queue_item_id);
  writer.message(6, pair);
}

}  // namespace

std::string enumerator_name(std::span<const std::string_view> names, std::uint32_t number) {
  return number < names.size() ? std::string(names[number]) : std::to_string(number);
}

std::uint32_t enumerator_number(std::span<const std::string_view> names, std::string_view name) {
  const auto found = std::find(names.begin(), names.end(), name);
  if (found != names.end()) return static_cast<std::uint32_t>(found - names.begin());
  std::uint32_t number = 0;
  std::from_chars(name.data(), name.data() + name.size(), number);
  return number;
}

std::int32_t to_milli(float number) {
  if (std::isnan(number)) return 0;
  return static_cast<std::int32_t>(std::lround(
      std::clamp(static_cast<double>(number) * kMilli, -double{kMilliMax}, double{kMilliMax})));
}

void keep_best(std::optional<Heard>& best, Heard heard) {
  const auto rank = [](const Heard& one) { return std::pair(one.snr_milli, one.rssi); };
  if (!best || rank(heard) > rank(*best)) best = std::move(heard);
}

Result<void> settle(Event& event) {
  if (!is_dev_eui(event.dev_eui)) return fail(ErrorCode::kInvalid, "devEui: must be 16 hex digits");
  event.dev_eui = to_lower(event.dev_eui);
  for (const std::string* id : {&event.queue_item_id, &event.deduplication_id}) {
    if (id->size() > kIdBytesMax) return fail(ErrorCode::kLimit, "an id is too long");
  }
  return {};
}

Result<Event> decode_event_protobuf(EventKind kind, std::string_view body) {
  Event event;
  event.kind = kind;
  if (kind == EventKind::kOther) return event;
  if (body.size() > kEventBytesMax) return fail(ErrorCode::kLimit, "the event is too large");
  if (kind == EventKind::kLog) {
    event.level = kLogLevels.front();
    event.code = kLogCodes.front();
  }
  Reader reader(body);
  while (true) {
    POSTRIDER_TRY(field, reader.next());
    if (!field) break;
    Result<void> read = read_common(reader, *field, event);
    if (read) read = read_body(reader, *field, event);
    if (!read) return tl::unexpected(read.error());
  }
  if (const Result<void> settled = settle(event); !settled) return tl::unexpected(settled.error());
  return event;
}

std::string encode_event_protobuf(const Event& event) {
  std::string out;
  protobuf::Writer writer(out);
  const std::uint32_t time = time_number(event.kind);
  if (event.kind == EventKind::kTxAck) {
    writer.varint(1, event.downlink_id);
  } else if (time == 2) {
    writer.bytes(1, event.deduplication_id);
  }
  if (event.time.is_set()) writer.message(time, protobuf::encode_timestamp(event.time));
  writer.message(time + 1, encode_device(event));
  switch (event.kind) {
    case EventKind::kUp: write_up(event, writer); break;
    case EventKind::kLog: write_log(event, writer); break;
    case EventKind::kJoin: writer.bytes(4, event.dev_addr); break;
    case EventKind::kAck:
      writer.bytes(4, event.queue_item_id)
          .boolean(5, event.acknowledged)
          .varint(6, event.f_cnt_down);
      break;
    case EventKind::kTxAck:
      writer.bytes(4, event.queue_item_id).varint(5, event.f_cnt_down).bytes(6, event.gateway_id);
      break;
    case EventKind::kStatus:
      writer.i32(5, event.margin)
          .boolean(6, event.external_power_source)
          .boolean(7, event.battery_level_unavailable)
          .f32(8, static_cast<float>(event.battery_milli) / kMilli);
      break;
    case EventKind::kOther: break;
  }
  return out;
}

}  // namespace postrider::chirpstack
