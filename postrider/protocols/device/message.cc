#include "postrider/protocols/device/message.h"

#include <algorithm>
#include <array>
#include <limits>
#include <span>
#include <utility>

#include "postrider/base/nearest.h"
#include "postrider/protocols/json_value.h"
#include "postrider/protocols/web/http_text.h"

namespace postrider::device {
namespace {

using json::Object;
using json::Value;

constexpr auto kNames = std::to_array<std::string_view>(
    {"commandType", "priority", "pluginId", "networkId", "correlationId", "phase", "requestData",
     "device", "expiresAt", "supersedeKey"});
constexpr auto kDataNames = std::to_array<std::string_view>({"token", "payload"});
constexpr auto kDateNames = std::to_array<std::string_view>({"year", "month", "day"});
constexpr auto kTimeNames = std::to_array<std::string_view>({"hour", "minute", "second"});
constexpr auto kDeviceNames =
    std::to_array<std::string_view>({"type", "externalReference", "relayNode"});
constexpr auto kRelayNames =
    std::to_array<std::string_view>({"id", "externalReference", "snr", "rssi"});
// Parts of dates and times: an impossible one is refused later, a monstrous one here.
constexpr std::int64_t kPartMax = 9999;

auto wrong(std::string_view field, std::string_view why) {
  return fail(ErrorCode::kInvalid, std::string(field).append(": ").append(why));
}

bool is_letter_or_digit(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

bool is_control(char c) {
  return static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) == 0x7F;
}

// An object with these names and no others; null when it is absent.
Result<const Object*> known_object(const Object& parent, std::string_view field,
                                   std::string_view path, std::span<const std::string_view> names) {
  const Value* const value = json::find(parent, field);
  if (value == nullptr) return static_cast<const Object*>(nullptr);
  if (!value->is_object()) return wrong(path, "must be an object");
  for (const auto& member : value->get_object()) {
    const std::string_view name(member.key().data(), member.key().size());
    if (std::find(names.begin(), names.end(), name) != names.end()) continue;
    return fail(ErrorCode::kInvalid, "unknown key '" + std::string(path) + "." +
                                         clean_excerpt(name, kIdBytesMax) + "'" +
                                         did_you_mean(name, names));
  }
  return &value->get_object();
}

Result<void> check_top(const Object& object) {
  for (const auto& member : object) {
    const std::string_view name(member.key().data(), member.key().size());
    if (std::find(kNames.begin(), kNames.end(), name) != kNames.end()) continue;
    return fail(ErrorCode::kInvalid, "unknown key '" + clean_excerpt(name, kIdBytesMax) + "'" +
                                         did_you_mean(name, kNames));
  }
  return {};
}

// Empty when absent.
Result<std::string> text_of(const Object& object, std::string_view field, std::string_view path) {
  const Value* const value = json::find(object, field);
  if (value == nullptr) return std::string();
  if (!value->is_string()) return wrong(path, "must be a text");
  const boost::json::string& text = value->get_string();
  if (text.empty() || text.size() > kIdBytesMax) return wrong(path, "must have 1 to 128 bytes");
  if (std::any_of(text.begin(), text.end(), is_control))
    return wrong(path, "must have no control characters");
  return std::string(text.data(), text.size());
}

Result<std::string> needed_text(const Object& object, std::string_view field,
                                std::string_view path) {
  POSTRIDER_TRY(text, text_of(object, field, path));
  if (text.empty()) return wrong(path, "is missing");
  return std::move(text);
}

// A number of JSON, whole, and not a text with digits in it.
Result<std::int64_t> whole_of(const Value& value, std::string_view path, std::int64_t high) {
  const auto number = value.is_string() ? std::nullopt : json::integer_of(value);
  if (number && *number >= 0 && *number <= high) return *number;
  return wrong(path, "must be a whole number from 0 to " + std::to_string(high));
}

Result<int> part_of(const Object& payload, std::string_view field) {
  const std::string path = "requestData.payload." + std::string(field);
  const Value* const value = json::find(payload, field);
  if (value == nullptr) return wrong(path, "is missing");
  POSTRIDER_TRY(number, whole_of(*value, path, kPartMax));
  return static_cast<int>(number);
}

Result<void> read_date(const Object& payload, Request& request) {
  POSTRIDER_TRY(year, part_of(payload, kDateNames[0]));
  POSTRIDER_TRY(month, part_of(payload, kDateNames[1]));
  POSTRIDER_TRY(day, part_of(payload, kDateNames[2]));
  request.date = Date{year, month, day};
  return {};
}

Result<void> read_time(const Object& payload, Request& request) {
  POSTRIDER_TRY(hour, part_of(payload, kTimeNames[0]));
  POSTRIDER_TRY(minute, part_of(payload, kTimeNames[1]));
  request.time = TimeOfDay{hour, minute, 0};
  if (json::find(payload, kTimeNames[2]) == nullptr) return {};
  POSTRIDER_TRY(second, part_of(payload, kTimeNames[2]));
  request.time->second = second;
  return {};
}

Result<void> read_data(const Object& object, Request& request) {
  POSTRIDER_TRY(data, known_object(object, "requestData", "requestData", kDataNames));
  if (data == nullptr) return {};
  POSTRIDER_TRY(token, text_of(*data, "token", "requestData.token"));
  request.token = std::move(token);
  const Value* const payload = json::find(*data, "payload");
  if (payload == nullptr) return {};
  const bool is_time = payload->is_object() && payload->get_object().contains("hour");
  POSTRIDER_TRY(known, known_object(*data, "payload", "requestData.payload",
                                    is_time ? std::span(kTimeNames) : std::span(kDateNames)));
  return is_time ? read_time(*known, request) : read_date(*known, request);
}

Result<std::optional<Decimal>> decimal_of(const Object& object, std::string_view field,
                                          std::string_view path) {
  const Value* const value = json::find(object, field);
  if (value == nullptr) return std::optional<Decimal>();
  const auto word = value->is_string() ? std::nullopt : json::word_of(*value);
  const auto number = word ? parse_decimal(*word) : std::nullopt;
  if (!number) return wrong(path, "must be a number");
  return std::optional<Decimal>(make_decimal(number->units, number->scale));
}

// Ids of relay nodes are texts here, and numbers in some callers' tables.
Result<std::string> relay_id(const Object& relay) {
  constexpr std::string_view kPath = "device.relayNode.id";
  const Value* const value = json::find(relay, "id");
  if (value != nullptr && (value->is_int64() || value->is_uint64())) return *json::word_of(*value);
  POSTRIDER_TRY(id, needed_text(relay, "id", kPath));
  // It becomes part of the name of a queue.
  constexpr std::string_view kMarks = "._-:@+=~";
  const bool fits = std::all_of(id.begin(), id.end(), [&](char c) {
    return is_letter_or_digit(c) || kMarks.find(c) != std::string_view::npos;
  });
  if (!fits) return wrong(kPath, "may have letters, digits and ._-:@+=~");
  return std::move(id);
}

Result<void> read_relay(const Object& device, DeviceMessage& message) {
  POSTRIDER_TRY(relay, known_object(device, "relayNode", "device.relayNode", kRelayNames));
  if (relay == nullptr) return {};
  DeviceMessage::Relay read;
  POSTRIDER_TRY(id, relay_id(*relay));
  read.id = std::move(id);
  POSTRIDER_TRY(reference,
                text_of(*relay, "externalReference", "device.relayNode.externalReference"));
  read.reference = std::move(reference);
  POSTRIDER_TRY(snr, decimal_of(*relay, "snr", "device.relayNode.snr"));
  read.snr = snr;
  POSTRIDER_TRY(rssi, decimal_of(*relay, "rssi", "device.relayNode.rssi"));
  read.rssi = rssi;
  message.relay = std::move(read);
  return {};
}

Result<void> read_device(const Object& object, DeviceMessage& message) {
  POSTRIDER_TRY(device, known_object(object, "device", "device", kDeviceNames));
  if (device == nullptr) return wrong("device", "is missing");
  POSTRIDER_TRY(type, needed_text(*device, "type", "device.type"));
  if (type != kElectricityMeter) return wrong("device.type", "must be ELECTRICITY_METER");
  message.device_type = std::move(type);
  POSTRIDER_TRY(meter, needed_text(*device, "externalReference", "device.externalReference"));
  message.request.meter = std::move(meter);
  return read_relay(*device, message);
}

Result<void> read_command(const Object& object, Request& request) {
  POSTRIDER_TRY(word, needed_text(object, "commandType", "commandType"));
  const auto command = parse_command(word);
  if (!command) {
    std::array<std::string_view, kSubmitCommands> names;
    for (std::size_t i = 0; i < names.size(); ++i) names[i] = name_of(static_cast<Command>(i));
    return wrong("commandType", "there is no '" + clean_excerpt(word, kIdBytesMax) + "'" +
                                    did_you_mean(word, std::span<const std::string_view>(names)));
  }
  if (!is_submittable(*command))
    return wrong("commandType", "only a device says " + word + "; it is no command");
  request.command = *command;
  POSTRIDER_TRY(phase, text_of(object, "phase", "phase"));
  if (phase.empty()) return {};
  const auto parsed = parse_meter_phase(phase);
  if (!parsed) return wrong("phase", "must be A, B or C");
  request.phase = *parsed;
  return {};
}

Result<void> read_numbers(const Object& object, DeviceMessage& message) {
  const Value* const priority = json::find(object, "priority");
  if (priority == nullptr) return wrong("priority", "is missing");
  POSTRIDER_TRY(number, whole_of(*priority, "priority", std::numeric_limits<std::uint16_t>::max()));
  message.priority = static_cast<std::uint16_t>(number);
  const Value* const network = json::find(object, "networkId");
  if (network == nullptr) return {};
  POSTRIDER_TRY(id, whole_of(*network, "networkId", std::numeric_limits<std::uint32_t>::max()));
  message.network = static_cast<std::uint32_t>(id);
  return {};
}

Result<void> read_texts(const Object& object, DeviceMessage& message) {
  POSTRIDER_TRY(plugin, needed_text(object, "pluginId", "pluginId"));
  if (!is_plugin_name(plugin))
    return wrong("pluginId", "must be 1 to 64 letters, digits, '_' and '-'");
  message.plugin = std::move(plugin);
  POSTRIDER_TRY(correlation, text_of(object, "correlationId", "correlationId"));
  message.correlation = std::move(correlation);
  POSTRIDER_TRY(supersede, text_of(object, "supersedeKey", "supersedeKey"));
  message.supersede = std::move(supersede);
  POSTRIDER_TRY(expires, text_of(object, "expiresAt", "expiresAt"));
  if (expires.empty()) return {};
  message.expires_at = parse_rfc3339(expires);
  if (!message.expires_at || !message.expires_at->is_set())
    return wrong("expiresAt", "must be a time like 2026-08-12T14:30:00Z");
  return {};
}

void quote(std::string& out, std::string_view text) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  out += '"';
  for (const char c : text) {
    if (is_control(c) && c != 0x7F) {
      out.append("\\u00").push_back(kDigits[static_cast<unsigned char>(c) >> 4]);
      out += kDigits[static_cast<unsigned char>(c) & 15];
      continue;
    }
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  out += '"';
}

// {"a":1,"b":"x"}: an object under construction; closes itself.
class Braces {
 public:
  explicit Braces(std::string& out) : out_(out) { out_ += '{'; }
  Braces(const Braces&) = delete;
  Braces& operator=(const Braces&) = delete;
  ~Braces() { out_ += '}'; }

  std::string& name(std::string_view text) {
    if (!first_) out_ += ',';
    first_ = false;
    out_ += '"';
    return out_.append(text).append("\":");
  }
  void text(std::string_view field, std::string_view value) {
    if (!value.empty()) quote(name(field), value);
  }
  void number(std::string_view field, std::int64_t value) { name(field) += std::to_string(value); }

 private:
  std::string& out_;
  bool first_ = true;
};

void append_payload(Braces& data, const Request& request) {
  if (request.date) {
    Braces payload(data.name("payload"));
    payload.number("year", request.date->year);
    payload.number("month", request.date->month);
    payload.number("day", request.date->day);
  } else if (request.time) {
    Braces payload(data.name("payload"));
    payload.number("hour", request.time->hour);
    payload.number("minute", request.time->minute);
    payload.number("second", request.time->second);
  }
}

void append_device(Braces& whole, const DeviceMessage& message) {
  Braces device(whole.name("device"));
  device.text("type", message.device_type);
  device.text("externalReference", message.request.meter);
  if (!message.relay) return;
  Braces relay(device.name("relayNode"));
  relay.text("id", message.relay->id);
  relay.text("externalReference", message.relay->reference);
  if (message.relay->snr) relay.name("snr") += to_text(*message.relay->snr);
  if (message.relay->rssi) relay.name("rssi") += to_text(*message.relay->rssi);
}

}  // namespace

bool is_plugin_name(std::string_view name) {
  return !name.empty() && name.size() <= kPluginBytesMax &&
         std::all_of(name.begin(), name.end(),
                     [](char c) { return is_letter_or_digit(c) || c == '_' || c == '-'; });
}

Result<DeviceMessage> parse_device_message(std::string_view json) {
  if (json.size() > kMessageBytesMax) return fail(ErrorCode::kLimit, "the body is over 64 KiB");
  json::Document document;
  POSTRIDER_TRY(object, document.parse_object(json));
  DeviceMessage message;
  Result<void> read = check_top(*object);
  if (read) read = read_command(*object, message.request);
  if (read) read = read_numbers(*object, message);
  if (read) read = read_texts(*object, message);
  if (read) read = read_data(*object, message.request);
  if (read) read = read_device(*object, message);
  if (!read) return tl::unexpected<Error>(read.error());
  return message;
}

std::string encode_device_message(const DeviceMessage& message) {
  std::string out;
  out.reserve(256);
  {
    Braces whole(out);
    whole.text("commandType", name_of(message.request.command));
    whole.number("priority", message.priority);
    whole.text("pluginId", message.plugin);
    if (message.network) whole.number("networkId", *message.network);
    whole.text("correlationId", message.correlation);
    whole.text("phase", name_of(message.request.phase));
    if (!message.request.token.empty() || message.request.date || message.request.time) {
      Braces data(whole.name("requestData"));
      data.text("token", message.request.token);
      append_payload(data, message.request);
    }
    append_device(whole, message);
    if (message.expires_at) whole.text("expiresAt", to_rfc3339(*message.expires_at));
    whole.text("supersedeKey", message.supersede);
  }
  return out;
}

std::string push_queue(const DeviceMessage& message) {
  return message.plugin + ".network:" +
         (message.network ? std::to_string(*message.network) : std::string("unassigned"));
}

Result<std::string> pull_queue(const DeviceMessage& message) {
  if (!message.relay)
    return wrong("device.relayNode", "is missing: this plugin reaches devices through gateways");
  return message.plugin + ".gateway:" + message.relay->id;
}

}  // namespace postrider::device
