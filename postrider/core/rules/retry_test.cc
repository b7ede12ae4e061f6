#include "postrider/core/rules/retry.h"

#include <array>
#include <set>
#include <string>

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

namespace postrider {
namespace {

RetryRule list_rule(std::initializer_list<Duration> steps) {
  RetryRule rule{.curve = Curve::kList};
  for (const Duration step : steps) rule.steps[rule.steps_used++] = step;
  return rule;
}

RetryRule with_cap(RetryRule rule, Duration cap, std::uint16_t cap_after = 0) {
  rule.cap = cap;
  rule.cap_after = cap_after;
  return rule;
}

RetryRule with_jitter(Jitter jitter, std::uint8_t percent, Duration base = 10s) {
  return {.curve = Curve::kFixed, .base = base, .jitter = jitter, .jitter_percent = percent};
}

const RetryRule kFixedRule{.curve = Curve::kFixed, .base = 7s};
const RetryRule kLinearRule{.curve = Curve::kLinear, .base = 2s};
const RetryRule kExponentialRule{.curve = Curve::kExponential, .base = 5s};
const RetryRule kMillisecondRule{.curve = Curve::kExponential, .base = 1ms};
constexpr Duration kLongest{INT64_MAX / 1024};

struct DelayCase {
  std::string name;
  RetryRule rule;
  std::uint16_t attempt;
  Duration want;
};

class RetryDelayTest : public ::testing::TestWithParam<DelayCase> {};

// req: engine.retry.1, engine.retry.2, engine.retry.3
// req: engine.retry.4, engine.retry.5, engine.retry.6
TEST_P(RetryDelayTest, IsWhatTheRuleSays) {
  EXPECT_EQ(base_delay(GetParam().rule, GetParam().attempt), GetParam().want);
}

INSTANTIATE_TEST_SUITE_P(
    Curves, RetryDelayTest,
    ::testing::Values(DelayCase{"FixedFirst", kFixedRule, 1, 7s},
                      DelayCase{"FixedLate", kFixedRule, 65535, 7s},
                      DelayCase{"LinearFirst", kLinearRule, 1, 2s},
                      DelayCase{"LinearThird", kLinearRule, 3, 6s},
                      DelayCase{"LinearLast", kLinearRule, 65535, 131'070s},
                      DelayCase{"ExponentialFirst", kExponentialRule, 1, 5s},
                      DelayCase{"ExponentialSecond", kExponentialRule, 2, 10s},
                      DelayCase{"ExponentialFifth", kExponentialRule, 5, 80s},
                      DelayCase{"ListFirst", list_rule({5s, 30s, 2min}), 1, 5s},
                      DelayCase{"ListLastStep", list_rule({5s, 30s, 2min}), 3, 2min},
                      DelayCase{"ListForEverAfter", list_rule({5s, 30s, 2min}), 40, 2min},
                      DelayCase{"ListWithoutSteps", list_rule({}), 3, 0s},
                      DelayCase{"ListOfOneStep", list_rule({5s}), 1, 5s},
                      DelayCase{"OfNothing", {.curve = Curve::kExponential}, 65535, 0ms},
                      DelayCase{"OfAMillisecond", kMillisecondRule, 3, 4ms},
                      DelayCase{"NeverLongerThanItsBound", kMillisecondRule, 54, kLongest},
                      DelayCase{"NeverLongerBeyondAllBits", kMillisecondRule, 63, kLongest},
                      DelayCase{"NeverLongerFromTheStart", {.base = Duration::max()}, 1, kLongest},
                      DelayCase{"NeverNegative", {.base = -5ms}, 1, 0ms},
                      DelayCase{"NoAttemptYetCountsAsTheFirst", kLinearRule, 0, 2s}),
    [](const auto& one) { return one.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Caps, RetryDelayTest,
    ::testing::Values(DelayCase{"LinearBelow", with_cap(kLinearRule, 6s), 2, 4s},
                      DelayCase{"LinearAt", with_cap(kLinearRule, 6s), 3, 6s},
                      DelayCase{"LinearAbove", with_cap(kLinearRule, 6s), 4, 6s},
                      DelayCase{"ExponentialFarAbove", with_cap(kExponentialRule, 1h), 64, 1h},
                      DelayCase{"ExponentialBeyondAllBits", with_cap(kExponentialRule, 1h), 65535,
                                1h},
                      DelayCase{"FixedAbove", with_cap(kFixedRule, 3s), 1, 3s},
                      DelayCase{"ListAbove", with_cap(list_rule({5s, 30s}), 10s), 2, 10s},
                      DelayCase{"OfOneMillisecond", with_cap(kFixedRule, 1ms), 1, 1ms},
                      DelayCase{"CapAfterTheFirst", with_cap(kFixedRule, 1h, 1), 2, 1h},
                      DelayCase{"CapAfterNotYet", with_cap(kFixedRule, 1h, 3), 3, 7s},
                      DelayCase{"CapAfterFrom", with_cap(kFixedRule, 1h, 3), 4, 1h},
                      DelayCase{"CapAfterWithoutCapIsNothing", with_cap(kFixedRule, 0s, 3), 4, 7s}),
    [](const auto& one) { return one.param.name; });

RetryRule any_rule() {
  RetryRule rule;
  rule.curve = *rc::gen::element(Curve::kFixed, Curve::kLinear, Curve::kExponential, Curve::kList);
  const auto delay = [] {
    return Duration(
        *rc::gen::weightedOneOf<std::int64_t>({{8, rc::gen::inRange<std::int64_t>(0, 100'000'000)},
                                               {1, rc::gen::arbitrary<std::int64_t>()}}));
  };
  rule.base = delay();
  rule.steps_used = *rc::gen::inRange<std::uint8_t>(0, RetryRule::kSteps + 1);
  for (std::size_t i = 0; i < rule.steps_used; ++i) rule.steps[i] = delay();
  rule.cap = delay();
  rule.cap_after = *rc::gen::inRange<std::uint16_t>(0, 20);
  rule.jitter = *rc::gen::element(Jitter::kNone, Jitter::kAround, Jitter::kAbove, Jitter::kFull,
                                  Jitter::kFactor);
  rule.jitter_low = *rc::gen::arbitrary<std::uint16_t>();
  rule.jitter_high = *rc::gen::arbitrary<std::uint16_t>();
  rule.jitter_percent = *rc::gen::arbitrary<std::uint8_t>();
  rule.tick = Duration(*rc::gen::inRange<std::int64_t>(0, 5000));
  rule.retry_after_max = Duration(*rc::gen::inRange<std::int64_t>(0, 4'000'000));
  return rule;
}

std::uint16_t any_attempt() {
  return *rc::gen::weightedOneOf<std::uint16_t>(
      {{3, rc::gen::inRange<std::uint16_t>(1, 100)}, {1, rc::gen::arbitrary<std::uint16_t>()}});
}

// req: engine.retry.3, engine.retry.5 — also for the wildest numbers a setting could hold
RC_GTEST_PROP(RetryDelay, IsNeverNegativeAndNeverAboveTheCap, ()) {
  const RetryRule rule = any_rule();
  const std::uint16_t attempt = any_attempt();
  const Duration delay = base_delay(rule, attempt);
  RC_ASSERT(delay >= 0s);
  if (rule.cap > 0s) RC_ASSERT(delay <= rule.cap);
}

// req: engine.retry.2, engine.retry.3 — an overflow would make a delay shorter
TEST(RetryDelay, GrowsWithoutOverflow) {
  for (const Curve curve : {Curve::kLinear, Curve::kExponential}) {
    for (const Duration base : {Duration(1), Duration(1h), Duration(24h * 365), Duration::max()}) {
      const RetryRule rule{.curve = curve, .base = base};
      Duration last = base_delay(rule, 1);
      for (std::uint16_t attempt = 2; attempt < UINT16_MAX; ++attempt) {
        const Duration delay = base_delay(rule, attempt);
        ASSERT_GE(delay, last) << base.count() << " after " << attempt;
        last = delay;
      }
    }
  }
}

RC_GTEST_PROP(RetryDelay, OfAFormulaNeverShrinks, ()) {
  RetryRule rule = any_rule();
  if (rule.curve == Curve::kList) rule.curve = Curve::kExponential;
  const auto attempt = *rc::gen::inRange<std::uint16_t>(1, 65535);
  if (rule.cap_after == 0 || rule.cap > 0s) {
    RC_ASSERT(base_delay(rule, attempt) <=
              base_delay(rule, static_cast<std::uint16_t>(attempt + 1)));
  }
}

struct RangeCase {
  std::string name;
  RetryRule rule;
  Duration low;
  Duration high;
};

class RetryRangeTest : public ::testing::TestWithParam<RangeCase> {};

// req: engine.retry.7
TEST_P(RetryRangeTest, HasExactEnds) {
  const DelayRange range = delay_range(GetParam().rule, 1);
  EXPECT_EQ(range.low, GetParam().low);
  EXPECT_EQ(range.high, GetParam().high);
}

INSTANTIATE_TEST_SUITE_P(
    Jitters, RetryRangeTest,
    ::testing::Values(
        RangeCase{"None", with_jitter(Jitter::kNone, 20), 10s, 10s},
        RangeCase{"Around", with_jitter(Jitter::kAround, 20), 8s, 12s},
        RangeCase{"AroundRoundsDown", with_jitter(Jitter::kAround, 33, 10ms), 6ms, 13ms},
        RangeCase{"AroundByMoreThanAll", with_jitter(Jitter::kAround, 150), 0s, 25s},
        RangeCase{"Above", with_jitter(Jitter::kAbove, 20), 10s, 11'999ms},
        RangeCase{"AboveTooSmallToWiden", with_jitter(Jitter::kAbove, 20, 4ms), 4ms, 4ms},
        RangeCase{"Full", with_jitter(Jitter::kFull, 0), 0s, 10s}),
    [](const auto& one) { return one.param.name; });

// req: engine.retry.7
RC_GTEST_PROP(RetryJitter, StaysWithinItsRange, (std::uint64_t seed)) {
  const RetryRule rule = any_rule();
  const std::uint16_t attempt = any_attempt();
  const DelayRange range = delay_range(rule, attempt);
  Rng rng(seed);
  for (int i = 0; i < 20; ++i) {
    const Duration delay = jittered(rule, base_delay(rule, attempt), rng);
    RC_ASSERT(delay >= range.low);
    RC_ASSERT(delay <= range.high);
  }
}

// req: engine.retry.20
TEST(RetryJitter, ByAFactorIsBetweenTwoSharesOfTheDelay) {
  RetryRule rule = with_jitter(Jitter::kFactor, 0, 60s);
  rule.jitter_low = 800;
  rule.jitter_high = 1400;
  EXPECT_EQ(delay_range(rule, 1).low, 48s);
  EXPECT_EQ(delay_range(rule, 1).high, 84s);
  rule.base = 10ms;
  Rng rng(1);
  std::set<Duration> seen;
  for (int i = 0; i < 1000; ++i) seen.insert(jittered(rule, rule.base, rng));
  EXPECT_EQ(seen.size(), 7U) << "8 to 14 ms";
  EXPECT_EQ(*seen.begin(), 8ms);
  EXPECT_EQ(*seen.rbegin(), 14ms);
}

// req: engine.retry.7 — narrow ranges are drawn from until every value has come
TEST(RetryJitter, ReachesAllOfItsRange) {
  const std::array<RangeCase, 3> cases = {
      RangeCase{"around", with_jitter(Jitter::kAround, 20, 20ms), 16ms, 24ms},
      RangeCase{"above", with_jitter(Jitter::kAbove, 25, 20ms), 20ms, 24ms},
      RangeCase{"full", with_jitter(Jitter::kFull, 0, 8ms), 0ms, 8ms}};
  for (const RangeCase& one : cases) {
    Rng rng(1);
    std::set<Duration> seen;
    for (int i = 0; i < 1000; ++i) seen.insert(jittered(one.rule, one.rule.base, rng));
    EXPECT_EQ(seen.size(), static_cast<std::size_t>((one.high - one.low).count() + 1)) << one.name;
    EXPECT_EQ(*seen.begin(), one.low) << one.name;
    EXPECT_EQ(*seen.rbegin(), one.high) << one.name;
  }
}

// req: engine.retry.7 — the mean of many draws lies in the middle, so the range is not merely
// touched
TEST(RetryJitter, IsEven) {
  for (const RetryRule& rule : {with_jitter(Jitter::kAround, 20), with_jitter(Jitter::kAbove, 20),
                                with_jitter(Jitter::kFull, 0)}) {
    Rng rng(3);
    const DelayRange range = delay_range(rule, 1);
    std::int64_t sum = 0;
    for (int i = 0; i < 10'000; ++i) sum += jittered(rule, rule.base, rng).count();
    const std::int64_t middle = (range.low + range.high).count() / 2;
    EXPECT_NEAR(static_cast<double>(sum) / 10'000, static_cast<double>(middle),
                static_cast<double>((range.high - range.low).count()) / 50);
  }
}

// req: engine.retry.8
TEST(RetryJitter, IsGivenByTheSeed) {
  const RetryRule rule = with_jitter(Jitter::kAround, 20);
  const auto draw = [&](std::uint64_t seed) {
    Rng rng(seed);
    std::array<Duration, 8> delays{};
    for (Duration& delay : delays) delay = jittered(rule, 10s, rng);
    return delays;
  };
  EXPECT_EQ(draw(5), draw(5));
  EXPECT_NE(draw(5), draw(6));
}

constexpr Timestamp kNow(1'700'000'000'000);

RetryFacts facts_after(std::uint16_t attempts) {
  RetryFacts facts;
  facts.attempts = attempts;
  facts.now = kNow;
  facts.first_attempt = kNow - 1h;
  return facts;
}

std::optional<Duration> due_in(const RetryRule& rule, const RetryFacts& facts) {
  Rng rng(1);
  const std::optional<Timestamp> due = next_due(rule, facts, rng);
  if (!due) return std::nullopt;
  return *due - facts.now;
}

// req: engine.retry.9
TEST(RetryDue, AttemptsEndExactlyAtTheirLimit) {
  RetryRule rule = kFixedRule;
  rule.attempts_max = 3;
  EXPECT_EQ(due_in(rule, facts_after(1)), 7s);
  EXPECT_EQ(due_in(rule, facts_after(2)), 7s);
  EXPECT_EQ(due_in(rule, facts_after(3)), std::nullopt);
  EXPECT_EQ(due_in(rule, facts_after(4)), std::nullopt);
  rule.attempts_max = 1;
  EXPECT_EQ(due_in(rule, facts_after(1)), std::nullopt);
}

TEST(RetryDue, WithoutLimitsNothingIsExhausted) {
  EXPECT_EQ(due_in(kFixedRule, facts_after(65535)), 7s);
}

// req: engine.retry.10
TEST(RetryDue, ABudgetIsSpentWhenTheDueTimeFallsBehindIt) {
  RetryRule rule = kFixedRule;
  rule.budget = 1h + 7s;
  EXPECT_EQ(due_in(rule, facts_after(9)), 7s) << "exactly at the end of the budget is in time";
  rule.budget -= 1ms;
  EXPECT_EQ(due_in(rule, facts_after(9)), std::nullopt)
      << "and this is found now, not at the due time";
  rule.budget = 1ms;
  EXPECT_EQ(due_in(rule, facts_after(1)), std::nullopt) << "the least that is one";
}

// req: engine.retry.11
TEST(RetryDue, HeldTimeIsNotOnTheMessagesAccount) {
  RetryRule rule = kFixedRule;
  rule.budget = 10min;
  RetryFacts facts = facts_after(9);
  EXPECT_EQ(due_in(rule, facts), std::nullopt);
  facts.held = 50min + 7s;
  EXPECT_EQ(due_in(rule, facts), 7s);
  facts.held -= 1ms;
  EXPECT_EQ(due_in(rule, facts), std::nullopt);
}

TEST(RetryDue, ABudgetBeginsWithTheFirstAttempt) {
  RetryRule rule = kFixedRule;
  rule.budget = 7s;
  RetryFacts facts;
  facts.now = kNow;
  EXPECT_EQ(due_in(rule, facts), 7s) << "no attempt yet: nothing is spent";
}

struct WishCase {
  std::string name;
  Duration wish;
  Duration honoured_max;
  Duration want;
};

class RetryWishTest : public ::testing::TestWithParam<WishCase> {};

// req: engine.retry.13
TEST_P(RetryWishTest, IsHonouredWithinBounds) {
  RetryRule rule = kFixedRule;
  rule.retry_after_max = GetParam().honoured_max;
  RetryFacts facts = facts_after(1);
  facts.retry_after = GetParam().wish;
  EXPECT_EQ(due_in(rule, facts), GetParam().want);
}

INSTANTIATE_TEST_SUITE_P(Wishes, RetryWishTest,
                         ::testing::Values(WishCase{"LongerIsTaken", 30s, 1h, 30s},
                                           WishCase{"ShorterDoesNotShorten", 2s, 1h, 7s},
                                           WishCase{"UpToTheLimit", 2h, 1h, 1h},
                                           WishCase{"LimitBelowTheDelay", 2h, 3s, 7s},
                                           WishCase{"NotAtAll", 2h, 0s, 7s},
                                           WishCase{"InThePast", -1h, 1h, 7s},
                                           WishCase{"Absurd", Duration(INT64_MAX), 1h, 1h}),
                         [](const auto& one) { return one.param.name; });

// req: engine.retry.14
TEST(RetryDue, IsRoundedUpToTheTick) {
  RetryRule rule{.curve = Curve::kFixed, .base = 1500ms};
  rule.tick = 1s;
  EXPECT_EQ(due_in(rule, facts_after(1)), 2s);
  rule.base = 2s;
  EXPECT_EQ(due_in(rule, facts_after(1)), 2s) << "a multiple stays";
  rule.base = 1001ms;
  EXPECT_EQ(due_in(rule, facts_after(1)), 2s) << "and what is a millisecond beyond one does not";
  rule.tick = 7ms;
  rule.base = 0ms;
  EXPECT_EQ((kNow + *due_in(rule, facts_after(1))).ms() % 7, 0) << "multiples of engine time";
}

// req: engine.retry.10 — what counts is the rounded time
TEST(RetryDue, RoundingCanSpendTheBudget) {
  RetryRule rule{.curve = Curve::kFixed, .base = 1500ms};
  rule.tick = 1s;
  rule.budget = 1h + 1500ms;
  EXPECT_EQ(due_in(rule, facts_after(1)), std::nullopt);
}

// req: engine.retry.13, engine.retry.14
RC_GTEST_PROP(RetryDue, LiesBetweenTheRulesDelayAndTheRoundedMaximum, (std::uint64_t seed)) {
  const RetryRule rule = any_rule();
  RetryFacts facts = facts_after(any_attempt());
  if (*rc::gen::arbitrary<bool>()) {
    facts.retry_after = Duration(*rc::gen::arbitrary<std::int32_t>());
  }
  Rng rng(seed);
  const std::optional<Timestamp> due = next_due(rule, facts, rng);
  RC_ASSERT(due.has_value());
  const DelayRange range = delay_range(rule, facts.attempts);
  RC_ASSERT(*due >= kNow + range.low);
  const Duration wish = std::min(facts.retry_after.value_or(0ms), rule.retry_after_max);
  RC_ASSERT(*due >= kNow + wish);
  RC_ASSERT(*due <= kNow + std::max(range.high, wish) + std::max(rule.tick - 1ms, Duration(0)));
  if (rule.tick > 0s) RC_ASSERT(due->ms() % rule.tick.count() == 0);
}

}  // namespace
}  // namespace postrider
