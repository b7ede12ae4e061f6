#include "postrider/api/texts.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <span>

#include "postrider/api/json_names.h"
#include "postrider/protocols/web/base64.h"
#include "postrider/protocols/web/http_text.h"

namespace postrider::api {
namespace {

constexpr std::size_t kUuidSize = 36;

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_hex(char c) { return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }
bool is_lower_hex(char c) { return is_digit(c) || (c >= 'a' && c <= 'f'); }

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

// Takes exactly `count` digits.
std::optional<int> take_digits(std::string_view& text, std::size_t count) {
  if (text.size() < count) return std::nullopt;
  int value = 0;
  for (const char c : text.substr(0, count)) {
    if (!is_digit(c)) return std::nullopt;
    value = value * 10 + (c - '0');
  }
  text.remove_prefix(count);
  return value;
}

bool take(std::string_view& text, std::string_view any_of) {
  if (text.empty() || any_of.find(text[0]) == std::string_view::npos) return false;
  text.remove_prefix(1);
  return true;
}

std::optional<std::int64_t> take_milliseconds(std::string_view& text) {
  if (!take(text, ".")) return 0;
  std::int64_t ms = 0;
  std::size_t digits = 0;
  for (; digits < text.size() && is_digit(text[digits]); ++digits) {
    if (digits < 3) ms = ms * 10 + (text[digits] - '0');
  }
  if (digits == 0 || digits > 9) return std::nullopt;
  for (std::size_t i = digits; i < 3; ++i) ms *= 10;
  text.remove_prefix(digits);
  return ms;
}

std::optional<std::int64_t> take_offset_minutes(std::string_view& text) {
  if (take(text, "Zz")) return 0;
  const bool west = text.starts_with('-');
  if (!take(text, "+-")) return std::nullopt;
  const auto hours = take_digits(text, 2);
  if (!hours || *hours > 23 || !take(text, ":")) return std::nullopt;
  const auto minutes = take_digits(text, 2);
  if (!minutes || *minutes > 59) return std::nullopt;
  return (*hours * 60 + *minutes) * (west ? -1 : 1);
}

std::optional<std::int64_t> take_date_ms(std::string_view& text) {
  const auto year = take_digits(text, 4);
  if (!year || !take(text, "-")) return std::nullopt;
  const auto month = take_digits(text, 2);
  if (!month || !take(text, "-")) return std::nullopt;
  const auto day = take_digits(text, 2);
  if (!day) return std::nullopt;
  const std::chrono::year_month_day date{std::chrono::year(*year),
                                         std::chrono::month(static_cast<unsigned>(*month)),
                                         std::chrono::day(static_cast<unsigned>(*day))};
  if (!date.ok()) return std::nullopt;
  return std::chrono::sys_days(date).time_since_epoch().count() * std::int64_t{86'400'000};
}

std::optional<std::int64_t> take_time_ms(std::string_view& text) {
  const auto hours = take_digits(text, 2);
  if (!hours || *hours > 23 || !take(text, ":")) return std::nullopt;
  const auto minutes = take_digits(text, 2);
  if (!minutes || *minutes > 59 || !take(text, ":")) return std::nullopt;
  const auto seconds = take_digits(text, 2);
  if (!seconds || *seconds > 59) return std::nullopt;
  const auto ms = take_milliseconds(text);
  if (!ms) return std::nullopt;
  return ((*hours * 60 + *minutes) * 60 + *seconds) * std::int64_t{1000} + *ms;
}

// The time in a UUID of version 7 (RFC 9562), in lower case.
std::optional<Timestamp> uuid_time(std::string_view uuid) {
  if (uuid.size() != kUuidSize) return std::nullopt;
  for (std::size_t i = 0; i < uuid.size(); ++i) {
    const bool hyphen = i == 8 || i == 13 || i == 18 || i == 23;
    if (hyphen ? uuid[i] != '-' : !is_lower_hex(uuid[i])) return std::nullopt;
  }
  const bool variant = uuid[19] == '8' || uuid[19] == '9' || uuid[19] == 'a' || uuid[19] == 'b';
  if (uuid[14] != '7' || !variant) return std::nullopt;
  const std::string digits = std::string(uuid.substr(0, 8)).append(uuid.substr(9, 4));
  std::int64_t ms = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), ms, 16);
  return Timestamp(ms);
}

Result<std::string> unquote(std::string_view text) {
  const auto bad = [] {
    return fail(ErrorCode::kInvalid, "the quotes around the Idempotency-Key are not closed");
  };
  if (text.size() < 2 || text.back() != '"') return bad();
  std::string out;
  text = text.substr(1, text.size() - 2);
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '"') return bad();
    if (text[i] == '\\' && (++i == text.size() || (text[i] != '"' && text[i] != '\\')))
      return bad();
    out.push_back(text[i]);
  }
  return out;
}

}  // namespace

Result<Timestamp> parse_time(std::string_view text) {
  const auto bad = [] {
    return fail(ErrorCode::kInvalid,
                "this is no time: write it like 2026-01-02T03:04:05Z, from 1970 to 9999");
  };
  const auto date = take_date_ms(text);
  if (!date || !take(text, "Tt")) return bad();
  const auto time = take_time_ms(text);
  if (!time) return bad();
  const auto offset = take_offset_minutes(text);
  if (!offset || !text.empty()) return bad();
  const std::int64_t ms = *date + *time - *offset * 60'000;
  if (ms <= 0) return bad();
  return Timestamp(ms);
}

std::string to_text(Timestamp time) {
  using std::chrono::sys_days;
  const std::int64_t ms = std::max<std::int64_t>(0, time.ms());
  const auto days = ms / 86'400'000;
  const std::chrono::year_month_day date{sys_days(std::chrono::days(days))};
  const auto rest = static_cast<int>(ms % 86'400'000);
  std::array<char, 48> text{};
  const int size = std::snprintf(text.data(), text.size(), "%04d-%02u-%02uT%02d:%02d:%02d.%03dZ",
                                 static_cast<int>(date.year()), static_cast<unsigned>(date.month()),
                                 static_cast<unsigned>(date.day()), rest / 3'600'000,
                                 rest / 60'000 % 60, rest / 1000 % 60, rest % 1000);
  return {text.data(), static_cast<std::size_t>(size)};
}

OperationKey make_operation_key(std::string_view key, std::string_view scope) {
  OperationKey out;
  out.kind = OperationKey::Kind::kOpaque;
  out.scope = scope;
  out.key = key;
  // A line of a batch has the key of the whole, '#' and its number.
  if (key.size() != kUuidSize && (key.size() < kUuidSize || key[kUuidSize] != '#')) return out;
  std::string lower = to_lower(key);
  if (const auto made = uuid_time(std::string_view(lower).substr(0, kUuidSize))) {
    out.kind = OperationKey::Kind::kTimed;
    out.made = *made;
    out.key = std::move(lower);
  }
  return out;
}

Result<OperationKey> parse_operation_key(std::string_view header, std::string_view scope) {
  std::string unquoted;
  if (header.starts_with('"')) {
    POSTRIDER_TRY(inside, unquote(header));
    unquoted = std::move(inside);
    header = unquoted;
  }
  if (header.empty() || header.size() > kKeyBytesMax)
    return fail(ErrorCode::kInvalid, "an Idempotency-Key has 1 to 255 characters");
  const auto printable = [](char c) { return c >= 0x20 && c < 0x7F; };
  if (!std::all_of(header.begin(), header.end(), printable))
    return fail(ErrorCode::kInvalid, "an Idempotency-Key is printable ASCII");
  return make_operation_key(header, scope);
}

std::string encode_cursor(std::string_view cursor) {
  std::string text =
      base64_encode(std::span(reinterpret_cast<const std::uint8_t*>(cursor.data()), cursor.size()));
  while (text.ends_with('=')) text.pop_back();
  std::replace(text.begin(), text.end(), '+', '-');
  std::replace(text.begin(), text.end(), '/', '_');
  return text;
}

std::optional<std::string> decode_cursor(std::string_view text) {
  std::string standard(text);
  if (text.empty() || text.find_first_of("+/=") != std::string_view::npos) return std::nullopt;
  std::replace(standard.begin(), standard.end(), '-', '+');
  std::replace(standard.begin(), standard.end(), '_', '/');
  return base64_decode(standard);
}

std::string to_text(const LogPosition& position) {
  return std::to_string(position.bucket) + "." + std::to_string(position.page) + "." +
         std::to_string(position.index);
}

std::optional<LogPosition> parse_position(std::string_view text) {
  LogPosition position;
  const char* const end = text.data() + text.size();
  const auto bucket = std::from_chars(text.data(), end, position.bucket);
  if (bucket.ec != std::errc() || bucket.ptr == end || *bucket.ptr != '.') return std::nullopt;
  const auto page = std::from_chars(bucket.ptr + 1, end, position.page);
  if (page.ec != std::errc() || page.ptr == end || *page.ptr != '.') return std::nullopt;
  const auto index = std::from_chars(page.ptr + 1, end, position.index);
  if (index.ec != std::errc() || index.ptr != end) return std::nullopt;
  return position;
}

std::optional<std::string> percent_decode(std::string_view text, bool plus) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '+' && plus) {
      out.push_back(' ');
    } else if (text[i] != '%') {
      out.push_back(text[i]);
    } else {
      if (i + 2 >= text.size() || !is_hex(text[i + 1]) || !is_hex(text[i + 2])) return std::nullopt;
      unsigned value = 0;
      std::from_chars(text.data() + i + 1, text.data() + i + 3, value, 16);
      out.push_back(static_cast<char>(value));
      i += 2;
    }
  }
  return out;
}

bool is_media_type(std::string_view content_type, std::string_view type) {
  const std::string_view bare = trimmed(content_type.substr(0, content_type.find(';')));
  if (bare.size() != type.size()) return false;
  return bare == type || to_lower(bare) == type;
}

bool accepts(std::string_view accept, std::string_view type) {
  if (accept.empty() || accept == "*/*") return true;
  const std::string_view family = type.substr(0, type.find('/') + 1);
  while (!accept.empty()) {
    const std::size_t comma = std::min(accept.find(','), accept.size());
    const std::string_view item = accept.substr(0, comma);
    accept.remove_prefix(std::min(comma + 1, accept.size()));
    const std::size_t quality = item.find("q=0");
    if (quality != std::string_view::npos &&
        item.find_first_of("123456789", quality + 3) == std::string_view::npos) {
      continue;
    }
    const std::string range = to_lower(trimmed(item.substr(0, item.find(';'))));
    if (range == "*/*" || range == type || range == std::string(family) + "*") return true;
  }
  return false;
}

bool is_line(std::string_view text) {
  const auto control = [](char c) {
    return static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) == 0x7F;
  };
  return is_utf8(text) && std::none_of(text.begin(), text.end(), control);
}

}  // namespace postrider::api
