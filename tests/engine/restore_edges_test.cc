// What a restart meets that it cannot read, and who hears of a released hold at once.
#include <memory>
#include <string>
#include <utility>

#include "tests/support/spec_rig.h"

namespace postrider {
namespace {

using RestoreEdges = SpecRig;

// req: engine.quarantine.1, engine.census.1
TEST_F(RestoreEdges, ACountOfNobodyInMemoryThatCannotBeReadIsSaid) {
  open_mill();
  ASSERT_TRUE(stats().all_counted);
  leave(keys::census(DestinationId(77)), "no count");
  EXPECT_FALSE(stats().all_counted);
  EXPECT_EQ(stats().counters.quarantined, 1U);
  EXPECT_EQ(records_in(keys::kCensus), 0U);
  EXPECT_EQ(records_in(keys::kQuarantine), 1U);
}

// req: engine.quarantine.1
TEST_F(RestoreEdges, WhatIsDueThatCannotBeReadKeepsNothingFromItsTime) {
  open_mill({{"base", "100000"}, {"strikes", "1000"}});
  id = sent({{"method", "post"}});
  post(answer(last_attempt(), 408));
  std::string cut = keys::due(Timestamp(1), keys::DueKind::kAttempt, id);
  cut.pop_back();
  leave(cut, "");
  EXPECT_EQ(stats().counters.quarantined, 1U);
  EXPECT_EQ(records_in(keys::kQuarantine), 1U);
  pass(100s);
  EXPECT_EQ(starts().size(), 1U);
}

// req: engine.quarantine.1, engine.census.1
TEST_F(RestoreEdges, AMessageWhoseDestinationCannotBeReadStaysWhereItIs) {
  open_mill();
  id = sent({{"method", "post"}});
  ASSERT_EQ(records_in(keys::kHot), 1U);
  shard.reset();
  ASSERT_TRUE(store.memory().damage(keys::config(id.destination())));
  restart();
  EXPECT_TRUE(starts().empty());
  EXPECT_EQ(records_in(keys::kHot), 1U);
  EXPECT_FALSE(stats().all_counted) << "it is not told in which state it is";
}

// Whoever asks for it while the hot ones are being read brings it into memory, when nobody can
// tell yet whether it is empty. req: engine.configure.8
TEST_F(RestoreEdges, AnEmptyDestinationThatIsDrainedGoesWhoeverAskedForIt) {
  open_mill();
  const DestinationId number = mill().id;
  shard.reset();
  auto config = decode_config(store.memory().get(keys::config(number))->view());
  ASSERT_TRUE(config.has_value());
  config->draining = true;
  const auto batch = std::make_shared<WriteBatch>();
  batch->put(keys::config(number), encode_config(*config));
  batch->put(keys::owed(number), encode_owed({}));
  store.memory().commit(store.memory().acquire(0).value(), batch, [](CommitOutcome) {});
  store.holds_reads = true;
  open();
  release_read();  // the books
  ASSERT_EQ(store.reads_held(), 1U) << "the hot ones";
  Query question = ask(next(), Query::What::kDestination);
  question.destination = "mill";
  post(question);
  while (store.reads_held() > 1) release_newest_read();
  EXPECT_TRUE(answered(questions));
  while (store.reads_held() > 0) release_read();
  store.holds_reads = false;
  for (int i = 0; i < 3; ++i) turn();
  EXPECT_EQ(log(LogEntry::Kind::kRemoved).size(), 1U);
  EXPECT_EQ(records_in(keys::kOwed), 0U);
}

// Whoever sleeps for a moment is not in memory, and the others do not wait for it.
// req: engine.restore.1, engine.queue.4
TEST_F(RestoreEdges, WhatLiesOnDiskBehindASleeperGoesOnAtOnce) {
  open_mill({{"window", "1"}, {"base", "30000"}, {"strikes", "1000"}, {"attempt", "1000000"}});
  const MessageId sleeper = sent({{"method", "post"}});
  const MessageId behind = sent({{"method", "post"}});
  post(answer(last_attempt(), 408));
  ASSERT_EQ(starts().size(), 2U);
  EXPECT_EQ(explained(sleeper).place, Explanation::Place::kSleeping);
  restart();
  ASSERT_EQ(starts().size(), 1U);
  EXPECT_EQ(starts()[0].message, behind);
}

// Whoever is in memory may have work for ever; those on disk come back page by page all the same.
// req: engine.restore.7
TEST_F(RestoreEdges, DestinationsOnDiskComeBackThoughOthersHaveWorkForEver) {
  options.engine.limits.residents_max = 1;
  options.engine.limits.window_bytes_max = 1;  // everything is on disk
  options.engine.limits.restore_rows_max = 1;
  open();
  for (const char* name : {"a", "b", "c"}) {
    post(place(next(), name, {{"attempt", "1000000"}}));
    post(message(next(), {{"method", "post"}}, name));
  }
  ASSERT_EQ(starts().size(), 3U);
  restart();
  ASSERT_EQ(starts().size(), 1U) << "there is room for one";
  advance(999ms);
  EXPECT_EQ(starts().size(), 1U);
  advance(1ms);
  EXPECT_EQ(starts().size(), 2U);
  advance(1s);
  EXPECT_EQ(starts().size(), 3U);
}

// What was counted stays in memory until it is written. req: engine.census.1, engine.queue.9
TEST_F(RestoreEdges, ACountIsNotForgottenBeforeItIsWritten) {
  options.engine.limits.residents_max = 1;
  open();
  for (const char* name : {"a", "b", "c", "d"}) {
    post(place(next(), name));
    Pause pause;
    pause.caller.ticket = Ticket(next());
    pause.destination = name;
    post(pause);
  }
  store.holds_commits = true;
  post(message(next(), {{"method", "post"}}, "d"));  // in commit
  for (const char* name : {"a", "b", "c"}) post(message(next(), {{"method", "post"}}, name));
  store.holds_commits = false;
  while (store.commits_held() > 0) release_commit();
  for (int i = 0; i < 2; ++i) {
    const Stats told = stats();
    std::uint64_t queued = 0;
    for (const Stats::InState& row : told.in_states)
      queued += row.state == "queued" ? row.messages : 0;
    EXPECT_EQ(queued, 4U);
    restart();
  }
}

// A message that cannot be read and shares no body refers to none. req: engine.quarantine.1
TEST_F(RestoreEdges, AnUnreadableMessageOfItsOwnBodyLeavesNoReference) {
  open_mill({{"base", "100000"}, {"strikes", "1000"}});
  id = sent({{"method", "task"}});
  post(answer(last_attempt(), 408));
  ASSERT_TRUE(store.memory().damage(keys::cold(id, keys::Part::kState)));
  Query question = ask(next(), Query::What::kExplain);
  question.id = id;
  post(question);
  EXPECT_EQ(stats().counters.quarantined, 2U);
  EXPECT_FALSE(store.bytes_by_space().contains(keys::kBodyLetter));
}

// req: engine.quarantine.1, engine.fanout.5
TEST_F(RestoreEdges, AReferenceThatCannotBeReadIsRemoved) {
  open_mill();
  leave(keys::bucket(keys::kBodyLetter, 0) + "x", "");
  for (int i = 0; i < 3; ++i) turn();
  EXPECT_EQ(records_in(keys::kBodyLetter), 0U);
  sent({{"method", "post"}});
  EXPECT_EQ(starts().size(), 1U);
}

// Whoever is in memory does not wait for the disk. req: engine.pause.4
TEST_F(RestoreEdges, AReleasedHoldLetsGoWhoIsInMemoryAtOnce) {
  open_mill();
  PutHold put;
  put.caller.ticket = Ticket(next());
  put.rule.name = "night";
  post(put);
  ASSERT_EQ(code_of(questions), AnswerCode::kDone);
  EXPECT_EQ(mill().route.health, Health::kPaused);
  store.holds_reads = true;
  DropHold drop;
  drop.caller.ticket = Ticket(next());
  drop.name = "night";
  post(drop);
  EXPECT_EQ(mill().route.health, Health::kNormal);
  store.holds_reads = false;
  while (store.reads_held() > 0) release_read();
}

// Whoever was paused by an operator, or cannot be read, has nothing to do with it.
// req: engine.pause.4
TEST_F(RestoreEdges, AReleasedHoldBringsNobodyElseIntoMemory) {
  open_mill();
  Pause pause;
  pause.caller.ticket = Ticket(next());
  pause.destination = "mill";
  post(pause);
  PutHold put;
  put.caller.ticket = Ticket(next());
  put.rule.name = "night";
  put.rule.destination_prefix = "bell";
  post(put);
  ASSERT_EQ(code_of(questions), AnswerCode::kDone);
  for (const bool damaged : {false, true}) {
    if (damaged) leave(keys::route(DestinationId(77)), "no route");
    restart();
    EXPECT_EQ(stats().residents, 0U);
    DropHold drop;
    drop.caller.ticket = Ticket(next());
    drop.name = "night";
    post(drop);
    ASSERT_EQ(code_of(questions), AnswerCode::kDone);
    turn();
    EXPECT_EQ(stats().residents, 0U);
    put.caller.ticket = Ticket(next());
    post(put);
  }
}

}  // namespace
}  // namespace postrider
