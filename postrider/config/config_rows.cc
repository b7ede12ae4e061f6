#include "postrider/config/config_rows.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <type_traits>

#include "postrider/base/check.h"
#include "postrider/base/durations.h"
#include "postrider/base/nearest.h"

namespace postrider {
namespace {

struct Unit {
  std::string_view name;
  std::uint64_t bytes;
};
// Largest first: formatting takes the first that divides.
constexpr auto kUnits = std::to_array<Unit>(
    {{"TiB", 1ULL << 40}, {"GiB", 1ULL << 30}, {"MiB", 1ULL << 20}, {"KiB", 1ULL << 10}, {"", 1}});

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      std::array<char, 8> escape{};
      std::snprintf(escape.data(), escape.size(), "\\u%04x", static_cast<unsigned>(c));
      out += escape.data();
      continue;
    }
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + '"';
}

tl::unexpected<Error> not_this(const ConfigRow& row) {
  return fail(ErrorCode::kInvalid, "must be " + may_be(row));
}

std::string scale(const ConfigRow& row, std::int64_t value) {
  if (row.kind == ConfigKind::kDuration) return to_string(Duration(value));
  if (row.kind == ConfigKind::kBytes) return bytes_text(static_cast<std::uint64_t>(value));
  return std::to_string(value);
}

template <class T>
constexpr bool kIsNumber = std::is_same_v<T, std::uint16_t> || std::is_same_v<T, std::uint32_t> ||
                           std::is_same_v<T, std::uint64_t>;

// Bounds are checked before: the value fits.
void store_number(const ConfigRow& row, std::int64_t number, Config& config) {
  std::visit(
      [&](auto field) {
        using T = std::remove_cvref_t<decltype(field(config))>;
        if constexpr (std::is_same_v<T, Duration>) {
          field(config) = Duration(number);
        } else if constexpr (kIsNumber<T>) {
          field(config) = static_cast<T>(number);
        } else {
          POSTRIDER_CHECK(false);  // the row's kind and its field disagree
        }
      },
      row.field);
}

Result<void> set_text(const ConfigRow& row, std::string_view text, Config& config) {
  const auto size = static_cast<std::int64_t>(text.size());
  const bool is_word = row.kind == ConfigKind::kWord;
  if (is_word && std::find(row.words.begin(), row.words.end(), text) == row.words.end()) {
    return fail(ErrorCode::kInvalid, "must be " + may_be(row) + did_you_mean(text, row.words));
  }
  if (!is_word && (size < row.bounds.low || size > row.bounds.high)) return not_this(row);
  if (text.find('\0') != std::string_view::npos) return not_this(row);
  std::get<std::string& (*)(Config&)>(row.field)(config) = text;
  return {};
}

std::vector<std::string> split(std::string_view text) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const std::size_t comma = std::min(text.find(','), text.size());
    std::string_view part = text.substr(0, comma);
    while (part.starts_with(' ')) part.remove_prefix(1);
    while (part.ends_with(' ')) part.remove_suffix(1);
    if (!part.empty()) parts.emplace_back(part);
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return parts;
}

}  // namespace

const ConfigRow* find_config_row(std::span<const ConfigRow> rows, std::string_view section,
                                 std::string_view key) {
  for (const ConfigRow& row : rows) {
    if (row.section == section && row.key == key) return &row;
  }
  return nullptr;
}

std::string setting_name(const ConfigRow& row) {
  return std::string(row.section) + "." + std::string(row.key);
}

std::string variable_name(const ConfigRow& row) {
  std::string name = "POSTRIDER_" + std::string(row.section) + "_" + std::string(row.key);
  for (char& c : name) {
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  }
  return name;
}

std::string may_be(const ConfigRow& row) {
  const auto between = [&](std::string what) {
    what += " from " + scale(row, row.bounds.low) + " to " + scale(row, row.bounds.high);
    return row.bounds.or_zero ? what + ", or 0" : what;
  };
  switch (row.kind) {
    case ConfigKind::kText:
      return std::string(row.bounds.low > 0 ? "a text of 1 to " : "a text of at most ") +
             std::to_string(row.bounds.high) + " bytes";
    case ConfigKind::kWord: {
      std::string words = "one of";
      for (const std::string_view word : row.words) {
        words.append(word == row.words.front() ? " " : ", ").append(word);
      }
      return words;
    }
    case ConfigKind::kTexts:
      return "a list of at most " + std::to_string(row.bounds.high) + " texts";
    case ConfigKind::kNumber: return between("a whole number");
    case ConfigKind::kBytes: return between("a number of bytes");
    case ConfigKind::kDuration: return between("a duration");
    case ConfigKind::kFlag: return "true or false";
  }
  POSTRIDER_CHECK(false);
  return {};
}

std::string written_value(const ConfigRow& row, const Config& config) {
  Config copy = config;
  const auto number_text = [&](std::uint64_t number) {
    return row.kind == ConfigKind::kBytes && number != 0 ? quoted(bytes_text(number))
                                                         : std::to_string(number);
  };
  return std::visit(
      [&](auto field) -> std::string {
        const auto& value = field(copy);
        using T = std::remove_cvref_t<decltype(value)>;
        if constexpr (std::is_same_v<T, Duration>) {
          return quoted(to_string(value));
        } else if constexpr (std::is_same_v<T, std::string>) {
          return quoted(value);
        } else if constexpr (kIsNumber<T>) {
          return number_text(value);
        } else if constexpr (std::is_same_v<T, bool>) {
          return value ? "true" : "false";
        } else {
          std::string list = "[";
          for (const std::string& text : value)
            list.append(list.size() > 1 ? ", " : "").append(quoted(text));
          return list + "]";
        }
      },
      row.field);
}

Result<void> set_number(const ConfigRow& row, std::int64_t number, Config& config) {
  const bool number_kind = row.kind == ConfigKind::kNumber || row.kind == ConfigKind::kBytes;
  const bool zero_duration = row.kind == ConfigKind::kDuration && number == 0;
  if (!number_kind && !zero_duration) return not_this(row);
  const bool zero = row.bounds.or_zero && number == 0;
  if (!zero && (number < row.bounds.low || number > row.bounds.high)) return not_this(row);
  store_number(row, number, config);
  return {};
}

Result<void> set_texts(const ConfigRow& row, std::vector<std::string> texts, Config& config) {
  if (row.kind != ConfigKind::kTexts) return not_this(row);
  if (texts.size() > static_cast<std::size_t>(row.bounds.high)) return not_this(row);
  for (const std::string& text : texts) {
    if (text.empty() || text.size() > kConfigTextBytesMax) {
      return fail(ErrorCode::kInvalid, "has an element that is empty or longer than " +
                                           std::to_string(kConfigTextBytesMax) + " bytes");
    }
  }
  std::get<std::vector<std::string>& (*)(Config&)>(row.field)(config) = std::move(texts);
  return {};
}

Result<void> set_flag(const ConfigRow& row, bool flag, Config& config) {
  if (row.kind != ConfigKind::kFlag) return not_this(row);
  std::get<bool& (*)(Config&)>(row.field)(config) = flag;
  return {};
}

Result<void> set_from_text(const ConfigRow& row, std::string_view text, Config& config) {
  switch (row.kind) {
    case ConfigKind::kText:
    case ConfigKind::kWord: return set_text(row, text, config);
    case ConfigKind::kTexts: return set_texts(row, split(text), config);
    case ConfigKind::kNumber: {
      std::int64_t number = 0;
      const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), number);
      if (error != std::errc() || rest != text.data() + text.size()) return not_this(row);
      return set_number(row, number, config);
    }
    case ConfigKind::kBytes: {
      const Result<std::uint64_t> bytes = parse_bytes(text);
      if (!bytes || *bytes > static_cast<std::uint64_t>(INT64_MAX)) return not_this(row);
      return set_number(row, static_cast<std::int64_t>(*bytes), config);
    }
    case ConfigKind::kDuration: {
      const Result<Duration> duration = parse_duration(text);
      if (!duration) return not_this(row);
      const bool zero = row.bounds.or_zero && duration->count() == 0;
      if (!zero && (duration->count() < row.bounds.low || duration->count() > row.bounds.high))
        return not_this(row);
      store_number(row, duration->count(), config);
      return {};
    }
    case ConfigKind::kFlag:
      if (text != "true" && text != "false") return not_this(row);
      return set_flag(row, text == "true", config);
  }
  POSTRIDER_CHECK(false);
  return {};
}

Result<std::uint64_t> parse_bytes(std::string_view text) {
  std::uint64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  const std::string_view suffix(rest, static_cast<std::size_t>(end - rest));
  for (const Unit& unit : kUnits) {
    if (error != std::errc() || suffix != unit.name || number > UINT64_MAX / unit.bytes) continue;
    return number * unit.bytes;
  }
  return fail(ErrorCode::kInvalid, "write a whole number and, if you like, KiB, MiB, GiB or TiB");
}

std::string bytes_text(std::uint64_t bytes) {
  for (const Unit& unit : kUnits) {
    if (bytes != 0 && bytes % unit.bytes == 0)
      return std::to_string(bytes / unit.bytes) + std::string(unit.name);
  }
  return "0";
}

}  // namespace postrider
