// An error says what failed, so that its reader looks at the right thing.
#include <filesystem>
#include <memory>
#include <string>
#include <utility>

#include <gtest/gtest.h>
#include <rocksdb/env.h>

#include "postrider/stores/rocks/faulty_files.h"
#include "postrider/stores/rocks/rocks_store.h"
#include "postrider/stores/rocks/rocks_testing.h"

namespace postrider {
namespace {

StoreOptions small_at(const std::string& directory) {
  StoreOptions options;
  options.directory = directory;
  options.cache_bytes = 1U << 20;
  options.memtable_bytes = 64U << 10;
  return options;
}

// req: engine.store.16
TEST(ErrorNames, ALockThatCannotBeOpenedIsNotAnotherProcess) {
  const TemporaryDirectory directory;
  ASSERT_TRUE(RocksStore::open(small_at(directory.path())));
  std::filesystem::remove(directory.file("LOCK"));
  std::filesystem::create_directory(directory.file("LOCK"));
  const auto opened = RocksStore::open(small_at(directory.path()));
  ASSERT_FALSE(opened);
  EXPECT_NE(opened.error().code, ErrorCode::kConflict);
  EXPECT_EQ(opened.error().detail.find("another"), std::string::npos) << opened.error().detail;
  EXPECT_NE(opened.error().detail.find(directory.file("LOCK")), std::string::npos)
      << opened.error().detail;
}

// The lock of the database itself, for file systems that cannot lock a directory.
// req: engine.store.16
TEST(ErrorNames, ALockThatIsHeldIsAnotherProcess) {
  const TemporaryDirectory directory;
  ASSERT_TRUE(RocksStore::open(small_at(directory.path())));
  rocksdb::FileLock* lock = nullptr;
  ASSERT_TRUE(rocksdb::Env::Default()->LockFile(directory.file("LOCK"), &lock).ok());
  const auto opened = RocksStore::open(small_at(directory.path()));
  EXPECT_TRUE(rocksdb::Env::Default()->UnlockFile(lock).ok());
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, ErrorCode::kConflict) << opened.error().detail;
  EXPECT_NE(opened.error().detail.find("another process uses " + directory.path()),
            std::string::npos)
      << opened.error().detail;
  EXPECT_TRUE(RocksStore::open(small_at(directory.path())));
}

// req: engine.store.18
TEST(ErrorNames, AReadThatFailsInTheBackgroundIsToldWithWhatFailed) {
  const TemporaryDirectory directory;
  StoreOptions options = small_at(directory.path());
  options.faults = std::make_shared<FileFaults>();
  const auto store = RocksStore::open(options);
  ASSERT_TRUE(store);
  const Epoch epoch = *(*store)->acquire(0);
  // A table is read when it was written, and by compactions.
  options.faults->reads = FileFaults::Fault::kIoError;
  BlockingStore::Written last;
  for (int i = 0; i < 3000 && last.outcome == CommitOutcome::kDurable; ++i) {
    WriteBatch batch;
    batch.put("C" + std::to_string(i % 100), std::string(4000, static_cast<char>('a' + i % 20)));
    last = (*store)->write(epoch, batch);
  }
  ASSERT_EQ(last.outcome, CommitOutcome::kNoSync) << last.reason;
  EXPECT_NE(last.reason.find(" failed: IO error: rehearsed: input/output error"), std::string::npos)
      << last.reason;
  EXPECT_EQ(last.reason.find("sync"), std::string::npos) << last.reason;
}

}  // namespace
}  // namespace postrider
