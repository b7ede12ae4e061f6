#include "postrider/sim/fields/drill/drill.h"

#include <set>

#include <gtest/gtest.h>

namespace postrider::sim {
namespace {

template <class Value>
std::size_t number(Value value) {
  return static_cast<std::size_t>(value);
}

// req: engine.sim.21
TEST(Drill, UsesEverySignalVerbAndTimeOut) {
  std::set<std::size_t> signals;
  std::set<std::size_t> verbs;
  std::set<std::size_t> raises;
  for (const Method& method : drill_profile().methods) {
    for (const Transition& row : method.rows) {
      signals.insert(number(row.on));
      verbs.insert(number(row.verb));
      raises.insert(number(row.raise));
    }
  }
  std::set<std::size_t> time_outs;
  std::set<std::size_t> phases;
  for (const StateRow& state : drill_profile().states) {
    time_outs.insert(number(state.timer));
    phases.insert(number(state.phase));
  }
  for (std::size_t i = 0; i < kSignals; ++i)
    EXPECT_TRUE(signals.contains(i)) << name_of(static_cast<On>(i));
  for (std::size_t i = 0; i < kVerbs; ++i)
    EXPECT_TRUE(verbs.contains(i)) << name_of(static_cast<Do>(i));
  for (std::size_t i = 0; i < kTimeOuts; ++i)
    EXPECT_TRUE(time_outs.contains(i)) << name_of(static_cast<TimeOut>(i));
  for (std::size_t i = 0; i < kPhases; ++i)
    EXPECT_TRUE(phases.contains(i)) << name_of(static_cast<Phase>(i));
  EXPECT_EQ(raises.size(), number(Raise::kSeen) + 1);
}

// req: engine.sim.21
TEST(Drill, TakesEveryNameOfASettingAndNoOther) {
  for (const char* name :
       {"window",    "fifo",       "in-use",        "spacing",  "tokens", "burst",        "strikes",
        "wait",      "wait-max",   "disable-after", "attempts", "budget", "base",         "cap",
        "cap-after", "tick",       "attempt",       "probe",    "stage",  "hold",         "jitter",
        "poll",      "poll-error", "life",          "strand",   "adapt",  "history",      "group",
        "tenant",    "clears",     "lower",         "ageing",   "poison", "poison-after", "idle"}) {
    EXPECT_TRUE(drill_profile().settings.configure({{name, "1"}}).has_value()) << name;
    EXPECT_FALSE(drill_profile().settings.configure({{name, "x"}}).has_value()) << name;
  }
  EXPECT_FALSE(drill_profile().settings.configure({{"nothing", "1"}}).has_value());
}

// req: engine.sim.21
TEST(Drill, UsesEveryLaneKindAndEveryPartOfARule) {
  const auto policy = drill_profile().settings.configure({{"fifo", "2"},
                                                          {"in-use", "1"},
                                                          {"spacing", "1"},
                                                          {"tokens", "1"},
                                                          {"burst", "1"},
                                                          {"strikes", "1"},
                                                          {"disable-after", "1"},
                                                          {"attempts", "3"},
                                                          {"budget", "1000"},
                                                          {"cap-after", "1"},
                                                          {"tick", "10"}});
  ASSERT_TRUE(policy.has_value());
  EXPECT_EQ(policy->lane_kind(0), LaneKind::kUnordered);
  EXPECT_EQ(policy->lane_kind(1), LaneKind::kFifo);
  std::set<std::size_t> curves;
  std::set<std::size_t> jitters;
  RetryRule all;  // a field that any rule uses is used
  for (std::size_t i = 0; i < policy->retry.size(); ++i) {
    if (i == static_cast<std::size_t>(FailureClass::kHeldBack)) continue;  // the same for all
    const RetryRule& rule = policy->retry[i];
    curves.insert(number(rule.curve));
    jitters.insert(number(rule.jitter));
    all.tick = std::max(all.tick, rule.tick);
    all.retry_after_max = std::max(all.retry_after_max, rule.retry_after_max);
    all.holds_route = all.holds_route || rule.holds_route;
    all.strikes = all.strikes || rule.strikes;
    EXPECT_NE(rule.attempts_max, 0U);
    EXPECT_NE(rule.budget, Duration(0));
    EXPECT_NE(rule.cap, Duration(0));
    EXPECT_NE(rule.cap_after, 0U);
  }
  EXPECT_EQ(curves.size(), number(Curve::kList) + 1);
  EXPECT_EQ(jitters.size(), number(Jitter::kFull) + 1);
  EXPECT_TRUE(all.holds_route && all.strikes);
  EXPECT_NE(all.tick, Duration(0));
  EXPECT_NE(all.retry_after_max, Duration(0));
  EXPECT_EQ(policy->route, (GateLimits{1, Duration(1), 1, 1}));
  EXPECT_NE(policy->health.strikes_max, 0U);
  EXPECT_NE(policy->health.disable_after, Duration(0));
}

}  // namespace
}  // namespace postrider::sim
