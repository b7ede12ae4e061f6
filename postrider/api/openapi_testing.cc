#include "postrider/api/openapi_testing.h"

#include <algorithm>
#include <regex>

#include <boost/json.hpp>

#include "postrider/api/openapi.h"
#include "postrider/api/texts.h"
#include "postrider/base/check.h"
#include "postrider/protocols/web/http_text.h"

namespace postrider::api {
namespace {

namespace json = boost::json;

std::string_view view(const json::string& text) { return {text.data(), text.size()}; }

bool has_type(std::string_view type, const json::value& value) {
  if (type == "object") return value.is_object();
  if (type == "array") return value.is_array();
  if (type == "string") return value.is_string();
  if (type == "boolean") return value.is_bool();
  if (type == "integer") return value.is_int64() || value.is_uint64();
  if (type == "number") return value.is_number();
  POSTRIDER_CHECK(false);
  return false;
}

std::int64_t number_of(const json::value& value) {
  return value.is_uint64() ? static_cast<std::int64_t>(value.as_uint64()) : value.as_int64();
}

}  // namespace

OpenapiChecker::OpenapiChecker(std::span<const OpenapiPart> doors)
    : document_(json::parse(openapi_document("test", doors))) {}

const json::value& OpenapiChecker::resolve(const json::value& node) const {
  const auto* object = node.if_object();
  const json::value* ref = object == nullptr ? nullptr : object->if_contains("$ref");
  if (ref == nullptr) return node;
  std::string pointer(view(ref->as_string()));
  POSTRIDER_CHECK(pointer.starts_with("#/"));
  return resolve(document_.at_pointer(pointer.substr(1)));
}

std::string OpenapiChecker::validate_object(const json::object& schema, const json::object& value,
                                            const std::string& where) const {
  const auto* properties = schema.if_contains("properties");
  const auto* extra = schema.if_contains("additionalProperties");
  for (const auto& member : value) {
    const std::string inside = where + "." + std::string(member.key());
    const json::value* known =
        properties == nullptr ? nullptr : properties->as_object().if_contains(member.key());
    const json::value* rule = known != nullptr ? known : extra;
    if (rule == nullptr) continue;
    if (rule->is_bool()) {
      if (!rule->as_bool()) return inside + ": not described";
      continue;
    }
    if (std::string wrong = validate(*rule, member.value(), inside); !wrong.empty()) return wrong;
  }
  return {};
}

std::string OpenapiChecker::validate_keyword(std::string_view keyword, const json::value& operand,
                                             const json::object& schema, const json::value& value,
                                             const std::string& where) const {
  if (keyword == "type" && !has_type(view(operand.as_string()), value))
    return where + ": is no " + std::string(view(operand.as_string()));
  if (keyword == "properties" || (keyword == "additionalProperties" && value.is_object() &&
                                  schema.if_contains("properties") == nullptr)) {
    return value.is_object() ? validate_object(schema, value.as_object(), where) : "";
  }
  if (keyword == "required") {
    for (const json::value& name : operand.as_array()) {
      if (value.is_object() && !value.as_object().contains(name.as_string()))
        return where + ": lacks " + std::string(view(name.as_string()));
    }
  }
  if (keyword == "items" && value.is_array()) {
    for (const json::value& item : value.as_array()) {
      if (std::string wrong = validate(operand, item, where + "[]"); !wrong.empty()) return wrong;
    }
  }
  if (keyword == "enum") {
    const auto& words = operand.as_array();
    if (std::find(words.begin(), words.end(), value) == words.end())
      return where + ": " + json::serialize(value) + " is none of " + json::serialize(operand);
  }
  if (keyword == "const" && value != operand)
    return where + ": " + json::serialize(value) + " is not " + json::serialize(operand);
  if (keyword == "pattern" && value.is_string()) {
    const std::regex pattern{std::string(view(operand.as_string()))};
    if (!std::regex_search(std::string(view(value.as_string())), pattern))
      return where + ": " + json::serialize(value) + " does not match";
  }
  if (keyword == "minimum" && value.is_number() && number_of(value) < number_of(operand))
    return where + ": too small";
  if (keyword == "maximum" && value.is_number() && number_of(value) > number_of(operand))
    return where + ": too large";
  if (keyword == "oneOf") {
    std::size_t good = 0;
    for (const json::value& one : operand.as_array()) good += validate(one, value, where).empty();
    if (good != 1) return where + ": matches " + std::to_string(good) + " of oneOf";
  }
  constexpr auto kKnown = std::to_array<std::string_view>(
      {"type", "properties", "additionalProperties", "required", "items", "enum", "const",
       "pattern", "minimum", "maximum", "oneOf", "description", "format", "default",
       "minProperties", "maxItems"});
  if (std::find(kKnown.begin(), kKnown.end(), keyword) == kKnown.end())
    return where + ": the checker does not know " + std::string(keyword);
  return {};
}

std::string OpenapiChecker::validate(const json::value& schema, const json::value& value,
                                     const std::string& where) const {
  const json::object& rules = resolve(schema).as_object();
  for (const auto& rule : rules) {
    const std::string_view keyword(rule.key().data(), rule.key().size());
    std::string wrong = validate_keyword(keyword, rule.value(), rules, value, where);
    if (!wrong.empty()) return wrong;
  }
  return {};
}

std::string OpenapiChecker::check_schema(std::string_view name, std::string_view text) const {
  boost::system::error_code bad;
  const json::value value = json::parse(text, bad);
  if (bad) return "not JSON: " + std::string(text);
  return validate(document_.at_pointer("/components/schemas/" + std::string(name)), value,
                  std::string(name));
}

std::string OpenapiChecker::check_text(const json::value& schema, std::string_view text) const {
  boost::system::error_code bad;
  const json::value value = json::parse(text, bad);
  if (bad) return "not JSON: " + std::string(text);
  return validate(schema, value, "body");
}

std::string OpenapiChecker::check(std::string_view method, std::string_view pattern, int status,
                                  std::string_view content_type, std::string_view body) const {
  const auto* path = document_.at("paths").as_object().if_contains(pattern);
  if (path == nullptr) return "the path is not described";
  const auto* operation = path->as_object().if_contains(to_lower(method));
  if (operation == nullptr) return "the method is not described";
  const json::object& responses = operation->at("responses").as_object();
  const json::value* response = responses.if_contains(std::to_string(status));
  if (response == nullptr) response = responses.if_contains(std::to_string(status / 100) + "XX");
  if (response == nullptr && status >= 400) response = responses.if_contains("default");
  if (response == nullptr) return "status " + std::to_string(status) + " is not described";
  const auto* described = resolve(*response).as_object().if_contains("content");
  if (described == nullptr) return body.empty() ? "" : "a body is not described";
  const json::object& content = described->as_object();
  for (const auto& form : content) {
    if (form.key() == "*/*") return {};
    if (!is_media_type(content_type, {form.key().data(), form.key().size()})) continue;
    if (form.key() == "text/plain") return {};
    const json::value& schema = form.value().at("schema");
    if (form.key() != "application/x-ndjson") return check_text(schema, body);
    for (std::string_view rest = body; !rest.empty();) {
      const std::string_view line = rest.substr(0, rest.find('\n'));
      rest.remove_prefix(std::min(line.size() + 1, rest.size()));
      std::string wrong = check_text(schema, line);
      if (!wrong.empty()) return wrong;
    }
    return {};
  }
  return "the content type is not described: " + std::string(content_type);
}

}  // namespace postrider::api
