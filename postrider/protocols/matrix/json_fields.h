// Looks into objects that others wrote: a member that is absent and one of another kind are told
// apart, because some absences are harmless. Pure; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "postrider/protocols/matrix/canonical_json.h"

namespace postrider::matrix {

// Nothing when `object` is none, or has no such member.
std::optional<JsonValue> member_of(JsonValue object, std::string_view name);
// Nothing when it is absent or of another kind.
std::optional<std::string> text_of(JsonValue object, std::string_view name);
std::optional<JsonValue> object_of(JsonValue object, std::string_view name);
std::optional<JsonValue> array_of(JsonValue object, std::string_view name);
// Nothing, too, when it is no integer of 64 bits.
std::optional<std::int64_t> integer_of(JsonValue object, std::string_view name);

inline bool is_object(JsonValue value) { return value.kind() == JsonKind::kObject; }

// Calls `each(element)` for the elements of an array; stops when it returns false.
template <class Each>
void for_elements(JsonValue array, Each&& each) {
  if (array.size() == 0) return;
  JsonValue element = array.first();
  for (std::size_t left = array.size(); left > 0; --left) {
    if (!each(element)) return;
    if (left > 1) element = element.next();
  }
}

}  // namespace postrider::matrix
