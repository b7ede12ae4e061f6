// Tree: a JSON text that outlives its bytes, for readers that look at a few members of it. Texts
// are unescaped, numbers stay as they were written. A reader that copies bodies byte for byte uses
// JsonDocument itself.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "postrider/base/result.h"
#include "postrider/json/json_reader.h"

namespace postrider::json {

struct Tree {
  enum class Kind : std::uint8_t { kNull, kFlag, kNumber, kText, kList, kObject };

  Kind kind = Kind::kNull;
  std::string text;                // of a text; of a number, its digits; of a flag, true or false
  std::vector<Tree> items;         // of a list or an object
  std::vector<std::string> names;  // of an object's items

  bool is_text() const { return kind == Kind::kText; }
  bool is_number() const { return kind == Kind::kNumber; }
  bool is_list() const { return kind == Kind::kList; }
  bool is_object() const { return kind == Kind::kObject; }

  // Of several of one name the last; null when there is none.
  const Tree* find(std::string_view name) const;
  // The member as a text; empty when there is none, or when it is no text, number or flag.
  std::string at(std::string_view name) const;
  const std::vector<Tree>& list(std::string_view name) const;
};

// As JsonDocument::parse. The depth is bounded by the limits, so building the tree is, too.
Result<Tree> parse_tree(std::string_view text, const JsonLimits& limits);

// A JSON string. Bytes that are no UTF-8 are replaced, as the writer does.
std::string quoted(std::string_view text);

}  // namespace postrider::json
