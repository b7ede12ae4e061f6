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

// A letter goes when it is redriven, dropped, too old or unreadable, and in no other way.
TEST(EndsChecker, KnowsWhereEveryDeadLetterWent) {  // req: engine.sim.12
  for (const std::string_view way : {"redriven", "dropped", "removed", "lost", "nowhere"}) {
    CheckerBench bench(make_ends_checker);
    const Message message = bench.accept(bench.message(1));
    bench.end(message, Phase::kDead);
    ASSERT_FALSE(bench.complained()) << bench.text();
    WriteBatch batch;
    const std::string key = keys::dead(1, message.id);
    if (way == "removed") {
      batch.remove_range(keys::bucket(keys::kDead, 1), keys::bucket(keys::kDead, 2));
      ++bench.counters.removed_dead;
    } else {
      batch.remove(key);
    }
    if (way == "redriven") ++bench.counters.redriven;
    if (way == "dropped") ++bench.counters.dropped;
    if (way == "lost") {
      bench.notebook.damaged(key);
      batch = WriteBatch();
      batch.put(keys::quarantine(key), std::string_view("letter"));
      batch.remove(key);
      ++bench.counters.quarantined;
    }
    bench.commit(std::move(batch));
    EXPECT_EQ(bench.complained(), way == "nowhere") << way << ": " << bench.text();
  }
}

TEST(EndsChecker, SeesLettersThatRetentionDidNotCount) {  // req: engine.sim.12
  CheckerBench bench(make_ends_checker);
  bench.end(bench.accept(bench.message(1)), Phase::kExpired);
  WriteBatch batch;
  batch.remove_range(keys::bucket(keys::kDead, 1), keys::bucket(keys::kDead, 2));
  bench.commit(std::move(batch));
  EXPECT_TRUE(bench.complained());
}

TEST(DurabilityChecker, SeesALetterThatIsNotFound) {  // req: engine.sim.3
  CheckerBench bench(make_durability_checker);
  const Message message = bench.accept(bench.message(1));
  Answer answer;
  answer.code = AnswerCode::kNotFound;
  bench.tell(bench.ask(Redrive{{}, message.id}), answer);
  EXPECT_FALSE(bench.complained()) << "there is none";
  bench.end(message, Phase::kDead);
  bench.tell(bench.ask(Redrive{{}, message.id}), answer);
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

// As retention does it: counted, and told in the log.
void remove_ends(CheckerBench& bench, bool counted, bool told) {
  WriteBatch batch;
  batch.remove_range(keys::bucket(keys::kEnd, 1), keys::bucket(keys::kEnd, 2));
  bench.ranges = {{keys::kEnd, 1}};
  if (counted) ++bench.counters.removed_ends;
  LogEntry notice;
  notice.kind = LogEntry::Kind::kRemoved;
  if (told) batch.put(keys::log(1, Sequence(++bench.pages)), encode_log({notice}));
  bench.commit(std::move(batch));
}

TEST(RetentionChecker, SeesYoungRecordsGo) {  // req: engine.sim.12
  CheckerBench bench(make_retention_checker);
  bench.end(bench.accept(bench.message(1)), Phase::kDelivered);
  bench.pass(8 * 24h);
  remove_ends(bench, true, true);
  EXPECT_FALSE(bench.complained()) << bench.text();
  bench.end(bench.accept(bench.message(2)), Phase::kDelivered);
  bench.pass(24h);
  remove_ends(bench, true, true);
  EXPECT_TRUE(bench.complained());
}

TEST(RetentionChecker, SeesRemovalsThatAreNotCounted) {  // req: engine.sim.12
  CheckerBench bench(make_retention_checker);
  bench.end(bench.accept(bench.message(1)), Phase::kDelivered);
  bench.pass(8 * 24h);
  remove_ends(bench, false, true);
  EXPECT_TRUE(bench.complained());
}

TEST(RetentionChecker, SeesRemovalsThatAreNotTold) {  // req: engine.sim.12
  CheckerBench bench(make_retention_checker);
  bench.end(bench.accept(bench.message(1)), Phase::kDelivered);
  bench.pass(8 * 24h);
  remove_ends(bench, true, false);
  EXPECT_TRUE(bench.complained());
}

TEST(RetentionChecker, SeesMoreBytesThanAllowed) {  // req: engine.sim.12
  for (const std::uint64_t bytes : {100'000U, 100U}) {
    CheckerBench bench(make_retention_checker);
    bench.shard.engine.ends.bytes = bytes;
    for (std::uint64_t i = 1; i <= 5; ++i)
      bench.end(bench.accept(bench.message(i)), Phase::kDelivered);
    EXPECT_EQ(bench.complained(), bytes == 100) << bench.text();
  }
}

TEST(RetentionChecker, LetsTooMuchGoEarly) {  // req: engine.sim.12
  CheckerBench bench(make_retention_checker);
  bench.shard.engine.ends.bytes = 10;
  bench.end(bench.accept(bench.message(1)), Phase::kDelivered);
  remove_ends(bench, true, true);
  EXPECT_FALSE(bench.complained()) << bench.text();
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
  Query query;
  query.what = Query::What::kExplain;
  query.id = bench.accept(bench.message(1)).id;
  Answer answer;
  answer.code = AnswerCode::kNotFound;
  bench.tell(bench.ask(query), answer);
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
  call.once = true;
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
    Query query;
    query.what = Query::What::kLog;
    query.from = from;
    LogPage page;
    page.next = entries.empty() ? from : LogPosition{1, entries.back().position.page, 1};
    if (next) page.next = *next;
    page.fell_behind = fell_behind;
    page.entries = std::move(entries);
    page.at_end = at_end;
    Answer answer;
    answer.view = page;
    bench.tell(bench.ask(query), answer);
  }
  CheckerBench bench{make_log_checker};
  std::optional<LogPosition> next;  // where the reader is sent; unset: where it should be
  bool fell_behind = false;
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

TEST_F(LogCheckerTest, SeesAReaderLedPastAnEntry) {  // req: engine.sim.3
  next = LogPosition{1, 9, 0};
  read({}, {entry_at(1), entry_at(2)}, false);
  EXPECT_TRUE(bench.complained());
}

TEST_F(LogCheckerTest, KnowsWhoFellBehind) {  // req: engine.sim.3
  WriteBatch batch;
  batch.remove_range(keys::bucket(keys::kLog, 1), keys::bucket(keys::kLog, 2));
  bench.commit(std::move(batch));
  next = LogPosition{2, 4, 0};
  read({1, 4, 0}, {}, true);
  EXPECT_FALSE(bench.complained()) << "it had read everything";
  fell_behind = true;
  read({1, 3, 0}, {}, true);
  EXPECT_FALSE(bench.complained()) << bench.text();
  fell_behind = false;
  read({1, 3, 0}, {}, true);
  EXPECT_TRUE(bench.complained());
}

TEST_F(LogCheckerTest, SeesAChangedEntry) {  // req: engine.sim.3
  LogEntry other = entry_at(1);
  other.reason = "another";
  read({}, {other}, false);
  EXPECT_TRUE(bench.complained());
}

TEST(SecretsChecker, SeesAKeyFileInARecordAndInAnAnswer) {  // req: engine.sim.81, engine.secret.4
  CheckerBench bench(make_secrets_checker);
  auto secrets = std::make_shared<Secrets>();
  secrets->put("key", "the bytes of a key");
  bench.shard.engine.secrets = secrets;
  bench.configure({{"peer", "peer-0"}, {"seal", "key"}});
  bench.accept(bench.message(1));
  EXPECT_FALSE(bench.complained()) << bench.text();
  bench.configure({{"peer", "the bytes of a key"}});
  EXPECT_TRUE(bench.complained());
  CheckerBench other(make_secrets_checker);
  other.shard.engine.secrets = secrets;
  Answer answer;
  answer.detail = "it is the bytes of a key!";
  other.checker->told({other.moment(), Ticket(1), answer});
  EXPECT_TRUE(other.complained());
}

}  // namespace
}  // namespace postrider::sim
