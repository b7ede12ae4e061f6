// Who holds a place of a gate or of a group, from the cold space and over a restart too.
#include "tests/support/task_rig.h"

namespace postrider {
namespace {

class Holding : public TaskRig {
 protected:
  void pause(const std::string& name) {
    Pause event;
    event.caller.ticket = Ticket(++questions);
    event.destination = name;
    post(event);
  }
  void resume(const std::string& name) {
    Resume event;
    event.caller.ticket = Ticket(++questions);
    event.destination = name;
    post(event);
  }
};

// req: engine.gate.11
TEST_F(Holding, FromTheColdSpaceHasARecordUntilItIsOver) {
  open();
  post(place(1, "mill"));
  pause("mill");
  post(task(2, {{"narrow", ""}}));  // on disk
  resume("mill");
  pass(1ms);
  ASSERT_EQ(count("SEND"), 1U);
  EXPECT_EQ(records_in(keys::kHolding), 1U) << "on the wire";
  post(named(last_attempt(), "t1"));
  EXPECT_EQ(phase(id_of(2)), Phase::kAwaiting);
  EXPECT_EQ(records_in(keys::kHolding), 1U) << "there";
  post(task(3, {{"narrow", ""}}));
  const MessageId second = id_of(3);
  restart();
  EXPECT_EQ(count("SEND"), 0U) << "the place is taken";
  post(news(++questions, "done t1"));
  EXPECT_EQ(records_in(keys::kHolding), 0U);
  ASSERT_EQ(count("SEND"), 1U);
  EXPECT_EQ(starts().back().message, second);
}

// req: engine.fair.2
TEST_F(Holding, APlaceOfAGroupIsHeldToTheAnswerAndOverARestart) {
  open();
  for (const char* name : {"mill", "bell"}) post(place(++questions, name, {{"group", "1"}}));
  post(task(2));
  post(named(last_attempt(), "t1"));
  Submit other = task(3);
  other.destination = "bell";
  post(other);
  EXPECT_EQ(count("SEND"), 1U) << "the group has one place";
  restart();
  EXPECT_EQ(count("SEND"), 0U);
  post(news(++questions, "done t1"));
  ASSERT_EQ(count("SEND"), 1U) << "it was given back";
  post(answer(last_attempt(), 200));
  for (const char* name : {"mill", "bell", "mill"}) {
    Submit more = task(++questions);
    more.destination = name;
    post(more);
  }
  EXPECT_EQ(count("SEND"), 2U);
  post(answer(last_attempt(), 200));
  EXPECT_EQ(count("SEND"), 3U);
}

// req: engine.drain.1
TEST_F(Holding, StartsAreHeldBeforeAStop) {
  open();
  post(place(1, "mill", {{"in-use", "1"}}));
  post(message(2, {{"method", "post"}}));
  post(message(3, {{"method", "post"}}));
  shard->hold_starts();
  post(answer(last_attempt(), 200));
  EXPECT_EQ(phase(id_of(2)), Phase::kDelivered) << "what is open may end";
  EXPECT_EQ(starts().size(), 1U) << "nothing else starts";
  restart();
  EXPECT_EQ(starts().size(), 1U) << "the next one goes on";
}

TEST_F(Holding, RowsTellHowOftenTheyWereUsed) {
  open();
  post(place(1, "mill"));
  std::size_t rows = 0;
  for (const Method& method : sim::drill_profile().methods) rows += method.rows.size();
  const auto used = [this] {
    std::uint64_t times = 0;
    for (const Engine::RowUse& row : shard->engine().rows_used()) times += row.times;
    return times;
  };
  EXPECT_EQ(shard->engine().rows_used().size(), rows);
  EXPECT_EQ(used(), 0U);
  post(message(2, {{"method", "post"}}));
  EXPECT_EQ(used(), 1U) << "it was due";
  post(answer(last_attempt(), 200));
  EXPECT_EQ(used(), 2U) << "it was delivered";
}

}  // namespace
}  // namespace postrider
