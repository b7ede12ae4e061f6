#include "postrider/protocols/matrix/json_fields.h"

#include <charconv>

namespace postrider::matrix {

std::optional<JsonValue> member_of(JsonValue object, std::string_view name) {
  if (!is_object(object)) return std::nullopt;
  std::optional<JsonValue> found;
  object.for_members([&](JsonValue member_name, JsonValue value) {
    if (!member_name.text_is(name)) return true;
    found = value;
    return false;
  });
  return found;
}

std::optional<std::string> text_of(JsonValue object, std::string_view name) {
  const std::optional<JsonValue> value = member_of(object, name);
  if (!value || !value->is_string()) return std::nullopt;
  return value->text();
}

std::optional<JsonValue> object_of(JsonValue object, std::string_view name) {
  const std::optional<JsonValue> value = member_of(object, name);
  if (!value || !is_object(*value)) return std::nullopt;
  return value;
}

std::optional<JsonValue> array_of(JsonValue object, std::string_view name) {
  const std::optional<JsonValue> value = member_of(object, name);
  if (!value || value->kind() != JsonKind::kArray) return std::nullopt;
  return value;
}

std::optional<std::int64_t> integer_of(JsonValue object, std::string_view name) {
  const std::optional<JsonValue> value = member_of(object, name);
  if (!value || value->kind() != JsonKind::kNumber) return std::nullopt;
  const std::string_view raw = value->raw();
  std::int64_t number = 0;
  const auto read = std::from_chars(raw.data(), raw.data() + raw.size(), number);
  if (read.ec != std::errc() || read.ptr != raw.data() + raw.size()) return std::nullopt;
  return number;
}

}  // namespace postrider::matrix
