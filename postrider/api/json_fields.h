// Reading an object strictly: every field is known, has the right kind, and nothing else is there.
// What is wrong is a Problem that names the field.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "postrider/api/json_names.h"
#include "postrider/api/problems.h"
#include "postrider/base/time.h"
#include "postrider/model/attributes.h"

namespace postrider::api {

using MaybeValue = std::optional<JsonValue>;

// Values by the index of their name in `names`; `found` is as long as `names`.
std::optional<Problem> read_members(const JsonValue& object,
                                    std::span<const std::string_view> names,
                                    std::span<MaybeValue> found);

Checked<JsonValue> read_root(JsonDocument& document, std::string_view text,
                             const JsonLimits& limits);  // an object

Checked<std::string> read_text(const JsonValue& value, std::string_view field);
Checked<std::uint32_t> read_number(const JsonValue& value, std::string_view field,
                                   std::uint32_t high);
Checked<Duration> read_duration(const JsonValue& value, std::string_view field, Duration low);
Checked<Timestamp> read_time(const JsonValue& value, std::string_view field);

}  // namespace postrider::api
