#include "postrider/protocols/web/http_text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>

#include "postrider/base/durations.h"

namespace postrider {
namespace {

constexpr std::array<std::string_view, 7> kDays = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
constexpr std::array<std::string_view, 12> kMonths = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                      "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};

constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }

// −1 when it is not all digits. Not for more than nine of them.
int digits(std::string_view text) {
  int value = 0;
  for (const char c : text) {
    if (!is_digit(c)) return -1;
    value = value * 10 + (c - '0');
  }
  return value;
}

void append_digits(std::string& out, unsigned value, unsigned width) {
  const std::string text = std::to_string(value);
  out.append(width > text.size() ? width - text.size() : 0, '0').append(text);
}

// The length of the UTF-8 character at the beginning of `text`, 0 when there is none (RFC 3629: no
// overlong forms, no surrogates, nothing beyond U+10FFFF). `code` is what it stands for.
std::size_t utf8_length(std::string_view text, std::uint32_t& code) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  std::size_t length = 1;
  if (first >= 0xF0 && first <= 0xF4)
    length = 4;
  else if (first >= 0xE0 && first <= 0xEF)
    length = 3;
  else if (first >= 0xC2 && first <= 0xDF)
    length = 2;
  else if (first >= 0x80)
    return 0;
  if (text.size() < length) return 0;
  code = length == 1 ? first : first & (0xFFU >> (length + 1));
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
    code = (code << 6) | (byte(i) & 0x3FU);
  }
  if (length == 3 && (code < 0x800 || (code >= 0xD800 && code <= 0xDFFF))) return 0;
  if (length == 4 && (code < 0x10000 || code > 0x10FFFF)) return 0;
  return length;
}

// Control characters, and those that turn the direction of writing: with them an answer could
// rewrite a log line.
constexpr bool is_blank(std::uint32_t code) {
  return code <= 0x20 || (code >= 0x7F && code <= 0x9F) || (code >= 0x200E && code <= 0x200F) ||
         (code >= 0x2028 && code <= 0x202E) || (code >= 0x2066 && code <= 0x2069);
}

Result<void> check_port(std::string_view port) {
  const int number = port.size() <= 5 ? digits(port) : -1;
  if (number < 1 || number > 65535) {
    return fail(ErrorCode::kInvalid, "the port must be 1 to 65535");
  }
  return {};
}

// "+05:30" or "Z" in minutes east.
std::optional<int> parse_offset(std::string_view text) {
  if (text == "Z" || text == "z") return 0;
  if (text.size() != 6 || (text[0] != '+' && text[0] != '-') || text[3] != ':') return std::nullopt;
  const int hours = digits(text.substr(1, 2));
  const int minutes = digits(text.substr(4, 2));
  if (hours < 0 || hours > 23 || minutes < 0 || minutes > 59) return std::nullopt;
  return (hours * 60 + minutes) * (text[0] == '-' ? -1 : 1);
}

}  // namespace

std::optional<Timestamp> parse_http_date(std::string_view text) {
  using namespace std::chrono;
  constexpr std::string_view kShape = "Sun, 06 Nov 1994 08:49:37 GMT";
  if (text.size() != kShape.size() || text.substr(25) != " GMT") return std::nullopt;
  for (const std::size_t at : {3U, 4U, 7U, 11U, 16U, 19U, 22U}) {
    if (text[at] != kShape[at]) return std::nullopt;
  }
  const auto weekday_name = std::find(kDays.begin(), kDays.end(), text.substr(0, 3));
  const auto month_name = std::find(kMonths.begin(), kMonths.end(), text.substr(8, 3));
  const int day_of_month = digits(text.substr(5, 2));
  const int year_number = digits(text.substr(12, 4));
  const int hour = digits(text.substr(17, 2));
  const int minute = digits(text.substr(20, 2));
  const int second = digits(text.substr(23, 2));
  if (weekday_name == kDays.end() || month_name == kMonths.end()) return std::nullopt;
  if (day_of_month < 0 || year_number < 0 || hour < 0 || minute < 0 || second < 0)
    return std::nullopt;
  if (hour > 23 || minute > 59 || second > 60) return std::nullopt;  // 60: a leap second
  const year_month_day date{year{year_number},
                            month{static_cast<unsigned>(month_name - kMonths.begin()) + 1},
                            day{static_cast<unsigned>(day_of_month)}};
  if (!date.ok()) return std::nullopt;
  const sys_days midnight{date};
  if (weekday{midnight}.c_encoding() != static_cast<unsigned>(weekday_name - kDays.begin()))
    return std::nullopt;
  const seconds since_midnight = hours{hour} + minutes{minute} + seconds{second};
  return Timestamp(
      duration_cast<milliseconds>(midnight.time_since_epoch() + since_midnight).count());
}

std::string to_http_date(Timestamp time) {
  using namespace std::chrono;
  const sys_time<milliseconds> point{milliseconds{time.ms()}};
  const sys_days midnight = floor<days>(point);
  const year_month_day date{midnight};
  const hh_mm_ss clock{floor<seconds>(point - midnight)};
  std::string text;
  text.append(kDays[weekday{midnight}.c_encoding()]).append(", ");
  append_digits(text, static_cast<unsigned>(date.day()), 2);
  text.append(" ").append(kMonths[static_cast<unsigned>(date.month()) - 1]).append(" ");
  append_digits(text, static_cast<unsigned>(static_cast<int>(date.year())), 4);
  text.append(" ");
  append_digits(text, static_cast<unsigned>(clock.hours().count()), 2);
  text.append(":");
  append_digits(text, static_cast<unsigned>(clock.minutes().count()), 2);
  text.append(":");
  append_digits(text, static_cast<unsigned>(clock.seconds().count()), 2);
  return text.append(" GMT");
}

std::string to_rfc3339(Timestamp time) {
  using namespace std::chrono;
  const sys_time<milliseconds> point{milliseconds{time.ms()}};
  const sys_days midnight = floor<days>(point);
  const year_month_day date{midnight};
  const hh_mm_ss clock{point - midnight};
  std::string text;
  const auto put = [&text](auto number, unsigned digits, std::string_view behind) {
    append_digits(text, static_cast<unsigned>(number), digits);
    text.append(behind);
  };
  put(static_cast<int>(date.year()), 4, "-");
  put(static_cast<unsigned>(date.month()), 2, "-");
  put(static_cast<unsigned>(date.day()), 2, "T");
  put(clock.hours().count(), 2, ":");
  put(clock.minutes().count(), 2, ":");
  put(clock.seconds().count(), 2, ".");
  put(clock.subseconds().count(), 3, "Z");
  return text;
}

std::optional<Timestamp> parse_rfc3339(std::string_view text) {
  using namespace std::chrono;
  constexpr std::string_view kShape = "2026-11-15T23:59:07";
  if (text.size() <= kShape.size() || (text[10] != 'T' && text[10] != 't')) return std::nullopt;
  for (const std::size_t at : {4U, 7U, 13U, 16U}) {
    if (text[at] != kShape[at]) return std::nullopt;
  }
  const int year_number = digits(text.substr(0, 4));
  const int month_number = digits(text.substr(5, 2));
  const int day_number = digits(text.substr(8, 2));
  const int hour = digits(text.substr(11, 2));
  const int minute = digits(text.substr(14, 2));
  const int second = digits(text.substr(17, 2));
  if (year_number < 0 || month_number < 0 || day_number < 0 || hour < 0 || minute < 0 || second < 0)
    return std::nullopt;
  if (hour > 23 || minute > 59 || second > 59) return std::nullopt;
  const year_month_day date{year{year_number}, month{static_cast<unsigned>(month_number)},
                            day{static_cast<unsigned>(day_number)}};
  if (!date.ok()) return std::nullopt;
  text.remove_prefix(kShape.size());
  int ms = 0;
  if (text.starts_with('.')) {
    const std::size_t places = std::min(text.find_first_not_of("0123456789", 1), text.size()) - 1;
    if (places == 0) return std::nullopt;
    ms = digits(
        std::string(text.substr(1, std::min<std::size_t>(places, 3))).append("00").substr(0, 3));
    text.remove_prefix(places + 1);
  }
  const std::optional<int> offset = parse_offset(text);
  if (!offset) return std::nullopt;
  const milliseconds since = sys_days{date}.time_since_epoch() + hours{hour} +
                             minutes{minute - *offset} + seconds{second} + milliseconds{ms};
  if (since.count() <= 0) return std::nullopt;
  return Timestamp(since.count());
}

std::optional<Duration> parse_retry_after(std::string_view text, Timestamp wall) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  if (!text.empty() && std::all_of(text.begin(), text.end(), is_digit)) {
    std::uint64_t count = 0;
    const bool fits =
        std::from_chars(text.data(), text.data() + text.size(), count).ec == std::errc();
    const auto most = static_cast<std::uint64_t>(kDurationMax / 1s);
    return Duration(std::chrono::seconds(fits ? std::min(count, most) : most));
  }
  const std::optional<Timestamp> date = parse_http_date(text);
  if (!date) return std::nullopt;
  return std::clamp(*date - wall, Duration(0), kDurationMax);
}

bool is_header_name(std::string_view text) {
  constexpr std::string_view kPunctuation = "!#$%&'*+-.^_`|~";
  const auto is_token = [&](char c) {
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           kPunctuation.find(c) != std::string_view::npos;
  };
  return !text.empty() && std::all_of(text.begin(), text.end(), is_token);
}

bool is_header_value(std::string_view text) {
  if (text.empty()) return true;
  if (text.front() == ' ' || text.back() == ' ') return false;
  return std::all_of(text.begin(), text.end(), [](char c) { return c >= 0x20 && c <= 0x7E; });
}

std::string to_lower(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return lower;
}

Result<void> check_http_url(std::string_view url) {
  const auto wrong = [](std::string_view why) {
    return fail(ErrorCode::kInvalid, std::string(why));
  };
  constexpr std::string_view kHttp = "http://";
  constexpr std::string_view kHttps = "https://";
  if (!url.starts_with(kHttp) && !url.starts_with(kHttps))
    return wrong("it must begin with http:// or https://");
  const auto is_plain = [](char c) { return c > 0x20 && c < 0x7F; };
  if (!std::all_of(url.begin(), url.end(), is_plain))
    return wrong("it must be printable ASCII without spaces");
  if (url.find('#') != std::string_view::npos) return wrong("a fragment (#…) is never sent");
  std::string_view authority = url.substr(url.starts_with(kHttps) ? kHttps.size() : kHttp.size());
  authority = authority.substr(0, authority.find_first_of("/?"));
  if (authority.find('@') != std::string_view::npos) {
    return wrong("it must not carry a user or a password; use headers.authorization");
  }
  std::string_view host = authority;
  std::string_view after_host;
  if (authority.starts_with('[')) {  // an IPv6 address
    const std::size_t close = authority.find(']');
    if (close == std::string_view::npos) return wrong("the bracket of the host is not closed");
    host = authority.substr(1, close - 1);
    after_host = authority.substr(close + 1);
  } else {
    host = authority.substr(0, authority.find(':'));
    after_host = authority.substr(host.size());
  }
  if (host.empty()) return wrong("it has no host");
  if (after_host.empty()) return {};
  if (after_host.front() != ':') return wrong("what follows the host must be a port or a path");
  return check_port(after_host.substr(1));
}

std::string clean_excerpt(std::string_view text, std::size_t bytes_max) {
  std::string clean;
  bool blank_pending = false;
  while (!text.empty()) {
    std::uint32_t code = '?';
    const std::size_t length = utf8_length(text, code);
    const std::string_view shown = length == 0 ? std::string_view("?") : text.substr(0, length);
    text.remove_prefix(std::max<std::size_t>(length, 1));
    if (length != 0 && is_blank(code)) {
      blank_pending = !clean.empty();
      continue;
    }
    if (clean.size() + shown.size() + (blank_pending ? 1 : 0) > bytes_max) break;
    if (blank_pending) clean.push_back(' ');
    blank_pending = false;
    clean.append(shown);
  }
  return clean;
}

std::string marked_excerpt(std::string_view text, std::size_t bytes_max) {
  constexpr std::string_view kMark = "…";
  std::string whole = clean_excerpt(text, bytes_max + 1);
  if (whole.size() <= bytes_max && clean_excerpt(text, bytes_max + 8) == whole) return whole;
  return clean_excerpt(text, bytes_max < kMark.size() ? 0 : bytes_max - kMark.size()).append(kMark);
}

}  // namespace postrider
