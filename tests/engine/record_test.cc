// What is written, what is read, and what is kept: the write budget, point reads, bounded restores.
#include <algorithm>
#include <map>
#include <set>

#include "postrider/model/records/keys.h"
#include "tests/support/shard_rig.h"

namespace postrider {
namespace {

class Record : public ShardRig {
 protected:
  // "put_once H" and the like, with how often.
  using Census = std::map<std::string, int>;
  static Census census(const WriteBatch& batch) {
    Census out;
    for (const Write& write : batch.writes()) {
      const char* kind = "";
      switch (write.kind) {
        case Write::Kind::kPutOnce: kind = "put_once "; break;
        case Write::Kind::kRemoveOnce: kind = "remove_once "; break;
        case Write::Kind::kPut: kind = "put "; break;
        case Write::Kind::kRemove: kind = "remove "; break;
        case Write::Kind::kRemoveRange: kind = "remove_range "; break;
      }
      ++out[kind + std::string(1, write.key[0])];
    }
    return out;
  }
  Census next_commit() {
    Census out = census(store.held_batch());
    release_commit();
    return out;
  }
  std::size_t records_in(char space) {
    return store.memory()
        .scan({keys::space(space), keys::after_prefix(keys::space(space)), 1'000'000})
        .rows.size();
  }
  void open_with_shop(NamedTexts settings = {{"jitter_percent", "0"}}) {
    open();
    post(configure(1, "shop", std::move(settings)));
    actions.clear();
  }
};

TEST_F(Record,
       ADeliveryAtTheFirstAttemptCostsOnePutAndOneRemoveAndTheEnd) {  // req: engine.record.1
  open_with_shop();
  store.holds_commits = true;
  post(submit(2, "shop"));
  EXPECT_EQ(next_commit(), (Census{{"put_once H", 1}, {"put M", 1}}));
  post(answer(attempt(0), 200));
  Census end = next_commit();
  EXPECT_EQ(end["remove_once H"], 1);
  EXPECT_EQ(end["put M"], 1);
  end.erase("remove_once H");
  end.erase("put M");
  int more = 0;
  for (const auto& [kind, times] : end) {
    EXPECT_TRUE(kind.ends_with("E") || kind.ends_with("R")) << kind;
    more += times;
  }
  EXPECT_LE(more, 2);  // the page of ends, shared by the commit, and the end by id
}

TEST_F(Record, AnAttemptIsNotWritten) {  // req: engine.record.7
  open_with_shop({{"in_flight_max", "1"}});
  post(submit(2, "shop"));
  post(submit(3, "shop"));
  store.holds_commits = true;
  post(answer(attempt(0), 200));  // ends the first and starts the second
  const Census written = next_commit();
  ASSERT_EQ(starts().size(), 2U);
  EXPECT_FALSE(written.contains("put H"));
  EXPECT_FALSE(written.contains("put C"));
}

TEST_F(Record, ARetryWritesAStateAndNotTheBody) {  // req: engine.record.6, engine.record.3
  open_with_shop();
  Submit big = submit(2, "shop");
  big.body.assign(10'000, 'x');
  post(std::move(big));
  store.holds_commits = true;
  post(answer(attempt(0), 500));
  EXPECT_LT(store.held_batch().bytes(), 1000U);
  const Census written = next_commit();
  EXPECT_EQ(written.at("put H"), 1);
  EXPECT_FALSE(written.contains("put_once H"));
}

TEST_F(Record, ALiveMessageIsInExactlyOnePlace) {  // req: engine.record.2
  options.engine.limits.window_bytes_max = 2000;
  open_with_shop(
      {{"jitter_percent", "0"}, {"in_flight_max", "2"}, {"ladder", "1s,6h"}, {"strikes_max", "0"}});
  std::set<std::uint64_t> live;
  std::size_t started = 0;
  for (std::uint64_t i = 0; i < 60; ++i) {
    Submit event = submit(100 + i, "shop");
    event.body.assign(100, 'x');
    post(std::move(event));
    live.insert(id_of(100 + i).sequence().value());
    // Every second attempt fails; some messages sleep hot, some cold, some wait on disk.
    if (starts().size() > started) {
      const StartAttempt start = starts()[started++];
      const bool succeeds = started % 2 == 0;
      if (succeeds) live.erase(start.message.sequence().value());
      post(answer(start.attempt, succeeds ? 200 : 500));
    }
    if (i % 10 == 9) advance(700ms);
    std::multiset<std::uint64_t> stored;
    for (const auto& [key, value] : store.memory().contents()) {
      const auto hot = keys::parse_hot(key);
      const auto cold = keys::parse_cold(key);
      if (hot && hot->part == keys::Part::kMessage) stored.insert(hot->sequence.value());
      if (cold && cold->part == keys::Part::kMessage) stored.insert(cold->sequence.value());
    }
    ASSERT_EQ(stored, (std::multiset<std::uint64_t>(live.begin(), live.end())))
        << "after message " << i;
  }
  EXPECT_GT(records_in(keys::kCold), 0U);
  EXPECT_GT(records_in(keys::kHot), 0U);
}

TEST_F(Record, WindowsStayWithinTheirPool) {  // req: engine.queue.2
  options.engine.limits.window_bytes_max = 5000;
  open_with_shop({{"in_flight_max", "1"}});
  post(configure(2, "other", {{"in_flight_max", "1"}}));
  for (std::uint64_t i = 0; i < 40; ++i) {
    Submit event = submit(100 + i, i % 2 == 0 ? "shop" : "other");
    event.body.assign(1000, 'x');
    post(std::move(event));
    post(ask(1000 + i, Query::What::kStats));
    EXPECT_LE(view_of<Stats>(1000 + i).in_window, 5U);
  }
}

TEST_F(Record, QuestionsByIdScanNothing) {  // req: engine.name.4
  open_with_shop({{"jitter_percent", "0"}, {"ladder", "6h"}});
  post(submit(2, "shop"));
  post(submit(3, "shop"));
  post(submit(4, "shop"));
  post(answer(attempt(0), 500));  // sleeps on disk
  post(answer(attempt(1), 200));  // has ended
  post(answer(attempt(2), 500));
  const std::vector<MessageId> ids = {id_of(2), id_of(3), id_of(4)};
  const std::uint64_t scans = store.scans();
  for (std::uint64_t i = 0; i < 3; ++i) {
    Query question = ask(10 + i, Query::What::kExplain);
    question.id = ids[i];
    post(question);
    EXPECT_EQ(code_of(10 + i), AnswerCode::kDone);
  }
  Cancel cancel;
  cancel.caller.ticket = Ticket(20);
  cancel.id = ids[0];
  post(cancel);
  EXPECT_EQ(code_of(20), AnswerCode::kDone);
  EXPECT_EQ(store.scans(), scans);
}

TEST_F(Record, WhatHasARetentionIsDroppedByRange) {  // req: engine.record.9
  options.engine.log.age = 1h;
  options.engine.ends.age = 1h;
  options.engine.dead.age = 1h;
  options.engine.ledger.age = 26h;
  open_with_shop();
  for (std::uint64_t i = 0; i < 50; ++i) {
    post(submit(100 + i, "shop", opaque("key" + std::to_string(i))));
    post(answer(last_attempt(), i % 2 == 0 ? 200 : 404));
  }
  ASSERT_EQ(records_in(keys::kEnd), 50U);
  store.holds_commits = true;
  Census dropped;
  for (int hours = 0; hours < 48; ++hours) {
    advance(1h);
    while (store.commits_held() > 0) {
      for (const auto& [kind, times] : next_commit()) dropped[kind] += times;
    }
  }
  for (const char* one_by_one : {"remove E", "remove R", "remove Q", "remove L"}) {
    EXPECT_FALSE(dropped.contains(one_by_one)) << one_by_one;
  }
  for (const char space : {keys::kEnd, keys::kDead, keys::kLedger})
    EXPECT_EQ(records_in(space), 0U) << space;
}

class Restore : public Record {
 protected:
  // A paused destination with a backlog on disk, and one hot message elsewhere.
  void make_backlog(std::uint64_t messages) {
    open();
    post(configure(1, "shop"));
    Pause pause;
    pause.caller.ticket = Ticket(2);
    pause.destination = "shop";
    post(pause);
    for (std::uint64_t i = 0; i < messages; ++i) post(submit(1000 + i, "shop"));
    post(configure(3, "other"));
    post(submit(4, "other"));
    first = id_of(1000);
    hot = id_of(4);
  }
  MessageId first;
  MessageId hot;
};

TEST_F(Restore, ReadsPagesAndNotTheBacklog) {  // req: engine.restore.2, engine.restore.3
  options.engine.limits.restore_rows_max = 8;
  options.engine.limits.census_pages_max = 8;
  make_backlog(500);
  for (std::uint64_t i = 0; i < 40; ++i) post(submit(3000 + i, "other"));
  const std::uint64_t rows = store.rows();
  const std::uint64_t scans = store.scans();
  open();
  EXPECT_FALSE(shard->engine().restoring());
  EXPECT_LT(store.rows() - rows, 150U);  // 41 hot messages and some, not 500
  EXPECT_GE(store.scans() - scans, 5U);  // page by page
  EXPECT_EQ(starts().size(), 8U);        // in_flight_max of the hot destination
}

TEST_F(Restore, LongBacklogIsReadOnceAndLeavesTheCacheAlone) {
  constexpr std::uint64_t kMessages = 500;
  make_backlog(kMessages);
  post(answer(last_attempt(), 200));
  const std::size_t before = starts().size();
  const std::uint64_t rows = store.rows();
  const std::uint64_t scans = store.scans();
  Resume resume;
  resume.caller.ticket = Ticket(5);
  resume.destination = "shop";
  post(resume);
  for (std::size_t i = 0; i < kMessages; ++i) post(answer(attempt(before + i), 200));
  EXPECT_EQ(starts().size(), before + kMessages);
  EXPECT_LT(store.rows() - rows, kMessages * 5 / 4);  // a row of each page tells of the next
  EXPECT_GE(store.scans() - scans, 10U);
  EXPECT_EQ(store.once() + 1, store.scans() - scans);  // the first may lie among those of others
}

TEST_F(Restore, SubmitsAreAcceptedMeanwhile) {  // req: engine.submit.8
  make_backlog(5);
  store.holds_reads = true;
  open();
  release_read();  // the books
  ASSERT_TRUE(shard->ready());
  ASSERT_TRUE(shard->engine().restoring());
  post(submit(10, "shop"));
  // The restore's read is the older one; those of the submit come back before it.
  ASSERT_GE(store.reads_held(), 2U);
  while (store.reads_held() > 1) release_newest_read();
  EXPECT_TRUE(shard->engine().restoring());
  EXPECT_EQ(code_of(10), AnswerCode::kAccepted);
}

TEST_F(Restore, AMessageThatIsNotYetRestoredIsNotLost) {  // req: engine.restore.6
  make_backlog(5);
  store.holds_reads = true;
  open();
  release_read();
  ASSERT_TRUE(shard->engine().restoring());
  Query about_cold = ask(10, Query::What::kExplain);
  about_cold.id = first;
  post(about_cold);
  Query about_hot = ask(11, Query::What::kExplain);
  about_hot.id = hot;
  post(about_hot);
  Cancel cancel;
  cancel.caller.ticket = Ticket(12);
  cancel.id = first;
  post(cancel);
  while (store.reads_held() > 1) release_newest_read();  // all but the restore's
  while (store.reads_held() > 0) release_read();
  EXPECT_EQ(code_of(10), AnswerCode::kDone);
  EXPECT_EQ(code_of(11), AnswerCode::kDone);
  EXPECT_EQ(code_of(12), AnswerCode::kDone);
}

TEST_F(Restore, ACrashDuringRestoreIsACrashLikeAnyOther) {  // req: engine.restore.4
  options.engine.limits.restore_rows_max = 3;
  make_backlog(20);
  for (std::uint64_t i = 0; i < 10; ++i) post(submit(3000 + i, "other"));
  for (int reads = 0; reads < 12; ++reads) {
    store.holds_reads = true;
    open();
    for (int i = 0; i < reads && store.reads_held() > 0; ++i) release_read();
    shard.reset();
    while (store.reads_held() > 0) store.release_read();  // for nobody
  }
  store.holds_reads = false;
  open();
  post(ask(10, Query::What::kStats));
  EXPECT_EQ(view_of<Stats>(10).counters.live(), 31U);
  EXPECT_EQ(starts().size(), 8U);
}

TEST_F(Restore, OfTwoOwnersOnlyTheNewerCommits) {  // req: engine.restore.5
  open();
  post(configure(1, "shop"));
  std::vector<Action> newer_actions;
  auto newer = Shard::open(options, store, instant(),
                           [&](Action&& action) { newer_actions.push_back(std::move(action)); });
  ASSERT_TRUE(newer.has_value());
  (*newer)->turn(instant());
  actions.clear();
  post(submit(2, "shop"));
  EXPECT_TRUE(actions.empty());
  EXPECT_EQ(shard->fate(), Shard::Fate::kRestart);
  ASSERT_TRUE((*newer)->post(submit(3, "shop")));
  (*newer)->turn(instant());
  EXPECT_EQ(newer_actions.size(), 2U);  // an answer and a start
}

}  // namespace
}  // namespace postrider
