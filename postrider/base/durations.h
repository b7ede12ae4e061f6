// Durations as people write them in settings: a whole number and a unit, "250ms", "5s", "2m",
// "12h", "5d". No sums and no fractions: one way to say a thing.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "postrider/base/result.h"
#include "postrider/base/time.h"

namespace postrider {

// Nothing that we wait for is longer; sums of a few of them and a timestamp stay far from overflow.
inline constexpr Duration kDurationMax = 3650 * 24h;

// "0" needs no unit. Fails with kInvalid and says what a duration looks like.
Result<Duration> parse_duration(std::string_view text);

// "5s,30s, 2m": separated by commas, at least one and at most `count_max`.
Result<std::vector<Duration>> parse_durations(std::string_view text, std::size_t count_max);

// In the largest unit that divides it: "90s", "2m", "3d"; parse_duration reads it back. Not for
// negative ones.
std::string to_string(Duration duration);

}  // namespace postrider
