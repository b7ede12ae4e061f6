// JSON as the commands need it: what the daemon said as a plain tree, and texts quoted for what we
// say.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "postrider/base/result.h"
#include "postrider/json/json_tree.h"

namespace postrider {

using Json = json::Tree;

Result<Json> parse_json(std::string_view text);  // at most 32 levels deep

// The text of an object with one more member.
std::string with_member(std::string_view object, std::string_view name, std::string_view value);

// Appends a JSON string; `text` must be UTF-8.
std::string json_text(std::string_view text);
bool is_utf8_text(std::string_view text);

}  // namespace postrider
