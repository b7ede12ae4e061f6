// The one rule: first writes become durable, only then may actions leave. Seen from outside, with a
// store that answers when the test says so.
#include <algorithm>

#include "tests/support/shard_rig.h"

namespace postrider {
namespace {

using Tickets = std::vector<std::uint64_t>;

class Turn : public ShardRig {
 protected:
  void open_with_shop() {
    open();
    post(configure(1, "shop"));
    ASSERT_EQ(code_of(1), AnswerCode::kDone);
    actions.clear();
  }
};

TEST_F(Turn, NothingLeavesBeforeItsOwnWritesAreDurable) {  // req: engine.turn.1, engine.submit.1
  open_with_shop();
  store.holds_commits = true;
  post(submit(2, "shop"));
  EXPECT_TRUE(actions.empty());
  turn();
  EXPECT_TRUE(actions.empty());
  release_commit();
  EXPECT_EQ(code_of(2), AnswerCode::kAccepted);
  EXPECT_EQ(starts().size(), 1U);
}

TEST_F(Turn, QuestionsWaitForAllEarlierTurns) {  // req: engine.turn.2, engine.end.2
  open_with_shop();
  store.holds_commits = true;
  post(submit(2, "shop"));
  post(ask(3, Query::What::kStats));
  EXPECT_TRUE(actions.empty());
  release_commit();
  EXPECT_EQ(tickets_answered(), (Tickets{2, 3}));
  EXPECT_EQ(view_of<Stats>(3).counters.accepted, 1U);
}

TEST_F(Turn, AnEndIsNotSeenBeforeItIsDurable) {  // req: engine.end.2
  open_with_shop();
  post(submit(2, "shop"));
  store.holds_commits = true;
  post(answer(attempt(0), 200));
  Query question = ask(3, Query::What::kExplain);
  question.id = id_of(2);
  post(question);
  post(ask(4, Query::What::kLog));
  EXPECT_FALSE(answered(3));
  EXPECT_FALSE(answered(4));
  release_commit();
  EXPECT_EQ(view_of<Explanation>(3).phase, Phase::kDelivered);
  EXPECT_EQ(view_of<LogPage>(4).entries.size(), 1U);
}

TEST_F(Turn, AtMostOneBatchIsInCommit) {  // req: engine.turn.3
  open_with_shop();
  store.holds_commits = true;
  post(submit(2, "shop"));
  EXPECT_EQ(store.commits_held(), 1U);
  post(submit(3, "shop"));
  post(submit(4, "shop"));
  EXPECT_EQ(store.commits_held(), 1U);
  release_commit();
  EXPECT_EQ(store.commits_held(), 1U);  // the open turn closed when the former was durable
  EXPECT_EQ(tickets_answered(), (Tickets{2}));
  release_commit();
  EXPECT_EQ(tickets_answered(), (Tickets{2, 3, 4}));
  EXPECT_EQ(store.commits_held(), 0U);
}

std::size_t messages_in(const WriteBatch& batch) {
  return static_cast<std::size_t>(
      std::count_if(batch.writes().begin(), batch.writes().end(), [](const Write& write) {
        return write.kind == Write::Kind::kPutOnce && write.key[0] == 'H';
      }));
}

TEST_F(Turn, AFullTurnTakesNoMoreEvents) {  // req: engine.turn.4
  options.turn_events_max = 3;
  open_with_shop();
  store.holds_commits = true;
  post(submit(10, "shop"));
  for (std::uint64_t i = 0; i < 8; ++i) post(submit(11 + i, "shop"));
  release_commit();
  EXPECT_EQ(messages_in(store.held_batch()), 3U);
  release_commit();
  EXPECT_EQ(messages_in(store.held_batch()), 3U);
  release_commit();
  EXPECT_EQ(messages_in(store.held_batch()), 2U);
  release_commit();
  EXPECT_EQ(tickets_answered().size(), 9U);
}

TEST_F(Turn, ATurnFullOfBytesTakesNoMoreEvents) {  // req: engine.turn.4
  options.turn_bytes_max = 3000;
  open_with_shop();
  store.holds_commits = true;
  post(submit(10, "shop"));
  for (std::uint64_t i = 0; i < 6; ++i) {
    Submit big = submit(11 + i, "shop");
    big.body.assign(1000, 'x');
    post(std::move(big));
  }
  release_commit();
  EXPECT_EQ(messages_in(store.held_batch()), 3U);
  release_commit();
  release_commit();
  EXPECT_EQ(tickets_answered().size(), 7U);
}

TEST_F(Turn, AFullTurnWithoutWritesGoesOn) {  // req: engine.turn.4
  options.turn_events_max = 3;
  open_with_shop();
  for (std::uint64_t i = 2; i < 7; ++i) ASSERT_TRUE(shard->post(ask(i, Query::What::kStats)));
  turn();
  EXPECT_EQ(tickets_answered(), (Tickets{2, 3, 4, 5, 6}));
}

TEST_F(Turn, AFullMailboxRefuses) {  // req: engine.turn.5
  options.event_queue_max = 4;
  options.turn_events_max = 1;
  open_with_shop();
  store.holds_commits = true;
  post(submit(2, "shop"));
  post(submit(3, "shop"));  // fills the open turn
  for (std::uint64_t i = 0; i < 4; ++i) EXPECT_TRUE(shard->post(submit(4 + i, "shop")));
  EXPECT_FALSE(shard->post(submit(9, "shop")));
  turn();
  EXPECT_FALSE(shard->post(submit(9, "shop")));
  store.holds_commits = false;
  release_commit();
  EXPECT_TRUE(shard->post(submit(9, "shop")));
  turn();
  EXPECT_EQ(tickets_answered(), (Tickets{2, 3, 4, 5, 6, 7, 9}));
}

TEST_F(Turn, ActionsLeaveInTheOrderOfTheirDecisions) {  // req: engine.turn.6
  open_with_shop();
  store.holds_commits = true;
  post(submit(2, "shop"));
  for (std::uint64_t i = 3; i < 9; ++i) post(submit(i, "shop"));
  while (store.commits_held() > 0) release_commit();
  EXPECT_EQ(tickets_answered(), (Tickets{2, 3, 4, 5, 6, 7, 8}));
  ASSERT_EQ(starts().size(), 7U);
  for (std::size_t i = 0; i < 7; ++i) EXPECT_EQ(starts()[i].message, id_of(2 + i));
}

TEST_F(Turn, WhatIsOverBeforeItLeftNeverLeaves) {  // req: engine.turn.20
  open();
  post(configure(1, "shop", {{"time_out", "5s"}, {"attempts_max", "1"}}));
  actions.clear();
  store.holds_commits = true;
  post(submit(2, "shop"));  // is in commit
  post(submit(3, "shop"));  // and this one waits for the next
  advance(6s);              // both have taken too long, and have no other attempt
  release_commit();
  release_commit();
  ASSERT_EQ(starts().size(), 1U);
  EXPECT_EQ(starts()[0].message, id_of(2));
  EXPECT_EQ(aborts(), (std::vector<AttemptId>{attempt(0)}));
  Query question = ask(4, Query::What::kExplain);
  question.id = id_of(3);
  post(question);
  EXPECT_EQ(view_of<Explanation>(4).phase, Phase::kDead);
}

TEST_F(Turn, WhatGoesOnHasLeftAsOftenAsItWasCounted) {  // req: engine.turn.20
  open();
  post(configure(1, "shop", {{"time_out", "5s"}, {"ladder", "1h"}, {"jitter_percent", "0"}}));
  actions.clear();
  store.holds_commits = true;
  post(submit(2, "shop"));
  post(submit(3, "shop"));
  advance(6s);
  release_commit();
  release_commit();
  ASSERT_EQ(starts().size(), 2U);
  EXPECT_EQ(starts()[1].message, id_of(3));
  EXPECT_EQ(aborts(), (std::vector<AttemptId>{attempt(0), attempt(1)}));
}

TEST_F(Turn, AfterAFailedCommitNothingLeavesAndTheShardAsksForARestart) {  // req: engine.turn.7
  open_with_shop();
  store.holds_commits = true;
  post(submit(2, "shop"));
  post(submit(3, "shop"));
  post(ask(4, Query::What::kStats));
  release_commit(CommitOutcome::kFailed);
  EXPECT_EQ(shard->fate(), Shard::Fate::kRestart);
  EXPECT_FALSE(shard->fate_reason().empty());
  advance(1h);
  EXPECT_TRUE(actions.empty());
  EXPECT_EQ(store.commits_held(), 0U);

  store.holds_commits = false;
  open();
  post(ask(5, Query::What::kStats));
  EXPECT_EQ(view_of<Stats>(5).counters.accepted, 0U);
}

class AmbiguousCommit : public Turn, public ::testing::WithParamInterface<bool> {};

TEST_P(AmbiguousCommit, EndsWellWhetherItWasWrittenOrNot) {  // req: engine.turn.8, engine.ledger.4
  const bool written = GetParam();
  open_with_shop();
  store.holds_commits = true;
  post(submit(2, "shop", opaque("order-1")));
  release_commit(CommitOutcome::kAmbiguous, written);
  EXPECT_EQ(shard->fate(), Shard::Fate::kRestart);
  EXPECT_TRUE(actions.empty());

  store.holds_commits = false;
  open();
  EXPECT_EQ(starts().size(), written ? 1U : 0U);
  post(submit(3, "shop", opaque("order-1")));
  ASSERT_EQ(code_of(3), AnswerCode::kAccepted);
  EXPECT_EQ(told(3).replayed, written);
  EXPECT_EQ(starts().size(), 1U);
  EXPECT_EQ(starts()[0].message, id_of(3));
  post(ask(4, Query::What::kStats));
  EXPECT_EQ(view_of<Stats>(4).counters.accepted, 1U);
}
INSTANTIATE_TEST_SUITE_P(Both, AmbiguousCommit, ::testing::Bool());

TEST_F(Turn, AFailedSyncStopsForGood) {  // req: engine.turn.9
  open_with_shop();
  store.holds_commits = true;
  post(submit(2, "shop"));
  post(submit(3, "shop"));
  release_commit(CommitOutcome::kNoSync);
  EXPECT_EQ(shard->fate(), Shard::Fate::kStop);
  (void)shard->post(submit(4, "shop"));
  advance(1h);
  EXPECT_TRUE(actions.empty());
  EXPECT_EQ(store.commits_held(), 0U);
}

TEST_F(Turn, AStoreThatCannotBeReadStopsTheShard) {  // req: engine.turn.10
  open_with_shop();
  store.holds_reads = true;
  post(submit(2, "nowhere"));
  ASSERT_EQ(store.reads_held(), 1U);
  store.fail_read();
  turn();
  EXPECT_EQ(shard->fate(), Shard::Fate::kStop);
  EXPECT_TRUE(actions.empty());
}

TEST_F(Turn, QuestionsAloneCommitNothing) {  // req: engine.turn.11
  open_with_shop();
  const std::uint64_t before = store.commits();
  post(ask(2, Query::What::kStats));
  post(ask(3, Query::What::kLog));
  post(submit(4, "nowhere"));
  EXPECT_EQ(tickets_answered(), (Tickets{2, 3, 4}));
  EXPECT_EQ(store.commits(), before);
}

TEST_F(
    Turn,
    EventsOfADestinationKeepTheirOrderAndHoldUpNobodyElse) {  // req: engine.turn.12, engine.turn.14
  open();
  post(configure(1, "shop"));
  open();  // nothing is in memory now
  post(submit(2, "other"));
  post(configure(3, "other"));
  actions.clear();
  store.holds_reads = true;
  post(submit(4, "shop"));   // must read the destination
  post(submit(5, "shop"));   // waits behind it
  post(submit(6, "other"));  // is in memory
  EXPECT_EQ(tickets_answered(), (Tickets{6}));
  while (store.reads_held() > 0) release_read();
  EXPECT_EQ(tickets_answered(), (Tickets{6, 4, 5}));
  EXPECT_LT(id_of(4), id_of(5));
}

TEST_F(Turn, CommandsWithOneKeyKeepTheirOrder) {  // req: engine.turn.13, engine.ledger.2
  open();
  post(configure(1, "shop"));
  post(configure(2, "other"));
  actions.clear();
  store.holds_reads = true;
  post(submit(3, "shop", opaque("order-1")));
  post(submit(4, "other", opaque("order-1")));
  post(submit(5, "shop", opaque("order-1")));
  EXPECT_TRUE(actions.empty());
  while (store.reads_held() > 0) release_read();
  EXPECT_EQ(code_of(3), AnswerCode::kAccepted);
  EXPECT_EQ(code_of(4), AnswerCode::kConflict);
  EXPECT_EQ(code_of(5), AnswerCode::kAccepted);
  EXPECT_TRUE(told(5).replayed);
  EXPECT_EQ(id_of(3), id_of(5));
}

TEST_F(Turn, ARepeatAttachesWhileTheFirstIsPending) {  // req: engine.ledger.2, engine.view.1
  open_with_shop();
  store.holds_commits = true;
  post(submit(2, "shop", opaque("order-1")));
  post(submit(3, "shop", opaque("order-1")));
  EXPECT_TRUE(actions.empty());
  while (store.commits_held() > 0) release_commit();
  EXPECT_EQ(id_of(2), id_of(3));
  EXPECT_EQ(starts().size(), 1U);
}

// A read that was asked before a commit became durable, and comes back after it, must not hide what
// was committed.
TEST_F(Turn, AReadFromBeforeACommitSeesTheCommit) {  // req: engine.view.3
  open_with_shop();
  store.holds_commits = true;
  store.holds_reads = true;
  post(submit(2, "shop", opaque("order-1")));  // asks for the key
  ASSERT_EQ(store.reads_held(), 1U);
  release_read();
  ASSERT_EQ(store.commits_held(), 1U);  // the entry is on its way
  Submit other = submit(3, "shop", opaque("order-2"));
  post(std::move(other));  // asks now, before the first is durable
  post(submit(4, "shop", opaque("order-1")));
  release_commit();
  while (store.reads_held() > 0) release_read();
  while (store.commits_held() > 0) release_commit();
  EXPECT_EQ(id_of(4), id_of(2));
  EXPECT_TRUE(told(4).replayed);
  EXPECT_FALSE(told(3).replayed);
}

// The store's page is cut at the limit, and what it holds is being removed: the list must go on
// behind it.
TEST_F(Turn, AListGoesOnBehindWhatIsBeingRemoved) {  // req: engine.view.4, engine.dead.2
  open_with_shop();
  for (std::uint64_t i = 0; i < 3; ++i) {
    post(submit(10 + i, "shop"));
    post(answer(last_attempt(), 404));
  }
  store.holds_commits = true;
  Drop drop;
  drop.caller.ticket = Ticket(2);
  drop.id = id_of(10);
  post(drop);
  Query question = ask(20, Query::What::kDeadLetters);
  question.limit = 1;
  post(question);
  store.holds_commits = false;
  release_commit();
  std::vector<MessageId> listed;
  for (std::uint64_t page = 20; page < 25; ++page) {
    const auto letters = view_of<DeadLetters>(page);
    for (const DeadLetter& letter : letters.letters) listed.push_back(letter.id);
    if (letters.next.empty()) break;
    question.ticket = Ticket(page + 1);
    question.cursor = letters.next;
    post(question);
  }
  EXPECT_EQ(listed, (std::vector<MessageId>{id_of(11), id_of(12)}));
}

TEST_F(Turn, TheKeylessHotPathReadsNothing) {  // req: engine.step.4
  open_with_shop();
  post(submit(2, "shop"));
  post(answer(attempt(0), 200));
  const std::uint64_t before = store.reads();
  for (std::uint64_t i = 0; i < 100; ++i) {
    post(submit(10 + i, "shop"));
    post(answer(last_attempt(), 200));
  }
  EXPECT_EQ(store.reads(), before);
  post(ask(3, Query::What::kStats));
  EXPECT_EQ(view_of<Stats>(3).counters.delivered, 101U);
}

}  // namespace
}  // namespace postrider
