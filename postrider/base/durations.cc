#include "postrider/base/durations.h"

#include <array>
#include <charconv>

#include "postrider/base/check.h"

namespace postrider {
namespace {

struct Unit {
  std::string_view name;
  std::int64_t ms;
};
// Largest first: formatting takes the first that divides.
constexpr std::array<Unit, 5> kUnits = {Unit{"d", 86'400'000}, Unit{"h", 3'600'000},
                                        Unit{"m", 60'000}, Unit{"s", 1'000}, Unit{"ms", 1}};

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

}  // namespace

Result<Duration> parse_duration(std::string_view text) {
  const auto wrong = [&](std::string_view why) {
    return fail(ErrorCode::kInvalid, "'" + std::string(text) + "' " + std::string(why));
  };
  std::uint64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  if (error == std::errc::result_out_of_range) return wrong("is longer than ten years");
  const std::string_view suffix(rest, static_cast<std::size_t>(end - rest));
  if (error == std::errc() && number == 0 && suffix.empty()) return Duration(0);
  for (const Unit& unit : kUnits) {
    if (error != std::errc() || suffix != unit.name) continue;
    const auto most = static_cast<std::uint64_t>(kDurationMax.count() / unit.ms);
    if (number > most) return wrong("is longer than ten years");
    return Duration(static_cast<std::int64_t>(number) * unit.ms);
  }
  return wrong("is not a duration: write a whole number and one of ms, s, m, h, d");
}

Result<std::vector<Duration>> parse_durations(std::string_view text, std::size_t count_max) {
  std::vector<Duration> durations;
  for (bool more = true; more;) {
    const std::size_t comma = text.find(',');
    more = comma != std::string_view::npos;
    POSTRIDER_TRY(duration, parse_duration(trimmed(text.substr(0, comma))));
    if (durations.size() == count_max) {
      return fail(ErrorCode::kLimit,
                  "there are more than " + std::to_string(count_max) + " durations");
    }
    durations.push_back(duration);
    if (more) text.remove_prefix(comma + 1);
  }
  return durations;
}

std::string to_string(Duration duration) {
  POSTRIDER_CHECK(duration.count() >= 0);
  if (duration.count() == 0) return "0";
  for (const Unit& unit : kUnits) {
    if (duration.count() % unit.ms == 0)
      return std::to_string(duration.count() / unit.ms) + std::string(unit.name);
  }
  return {};  // not reached: everything divides by a millisecond
}

}  // namespace postrider
