#include "postrider/core/rules/retry.h"

#include <algorithm>

#include "postrider/base/check.h"

namespace postrider {
namespace {

// No delay is longer, so that jitter and the sum with any engine time stay far from overflow.
constexpr Duration kDelayMax{INT64_MAX / 1024};

constexpr Duration bounded(Duration delay) { return std::clamp(delay, Duration(0), kDelayMax); }

// delay · factor for a delay ≥ 0 and a factor ≥ 1, or kDelayMax when it would be more.
constexpr Duration times(Duration delay, std::int64_t factor) {
  if (delay > kDelayMax / factor) return kDelayMax;
  return delay * factor;
}

constexpr Duration percent_of(Duration delay, std::int64_t percent) {
  return delay * percent / 100;  // kDelayMax · 355 is the largest, and fits
}

constexpr Duration per_mille_of(Duration delay, std::int64_t per_mille) {
  // Whole seconds first: kDelayMax · 65,535 would not fit.
  return delay / 1000 * per_mille + delay % 1000 * per_mille / 1000;
}

Duration on_curve(const RetryRule& rule, std::uint16_t attempt) {
  const Duration base = bounded(rule.base);
  switch (rule.curve) {
    case Curve::kFixed: return base;
    case Curve::kLinear: return times(base, attempt);
    case Curve::kExponential: return times(base, std::int64_t{1} << std::min(attempt - 1, 62));
    case Curve::kList: {
      const std::size_t used = std::min<std::size_t>(rule.steps_used, RetryRule::kSteps);
      if (used == 0) return Duration(0);
      return bounded(rule.steps[std::min<std::size_t>(attempt, used) - 1]);
    }
  }
  POSTRIDER_CHECK(false);
}

DelayRange range_around(const RetryRule& rule, Duration delay) {
  const std::int64_t percent = rule.jitter_percent;
  switch (rule.jitter) {
    case Jitter::kNone: return {delay, delay};
    case Jitter::kAround:
      return {percent_of(delay, std::max<std::int64_t>(100 - percent, 0)),
              percent_of(delay, 100 + percent)};
    case Jitter::kAbove: {
      const Duration width = percent_of(delay, percent);
      return {delay, width > Duration(0) ? delay + width - Duration(1) : delay};
    }
    case Jitter::kFull: return {Duration(0), delay};
    case Jitter::kFactor: {
      const Duration low = per_mille_of(delay, rule.jitter_low);
      return {low, std::max(low, per_mille_of(delay, rule.jitter_high))};
    }
  }
  POSTRIDER_CHECK(false);
}

Timestamp round_up(Timestamp at, Duration tick) {
  if (tick <= Duration(0)) return at;
  const std::int64_t beyond = at.ms() % tick.count();
  return beyond == 0 ? at : at + (tick - Duration(beyond));
}

}  // namespace

Duration base_delay(const RetryRule& rule, std::uint16_t attempt) {
  // A message can be sent to back-off before its first attempt, when there is no way to the
  // destination.
  attempt = std::max<std::uint16_t>(attempt, 1);
  const Duration cap = bounded(rule.cap);
  if (cap == Duration(0)) return on_curve(rule, attempt);
  if (rule.cap_after != 0 && attempt > rule.cap_after) return cap;
  return std::min(on_curve(rule, attempt), cap);
}

DelayRange delay_range(const RetryRule& rule, std::uint16_t attempt) {
  return range_around(rule, base_delay(rule, attempt));
}

Duration jittered(const RetryRule& rule, Duration delay, Rng& rng) {
  const DelayRange range = range_around(rule, bounded(delay));
  if (range.low == range.high) return range.low;
  return Duration(rng.between(range.low.count(), range.high.count()));
}

std::optional<Timestamp> next_due(const RetryRule& rule, const RetryFacts& facts, Rng& rng) {
  if (rule.attempts_max != 0 && facts.attempts >= rule.attempts_max) return std::nullopt;

  Duration delay = jittered(rule, base_delay(rule, facts.attempts), rng);
  if (facts.retry_after) {
    delay = std::max(delay, std::min(*facts.retry_after, bounded(rule.retry_after_max)));
  }
  const Timestamp due = round_up(facts.now + delay, rule.tick);

  const Timestamp first = facts.first_attempt.is_set() ? facts.first_attempt : facts.now;
  if (rule.budget > Duration(0) && due - first - facts.held > rule.budget) return std::nullopt;
  return due;
}

}  // namespace postrider
