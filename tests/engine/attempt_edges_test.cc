// Attempts at their edges: the first and the last of them, of which method, how they are counted,
// and what is left of them when their message has moved on.
#include <functional>
#include <memory>
#include <vector>

#include "tests/support/spec_rig.h"

namespace postrider {
namespace {

using AttemptEdges = SpecRig;

// A send that begins nothing else. req: engine.intent.1
TEST_F(AttemptEdges, AProfileNeedSayNothingOfAStart) {
  spec_.after = nullptr;
  open_mill();
  id = sent({{"method", "task"}});
  accept_task();
  post(news(next(), "done t1"));
  EXPECT_EQ(phase(id), Phase::kDelivered);
}

// req: engine.trail.1
TEST_F(AttemptEdges, OnlyTheStepsOfAFailureHaveItsReason) {
  open_mill({{"strikes", "1000"}, {"base", "1000"}});
  id = sent({{"method", "task"}});
  post(answer(last_attempt(), 408));
  pass(10s);
  post(answer(last_attempt(), 408));
  post(ReceiptArrived{.id = id, .signal = On::kConfirmed, .detail = {}});
  ASSERT_EQ(phase(id), Phase::kDelivered);
  std::vector<std::string> reasons;
  for (const TrailStep& step : shown(id).trail) {
    reasons.push_back(step.reason);
    const Phase there = spec_.states[step.state].phase;
    EXPECT_EQ(step.reason, there == Phase::kBackoff ? "status 408" : "");
  }
  EXPECT_GE(reasons.size(), 4U);
}

// However often it is asked. req: engine.trail.1
TEST_F(AttemptEdges, AQuestionThatIsRepeatedIsOneStep) {
  open_mill({{"strikes", "1000"}, {"base", "1000"}});
  id = sent({{"method", "task"}});
  post(ended(last_attempt(), WireEnd::kTimedOut));
  for (int i = 0; i < 3; ++i) {
    pass(5min);
    post(answer(last_attempt(), 500));
  }
  std::size_t asked = 0;
  for (const TrailStep& step : shown(id).trail) asked += spec_.states[step.state].name == "asking";
  EXPECT_GE(count("PROBE"), 3U);
  EXPECT_EQ(asked, 1U);
}

// req: engine.life.1
TEST_F(AttemptEdges, NoNewsInTimeIsAFailureOfItsOwn) {
  std::vector<Method> methods(spec_.methods.begin(), spec_.methods.end());
  std::vector<Transition> rows(methods[0].rows.begin(), methods[0].rows.end());
  const auto state_named = [this](std::string_view name) {
    StateIndex i = 0;
    while (spec_.states[i].name != name) ++i;
    return i;
  };
  for (Transition& row : rows) {
    if (row.on != On::kTimedOut || (row.from & in(state_named("held"))) == 0) continue;
    row.to = state_named("resting");
    row.verb = Do::kRetry;
  }
  methods[0].rows = rows;
  spec_.methods = methods;
  open_mill({{"stage", "60000"}, {"strikes", "1000"}});
  id = sent({{"method", "relay"}});
  post(answer(last_attempt(), 202));
  EXPECT_EQ(explained(id).next_at, instant().wall + 60s);
  EXPECT_EQ(mill().activity->failed, 0U);
  pass(60s);
  EXPECT_EQ(phase(id), Phase::kBackoff);
  EXPECT_EQ(explained(id).reason, "no news in time");
  EXPECT_EQ(explained(id).failure, FailureClass::kOther);
  EXPECT_EQ(mill().activity->failed, 1U);
  EXPECT_EQ(mill().activity->last_error, "no news in time");
  EXPECT_EQ(mill().activity->failed_at, instant().wall);
  // What is told of it by others is not taken for that.
  const MessageId other = sent({{"method", "relay"}});
  post(answer(last_attempt(), 202));
  post(ReceiptArrived{.id = other, .signal = On::kFailed, .detail = "lost it"});
  EXPECT_EQ(explained(other).reason, "lost it");
  EXPECT_EQ(mill().activity->failed, 1U) << "the relay tells, not the attempt";
  shard.reset();
}

// req: engine.probe.2
TEST_F(AttemptEdges, AQuestionWaitsAtLeastAMillisecond) {
  open_mill({{"poll", "0"}});
  id = sent({{"method", "task"}});
  accept_task();
  EXPECT_EQ(explained(id).next_at, instant().wall + 1ms);
  EXPECT_EQ(count("PROBE"), 0U);
  advance(1ms);
  EXPECT_EQ(count("PROBE"), 1U);
}

// req: engine.probe.2
TEST_F(AttemptEdges, TheFirstQuestionComesWhenThePolicySays) {
  spec_.settings.configure = [](const NamedTexts& settings) {
    auto policy = sim::drill_profile().settings.configure(settings);
    if (policy) policy->poll.first = 1ms;
    return policy;
  };
  open_mill({{"poll", "10000"}});
  id = sent({{"method", "task"}});
  accept_task();
  EXPECT_EQ(explained(id).next_at, instant().wall + 1ms);
  advance(1ms);
  ASSERT_EQ(count("PROBE"), 1U);
  post(answer(last_attempt(), 202));
  EXPECT_EQ(explained(id).next_at, instant().wall + 10s) << "the others by the steps";
}

class Counted : public AttemptEdges {
 protected:
  // As a store has it in which these numbers have grown that far.
  void leave_with(const std::function<void(State&)>& change) {
    const std::string hot = keys::hot(id.sequence(), keys::Part::kState);
    const std::string key = store.memory().get(hot) ? hot : keys::cold(id, keys::Part::kState);
    auto before = decode_state(store.memory().get(key)->view());
    ASSERT_TRUE(before.has_value());
    change(before->state);
    shard.reset();
    const Epoch epoch = store.memory().acquire(0).value();
    auto batch = std::make_shared<WriteBatch>();
    batch->put(key, encode_state(before->state, before->reason, before->intent, before->notes,
                                 before->past));
    store.memory().commit(epoch, batch, [](CommitOutcome) {});
    restart();
  }
  void ask_next() {
    for (int i = 0; i < 200 && phase(id) != Phase::kInFlight; ++i) pass(10s);
    ASSERT_EQ(phase(id), Phase::kInFlight);
  }
};

// req: engine.total.1
TEST_F(Counted, AttemptsAreCountedUpToWhatTheirRecordHolds) {
  open_mill({{"strikes", "1000"}, {"base", "1000"}});
  id = sent({{"method", "once"}});
  post(answer(last_attempt(), 408));
  leave_with([](State& state) { state.attempts = UINT16_MAX - 1; });
  for (int i = 0; i < 3; ++i) {
    pass(10s);
    ASSERT_EQ(phase(id), Phase::kInFlight);
    EXPECT_EQ(explained(id).attempts, UINT16_MAX) << i;
    post(answer(last_attempt(), 408));
  }
}

// req: engine.total.1
TEST_F(Counted, FailedQuestionsAreCountedUpToAThousand) {
  open_mill({{"strikes", "1000"}, {"poll", "1000"}, {"poll-error", "1"}});
  id = sent({{"method", "task"}});
  accept_task();
  leave_with([](State& state) { state.probes_failed = 998; });
  for (const std::uint16_t wanted : std::to_array<std::uint16_t>({999, 1000, 1000})) {
    ask_next();
    post(answer(last_attempt(), 500));
    EXPECT_EQ(stored(id)->state.probes_failed, wanted);
  }
  ask_next();
  post(answer(last_attempt(), 202));
  EXPECT_EQ(stored(id)->state.probes_failed, 0U);
}

// req: engine.lane.2
TEST_F(AttemptEdges, WhileTheFirstOfALaneSleepsLongTheOthersAreOnDisk) {
  open_mill({{"fifo", "1"}, {"base", "7200000"}, {"strikes", "1000"}});
  id = sent({{"method", "post"}});
  for (int i = 0; i < 3; ++i) sent({{"method", "post"}});
  EXPECT_EQ(stats().in_window, 4U);
  post(answer(last_attempt(), 408));
  EXPECT_EQ(phase(id), Phase::kBackoff);
  EXPECT_EQ(stats().in_window, 0U);
  pass(2h);
  EXPECT_EQ(starts().size(), 2U);
  EXPECT_EQ(starts().back().message, id);
}

// Nobody looks for a message that has ended when it would have expired. req: engine.expiry.1
TEST_F(AttemptEdges, AnEndTakesTheExpiryWithIt) {
  open_mill();
  Submit event = message(next(), {{"method", "post"}});
  event.expires = instant().wall + 10s;
  post(event);
  post(answer(last_attempt(), 200));
  EXPECT_EQ(records_in(keys::kDue), 0U);
  const std::uint64_t reads = store.reads();
  pass(20s);
  EXPECT_EQ(store.reads(), reads);
}

// req: engine.redrive.4
TEST_F(AttemptEdges, AttemptsBeginWithTheirFirstStart) {
  open_mill({{"attempts", "1"}, {"strand", "1"}, {"strikes", "1000"}});
  id = sent({{"method", "post"}});
  post(ended(last_attempt(), WireEnd::kRefused));
  ASSERT_EQ(explained(id).state, "stranded");
  command_to<Pause>();
  EXPECT_EQ(command<RetryNow>(id).detail, "revived");
  advance(1min);
  command_to<Resume>();
  turn();
  ASSERT_EQ(phase(id), Phase::kInFlight);
  EXPECT_EQ(shown(id).first_attempt, instant().wall) << "and not when it was revived";
}

// A method that gives up before its first attempt leaves that to the next one. req: engine.life.2
TEST_F(AttemptEdges, TheFirstAttemptMayBeOfTheNextMethod) {
  open_mill({{"route", "stale"}});
  advance(5s);
  id = sent({{"method", "relay"}});
  turn();
  ASSERT_EQ(phase(id), Phase::kInFlight);
  EXPECT_EQ(shown(id).first_attempt, instant().wall);
  EXPECT_EQ(explained(id).attempts, 1U);
  const Timestamp first = instant().wall;
  post(answer(last_attempt(), 408));
  pass(1min);
  ASSERT_EQ(phase(id), Phase::kInFlight);
  EXPECT_EQ(shown(id).first_attempt, first);
}

// req: engine.life.2
TEST_F(AttemptEdges, AfterTheLastMethodNothingIsLeftToTry) {
  for (const std::size_t methods : {std::size_t{1}, std::size_t{2}}) {
    spec_.methods = sim::drill_profile().methods.first(methods);
    open_mill({{"route", "stale"}, {"window", std::to_string(10 * methods)}});
    id = sent({{"method", "relay"}});
    turn();
    EXPECT_EQ(phase(id), methods == 1 ? Phase::kDead : Phase::kInFlight) << methods;
  }
}

// req: engine.life.2
TEST_F(AttemptEdges, TheNextMethodIsRememberedOverACrash) {
  open_mill();
  id = sent({{"method", "relay"}});
  command_to<Pause>();
  post(answer(last_attempt(), 301));
  EXPECT_EQ(phase(id), Phase::kQueued);
  restart();
  command_to<Resume>();
  turn();
  ASSERT_EQ(starts().size(), 1U);
  EXPECT_NE(text_of(starts()[0]).find("post"), std::string::npos) << text_of(starts()[0]);
}

// req: engine.attempts.1
TEST_F(AttemptEdges, AnAttemptThatIsOverWithItsMessageWasGivenUp) {
  open_mill({{"strikes", "1000"}, {"base", "1000"}});
  for (const bool expires : {true, false}) {
    Submit event = message(next(), {{"method", "relay"}});
    if (expires) event.expires = instant().wall + 1min;
    post(event);
    id = id_of(questions);
    post(answer(last_attempt(), 206));
    EXPECT_EQ(explained(id).state, "moving");
    if (expires) {
      pass(1min);
    } else {
      command<Cancel>(id);
    }
    EXPECT_EQ(phase(id), expires ? Phase::kExpired : Phase::kIndeterminate);
    const AttemptList list = explained(id).attempt_list;
    ASSERT_EQ(list.notes.size(), 1U);
    EXPECT_EQ(list.notes[0].end, AttemptEnd::kGivenUp);
  }
}

// req: engine.retry.1
TEST_F(AttemptEdges, ABudgetCountsNothingOfWhatWasHeldBeforeTheFirstAttempt) {
  open_mill({{"budget", "600000"}, {"base", "60000"}, {"strikes", "1000"}});
  command_to<Pause>();
  id = sent({{"method", "post"}});
  pass(2h);
  command_to<Resume>();
  turn();
  ASSERT_EQ(phase(id), Phase::kInFlight);
  int attempts = 0;
  for (; attempts < 30 && phase(id) == Phase::kInFlight; ++attempts) {
    post(answer(last_attempt(), 408));
    pass(1min);
  }
  EXPECT_EQ(phase(id), Phase::kParked);
  EXPECT_GE(attempts, 8);
  EXPECT_LE(attempts, 12) << "ten minutes, one each";
}

// req: engine.timer.1
TEST_F(AttemptEdges, HowLateTimersWereIsTold) {
  open_mill({{"base", "1000"}, {"strikes", "1000"}});
  id = sent({{"method", "post"}});
  post(answer(last_attempt(), 408));
  const Histogram before = stats().tallies.timers_late;
  pass(1s);
  EXPECT_EQ(stats().tallies.timers_late.sum_ms, before.sum_ms) << "in time";
  EXPECT_GT(stats().tallies.timers_late.counts[0], before.counts[0]);
  post(answer(last_attempt(), 408));
  const std::uint64_t sum = stats().tallies.timers_late.sum_ms;
  advance(1500ms);
  EXPECT_GE(stats().tallies.timers_late.sum_ms, sum + 500);
  EXPECT_LT(stats().tallies.timers_late.sum_ms, sum + 1500);
}

// What sleeps on disk and moves on needs no waking any more. req: engine.record.1
TEST_F(AttemptEdges, WhoMovesOnInItsSleepIsNotWoken) {
  open_mill({{"base", "3600000"}, {"strikes", "1000"}});
  id = sent({{"method", "relay"}});
  post(answer(last_attempt(), 408));
  EXPECT_EQ(records_in(keys::kDue), 1U);
  receipt(id, On::kAccepted);
  EXPECT_EQ(explained(id).state, "held");
  EXPECT_EQ(records_in(keys::kDue), 0U);
  restart();
  EXPECT_EQ(explained(id).state, "held");
}

// What is in the window and what is on disk are counted apart. req: engine.census.1
TEST_F(AttemptEdges, AnEndInTheWindowLeavesTheCountOfThoseOnDisk) {
  open_mill({{"window", "1"}, {"in-use", "1"}});
  for (int i = 0; i < 4; ++i) sent({{"method", "post"}});
  const auto live = [this] {
    std::uint64_t sum = 0;
    for (const Stats::InState& row : stats().in_states) sum += row.messages;
    return sum;
  };
  EXPECT_EQ(live(), 4U);
  for (std::uint64_t left = 3; left > 0; --left) {
    post(answer(last_attempt(), 200));
    turn();
    EXPECT_EQ(live(), left);
  }
}

}  // namespace
}  // namespace postrider
