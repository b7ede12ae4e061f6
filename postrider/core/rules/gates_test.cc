#include "postrider/core/rules/gates.h"

#include <algorithm>
#include <deque>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

namespace postrider {
namespace {

constexpr Timestamp kStart(1'700'000'000'000);

// Starts as often as the gate allows, giving each slot back at once, and tells when.
std::vector<Duration> starts_within(const GateLimits& limits, Duration span) {
  GateState gate;
  std::vector<Duration> starts;
  for (Timestamp now = kStart; now < kStart + span;) {
    const GateState::Permit permit = gate.permit(limits, now);
    if (!permit.open) {
      EXPECT_GT(permit.again, now);
      now = permit.again;
      continue;
    }
    gate.take(limits, now);
    gate.give_back();
    starts.push_back(now - kStart);
  }
  return starts;
}

TEST(Gate, WithoutLimitsIsOpen) {
  GateState gate;
  for (std::uint32_t i = 0; i < 1000; ++i) {
    ASSERT_TRUE(gate.permit({}, kStart).open);
    gate.take({}, kStart);
  }
  EXPECT_EQ(gate.in_use(), 1000U);
}

// req: engine.gate.1
TEST(Gate, LetsNoMoreThroughThanItHasSlots) {
  const GateLimits limits{.in_use_max = 2};
  GateState gate;
  gate.take(limits, kStart);
  EXPECT_TRUE(gate.permit(limits, kStart).open);
  gate.take(limits, kStart);
  EXPECT_FALSE(gate.permit(limits, kStart).open);
  EXPECT_FALSE(gate.permit(limits, kStart).again.is_set())
      << "no time opens it, only a slot given back";
  gate.give_back();
  EXPECT_TRUE(gate.permit(limits, kStart).open);
}

TEST(Gate, LateNewsMayExceedTheCountButStartsMayNot) {
  const GateLimits limits{.in_use_max = 1};
  GateState gate;
  gate.occupy();
  gate.occupy();
  EXPECT_EQ(gate.in_use(), 2U);
  gate.give_back();
  EXPECT_FALSE(gate.permit(limits, kStart).open);
  gate.give_back();
  EXPECT_TRUE(gate.permit(limits, kStart).open);
}

// req: engine.gate.2
TEST(Gate, KeepsStartsApart) {
  const GateLimits limits{.spacing = 50ms};
  GateState gate;
  gate.take(limits, kStart);
  EXPECT_FALSE(gate.permit(limits, kStart + 49ms).open);
  EXPECT_EQ(gate.permit(limits, kStart + 49ms).again, kStart + 50ms);
  EXPECT_TRUE(gate.permit(limits, kStart + 50ms).open);
}

TEST(Gate, TheFirstStartNeedsNoDistance) {
  EXPECT_TRUE(GateState().permit({.spacing = 1h}, Timestamp(1)).open);
}

// req: engine.gate.3
TEST(Gate, HasTheBurstFirstAndThenTheRate) {
  const GateLimits limits{.tokens_per_second = 10, .tokens_max = 3};
  EXPECT_EQ(starts_within(limits, 401ms),
            (std::vector<Duration>{0ms, 0ms, 0ms, 100ms, 200ms, 300ms, 400ms}));
}

// req: engine.gate.3 — 333⅓ ms cannot be waited for, but the thirds are not lost
TEST(Gate, TokensDoNotDrift) {
  const GateLimits limits{.tokens_per_second = 3, .tokens_max = 1};
  EXPECT_EQ(starts_within(limits, 2001ms),
            (std::vector<Duration>{0ms, 334ms, 668ms, 1002ms, 1336ms, 1670ms}))
      << "a bucket of one cannot save the remainder";
  const std::size_t starts =
      starts_within({.tokens_per_second = 3, .tokens_max = 2}, 1'000'000ms).size();
  EXPECT_EQ(starts, 2U + 2999U) << "a bucket of two can";
}

TEST(Gate, ARateWithoutBurstLetsOneThroughAtATime) {
  EXPECT_EQ(starts_within({.tokens_per_second = 1000}, 3ms),
            (std::vector<Duration>{0ms, 1ms, 2ms}));
}

TEST(Gate, ABurstWithoutRateIsNoLimit) {
  GateState gate;
  const GateLimits limits{.tokens_max = 1};
  for (int i = 0; i < 5; ++i) gate.take(limits, kStart);
  EXPECT_TRUE(gate.permit(limits, kStart).open);
}

TEST(Gate, ALongIdleTimeFillsTheBucketAndNoMore) {
  const GateLimits limits{.tokens_per_second = UINT32_MAX, .tokens_max = 2};
  GateState gate;
  gate.take(limits, kStart);
  const Timestamp later = kStart + Duration(INT64_MAX / 2);
  gate.take(limits, later);
  gate.take(limits, later);
  EXPECT_FALSE(gate.permit(limits, later).open);
}

// req: engine.gate.4
TEST(Gate, ClosedUntilATimeLetsNothingThroughBefore) {
  GateState gate;
  gate.close_until(kStart + 10s);
  EXPECT_FALSE(gate.permit({}, kStart + 10s - 1ms).open);
  EXPECT_EQ(gate.permit({}, kStart).again, kStart + 10s);
  EXPECT_TRUE(gate.permit({}, kStart + 10s).open);
}

// req: engine.gate.4
TEST(Gate, ClosingAgainNeverOpensItEarlier) {
  GateState gate;
  gate.close_until(kStart + 10s);
  gate.close_until(kStart + 5s);
  EXPECT_EQ(gate.closed_until(), kStart + 10s);
  gate.close_until(kStart + 15s);
  EXPECT_EQ(gate.closed_until(), kStart + 15s);
  gate.open();
  EXPECT_TRUE(gate.permit({}, kStart).open);
}

TEST(Gate, SaysTheLatestOfItsReasons) {
  const GateLimits limits{
      .in_use_max = 1, .spacing = 50ms, .tokens_per_second = 10, .tokens_max = 1};
  GateState gate;
  gate.take(limits, kStart);
  EXPECT_EQ(gate.permit(limits, kStart).again, kStart + 100ms)
      << "tokens, although no slot is free either";
  gate.close_until(kStart + 1s);
  EXPECT_EQ(gate.permit(limits, kStart).again, kStart + 1s);
  EXPECT_FALSE(gate.permit(limits, kStart + 1s).open);
  EXPECT_FALSE(gate.permit(limits, kStart + 1s).again.is_set()) << "now only the slot is missing";
}

TEST(Gate, FollowsLimitsThatChange) {
  GateState gate;
  gate.take({.tokens_per_second = 1, .tokens_max = 1}, kStart);
  EXPECT_EQ(gate.permit({.tokens_per_second = 1, .tokens_max = 1}, kStart).again, kStart + 1s);
  EXPECT_EQ(gate.permit({.tokens_per_second = 10, .tokens_max = 1}, kStart).again, kStart + 100ms);
  EXPECT_TRUE(gate.permit({.tokens_per_second = 1, .tokens_max = 2}, kStart).open);
  EXPECT_TRUE(gate.permit({}, kStart).open);
}

// req: engine.gate.2, engine.gate.3 — what was used before the restart is not known, so all of it
TEST(Gate, ADrainedOneLetsThroughWhatTheRateAllowsFromThenOn) {
  const GateLimits limits{.spacing = 30ms, .tokens_per_second = 10, .tokens_max = 3};
  GateState gate;
  gate.drain(limits, kStart);
  EXPECT_EQ(gate.in_use(), 0U);
  EXPECT_EQ(gate.permit(limits, kStart).again, kStart + 100ms) << "the first token";
  EXPECT_EQ(gate.settled_at(limits), kStart + 300ms) << "all three";
  GateState spaced;
  spaced.drain({.spacing = 30ms}, kStart);
  EXPECT_EQ(spaced.permit({.spacing = 30ms}, kStart).again, kStart + 30ms);
  GateState free;
  free.drain({}, kStart);
  EXPECT_TRUE(free.permit({}, kStart).open);
}

TEST(Gate, IsSettledWhenNothingIsLeftToRemember) {
  const GateLimits limits{.spacing = 50ms, .tokens_per_second = 10, .tokens_max = 3};
  GateState gate;
  EXPECT_LT(gate.settled_at(limits), kStart) << "a new one";
  gate.take(limits, kStart);
  EXPECT_EQ(gate.settled_at(limits), kStart + 100ms) << "the token is back later than the spacing";
  EXPECT_EQ(gate.settled_at({.spacing = 50ms}), kStart + 50ms);
  gate.close_until(kStart + 1s);
  EXPECT_EQ(gate.settled_at(limits), kStart + 1s);
}

TEST(Gate, ASpacingOfAMillisecondIsKept) {
  constexpr GateLimits kClose{.spacing = 1ms};
  GateState gate;
  gate.take(kClose, Timestamp(1000));
  EXPECT_FALSE(gate.permit(kClose, Timestamp(1000)).open);
  EXPECT_TRUE(gate.permit(kClose, Timestamp(1001)).open);
}

TEST(Gate, OneThatWasDrainedWithoutARateOwesNothingWhenItGetsOne) {
  GateState gate;
  gate.drain({}, Timestamp(1000));
  EXPECT_TRUE(gate.permit({.tokens_per_second = 1, .tokens_max = 1}, Timestamp(1000)).open);
}

TEST(Gate, AStartBeforeTheLastOneGivesNoTokensBack) {
  constexpr GateLimits kSlow{.tokens_per_second = 1, .tokens_max = 2};
  GateState gate;
  gate.take(kSlow, Timestamp(10'000));
  gate.take(kSlow, Timestamp(5'000));  // a clock that was set back
  EXPECT_FALSE(gate.permit(kSlow, Timestamp(10'999)).open);
  EXPECT_TRUE(gate.permit(kSlow, Timestamp(11'000)).open);
}

TEST(GateDeathTest, AStartThroughAClosedGateIsABug) {
  GateState gate;
  gate.close_until(kStart + 1s);
  EXPECT_DEATH(gate.take({}, kStart), "broken invariant");
}

// req: engine.gate.6
TEST(GateDeathTest, GivingBackTwiceIsABug) {
  GateState gate;
  gate.take({}, kStart);
  gate.give_back();
  EXPECT_DEATH(gate.give_back(), "broken invariant");
}

GateLimits any_limits() {
  GateLimits limits;
  limits.in_use_max = *rc::gen::inRange<std::uint32_t>(0, 4);
  limits.spacing = Duration(*rc::gen::element(0, 0, 1, 7, 1000));
  limits.tokens_per_second = *rc::gen::element<std::uint32_t>(0, 1, 3, 7, 999, 1000, 1001);
  limits.tokens_max = *rc::gen::inRange<std::uint32_t>(0, 6);
  return limits;
}

// What a stranger sees: the times of the starts alone.
void check_starts(const GateLimits& limits, const std::vector<Timestamp>& starts) {
  const std::uint64_t burst = std::max<std::uint64_t>(limits.tokens_max, 1);
  for (std::size_t first = 0; first < starts.size(); ++first) {
    for (std::size_t last = first + 1; last < starts.size(); ++last) {
      const Duration span = starts[last] - starts[first];
      RC_ASSERT(span >= limits.spacing * static_cast<std::int64_t>(last - first));
      if (limits.tokens_per_second == 0) continue;
      const std::uint64_t refilled =
          static_cast<std::uint64_t>(span.count()) * limits.tokens_per_second;
      RC_ASSERT((last - first + 1) * 1000 <= burst * 1000 + refilled);
    }
  }
}

// req: engine.gate.1, engine.gate.2, engine.gate.3, engine.gate.4
RC_GTEST_PROP(Gate, StartsObeyAllLimitsAtOnce, ()) {
  const GateLimits limits = any_limits();
  GateState gate;
  Timestamp now = kStart;
  Timestamp closed;
  std::vector<Timestamp> starts;
  for (int i = 0; i < 60; ++i) {
    const int choice = *rc::gen::inRange(0, 10);
    if (choice < 6) {
      const GateState::Permit permit = gate.permit(limits, now);
      if (permit.open) {
        RC_ASSERT(now >= closed);
        RC_ASSERT(!permit.again.is_set());
        gate.take(limits, now);
        starts.push_back(now);
        if (limits.in_use_max != 0) RC_ASSERT(gate.in_use() <= limits.in_use_max);
      } else if (permit.again.is_set()) {
        RC_ASSERT(permit.again > now);
        // The time is exact: a tick earlier the gate is closed for a reason of time, at it for a
        // slot at most.
        RC_ASSERT(!gate.permit(limits, permit.again - 1ms).open);
        RC_ASSERT(gate.permit(limits, permit.again - 1ms).again == permit.again);
        RC_ASSERT(!gate.permit(limits, permit.again).again.is_set());
        if (choice % 2 == 0) now = permit.again;
      } else {
        RC_ASSERT(gate.in_use() >= limits.in_use_max);
      }
    } else if (choice < 8) {
      if (gate.in_use() > 0) gate.give_back();
    } else if (choice == 8) {
      now = now + Duration(*rc::gen::inRange(0, 400));
    } else {
      const Timestamp until = now + Duration(*rc::gen::inRange(-100, 100));
      gate.close_until(until);
      closed = std::max(closed, until);
    }
  }
  check_starts(limits, starts);
}

TEST(Gate, OwesNothingForStartsThatNeededNoToken) {
  const GateLimits free{};
  const GateLimits one{.tokens_per_second = 1, .tokens_max = 1};
  GateState taken;
  taken.take(free, Timestamp(1000));
  EXPECT_TRUE(taken.permit(one, Timestamp(1000)).open);
  GateState drained;
  drained.drain(free, Timestamp(1000));
  EXPECT_TRUE(drained.permit(one, Timestamp(1000)).open);
}

}  // namespace
}  // namespace postrider
