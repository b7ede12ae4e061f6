#include "postrider/protocols/lxmf/text_form.h"

#include <charconv>
#include <span>
#include <vector>

#include "postrider/base/check.h"
#include "postrider/json/json_reader.h"
#include "postrider/json/json_writer.h"
#include "postrider/protocols/reticulum/msgpack.h"
#include "postrider/protocols/web/base64.h"

namespace postrider::lxmf {
namespace {

constexpr std::string_view kDigits = "0123456789abcdef";

std::string base64_of(std::string_view bytes) {
  return base64_encode({reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()});
}

void write_bytes(json::JsonWriter& json, std::string_view name, std::string_view bytes) {
  if (json::is_utf8(bytes)) {
    json.field(name, bytes);
  } else {
    json.field(std::string(name) + "_base64", base64_of(bytes));
  }
}

// Fields whose key is no number are left out: the protocol has none.
void write_fields(json::JsonWriter& json, std::string_view fields) {
  json.name("fields").open_object();
  reticulum::MsgpackReader reader(fields);
  for (std::uint32_t left = reader.map(); left > 0 && reader.ok(); --left) {
    const bool numbered = reader.peek() == reticulum::MsgpackKind::kWhole;
    const std::uint64_t number = numbered ? reader.whole() : 0;
    if (!numbered) reader.raw();
    const std::string_view value = reader.raw();
    if (reader.ok() && numbered) json.text_name(std::to_string(number)).text(base64_of(value));
  }
  json.close_object();
}

}  // namespace

std::string hex_of(std::string_view bytes) {
  std::string out;
  out.reserve(bytes.size() * 2);
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    out.push_back(kDigits[byte >> 4U]);
    out.push_back(kDigits[byte & 15U]);
  }
  return out;
}

std::string bytes_of(std::string_view digits) {
  std::string out;
  for (std::size_t i = 0; i + 1 < digits.size(); i += 2) {
    std::uint8_t byte = 0;
    const auto read = std::from_chars(digits.data() + i, digits.data() + i + 2, byte, 16);
    if (read.ec != std::errc() || read.ptr != digits.data() + i + 2) return {};
    out.push_back(static_cast<char>(byte));
  }
  return digits.size() % 2 == 0 ? out : std::string();
}

std::optional<Address> address_of(std::string_view digits) {
  if (digits.size() != 32) return std::nullopt;
  Address out{};
  for (std::size_t i = 0; i < out.size(); ++i) {
    const char* at = digits.data() + 2 * i;
    const auto read = std::from_chars(at, at + 2, out[i], 16);
    if (read.ec != std::errc() || read.ptr != at + 2) return std::nullopt;
  }
  return out;
}

std::string message_as_json(const ReceivedMessage& received, Carriage carriage,
                            SignatureVerdict verdict, const StampReading& stamp) {
  std::string out;
  json::JsonWriter json(out);
  json.open_object();
  json.field("id", hex_of(reticulum::view(received.id)));
  json.field("from", hex_of(reticulum::view(received.message.source)));
  json.field("to", hex_of(reticulum::view(received.message.destination)));
  // A peer may send any number; one that is none of JSON is left out.
  const double time = received.message.time;
  if (time > 0 && time < 1e12) json.name("time").decimal(time);
  write_bytes(json, "title", received.message.title);
  write_bytes(json, "content", received.message.content);
  write_fields(json, received.message.fields);
  json.field("method", name_of(carriage));
  json.field("signature", name_of(verdict));
  if (stamp.verdict != StampVerdict::kNotAsked) {
    json.field("stamp", name_of(stamp.verdict));
    json.name("stamp_value").number(std::uint64_t{stamp.value});
  }
  json.close_object();
  return out;
}

Result<std::string> fields_of_json(std::string_view json) {
  std::string out;
  if (json.empty()) {
    reticulum::MsgpackWriter(out).map(0);
    return out;
  }
  json::JsonDocument document;
  const json::JsonLimits limits{.depth_max = 2, .values_max = 1024};
  if (!document.parse(json, limits) || document.root().kind() != json::JsonKind::kObject)
    return fail(ErrorCode::kInvalid, "'fields' must be an object of numbers and base64");
  const json::JsonValue root = document.root();
  reticulum::MsgpackWriter writer(out);
  writer.map(static_cast<std::uint32_t>(root.size()));
  std::string wrong;
  root.for_members([&](const json::JsonValue& name, const json::JsonValue& value) {
    const std::string number = name.text();
    std::uint64_t key = 0;
    const auto read = std::from_chars(number.data(), number.data() + number.size(), key);
    const auto bytes =
        value.is_string() ? base64_decode(value.text()) : std::optional<std::string>();
    reticulum::MsgpackReader reader(bytes ? std::string_view(*bytes) : std::string_view());
    const std::string_view packed = reader.raw();
    const bool good = read.ec == std::errc() && read.ptr == number.data() + number.size() &&
                      key < 256 && bytes && reader.at_end();
    if (!good) wrong = number;
    if (good) writer.whole(key).raw(packed);
    return good;
  });
  if (!wrong.empty() || (root.size() > 0 && out.size() == 1))
    return fail(ErrorCode::kInvalid,
                "field '" + wrong + "' must be a number below 256 with base64 of msgpack");
  return out;
}

std::string_view name_of(Carriage carriage) {
  switch (carriage) {
    case Carriage::kOpportunistic: return "OPPORTUNISTIC";
    case Carriage::kDirect: return "DIRECT";
    case Carriage::kPropagated: return "PROPAGATED";
    case Carriage::kPaper: return "PAPER";
  }
  POSTRIDER_CHECK(false);
}

std::string_view name_of(SignatureVerdict verdict) {
  switch (verdict) {
    case SignatureVerdict::kVerified: return "verified";
    case SignatureVerdict::kUnknownSource: return "source unknown";
    case SignatureVerdict::kInvalid: return "invalid";
  }
  POSTRIDER_CHECK(false);
}

std::string_view name_of(StampVerdict verdict) {
  switch (verdict) {
    case StampVerdict::kNotAsked: return "not asked for";
    case StampVerdict::kByTicket: return "ticket";
    case StampVerdict::kByWork: return "valid";
    case StampVerdict::kMissing: return "missing";
    case StampVerdict::kTooWeak: return "too weak";
  }
  POSTRIDER_CHECK(false);
}

}  // namespace postrider::lxmf
