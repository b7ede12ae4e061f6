// What ties messages to each other: gates held to the end, the order at a gate, supersession,
// submits that follow from an end, and the end of which nobody can tell what it was.
#include "tests/support/task_rig.h"

namespace postrider {
namespace {

using Gates = TaskRig;
using Supersession = TaskRig;
using Nested = TaskRig;
using Indeterminate = TaskRig;

TEST_F(Gates, OfAnOrderAreHeldInBackoffToo) {  // req: engine.gate.11
  open();
  post(place(1, "mill", {{"base", "600000"}}));
  post(place(2, "farm"));
  post(task(3, {{"order", "1"}}));
  Submit second = task(4, {{"order", "1"}});
  second.destination = "farm";
  post(second);
  Submit other = task(5, {{"order", "2"}});
  other.destination = "farm";
  post(other);
  ASSERT_EQ(starts().size(), 2U);  // the first, and the one of another order
  EXPECT_EQ(starts()[1].message, id_of(5));
  post(ended(attempt(0), WireEnd::kRefused));
  EXPECT_EQ(phase(id_of(3)), Phase::kBackoff);
  EXPECT_EQ(count("SEND"), 2U);
  Cancel cancel;
  cancel.id = id_of(3);
  post(cancel);
  ASSERT_EQ(count("SEND"), 3U);
  EXPECT_EQ(starts().back().message, id_of(4));
}

class HeldGates : public TaskRig, public ::testing::WithParamInterface<bool> {};

TEST_P(HeldGates, AreCountedAgainAfterARestart) {                     // req: engine.gate.11
  if (GetParam()) options.engine.limits.hot_sleep_max = Duration(0);  // the sleeper is on disk
  open();
  post(place(1, "mill", {{"base", "600000"}}));
  post(task(2, {{"order", "1"}}));
  post(ended(last_attempt(), WireEnd::kRefused));
  const MessageId first = id_of(2);
  post(task(3, {{"order", "1"}}));
  const MessageId second = id_of(3);
  EXPECT_EQ(count("SEND"), 1U);
  restart();
  EXPECT_EQ(count("SEND"), 0U);
  EXPECT_EQ(phase(second), Phase::kQueued);
  while (count("SEND") == 0 && elapsed < Duration(700s)) pass(1s);
  ASSERT_EQ(count("SEND"), 1U);
  EXPECT_EQ(starts()[0].message, first);
  post(answer(last_attempt(), 200));
  ASSERT_EQ(count("SEND"), 2U);
  EXPECT_EQ(starts()[1].message, second);
  post(answer(last_attempt(), 200));
  EXPECT_EQ(records_in(keys::kHolding), 0U);
}

INSTANTIATE_TEST_SUITE_P(Sleepers, HeldGates, ::testing::Bool(),
                         [](const auto& one) { return one.param ? "OnDisk" : "InMemory"; });

TEST_F(Gates, ServeThePriorityFirstAndThenTheOldest) {  // req: engine.gate.11
  open();
  post(place(1, "mill"));
  post(place(2, "farm"));
  std::uint64_t ticket = 3;
  const auto send = [&](const char* destination, std::uint16_t priority) {
    Submit event = task(ticket++, {{"narrow", ""}});
    event.destination = destination;
    event.priority = priority;
    post(event);
    return id_of(ticket - 1);
  };
  const MessageId first = send("mill", 0);
  const MessageId low = send("mill", 1);
  const MessageId high = send("farm", 7);
  const MessageId low_too = send("farm", 1);
  ASSERT_EQ(starts().size(), 1U);
  std::vector<MessageId> order;
  for (std::size_t i = 0; i < 4; ++i) {
    ASSERT_EQ(starts().size(), i + 1);
    order.push_back(starts().back().message);
    post(answer(last_attempt(), 200));
  }
  EXPECT_EQ(order, (std::vector<MessageId>{first, high, low, low_too}));
}

TEST_F(Gates, AreHeldFromTheSendToTheAnswerAndOverARestart) {  // req: engine.gate.11
  open();
  post(place(1, "mill", {{"poll", "3600000"}}));
  post(task(2, {{"narrow", ""}}));
  post(task(3, {{"narrow", ""}}));
  post(named(attempt(0), "t1"));
  EXPECT_EQ(phase(id_of(2)), Phase::kAwaiting);
  EXPECT_EQ(starts().size(), 1U);
  const MessageId second = id_of(3);
  restart();
  EXPECT_EQ(starts().size(), 0U);
  post(news(4, "done t1"));
  ASSERT_EQ(starts().size(), 1U);
  EXPECT_EQ(starts()[0].message, second);
}

TEST_F(Gates, OfAnAttemptThatWasOpenAtACrashStayTaken) {  // req: engine.gate.11
  open();
  post(place(1, "mill"));
  post(task(2, {{"narrow", ""}}));
  post(task(3, {{"narrow", ""}}));
  const MessageId second = id_of(3);
  restart();
  ASSERT_EQ(starts().size(), 1U);
  EXPECT_EQ(starts()[0].request.verb, "PROBE");
  EXPECT_EQ(phase(second), Phase::kQueued);
  post(answer(last_attempt(), 200));
  ASSERT_EQ(count("SEND"), 1U);
  EXPECT_EQ(starts().back().message, second);
}

TEST_F(Supersession, EndsOlderOnesThatWaitAndNoOthers) {  // req: engine.supersede.1
  open();
  post(place(1, "mill", {{"in-use", "1"}}));
  post(task(2, {{"supersede", "k"}}));  // on the wire
  post(task(3, {{"supersede", "k"}}));  // waits
  post(task(4, {{"supersede", "other"}}));
  post(task(5, {{"supersede", "k"}}));
  EXPECT_EQ(phase(id_of(2)), Phase::kInFlight);
  const Explanation gone = explained(id_of(3));
  EXPECT_EQ(gone.phase, Phase::kCancelled);
  EXPECT_EQ(gone.reason, "superseded");
  EXPECT_EQ(phase(id_of(4)), Phase::kQueued);
  EXPECT_EQ(phase(id_of(5)), Phase::kQueued);
  // What was on the wire then and waits now is still known to be older.
  post(ended(attempt(0), WireEnd::kRefused));
  EXPECT_EQ(phase(id_of(2)), Phase::kBackoff);
  post(task(6, {{"supersede", "k"}}));
  EXPECT_EQ(phase(id_of(2)), Phase::kCancelled);
}

TEST_F(Supersession, KnowsOlderOnesAfterARestart) {  // req: engine.supersede.1
  options.engine.limits.hot_sleep_max = Duration(0);
  open();
  post(place(1, "mill", {{"base", "600000"}}));
  post(task(2, {{"supersede", "k"}}));
  post(ended(last_attempt(), WireEnd::kRefused));
  const MessageId older = id_of(2);
  restart();
  post(task(3, {{"supersede", "k"}}));
  EXPECT_EQ(code_of(3), AnswerCode::kAccepted);
  EXPECT_EQ(phase(older), Phase::kCancelled);
  EXPECT_EQ(stats().counters.cancelled, 1U);
}

TEST_F(Nested, SubmitIsWrittenWithTheEndAndBecomesAMessage) {  // req: engine.nested.1
  open();
  post(place(1, "mill"));
  post(place(2, "bell"));
  post(task(3, {{"then", "bell"}}));
  const MessageId from = id_of(3);
  store.holds_commits = true;
  post(answer(last_attempt(), 200));
  bool written = false;
  for (const Write& write : store.held_batch().writes()) {
    if (write.key[0] != keys::kNested || write.kind != Write::Kind::kPut) continue;
    written = true;
    EXPECT_EQ(decode_nested(write.value.view())->from, from);
  }
  EXPECT_TRUE(written);
  while (store.commits_held() > 0) release_commit();
  store.holds_commits = false;
  turn();
  ASSERT_EQ(count("SEND"), 2U);
  EXPECT_EQ(starts().back().request.body, "ended delivered");
  EXPECT_EQ(explained(starts().back().message).origin, from);
  EXPECT_EQ(records_in(keys::kNested), 0U);
  EXPECT_EQ(stats().counters.accepted, 2U);
}

TEST_F(Nested, SubmitIsNotLostByACrash) {  // req: engine.nested.1
  open();
  post(place(1, "mill"));
  post(place(2, "bell"));
  post(task(3, {{"then", "bell"}}));
  options.engine.limits.residents_max = 0;
  store.holds_commits = true;
  post(answer(last_attempt(), 200));
  store.release_commit();  // the process dies before it hears of it
  store.holds_commits = false;
  restart();
  ASSERT_EQ(count("SEND"), 1U);
  EXPECT_EQ(starts()[0].request.body, "ended delivered");
  restart();
  EXPECT_EQ(stats().counters.accepted, 2U);
}

TEST_F(Nested, SubmitsKeepTheirOrderOverACrash) {  // req: engine.nested.2
  options.engine.limits.residents_max = 0;         // the bell has to be read again
  open();
  post(place(1, "mill"));
  post(place(2, "bell"));
  post(task(3, {{"then", "bell"}}));
  const AttemptId first = last_attempt();
  post(message(4, {{"method", "once"}, {"then", "bell"}}));
  store.holds_reads = true;
  post(answer(first, 200));
  ASSERT_EQ(records_in(keys::kNested), 1U);  // the process dies before it has become a message
  while (store.reads_held() > 0) store.release_read();
  store.holds_reads = false;
  restart();  // the second message ends while it is restored
  ASSERT_EQ(count("SEND"), 2U);
  EXPECT_EQ(starts()[0].request.body, "ended delivered");
  EXPECT_EQ(starts()[1].request.body, "ended indeterminate");
  EXPECT_EQ(records_in(keys::kNested), 0U);
}

TEST_F(Nested, SubmitToNobodyIsTold) {  // req: engine.nested.1
  open();
  post(place(1, "mill"));
  post(task(2, {{"then", "nobody"}}));
  post(answer(last_attempt(), 200));
  turn();
  const auto unsent = log(LogEntry::Kind::kUnsent);
  ASSERT_EQ(unsent.size(), 1U);
  EXPECT_EQ(unsent[0].id, id_of(2));
  EXPECT_EQ(unsent[0].reason, "there is no destination 'nobody'");
  EXPECT_EQ(records_in(keys::kNested), 0U);
}

TEST_F(Indeterminate, IsAnEndThatIsCountedToldAndNotRepeated) {  // req: engine.life.15
  open();
  post(place(1, "mill"));
  post(message(2, {{"method", "once"}}));
  const MessageId once = id_of(2);
  restart();
  EXPECT_TRUE(starts().empty());
  const Explanation end = explained(once);
  EXPECT_EQ(end.phase, Phase::kIndeterminate);
  EXPECT_EQ(end.place, Explanation::Place::kEnded);
  EXPECT_EQ(end.failure, FailureClass::kTimeout);
  EXPECT_EQ(end.reason, "no answer in time");
  EXPECT_EQ(stats().counters.indeterminate, 1U);
  EXPECT_EQ(stats().counters.live(), 0U);
  const auto ends = log(LogEntry::Kind::kEnd);
  ASSERT_EQ(ends.size(), 1U);
  EXPECT_EQ(ends[0].phase, Phase::kIndeterminate);
  // It may have happened, so it is not offered for another try.
  post(ask(3, Query::What::kDeadLetters));
  EXPECT_TRUE(view_of<DeadLetters>(3).letters.empty());
  Redrive redrive;
  redrive.caller.ticket = Ticket(4);
  redrive.id = once;
  post(redrive);
  EXPECT_EQ(code_of(4), AnswerCode::kEnded);
}

}  // namespace
}  // namespace postrider
