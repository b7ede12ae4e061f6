// Timestamp: a point of engine time or of wall time, in whole milliseconds. Integers only:
// decisions must be equal on every machine and in every build.
#pragma once

#include <chrono>
#include <compare>
#include <cstdint>

namespace postrider {

using Duration = std::chrono::milliseconds;
using namespace std::chrono_literals;  // NOLINT(google-build-using-namespace): 5s and 72h read as
                                       // they are said

class Timestamp {
 public:
  constexpr Timestamp() = default;
  constexpr explicit Timestamp(std::int64_t ms) : ms_(ms) {}

  constexpr std::int64_t ms() const { return ms_; }
  // Zero stands for "no such time": engine time starts at the wall clock, decades later.
  constexpr bool is_set() const { return ms_ != 0; }

  static constexpr Timestamp never() { return Timestamp(INT64_MAX); }

  friend constexpr auto operator<=>(Timestamp, Timestamp) = default;
  friend constexpr Timestamp operator+(Timestamp t, Duration d) {
    return Timestamp(t.ms_ + d.count());
  }
  friend constexpr Timestamp operator-(Timestamp t, Duration d) {
    return Timestamp(t.ms_ - d.count());
  }
  friend constexpr Duration operator-(Timestamp a, Timestamp b) { return Duration(a.ms_ - b.ms_); }

 private:
  std::int64_t ms_ = 0;
};

}  // namespace postrider
