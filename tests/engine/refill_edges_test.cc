// From disk into the window, at its edges: how many come and when, who wakes while there is no
// room, what is written on the way, and what a restart finds.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/spec_rig.h"

namespace postrider {
namespace {

class RefillEdges : public SpecRig {
 protected:
  // Everything is on disk, and what is read from there is in the window.
  RefillEdges() { options.engine.limits.window_bytes_max = 1; }

  std::vector<MessageId> backlog(std::size_t count) {
    std::vector<MessageId> out;
    for (std::size_t i = 0; i < count; ++i) out.push_back(sent({{"method", "post"}}));
    return out;
  }
  void deliver() { post(answer(attempt(delivered_++), 200)); }
  void start_again() {
    restart();
    delivered_ = 0;
  }
  std::size_t owed_bytes() const {
    const auto found = store.bytes_by_space().find(keys::kOwed);
    return found == store.bytes_by_space().end() ? 0 : found->second;
  }

  std::size_t delivered_ = 0;
};

// req: engine.queue.1
TEST_F(RefillEdges, AWindowOfOneHasOne) {
  open_mill({{"window", "1"}, {"in-use", "1"}});
  const std::vector<MessageId> ids = backlog(6);
  for (const MessageId expected : ids) {
    EXPECT_EQ(stats().in_window, 1U);
    EXPECT_EQ(starts().back().message, expected);
    deliver();
  }
  EXPECT_EQ(stats().in_window, 0U);
}

// Until half of it is gone a read would bring little. req: engine.queue.3
TEST_F(RefillEdges, AWindowIsFilledWhenHalfOfItIsLeft) {
  options.engine.limits.window_bytes_max = 1'000'000;
  open_mill({{"window", "4"}, {"in-use", "1"}});
  backlog(12);
  std::vector<std::uint64_t> in_window = {stats().in_window};
  for (int i = 0; i < 6; ++i) {
    deliver();
    in_window.push_back(stats().in_window);
  }
  EXPECT_EQ(in_window, (std::vector<std::uint64_t>{4, 3, 4, 3, 4, 3, 4}));
}

// Whoever had a success so lately reads alone, and leaves the cache to others.
TEST_F(RefillEdges, WhoSucceededTenSecondsAgoIsNotAtWorkAnyMore) {
  options.engine.limits.window_bytes_max = 1'000'000;
  open();
  for (const Duration ago : {9'999ms, 10'000ms}) {
    const std::string name = "mill" + std::to_string(ago.count());
    const auto tell = [&](auto event) {
      event.caller.ticket = Ticket(next());
      event.destination = name;
      post(event);
    };
    post(place(next(), name));
    post(message(next(), {{"method", "post"}}, name));
    post(answer(last_attempt(), 200));
    tell(Pause());
    post(message(next(), {{"method", "post"}}, name));
    advance(ago);
    const std::uint64_t before = store.once();
    tell(Resume());
    EXPECT_EQ(store.once() - before, ago < 10s ? 1U : 0U) << ago.count();
    post(answer(last_attempt(), 200));
  }
}

// req: engine.queue.1
TEST_F(RefillEdges, WhoWakesWithoutAPlaceWaitsOnDisk) {
  options.engine.limits.window_bytes_max = 1'000'000;
  open_mill({{"window", "2"}, {"base", "100000"}, {"strikes", "1000"}, {"attempt", "1000000"}});
  const MessageId late = sent({{"method", "post"}});
  post(answer(last_attempt(), 408));
  EXPECT_EQ(stats().in_window, 0U);
  backlog(2);
  ASSERT_EQ(starts().size(), 3U);
  pass(100s);
  EXPECT_EQ(stats().in_window, 2U);
  EXPECT_EQ(starts().size(), 3U);
  EXPECT_EQ(explained(late).place, Explanation::Place::kDisk);
  post(answer(attempt(1), 200));
  ASSERT_EQ(starts().size(), 4U);
  EXPECT_EQ(starts().back().message, late);
  EXPECT_EQ(stats().in_window, 2U);
}

// req: engine.queue.1
TEST_F(RefillEdges, WhoWakesInAPauseWaitsOnDisk) {
  options.engine.limits.window_bytes_max = 1'000'000;
  open_mill({{"window", "2"}, {"base", "100000"}, {"strikes", "1000"}});
  const MessageId late = sent({{"method", "post"}});
  post(answer(last_attempt(), 408));
  command_to<Pause>();
  pass(100s);
  EXPECT_EQ(stats().in_window, 0U);
  EXPECT_EQ(explained(late).place, Explanation::Place::kDisk);
  command_to<Resume>();
  ASSERT_EQ(starts().size(), 2U);
  EXPECT_EQ(starts().back().message, late);
}

// req: engine.lane.2
TEST_F(RefillEdges, ALaneGoesOnBehindAHeadThatHasSleptOnDisk) {
  options.engine.limits.window_bytes_max = 1'000'000;
  open_mill({{"fifo", "1"}, {"base", "100000"}, {"strikes", "1000"}, {"window", "2"}});
  const std::vector<MessageId> ids = backlog(3);
  post(answer(last_attempt(), 408));
  EXPECT_EQ(stats().in_window, 0U);
  pass(100s);
  const MessageId last = sent({{"method", "post"}});
  for (int i = 0; i < 4; ++i) post(answer(last_attempt(), 200));
  std::vector<MessageId> went;
  for (const StartAttempt& start : starts()) went.push_back(start.message);
  EXPECT_EQ(went, (std::vector<MessageId>{ids[0], ids[0], ids[1], ids[2], last}));
}

// A record of what is owed says where a restart begins to read. req: engine.restore.3
TEST_F(RefillEdges, WhereARestartBeginsIsWrittenWhenItMoves) {
  open_mill({{"window", "4"}, {"in-use", "1"}});
  backlog(12);
  start_again();
  const std::size_t before = owed_bytes();
  start_again();
  EXPECT_EQ(starts().size(), 1U);
  EXPECT_EQ(owed_bytes(), before) << "it was read, and nothing of it is done";
  for (int i = 0; i < 6; ++i) deliver();
  EXPECT_GT(owed_bytes(), before);
  const std::uint64_t rows = store.rows();
  start_again();
  EXPECT_LE(store.rows() - rows, 11U) << "what is done is not looked at again";
}

// req: engine.restore.1, engine.gate.7
TEST_F(RefillEdges, WhoCameIntoMemoryDuringARestoreIsThereOnce) {
  open_mill({{"strikes", "1000"}});
  id = sent({{"method", "relay"}, {"narrow", ""}});
  post(answer(last_attempt(), 202));
  ASSERT_EQ(explained(id).state, "held");
  store.holds_reads = true;
  open();
  release_read();  // the books
  release_read();  // the hot messages: none
  ASSERT_EQ(store.reads_held(), 1U) << "who holds gates";
  receipt(id, On::kStillHeld);
  while (store.reads_held() > 1) release_newest_read();
  while (store.reads_held() > 0) release_read();
  store.holds_reads = false;
  turn();
  EXPECT_EQ(stats().in_window, 1U);
  EXPECT_EQ(explained(id).state, "held");
  sent({{"method", "relay"}, {"narrow", ""}});
  EXPECT_TRUE(starts().empty()) << "there is one place";
  receipt(id, On::kConfirmed);
  EXPECT_EQ(starts().size(), 1U);
  EXPECT_EQ(stats().in_window, 1U);
}

// What is being removed and not yet gone from the disk is passed at once: a read that began there
// again would find it again. req: engine.queue.3
TEST_F(RefillEdges, AReadGoesOnBehindWhatIsBeingRemoved) {
  options.engine.limits.window_bytes_max = 1'000'000;
  options.engine.limits.refill_rows_max = 3;
  open_mill({{"window", "2"}, {"in-use", "1"}});
  // In one turn, so that each follows the one before without a gap.
  const std::uint64_t before = questions;
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(shard->post(message(next(), {{"method", "post"}})));
  turn();
  std::vector<MessageId> ids;
  for (std::uint64_t i = before + 1; i <= before + 10; ++i) ids.push_back(id_of(i));
  ASSERT_EQ(ids[5].low, ids[4].low + 1);
  ASSERT_EQ(stats().in_window, 2U);
  store.holds_commits = true;
  for (std::size_t i = 2; i < 5; ++i) {
    Cancel cancel;
    cancel.caller.ticket = Ticket(next());
    cancel.id = ids[i];
    ASSERT_TRUE(shard->post(cancel));
  }
  turn();
  const std::uint64_t scans = store.scans();
  ASSERT_TRUE(shard->post(answer(attempt(0), 200)));
  for (int i = 0; i < 50; ++i) turn();
  EXPECT_LE(store.scans() - scans, 4U);
  store.holds_commits = false;
  while (store.commits_held() > 0) release_commit();
  ASSERT_EQ(starts().size(), 2U);
  EXPECT_EQ(stats().in_window, 2U) << "the next one was read";
  for (std::size_t i = 1; i < starts().size(); ++i) post(answer(attempt(i), 200));
  std::vector<MessageId> went;
  for (const StartAttempt& start : starts()) went.push_back(start.message);
  ids.erase(ids.begin() + 2, ids.begin() + 5);
  EXPECT_EQ(went, ids);
}

// req: engine.expiry.1
TEST_F(RefillEdges, ALifeMayBeAMillisecond) {
  open_mill({{"life", "1"}, {"in-use", "1"}});
  sent({{"method", "post"}});
  id = sent({{"method", "post"}});
  EXPECT_EQ(explained(id).expires, instant().wall + 1ms);
  pass(1ms);
  EXPECT_EQ(phase(id), Phase::kExpired);
}

// In the instant of its expiry it is not sent, whoever looks at it first. req: engine.expiry.2
TEST_F(RefillEdges, WhoseTurnComesInTheInstantOfItsExpiryIsTooLate) {
  options.engine.limits.window_bytes_max = 1'000'000;
  open_mill({{"spacing", "1000"}});
  sent({{"method", "post"}});
  pass(2s);
  const std::size_t before = starts().size();
  sent({{"method", "post"}});
  const MessageId usual = sent({{"method", "post"}});  // looked at when the spacing is over
  Submit event = message(next(), {{"method", "post"}});
  event.priority = 5;
  event.expires = instant().wall + 1s;
  post(event);
  const MessageId late = id_of(questions);
  ASSERT_EQ(starts().size(), before + 1);
  pass(1s);
  ASSERT_EQ(starts().size(), before + 2);
  EXPECT_EQ(starts().back().message, usual);
  EXPECT_EQ(phase(late), Phase::kExpired);
}

// Counts of the last commits stand in pages, the others in records of their own: both are added
// up, however few records are read at a time. req: engine.census.1
TEST_F(RefillEdges, CountsOfPagesAreAddedUpBetweenTheRecords) {
  options.engine.limits.restore_rows_max = 1;
  open_mill();
  shard.reset();
  const Epoch epoch = store.memory().acquire(0).value();
  const auto batch = std::make_shared<WriteBatch>();
  const CensusRecord three{"drill", {{StateIndex{0}, 3}}};
  for (const std::uint64_t number : {5U, 20U, 30U})
    batch->put(keys::census(DestinationId(number)), encode_census(three));
  std::vector<CensusOf> counts;
  for (const std::uint64_t number : {2U, 3U, 10U, 11U, 12U, 20U, 40U, 41U})
    counts.push_back({DestinationId(number), {"drill", {{StateIndex{0}, 10}}}});
  batch->put(keys::census_page(Sequence(1)), encode_census_page(counts));
  store.memory().commit(epoch, batch, [](CommitOutcome) {});
  restart();
  const Stats told = stats();
  EXPECT_TRUE(told.all_counted);
  std::uint64_t queued = 0;
  for (const Stats::InState& row : told.in_states)
    queued += row.state == "queued" ? row.messages : 0;
  EXPECT_EQ(queued, 80U + 3U + 3U) << "a page says it later than a record";
}

}  // namespace
}  // namespace postrider
