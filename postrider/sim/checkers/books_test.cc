// Each checker must bite: a history that is right passes, and the same history with one thing wrong
// does not.
#include <gtest/gtest.h>

#include "postrider/sim/checkers/bench_testing.h"

namespace postrider::sim {
namespace {

Answer accepted(MessageId id) {
  Answer answer;
  answer.code = AnswerCode::kAccepted;
  answer.id = id;
  return answer;
}

TEST(EndsChecker, LetsAPlainLifePass) {  // req: engine.sim.2, engine.sim.12
  CheckerBench bench(make_ends_checker);
  bench.end(bench.accept(bench.message(1)), Phase::kDelivered);
  EXPECT_FALSE(bench.complained()) << bench.text();
}

TEST(EndsChecker, SeesAMessageThatGoesWithoutAnEnd) {  // req: engine.sim.2
  CheckerBench bench(make_ends_checker);
  const Message message = bench.accept(bench.message(1));
  WriteBatch batch;
  batch.remove_once(keys::hot(message.id.sequence(), keys::Part::kMessage));
  bench.commit(std::move(batch));
  EXPECT_TRUE(bench.complained());
}

TEST(EndsChecker, SeesAnEndThatLeavesItsMessage) {  // req: engine.sim.2
  CheckerBench bench(make_ends_checker);
  const Message message = bench.accept(bench.message(1));
  WriteBatch batch;
  batch.put(keys::end(1, message.id.sequence()),
            encode_end(bench.end_of(message, Phase::kDelivered)));
  bench.commit(std::move(batch));
  EXPECT_TRUE(bench.complained());
}

TEST(EndsChecker, SeesASecondEnd) {  // req: engine.sim.2
  CheckerBench bench(make_ends_checker);
  const Message message = bench.accept(bench.message(1));
  bench.end(message, Phase::kDelivered);
  ASSERT_FALSE(bench.complained()) << bench.text();
  WriteBatch batch;
  batch.put(keys::end(2, message.id.sequence()), encode_end(bench.end_of(message, Phase::kDead)));
  bench.commit(std::move(batch));
  EXPECT_TRUE(bench.complained());
}

TEST(EndsChecker, SeesAnEndThatTheLogDoesNotTell) {  // req: engine.sim.2
  CheckerBench bench(make_ends_checker);
  const Message message = bench.accept(bench.message(1));
  WriteBatch batch;
  bench.put_end(batch, bench.end_of(message, Phase::kDelivered), false);
  bench.commit(std::move(batch));
  EXPECT_TRUE(bench.complained());
}

TEST(EndsChecker, SeesCountersThatDoNotAddUp) {  // req: engine.sim.12
  CheckerBench bench(make_ends_checker);
  WriteBatch batch;
  bench.put(batch, bench.message(1));
  bench.counters.accepted = 2;
  bench.commit(std::move(batch));
  EXPECT_TRUE(bench.complained());
}

TEST(EndsChecker, SeesACommitWithoutCounters) {  // req: engine.sim.12
  CheckerBench bench(make_ends_checker);
  WriteBatch batch;
  bench.put(batch, bench.message(1));
  bench.commit(std::move(batch), false);
  EXPECT_TRUE(bench.complained());
}

TEST(ReceiptsChecker, SeesAnArrivedMessageSentAgain) {  // req: engine.sim.2
  CheckerBench bench(make_receipts_checker);
  const Message message = bench.accept(bench.message(1));
  bench.leave(message);
  bench.pass(1min);
  bench.checker->receipt({bench.moment(), message.id, On::kConfirmed});
  bench.pass(1min);
  bench.leave(message);
  EXPECT_FALSE(bench.complained()) << "it may have been on its way";
  bench.pass(1h);
  bench.leave(message);
  EXPECT_TRUE(bench.complained());
}

TEST(RetentionChecker, SeesYoungRecordsGo) {  // req: engine.sim.12
  CheckerBench bench(make_retention_checker);
  const auto remove_ends = [&bench] {
    WriteBatch batch;
    batch.remove_range(keys::bucket(keys::kEnd, 1), keys::bucket(keys::kEnd, 2));
    bench.ranges = {{keys::kEnd, 1}};
    ++bench.counters.removed_ends;
    bench.commit(std::move(batch));
  };
  bench.end(bench.accept(bench.message(1)), Phase::kDelivered);
  bench.pass(8 * 24h);
  remove_ends();
  EXPECT_FALSE(bench.complained()) << bench.text();
  bench.end(bench.accept(bench.message(2)), Phase::kDelivered);
  bench.pass(24h);
  remove_ends();
  EXPECT_TRUE(bench.complained());
}

TEST(RetentionChecker, SeesRemovalsThatAreNotCounted) {  // req: engine.sim.12
  CheckerBench bench(make_retention_checker);
  bench.end(bench.accept(bench.message(1)), Phase::kDelivered);
  bench.pass(8 * 24h);
  WriteBatch batch;
  batch.remove_range(keys::bucket(keys::kEnd, 1), keys::bucket(keys::kEnd, 2));
  bench.ranges = {{keys::kEnd, 1}};
  bench.commit(std::move(batch));
  EXPECT_TRUE(bench.complained());
}

TEST(RetentionChecker, SeesEngineTimeGoBack) {  // req: engine.sim.12
  CheckerBench bench(make_retention_checker);
  bench.now = bench.now - Duration(1h);
  bench.accept(bench.message(1));
  EXPECT_TRUE(bench.complained());
}

TEST(DurabilityChecker, SeesAPromiseThatIsNotDurable) {  // req: engine.sim.3
  CheckerBench bench(make_durability_checker);
  const Message message = bench.accept(bench.message(1));
  bench.tell(Ticket(1), accepted(message.id));
  EXPECT_FALSE(bench.complained()) << bench.text();
  bench.tell(Ticket(2), accepted(bench.message(2).id));
  EXPECT_TRUE(bench.complained());
}

TEST(DurabilityChecker, SeesAnAttemptOfAMessageThatIsNotDurable) {  // req: engine.sim.3
  CheckerBench bench(make_durability_checker);
  bench.leave(bench.accept(bench.message(1)));
  EXPECT_FALSE(bench.complained()) << bench.text();
  bench.leave(encode_message(bench.message(2), {}, "body"));
  EXPECT_TRUE(bench.complained());
}

TEST(DurabilityChecker, SeesAnIntentThatIsNotDurable) {  // req: engine.sim.3
  CheckerBench bench(make_durability_checker);
  const Message message = bench.accept(bench.message(1, 2));
  bench.leave(message);
  EXPECT_TRUE(bench.complained());
}

TEST(DurabilityChecker, SeesAnEndThatIsNotDurable) {  // req: engine.sim.3
  CheckerBench bench(make_durability_checker);
  const Message message = bench.accept(bench.message(1));
  Explanation explanation;
  explanation.id = message.id;
  explanation.phase = Phase::kDelivered;
  Answer answer;
  answer.view = explanation;
  bench.tell(Ticket(1), answer);
  EXPECT_TRUE(bench.complained());
}

TEST(DurabilityChecker, SeesAnswersGoBack) {  // req: engine.sim.3
  CheckerBench bench(make_durability_checker);
  const Message message = bench.accept(bench.message(1));
  bench.end(message, Phase::kDelivered);
  Explanation explanation;
  explanation.id = message.id;
  explanation.phase = Phase::kDelivered;
  Answer answer;
  answer.view = explanation;
  bench.tell(Ticket(1), answer);
  EXPECT_FALSE(bench.complained()) << bench.text();
  explanation.phase = Phase::kQueued;
  explanation.accepted = message.accepted;
  answer.view = explanation;
  bench.tell(Ticket(2), answer);
  EXPECT_TRUE(bench.complained());
}

TEST(DurabilityChecker, SeesALiveMessageThatIsNotFound) {  // req: engine.sim.3
  CheckerBench bench(make_durability_checker);
  Ask ask;
  ask.what = Ask::What::kExplain;
  ask.id = bench.accept(bench.message(1)).id;
  Answer answer;
  answer.code = AnswerCode::kNotFound;
  bench.tell(bench.ask(ask), answer);
  EXPECT_TRUE(bench.complained());
}

TEST(DurabilityChecker, SeesAnEpochGivenOutTwice) {  // req: engine.sim.13
  CheckerBench bench(make_durability_checker);
  bench.begin(2);
  EXPECT_FALSE(bench.complained()) << bench.text();
  bench.begin(2);
  EXPECT_TRUE(bench.complained());
}

TEST(DurabilityChecker, SeesASequenceOfAnotherEpoch) {  // req: engine.sim.13
  CheckerBench bench(make_durability_checker);
  const Message message = bench.message(1);
  bench.begin(2);
  bench.accept(message);
  EXPECT_TRUE(bench.complained());
}

TEST(OnceChecker, SeesASecondRun) {  // req: engine.sim.4
  CheckerBench bench(make_once_checker);
  Call call;
  call.id = bench.message(1).id;
  call.method = "once";
  const auto reach = [&](std::uint64_t attempt) {
    bench.checker->reached({bench.moment(), AttemptId(attempt), call, 0, true});
  };
  reach(1);
  reach(1);
  EXPECT_FALSE(bench.complained()) << "a copy made by the network is not ours";
  reach(2);
  EXPECT_TRUE(bench.complained());
}

LogEntry entry_at(std::uint64_t page) {
  LogEntry entry;
  entry.position = {1, page, 0};
  entry.reason = "page " + std::to_string(page);
  return entry;
}

class LogCheckerTest : public ::testing::Test {
 protected:
  LogCheckerTest() {
    for (std::uint64_t page = 1; page <= 3; ++page) {
      WriteBatch batch;
      batch.put(keys::log(1, Sequence(page)), encode_log({entry_at(page)}));
      bench.commit(std::move(batch));
    }
  }
  void read(LogPosition from, std::vector<LogEntry> entries, bool at_end) {
    Ask ask;
    ask.what = Ask::What::kLog;
    ask.from = from;
    LogPage page;
    page.next = entries.empty() ? from : LogPosition{1, entries.back().position.page, 1};
    page.entries = std::move(entries);
    page.at_end = at_end;
    Answer answer;
    answer.view = page;
    bench.tell(bench.ask(ask), answer);
  }
  CheckerBench bench{make_log_checker};
};

TEST_F(LogCheckerTest, LetsAReaderPass) {  // req: engine.sim.3
  read({}, {entry_at(1), entry_at(2)}, false);
  read({1, 2, 1}, {entry_at(3)}, true);
  EXPECT_FALSE(bench.complained()) << bench.text();
}

TEST_F(LogCheckerTest, SeesAMissedEntry) {  // req: engine.sim.3
  read({}, {entry_at(1), entry_at(3)}, true);
  EXPECT_TRUE(bench.complained());
}

TEST_F(LogCheckerTest, SeesAnEarlyEnd) {  // req: engine.sim.3
  read({}, {entry_at(1), entry_at(2)}, true);
  EXPECT_TRUE(bench.complained());
}

TEST_F(LogCheckerTest, SeesAChangedEntry) {  // req: engine.sim.3
  LogEntry other = entry_at(1);
  other.reason = "another";
  read({}, {other}, false);
  EXPECT_TRUE(bench.complained());
}

}  // namespace
}  // namespace postrider::sim
