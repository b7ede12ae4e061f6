#include "postrider/model/setting_table.h"

#include <algorithm>
#include <charconv>
#include <vector>

#include "postrider/base/durations.h"
#include "postrider/base/nearest.h"

namespace postrider::settings {
namespace {

constexpr std::size_t kTrustBytesMax = 12 * 1024;

// Names of headers are equal whatever their case; other names in capitals are unknown anyway.
bool same_name(std::string_view a, std::string_view b) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [&](char x, char y) { return lower(x) == lower(y); });
}

}  // namespace

tl::unexpected<Error> wrong(std::string_view value, std::string_view why) {
  return fail(ErrorCode::kInvalid, "'" + std::string(value) + "' " + std::string(why));
}

Result<Duration> duration_of(std::string_view value, const Bounds& bounds) {
  POSTRIDER_TRY(duration, parse_duration(value));
  if (bounds.or_zero && duration == Duration(0)) return duration;
  if (duration < bounds.low || duration > bounds.high) return wrong(value, "is out of bounds");
  return duration;
}

Result<std::uint32_t> number_of(std::string_view value, std::uint32_t low, std::uint32_t high) {
  std::uint32_t number = 0;
  const char* const end = value.data() + value.size();
  const auto [rest, error] = std::from_chars(value.data(), end, number);
  if (error == std::errc::invalid_argument || rest != end)
    return wrong(value, "is not a whole number");
  if (error != std::errc() || number < low || number > high)
    return wrong(value, "is out of bounds");
  return number;
}

Result<std::size_t> word_of(std::string_view value, std::span<const std::string_view> words) {
  const auto found = std::find(words.begin(), words.end(), value);
  if (found == words.end()) return wrong(value, "is unknown" + did_you_mean(value, words));
  return static_cast<std::size_t>(found - words.begin());
}

Result<bool> second_of(std::string_view value, std::string_view first, std::string_view second) {
  const std::array<std::string_view, 2> words = {first, second};
  POSTRIDER_TRY(which, word_of(value, words));
  return which == 1;
}

Result<void> check_trust(std::string_view value) {
  if (value.size() > kTrustBytesMax) return fail(ErrorCode::kInvalid, "they are too long");
  if (value.find("-----BEGIN CERTIFICATE-----") == std::string_view::npos)
    return fail(ErrorCode::kInvalid, "there is no certificate in it");
  return {};
}

Result<Duration> idle_life_of(std::string_view value) {
  return duration_of(value, {.low = 1min, .high = 365 * 24h, .or_zero = true});
}

Result<std::size_t> find_row(std::span<const SettingRow> rows, std::string_view name,
                             std::string_view (*row_name)(std::string_view name)) {
  const std::string_view wanted = row_name(name);
  const auto is_wanted = [&](const SettingRow& row) { return row.name == wanted; };
  const auto found = std::find_if(rows.begin(), rows.end(), is_wanted);
  if (found != rows.end()) return static_cast<std::size_t>(found - rows.begin());
  std::vector<std::string_view> names;
  for (const SettingRow& row : rows) names.push_back(row.name);
  return fail(ErrorCode::kInvalid,
              "unknown setting '" + std::string(name) + "'" + did_you_mean(name, names));
}

Result<void> check_given_once(const NamedTexts& settings, std::size_t which) {
  const std::string& name = settings[which].first;
  for (std::size_t i = 0; i < which; ++i) {
    if (same_name(settings[i].first, name))
      return fail(ErrorCode::kInvalid, name + " is given twice");
  }
  return {};
}

Error refused(std::string_view name, const Error& error, const SettingRow& row) {
  return {ErrorCode::kInvalid,
          std::string(name) + ": " + error.detail + "; it may be " + std::string(row.may_be)};
}

}  // namespace postrider::settings
