#include "postrider/runtime/committer.h"

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <semaphore>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "postrider/stores/conformance.h"
#include "postrider/stores/memory.h"

namespace postrider {
namespace {

// The memory store behind the other seam. A test can hold the next write or read, and decide how
// writes end.
class HeldStore final : public BlockingStore {
 public:
  Result<Epoch> acquire(std::uint32_t shard) override {
    const std::lock_guard lock(mutex_);
    return memory_.acquire(shard);
  }
  Written write(Epoch epoch, const WriteBatch& batch) override {
    if (hold_writes) {
      began.release();
      go_on.acquire();
    }
    const std::lock_guard lock(mutex_);
    if (outcome_of_writes != CommitOutcome::kDurable) return {outcome_of_writes, "as told"};
    Written written;
    memory_.commit(epoch, std::make_shared<const WriteBatch>(batch),
                   [&](CommitOutcome outcome) { written.outcome = outcome; });
    return written;
  }
  Result<Found> read(const Reads& reads) override {
    if (hold_reads) {
      began.release();
      go_on.acquire();
    }
    const std::lock_guard lock(mutex_);
    std::optional<Result<Found>> out;
    memory_.read(reads, [&](Result<Found> found) { out.emplace(std::move(found)); });
    return std::move(*out);
  }

  std::atomic<bool> hold_writes = false;
  std::atomic<bool> hold_reads = false;
  std::atomic<CommitOutcome> outcome_of_writes = CommitOutcome::kDurable;
  std::counting_semaphore<> began{0};
  std::counting_semaphore<> go_on{0};

 private:
  std::mutex mutex_;
  MemoryStore memory_;
};

// A loop in miniature: sleeps until it is woken, then polls.
class Loop {
 public:
  explicit Loop(CommitterOptions options = {})
      : committer(
            store, [this] { wake(); }, options) {}

  void run_until(const std::function<bool()>& done) {
    while (!done()) {
      woken_.acquire();
      committer.poll();
    }
  }
  int wakes() const { return wakes_; }

  HeldStore store;

 private:
  void wake() {
    ++wakes_;
    woken_.release();
  }
  std::counting_semaphore<> woken_{0};
  std::atomic<int> wakes_ = 0;

 public:
  Committer committer;  // last: its threads use all of the above
};

// Counts what was asked and answered, so that settle() knows when to stop.
class CountingStore final : public Store {
 public:
  explicit CountingStore(Store& store) : store_(store) {}
  Result<Epoch> acquire(std::uint32_t shard) override { return store_.acquire(shard); }
  void commit(Epoch epoch, std::shared_ptr<const WriteBatch> batch, CommitDone done) override {
    ++open;
    store_.commit(epoch, std::move(batch), [this, done = std::move(done)](CommitOutcome outcome) {
      --open;
      done(outcome);
    });
  }
  void read(const Reads& reads, ReadDone done) override {
    ++open;
    store_.read(reads, [this, done = std::move(done)](Result<Found> found) {
      --open;
      done(std::move(found));
    });
  }
  int open = 0;

 private:
  Store& store_;
};

template <bool kReaderThread>
struct CommitterHarness {
  Loop loop{CommitterOptions{.reader_thread = kReaderThread}};
  CountingStore counting{loop.committer};
  Store& store() { return counting; }
  void settle() {
    loop.run_until([this] { return counting.open == 0; });
  }
};
using TwoThreads = CommitterHarness<true>;
using OneThread = CommitterHarness<false>;
INSTANTIATE_TYPED_TEST_SUITE_P(CommitterAndReader, StoreConformance, TwoThreads);
INSTANTIATE_TYPED_TEST_SUITE_P(CommitterAlone, StoreConformance, OneThread);

std::shared_ptr<const WriteBatch> batch_of(const std::string& key, std::string_view value) {
  auto batch = std::make_shared<WriteBatch>();
  batch->put(key, value);
  return batch;
}

// req: engine.committer.1
TEST(Committer, RunsCallbacksInPollOnly) {
  Loop loop;
  const Epoch epoch = *loop.committer.acquire(0);
  const std::thread::id here = std::this_thread::get_id();
  int called = 0;
  const auto note = [&] {
    EXPECT_EQ(std::this_thread::get_id(), here);
    ++called;
  };
  loop.committer.commit(epoch, batch_of("a", "1"), [&](CommitOutcome) { note(); });
  loop.committer.read({.keys = {"a"}, .scans = {}}, [&](Result<Found>) { note(); });
  EXPECT_EQ(called, 0);
  loop.run_until([&] { return called == 2; });
}

TEST(Committer, WakesOnceForAllThatWasAskedTogether) {
  Loop loop;
  loop.store.hold_reads = true;
  int answered = 0;
  const auto ask = [&] {
    loop.committer.read({.keys = {"a"}, .scans = {}}, [&](Result<Found>) { ++answered; });
  };
  ask();
  loop.store.began.acquire();  // the reader is busy with the first
  loop.store.hold_reads = false;
  for (int i = 0; i < 500; ++i) ask();
  loop.store.go_on.release();
  loop.run_until([&] { return answered == 501; });
  EXPECT_LE(loop.wakes(), 2);
  EXPECT_EQ(loop.committer.counters().reads, 501U);
}

TEST(Committer, WakesOnceForAllThatOnePollTakes) {
  Loop loop;
  const Epoch epoch = *loop.committer.acquire(0);
  std::vector<int> order;
  for (int i = 0; i < 100; ++i) {
    loop.committer.commit(epoch, batch_of("a", std::to_string(i)),
                          [&order, i](CommitOutcome) { order.push_back(i); });
  }
  loop.committer.stop();
  EXPECT_EQ(loop.wakes(), 1);
  EXPECT_EQ(loop.committer.poll(), 100U);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(order.at(static_cast<std::size_t>(i)), i);
}

TEST(Committer, ReadsDoNotWaitForACommit) {
  Loop loop;
  const Epoch epoch = *loop.committer.acquire(0);
  loop.store.hold_writes = true;
  bool committed = false;
  bool read = false;
  loop.committer.commit(epoch, batch_of("a", "1"), [&](CommitOutcome) { committed = true; });
  loop.store.began.acquire();
  loop.committer.read({.keys = {"a"}, .scans = {}}, [&](Result<Found>) { read = true; });
  loop.run_until([&] { return read; });
  EXPECT_FALSE(committed);
  loop.store.go_on.release();
  loop.run_until([&] { return committed; });
}

TEST(Committer, StopFinishesWhatWasAskedFor) {
  for (const bool reader : {true, false}) {
    Loop loop({.reader_thread = reader});
    const Epoch epoch = *loop.committer.acquire(0);
    int durable = 0;
    int answered = 0;
    for (int i = 0; i < 50; ++i) {
      loop.committer.commit(epoch, batch_of(std::to_string(i), "x"), [&](CommitOutcome outcome) {
        durable += outcome == CommitOutcome::kDurable ? 1 : 0;
      });
      loop.committer.read({.keys = {"1"}, .scans = {}}, [&](Result<Found>) { ++answered; });
    }
    loop.committer.stop();
    loop.committer.stop();  // twice does no harm
    EXPECT_EQ(loop.committer.poll(), 100U);
    EXPECT_EQ(durable, 50);
    EXPECT_EQ(answered, 50);
    EXPECT_EQ(loop.committer.poll(), 0U);
  }
}

TEST(Committer, DestructionWritesWhatWasAskedForAndCallsNobody) {
  HeldStore store;
  Epoch epoch;
  bool called = false;
  {
    Committer committer(store, [] {});
    epoch = *committer.acquire(0);
    committer.commit(epoch, batch_of("a", "1"), [&](CommitOutcome) { called = true; });
  }
  EXPECT_FALSE(called);
  const auto found = store.read({.keys = {"a"}, .scans = {}});
  EXPECT_EQ((*found->get("a"))->view(), "1");
}

TEST(Committer, GivesTheBatchBackBeforeItTellsTheOutcome) {
  Loop loop;
  const Epoch epoch = *loop.committer.acquire(0);
  const auto batch = batch_of("a", "1");
  long holders = 0;
  loop.committer.commit(epoch, batch, [&](CommitOutcome) { holders = batch.use_count(); });
  loop.run_until([&] { return holders != 0; });
  EXPECT_EQ(holders, 1);
}

TEST(Committer, TellsWhyACommitWasNotDurable) {
  Loop loop;
  const Epoch epoch = *loop.committer.acquire(0);
  EXPECT_EQ(loop.committer.last_reason(), "");
  std::optional<CommitOutcome> told;
  for (const CommitOutcome outcome :
       {CommitOutcome::kFailed, CommitOutcome::kAmbiguous, CommitOutcome::kNoSync}) {
    loop.store.outcome_of_writes = outcome;
    told.reset();
    loop.committer.commit(epoch, batch_of("a", "1"), [&](CommitOutcome how) { told = how; });
    loop.run_until([&] { return told.has_value(); });
    EXPECT_EQ(told, outcome);
    EXPECT_EQ(loop.committer.last_reason(), "as told");
  }
  EXPECT_EQ(loop.committer.counters().failed, 3U);
  EXPECT_EQ(loop.committer.counters().commits, 0U);
}

TEST(Committer, CountsCommitsRecordsAndBytes) {
  Loop loop;
  const Epoch epoch = *loop.committer.acquire(0);
  auto batch = std::make_shared<WriteBatch>();
  batch->put("key", "value");
  batch->remove("gone");
  int done = 0;
  for (int i = 0; i < 3; ++i) loop.committer.commit(epoch, batch, [&](CommitOutcome) { ++done; });
  loop.run_until([&] { return done == 3; });
  const CommitCounters counters = loop.committer.counters();
  EXPECT_EQ(counters.commits, 3U);
  EXPECT_EQ(counters.records, 6U);
  EXPECT_EQ(counters.bytes, 3 * batch->bytes());
  EXPECT_GE(counters.time.count(), 0);
}

TEST(Committer, CommitsOfAnEarlierOwnerFailThoughTheyWereAskedForFirst) {  // req: engine.store.9
  Loop loop;
  const Epoch first = *loop.committer.acquire(0);
  loop.store.hold_writes = true;
  std::vector<CommitOutcome> told;
  const auto note = [&](CommitOutcome outcome) { told.push_back(outcome); };
  loop.committer.commit(first, batch_of("a", "1"), note);
  loop.store.began.acquire();
  loop.store.hold_writes = false;
  loop.committer.commit(first, batch_of("b", "2"), note);
  // acquire() waits for the first commit, and may come before or after the second.
  std::thread releases([&] { loop.store.go_on.release(); });
  const Epoch second = *loop.committer.acquire(0);
  releases.join();
  loop.run_until([&] { return told.size() == 2; });
  loop.committer.commit(first, batch_of("c", "3"), note);
  loop.committer.commit(second, batch_of("d", "4"), note);
  loop.run_until([&] { return told.size() == 4; });
  EXPECT_EQ(told[2], CommitOutcome::kFailed);
  EXPECT_EQ(told[3], CommitOutcome::kDurable);
}

// For the thread sanitizer: two commits in flight, reads at all times, callbacks that ask again.
TEST(Committer, KeepsOrderUnderLoad) {
  Loop loop;
  const Epoch epoch = *loop.committer.acquire(0);
  constexpr int kCommits = 2000;
  int asked = 0;
  int durable = 0;
  int answered = 0;
  std::function<void()> next = [&] {
    if (asked == kCommits) return;
    const int number = asked++;
    loop.committer.commit(epoch, batch_of("counter", std::to_string(number)),
                          [&, number](CommitOutcome outcome) {
                            EXPECT_EQ(outcome, CommitOutcome::kDurable);
                            EXPECT_EQ(number, durable);
                            ++durable;
                            next();
                          });
    const int durable_then = durable;
    loop.committer.read({.keys = {"counter"}, .scans = {}}, [&, durable_then](Result<Found> found) {
      ++answered;
      if (durable_then == 0) return;
      const int seen = std::stoi(std::string((*found->get("counter"))->view()));
      EXPECT_GE(seen, durable_then - 1);
    });
  };
  next();
  next();
  loop.run_until([&] { return durable == kCommits && answered == kCommits; });
}

}  // namespace
}  // namespace postrider
