// JSON as the commands need it: what the daemon said as a plain tree, and texts quoted for what we
// say. Boost.JSON stays in json.cc.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "postrider/base/result.h"

namespace postrider {

struct Json {
  enum class Kind : std::uint8_t { kNull, kFlag, kNumber, kText, kList, kObject };

  Kind kind = Kind::kNull;
  std::string text;                // of a text; of a number, its digits; of a flag, true or false
  std::vector<Json> items;         // of a list or an object
  std::vector<std::string> names;  // of an object's items

  const Json* find(std::string_view name) const;
  // The member as a text; empty when there is none, or when it is no text, number or flag.
  std::string at(std::string_view name) const;
  const std::vector<Json>& list(std::string_view name) const;
};

Result<Json> parse_json(std::string_view text);  // at most 32 levels deep

// The text of an object with one more member.
std::string with_member(std::string_view object, std::string_view name, std::string_view value);

// Appends a JSON string; `text` must be UTF-8.
std::string json_text(std::string_view text);
bool is_utf8_text(std::string_view text);

}  // namespace postrider
