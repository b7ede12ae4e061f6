// Gates that failures close: how many in a row, for how long, whose call decides whether they open
// again, and what opens them at once.
#include <vector>

#include "tests/support/spec_rig.h"

namespace postrider {
namespace {

class FrailGate : public SpecRig {
 protected:
  // Messages have one attempt each, so that every one stands for itself.
  void open_frail() { open_mill({{"attempts", "1"}, {"strikes", "1000"}, {"window", "100"}}); }
  MessageId frail() { return sent({{"method", "once"}, {"frail", ""}}); }
  void refuse(std::size_t number) { post(ended(attempt(number), WireEnd::kRefused)); }
  void refuse_last() { post(ended(last_attempt(), WireEnd::kRefused)); }
  void close() {
    for (int i = 0; i < 3; ++i) {
      frail();
      refuse_last();
    }
  }
  std::size_t started() const { return starts().size(); }
};

// req: engine.gate.20
TEST_F(FrailGate, ClosesAfterThreeFailuresInARowForLongerEachTime) {
  open_frail();
  close();
  ASSERT_EQ(started(), 3U) << "two closed nothing";
  EXPECT_EQ(stats().tallies.gates_closed, 1U);
  for (int i = 0; i < 6; ++i) frail();
  std::size_t tried = 3;
  for (const Duration wait : {60s, 120s, 240s, 240s}) {
    pass(wait - 1ms);
    EXPECT_EQ(started(), tried) << wait.count();
    advance(1ms);
    EXPECT_EQ(started(), ++tried) << "one call decides";
    advance(1s);
    EXPECT_EQ(started(), tried) << "and the others wait for it";
    refuse_last();
  }
  EXPECT_EQ(stats().tallies.gates_closed, 5U);
  pass(240s);
  EXPECT_EQ(started(), tried + 1);
  post(answer(last_attempt(), 200));
  EXPECT_EQ(started(), tried + 2) << "whoever waited goes";
  post(answer(last_attempt(), 200));
  close();
  frail();
  const std::size_t before = started();
  pass(60s - 1ms);
  EXPECT_EQ(started(), before);
  advance(1ms);
  EXPECT_EQ(started(), before + 1) << "it begins with the shortest again";
}

// req: engine.gate.20
TEST_F(FrailGate, WhoAnswersInterruptsTheRow) {
  for (const std::size_t failures : {std::size_t{1}, std::size_t{2}}) {
    open_frail();
    for (const int status : {200, 500, 400}) {
      for (std::size_t i = 0; i < failures; ++i) {
        frail();
        refuse_last();
      }
      frail();
      post(answer(last_attempt(), status));
    }
    for (int i = 0; i < 2; ++i) {
      frail();
      refuse_last();
    }
    EXPECT_EQ(stats().tallies.gates_closed, 0U) << failures;
    const std::size_t before = started();
    frail();
    EXPECT_EQ(started(), before + 1);
    post(answer(last_attempt(), 200));
    Configure gone = place(next(), "mill");
    gone.config.removed = true;
    post(gone);
    ASSERT_EQ(code_of(questions), AnswerCode::kDone);
  }
}

// Those that were under way when it closed tell what they find, and decide nothing by failing.
// req: engine.gate.20
TEST_F(FrailGate, WhoeverWasUnderWayMayOpenItAndCannotKeepItShut) {
  open_frail();
  for (int i = 0; i < 5; ++i) frail();
  for (std::size_t i = 0; i < 3; ++i) refuse(i);
  frail();
  frail();
  pass(10s);
  refuse(3);
  EXPECT_EQ(stats().tallies.gates_closed, 1U);
  pass(10s);
  EXPECT_EQ(started(), 5U);
  post(answer(attempt(4), 200));
  EXPECT_EQ(started(), 7U) << "somebody is there after all";

  for (std::size_t i = 5; i < 7; ++i) refuse(i);
  for (int i = 0; i < 2; ++i) frail();
  refuse(7);
  frail();
  pass(10s);
  refuse(8);
  pass(50s - 1ms);
  EXPECT_EQ(started(), 9U);
  advance(1ms);
  EXPECT_EQ(started(), 10U) << "a minute after the third failure, whatever came later";
}

// req: engine.gate.20
TEST_F(FrailGate, ACallOfWhichNobodyHearsDecidesNothing) {
  open_frail();
  close();
  frail();
  frail();
  pass(60s);
  ASSERT_EQ(started(), 4U);
  pass(30s - 1ms);
  EXPECT_EQ(started(), 4U);
  advance(1ms);
  EXPECT_EQ(phase(starts()[3].message), Phase::kIndeterminate);
  EXPECT_EQ(started(), 5U) << "the next one decides";
  EXPECT_EQ(stats().tallies.gates_closed, 1U);
  refuse_last();
  EXPECT_EQ(stats().tallies.gates_closed, 2U);
}

// req: engine.gate.20
TEST_F(FrailGate, SilenceIsAFailureWhereTheGateSaysSo) {
  spec_.gates.limits = [](GateName name, const Policy& policy) {
    GateLimits limits = sim::drill_profile().gates.limits(name, policy);
    limits.strikes_on |= strike_on(FailureClass::kTimeout);
    return limits;
  };
  open_frail();
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(stats().tallies.gates_closed, 0U);
    frail();
    pass(30s);
  }
  EXPECT_EQ(stats().tallies.gates_closed, 1U);
  frail();
  EXPECT_EQ(started(), 3U);
  shard.reset();
}

// req: engine.gate.21
TEST_F(FrailGate, ASignOfLifeOpensIt) {
  open_frail();
  close();
  for (int i = 0; i < 3; ++i) frail();
  pass(10s);
  EXPECT_EQ(started(), 3U);
  post(news(next(), "alive peer"));
  turn();
  EXPECT_EQ(started(), 6U);
  refuse_last();
  frail();
  EXPECT_EQ(started(), 7U) << "it counts from the beginning";
}

// req: engine.gate.20
TEST_F(FrailGate, AQuestionWaitsUntilItIsOpenAndIsTheCallThatDecides) {
  open_mill({{"attempts", "1"}, {"strikes", "1000"}});
  id = sent({{"method", "task"}, {"frail", ""}});
  pass(20s);
  close();
  ASSERT_EQ(started(), 4U);
  pass(10s);
  EXPECT_EQ(phase(id), Phase::kInFlight);
  EXPECT_EQ(count("PROBE"), 0U);
  EXPECT_EQ(aborts(), std::vector{attempt(0)}) << "the attempt that it asks about is over";
  pass(50s - 1ms);
  EXPECT_EQ(count("PROBE"), 0U);
  advance(1ms);
  EXPECT_EQ(count("PROBE"), 1U);
  const std::size_t before = started();
  frail();
  EXPECT_EQ(started(), before);
  post(answer(last_attempt(), 202));
  EXPECT_EQ(started(), before + 1);
}

// req: engine.gate.20
TEST_F(FrailGate, AQuestionLooksEverySecondWhetherSomebodyElsesCallIsOver) {
  open_mill({{"attempts", "1"}, {"strikes", "1000"}});
  id = sent({{"method", "task"}, {"frail", ""}});
  pass(20s);
  close();
  frail();
  pass(60s);
  ASSERT_EQ(started(), 5U) << "who waited at the gate is the first";
  EXPECT_EQ(count("PROBE"), 0U);
  pass(2500ms);
  EXPECT_EQ(count("PROBE"), 0U);
  post(answer(last_attempt(), 200));
  pass(499ms);
  EXPECT_EQ(count("PROBE"), 0U);
  advance(1ms);
  EXPECT_EQ(count("PROBE"), 1U);
}

// Also of one that goes on holding its place. req: engine.gate.20
TEST_F(FrailGate, AQuestionThatNobodyAnswersLetsTheNextDecide) {
  open_mill({{"attempts", "1"}, {"strikes", "1000"}});
  id = sent({{"method", "task"}, {"frail", ""}});
  pass(20s);
  close();
  pass(60s);
  ASSERT_EQ(count("PROBE"), 1U);
  const std::size_t before = started();
  frail();
  frail();
  pass(10s - 1ms);
  EXPECT_EQ(started(), before);
  advance(1ms);
  EXPECT_EQ(started(), before + 1);
}

// req: engine.gate.20
TEST_F(FrailGate, IsCountedByTheFirstWordOfItsProfile) {
  spec_.gates.words = [](GateName) { return GateWords{"busy", "far side: it does not answer"}; };
  open_frail();
  close();
  const CountedWords closings = stats().tallies.closings;
  ASSERT_EQ(closings.size(), 1U);
  EXPECT_EQ(closings[0].word, "far side");
  EXPECT_EQ(closings[0].times, 1U);
  shard.reset();
}

}  // namespace
}  // namespace postrider
