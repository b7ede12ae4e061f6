#include "postrider/profiles/matrix/settings.h"

#include <gtest/gtest.h>

#include "postrider/profiles/matrix/profile.h"

namespace postrider::matrix {
namespace {

NamedTexts with(NamedTexts more) {
  NamedTexts all = {{"server_name", "example.org"}, {"key", "matrix-key"}};
  for (NamedText& setting : more) all.push_back(std::move(setting));
  return all;
}

Policy policy_with(NamedTexts more) {
  const auto policy = configure(with(std::move(more)));
  EXPECT_TRUE(policy) << (policy ? "" : policy.error().detail);
  return policy.value_or(Policy());
}

std::string complaint_of(const NamedTexts& settings) {
  const auto policy = configure(settings);
  return policy ? std::string("accepted") : policy.error().detail;
}

// req: matrix.http.2, matrix.back.2, matrix.http.1
TEST(MatrixSettings, CompatibleHasElevenTriesAndTenMinutes) {
  const Policy policy = policy_with({{"policy", "compatible"}});
  for (const FailureClass failure : {FailureClass::kConnect, FailureClass::kTimeout,
                                     FailureClass::kServer, FailureClass::kThrottled}) {
    const RetryRule& rule = policy.rule(failure);
    EXPECT_EQ(rule.attempts_max, 11);
    EXPECT_EQ(rule.curve, Curve::kList);
    ASSERT_EQ(rule.steps_used, 3);
    EXPECT_EQ(rule.steps[0], 4s);
    EXPECT_EQ(rule.steps[1], 16s);
    EXPECT_EQ(rule.steps[2], 60s);
    EXPECT_EQ(rule.jitter, Jitter::kFactor);
    EXPECT_EQ(rule.jitter_low, 800);
    EXPECT_EQ(rule.jitter_high, 1'400);
    EXPECT_TRUE(rule.strikes);
    EXPECT_FALSE(rule.holds_route);
  }
  EXPECT_EQ(policy.health.wait_base, 600s);
  EXPECT_EQ(policy.health.wait_max, 7 * 24h);
  EXPECT_EQ(policy.time_out(TimeOut::kAttempt), 60s);
  EXPECT_TRUE(policy.health.begins_behind);
}

// req: matrix.http.4, matrix.back.2, matrix.back.8
TEST(MatrixSettings, BetterHasThreeTriesAndFiveSeconds) {
  const Policy policy = policy_with({});
  EXPECT_EQ(policy.rule(FailureClass::kServer).attempts_max, 3);
  EXPECT_EQ(policy.rule(FailureClass::kThrottled).retry_after_max, 1h);
  EXPECT_TRUE(policy.rule(FailureClass::kThrottled).holds_route);
  EXPECT_EQ(policy.health.strikes_max, 1);
  EXPECT_EQ(policy.health.wait_base, 5s);
  EXPECT_EQ(policy.health.deep_after, 1h);
  EXPECT_EQ(policy.health.jitter_low, 800);
  EXPECT_EQ(policy.health.jitter_high, 1'400);
  EXPECT_TRUE(policy.health.contact_clears);
  EXPECT_FALSE(policy.health.begins_behind);
  EXPECT_EQ(policy.route.spacing, 5ms);
}

// What our own limits hold back says nothing of the server.
TEST(MatrixSettings, OwnLimitsStrikeNoServer) {
  const RetryRule rule = policy_with({}).rule(FailureClass::kHeldBack);
  EXPECT_FALSE(rule.strikes);
  EXPECT_EQ(rule.attempts_max, 0);
}

// req: matrix.q.1, matrix.edu.10, matrix.edu.13, matrix.cu.1, matrix.cu.11, matrix.cu.12
TEST(MatrixSettings, LanesFollowTheTable) {
  const Policy better = policy_with({});
  EXPECT_EQ(better.lane_kind(kEventLane), LaneKind::kFifo);
  EXPECT_EQ(better.lane_kind(kToDeviceLane), LaneKind::kFifo);
  EXPECT_EQ(better.lane_kind(kPresenceLane), LaneKind::kUnordered);
  EXPECT_EQ(better.lane_rule(kEventLane).latest, Latest::kWhenBehind);
  EXPECT_EQ(better.lane_rule(kEventLane).keep, 24h);
  EXPECT_EQ(better.lane_rule(kEventLane).keep_max, 10'000U);
  EXPECT_EQ(better.lane_rule(kReceiptLane).rides, 5s);
  EXPECT_EQ(better.lane_rule(kTypingLane).rides, Duration(0));
  for (const Lane lane : {kPresenceLane, kReceiptLane, kTypingLane})
    EXPECT_TRUE(better.lane_rule(lane).dropped_when_deep);
  for (const Lane lane : {kToDeviceLane, kDeviceLane, kOtherLane, kEventLane})
    EXPECT_FALSE(better.lane_rule(lane).dropped_when_deep);
  ASSERT_EQ(better.catch_up_lanes.used, 3);
  EXPECT_EQ(better.catch_up_lanes.lanes[0], kToDeviceLane);
  EXPECT_EQ(better.catch_up_lanes.lanes[1], kDeviceLane);
  EXPECT_EQ(better.catch_up_lanes.lanes[2], kEventLane);
  const Policy compatible = policy_with({{"policy", "compatible"}});
  ASSERT_EQ(compatible.catch_up_lanes.used, 1);
  EXPECT_EQ(compatible.catch_up_lanes.lanes[0], kEventLane);
  EXPECT_EQ(compatible.lane_rule(kEventLane).keep, Duration(0));
}

// req: matrix.q.2, matrix.http.7, matrix.txn.15
TEST(MatrixSettings, OneRequestForAServerAndABoundForAll) {
  const Policy better = policy_with({});
  const Policy compatible = policy_with({{"policy", "compatible"}});
  EXPECT_EQ(better.route.in_use_max, 1U);
  EXPECT_EQ(better.members_max, 512);
  EXPECT_EQ(better.group_limits.in_use_max, 256U);
  EXPECT_EQ(compatible.group_limits.in_use_max, 2'000U);
  EXPECT_NE(better.group, 0U);
  EXPECT_NE(better.group, compatible.group);
}

TEST(MatrixSettings, NumbersCanBeChanged) {
  const Policy policy = policy_with({{"tries", "5"},
                                     {"pauses", "2s, 3s"},
                                     {"interval_first", "1m"},
                                     {"interval_max", "1h"},
                                     {"deep_after", "10m"},
                                     {"rides", "1s"},
                                     {"members_max", "7"}});
  const RetryRule& rule = policy.rule(FailureClass::kServer);
  EXPECT_EQ(rule.attempts_max, 5);
  EXPECT_EQ(rule.steps[0], 2s);
  EXPECT_EQ(rule.steps[2], 3s);
  EXPECT_EQ(policy.health.wait_base, 1min);
  EXPECT_EQ(policy.health.wait_max, 1h);
  EXPECT_EQ(policy.health.deep_after, 10min);
  EXPECT_EQ(policy.lane_rule(kPresenceLane).rides, 1s);
  EXPECT_EQ(policy.members_max, 7);
  const auto prepared = prepare(with({{"policy", "compatible"}, {"pdus_max", "3"}}));
  ASSERT_TRUE(prepared);
  EXPECT_EQ(prepared->choice, PolicyChoice::kCompatible);
  EXPECT_EQ(prepared->numbers.pdus_max, 3);
  EXPECT_EQ(prepared->numbers.edus_max, 100);
  EXPECT_EQ(prepared->origin, "example.org");
}

TEST(MatrixSettings, SayWhatIsWrong) {
  EXPECT_NE(complaint_of({{"key", "k"}}).find("server_name is missing"), std::string::npos);
  EXPECT_NE(complaint_of({{"server_name", "a.example"}}).find("key is missing"), std::string::npos);
  for (const NamedText& bad : NamedTexts{{"policy", "best"},
                                         {"tries", "0"},
                                         {"pauses", "1ms"},
                                         {"pdus_max", "51"},
                                         {"edus_max", "101"},
                                         {"members_max", "513"},
                                         {"body_bytes_max", "99"},
                                         {"rides", "31s"},
                                         {"idle_life", "59s"},
                                         {"catch_up_url", "ftp://x"},
                                         {"key", "a b"},
                                         {"interval_max", "4s"},
                                         {"server", "x"},
                                         {"trust", "no PEM"}}) {
    EXPECT_NE(complaint_of(with({bad})), "accepted") << bad.first;
  }
  EXPECT_NE(complaint_of(with({{"polisy", "better"}})).find("policy"), std::string::npos);
  EXPECT_NE(complaint_of({{"server_name", "user@x"}, {"key", "k"}}), "accepted");
}

TEST(MatrixSettings, EveryRowIsKnown) {
  EXPECT_EQ(configure(with({{"idle_life", "30d"}}))->idle_life, Duration(30 * 24h));
  EXPECT_EQ(kMatrix.settings.rows.size(), kSettingCount);
  for (const SettingRow& row : kSettingRows) EXPECT_FALSE(row.meaning.empty()) << row.name;
}

}  // namespace
}  // namespace postrider::matrix
