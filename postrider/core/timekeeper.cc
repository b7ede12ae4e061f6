#include "postrider/core/timekeeper.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace postrider {
namespace {

constexpr Duration kSmallError{1s};  // below it: corrected slowly; from it on: the wall was set
constexpr std::int64_t kPartsPerMillion = 500;
constexpr std::int64_t kMillion = 1'000'000;
constexpr Duration kMustStand{10min};
constexpr Duration kTold{1min};

// Clocks are outside data. Within these bounds, which lie 285,000 years ahead, no sum below can
// overflow.
constexpr std::int64_t kBound = INT64_MAX / 1024;
Timestamp bounded(Timestamp at) { return Timestamp(std::clamp<std::int64_t>(at.ms(), 0, kBound)); }

}  // namespace

Timekeeper::Timekeeper(Instant start, Timestamp floor, Duration bias)
    : boot_(bounded(start.boot)),
      wall_(bounded(start.wall)),
      bias_(std::clamp(bias, Duration(-kBound), Duration(kBound))) {
  const Timestamp by_wall = wall_ + bias_;
  // Zero means "no such time", so a clock that starts in 1970 starts one tick later.
  engine_ = std::max({bounded(floor), by_wall, Timestamp(1)});
  if (by_wall + kTold < engine_) step_ = Step{by_wall - engine_};
  if (error() <= -kSmallError) bias_ = engine_ - wall_;
}

Timestamp Timekeeper::now(Instant instant) {
  const Timestamp boot = std::max(bounded(instant.boot), boot_);
  const Timestamp wall = bounded(instant.wall);
  const Duration elapsed = boot - boot_;
  const Duration set_by = (wall - wall_) - elapsed;
  if (std::chrono::abs(set_by) > kTold) step_ = Step{set_by};
  boot_ = boot;
  wall_ = wall;
  engine_ = engine_ + elapsed;

  // A wall that was set back and now returns takes the bias back; engine time was right all along.
  if (error() >= kSmallError && bias_ > Duration(0)) bias_ -= std::min(bias_, error());
  if (error() <= -kSmallError) bias_ = engine_ - wall_;
  watch_forward();
  if (std::chrono::abs(error()) < kSmallError) correct(elapsed);
  return engine_;
}

std::optional<Timekeeper::Step> Timekeeper::take_step() {
  return std::exchange(step_, std::nullopt);
}

// Adopts a forward offset that has stood long enough: the smallest one seen meanwhile, because only
// that much has stood all the time.
void Timekeeper::watch_forward() {
  const Duration offset = error();
  if (offset < kSmallError) {
    standing_ = Duration(0);
    return;
  }
  if (standing_ == Duration(0)) {
    standing_ = offset;
    standing_since_ = boot_;
  }
  standing_ = std::min(standing_, offset);
  if (boot_ - standing_since_ < kMustStand) return;
  engine_ = engine_ + standing_;
  standing_ = Duration(0);
}

// Moves engine time towards the wall. A correction never exceeds the time that has passed, so
// engine time never decreases; an allowance that nobody needed is not saved up, or a later error
// would be corrected at once.
void Timekeeper::correct(Duration elapsed) {
  const Duration wanted = error();
  allowance_ += elapsed.count() * kPartsPerMillion;
  const Duration by = std::min(std::chrono::abs(wanted), Duration(allowance_ / kMillion));
  allowance_ -= by.count() * kMillion;
  engine_ = wanted > Duration(0) ? engine_ + by : engine_ - by;
  if (by == std::chrono::abs(wanted)) allowance_ = 0;
}

}  // namespace postrider
