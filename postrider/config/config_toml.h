// A TOML document as a flat list of what it says, each with its line. The only file that knows
// toml++; bounded in size, line length and depth, so any bytes may be given to it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "postrider/base/result.h"

namespace postrider {

inline constexpr std::size_t kTomlLineBytesMax = 8192;
inline constexpr std::size_t kTomlDepthMax = 8;

enum class TomlKind : std::uint8_t {
  kTable,   // stands for itself; what is in it follows as entries of their own
  kTables,  // a list of tables; the next part of the path is a number from 0
  kText,
  kNumber,
  kFlag,
  kTexts,
  kOther,  // a fraction, a date, a mixed list, something too deep: no setting takes it
};

struct TomlEntry {
  std::vector<std::string> path;
  TomlKind kind = TomlKind::kOther;
  std::uint32_t line = 0;
  std::string text;
  std::int64_t number = 0;
  bool flag = false;
  std::vector<std::string> texts;
};

// A syntax error; it never repeats a value.
struct TomlError {
  std::uint32_t line = 0;
  std::string what;
};
struct TomlDocument {
  std::vector<TomlEntry> entries;  // in the order of lines
  std::vector<TomlError> errors;   // not empty: entries is empty
};

TomlDocument read_toml(std::string_view text);

}  // namespace postrider
