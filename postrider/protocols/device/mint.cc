#include "postrider/protocols/device/mint.h"

#include <algorithm>
#include <array>
#include <span>

#include "postrider/base/nearest.h"
#include "postrider/protocols/calin/words.h"
#include "postrider/protocols/device/message.h"
#include "postrider/protocols/device/text.h"
#include "postrider/protocols/json_value.h"
#include "postrider/protocols/web/http_text.h"

namespace postrider::device {
namespace {

constexpr auto kTop = std::to_array<std::string_view>(
    {"type", "pluginId", "issueDateString", "device", "payload", "correlationId"});
constexpr auto kDevice = std::to_array<std::string_view>({"externalReference", "decoderKey"});
constexpr auto kPayload = std::to_array<std::string_view>({"kwh", "powerLimit"});

tl::unexpected<Error> wrong_mint(std::string_view field, std::string_view what) {
  return fail(ErrorCode::kInvalid, std::string(field).append(": ").append(what));
}

Result<void> check_names(const json::Tree& object, std::span<const std::string_view> known) {
  for (const std::string& name : object.names) {
    if (std::find(known.begin(), known.end(), name) == known.end())
      return fail(ErrorCode::kInvalid, "unknown field '" + name + "'" + did_you_mean(name, known));
  }
  return {};
}

Result<std::string> needed(const json::Tree& object, std::string_view name, std::size_t most) {
  POSTRIDER_TRY(text, json::text_of(object, name));
  if (text.empty()) return wrong_mint(name, "is missing");
  if (text.size() > most) return wrong_mint(name, "is too long");
  return text;
}

Result<std::optional<Decimal>> amount_of(const json::Tree& object, std::string_view name) {
  const json::Tree* value = json::find(object, name);
  if (value == nullptr) return std::optional<Decimal>();
  const auto text = value->is_number() ? json::word_of(*value) : std::nullopt;
  const auto number = text ? parse_decimal(*text) : std::nullopt;
  if (!number || number->units <= 0) return wrong_mint(name, "must be a number above 0");
  return number;
}

Result<void> read_amounts(const json::Tree& object, Mint& mint) {
  POSTRIDER_TRY(payload, json::object_of(object, "payload"));
  if (payload != nullptr) {
    if (auto known = check_names(*payload, kPayload); !known) return known;
    POSTRIDER_TRY(kwh, amount_of(*payload, "kwh"));
    POSTRIDER_TRY(limit, amount_of(*payload, "powerLimit"));
    mint.kwh = kwh;
    mint.power_limit = limit;
  }
  if (mint.kwh.has_value() != (mint.type == Command::kTopUpKwh))
    return wrong_mint("payload.kwh", "is what TOP_UP_KWH needs, and nothing else has");
  if (mint.power_limit.has_value() != (mint.type == Command::kSetPowerLimit))
    return wrong_mint("payload.powerLimit", "is what SET_POWER_LIMIT needs, and nothing else has");
  return {};
}

Result<void> read_mint_device(const json::Tree& object, Mint& mint) {
  POSTRIDER_TRY(device, json::object_of(object, "device"));
  if (device == nullptr) return wrong_mint("device", "is missing");
  if (auto known = check_names(*device, kDevice); !known) return known;
  POSTRIDER_TRY(meter, needed(*device, "externalReference", kIdBytesMax));
  POSTRIDER_TRY(key, json::text_of(*device, "decoderKey"));
  const auto is_hex = [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
  };
  if (!key.empty() &&
      (key.size() != kDecoderKeyDigits || !std::all_of(key.begin(), key.end(), is_hex)))
    return wrong_mint("device.decoderKey", "must be 16 hexadecimal digits");
  mint.meter = meter;
  mint.decoder_key = key;
  return {};
}

std::string_view maintenance_of(Command type) {
  if (type == Command::kSetPowerLimit) return "SetMaxPower";
  return type == Command::kClearTamper ? "ClearTamper" : "ClearCredit";
}

std::string_view generator_of(Command type) {
  if (type == Command::kTopUpKwh) return "CreditToken";
  if (type == Command::kSetPowerLimit) return "SetMaximumPowerLimitToken";
  return type == Command::kClearTamper ? "ClearTamperToken" : "ClearCreditToken";
}

// A token is digits, perhaps in groups.
SendReply token_reply(std::string_view text) {
  std::string token;
  for (const char c : text) {
    if (c == ' ' || c == '-') continue;
    if (c < '0' || c > '9') return calin::send_reply(SendVerdict::kUnknown, "no token in it");
    token.push_back(c);
  }
  if (token.empty() || token.size() > kTokenDigitsMax)
    return calin::send_reply(SendVerdict::kUnknown, "no token in it");
  return {.verdict = SendVerdict::kAccepted, .item = std::move(token), .reason = ""};
}

// An answer that could be read and gives no token: nothing was made.
SendReply refused(const json::Tree& object, std::string_view fallback) {
  return calin::send_reply(SendVerdict::kFailed, calin::reason_of(object, "reason", fallback));
}

}  // namespace

Result<Mint> parse_mint(std::string_view json) {
  if (json.size() > kMessageBytesMax) return fail(ErrorCode::kLimit, "the body is over 64 KiB");
  POSTRIDER_TRY(object, json::parse_object(json));
  if (auto known = check_names(object, kTop); !known) return tl::unexpected<Error>(known.error());
  Mint mint;
  POSTRIDER_TRY(type, needed(object, "type", kIdBytesMax));
  const auto command = parse_command(type);
  if (!command || !is_token(*command) || *command == Command::kDeliverPreexistingToken)
    return wrong_mint("type", "must be TOP_UP_KWH, CLEAR_CREDIT, CLEAR_TAMPER or SET_POWER_LIMIT");
  mint.type = *command;
  POSTRIDER_TRY(plugin, needed(object, "pluginId", kPluginBytesMax));
  if (!is_plugin_name(plugin)) return wrong_mint("pluginId", "is no name of a plugin");
  mint.plugin = plugin;
  POSTRIDER_TRY(issued, needed(object, "issueDateString", kIdBytesMax));
  const auto time = parse_rfc3339(issued);
  if (!time || !time->is_set())
    return wrong_mint("issueDateString", "must be a time like 2026-08-12T14:30:00Z");
  mint.issued = *time;
  if (json::find(object, "correlationId") != nullptr) {
    POSTRIDER_TRY(correlation, needed(object, "correlationId", kIdBytesMax));
    mint.correlation = correlation;
  }
  Result<void> read = read_mint_device(object, mint);
  if (read) read = read_amounts(object, mint);
  if (!read) return tl::unexpected<Error>(read.error());
  return mint;
}

std::string encode_mint(const Mint& mint) {
  JsonText out;
  out.begin_object();
  out.text("type", name_of(mint.type));
  out.text("pluginId", mint.plugin);
  out.text("issueDateString", to_rfc3339(mint.issued));
  out.begin_object("device");
  out.text("externalReference", mint.meter);
  if (!mint.decoder_key.empty()) out.text("decoderKey", mint.decoder_key);
  out.end_object();
  if (!mint.correlation.empty()) out.text("correlationId", mint.correlation);
  if (mint.kwh || mint.power_limit) {
    out.begin_object("payload");
    if (mint.kwh) out.raw("kwh", to_text(*mint.kwh));
    if (mint.power_limit) out.raw("powerLimit", to_text(*mint.power_limit));
    out.end_object();
  }
  out.end_object();
  return out.take();
}

calin::Call mint_call_v1(const VendorV1& vendor, const Mint& mint) {
  const bool credit = mint.type == Command::kTopUpKwh;
  JsonText out;
  out.begin_object();
  out.text("company_name", vendor.credentials.company);
  out.text("user_name", vendor.credentials.user);
  out.text("password", vendor.credentials.password);
  out.text("password_vend", vendor.vend_password);
  if (credit) out.raw("is_vend_by_unit", "true");
  out.text("meter_number", mint.meter);
  if (credit && mint.kwh) out.raw("amount", to_text(*mint.kwh));
  if (mint.power_limit) out.raw("max_power", to_text(*mint.power_limit));
  out.end_object();
  return {.path = credit ? std::string("/POS_Purchase")
                         : std::string("/Maintenance_").append(maintenance_of(mint.type)),
          .body = out.take()};
}

calin::Call mint_call_v2(const VendorV2& vendor, const Mint& mint) {
  JsonText out;
  out.begin_object();
  out.text("meterId", mint.meter);
  if (mint.kwh) out.raw("amount", to_text(*mint.kwh));
  if (mint.power_limit) out.raw("amount", to_text(*mint.power_limit));
  out.text("company", vendor.credentials.company);
  out.text("authorizationPassword", vendor.vend_password);
  out.raw("isPreview", "false");
  if (mint.type == Command::kTopUpKwh) out.raw("isVendByTotalPaid", "false");
  out.text("serialNumber", vendor.serial);
  out.end_object();
  return {.path = std::string("/API/Token/").append(generator_of(mint.type)).append("/Generate"),
          .body = out.take()};
}

Result<calin::Call> mint_call_sts(const Mint& mint, int random_number) {
  if (mint.decoder_key.empty())
    return wrong_mint("device.decoderKey",
                      "is missing: without a vendor the token is made from it");
  JsonText out;
  out.begin_object();
  out.text("decoderKey", mint.decoder_key);
  out.raw("randomNumber", std::to_string(random_number));
  out.text("issueDate", to_rfc3339(mint.issued));
  out.text("type", name_of(mint.type));
  if (mint.kwh) out.raw("kwh", to_text(*mint.kwh));
  if (mint.power_limit) out.raw("powerLimit", to_text(*mint.power_limit));
  out.end_object();
  return calin::Call{.path = "/token", .body = out.take()};
}

SendReply read_mint_v1(const calin::HttpAnswer& answer) {
  if (auto judged = calin::judge_status(answer)) return std::move(*judged);
  const auto object = calin::read_object(answer);
  if (!object) return calin::send_reply(SendVerdict::kUnknown, object.error().detail);
  const json::Tree* code = json::find(*object, "result_code");
  const auto number = code == nullptr ? std::nullopt : json::integer_of(*code);
  if (!number) return calin::send_reply(SendVerdict::kUnknown, "no result code in it");
  if (*number != 0) return refused(*object, "the vendor made no token");
  const json::Tree* result = json::find(*object, "result");
  if (result != nullptr && result->is_object()) {
    const auto token = json::text_of(*result, "token");
    return token_reply(token ? *token : std::string());
  }
  const auto token = result == nullptr ? std::nullopt : json::word_of(*result);
  return token_reply(token ? *token : std::string());
}

SendReply read_mint_v2(const calin::HttpAnswer& answer) {
  if (auto judged = calin::judge_status(answer)) return std::move(*judged);
  const auto object = calin::read_object(answer);
  if (!object) return calin::send_reply(SendVerdict::kUnknown, object.error().detail);
  const json::Tree* code = json::find(*object, "code");
  const auto number = code == nullptr ? std::nullopt : json::integer_of(*code);
  if (!number) return calin::send_reply(SendVerdict::kUnknown, "no code in it");
  if (*number != 0) return refused(*object, "the vendor made no token");
  const auto result = json::object_of(*object, "result");
  if (!result || *result == nullptr)
    return calin::send_reply(SendVerdict::kUnknown, "no token in it");
  const auto token = json::text_of(**result, "token");
  return token_reply(token ? *token : std::string());
}

SendReply read_mint_sts(const calin::HttpAnswer& answer) {
  if (auto judged = calin::judge_status(answer)) return std::move(*judged);
  const auto object = calin::read_object(answer);
  if (!object) return calin::send_reply(SendVerdict::kUnknown, object.error().detail);
  const auto token = json::text_of(*object, "token");
  return token_reply(token ? *token : std::string());
}

}  // namespace postrider::device
