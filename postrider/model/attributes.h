// Attributes and settings: short lists of named texts. Attributes travel with a message (content
// type, custom headers, trace context); settings belong to a destination.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "postrider/base/result.h"

namespace postrider {

using NamedText = std::pair<std::string, std::string>;
using NamedTexts = std::vector<NamedText>;

std::string encode_texts(const NamedTexts& texts);
Result<NamedTexts> decode_texts(std::string_view bytes);

inline const std::string* find_text(const NamedTexts& texts, std::string_view name) {
  for (const NamedText& text : texts) {
    if (text.first == name) return &text.second;
  }
  return nullptr;
}

}  // namespace postrider
