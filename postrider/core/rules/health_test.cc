#include "postrider/core/rules/health.h"

#include <algorithm>
#include <set>
#include <utility>

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

namespace postrider {
namespace {

constexpr Timestamp kHealthStart(1'700'000'000'000);
constexpr HealthRule kRule{
    .strikes_max = 3, .wait_base = 5s, .wait_max = 60s, .disable_after = 24h};

// Rules without jitter draw nothing.
HealthChange apply(Route& route, HealthOn on, const HealthRule& rule, Timestamp now) {
  Rng rng(1);
  const HealthChange change = postrider::apply(route, on, rule, now, rng);
  EXPECT_TRUE(rule.jitter_low < rule.jitter_high || rng.next() == Rng(1).next());
  return change;
}

// req: engine.health.1
TEST(HealthTable, HasOneRowForEachStateAndSignal) {
  std::set<std::pair<Health, HealthOn>> pairs;
  for (const HealthRow& row : health_table()) {
    EXPECT_TRUE(pairs.emplace(row.from, row.on).second);
    EXPECT_FALSE(row.why.empty());
  }
  EXPECT_EQ(pairs.size(), kHealths * kHealthSignals);
}

// req: engine.health.1
TEST(HealthTable, LeadsFromEveryHealthToEveryOther) {
  for (std::size_t start = 0; start < kHealths; ++start) {
    std::set<Health> reached{static_cast<Health>(start)};
    for (std::size_t round = 0; round < kHealths; ++round) {
      for (const HealthRow& row : health_table()) {
        if (reached.contains(row.from)) reached.insert(row.to);
      }
    }
    EXPECT_EQ(reached.size(), kHealths) << start;
  }
}

// A route in `health`, brought there by signals alone.
Route route_in(Health health, const HealthRule& rule = kRule) {
  Route route;
  switch (health) {
    case Health::kNormal: break;
    case Health::kWait: apply(route, HealthOn::kTrip, rule, kHealthStart); break;
    case Health::kProbe:
      apply(route, HealthOn::kTrip, rule, kHealthStart);
      apply(route, HealthOn::kOpen, rule, kHealthStart);
      break;
    case Health::kPaused: apply(route, HealthOn::kPause, rule, kHealthStart); break;
    case Health::kDisabled: apply(route, HealthOn::kGone, rule, kHealthStart); break;
    case Health::kDeep: apply(route, HealthOn::kDeep, rule, kHealthStart); break;
    case Health::kCatchUp:
      apply(route, HealthOn::kDeep, rule, kHealthStart);
      apply(route, HealthOn::kOpen, rule, kHealthStart);
      break;
  }
  EXPECT_EQ(route.health, health);
  return route;
}

// req: engine.health.1 — the table that is shown is the one that runs
TEST(HealthApply, FollowsTheTable) {
  for (const HealthRow& row : health_table()) {
    Route route = route_in(row.from);
    route.strikes = 0;
    const HealthChange change = apply(route, row.on, kRule, kHealthStart + 1s);
    EXPECT_EQ(change.before, row.from) << name_of(row.from) << " " << name_of(row.on);
    EXPECT_EQ(change.after, row.to) << name_of(row.from) << " " << name_of(row.on);
    EXPECT_EQ(route.health, row.to) << name_of(row.from) << " " << name_of(row.on);
    EXPECT_EQ(change.changed(), row.from != row.to);
    EXPECT_EQ(route.health_since == kHealthStart + 1s, change.changed());
  }
}

TEST(HealthApply, NotesSinceWhenOnlyOnAChange) {
  Route route = route_in(Health::kPaused);
  apply(route, HealthOn::kPause, kRule, kHealthStart + 1h);
  EXPECT_EQ(route.health_since, kHealthStart);
}

// req: engine.health.2
TEST(HealthApply, TheConfiguredNumberOfStrikesCloses) {
  Route route;
  EXPECT_FALSE(apply(route, HealthOn::kFail, kRule, kHealthStart).changed());
  EXPECT_FALSE(apply(route, HealthOn::kFail, kRule, kHealthStart + 1s).changed());
  EXPECT_FALSE(route.closed_until.is_set());
  EXPECT_EQ(apply(route, HealthOn::kFail, kRule, kHealthStart + 2s).after, Health::kWait);
  EXPECT_EQ(route.closed_until, kHealthStart + 2s + 5s);
  EXPECT_EQ(route.waits, 1);
}

// req: engine.health.2
TEST(HealthApply, OneStrikeCanBeEnough) {
  Route route;
  EXPECT_EQ(apply(route, HealthOn::kFail, {.strikes_max = 1, .wait_base = 1s}, kHealthStart).after,
            Health::kWait);
}

// req: engine.health.2
TEST(HealthApply, StrikesThatAreNotInARowDoNotClose) {
  for (const HealthOn between : {HealthOn::kOk, HealthOn::kSeen}) {
    Route route;
    for (int i = 0; i < 10; ++i) {
      apply(route, HealthOn::kFail, kRule, kHealthStart);
      apply(route, HealthOn::kFail, kRule, kHealthStart);
      apply(route, between, kRule, kHealthStart);
      EXPECT_EQ(route.strikes, 0);
    }
    EXPECT_EQ(route.health, Health::kNormal);
  }
}

TEST(HealthApply, WithoutALimitNoStrikeCloses) {
  Route route;
  for (int i = 0; i < 70'000; ++i) apply(route, HealthOn::kFail, {}, kHealthStart + Duration(i));
  EXPECT_EQ(route.health, Health::kNormal);
  EXPECT_EQ(route.strikes, UINT16_MAX) << "and the count does not run over";
}

// req: engine.health.3
TEST(HealthApply, EachFailedProbeDoublesTheWait) {
  Route route = route_in(Health::kWait);
  Timestamp now = kHealthStart;
  for (const Duration want : {5s, 10s, 20s, 40s, 60s, 60s}) {
    EXPECT_EQ(route.closed_until - now, want);
    now = route.closed_until;
    EXPECT_EQ(apply(route, HealthOn::kOpen, kRule, now).after, Health::kProbe);
    EXPECT_FALSE(route.closed_until.is_set());
    now = now + 1s;
    EXPECT_EQ(apply(route, HealthOn::kFail, kRule, now).after, Health::kWait);
  }
}

// req: engine.health.3
TEST(HealthWait, IsDoubledUpToItsMaximum) {
  EXPECT_EQ(wait_for(kRule, 1), 5s);
  EXPECT_EQ(wait_for(kRule, 2), 10s);
  EXPECT_EQ(wait_for(kRule, 4), 40s);
  EXPECT_EQ(wait_for(kRule, 5), 60s);
  EXPECT_EQ(wait_for(kRule, 65535), 60s);
  EXPECT_EQ(wait_for({.wait_base = 5s, .wait_max = 3s}, 1), 3s);
  EXPECT_EQ(wait_for({.wait_base = 5s}, 4), 40s) << "no maximum";
  EXPECT_EQ(wait_for({}, 65535), 0s);
  EXPECT_EQ(wait_for({.wait_base = 5s}, 65535), Duration(INT64_MAX / 1024)) << "and no overflow";
  EXPECT_EQ(wait_for({.wait_base = 5s, .wait_max = 1ms}, 1), 1ms);
  EXPECT_EQ(wait_for({.wait_base = 1ms}, 3), 4ms);
  EXPECT_EQ(wait_for({.wait_base = -1ms}, 1), 0ms);
}

// req: engine.health.3
TEST(HealthApply, CountsAsFarAsItCanAndNoFurther) {
  Route route;
  Timestamp now(1'000'000);
  for (int i = 0; i < UINT16_MAX + 2; ++i) {
    now = now + 1ms;
    apply(route, HealthOn::kFail, {}, now);
    ASSERT_EQ(route.strikes, std::min(i + 1, int{UINT16_MAX}));
  }
}

// req: engine.health.8
TEST(HealthApply, OneMillisecondOfFailingMayBeTooLong) {
  Route route;
  const HealthRule rule{.disable_after = 1ms};
  EXPECT_EQ(apply(route, HealthOn::kFail, rule, Timestamp(1000)).after, Health::kNormal);
  EXPECT_EQ(apply(route, HealthOn::kFail, rule, Timestamp(1001)).after, Health::kDisabled);
}

// req: engine.health.6, engine.health.11
TEST(HealthApply, ADeliveryClearsStrikesAndWaits) {
  for (const Health from : {Health::kNormal, Health::kWait, Health::kProbe}) {
    Route route = route_in(from);
    apply(route, HealthOn::kFail, kRule, kHealthStart);
    EXPECT_EQ(apply(route, HealthOn::kOk, kRule, kHealthStart + 1s).after, Health::kNormal)
        << name_of(from);
    EXPECT_EQ(route.strikes, 0);
    EXPECT_EQ(route.waits, 0);
    EXPECT_FALSE(route.closed_until.is_set());
    EXPECT_FALSE(route.failing_since.is_set());
    EXPECT_EQ(route.seen_at, kHealthStart + 1s);
  }
}

// req: engine.health.7, engine.wake.1
TEST(HealthApply, ContactBringsTheProbeForwardAndClearsNoWait) {
  Route route = route_in(Health::kWait);
  const Route before = route;
  EXPECT_EQ(apply(route, HealthOn::kSeen, kRule, kHealthStart + 1s).after, Health::kProbe);
  EXPECT_EQ(route.strikes, before.strikes);
  EXPECT_EQ(route.waits, before.waits);
  EXPECT_EQ(route.failing_since, before.failing_since);
  EXPECT_EQ(route.seen_at, kHealthStart + 1s);
  EXPECT_EQ(apply(route, HealthOn::kSeen, kRule, kHealthStart + 2s).after, Health::kProbe);
  apply(route, HealthOn::kFail, kRule, kHealthStart + 2s);
  EXPECT_EQ(route.closed_until, kHealthStart + 2s + 10s) << "the doubling goes on";
}

TEST(HealthApply, LateFailuresNeitherLengthenNorDoubleTheWait) {
  Route route = route_in(Health::kWait);
  const Route before = route;
  for (int i = 0; i < 20; ++i) {
    EXPECT_FALSE(apply(route, HealthOn::kFail, kRule, kHealthStart + 1s).changed());
  }
  EXPECT_EQ(route.closed_until, before.closed_until);
  EXPECT_EQ(route.waits, before.waits);
  EXPECT_EQ(route.health_since, before.health_since);
}

// req: engine.health.8
TEST(HealthApply, FailingForTooLongDisables) {
  Route route;
  apply(route, HealthOn::kFail, {.disable_after = 24h}, kHealthStart);
  EXPECT_EQ(apply(route, HealthOn::kFail, {.disable_after = 24h}, kHealthStart + 24h - 1ms).after,
            Health::kNormal);
  EXPECT_EQ(apply(route, HealthOn::kFail, {.disable_after = 24h}, kHealthStart + 24h).after,
            Health::kDisabled);
}

// req: engine.health.8
TEST(HealthApply, OneSuccessBeginsTheTimeAnew) {
  Route route;
  apply(route, HealthOn::kFail, kRule, kHealthStart);
  apply(route, HealthOn::kOk, kRule, kHealthStart + 23h);
  apply(route, HealthOn::kFail, kRule, kHealthStart + 24h);
  EXPECT_EQ(route.health, Health::kNormal);
  EXPECT_EQ(route.failing_since, kHealthStart + 24h);
}

// req: engine.health.8 — contact is no success
TEST(HealthApply, ContactDoesNotBeginTheTimeAnew) {
  Route route;
  apply(route, HealthOn::kFail, kRule, kHealthStart);
  apply(route, HealthOn::kSeen, kRule, kHealthStart + 23h);
  EXPECT_EQ(apply(route, HealthOn::kFail, kRule, kHealthStart + 24h).after, Health::kDisabled);
}

// req: engine.health.8
TEST(HealthApply, AProbeThatFailsForTooLongDisables) {
  Route route = route_in(Health::kProbe);
  EXPECT_EQ(apply(route, HealthOn::kFail, kRule, kHealthStart + 24h).after, Health::kDisabled);
  EXPECT_FALSE(route.closed_until.is_set());
  EXPECT_EQ(route.held_since, kHealthStart + 24h);
}

TEST(HealthApply, WithoutATimeNothingIsDisabledByFailing) {
  Route route;
  apply(route, HealthOn::kFail, {}, kHealthStart);
  EXPECT_FALSE(apply(route, HealthOn::kFail, {}, kHealthStart + 24h * 10'000).changed());
}

// req: engine.health.9
TEST(HealthApply, GoneDisablesFromEverywhere) {
  for (const Health from : {Health::kNormal, Health::kWait, Health::kProbe, Health::kPaused,
                            Health::kDisabled, Health::kDeep, Health::kCatchUp}) {
    Route route = route_in(from);
    EXPECT_EQ(apply(route, HealthOn::kGone, kRule, kHealthStart + 1s).after, Health::kDisabled)
        << name_of(from);
    EXPECT_FALSE(route.closed_until.is_set());
  }
}

// req: engine.health.12
TEST(HealthApply, HeldTimeIsSummedUp) {
  Route route;
  EXPECT_EQ(held_time(route, kHealthStart), 0s);
  apply(route, HealthOn::kPause, kRule, kHealthStart);
  EXPECT_EQ(held_time(route, kHealthStart + 10s), 10s);
  apply(route, HealthOn::kGone, kRule, kHealthStart + 10s);
  EXPECT_EQ(held_time(route, kHealthStart + 15s), 15s) << "disabled is held as well, without a gap";
  apply(route, HealthOn::kResume, kRule, kHealthStart + 20s);
  EXPECT_EQ(held_time(route, kHealthStart + 1h), 20s);
  EXPECT_FALSE(route.held_since.is_set());
  apply(route, HealthOn::kPause, kRule, kHealthStart + 2h);
  EXPECT_EQ(held_time(route, kHealthStart + 2h + 5s), 25s);
  EXPECT_EQ(held_time(route, kHealthStart + 1h), 20s) << "a time before the pause";
}

// req: engine.health.12
TEST(HealthApply, HeldTimeIsNotCountedAsFailing) {
  Route route;
  apply(route, HealthOn::kFail, kRule, kHealthStart);
  apply(route, HealthOn::kPause, kRule, kHealthStart + 1h);
  apply(route, HealthOn::kResume, kRule, kHealthStart + 48h);
  EXPECT_EQ(apply(route, HealthOn::kFail, kRule, kHealthStart + 49h).after, Health::kNormal);
  EXPECT_EQ(route.failing_since, kHealthStart + 49h);
}

// req: engine.pause.1
TEST(HealthApply, OutcomesDuringAPauseOnlyKeepTheBooks) {
  for (const Health held : {Health::kPaused, Health::kDisabled}) {
    Route route = route_in(held);
    for (int i = 0; i < 10; ++i) apply(route, HealthOn::kFail, kRule, kHealthStart + 48h * i);
    EXPECT_EQ(route.health, held);
    EXPECT_EQ(route.strikes, 10);
    EXPECT_TRUE(route.failing_since.is_set());
    apply(route, HealthOn::kOk, kRule, kHealthStart + 1000h);
    EXPECT_EQ(route.health, held);
    EXPECT_EQ(route.strikes, 0);
    EXPECT_FALSE(route.failing_since.is_set());
    EXPECT_EQ(route.seen_at, kHealthStart + 1000h);
  }
}

// req: engine.resume.1
TEST(HealthApply, ResumeStartsAfresh) {
  Route route = route_in(Health::kProbe);
  apply(route, HealthOn::kFail, kRule, kHealthStart);
  apply(route, HealthOn::kPause, kRule, kHealthStart + 1s);
  EXPECT_FALSE(route.closed_until.is_set());
  EXPECT_EQ(apply(route, HealthOn::kResume, kRule, kHealthStart + 2s).after, Health::kNormal);
  EXPECT_EQ(route.waits, 0);
  EXPECT_EQ(route.strikes, 0);
  EXPECT_FALSE(route.failing_since.is_set());
  EXPECT_FALSE(apply(route, HealthOn::kFail, kRule, kHealthStart + 3s).changed())
      << "one strike does not close it again";
}

// req: engine.resume.3
TEST(HealthApply, ResumeOfAWaitingRouteProbesAtOnce) {
  Route route = route_in(Health::kWait);
  EXPECT_EQ(apply(route, HealthOn::kResume, kRule, kHealthStart + 1s).after, Health::kProbe);
  EXPECT_FALSE(route.closed_until.is_set());
}

// req: engine.wake.3
TEST(HealthApply, NothingButResumeOpensAHeldRoute) {
  for (const Health held : {Health::kPaused, Health::kDisabled}) {
    for (std::size_t signal = 0; signal < kHealthSignals; ++signal) {
      const auto on = static_cast<HealthOn>(signal);
      Route route = route_in(held);
      const Health after = apply(route, on, kRule, kHealthStart + 1s).after;
      EXPECT_EQ(after == Health::kPaused || after == Health::kDisabled, on != HealthOn::kResume)
          << name_of(on);
    }
  }
}

// req: engine.health.3, engine.health.6, engine.health.12 — the books agree with the health after
// any history
RC_GTEST_PROP(HealthApply, BooksAgreeWithTheHealth, ()) {
  HealthRule rule;
  rule.strikes_max = *rc::gen::inRange<std::uint16_t>(0, 4);
  rule.wait_base = Duration(*rc::gen::inRange(0, 10'000));
  rule.wait_max = Duration(*rc::gen::inRange(0, 60'000));
  rule.disable_after = Duration(*rc::gen::inRange(0, 200'000));
  Route route;
  Timestamp now = kHealthStart;
  Duration held{0};
  for (int i = 0; i < 60; ++i) {
    const Duration passed(*rc::gen::inRange(0, 20'000));
    const bool was_held = route.health == Health::kPaused || route.health == Health::kDisabled;
    if (was_held) held += passed;
    now = now + passed;
    const Route before = route;
    const auto on = static_cast<HealthOn>(*rc::gen::inRange<int>(0, kHealthSignals));
    const HealthChange change = apply(route, on, rule, now);

    const bool is_held = route.health == Health::kPaused || route.health == Health::kDisabled;
    RC_ASSERT(change.before == before.health);
    RC_ASSERT(change.after == route.health);
    const bool is_closed = route.health == Health::kWait || route.health == Health::kDeep;
    RC_ASSERT(route.closed_until.is_set() == is_closed);
    RC_ASSERT(route.held_since.is_set() == is_held);
    RC_ASSERT(held_time(route, now) == held);
    if (change.changed() && is_closed) {
      RC_ASSERT(route.waits == before.waits + 1);
      RC_ASSERT(route.closed_until == now + wait_for(rule, route.waits));
    }
    RC_ASSERT(route.strikes == 0 || route.failing_since.is_set());
  }
}

constexpr HealthRule kDeepRule{.strikes_max = 1,
                               .wait_base = 5s,
                               .wait_max = 7 * 24h,
                               .jitter_low = 800,
                               .jitter_high = 1400,
                               .deep_after = 1h};

// A route that waited and failed again, with this wait stored.
Route route_after(Duration interval, std::uint16_t waits = 3) {
  Route route;
  route.health = Health::kProbe;
  route.waits = waits;
  route.interval = interval;
  route.failing_since = kHealthStart;
  return route;
}

// req: engine.deep.1
TEST(HealthDeep, BeginsBeyondTheBoundAndNotAtIt) {
  HealthRule rule = kDeepRule;
  rule.jitter_low = rule.jitter_high = 1000;
  Route at = route_after(30min);
  EXPECT_EQ(apply(at, HealthOn::kFail, rule, kHealthStart + 1h).after, Health::kWait);
  EXPECT_EQ(at.interval, 1h);
  Route beyond = route_after(30min + 1ms);
  EXPECT_EQ(apply(beyond, HealthOn::kFail, rule, kHealthStart + 1h).after, Health::kDeep);
  EXPECT_EQ(beyond.closed_until, kHealthStart + 2h + 2ms);
  rule.wait_base = 2h;
  Route first;
  EXPECT_EQ(apply(first, HealthOn::kFail, rule, kHealthStart).after, Health::kDeep);
}

// req: engine.deep.2
TEST(HealthDeep, GrowsFromTheStoredInterval) {
  Rng rng(7);
  std::set<Duration> seen;
  for (int i = 0; i < 2000; ++i) {
    const Duration next = next_interval(kDeepRule, route_after(100s), rng);
    EXPECT_GE(next, 160s);
    EXPECT_LE(next, 280s);
    seen.insert(next);
  }
  EXPECT_GT(seen.size(), 1900U);
  EXPECT_LT(*seen.begin(), 161s);
  EXPECT_GT(*seen.rbegin(), 279s);
}

// req: engine.deep.2
TEST(HealthDeep, TakesTheFirstWaitAsItIsAndStaysAtTheMaximum) {
  Rng rng(7);
  EXPECT_EQ(next_interval(kDeepRule, Route(), rng), 5s);
  EXPECT_EQ(next_interval(kDeepRule, route_after(7 * 24h), rng), 7 * 24h);
  EXPECT_EQ(next_interval({.wait_base = 5s, .deep_after = 1h},
                          route_after(kHealthStart - Timestamp(0)), rng),
            2 * (kHealthStart - Timestamp(0)))
      << "no maximum";
  EXPECT_EQ(next_interval({.wait_base = 5s, .factor_percent = 65'535},
                          route_after(Duration(INT64_MAX / 1024)), rng),
            Duration(INT64_MAX / 1024))
      << "and no overflow";
  EXPECT_EQ(next_interval({.wait_base = 5s, .deep_after = 1h}, route_after(Duration(0), 4), rng),
            80s)
      << "stored by a rule that only doubled";
}

// req: engine.deep.2
TEST(HealthDeep, BeginsAnewAfterADelivery) {
  for (const HealthOn on : {HealthOn::kOk, HealthOn::kResume}) {
    Route route = route_after(2h);
    apply(route, on, kDeepRule, kHealthStart);
    EXPECT_EQ(route.interval, Duration(0));
    EXPECT_EQ(route.waits, 0);
  }
}

// req: engine.deep.2
RC_GTEST_PROP(HealthDeep, EachWaitFollowsFromTheLast, ()) {
  Rng rng(*rc::gen::arbitrary<std::uint64_t>());
  Route route;
  Timestamp now = kHealthStart;
  postrider::apply(route, HealthOn::kFail, kDeepRule, now, rng);
  RC_ASSERT(route.interval == 5s);
  for (int i = 0; i < 40; ++i) {
    const Duration last = route.interval;
    now = route.closed_until;
    postrider::apply(route, HealthOn::kOpen, kDeepRule, now, rng);
    postrider::apply(route, HealthOn::kFail, kDeepRule, now, rng);
    RC_ASSERT(route.interval >= std::min<Duration>(last * 16 / 10, kDeepRule.wait_max));
    RC_ASSERT(route.interval <= std::min<Duration>(last * 28 / 10, kDeepRule.wait_max));
    RC_ASSERT(route.closed_until == now + route.interval);
    // A catch-up that fails is deep again, however short the wait is.
    RC_ASSERT((route.health == Health::kDeep) == (route.interval > kDeepRule.deep_after));
  }
}

// req: engine.deep.5
TEST(HealthDeep, LetsOneAttemptThroughUntilOneSucceeds) {
  Route route = route_in(Health::kDeep);
  EXPECT_FALSE(probes(route));
  apply(route, HealthOn::kOpen, kRule, kHealthStart + 1h);
  EXPECT_EQ(route.health, Health::kCatchUp);
  EXPECT_TRUE(probes(route));
  apply(route, HealthOn::kOk, kRule, kHealthStart + 1h);
  EXPECT_EQ(route.health, Health::kCatchUp);
  EXPECT_FALSE(probes(route));
  EXPECT_EQ(apply(route, HealthOn::kFail, kRule, kHealthStart + 1h).after, Health::kDeep);
  EXPECT_EQ(route.closed_until, kHealthStart + 1h + kRule.wait_base) << "the success began anew";
}

// req: engine.deep.9
TEST(HealthDeep, IsUnknownToRulesWithoutABound) {
  Route route;
  Timestamp now = kHealthStart;
  const HealthRule rule{.strikes_max = 1, .wait_base = 1h, .wait_max = 1000h};
  for (int i = 0; i < 30; ++i) {
    EXPECT_EQ(apply(route, HealthOn::kFail, rule, now).after, Health::kWait);
    EXPECT_EQ(route.interval, Duration(0)) << "and nothing is stored for it";
    now = route.closed_until;
    EXPECT_EQ(apply(route, HealthOn::kOpen, rule, now).after, Health::kProbe);
  }
}

}  // namespace
}  // namespace postrider
