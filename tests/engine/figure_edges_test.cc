// Figures at their edges: pieces of long answers, what the engine says it has in memory, and what
// takes a place in its window.
#include <algorithm>
#include <string>
#include <vector>

#include "postrider/core/window/entries.h"
#include "tests/support/bulk_rig.h"
#include "tests/support/spec_rig.h"

namespace postrider {
namespace {

class FigureEdges : public SpecRig {
 protected:
  std::size_t memory() const { return shard->engine().memory_bytes(); }
};

// req: engine.limit.1
TEST_F(FigureEdges, QueuesAreListedPieceByPieceThoughTheirCountsAreOnDisk) {
  options.engine.limits.census_pages_max = 1;
  options.engine.limits.residents_max = 1;
  open();
  std::vector<std::string> names;
  for (int i = 0; i < 5; ++i) {
    names.push_back("d" + std::to_string(i));
    post(place(next(), names.back()));
    command_to<Pause>(names.back());
    post(message(next(), {{"method", "post"}}, names.back()));
  }
  ASSERT_GE(records_in(keys::kCensus), 3U);
  for (const std::uint32_t limit : {1U, 2U}) {
    std::vector<std::string> met;
    std::string cursor;
    for (int pieces = 0; pieces < 20; ++pieces) {
      Query event = ask(next(), Query::What::kQueues);
      event.limit = limit;
      event.cursor = cursor;
      post(event);
      turn();
      const auto page = view_of<QueuePage>(questions);
      EXPECT_LE(page.rows.size(), limit);
      for (const QueueRow& row : page.rows) {
        met.push_back(row.destination);
        EXPECT_EQ(row.messages, 1U);
      }
      cursor = page.next;
      if (cursor.empty()) break;
    }
    std::sort(met.begin(), met.end());
    EXPECT_EQ(met, names) << limit;
  }
}

// A message and its state are two records: the smallest piece tells of one message.
// req: engine.limit.1
TEST_F(FigureEdges, APieceOfTheShapeBeginsWithAMessage) {
  open_mill({{"base", "7200000"}, {"strikes", "1000"}});
  for (int i = 0; i < 3; ++i) {
    sent({{"method", "post"}});
    post(answer(last_attempt(), 408));
  }
  std::vector<std::uint64_t> pieces;
  std::string cursor;
  do {
    Query event = ask(next(), Query::What::kShape);
    event.limit = 2;
    event.cursor = cursor;
    post(event);
    const auto page = view_of<ShapePage>(questions);
    pieces.push_back(page.messages);
    cursor = page.next;
  } while (!cursor.empty() && pieces.size() < 10);
  EXPECT_EQ(std::vector(pieces.begin(), pieces.begin() + 3), (std::vector<std::uint64_t>{1, 1, 1}));
}

// req: engine.quarantine.1
TEST_F(FigureEdges, AMessageCountsThoughNobodyKnowsItsDestination) {
  open_mill();
  command_to<Pause>();
  sent({{"method", "post"}});
  ASSERT_TRUE(store.memory().damage(keys::config(mill().id)));
  restart();
  post(ask(next(), Query::What::kShape));
  turn();
  const auto page = view_of<ShapePage>(questions);
  EXPECT_EQ(page.messages, 1U);
  ASSERT_EQ(page.rows.size(), 1U);
  EXPECT_EQ(page.rows[0].name, "");
}

// req: engine.figure.2
TEST_F(FigureEdges, MemoryIsAtLeastWhatIsKeptOfEachThing) {
  constexpr std::size_t kEach = 100;
  constexpr std::size_t kNode = 3 * sizeof(void*);  // of a table, beside a number and a slot
  open_mill({{"window", "1000"}, {"base", "10000"}, {"strikes", "1000"}});
  // Timers have a table of their own, which grows by doubling: it is large enough from now on.
  for (std::size_t i = 0; i < 2 * kEach; ++i) sent({{"method", "post"}});
  for (const StartAttempt& start : starts()) post(answer(start.attempt, 200));
  ASSERT_EQ(stats().in_window, 0U);

  std::size_t before = memory();
  for (std::size_t i = 0; i < kEach; ++i) post(place(next(), "d" + std::to_string(i)));
  EXPECT_GE(memory(), before + kEach * (sizeof(Resident) + 16 + kNode));

  before = memory();
  const std::size_t first = starts().size();
  for (std::size_t i = 0; i < kEach; ++i) sent({{"method", "post"}});
  ASSERT_EQ(starts().size(), first + kEach);
  const std::size_t message = sizeof(MessageId) + sizeof(Slot) + kNode;
  EXPECT_GE(memory(), before + kEach * (message + 16 + kNode));

  for (std::size_t i = 0; i < kEach; ++i) post(answer(attempt(first + i), 408));
  ASSERT_EQ(stats().in_window, 0U);
  EXPECT_GE(memory(), before + kEach * (sizeof(MessageId) + sizeof(Sleeper) + kNode));
}

// Whatever fits to the byte is kept in memory, from the first message on. req: engine.limit.1
TEST_F(FigureEdges, AWindowIsFullToTheByte) {
  const auto window_for = [this](std::size_t count, std::uint64_t bytes) {
    options.engine.limits.window_bytes_max = bytes;
    open();
    const std::string name = "d" + std::to_string(next());
    post(place(next(), name, {{"in-use", "1"}}));
    std::vector<MessageId> ids;
    for (std::size_t i = 0; i < count; ++i) {
      post(message(next(), {{"method", "post"}}, name));
      ids.push_back(id_of(questions));
    }
    const std::size_t hot = records_in(keys::kHot);
    for (const MessageId which : ids) receipt(which, On::kConfirmed);
    return hot;
  };
  const auto least_for = [&](std::size_t count) {
    std::uint64_t low = 0;
    std::uint64_t high = 1U << 16;
    while (low + 1 < high) {
      const std::uint64_t middle = (low + high) / 2;
      (window_for(count, middle) == count ? high : low) = middle;
    }
    return high;
  };
  EXPECT_EQ(least_for(2), 2 * least_for(1));
}

class JobFigures : public Bulk {};

// req: engine.job.2
TEST_F(JobFigures, WhatNobodyCountedIsNotExpected) {
  open_with({"shop"});
  kill("shop", 2);
  StartJob some = order(JobAction::kDrop);
  some.order.filter.reason_prefix = "nothing begins like this";
  store.holds_reads = true;
  const JobId id = start(some);
  EXPECT_EQ(job(id).expected, 0U);
  store.holds_reads = false;
  while (store.reads_held() > 0) release_read();
  for (int i = 0; i < 20 && job(id).state == JobState::kRunning; ++i) advance(100ms);
  EXPECT_EQ(job(id).expected, 0U);
  EXPECT_EQ(job(id).done, 0U);
}

// req: engine.job.2
TEST_F(JobFigures, ADryRunDoesNotCountWhatCameNext) {
  open_with({"shop"}, {{"in_flight_max", "1"}});
  post(submit(next(), "shop"));
  StartJob dry = order(JobAction::kCancel);
  dry.dry_run = true;
  const std::uint64_t ticket = ticket_;
  store.holds_reads = true;
  ASSERT_TRUE(shard->post(dry));
  ASSERT_TRUE(shard->post(submit(next(), "shop")));
  turn();
  store.holds_reads = false;
  while (store.reads_held() > 0) release_read();
  for (int i = 0; i < 5; ++i) advance(1ms);
  EXPECT_EQ(view_of<DryRun>(ticket).matched, 1U);
}

}  // namespace
}  // namespace postrider
