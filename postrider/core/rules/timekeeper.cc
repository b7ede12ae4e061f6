#include "postrider/core/rules/timekeeper.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "postrider/base/planted.h"

namespace postrider {
namespace {

constexpr Duration kSmallError{1s};  // below it: corrected slowly; from it on: the wall was set
constexpr std::int64_t kPartsPerMillion = 500;
constexpr std::int64_t kMillion = 1'000'000;
constexpr Duration kMustStand{10min};
constexpr Duration kTold{1min};
constexpr Duration kBelieved{24h};  // so far ahead of the floor the wall is believed at a start
constexpr Duration kLook{5s};       // between two looks at a wall that is in doubt

// Clocks are outside data. Within these bounds, which lie 285,000 years ahead, no sum below can
// overflow.
constexpr std::int64_t kBound = INT64_MAX / 1024;
Timestamp bounded(Timestamp at) { return Timestamp(std::clamp<std::int64_t>(at.ms(), 0, kBound)); }

}  // namespace

Timekeeper::Timekeeper(Instant start, Timestamp floor, WallBooks books)
    : boot_(bounded(start.boot)), wall_(bounded(start.wall)), books_(std::move(books)) {
  books_.bias = std::clamp(books_.bias, Duration(-kBound), Duration(kBound));
  const Timestamp by_wall = wall_ + books_.bias;
  const Timestamp least = bounded(floor);
  const Duration ahead = by_wall - least;
  began_at_floor_ = least.is_set() && ahead < Duration(0);
  const bool trusted = start.synchronised || planted(Bug::kLeapBelievedBlindly);
  if (least.is_set() && ahead > kBelieved && !trusted) {
    began_at_floor_ = true;
    engine_ = least + Duration(1);  // so that no stamp of the former process is one of the doubt
    if (!books_.in_doubt()) books_.doubt = {.from = least, .until = {}, .by = error()};
    standing_ = error();
    standing_since_ = boot_;
    doubt_news_ = DoubtNews{DoubtNews::Kind::kDoubted, error()};
    return;
  }
  // A former process doubted the wall, and this one does not: that settles it for both.
  if (books_.in_doubt()) {
    engine_ = least;
    end_doubt(ahead, ahead > kBelieved ? DoubtNews::Kind::kBelieved : DoubtNews::Kind::kTakenBack);
  }
  // Zero means "no such time", so a clock that starts in 1970 starts one tick later.
  engine_ = std::max({least, by_wall, Timestamp(1)});
  if (by_wall + kTold < engine_) step_ = Step{by_wall - engine_};
  if (error() <= -kSmallError) books_.bias = engine_ - wall_;
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

  if (books_.in_doubt()) watch_doubt(instant.synchronised);
  if (books_.in_doubt()) return engine_;
  // A wall that was set back and now returns takes the bias back; engine time was right all along.
  Duration& bias = books_.bias;
  if (error() >= kSmallError && bias > Duration(0)) bias -= std::min(bias, error());
  if (error() <= -kSmallError) bias = engine_ - wall_;
  watch_forward();
  if (std::chrono::abs(error()) < kSmallError) correct(elapsed);
  return engine_;
}

std::optional<Timekeeper::Step> Timekeeper::take_step() {
  return std::exchange(step_, std::nullopt);
}

std::optional<DoubtNews> Timekeeper::take_doubt() {
  return std::exchange(doubt_news_, std::nullopt);
}

std::optional<Timestamp> Timekeeper::next_look() const {
  return books_.in_doubt() ? std::optional(boot_ + kLook) : std::nullopt;
}

void Timekeeper::watch_doubt(bool synchronised) {
  const Duration offset = error();
  standing_ = std::min(standing_, offset);
  books_.doubt.by = std::min(books_.doubt.by, offset);
  if (offset <= kBelieved) return end_doubt(offset, DoubtNews::Kind::kTakenBack);
  if (synchronised) return end_doubt(offset, DoubtNews::Kind::kBelieved);
  if (boot_ - standing_since_ >= kMustStand) end_doubt(standing_, DoubtNews::Kind::kBelieved);
}

// Engine time goes forward by `by`, never back. Stamps that were made meanwhile mean as much more
// as the wall was ahead all the time.
void Timekeeper::end_doubt(Duration by, DoubtNews::Kind how) {
  const Leap leap{.from = books_.doubt.from, .until = engine_, .by = std::min(books_.doubt.by, by)};
  if (leap.by >= kSmallError) books_.believe(leap);
  if (by >= kSmallError) engine_ = engine_ + by;
  books_.doubt = {};
  standing_ = Duration(0);
  doubt_news_ = DoubtNews{how, by};
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
// engine time never decreases; an allowance that was not needed is not saved up, or a later error
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
