#include "postrider/stores/journaled/journaled_store.h"

#include <atomic>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include <gtest/gtest.h>

#include "postrider/stores/conformance.h"
#include "postrider/stores/file_faults.h"
#include "postrider/stores/journaled/check_any.h"
#include "postrider/stores/rocks/rocks_store.h"
#include "postrider/stores/rocks/rocks_testing.h"

namespace postrider {
namespace {

StoreOptions journaled_options(const std::string& directory) {
  StoreOptions options = small(directory);
  options.kind = StoreKind::kJournal;
  options.journal_segment_bytes = 256U << 10;
  return options;
}
std::unique_ptr<JournaledStore> open_in(const StoreOptions& options) {
  auto opened = JournaledStore::open(options);
  EXPECT_TRUE(opened.has_value()) << (opened ? "" : opened.error().detail);
  return opened ? std::move(*opened) : nullptr;
}

// Spills before every n-th commit, or leaves it to the store.
template <int kEvery>
class JournaledHarness final : public Store {
 public:
  Store& store() { return *this; }
  void settle() {}
  Result<Epoch> acquire(std::uint32_t shard) override { return held->acquire(shard); }
  void commit(Epoch epoch, std::shared_ptr<const WriteBatch> batch, CommitDone done) override {
    if (kEvery > 0 && ++commits % kEvery == 0) {
      EXPECT_TRUE(held->spill().has_value());
    }
    done(held->write(epoch, *batch).outcome);
  }
  void read(const Reads& reads, ReadDone done) override { done(held->read(reads)); }

  TemporaryDirectory directory;
  std::unique_ptr<JournaledStore> held = open_in(journaled_options(directory.path()));
  int commits = 0;
};

Contents contents_of(BlockingStore& store) {
  const Scan all{std::string(1, '\0'), std::string(1, '\xFF'), 1'000'000};
  const auto found = store.read({.keys = {}, .scans = {all}});
  Contents out;
  EXPECT_TRUE(found.has_value()) << (found ? "" : found.error().detail);
  if (!found) return out;
  for (const Row& row : found->scan(all)->rows) out.emplace(row.first, row.second.view());
  return out;
}

WriteBatch putting(const std::string& key, const std::string& value) {
  WriteBatch batch;
  batch.put(key, value);
  return batch;
}

}  // namespace

// req: engine.journal.1
using JournaledByItself = JournaledHarness<0>;
using JournaledNowAndThen = JournaledHarness<3>;
INSTANTIATE_TYPED_TEST_SUITE_P(JournaledByItself, StoreConformance, JournaledByItself);
INSTANTIATE_TYPED_TEST_SUITE_P(JournaledNowAndThen, StoreConformance, JournaledNowAndThen);

namespace {

TEST(JournaledStore, IsTheNaiveModelOverSpillsKillsAndCleanEnds) {  // req: engine.journal.1
  const TemporaryDirectory directory;
  const StoreOptions options = journaled_options(directory.path());
  auto store = open_in(options);
  Epoch epoch = *store->acquire(0);
  BatchMaker maker(1);
  Contents model;
  for (int i = 0; i < 500; ++i) {
    WriteBatch batch = maker.make(model);
    if (maker.rng().below(4) == 0) batch.put("p0", std::string(maker.rng().below(60'000), 'x'));
    ASSERT_EQ(store->write(epoch, batch).outcome, CommitOutcome::kDurable);
    apply_to(model, batch);
    if (maker.rng().below(50) != 0) continue;
    if (maker.rng().below(2) == 0) {
      ASSERT_TRUE(store->close().has_value());
    }
    store.reset();
    store = open_in(options);
    ASSERT_EQ(contents_of(*store), model) << i;  // before it is acquired
    const Epoch next = *store->acquire(0);
    ASSERT_GT(next, epoch);
    epoch = next;
    ASSERT_EQ(contents_of(*store), model) << i;
  }
}

TEST(JournaledStore, TakesAStoreOfRocksDbAloneInTheSameStart) {  // req: engine.journal.5
  for (const bool closed : {true, false}) {
    const TemporaryDirectory directory;
    const StoreOptions options = journaled_options(directory.path());
    Epoch last;
    {
      auto rocks = *RocksStore::open(options);
      ASSERT_TRUE(rocks->acquire(0).has_value());
      last = *rocks->acquire(0);
      ASSERT_EQ(rocks->write(last, putting("c1", "cold")).outcome, CommitOutcome::kDurable);
      ASSERT_EQ(rocks->write(last, putting("h1", "hot")).outcome, CommitOutcome::kDurable);
      if (closed) {
        ASSERT_TRUE(rocks->close().has_value());
      }
    }
    // What an upgrade left that was cut short says nothing.
    std::filesystem::create_directories(directory.path() + "/journal");
    write_whole(directory.file("journal/CONTROL.0"), "half");
    const Contents wanted{{"c1", "cold"}, {"h1", "hot"}};
    {
      auto store = open_in(options);
      ASSERT_EQ(contents_of(*store), wanted);
      const Epoch epoch = *store->acquire(0);
      EXPECT_GT(epoch, last);
      ASSERT_EQ(store->write(epoch, putting("c1", "new")).outcome, CommitOutcome::kDurable);
    }
    // An older program, which knows formats up to 1, refuses by the first line.
    EXPECT_TRUE(read_whole(directory.file("FORMAT")).starts_with("postrider-store 2\n"));
    const auto refused = RocksStore::open(options);
    ASSERT_FALSE(refused.has_value());
    EXPECT_NE(refused.error().detail.find("journal"), std::string::npos);
    auto again = open_in(options);
    EXPECT_EQ(contents_of(*again), (Contents{{"c1", "new"}, {"h1", "hot"}}));
  }
}

TEST(JournaledStore, RefusesASecondProcess) {  // req: engine.journal.6
  const TemporaryDirectory directory;
  const auto store = open_in(journaled_options(directory.path()));
  const auto second = JournaledStore::open(journaled_options(directory.path()));
  ASSERT_FALSE(second.has_value());
  EXPECT_EQ(second.error().code, ErrorCode::kConflict);
}

TEST(JournaledStore, RefusesToStartWithoutItsJournal) {  // req: engine.journal.6
  for (const bool whole_folder : {true, false}) {
    const TemporaryDirectory directory;
    const StoreOptions options = journaled_options(directory.path());
    {
      auto store = open_in(options);
      const Epoch epoch = *store->acquire(0);
      ASSERT_EQ(store->write(epoch, putting("k", "v")).outcome, CommitOutcome::kDurable);
    }
    for (const auto& entry : std::filesystem::directory_iterator(directory.path() + "/journal"))
      std::filesystem::remove(entry.path());
    if (whole_folder) std::filesystem::remove(directory.path() + "/journal");
    const auto refused = JournaledStore::open(options);
    ASSERT_FALSE(refused.has_value());
    EXPECT_EQ(refused.error().code, ErrorCode::kCorrupt);
    EXPECT_FALSE(std::filesystem::exists(directory.path() + "/journal/CONTROL.0"));
  }
}

// A journal of two segments takes more than it holds, because the thread makes room.
TEST(JournaledStore, ACommitThatFindsTheJournalFullWaitsForASpill) {  // req: engine.journal.4
  const TemporaryDirectory directory;
  StoreOptions options = journaled_options(directory.path());
  options.journal_segments_max = 2;
  auto store = open_in(options);
  const Epoch epoch = *store->acquire(0);
  for (int i = 0; i < 100; ++i)
    ASSERT_EQ(store->write(epoch, putting("k" + std::to_string(i), std::string(50'000, 'x')))
                  .outcome,
              CommitOutcome::kDurable);
  EXPECT_EQ(contents_of(*store).size(), 100U);
  EXPECT_GT(store->journal()->spill_records, 50U);
}

// The map has no room: commits go on until the journal is full, the door closes before that, and
// with room all is as if nothing had been.
TEST(JournaledStore, AFullDiskClosesTheDoorBeforeItFailsCommits) {  // req: engine.journal.4
  const TemporaryDirectory directory;
  StoreOptions options = journaled_options(directory.path());
  options.journal_segments_max = 6;
  options.faults = std::make_shared<FileFaults>();
  auto store = open_in(options);
  Epoch epoch = *store->acquire(0);
  Contents model;
  int taken = 0;
  const auto put = [&](int i) {
    const std::string key = "k" + std::to_string(i);
    const auto written = store->write(epoch, putting(key, std::string(50'000, 'x')));
    if (written.outcome == CommitOutcome::kDurable) {
      model[key] = std::string(50'000, 'x');
      ++taken;
    }
    return written.outcome;
  };
  // All segments exist before the disk is full.
  for (int i = 0; i < 26; ++i) ASSERT_EQ(put(i), CommitOutcome::kDurable);
  options.faults->tables_only = true;
  options.faults->writes = FileFaults::Fault::kNoSpace;
  int i = 26;
  bool closed_before = false;
  CommitOutcome outcome = CommitOutcome::kDurable;
  for (; i < 100 && outcome == CommitOutcome::kDurable; ++i) {
    closed_before = closed_before || !store->takes_new();
    outcome = put(i);
  }
  EXPECT_EQ(outcome, CommitOutcome::kFailed);
  EXPECT_TRUE(closed_before);
  EXPECT_EQ(store->acquire(0).error().code, ErrorCode::kLimit);
  EXPECT_EQ(contents_of(*store), model);
  options.faults->writes = FileFaults::Fault::kNone;
  const auto again = store->acquire(0);
  ASSERT_TRUE(again.has_value()) << again.error().detail;
  epoch = *again;
  EXPECT_TRUE(store->takes_new());
  for (int more = 0; more < 30; ++more) ASSERT_EQ(put(200 + more), CommitOutcome::kDurable);
  EXPECT_EQ(contents_of(*store), model);
  ASSERT_TRUE(store->close().has_value());
  store.reset();
  store = open_in(options);
  EXPECT_EQ(contents_of(*store), model);
}

TEST(JournaledStore, AFailedSyncEndsItForGood) {  // req: engine.journal.7
  const TemporaryDirectory directory;
  StoreOptions options = journaled_options(directory.path());
  options.faults = std::make_shared<FileFaults>();
  auto store = open_in(options);
  const Epoch epoch = *store->acquire(0);
  ASSERT_EQ(store->write(epoch, putting("a", "1")).outcome, CommitOutcome::kDurable);
  options.faults->syncs = FileFaults::Fault::kIoError;
  EXPECT_EQ(store->write(epoch, putting("a", "2")).outcome, CommitOutcome::kNoSync);
  options.faults->syncs = FileFaults::Fault::kNone;
  const auto later = store->write(epoch, putting("a", "3"));
  EXPECT_EQ(later.outcome, CommitOutcome::kNoSync);
  EXPECT_NE(later.reason.find("rehearsed"), std::string::npos) << later.reason;
  EXPECT_FALSE(store->acquire(0).has_value());
}

TEST(JournaledStore, AMapThatFailsEndsItForGoodAndLosesNothing) {  // req: engine.journal.7
  const TemporaryDirectory directory;
  StoreOptions options = journaled_options(directory.path());
  options.journal_segments_max = 2;
  options.faults = std::make_shared<FileFaults>();
  auto store = open_in(options);
  const Epoch epoch = *store->acquire(0);
  options.faults->tables_only = true;
  options.faults->syncs = FileFaults::Fault::kIoError;
  int taken = 0;
  CommitOutcome outcome = CommitOutcome::kDurable;
  for (; taken < 100 && outcome == CommitOutcome::kDurable; ++taken)
    outcome = store->write(epoch, putting("k" + std::to_string(taken), std::string(50'000, 'x')))
                  .outcome;
  EXPECT_NE(outcome, CommitOutcome::kDurable);
  EXPECT_EQ(store->write(epoch, putting("k", "v")).outcome, CommitOutcome::kNoSync);
  store.reset();
  options.faults->syncs = FileFaults::Fault::kNone;
  store = open_in(options);
  EXPECT_EQ(contents_of(*store).size(), static_cast<std::size_t>(taken - 1));
}

TEST(JournaledStore, ReadsBesideCommitsAndSpillsSeeWhatIsDurable) {  // req: engine.journal.1
  const TemporaryDirectory directory;
  auto store = open_in(journaled_options(directory.path()));
  const Epoch epoch = *store->acquire(0);
  std::atomic<int> durable{-1};
  std::atomic<bool> stop{false};
  std::thread reader([&] {
    while (!stop) {
      const int seen = durable;
      const auto found = store->read({.keys = {"n"}, .scans = {}});
      ASSERT_TRUE(found.has_value());
      if (seen < 0) continue;
      ASSERT_TRUE((*found->get("n")).has_value()) << seen;
      ASSERT_GE(std::stoi(std::string((*found->get("n"))->view())), seen);
    }
  });
  for (int i = 0; i < 300; ++i) {
    ASSERT_EQ(store->write(epoch, putting("n", std::to_string(i))).outcome,
              CommitOutcome::kDurable);
    durable = i;
    if (i % 10 == 0) {
      ASSERT_TRUE(store->spill().has_value());
    }
  }
  stop = true;
  reader.join();
}

TEST(CheckAnyStore, SaysWhereTheJournalStandsAndChangesNothing) {  // req: engine.journal.8
  const TemporaryDirectory directory;
  const StoreOptions options = journaled_options(directory.path());
  {
    auto store = open_in(options);
    const Epoch epoch = *store->acquire(0);
    ASSERT_EQ(store->write(epoch, putting("\x01", "no record")).outcome, CommitOutcome::kDurable);
    ASSERT_TRUE(store->spill().has_value());
    ASSERT_EQ(store->write(epoch, putting("\x02", "nor this")).outcome, CommitOutcome::kDurable);
  }
  const std::string segment = directory.file("journal/0000000001.segment");
  const std::string before = read_whole(segment);
  const auto report = check_any_store(directory.path());
  ASSERT_TRUE(report.has_value()) << report.error().detail;
  ASSERT_FALSE(report->notes.empty());
  EXPECT_EQ(report->notes[0], "the journal holds the groups 1 to 2, the map those up to 1");
  EXPECT_FALSE(report->whole());  // both keys are of no space, and both are seen
  EXPECT_GE(report->damages, 2U);
  EXPECT_EQ(read_whole(segment), before);
  std::string broken = before;
  broken[4096 + 60] = static_cast<char>(broken[4096 + 60] ^ 1);
  write_whole(segment, broken);
  const auto damaged = check_any_store(directory.path());
  ASSERT_TRUE(damaged.has_value());
  ASSERT_EQ(damaged->damages, 1U);
  EXPECT_NE(damaged->damage[0].find("0000000001.segment"), std::string::npos);
  EXPECT_NE(damaged->damage[0].find("group 1 at offset 4096"), std::string::npos);
}

}  // namespace
}  // namespace postrider
