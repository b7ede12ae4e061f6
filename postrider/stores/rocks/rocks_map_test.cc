#include "postrider/stores/rocks/rocks_map.h"

#include <filesystem>
#include <memory>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "postrider/stores/conformance_map.h"
#include "postrider/stores/file_faults.h"
#include "postrider/stores/rocks/rocks_store.h"
#include "postrider/stores/rocks/rocks_testing.h"

namespace postrider::rocks {
namespace {

class RocksMapHarness {
 public:
  RocksMapHarness() { open(RocksMap::Mode::kCreate); }
  Map& map() { return *map_; }
  void open_again() { open(RocksMap::Mode::kOpen); }

 private:
  void open(RocksMap::Mode mode) {
    map_.reset();
    auto opened = RocksMap::open(small(directory_.path()), mode);
    ASSERT_TRUE(opened.has_value()) << opened.error().detail;
    map_ = std::move(*opened);
  }

  TemporaryDirectory directory_;
  std::unique_ptr<RocksMap> map_;
};

}  // namespace
}  // namespace postrider::rocks

namespace postrider {
INSTANTIATE_TYPED_TEST_SUITE_P(Rocks, MapConformance, rocks::RocksMapHarness);
}  // namespace postrider

namespace postrider::rocks {
namespace {

OwnedRun one_record(const std::string& key, const std::string& value, std::uint64_t last) {
  return {.ranges = {}, .records = {{key, value}}, .last = last};
}

TEST(RocksMap, WritesOverWhatALoadThatWasCutShortLeft) {
  const TemporaryDirectory directory;
  {
    auto map = *RocksMap::open(small(directory.path()), RocksMap::Mode::kCreate);
    ASSERT_TRUE(map->load(one_record("a", "1", 1).run()).has_value());
  }
  for (const char* name : {"0.sst", "1.sst", "2.sst"})
    write_whole(directory.file("runs/" + std::string(name)), "half a table");
  auto map = *RocksMap::open(small(directory.path()), RocksMap::Mode::kOpen);
  EXPECT_EQ(map->loaded()->value(), 1U);
  ASSERT_TRUE(map->load(one_record("b", "2", 2).run()).has_value());
  EXPECT_EQ(map->loaded()->value(), 2U);
  const auto found = map->read({.keys = {"a", "b"}, .scans = {}});
  ASSERT_TRUE(found.has_value());
  EXPECT_TRUE((*found->get("a")).has_value());
  EXPECT_TRUE((*found->get("b")).has_value());
}

// A directory that should hold a map and does not is no new map.
TEST(RocksMap, IsMadeOnlyWhenAsked) {
  const TemporaryDirectory directory;
  EXPECT_FALSE(RocksMap::open(small(directory.path()), RocksMap::Mode::kOpen).has_value());
}

TEST(RocksMap, TakesTheTablesOfAStore) {
  const TemporaryDirectory directory;
  {
    auto store = *RocksStore::open(small(directory.path()));
    const Epoch epoch = *store->acquire(0);
    WriteBatch batch;
    batch.put("c1", "cold");
    batch.put_once("h1", Blob::copy_of("hot"));
    batch.put("e1", "ended");
    ASSERT_EQ(store->write(epoch, batch).outcome, CommitOutcome::kDurable);
    ASSERT_TRUE(store->close().has_value());
  }
  auto map = *RocksMap::open(small(directory.path()), RocksMap::Mode::kOpen);
  EXPECT_EQ(map->loaded()->value(), 0U);
  OwnedRun run{.ranges = {}, .records = {{"h1", std::nullopt}, {"c1", "new"}}, .last = 1};
  ASSERT_TRUE(map->load(run.run()).has_value());
  const auto found = map->read({.keys = {"c1", "h1", "e1"}, .scans = {}});
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ((*found->get("c1"))->view(), "new");
  EXPECT_FALSE((*found->get("h1")).has_value());
  EXPECT_EQ((*found->get("e1"))->view(), "ended");
}

TEST(RocksMap, SaysThatThereIsNoRoomAndTakesTheRunLater) {
  const TemporaryDirectory directory;
  StoreOptions options = small(directory.path());
  options.faults = std::make_shared<FileFaults>();
  auto map = *RocksMap::open(options, RocksMap::Mode::kCreate);
  ASSERT_TRUE(map->load(one_record("a", "1", 1).run()).has_value());
  options.faults->writes = FileFaults::Fault::kNoSpace;
  const auto refused = map->load(one_record("b", "2", 2).run());
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, ErrorCode::kLimit) << refused.error().detail;
  EXPECT_EQ(map->loaded()->value(), 1U);
  options.faults->writes = FileFaults::Fault::kNone;
  const auto taken = map->load(one_record("b", "2", 2).run());
  ASSERT_TRUE(taken.has_value()) << taken.error().detail;
  EXPECT_EQ(map->loaded()->value(), 2U);
}

// Wherever the disk becomes full, the run is taken when there is room again.
TEST(RocksMap, GoesOnWhenThereIsRoomWhereverItRanOut) {
  std::uint64_t struck = 0;
  for (int works_for = 0; works_for < 40; ++works_for) {
    const TemporaryDirectory directory;
    StoreOptions options = small(directory.path());
    options.faults = std::make_shared<FileFaults>();
    auto map = *RocksMap::open(options, RocksMap::Mode::kCreate);
    ASSERT_TRUE(map->load(one_record("a", "1", 1).run()).has_value());
    options.faults->works_for = works_for;
    options.faults->writes = FileFaults::Fault::kNoSpace;
    const auto first = map->load(one_record("b", "2", 2).run());
    options.faults->writes = FileFaults::Fault::kNone;
    if (!first) {
      ++struck;
      EXPECT_EQ(first.error().code, ErrorCode::kLimit) << first.error().detail;
      EXPECT_EQ(map->loaded()->value(), 1U) << works_for;
    }
    const auto again = map->load(one_record("b", "2", 2).run());
    EXPECT_TRUE(again.has_value()) << works_for << " " << again.error().detail;
    EXPECT_EQ(map->loaded()->value(), 2U) << works_for;
  }
  EXPECT_GT(struck, 3U);
}

TEST(RocksMap, ALoadThatMeetsAFailingDiskChangesNothing) {
  const TemporaryDirectory directory;
  StoreOptions options = small(directory.path());
  options.faults = std::make_shared<FileFaults>();
  auto map = *RocksMap::open(options, RocksMap::Mode::kCreate);
  ASSERT_TRUE(map->load(one_record("a", "1", 1).run()).has_value());
  options.faults->syncs = FileFaults::Fault::kIoError;
  const auto refused = map->load(one_record("a", "2", 2).run());
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, ErrorCode::kUnavailable);
  options.faults->syncs = FileFaults::Fault::kNone;
  map.reset();
  map = *RocksMap::open(options, RocksMap::Mode::kOpen);
  EXPECT_EQ(map->loaded()->value(), 1U);
  const auto found = map->read({.keys = {"a"}, .scans = {}});
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ((*found->get("a"))->view(), "1");
}

TEST(RocksMap, IsForOneProcessAtATime) {
  const TemporaryDirectory directory;
  const auto map = *RocksMap::open(small(directory.path()), RocksMap::Mode::kCreate);
  const auto second = RocksMap::open(small(directory.path()), RocksMap::Mode::kOpen);
  ASSERT_FALSE(second.has_value());
  EXPECT_EQ(second.error().code, ErrorCode::kConflict);
}

TEST(RocksMap, RefusesADatabaseThatLostATable) {
  const TemporaryDirectory directory;
  {
    auto map = *RocksMap::open(small(directory.path()), RocksMap::Mode::kCreate);
    ASSERT_TRUE(map->load(one_record("a", "1", 1).run()).has_value());
  }
  for (const auto& entry : std::filesystem::directory_iterator(directory.path())) {
    if (entry.path().extension() == ".sst") std::filesystem::remove(entry.path());
  }
  const auto again = RocksMap::open(small(directory.path()), RocksMap::Mode::kOpen);
  ASSERT_FALSE(again.has_value());
  EXPECT_EQ(again.error().code, ErrorCode::kCorrupt);
}

}  // namespace
}  // namespace postrider::rocks
