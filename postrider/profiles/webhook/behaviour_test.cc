// The profile's numbers in the hands of the core that obeys them: each sentence of the
// specification, at its limit, below and above it.
#include <gtest/gtest.h>

#include "postrider/core/rules/health.h"
#include "postrider/core/rules/retry.h"
#include "postrider/profiles/webhook/rules.h"
#include "postrider/profiles/webhook/settings.h"

namespace postrider::webhook {
namespace {

constexpr Timestamp kStart(1'700'000'000'000);

RetryRule rule(FailureClass failure) { return default_policy().rule(failure); }

RetryFacts after(std::uint16_t attempts, Duration since_first,
                 std::optional<Duration> retry_after = std::nullopt) {
  RetryFacts facts;
  facts.attempts = attempts;
  facts.first_attempt = kStart;
  facts.now = kStart + since_first;
  facts.retry_after = retry_after;
  return facts;
}

// req: webhook.retry.1, webhook.retry.2
TEST(WebhookBehaviour, TheLadderWithItsJitter) {
  const Duration steps[] = {5s, 30s, 2min, 10min, 30min, 1h, 3h, 6h, 12h, 12h, 12h};
  std::uint16_t attempt = 0;
  for (const Duration step : steps) {
    ++attempt;
    EXPECT_EQ(base_delay(rule(FailureClass::kServer), attempt), step) << attempt;
    const DelayRange range = delay_range(rule(FailureClass::kServer), attempt);
    EXPECT_EQ(range.low, step * 4 / 5) << attempt;
    EXPECT_EQ(range.high, step * 6 / 5) << attempt;
  }
  EXPECT_EQ(base_delay(rule(FailureClass::kServer), 60'000), 12h);
}

// req: webhook.retry.3, webhook.budget.1, webhook.budget.2
TEST(WebhookBehaviour, TheBudgetDecidesBeforeTheWaitNotAfterIt) {
  Rng rng(1);
  // After attempt 9 the wait is 9.6 h to 14.4 h.
  EXPECT_TRUE(next_due(rule(FailureClass::kTimeout), after(9, 72h - 14h - 24min), rng))
      << "any wait fits";
  EXPECT_TRUE(next_due(rule(FailureClass::kTimeout), after(500, 1h), rng))
      << "attempts are not counted";
  EXPECT_FALSE(next_due(rule(FailureClass::kTimeout), after(9, 72h - 9h - 36min + 1ms), rng))
      << "no wait fits";
  EXPECT_FALSE(next_due(rule(FailureClass::kTimeout), after(9, 72h), rng));

  // Without jitter the limit is exact.
  const Result<Policy> policy = configure({{"url", "http://a"}, {"jitter_percent", "0"}});
  ASSERT_TRUE(policy);
  EXPECT_TRUE(next_due(policy->rule(FailureClass::kTimeout), after(9, 60h), rng));
  EXPECT_FALSE(next_due(policy->rule(FailureClass::kTimeout), after(9, 60h + 1ms), rng));
}

// req: webhook.budget.3
TEST(WebhookBehaviour, HeldTimeIsNotOnTheMessagesAccount) {
  Rng rng(1);
  RetryFacts facts = after(9, 72h + 100h);
  facts.held = 100h + 14h + 24min;
  EXPECT_TRUE(next_due(rule(FailureClass::kConnect), facts, rng));
  facts.held = 100h;
  EXPECT_FALSE(next_due(rule(FailureClass::kConnect), facts, rng));
}

// req: webhook.retry-after.3
TEST(WebhookBehaviour, AWishIsHonouredUpToAnHourAndNeverShortensTheWait) {
  Rng rng(1);
  for (const FailureClass failure : {FailureClass::kThrottled, FailureClass::kServer}) {
    const auto wait = [&](Duration wish, std::uint16_t attempts = 1) {
      return *next_due(rule(failure), after(attempts, 0s, wish), rng) - kStart;
    };
    EXPECT_EQ(wait(1h - 1ms), 1h - 1ms);
    EXPECT_EQ(wait(1h), 1h);
    EXPECT_EQ(wait(1h + 1ms), 1h);
    EXPECT_GE(wait(0s), 4s);
    EXPECT_GE(wait(1h, 9), 9h);
  }
  const Timestamp due = *next_due(rule(FailureClass::kTimeout), after(1, 0s, 1h), rng);
  EXPECT_LE(due - kStart, 6s) << "other classes have no wish";
}

// req: webhook.retry-after.4
TEST(WebhookBehaviour, AWishHoldsTheWholeRoute) {
  EXPECT_TRUE(rule(FailureClass::kThrottled).holds_route);
  EXPECT_TRUE(rule(FailureClass::kServer).holds_route);
}

// req: webhook.route.3
TEST(WebhookBehaviour, FiveStrikesCloseTheRouteAndProbesDoubleTheWait) {
  const HealthRule health = default_policy().health;
  Rng rng(1);
  Route route;
  Timestamp now = kStart;
  for (int strike = 1; strike <= 4; ++strike) {
    apply(route, HealthOn::kFail, health, now, rng);
    EXPECT_EQ(route.health, Health::kNormal) << strike;
  }
  apply(route, HealthOn::kFail, health, now, rng);
  EXPECT_EQ(route.health, Health::kWait);
  for (const Duration wait :
       {Duration(5s), Duration(10s), Duration(20s), Duration(40s), Duration(80s), Duration(160s),
        Duration(320s), Duration(640s), Duration(15min), Duration(15min)}) {
    EXPECT_EQ(route.closed_until, now + wait);
    now = route.closed_until;
    apply(route, HealthOn::kOpen, health, now, rng);
    EXPECT_EQ(route.health, Health::kProbe);
    apply(route, HealthOn::kFail, health, now, rng);
    EXPECT_EQ(route.health, Health::kWait);
  }
}

// req: webhook.route.6
TEST(WebhookBehaviour, ADeliveryClearsTheRouteAndASignOfLifeDoesNot) {
  const HealthRule health = default_policy().health;
  Rng rng(1);
  Route route;
  for (int strike = 1; strike <= 5; ++strike) apply(route, HealthOn::kFail, health, kStart, rng);
  apply(route, HealthOn::kSeen, health, kStart + 1s, rng);
  EXPECT_EQ(route.health, Health::kProbe);
  apply(route, HealthOn::kSeen, health, kStart + 2s, rng);
  EXPECT_EQ(route.health, Health::kProbe);
  apply(route, HealthOn::kOk, health, kStart + 3s, rng);
  EXPECT_EQ(route.health, Health::kNormal);
  EXPECT_EQ(route.strikes, 0);
}

// req: webhook.route.7
TEST(WebhookBehaviour, FiveDaysWithoutASuccessDisable) {
  const HealthRule health = default_policy().health;
  Rng rng(1);
  Route route;
  apply(route, HealthOn::kFail, health, kStart, rng);
  apply(route, HealthOn::kFail, health, kStart + 120h - 1ms, rng);
  EXPECT_EQ(route.health, Health::kNormal);
  Route later = route;
  apply(route, HealthOn::kFail, health, kStart + 120h, rng);
  EXPECT_EQ(route.health, Health::kDisabled);
  apply(later, HealthOn::kOk, health, kStart + 120h, rng);
  apply(later, HealthOn::kFail, health, kStart + 121h, rng);
  EXPECT_EQ(later.health, Health::kNormal) << "a success begins the days anew";
}

}  // namespace
}  // namespace postrider::webhook
