#include "postrider/core/rules/gates.h"

#include <algorithm>

#include "postrider/base/check.h"
#include "postrider/base/planted.h"

namespace postrider {
namespace {

constexpr std::uint64_t kToken = 1000;  // one token in thousandths

// A rate of n tokens per second is exactly n thousandths per millisecond, so nothing is ever
// rounded and nothing drifts.
constexpr bool has_tokens(const GateLimits& limits) { return limits.tokens_per_second != 0; }

// A bucket that holds less than one token would never open.
constexpr std::uint64_t capacity(const GateLimits& limits) {
  return std::max<std::uint64_t>(limits.tokens_max, 1) * kToken;
}

constexpr std::uint64_t divide_up(std::uint64_t value, std::uint64_t by) {
  return value / by + (value % by != 0 ? 1 : 0);
}

}  // namespace

static_assert(sizeof(GateState) <= 40);

std::uint64_t GateState::missing_at(const GateLimits& limits, Timestamp now) const {
  if (missing_ == 0 || now <= last_start_) return missing_;
  const auto elapsed = static_cast<std::uint64_t>((now - last_start_).count());
  if (elapsed >= divide_up(missing_, limits.tokens_per_second)) return 0;
  return missing_ - elapsed * limits.tokens_per_second;
}

GateState::Permit GateState::permit(const GateLimits& limits, Timestamp now) const {
  Timestamp again = closed_until_;
  if (last_start_.is_set() && limits.spacing > Duration(0)) {
    again = std::max(again, last_start_ + limits.spacing);
  }
  if (has_tokens(limits) && missing_ + kToken > capacity(limits)) {
    const std::uint64_t excess = missing_ + kToken - capacity(limits);
    const std::uint64_t wait = divide_up(excess, limits.tokens_per_second);
    again = std::max(again, last_start_ + Duration(static_cast<std::int64_t>(wait)));
  }
  if (again > now) return {.open = false, .again = again};
  if (planted(Bug::kCapCheckedThenTaken) && last_start_ == now) return {.open = true, .again = {}};
  return {.open = limits.in_use_max == 0 || in_use_ < limits.in_use_max, .again = {}};
}

void GateState::take(const GateLimits& limits, Timestamp now) {
  POSTRIDER_CHECK(permit(limits, now).open);
  missing_ = has_tokens(limits) ? missing_at(limits, now) + kToken : 0;
  last_start_ = std::max(last_start_, now);
  ++in_use_;
}

void GateState::occupy() { ++in_use_; }

void GateState::give_back() {
  POSTRIDER_CHECK(in_use_ > 0);
  --in_use_;
}

void GateState::close_until(Timestamp at) { closed_until_ = std::max(closed_until_, at); }

void GateState::drain(const GateLimits& limits, Timestamp now) {
  missing_ = has_tokens(limits) ? capacity(limits) : 0;
  last_start_ = std::max(last_start_, now);
}

Timestamp GateState::settled_at(const GateLimits& limits) const {
  Timestamp at = std::max(closed_until_, last_start_ + limits.spacing);
  if (has_tokens(limits) && missing_ > 0) {
    at = std::max(at, last_start_ + Duration(static_cast<std::int64_t>(
                                        divide_up(missing_, limits.tokens_per_second))));
  }
  return at;
}

void GateState::open() { closed_until_ = Timestamp(); }

}  // namespace postrider
