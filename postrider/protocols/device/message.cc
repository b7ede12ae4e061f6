#include "postrider/protocols/device/message.h"

#include <algorithm>
#include <array>
#include <limits>
#include <span>
#include <utility>

#include "postrider/base/nearest.h"
#include "postrider/json/json_writer.h"
#include "postrider/protocols/json_value.h"
#include "postrider/protocols/web/http_text.h"

namespace postrider::device {
namespace {

using json::JsonWriter;
using json::Tree;

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
Result<const Tree*> known_object(const Tree& parent, std::string_view field, std::string_view path,
                                 std::span<const std::string_view> names) {
  const Tree* const value = json::find(parent, field);
  if (value == nullptr) return static_cast<const Tree*>(nullptr);
  if (!value->is_object()) return wrong(path, "must be an object");
  for (const std::string& name : value->names) {
    if (std::find(names.begin(), names.end(), name) != names.end()) continue;
    return fail(ErrorCode::kInvalid, "unknown key '" + std::string(path) + "." +
                                         clean_excerpt(name, kIdBytesMax) + "'" +
                                         did_you_mean(name, names));
  }
  return value;
}

Result<void> check_top(const Tree& object) {
  for (const std::string& name : object.names) {
    if (std::find(kNames.begin(), kNames.end(), name) != kNames.end()) continue;
    return fail(ErrorCode::kInvalid, "unknown key '" + clean_excerpt(name, kIdBytesMax) + "'" +
                                         did_you_mean(name, kNames));
  }
  return {};
}

// Empty when absent.
Result<std::string> text_of(const Tree& object, std::string_view field, std::string_view path) {
  const Tree* const value = json::find(object, field);
  if (value == nullptr) return std::string();
  if (!value->is_text()) return wrong(path, "must be a text");
  const std::string& text = value->text;
  if (text.empty() || text.size() > kIdBytesMax) return wrong(path, "must have 1 to 128 bytes");
  if (std::any_of(text.begin(), text.end(), is_control))
    return wrong(path, "must have no control characters");
  return text;
}

Result<std::string> needed_text(const Tree& object, std::string_view field, std::string_view path) {
  POSTRIDER_TRY(text, text_of(object, field, path));
  if (text.empty()) return wrong(path, "is missing");
  return std::move(text);
}

// A number of JSON, whole, and not a text with digits in it.
Result<std::int64_t> whole_of(const Tree& value, std::string_view path, std::int64_t high) {
  const auto number = value.is_text() ? std::nullopt : json::integer_of(value);
  if (number && *number >= 0 && *number <= high) return *number;
  return wrong(path, "must be a whole number from 0 to " + std::to_string(high));
}

Result<int> part_of(const Tree& payload, std::string_view field) {
  const std::string path = "requestData.payload." + std::string(field);
  const Tree* const value = json::find(payload, field);
  if (value == nullptr) return wrong(path, "is missing");
  POSTRIDER_TRY(number, whole_of(*value, path, kPartMax));
  return static_cast<int>(number);
}

Result<void> read_date(const Tree& payload, Request& request) {
  POSTRIDER_TRY(year, part_of(payload, kDateNames[0]));
  POSTRIDER_TRY(month, part_of(payload, kDateNames[1]));
  POSTRIDER_TRY(day, part_of(payload, kDateNames[2]));
  request.date = Date{year, month, day};
  return {};
}

Result<void> read_time(const Tree& payload, Request& request) {
  POSTRIDER_TRY(hour, part_of(payload, kTimeNames[0]));
  POSTRIDER_TRY(minute, part_of(payload, kTimeNames[1]));
  request.time = TimeOfDay{hour, minute, 0};
  if (json::find(payload, kTimeNames[2]) == nullptr) return {};
  POSTRIDER_TRY(second, part_of(payload, kTimeNames[2]));
  request.time->second = second;
  return {};
}

Result<void> read_data(const Tree& object, Request& request) {
  POSTRIDER_TRY(data, known_object(object, "requestData", "requestData", kDataNames));
  if (data == nullptr) return {};
  POSTRIDER_TRY(token, text_of(*data, "token", "requestData.token"));
  request.token = std::move(token);
  const Tree* const payload = json::find(*data, "payload");
  if (payload == nullptr) return {};
  const bool is_time = payload->is_object() && payload->find("hour") != nullptr;
  POSTRIDER_TRY(known, known_object(*data, "payload", "requestData.payload",
                                    is_time ? std::span(kTimeNames) : std::span(kDateNames)));
  return is_time ? read_time(*known, request) : read_date(*known, request);
}

Result<std::optional<Decimal>> decimal_of(const Tree& object, std::string_view field,
                                          std::string_view path) {
  const Tree* const value = json::find(object, field);
  if (value == nullptr) return std::optional<Decimal>();
  const auto word = value->is_text() ? std::nullopt : json::word_of(*value);
  const auto number = word ? parse_decimal(*word) : std::nullopt;
  if (!number) return wrong(path, "must be a number");
  return std::optional<Decimal>(make_decimal(number->units, number->scale));
}

// Ids of relay nodes are texts here, and numbers in some callers' tables.
Result<std::string> relay_id(const Tree& relay) {
  constexpr std::string_view kPath = "device.relayNode.id";
  const Tree* const value = json::find(relay, "id");
  if (value != nullptr && json::is_integer(*value)) return *json::word_of(*value);
  POSTRIDER_TRY(id, needed_text(relay, "id", kPath));
  // It becomes part of the name of a queue.
  constexpr std::string_view kMarks = "._-:@+=~";
  const bool fits = std::all_of(id.begin(), id.end(), [&](char c) {
    return is_letter_or_digit(c) || kMarks.find(c) != std::string_view::npos;
  });
  if (!fits) return wrong(kPath, "may have letters, digits and ._-:@+=~");
  return std::move(id);
}

Result<void> read_relay(const Tree& device, DeviceMessage& message) {
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

Result<void> read_device(const Tree& object, DeviceMessage& message) {
  POSTRIDER_TRY(device, known_object(object, "device", "device", kDeviceNames));
  if (device == nullptr) return wrong("device", "is missing");
  POSTRIDER_TRY(type, needed_text(*device, "type", "device.type"));
  if (type != kElectricityMeter) return wrong("device.type", "must be ELECTRICITY_METER");
  message.device_type = std::move(type);
  POSTRIDER_TRY(meter, needed_text(*device, "externalReference", "device.externalReference"));
  message.request.meter = std::move(meter);
  return read_relay(*device, message);
}

Result<void> read_command(const Tree& object, Request& request) {
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

Result<void> read_numbers(const Tree& object, DeviceMessage& message) {
  const Tree* const priority = json::find(object, "priority");
  if (priority == nullptr) return wrong("priority", "is missing");
  POSTRIDER_TRY(number, whole_of(*priority, "priority", std::numeric_limits<std::uint16_t>::max()));
  message.priority = static_cast<std::uint16_t>(number);
  const Tree* const network = json::find(object, "networkId");
  if (network == nullptr) return {};
  POSTRIDER_TRY(id, whole_of(*network, "networkId", std::numeric_limits<std::uint32_t>::max()));
  message.network = static_cast<std::uint32_t>(id);
  return {};
}

Result<void> read_texts(const Tree& object, DeviceMessage& message) {
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

void text_field(JsonWriter& json, std::string_view name, std::string_view value) {
  if (!value.empty()) json.field(name, value);
}

void write_payload(JsonWriter& json, const Request& request) {
  if (request.date) {
    json.name("payload").open_object().name("year").integer(request.date->year);
    json.name("month").integer(request.date->month).name("day").integer(request.date->day);
    json.close_object();
  } else if (request.time) {
    json.name("payload").open_object().name("hour").integer(request.time->hour);
    json.name("minute").integer(request.time->minute);
    json.name("second").integer(request.time->second).close_object();
  }
}

void write_device(JsonWriter& json, const DeviceMessage& message) {
  json.name("device").open_object();
  text_field(json, "type", message.device_type);
  text_field(json, "externalReference", message.request.meter);
  if (message.relay) {
    json.name("relayNode").open_object();
    text_field(json, "id", message.relay->id);
    text_field(json, "externalReference", message.relay->reference);
    if (message.relay->snr) json.name("snr").raw(to_text(*message.relay->snr));
    if (message.relay->rssi) json.name("rssi").raw(to_text(*message.relay->rssi));
    json.close_object();
  }
  json.close_object();
}

}  // namespace

bool is_plugin_name(std::string_view name) {
  return !name.empty() && name.size() <= kPluginBytesMax &&
         std::all_of(name.begin(), name.end(),
                     [](char c) { return is_letter_or_digit(c) || c == '_' || c == '-'; });
}

Result<DeviceMessage> parse_device_message(std::string_view json) {
  if (json.size() > kMessageBytesMax) return fail(ErrorCode::kLimit, "the body is over 64 KiB");
  POSTRIDER_TRY(object, json::parse_object(json));
  DeviceMessage message;
  Result<void> read = check_top(object);
  if (read) read = read_command(object, message.request);
  if (read) read = read_numbers(object, message);
  if (read) read = read_texts(object, message);
  if (read) read = read_data(object, message.request);
  if (read) read = read_device(object, message);
  if (!read) return tl::unexpected<Error>(read.error());
  return message;
}

std::string encode_device_message(const DeviceMessage& message) {
  std::string out;
  out.reserve(256);
  JsonWriter json(out);
  json.open_object();
  text_field(json, "commandType", name_of(message.request.command));
  json.count("priority", message.priority);
  text_field(json, "pluginId", message.plugin);
  if (message.network) json.count("networkId", *message.network);
  text_field(json, "correlationId", message.correlation);
  text_field(json, "phase", name_of(message.request.phase));
  if (!message.request.token.empty() || message.request.date || message.request.time) {
    json.name("requestData").open_object();
    text_field(json, "token", message.request.token);
    write_payload(json, message.request);
    json.close_object();
  }
  write_device(json, message);
  if (message.expires_at) json.field("expiresAt", to_rfc3339(*message.expires_at));
  text_field(json, "supersedeKey", message.supersede);
  json.close_object();
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
