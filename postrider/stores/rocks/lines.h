// Reading of the small text files beside the database: lines of a word, a space and the rest.
#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>
#include <system_error>

namespace postrider::rocks {

inline std::optional<std::uint64_t> number_of(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || text.empty()) return std::nullopt;
  return value;
}

// Takes the next line, which must begin with `word` and a space, and returns the rest of it.
inline std::optional<std::string_view> take_line(std::string_view& text, std::string_view word) {
  const std::size_t end = text.find('\n');
  if (end == std::string_view::npos) return std::nullopt;
  const std::string_view line = text.substr(0, end);
  if (line.size() <= word.size() || !line.starts_with(word) || line[word.size()] != ' ')
    return std::nullopt;
  text.remove_prefix(end + 1);
  return line.substr(word.size() + 1);
}

}  // namespace postrider::rocks
