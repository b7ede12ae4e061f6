#include "postrider/profiles/device/rules.h"

#include <gtest/gtest.h>

#include "postrider/base/rng.h"
#include "postrider/core/rules/retry.h"
#include "postrider/profiles/device/notes.h"
#include "postrider/profiles/device/settings.h"
#include "postrider/profiles/device/table.h"

namespace postrider::device {
namespace {

// req: device.retry.1, device.retry.2
TEST(DeviceRetry, DoublesFromTwoSecondsWithJitterAboveForElevenRetries) {
  const Policy policy = default_policy(Way::kPush);
  const RetryRule& rule = policy.rule(FailureClass::kServer);
  Rng rng(1);
  for (std::uint16_t attempt = 1; attempt <= 12; ++attempt) {
    RetryFacts facts;
    facts.attempts = attempt;
    facts.now = Timestamp(1'000'000);
    facts.first_attempt = Timestamp(1);
    for (int i = 0; i < 200; ++i) {
      const auto due = next_due(rule, facts, rng);
      if (attempt == 12) {
        EXPECT_FALSE(due.has_value());
        continue;
      }
      ASSERT_TRUE(due.has_value());
      const std::int64_t base = 2000LL << (attempt - 1);
      const std::int64_t wait = (*due - facts.now).count();
      EXPECT_GE(wait, base);
      EXPECT_LT(wait, base + base / 2);
    }
  }
}

// req: device.poll.2
TEST(DevicePoll, FollowsTheLadderByAge) {
  const PollRule rule = default_policy(Way::kPull).poll;
  EXPECT_EQ(rule.wait_at(0s), 10s);
  EXPECT_EQ(rule.wait_at(19'999ms), 10s);
  EXPECT_EQ(rule.wait_at(20s), 15s);
  EXPECT_EQ(rule.wait_at(49'999ms), 15s);
  EXPECT_EQ(rule.wait_at(50s), 20s);
  EXPECT_EQ(rule.wait_at(89'999ms), 20s);
  EXPECT_EQ(rule.wait_at(90s), 30s);
  EXPECT_EQ(rule.wait_at(48h), 30s);
}

// req: device.poll.5, device.poll.10
TEST(DevicePoll, BacksOffAfterErrorsInARow) {
  const PollRule pull = default_policy(Way::kPull).poll;
  EXPECT_EQ(pull.wait_after(0), 0s);
  EXPECT_EQ(pull.wait_after(1), 30s);
  EXPECT_EQ(pull.wait_after(2), 60s);
  EXPECT_EQ(pull.wait_after(5), 480s);
  EXPECT_EQ(pull.wait_after(6), 15min);
  EXPECT_EQ(pull.wait_after(1000), 15min);
  const PollRule push = default_policy(Way::kPush).poll;
  EXPECT_EQ(push.wait_after(1), 2s);
  EXPECT_EQ(push.wait_after(5), 32s);
  EXPECT_EQ(push.wait_after(6), 60s);
}

TEST(DevicePoll, WaitsAfterErrorsAsItIsTold) {
  const auto with = [](const char* name, const char* value) {
    return configure({{"plugin", "p"}, {"way", "chirpstack"}, {"url", "http://a"}, {name, value}});
  };
  EXPECT_EQ(with("ask_again_base", "100ms")->poll.error_base, 100ms);
  EXPECT_EQ(with("ask_again_cap", "24h")->poll.error_cap, 24h);
  for (const char* name : {"ask_again_base", "ask_again_cap"}) {
    for (const char* value : {"100ms", "24h"}) EXPECT_TRUE(with(name, value)) << name;
    for (const char* value : {"99ms", "24h1ms", "86401s", "0"}) EXPECT_FALSE(with(name, value));
  }
}

TEST(DeviceNotes, KeepAnyItemAsItIs) {
  for (const std::string item :
       {"", "i1", "65c8eed1-eac7-468c-ad51-1fa778f79f67", "65C8EED1-EAC7-468C-AD51-1FA778F79F67",
        "65c8eed1eac7468cad511fa778f79f67", "65c8eed1-eac7-468c-ad51-1fa778f79f6",
        "65c8eed1-eac7-468c-ad51-1fa778f79f677", "65c8eed1-eac7-468c-ad511-fa778f79f67",
        "a task of some other kind that is long", "-", "--", "65c8eed1-"}) {
    Notes notes;
    notes.item = item;
    notes.attempt = 3;
    notes.expires = Timestamp(1'700'000'000'000);
    EXPECT_EQ(decode_notes(encode_notes(notes)), notes) << item;
  }
  Notes named;
  named.item = "65c8eed1-eac7-468c-ad51-1fa778f79f67";
  EXPECT_EQ(encode_notes(named).size(), encode_notes({}).size() + 16);
}

// req: device.adm.4, device.adm.6, device.to.4, device.to.5
TEST(DeviceAdmission, IsTwoSecondsApartOrFiveAtOnce) {
  const Policy push = default_policy(Way::kPush);
  const Policy pull = default_policy(Way::kPull);
  EXPECT_EQ(push.route.spacing, 2s);
  EXPECT_EQ(push.route.in_use_max, 0U);
  EXPECT_EQ(pull.route.in_use_max, 5U);
  EXPECT_EQ(pull.route.spacing, 0s);
  EXPECT_EQ(push.life_max, 7 * 24h);
  EXPECT_EQ(pull.life_max, 48h);
}

// req: device.st.7
TEST(DeviceMethods, AreChosenByWayAndClass) {
  EXPECT_EQ(kMethods[method_of(Way::kPush, Repeat::kFree)].name, "push-free");
  EXPECT_EQ(kMethods[method_of(Way::kPush, Repeat::kClosed)].name, "push-closed");
  EXPECT_EQ(kMethods[method_of(Way::kPush, Repeat::kNever)].name, "push-never");
  EXPECT_EQ(kMethods[method_of(Way::kPull, Repeat::kFree)].name, "pull-free");
  EXPECT_EQ(kMethods[method_of(Way::kPull, Repeat::kClosed)].name, "pull-closed");
  EXPECT_EQ(kMethods[method_of(Way::kPull, Repeat::kNever)].name, "pull-closed");
}

struct OutcomeCase {
  const char* name;
  Ending ending;
  Outcome outcome;
  bool may_have_run;
};
class DeviceOutcome : public ::testing::TestWithParam<OutcomeCase> {};

// req: device.ev.1, device.ev.9, device.can.3
TEST_P(DeviceOutcome, IsThatOfTheTable) {
  EXPECT_EQ(outcome_of(GetParam().ending), GetParam().outcome)
      << name_of(outcome_of(GetParam().ending));
  EXPECT_EQ(may_have_run(GetParam().ending), GetParam().may_have_run);
}

constexpr Command kAct = Command::kTurnOn;
constexpr Command kToken = Command::kTopUpKwh;
constexpr Command kRead = Command::kReadCredit;
INSTANTIATE_TEST_SUITE_P(
    Ends, DeviceOutcome,
    ::testing::Values(
        OutcomeCase{"Executed", {.end = kDone, .command = kAct}, Outcome::kExecuted, true},
        OutcomeCase{"ReadExecuted", {.end = kDone}, Outcome::kExecuted, false},
        OutcomeCase{"Refused",
                    {.end = kDone, .command = kAct, .executed = false},
                    Outcome::kRefused,
                    false},
        OutcomeCase{"RefusedByTheOnlyAttempt",
                    {.end = kDone, .command = kAct, .executed = false, .any_may_have_run = true},
                    Outcome::kRefused,
                    false},
        OutcomeCase{"RefusedAfterOneThatMayHaveRun",
                    {.end = kDone,
                     .command = kAct,
                     .executed = false,
                     .any_may_have_run = true,
                     .earlier_may_have_run = true},
                    Outcome::kRefused,
                    true},
        OutcomeCase{"TokenRefusedAfterOneThatMayHaveRun",
                    {.end = kDone,
                     .command = kToken,
                     .executed = false,
                     .any_may_have_run = true,
                     .earlier_may_have_run = true},
                    Outcome::kUnknown,
                    true},
        OutcomeCase{"Acked", {.end = kAcked, .command = kAct}, Outcome::kUnknown, true},
        OutcomeCase{"Failed", {.end = kFailed, .command = kAct}, Outcome::kFailed, false},
        OutcomeCase{"VendorRefusedTheToken",
                    {.end = kFailed, .command = kToken, .refused = true},
                    Outcome::kRefused,
                    false},
        OutcomeCase{"FailedAndMayHaveRun",
                    {.end = kFailed, .command = kAct, .any_may_have_run = true},
                    Outcome::kUnknown,
                    true},
        OutcomeCase{"ReadFailed",
                    {.end = kFailed, .command = kRead, .any_may_have_run = true},
                    Outcome::kFailed,
                    false},
        OutcomeCase{"Expired",
                    {.end = kExpired, .command = kAct, .any_may_have_run = true},
                    Outcome::kExpired,
                    true},
        OutcomeCase{"CancelledAfterOneThatMayHaveRun",
                    {.end = kCancelled, .command = kAct, .any_may_have_run = true},
                    Outcome::kCancelled,
                    true},
        OutcomeCase{"Unknown", {.end = kUnknown, .command = kAct}, Outcome::kUnknown, true}),
    [](const auto& one) { return std::string(one.param.name); });

}  // namespace
}  // namespace postrider::device
