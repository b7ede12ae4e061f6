// The embedded store on a file system that is really full: at the start, and while it accepts,
// writes tables, compacts and writes its manifest anew. It neither ends the process nor loses
// anything, and goes on when there is room.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "postrider/stores/rocks/rocks_store.h"
#include "postrider/stores/rocks/rocks_testing.h"
#include "postrider/stores/rocks/small_disk_testing.h"

namespace postrider {
namespace {

constexpr std::uint64_t kKiB = 1024;
constexpr std::uint64_t kDiskMiB = 1024 * kKiB;

// Bytes that do not pack, the same for the same seed.
std::string noise(std::uint64_t seed, std::size_t bytes) {
  std::string out;
  std::uint64_t state = seed * 0x9E3779B97F4A7C15U + 1;
  while (out.size() < bytes) {
    state ^= state << 13U;
    state ^= state >> 7U;
    state ^= state << 17U;
    out.append(reinterpret_cast<const char*>(&state), sizeof state);
  }
  out.resize(bytes);
  return out;
}

class SmallDiskTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!disk.is_there()) GTEST_SKIP() << SmallDisk::kRefused;
    options.directory = disk.path("store");
    options.cache_bytes = kDiskMiB;
    options.memtable_bytes = 256 * kKiB;
    options.memtables_max = 4;
    options.wal_bytes_max = 4 * kDiskMiB;
    options.notices_per_minute_max = 1'000'000;
    options.tell = [this](const StoreNotice& notice) {
      const std::lock_guard lock(mutex);
      notices.push_back(notice.text);
    };
  }
  void TearDown() override { store.reset(); }

  Result<void> open() {
    store.reset();
    auto opened = RocksStore::open(options);
    if (!opened) return tl::unexpected<Error>(opened.error());
    store = std::move(*opened);
    return take();
  }
  Result<void> take() {
    const auto taken = store->acquire(0);
    if (!taken) return tl::unexpected<Error>(taken.error());
    epoch = *taken;
    return {};
  }
  CommitOutcome put(const std::string& key, const std::string& value) {
    WriteBatch batch;
    batch.put(key, value);
    const CommitOutcome outcome = store->write(epoch, batch).outcome;
    if (outcome == CommitOutcome::kDurable) acknowledged[key] = value;
    if (outcome == CommitOutcome::kAmbiguous) in_doubt[key] = value;
    return outcome;
  }
  // Records of one after the other until one is not taken; how that ended.
  CommitOutcome put_many(int count, std::size_t bytes, std::size_t key_bytes = 0) {
    CommitOutcome outcome = CommitOutcome::kDurable;
    for (int i = 0; i < count && outcome == CommitOutcome::kDurable; ++i) {
      const std::uint64_t number = ++last;
      std::string key = (number % 2 == 0 ? "C" : "R") + std::to_string(number % 400);
      key += noise(number % 400, key_bytes);
      outcome = put(key, noise(number, bytes));
    }
    return outcome;
  }
  void expect_all_there() {
    for (const auto& [key, value] : acknowledged) {
      const auto found = store->read({.keys = {key}, .scans = {}});
      ASSERT_TRUE(found) << found.error().detail;
      const auto& record = *found->get(key);
      const auto doubt = in_doubt.find(key);
      ASSERT_TRUE(record.has_value()) << key.substr(0, 8) << " is lost";
      if (doubt != in_doubt.end() && record->view() == doubt->second) continue;
      ASSERT_TRUE(record->view() == value) << key.substr(0, 8) << " is another";
    }
    for (const auto& [key, value] : in_doubt) {
      const auto found = store->read({.keys = {key}, .scans = {}});
      ASSERT_TRUE(found) << found.error().detail;
      // From now on it is known.
      if (found->get(key)->has_value()) acknowledged[key] = (*found->get(key))->view();
    }
    in_doubt.clear();
  }
  std::size_t heard(std::string_view text) {
    const std::lock_guard lock(mutex);
    return static_cast<std::size_t>(
        std::count_if(notices.begin(), notices.end(), [&](const std::string& notice) {
          return notice.find(text) != std::string::npos &&
                 (notice.find("No space left") != std::string::npos ||
                  text.find("MANIFEST") != std::string_view::npos);
        }));
  }

  SmallDisk disk{48 * kDiskMiB};
  StoreOptions options;
  std::unique_ptr<RocksStore> store;
  Epoch epoch;
  std::map<std::string, std::string> acknowledged;
  std::map<std::string, std::string> in_doubt;
  std::uint64_t last = 0;
  std::mutex mutex;
  std::vector<std::string> notices;
};

// req: engine.disk.3, engine.disk.4
TEST_F(SmallDiskTest, FullAtTheStartIsToldAndChangesNothing) {
  options.memtable_bytes = 32 * kDiskMiB;
  options.wal_bytes_max = 64 * kDiskMiB;
  ASSERT_TRUE(open());
  for (std::uint64_t i = 0; i < 1200; ++i)
    ASSERT_EQ(put("C" + std::to_string(i), noise(i, 8000)), CommitOutcome::kDurable);
  store.reset();                          // as a kill does: all is in the logs, …
  options.memtable_bytes = 2 * kDiskMiB;  // … and goes into several tables
  for (const std::uint64_t leave :
       {0 * kDiskMiB, 1 * kDiskMiB, 3 * kDiskMiB, 5 * kDiskMiB, 7 * kDiskMiB, 8 * kDiskMiB}) {
    disk.fill(leave);
    const std::uint64_t before = disk.free_bytes();
    const auto opened = open();
    ASSERT_FALSE(opened) << leave;
    EXPECT_EQ(opened.error().code, ErrorCode::kLimit) << opened.error().detail;
    EXPECT_NE(opened.error().detail.find("no room to open the store in " + options.directory),
              std::string::npos)
        << opened.error().detail;
    EXPECT_NE(opened.error().detail.find("make room"), std::string::npos);
    EXPECT_GE(disk.free_bytes() + 256 * kKiB, before) << "a failed opening keeps what it wrote";
  }
  disk.empty();
  const auto opened = open();
  ASSERT_TRUE(opened) << opened.error().detail;
  expect_all_there();
  EXPECT_EQ(put_many(10, 8000), CommitOutcome::kDurable);
}

// req: engine.disk.4
TEST_F(SmallDiskTest, FullBeforeThereIsAStoreIsToldAndLeavesNothingInTheWay) {
  disk.fill(0);
  const auto opened = open();
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, ErrorCode::kLimit) << opened.error().detail;
  EXPECT_NE(opened.error().detail.find("no room"), std::string::npos) << opened.error().detail;
  for (const std::uint64_t leave : {4 * kKiB, 8 * kKiB, 16 * kKiB, 64 * kKiB}) {
    disk.fill(leave);
    const auto again = open();
    EXPECT_TRUE(again || again.error().code == ErrorCode::kLimit) << again.error().detail;
    store.reset();
  }
  disk.empty();
  const auto room = open();
  ASSERT_TRUE(room) << room.error().detail;
  EXPECT_EQ(put_many(10, 8000), CommitOutcome::kDurable);
}

// req: engine.store.17, engine.disk.3
TEST_F(SmallDiskTest, FullWhileAcceptingIsAmbiguousAndGoesOnWithRoom) {
  options.memtable_bytes = 8 * kDiskMiB;
  options.wal_bytes_max = 64 * kDiskMiB;
  ASSERT_TRUE(open());
  for (const std::uint64_t leave : {0 * kKiB, 4 * kKiB, 100 * kKiB, 3000 * kKiB, 40 * kKiB}) {
    disk.fill(leave);
    ASSERT_EQ(put_many(2000, 16'000), CommitOutcome::kAmbiguous) << leave;
    disk.fill(0);
    for (int i = 0; i < 3; ++i) {
      const auto taken = store->acquire(0);
      ASSERT_FALSE(taken);
      EXPECT_EQ(taken.error().code, ErrorCode::kLimit) << taken.error().detail;
    }
    disk.empty();
    const Result<void> taken = take();
    ASSERT_TRUE(taken) << taken.error().detail;
    expect_all_there();
  }
  EXPECT_TRUE(store->close());
}

struct Moment {
  const char* name;
  const char* notice;  // what RocksDB says when the full disk meets it there
  std::uint64_t manifest_bytes_max;
  std::size_t value_bytes;
  std::size_t key_bytes;
  std::uint64_t leave_max;  // rounds leave this much and less, in 32 steps
};
void PrintTo(const Moment& moment, std::ostream* out) { *out << moment.name; }

class SmallDiskMoments : public SmallDiskTest, public ::testing::WithParamInterface<Moment> {};

// req: engine.disk.3
TEST_P(SmallDiskMoments, NeitherEndTheProcessNorLose) {
  const Moment& moment = GetParam();
  options.manifest_bytes_max = moment.manifest_bytes_max;
  ASSERT_TRUE(open());
  constexpr std::uint64_t kSteps = 32;
  for (std::uint64_t round = 0; round < 2 * kSteps && heard(moment.notice) == 0; ++round) {
    // What the background met in the last round may be told only now.
    if (put_many(20, moment.value_bytes, moment.key_bytes) != CommitOutcome::kDurable) {
      const Result<void> taken = take();
      ASSERT_TRUE(taken) << taken.error().detail;
    }
    disk.fill(moment.leave_max / kSteps * (round * 7 % kSteps));
    const CommitOutcome outcome = put_many(600, moment.value_bytes, moment.key_bytes);
    ASSERT_NE(outcome, CommitOutcome::kNoSync);
    disk.empty();
    if (outcome != CommitOutcome::kDurable) {
      const Result<void> taken = take();
      ASSERT_TRUE(taken) << taken.error().detail;
    }
    expect_all_there();
    // The same after a kill, and with the whole disk.
    if (round % 4 == 3) {
      const Result<void> opened = open();
      ASSERT_TRUE(opened) << opened.error().detail;
      expect_all_there();
    }
  }
  EXPECT_GT(heard(moment.notice), 0U) << "the moment was never met";
  const Result<void> opened = open();
  ASSERT_TRUE(opened) << opened.error().detail;
  expect_all_there();
  EXPECT_TRUE(store->close());
}

INSTANTIATE_TEST_SUITE_P(
    Of, SmallDiskMoments,
    ::testing::Values(Moment{.name = "WritingATable",
                             .notice = "Waiting after background flush error",
                             .manifest_bytes_max = 16 * kDiskMiB,
                             .value_bytes = 4000,
                             .key_bytes = 0,
                             .leave_max = 2 * kDiskMiB},
                      Moment{.name = "Compacting",
                             .notice = "Waiting after background compaction error",
                             .manifest_bytes_max = 16 * kDiskMiB,
                             .value_bytes = 8000,
                             .key_bytes = 0,
                             .leave_max = 6 * kDiskMiB},
                      Moment{.name = "RewritingTheManifest",
                             .notice = "Error in committing version edit to MANIFEST",
                             .manifest_bytes_max = 1,
                             .value_bytes = 1000,
                             .key_bytes = 4000,
                             .leave_max = 2 * kDiskMiB}),
    [](const ::testing::TestParamInfo<Moment>& name) { return std::string(name.param.name); });

// req: engine.disk.6
TEST_F(SmallDiskTest, NothingOfRocksDBsOwnLogLiesInTheDirectory) {
  ASSERT_TRUE(open());
  ASSERT_EQ(put_many(200, 8000), CommitOutcome::kDurable);
  for (const auto& entry : std::filesystem::directory_iterator(options.directory)) {
    const std::string name = entry.path().filename().string();
    EXPECT_FALSE(name.starts_with("LOG")) << name;
  }
}

// Messages come and go until the disk is nearly full of those that are gone.
// req: engine.disk.5
TEST_F(SmallDiskTest, GivesTheRoomOfDeadRecordsBack) {
  options.memtable_bytes = 2 * kDiskMiB;
  options.memtables_max = 12;
  options.wal_bytes_max = 64 * kDiskMiB;
  ASSERT_TRUE(open());
  const std::uint64_t before = disk.free_bytes();
  std::vector<std::string> live;
  std::uint64_t number = 0;
  while (disk.free_bytes() > 12 * kDiskMiB) {
    WriteBatch batch;
    for (int i = 0; i < 8; ++i) {
      live.push_back("H" + std::to_string(1'000'000 + ++number));
      batch.put_once(live.back(), Blob::copy_of(noise(number, 8000)));
    }
    // Far apart, so that put and removal are in different tables.
    while (live.size() > 600) {
      batch.remove_once(live.front());
      live.erase(live.begin());
    }
    batch.put("M", noise(number, 200));
    ASSERT_EQ(store->write(epoch, batch).outcome, CommitOutcome::kDurable);
  }
  WriteBatch rest;
  while (live.size() > 10) {
    rest.remove_once(live.front());
    live.erase(live.begin());
  }
  ASSERT_EQ(store->write(epoch, rest).outcome, CommitOutcome::kDurable);
  EXPECT_GT(store->reclaim(), 10 * kDiskMiB);
  EXPECT_GT(disk.free_bytes() + 4 * kDiskMiB, before) << "little lives, and little is taken";
  EXPECT_LT(store->reclaim(), kDiskMiB) << "nothing is dead any more";
  for (const std::string& key : live) {
    const auto found = store->read({.keys = {key}, .scans = {}});
    ASSERT_TRUE(found);
    EXPECT_TRUE(found->get(key)->has_value()) << key;
  }
  ASSERT_TRUE(open());
  for (const std::string& key : live) {
    const auto found = store->read({.keys = {key}, .scans = {}});
    EXPECT_TRUE(found->get(key)->has_value()) << key;
  }
}

// RocksDB asks for as much room as goes into a compaction once one met a full disk. What goes in
// may be dead by then.
// req: engine.disk.5
TEST_F(SmallDiskTest, GivesTheRoomBackAfterACompactionMetTheFullDisk) {
  options.memtable_bytes = kDiskMiB;
  ASSERT_TRUE(open());
  constexpr std::string_view kMet = "Waiting after background compaction error";
  std::uint64_t number = 0;
  // Scattered, so that tables cannot merely be moved to the next level.
  const auto key_of = [](std::uint64_t of) { return "H" + noise(of, 4) + std::to_string(of); };
  const auto put_table = [&] {
    for (int i = 0; i < 130; ++i) {
      WriteBatch batch;
      ++number;
      batch.put_once(key_of(number), Blob::copy_of(noise(number, 8000)));
      ASSERT_EQ(store->write(epoch, batch).outcome, CommitOutcome::kDurable);
    }
    // Two memtables that wait would become one table.
    while (store->property("rocksdb.num-immutable-mem-table") != 0)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
  };
  // Twelve tables are compacted; from the tenth on there is room for some of them.
  for (int i = 0; i < 10; ++i) put_table();
  disk.fill(4 * kDiskMiB);
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  for (int i = 0; i < 3 && heard(kMet) == 0; ++i) {
    put_table();
    // What comes of it is told within the second for which RocksDB waits then.
    for (int waits = 0; waits < 200 && heard(kMet) == 0; ++waits)
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  while (heard(kMet) == 0 && std::chrono::steady_clock::now() < until)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  ASSERT_GT(heard(kMet), 0U);
  WriteBatch all;
  for (std::uint64_t i = 1; i <= number; ++i) all.remove_once(key_of(i));
  ASSERT_EQ(store->write(epoch, all).outcome, CommitOutcome::kDurable);
  ASSERT_LT(disk.free_bytes(), 8 * kDiskMiB) << "all of it is dead, and nothing of it has gone";
  EXPECT_GT(store->reclaim(), 8 * kDiskMiB);
}

// A compaction for the sake of room may itself take the last of it, at any moment of a write and of
// an opening. That delays, and is never taken for a broken disk.
// req: engine.disk.3, engine.disk.5
TEST_F(SmallDiskTest, FilledByItsOwnReclaimingIsFullAndNotBroken) {
  options.memtable_bytes = 512 * kKiB;
  options.memtables_max = 6;
  options.wal_bytes_max = 6 * kDiskMiB;
  ASSERT_TRUE(open());
  std::atomic<bool> stop = false;
  std::thread reclaimer([&] {
    while (!stop) (void)store->reclaim();
  });
  std::vector<std::string> live;
  std::uint64_t number = 0;
  std::string broken;
  int refusals = 0;
  const auto key_of = [](std::uint64_t of) { return "H" + noise(of, 4) + std::to_string(of); };
  for (std::uint64_t round = 0; round < 5 && broken.empty(); ++round) {
    disk.fill((round * 5 % 12) * kDiskMiB / 4);
    BlockingStore::Written written;
    for (int i = 0; i < 400 && written.outcome == CommitOutcome::kDurable; ++i) {
      WriteBatch batch;
      live.push_back(key_of(++number));
      batch.put_once(live.back(), Blob::copy_of(noise(number, 16'000)));
      while (live.size() > 100) {
        batch.remove_once(live.front());
        live.erase(live.begin());
      }
      written = store->write(epoch, batch);
    }
    if (written.outcome == CommitOutcome::kNoSync) broken = "write: " + written.reason;
    // First while the disk is as full as the reclaimer left it, then with room.
    bool taken = false;
    for (int looks = 0; looks < 100 && !taken && broken.empty(); ++looks) {
      if (looks == 20) disk.empty();
      const Result<void> take_it = take();
      taken = take_it.has_value();
      if (taken) break;
      ++refusals;
      if (take_it.error().code != ErrorCode::kLimit) broken = "acquire: " + take_it.error().detail;
    }
    disk.empty();
    if (!taken && broken.empty()) broken = "the store does not come back";
  }
  stop = true;
  store->end_reclaim();
  reclaimer.join();
  EXPECT_EQ(broken, "");
  EXPECT_GT(refusals, 0);
}

}  // namespace
}  // namespace postrider
