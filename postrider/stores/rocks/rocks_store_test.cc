#include "postrider/stores/rocks/rocks_store.h"

#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <sys/stat.h>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "postrider/base/rng.h"
#include "postrider/model/records/keys.h"
#include "postrider/stores/conformance.h"
#include "postrider/stores/rocks/directory.h"
#include "postrider/stores/rocks/faulty_files.h"
#include "postrider/stores/rocks/rocks_testing.h"

namespace postrider {
namespace {

struct RocksHarness {
  TemporaryDirectory directory;
  std::unique_ptr<RocksStore> rocks = std::move(*RocksStore::open(quick(directory.path())));
  WaitingStore waiting{*rocks};

  // The rules of batches do not depend on the disk, and 500 syncs would take a second.
  static StoreOptions quick(const std::string& path) {
    StoreOptions options = small(path);
    options.sync = false;
    return options;
  }
  Store& store() { return waiting; }
  void settle() {}
};
INSTANTIATE_TYPED_TEST_SUITE_P(Rocks, StoreConformance, RocksHarness);  // req: engine.store.13

class RocksStoreTest : public ::testing::Test {
 protected:
  void TearDown() override { store.reset(); }

  Result<void> open() { return open(small(directory.path())); }
  Result<void> open(StoreOptions options) {
    store.reset();
    auto opened = RocksStore::open(std::move(options));
    if (!opened) return tl::unexpected<Error>(opened.error());
    store = std::move(*opened);
    const auto taken = store->acquire(0);
    if (!taken) return tl::unexpected<Error>(taken.error());
    epoch = *taken;
    return {};
  }
  BlockingStore::Written put(const std::string& key, std::string_view value) {
    WriteBatch batch;
    batch.put(key, value);
    return store->write(epoch, batch);
  }
  std::optional<std::string> get(const std::string& key) {
    const auto found = store->read({.keys = {key}, .scans = {}});
    if (!found || !found->get(key)->has_value()) return std::nullopt;
    return std::string((*found->get(key))->view());
  }
  std::string refusal() {
    const Result<void> opened = open();
    return opened ? "" : opened.error().detail;
  }
  std::vector<std::string> files(std::string_view ending) const {
    std::vector<std::string> out;
    for (const auto& entry : std::filesystem::directory_iterator(directory.path())) {
      if (entry.path().string().ends_with(ending)) out.push_back(entry.path().string());
    }
    return out;
  }

  TemporaryDirectory directory;
  std::unique_ptr<RocksStore> store;
  Epoch epoch;
};

TEST_F(RocksStoreTest, HoldsEverythingAfterACleanCloseAndAfterACrash) {
  ASSERT_TRUE(open());
  ASSERT_EQ(put("M", "1").outcome, CommitOutcome::kDurable);
  ASSERT_TRUE(store->close());
  ASSERT_TRUE(open());
  EXPECT_EQ(get("M"), "1");
  ASSERT_EQ(put("H", "2").outcome, CommitOutcome::kDurable);
  ASSERT_TRUE(open());  // without close()
  EXPECT_EQ(get("M"), "1");
  EXPECT_EQ(get("H"), "2");
}

TEST_F(RocksStoreTest, EpochsAreNewOverRestartsAndCrashes) {  // req: engine.store.9
  std::uint64_t last = 0;
  for (int i = 0; i < 6; ++i) {
    ASSERT_TRUE(open());
    EXPECT_GT(epoch.value(), last);
    last = epoch.value();
    if (i % 2 == 0) {
      ASSERT_TRUE(store->close());
    }
  }
}

TEST_F(RocksStoreTest, OwnersOfDifferentShardsDoNotFenceEachOther) {  // req: engine.store.9
  ASSERT_TRUE(open());
  const Epoch other = *store->acquire(1);
  WriteBatch batch;
  batch.put("a", "1");
  EXPECT_EQ(store->write(epoch, batch).outcome, CommitOutcome::kDurable);
  EXPECT_EQ(store->write(other, batch).outcome, CommitOutcome::kDurable);
  EXPECT_EQ(store->write(Epoch(99), batch).outcome, CommitOutcome::kFailed);
  EXPECT_TRUE(store->acquire(kShards - 1).has_value());
  EXPECT_EQ(store->acquire(kShards).error().code, ErrorCode::kInvalid);
}

// req: engine.store.16
TEST_F(RocksStoreTest, SecondOpeningIsRefusedWhileTheFirstRuns) {
  ASSERT_TRUE(open());
  const auto second = RocksStore::open(small(directory.path()));
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, ErrorCode::kConflict);
  EXPECT_NE(second.error().detail.find("another daemon uses " + directory.path()),
            std::string::npos);
  ASSERT_EQ(put("M", "still works").outcome, CommitOutcome::kDurable);
}

TEST_F(RocksStoreTest, DirectoryIsMadeAndKeptClosedToOthers) {
  const auto mode_of = [](const std::string& path) {
    struct stat status {};
    EXPECT_EQ(::stat(path.c_str(), &status), 0);
    return status.st_mode & 0777;
  };
  const std::string inner = directory.file("deep/data");
  ASSERT_TRUE(open(small(inner)));
  EXPECT_EQ(mode_of(inner), 0700U);
  store.reset();
  ASSERT_EQ(::chmod(inner.c_str(), 0755), 0);
  ASSERT_TRUE(open(small(inner)));
  EXPECT_EQ(mode_of(inner), 0700U);
}

TEST_F(RocksStoreTest, NewerFormatIsRefusedByNameAndLeftAsItIs) {  // req: engine.store.14
  ASSERT_TRUE(open());
  ASSERT_TRUE(store->close());
  store.reset();
  const std::string newer = "postrider-store 3\nstate ready\nsomething new\n";
  write_whole(directory.file("FORMAT"), newer);
  const std::string said = refusal();
  EXPECT_NE(said.find("store format 3"), std::string::npos) << said;
  EXPECT_NE(said.find("up to 2"), std::string::npos) << said;
  EXPECT_EQ(read_whole(directory.file("FORMAT")), newer);
  EXPECT_TRUE(std::filesystem::exists(directory.file("CLEAN")));
}

TEST_F(RocksStoreTest, DamagedFormatIsRefused) {  // req: engine.store.14
  ASSERT_TRUE(open());
  store.reset();
  for (const char* text :
       {"", "postrider-store", "postrider-store 0\nstate ready\n",
        "postrider-store 1\nstate rotten\n", "postrider-store 1\nstate ready\nx"}) {
    write_whole(directory.file("FORMAT"), text);
    EXPECT_NE(refusal().find("FORMAT is damaged"), std::string::npos) << text;
  }
}

TEST_F(RocksStoreTest, ForeignDatabaseIsRefused) {
  write_whole(directory.file("CURRENT"), "MANIFEST-000001\n");
  EXPECT_NE(refusal().find("not a store of postrider"), std::string::npos);
  EXPECT_EQ(read_whole(directory.file("CURRENT")), "MANIFEST-000001\n");
}

TEST_F(RocksStoreTest, CreationThatWasInterruptedIsBegunAgain) {
  write_whole(directory.file("FORMAT"), "postrider-store 1\nstate creating\n");
  ASSERT_TRUE(open());
  EXPECT_EQ(put("M", "1").outcome, CommitOutcome::kDurable);
}

TEST_F(RocksStoreTest, ReadyStoreWhoseDatabaseIsGoneIsNotTakenForANewOne) {
  ASSERT_TRUE(open());
  ASSERT_EQ(put("M", "1").outcome, CommitOutcome::kDurable);
  store.reset();
  std::filesystem::remove(directory.file("CURRENT"));
  EXPECT_NE(refusal(), "");
}

TEST_F(RocksStoreTest, ClosedStoreThatLostAFileOrAByteIsRefused) {  // req: engine.store.15
  ASSERT_TRUE(open());
  for (int i = 0; i < 20; ++i) ASSERT_EQ(put("M", "x").outcome, CommitOutcome::kDurable);
  ASSERT_TRUE(store->close());
  store.reset();
  std::vector<std::string> names = files(".log");
  for (const std::string& table : files(".sst")) names.push_back(table);
  names.push_back(directory.file("CURRENT"));
  for (const std::string& name : names) {
    const std::string whole = read_whole(name);
    if (whole.empty()) continue;
    write_whole(name, std::string_view(whole).substr(0, whole.size() - 1));
    EXPECT_NE(refusal().find(name), std::string::npos) << name;
    std::filesystem::remove(name);
    EXPECT_NE(refusal().find("is missing"), std::string::npos) << name;
    write_whole(name, whole);
  }
  ASSERT_TRUE(open());
  EXPECT_EQ(get("M"), "x");
}

TEST_F(RocksStoreTest, DamagedMarkIsRefused) {  // req: engine.store.15
  ASSERT_TRUE(open());
  ASSERT_TRUE(store->close());
  store.reset();
  std::string mark = read_whole(directory.file("CLEAN"));
  mark[20] = static_cast<char>(mark[20] ^ 1);
  write_whole(directory.file("CLEAN"), mark);
  EXPECT_NE(refusal().find("CLEAN is damaged"), std::string::npos);
}

TEST(CleanMark, SurvivesItsCoding) {
  const rocks::CleanMark mark{77, {{"000001.log", 5}, {"CURRENT", 0}}};
  const std::string text = rocks::encode_clean(mark);
  EXPECT_EQ(rocks::decode_clean(text), mark);
  for (std::size_t i = 0; i < text.size(); ++i) {
    std::string changed = text;
    changed[i] = static_cast<char>(changed[i] ^ 4);
    EXPECT_EQ(rocks::decode_clean(changed), std::nullopt) << i;
    EXPECT_EQ(rocks::decode_clean(std::string_view(text).substr(0, i)), std::nullopt) << i;
  }
}

TEST_F(RocksStoreTest, FreeBytesAreThoseOfTheFileSystem) {
  ASSERT_TRUE(open());
  EXPECT_GT(*store->free_bytes(), 0U);
}

TEST_F(RocksStoreTest, ForEachGoesThroughAllSpacesInOrderAndStopsWhenTold) {
  ASSERT_TRUE(open());
  for (const char* key : {"R1", "C1", "H1", "M", "E1", "Z1", "A1"})
    ASSERT_EQ(put(key, "x").outcome, CommitOutcome::kDurable);
  std::string seen;
  ASSERT_TRUE(store->for_each("", "\xFF", [&](std::string_view key, std::string_view) {
    seen.push_back(key[0]);
    return true;
  }));
  EXPECT_EQ(seen, "ACEHMRZ");
  seen.clear();
  ASSERT_TRUE(store->for_each("B", "\xFF", [&](std::string_view key, std::string_view) {
    seen.push_back(key[0]);
    return seen.size() < 3;
  }));
  EXPECT_EQ(seen, "CEH");
}

// Faults of the disk.

class RocksStoreFaults : public RocksStoreTest {
 protected:
  RocksStoreFaults() {
    options = small(directory.path());
    options.faults = faults;
  }
  std::shared_ptr<FileFaults> faults = std::make_shared<FileFaults>();
  StoreOptions options;
};

// req: engine.store.17
TEST_F(RocksStoreFaults, FullDiskIsAmbiguousAndAcquireBringsTheStoreBack) {
  ASSERT_TRUE(open(options));
  ASSERT_EQ(put("M", "before").outcome, CommitOutcome::kDurable);
  faults->writes = FileFaults::Fault::kNoSpace;
  const auto full = put("M", "lost or not");
  EXPECT_EQ(full.outcome, CommitOutcome::kAmbiguous);
  EXPECT_NE(full.reason.find("pace"), std::string::npos) << full.reason;
  EXPECT_EQ(put("M", "later").outcome, CommitOutcome::kFailed);
  for (int i = 0; i < 3; ++i) {
    const auto refused = store->acquire(0);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::kLimit);
    EXPECT_TRUE(get("M").has_value());  // questions are still answered
  }
  faults->writes = FileFaults::Fault::kNone;
  const auto taken = store->acquire(0);
  ASSERT_TRUE(taken) << taken.error().detail;
  EXPECT_GT(*taken, epoch);
  EXPECT_EQ(put("M", "too late").outcome, CommitOutcome::kFailed);  // of the old epoch
  epoch = *taken;
  EXPECT_TRUE(get("M") == "before" || get("M") == "lost or not");
  EXPECT_EQ(put("M", "after").outcome, CommitOutcome::kDurable);
  ASSERT_TRUE(open());
  EXPECT_EQ(get("M"), "after");
}

TEST_F(RocksStoreFaults, DiskThatIsFullWhenTheStoreIsOpenedAgainOnlyDelaysIt) {
  ASSERT_TRUE(open(options));
  for (int round = 0; round < 5; ++round) {
    ASSERT_EQ(put("M", std::to_string(round)).outcome, CommitOutcome::kDurable);
    faults->syncs = FileFaults::Fault::kNoSpace;
    EXPECT_EQ(put("H", "?").outcome, CommitOutcome::kAmbiguous);
    EXPECT_EQ(store->acquire(0).error().code, ErrorCode::kLimit);
    faults->syncs = FileFaults::Fault::kNone;
    const auto taken = store->acquire(0);
    ASSERT_TRUE(taken) << taken.error().detail;
    epoch = *taken;
    EXPECT_EQ(get("M"), std::to_string(round));
  }
}

// Wherever the disk fills up while the store is opened again: nothing is lost, and the next acquire
// with room succeeds.
TEST_F(RocksStoreFaults, FullDiskAtAnyPointOfTheReopeningOnlyDelaysIt) {
  ASSERT_TRUE(open(options));
  int refused = 0;
  for (std::int64_t works = 0; works < 40; works += 3) {
    ASSERT_EQ(put("M", std::to_string(works)).outcome, CommitOutcome::kDurable);
    faults->works_for = 0;
    faults->writes = FileFaults::Fault::kNoSpace;
    EXPECT_EQ(put("H", "?").outcome, CommitOutcome::kAmbiguous);
    faults->works_for = works;
    const auto early = store->acquire(0);
    if (!early) {
      ++refused;
      EXPECT_EQ(early.error().code, ErrorCode::kLimit) << early.error().detail;
    }
    faults->writes = FileFaults::Fault::kNone;
    const auto taken = store->acquire(0);
    ASSERT_TRUE(taken) << works << ": " << taken.error().detail;
    epoch = *taken;
    EXPECT_EQ(get("M"), std::to_string(works));
  }
  EXPECT_GT(refused, 3);
}

TEST_F(RocksStoreFaults, FullDiskMetByTheBackgroundIsNotTakenForABrokenOne) {
  options.memtable_bytes = 64U << 10;
  options.memtables_max = 2;
  ASSERT_TRUE(open(options));
  faults->tables_only = true;
  faults->writes = FileFaults::Fault::kNoSpace;
  int durable = 0;
  BlockingStore::Written last;
  while (last.outcome == CommitOutcome::kDurable && durable < 1000) {
    last = put("C" + std::to_string(durable), std::string(4000, 'x'));
    if (last.outcome == CommitOutcome::kDurable) ++durable;
  }
  EXPECT_EQ(last.outcome, CommitOutcome::kAmbiguous) << last.reason;
  EXPECT_EQ(store->acquire(0).error().code, ErrorCode::kLimit);
  faults->writes = FileFaults::Fault::kNone;
  const auto taken = store->acquire(0);
  ASSERT_TRUE(taken) << taken.error().detail;
  for (int i = 0; i < durable; ++i) EXPECT_TRUE(get("C" + std::to_string(i)).has_value()) << i;
}

// Compactions meet the full disk, tables pile up and RocksDB stops all writes. The record of a new
// epoch may be the write that hears of it, by a status that is not that of a full disk.
// req: engine.store.17
TEST_F(RocksStoreFaults, AcquireThatIsStoppedByAFullDiskSaysThatItIsFull) {
  ASSERT_TRUE(open(options));
  faults->tables_only = true;
  faults->tables_above = 16U << 10;  // more than a table below, less than a compaction of several
  faults->writes = FileFaults::Fault::kNoSpace;
  Rng rng(1);
  Result<Epoch> taken = Epoch();
  for (int number = 0; number < 1000 && taken; ++number) {
    std::string value(4000, '\0');  // that does not pack
    for (char& byte : value) byte = static_cast<char>(rng.below(256));
    ASSERT_EQ(put("C" + std::to_string(rng.below(100'000)), value).outcome,
              CommitOutcome::kDurable);
    (void)store->reclaim();  // makes a table of it
    taken = store->acquire(0);
    if (taken) epoch = *taken;
  }
  ASSERT_FALSE(taken);
  EXPECT_EQ(taken.error().code, ErrorCode::kLimit) << taken.error().detail;
  faults->writes = FileFaults::Fault::kNone;
  EXPECT_TRUE(store->acquire(0).has_value());
}

// req: engine.store.18
TEST_F(RocksStoreFaults, FailedWriteOrSyncStopsForGood) {
  for (const bool sync : {false, true}) {
    ASSERT_TRUE(open(options));
    (sync ? faults->syncs : faults->writes) = FileFaults::Fault::kIoError;
    const auto failed = put("M", "x");
    EXPECT_EQ(failed.outcome, CommitOutcome::kNoSync);
    EXPECT_NE(failed.reason.find(directory.path()), std::string::npos);
    faults->syncs = FileFaults::Fault::kNone;
    faults->writes = FileFaults::Fault::kNone;
    EXPECT_EQ(put("M", "y").outcome, CommitOutcome::kNoSync);
    EXPECT_EQ(store->acquire(0).error().code, ErrorCode::kUnavailable);
    EXPECT_FALSE(store->close());
    EXPECT_FALSE(std::filesystem::exists(directory.file("CLEAN")));
  }
}

TEST_F(RocksStoreFaults, FailedAcquireGivesNoEpoch) {
  ASSERT_TRUE(open(options));
  faults->writes = FileFaults::Fault::kNoSpace;
  EXPECT_EQ(store->acquire(0).error().code, ErrorCode::kLimit);
  faults->writes = FileFaults::Fault::kNone;
  EXPECT_TRUE(store->acquire(0).has_value());
}

// Bytes that were not synced are in memory only, so a copy of the directory is what a power cut
// would leave.
// req: engine.store.20
TEST_F(RocksStoreFaults, WhatWasNotSyncedIsNotInTheFiles) {
  options.drop_unsynced = true;
  for (const bool sync : {true, false}) {
    TemporaryDirectory copy;
    options.sync = true;
    ASSERT_TRUE(open(options));
    ASSERT_EQ(put("M", "synced").outcome, CommitOutcome::kDurable);
    ASSERT_TRUE(store->close());
    options.sync = sync;
    ASSERT_TRUE(open(options));
    ASSERT_EQ(put("M", "newer").outcome, CommitOutcome::kDurable);
    EXPECT_EQ(get("M"), "newer");
    std::filesystem::copy(directory.path(), copy.path(), std::filesystem::copy_options::recursive);
    ASSERT_TRUE(open(small(copy.path())));
    EXPECT_EQ(get("M"), sync ? "newer" : "synced");
  }
}

}  // namespace
}  // namespace postrider
