#include "postrider/protocols/chirpstack/events.h"

#include <array>
#include <cmath>

#include "postrider/json/json_writer.h"
#include "postrider/protocols/chirpstack/chirpstack.h"
#include "postrider/protocols/chirpstack/words.h"
#include "postrider/protocols/json_value.h"
#include "postrider/protocols/web/base64.h"
#include "postrider/protocols/web/http_text.h"

namespace postrider::chirpstack {
namespace {

constexpr std::array<std::string_view, 7> kKinds = {"up",   "ack",    "txack", "log",
                                                    "join", "status", ""};

auto invalid(std::string why) { return fail(ErrorCode::kInvalid, std::move(why)); }

Result<void> read_text(const json::Tree& object, std::string_view name, std::string& out) {
  POSTRIDER_TRY(text, json::text_of(object, name));
  out = std::move(text);
  return {};
}
Result<void> read_flag(const json::Tree& object, std::string_view name, bool& out) {
  POSTRIDER_TRY(flag, json::boolean_of(object, name));
  out = flag;
  return {};
}
Result<void> read_u32(const json::Tree& object, std::string_view name, std::uint32_t& out) {
  POSTRIDER_TRY(number, json::u32_of(object, name));
  out = number;
  return {};
}
Result<void> read_i32(const json::Tree& object, std::string_view name, std::int32_t& out) {
  POSTRIDER_TRY(number, json::i32_of(object, name));
  out = number;
  return {};
}
Result<void> read_milli(const json::Tree& object, std::string_view name, std::int32_t& out) {
  POSTRIDER_TRY(number, json::number_of(object, name));
  // The server holds a float; so must we, to come to the same number from both forms.
  out = to_milli(static_cast<float>(number));
  return {};
}
Result<void> read_time(const json::Tree& object, Timestamp& out) {
  POSTRIDER_TRY(text, json::text_of(object, "time"));
  if (text.empty()) return {};
  const std::optional<Timestamp> time = parse_rfc3339(text);
  if (!time) return invalid("time: must be a time");
  out = *time;
  return {};
}

// An enumerator comes by name; by its number where a server writes enumerators so.
Result<void> read_word(const json::Tree& object, std::string_view name,
                       std::span<const std::string_view> names, std::string& out) {
  const json::Tree* const value = json::find(object, name);
  if (value == nullptr) {
    out = names.front();
    return {};
  }
  const std::optional<std::int64_t> number = json::integer_of(*value);
  if (number && *number >= 0 && *number <= INT32_MAX) {
    out = enumerator_name(names, static_cast<std::uint32_t>(*number));
    return {};
  }
  return read_text(object, name, out);
}

// Stops at the first error.
class Steps {
 public:
  Steps& operator<<(Result<void> step) {
    if (first_ && !step) first_ = std::move(step);
    return *this;
  }
  Result<void> end() { return std::move(first_); }

 private:
  Result<void> first_;
};

Result<void> read_device(const json::Tree& object, Event& event) {
  POSTRIDER_TRY(info, json::object_of(object, "deviceInfo"));
  if (info == nullptr) return invalid("deviceInfo: is missing");
  Steps steps;
  steps << read_text(*info, "devEui", event.dev_eui)
        << read_text(*info, "applicationId", event.application_id)
        << read_text(*info, "deviceName", event.device_name);
  return steps.end();
}

Result<void> read_heard(const json::Tree& object, Event& event) {
  const json::Tree* const list = json::find(object, "rxInfo");
  if (list == nullptr) return {};
  if (!list->is_list()) return invalid("rxInfo: must be a list");
  for (const json::Tree& value : list->items) {
    if (!value.is_object()) return invalid("rxInfo: must be a list of objects");
    Heard heard;
    Steps steps;
    steps << read_text(value, "gatewayId", heard.gateway_id) << read_i32(value, "rssi", heard.rssi)
          << read_milli(value, "snr", heard.snr_milli);
    if (const Result<void> end = steps.end(); !end) return end;
    keep_best(event.heard, std::move(heard));
  }
  return {};
}

Result<void> read_up(const json::Tree& object, Event& event) {
  std::string data;
  Steps steps;
  steps << read_text(object, "devAddr", event.dev_addr) << read_u32(object, "fCnt", event.f_cnt)
        << read_u32(object, "fPort", event.f_port)
        << read_flag(object, "confirmed", event.confirmed) << read_text(object, "data", data)
        << read_heard(object, event);
  if (const Result<void> end = steps.end(); !end) return end;
  const std::optional<std::string> bytes = base64_decode(data);
  if (!bytes) return invalid("data: must be base64");
  event.data = *bytes;
  return {};
}

Result<void> read_log(const json::Tree& object, Event& event) {
  Steps steps;
  steps << read_word(object, "level", kLogLevels, event.level)
        << read_word(object, "code", kLogCodes, event.code)
        << read_text(object, "description", event.description);
  if (const Result<void> end = steps.end(); !end) return end;
  POSTRIDER_TRY(context, json::object_of(object, "context"));
  return context == nullptr ? Result<void>()
                            : read_text(*context, kItemInContext, event.queue_item_id);
}

Result<void> read_body(const json::Tree& object, Event& event) {
  Steps steps;
  switch (event.kind) {
    case EventKind::kUp: return read_up(object, event);
    case EventKind::kLog: return read_log(object, event);
    case EventKind::kJoin: return read_text(object, "devAddr", event.dev_addr);
    case EventKind::kAck:
      steps << read_text(object, "queueItemId", event.queue_item_id)
            << read_flag(object, "acknowledged", event.acknowledged)
            << read_u32(object, "fCntDown", event.f_cnt_down);
      break;
    case EventKind::kTxAck:
      steps << read_text(object, "queueItemId", event.queue_item_id)
            << read_u32(object, "downlinkId", event.downlink_id)
            << read_u32(object, "fCntDown", event.f_cnt_down)
            << read_text(object, "gatewayId", event.gateway_id);
      break;
    case EventKind::kStatus:
      steps << read_i32(object, "margin", event.margin)
            << read_flag(object, "externalPowerSource", event.external_power_source)
            << read_flag(object, "batteryLevelUnavailable", event.battery_level_unavailable)
            << read_milli(object, "batteryLevel", event.battery_milli);
      break;
    case EventKind::kOther: break;
  }
  return steps.end();
}

void write_up(const Event& event, json::JsonWriter& object) {
  object.field("devAddr", event.dev_addr).count("fCnt", event.f_cnt).count("fPort", event.f_port);
  object.flag("confirmed", event.confirmed);
  object.field("data", base64_encode({reinterpret_cast<const std::uint8_t*>(event.data.data()),
                                      event.data.size()}));
  if (!event.heard) return;
  object.name("rxInfo").open_array().open_object().field("gatewayId", event.heard->gateway_id);
  // Messages of gateways leave defaults out, also since the others no longer do.
  if (event.heard->rssi != 0) object.name("rssi").integer(event.heard->rssi);
  if (event.heard->snr_milli != 0) object.name("snr").decimal(event.heard->snr_milli / 1000.0);
  object.close_object().close_array();
}

void write_body(const Event& event, json::JsonWriter& object) {
  switch (event.kind) {
    case EventKind::kUp: write_up(event, object); break;
    case EventKind::kAck:
      object.field("queueItemId", event.queue_item_id).flag("acknowledged", event.acknowledged);
      object.count("fCntDown", event.f_cnt_down);
      break;
    case EventKind::kTxAck:
      object.count("downlinkId", event.downlink_id).field("queueItemId", event.queue_item_id);
      object.count("fCntDown", event.f_cnt_down).field("gatewayId", event.gateway_id);
      break;
    case EventKind::kLog:
      object.field("level", event.level).field("code", event.code);
      object.field("description", event.description).name("context").open_object();
      if (!event.queue_item_id.empty()) object.field(kItemInContext, event.queue_item_id);
      object.close_object();
      break;
    case EventKind::kJoin: object.field("devAddr", event.dev_addr); break;
    case EventKind::kStatus:
      object.name("margin").integer(event.margin);
      object.flag("externalPowerSource", event.external_power_source);
      object.flag("batteryLevelUnavailable", event.battery_level_unavailable);
      object.name("batteryLevel").decimal(event.battery_milli / 1000.0);
      break;
    case EventKind::kOther: break;
  }
}

}  // namespace

EventKind parse_event_kind(std::string_view name) {
  for (std::size_t i = 0; i + 1 < kKinds.size(); ++i) {
    if (kKinds[i] == name) return static_cast<EventKind>(i);
  }
  return EventKind::kOther;
}

std::string_view name_of(EventKind kind) { return kKinds.at(static_cast<std::size_t>(kind)); }

Result<Event> decode_event_json(EventKind kind, std::string_view body) {
  Event event;
  event.kind = kind;
  if (kind == EventKind::kOther) return event;
  if (body.size() > kEventBytesMax) return fail(ErrorCode::kLimit, "the event is too large");
  POSTRIDER_TRY(object, json::parse_object(body));
  Steps steps;
  steps << read_device(object, event)
        << read_text(object, "deduplicationId", event.deduplication_id)
        << read_time(object, event.time) << read_body(object, event) << settle(event);
  if (const Result<void> end = steps.end(); !end) return tl::unexpected(end.error());
  return event;
}

std::string encode_event_json(const Event& event) {
  std::string text;
  json::JsonWriter object(text);
  object.open_object();
  if (event.kind != EventKind::kLog && event.kind != EventKind::kTxAck)
    object.field("deduplicationId", event.deduplication_id);
  if (event.time.is_set()) object.field("time", to_rfc3339(event.time));
  object.name("deviceInfo").open_object().field("applicationId", event.application_id);
  object.field("deviceName", event.device_name).field("devEui", event.dev_eui).close_object();
  write_body(event, object);
  object.close_object();
  return text;
}

bool says_discarded(const Event& event) {
  return event.kind == EventKind::kLog && !event.queue_item_id.empty() &&
         (event.code == "EXPIRED" || event.code == "F_CNT_DOWN" ||
          event.code == "DOWNLINK_PAYLOAD_SIZE");
}

}  // namespace postrider::chirpstack
