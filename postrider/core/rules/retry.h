// When the next attempt comes. Pure arithmetic on a RetryRule.
#pragma once

#include <cstdint>
#include <optional>

#include "postrider/base/rng.h"
#include "postrider/base/time.h"
#include "postrider/model/policy.h"

namespace postrider {

// The rule's delay after failed attempt `attempt` ≥ 1, before jitter. Never overflows, never
// exceeds the cap.
Duration base_delay(const RetryRule& rule, std::uint16_t attempt);

// The earliest and the latest delay that jitter can make of it; inclusive. For the simulator's
// oracle and for `explain`.
struct DelayRange {
  Duration low;
  Duration high;
};
DelayRange delay_range(const RetryRule& rule, std::uint16_t attempt);

Duration jittered(const RetryRule& rule, Duration delay, Rng& rng);

struct RetryFacts {
  std::uint16_t attempts = 0;  // started so far, ≥ 1
  Timestamp now;
  Timestamp first_attempt;
  Duration held{0};  // paused or disabled since the first attempt: not on the message's account
  std::optional<Duration> retry_after;  // the far side's wish
};

// When the next attempt is due; nullopt when the rule is exhausted: the attempts are spent, or the
// due time would fall behind the budget. The wish of the far side is honoured up to retry_after_max
// and never shortens the rule's delay.
std::optional<Timestamp> next_due(const RetryRule& rule, const RetryFacts& facts, Rng& rng);

}  // namespace postrider
