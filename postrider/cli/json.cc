#include "postrider/cli/json.h"

#include <array>
#include <charconv>

#include <boost/json.hpp>

namespace postrider {
namespace {

constexpr std::size_t kDepthMax = 32;  // the parser keeps it, so the recursion below is bounded

// As people write it: 564.59, not 5.6459E2.
std::string plain_text(double number) {
  std::array<char, 32> digits;
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number);
  return {digits.data(), end.ptr};
}

Json copy_of(const boost::json::value& value) {
  Json out;
  switch (value.kind()) {
    case boost::json::kind::null: break;
    case boost::json::kind::bool_:
      out.kind = Json::Kind::kFlag;
      out.text = value.get_bool() ? "true" : "false";
      break;
    case boost::json::kind::int64:
    case boost::json::kind::uint64:
      out.kind = Json::Kind::kNumber;
      out.text = boost::json::serialize(value);
      break;
    case boost::json::kind::double_:
      out.kind = Json::Kind::kNumber;
      out.text = plain_text(value.get_double());
      break;
    case boost::json::kind::string:
      out.kind = Json::Kind::kText;
      out.text = std::string(value.get_string());
      break;
    case boost::json::kind::array:
      out.kind = Json::Kind::kList;
      for (const boost::json::value& item : value.get_array()) out.items.push_back(copy_of(item));
      break;
    case boost::json::kind::object:
      out.kind = Json::Kind::kObject;
      for (const auto& member : value.get_object()) {
        out.names.emplace_back(member.key());
        out.items.push_back(copy_of(member.value()));
      }
      break;
  }
  return out;
}

}  // namespace

const Json* Json::find(std::string_view name) const {
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i] == name) return &items[i];
  }
  return nullptr;
}

std::string Json::at(std::string_view name) const {
  const Json* value = find(name);
  return value == nullptr ? std::string() : value->text;
}

const std::vector<Json>& Json::list(std::string_view name) const {
  static const std::vector<Json> kNone;
  const Json* value = find(name);
  return value == nullptr ? kNone : value->items;
}

Result<Json> parse_json(std::string_view text) {
  boost::json::parse_options options;
  options.max_depth = kDepthMax;
  boost::system::error_code error;
  const boost::json::value value =
      boost::json::parse({text.data(), text.size()}, error, {}, options);
  if (error) return fail(ErrorCode::kInvalid, "this is no JSON: " + error.message());
  return copy_of(value);
}

std::string with_member(std::string_view object, std::string_view name, std::string_view value) {
  const std::string_view before = object.substr(0, object.rfind('}'));
  std::string out(before);
  out.append(before.ends_with('{') ? "" : ",").append(json_text(name)).append(":");
  return out.append(json_text(value)).append("}");
}

std::string json_text(std::string_view text) {
  return boost::json::serialize(boost::json::string_view(text.data(), text.size()));
}

bool is_utf8_text(std::string_view text) {
  // A text of bytes that are not UTF-8 does not survive its own reading.
  boost::system::error_code error;
  static_cast<void>(boost::json::parse(json_text(text), error));
  return !error;
}

}  // namespace postrider
