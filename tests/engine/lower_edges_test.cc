// Turns of lower priorities, counted exactly.
#include <string>
#include <vector>

#include "tests/support/spec_rig.h"

namespace postrider {
namespace {

class LowerEdges : public SpecRig {
 protected:
  MessageId send(std::uint16_t priority, NamedTexts attributes = {{"method", "post"}}) {
    Submit event = message(next(), std::move(attributes));
    event.priority = priority;
    post(event);
    EXPECT_EQ(code_of(questions), AnswerCode::kAccepted);
    return id_of(questions);
  }
  void send_many(std::uint16_t priority, int count) {
    for (int i = 0; i < count; ++i) send(priority);
  }
  void serve(int count) {
    for (int i = 0; i < count; ++i) post(answer(last_attempt(), 200));
  }
  // The priorities of what was started, from this one on.
  std::vector<int> went(std::size_t from) const {
    std::vector<int> out;
    const std::vector<StartAttempt> all = starts();
    for (std::size_t i = from; i < all.size(); ++i) out.push_back(all[i].message.priority());
    return out;
  }
};

// Starts count from the first that passed somebody. req: engine.lane.8
TEST_F(LowerEdges, WhoPassedNobodyDoesNotCount) {
  open_mill({{"in-use", "1"}, {"window", "4"}, {"lower", "4"}});
  send_many(5, 30);
  serve(12);  // the disk was looked at, and has nobody lower
  const std::size_t before = starts().size();
  send(1);
  serve(5);
  EXPECT_EQ(went(before), (std::vector<int>{5, 5, 5, 1, 5}));
}

// req: engine.lane.8
TEST_F(LowerEdges, TheLowestPassNobody) {
  open_mill({{"in-use", "1"}, {"window", "4"}, {"lower", "4"}});
  send_many(0, 12);
  serve(6);
  const std::size_t before = starts().size();
  send_many(5, 8);
  serve(6);
  EXPECT_EQ(went(before), (std::vector<int>{5, 5, 5, 0, 5, 5}));
}

// req: engine.lane.8
TEST_F(LowerEdges, InMemoryItIsTheSame) {
  open_mill({{"in-use", "1"}, {"lower", "4"}});
  send_many(5, 3);
  send_many(1, 2);
  serve(1);  // passes them, as the first of three
  EXPECT_EQ(went(0), (std::vector<int>{5, 5}));
  send_many(5, 6);
  serve(9);
  EXPECT_EQ(went(0), (std::vector<int>{5, 5, 5, 5, 1, 5, 5, 5, 1, 5, 5}));
}

// The highest are gone or asleep when a turn is due: the next priority was passed by them like the
// lower ones, and its turn comes before theirs. req: engine.lane.8
TEST_F(LowerEdges, OneThatIsTheHighestForAMomentDoesNotLoseItsTurn) {
  open_mill({{"in-use", "1"}, {"lower", "3"}});
  send_many(9, 3);
  send_many(5, 6);
  send_many(1, 2);
  serve(9);
  EXPECT_EQ(went(0), (std::vector<int>{9, 9, 9, 5, 5, 5, 1, 5, 5, 1}));
}

// When half of the starts before its turn are over, so that nobody waits for the disk.
// req: engine.lane.8
TEST_F(LowerEdges, TheDiskIsLookedAtWhenHalfOfTheStartsAreOver) {
  open_mill({{"in-use", "1"}, {"window", "16"}, {"lower", "6"}});
  const std::uint64_t before = store.scans();
  send_many(5, 30);
  send(1);
  serve(1);  // of the next five
  EXPECT_EQ(store.scans(), before);
  serve(1);
  EXPECT_EQ(store.scans(), before + 1);
  serve(4);
  EXPECT_EQ(went(0), (std::vector<int>{5, 5, 5, 5, 5, 5, 1}));
}

// Two gates open at once; whoever waits at one of them with a higher priority goes first, also
// when somebody who needs both is looked at before it. req: engine.gate.10
TEST_F(LowerEdges, OfThoseWhoseGatesOpenAtOnceTheHigherGoesFirst) {
  open_mill({{"strikes", "1000"}});
  send(0, {{"method", "relay"}, {"narrow", ""}});
  const NamedTexts both = {{"method", "task"}, {"order", "1"}, {"narrow", ""}};
  const MessageId low = send(0, both);
  const MessageId high = send(9, both);
  ASSERT_EQ(starts().size(), 1U);
  post(answer(last_attempt(), 200));
  ASSERT_EQ(starts().size(), 2U);
  ASSERT_EQ(starts().back().message, high);
  const MessageId middle = send(5, {{"method", "task"}, {"order", "1"}});
  ASSERT_EQ(starts().size(), 2U);
  post(answer(last_attempt(), 200));
  ASSERT_EQ(starts().size(), 3U);
  EXPECT_EQ(starts().back().message, middle);
  post(answer(last_attempt(), 200));
  ASSERT_EQ(starts().size(), 4U);
  EXPECT_EQ(starts().back().message, low);
}

// A gate and the route open at the same moment. Whoever waited at the gate goes behind an older one
// of its order that had only waited for the route. req: engine.gate.10
TEST_F(LowerEdges, WhoWaitedAtAGatePassesNoOlderOneOfItsLane) {
  open_mill({{"spacing", "2000"}, {"attempt", "4000"}, {"base", "600000"}, {"strikes", "1000"}});
  pass(2s);
  sent({{"method", "post"}, {"narrow", ""}});  // gives the gate back in 4 s
  ASSERT_EQ(starts().size(), 1U);
  Submit later = task(next(), {{"order", "1"}});
  later.not_before = instant().wall + 3s;
  post(later);
  const MessageId older = id_of(questions);
  sent({{"method", "task"}, {"order", "1"}, {"narrow", ""}});
  pass(2s);
  ASSERT_EQ(starts().size(), 1U) << "the younger one waits at the gate";
  sent({{"method", "post"}});  // the route opens again in 2 s
  ASSERT_EQ(starts().size(), 2U);
  pass(2s);
  ASSERT_EQ(starts().size(), 3U);
  EXPECT_EQ(starts().back().message, older);
}

}  // namespace
}  // namespace postrider
