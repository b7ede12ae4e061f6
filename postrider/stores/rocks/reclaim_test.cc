#include "postrider/stores/rocks/reclaim.h"

#include <atomic>
#include <memory>
#include <string>
#include <sys/stat.h>
#include <thread>
#include <utility>

#include <gtest/gtest.h>
#include <rocksdb/file_system.h>

#include "postrider/stores/rocks/faulty_files.h"
#include "postrider/stores/rocks/rocks_testing.h"

namespace postrider {
namespace {

using rocks::Held;
using rocks::is_worth_writing;
using rocks::living_bytes;

constexpr std::uint64_t kMiB = 1U << 20;

struct LivingCase {
  const char* name;
  Held held;
  std::uint64_t want;
};
class LivingBytes : public ::testing::TestWithParam<LivingCase> {};
TEST_P(LivingBytes, FollowFromWhatWasPutAndRemoved) {
  EXPECT_EQ(living_bytes(GetParam().held), GetParam().want);
}
INSTANTIATE_TEST_SUITE_P(
    Of, LivingBytes,
    ::testing::Values(LivingCase{"Nothing", {0, 0, 0, 0}, 0},
                      LivingCase{"PutsOnly", {1000, 10, 0, 0}, 1000},
                      LivingCase{"AllRemoved", {1000, 20, 10, 0}, 0},
                      LivingCase{"HalfRemoved", {1000, 15, 5, 0}, 500},
                      LivingCase{"RemovalsOfWhatLiesElsewhere", {1000, 12, 10, 0}, 0},
                      LivingCase{"RemovalsOnly", {1000, 10, 10, 0}, 0},
                      LivingCase{"RangesCountAsAlive", {1000, 11, 1, 1}, 1000}),
    [](const ::testing::TestParamInfo<LivingCase>& name) { return std::string(name.param.name); });

TEST(WorthWriting, NeedsSomethingToGainAndRoomForWhatLives) {
  const Held half{100 * kMiB, 1500, 500, 0};
  EXPECT_TRUE(is_worth_writing(half, 100 * kMiB));
  EXPECT_FALSE(is_worth_writing(half, 99 * kMiB)) << "50 MiB live, and more than half would go";
  EXPECT_FALSE(is_worth_writing({100 * kMiB, 1000, 0, 0}, 1000 * kMiB)) << "all of it lives";
  EXPECT_FALSE(is_worth_writing({kMiB - 1, 20, 10, 0}, 1000 * kMiB)) << "too little to gain";
  EXPECT_TRUE(is_worth_writing({kMiB, 20, 10, 0}, 0)) << "nothing would be written";
  EXPECT_TRUE(is_worth_writing({kMiB, 20, 1, 1}, 2 * kMiB));
  EXPECT_FALSE(is_worth_writing({kMiB, 20, 1, 1}, 2 * kMiB - 2)) << "nobody knows what lives";
}

// What a compaction takes beforehand, others lack meanwhile.
// req: engine.disk.3
TEST(Tables, TakeNoRoomBeforehand) {
  const TemporaryDirectory directory;
  StoreOptions options;
  options.directory = directory.path();
  const auto database = rocks::Database::open(options, rocks::Database::Mode::kCreate);
  ASSERT_TRUE(database) << database.error().detail;
  for (const bool table : {false, true}) {
    const std::string name = directory.file(table ? "1000.sst" : "1000.log");
    std::unique_ptr<rocksdb::FSWritableFile> file;
    ASSERT_TRUE(
        (*database)->files().NewWritableFile(name, rocksdb::FileOptions(), &file, nullptr).ok());
    file->SetPreallocationBlockSize(4 * kMiB);
    file->PrepareWrite(0, 4096, rocksdb::IOOptions(), nullptr);
    struct stat status {};
    ASSERT_EQ(::stat(name.c_str(), &status), 0);
    EXPECT_EQ(static_cast<std::uint64_t>(status.st_blocks) * 512, table ? 0 : 4 * kMiB);
    EXPECT_TRUE(file->Close(rocksdb::IOOptions(), nullptr).ok());
  }
}

class ReclaimTest : public ::testing::Test {
 protected:
  ReclaimTest() {
    options.directory = directory.path();
    options.cache_bytes = kMiB;
    options.memtable_bytes = kMiB;
    options.sync = false;
    options.faults = faults;
    store = std::move(*RocksStore::open(options));
    epoch = *store->acquire(0);
  }
  // Messages that came and went.
  void live_and_die(int count) {
    for (int i = 0; i < count; ++i) {
      WriteBatch batch;
      batch.put_once("H" + std::to_string(++last), Blob::copy_of(std::string(4000, 'x')));
      if (last > 300) batch.remove_once("H" + std::to_string(last - 300));
      ASSERT_EQ(store->write(epoch, batch).outcome, CommitOutcome::kDurable);
    }
  }

  TemporaryDirectory directory;
  std::shared_ptr<FileFaults> faults = std::make_shared<FileFaults>();
  StoreOptions options;
  std::unique_ptr<RocksStore> store;
  Epoch epoch;
  int last = 0;
};

// Opening again and closing have the database alone, and must not wait for a long compaction.
TEST_F(ReclaimTest, EndsWhenTheDatabaseIsOpenedAgainOrClosed) {
  std::atomic<bool> stop = false;
  std::thread reclaimer([&] {
    while (!stop) (void)store->reclaim();
  });
  for (int round = 0; round < 10; ++round) {
    live_and_die(800);
    faults->writes = FileFaults::Fault::kNoSpace;
    WriteBatch batch;
    batch.put("M", "?");
    EXPECT_NE(store->write(epoch, batch).outcome, CommitOutcome::kDurable);
    EXPECT_EQ(store->acquire(0).error().code, ErrorCode::kLimit);
    faults->writes = FileFaults::Fault::kNone;
    const auto taken = store->acquire(0);
    ASSERT_TRUE(taken) << taken.error().detail;
    epoch = *taken;
  }
  EXPECT_TRUE(store->close());
  stop = true;
  reclaimer.join();
  EXPECT_EQ(store->reclaim(), 0U) << "there is no database any more";
}

TEST_F(ReclaimTest, BeginsNoMoreOnceItWasEnded) {
  live_and_die(2000);
  store->end_reclaim();
  EXPECT_EQ(store->reclaim(), 0U);
}

}  // namespace
}  // namespace postrider
