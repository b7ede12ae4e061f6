// Questions about messages whose fate is open, at their edges.
#include <vector>

#include "tests/support/spec_rig.h"

namespace postrider {
namespace {

using QuestionEdges = SpecRig;

// A question that nobody answered is given up at once, not when the next one leaves: until then its
// answer would be taken for an answer, and its place for taken. req: engine.total.3
TEST_F(QuestionEdges, OneThatWasNotAnsweredInTimeIsOver) {
  open_with_task({{"poll-error", "30000"}, {"strikes", "1000"}});
  pass(30s);
  ASSERT_EQ(count("PROBE"), 1U);
  const AttemptId question = last_attempt();
  pass(10s);
  EXPECT_EQ(aborts(), (std::vector{attempt(0), question}));
  EXPECT_EQ(stats().open_attempts, 0U);
  post(answer(question, 200));
  EXPECT_EQ(stats().tallies.late_outcomes, 1U);
  EXPECT_EQ(phase(id), Phase::kInFlight);
  pass(30s - 1ms);
  EXPECT_EQ(count("PROBE"), 1U);
  advance(1ms);
  EXPECT_EQ(count("PROBE"), 2U);
  EXPECT_EQ(stats().open_attempts, 1U);
}

// Whoever reads the log is never told to begin again where nothing can be read. req: engine.log.2
TEST_F(QuestionEdges, APageOfTheLogThatCannotBeReadIsPassedOver) {
  open_mill();
  for (int i = 0; i < 2; ++i) {
    sent({{"method", "post"}});
    post(answer(last_attempt(), 200));
  }
  post(ask(next(), Query::What::kLog));
  const std::vector<LogEntry> all = view_of<LogPage>(questions).entries;
  ASSERT_EQ(all.size(), 2U);
  const LogPosition first = all[0].position;
  ASSERT_TRUE(store.memory().damage(keys::log(first.bucket, Sequence(first.page))));
  Query event = ask(next(), Query::What::kLog);
  event.limit = 1;
  event.from = first;
  post(event);
  const auto nothing = view_of<LogPage>(questions);
  EXPECT_TRUE(nothing.entries.empty());
  EXPECT_FALSE(nothing.at_end);
  EXPECT_EQ(nothing.next, (LogPosition{first.bucket, first.page + 1, 0}));
  event = ask(next(), Query::What::kLog);
  event.limit = 1;
  event.from = nothing.next;
  post(event);
  const auto rest = view_of<LogPage>(questions);
  ASSERT_EQ(rest.entries.size(), 1U);
  EXPECT_EQ(rest.entries[0].id, all[1].id);
}

// It goes with its last message, unless somebody has removed it in the same moment.
// req: engine.configure.8
TEST_F(QuestionEdges, ADestinationThatIsDrainedMayBeGoneWhenItIsLookedAt) {
  open_mill();
  sent({{"method", "post"}});
  Configure gone = place(next(), "mill");
  gone.config.removed = true;
  gone.config.draining = true;
  post(gone);
  ASSERT_EQ(code_of(questions), AnswerCode::kPending);
  gone.caller.ticket = Ticket(next());
  gone.config.draining = false;
  ASSERT_TRUE(shard->post(answer(last_attempt(), 200)));
  ASSERT_TRUE(shard->post(gone));
  turn();
  turn();
  ASSERT_TRUE(answered(questions));
  post(place(next(), "mill"));
  EXPECT_EQ(told(questions).detail, "created");
}

}  // namespace
}  // namespace postrider
