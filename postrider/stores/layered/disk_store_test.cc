// A journal of segments in front of a map on RocksDB: the two halves as they stand together on a
// disk.
#include <filesystem>
#include <memory>
#include <string>
#include <utility>

#include "postrider/stores/conformance.h"
#include "postrider/stores/layered/contents_testing.h"
#include "postrider/stores/layered/layered_store.h"
#include "postrider/stores/rocks/rocks_map.h"
#include "postrider/stores/rocks/rocks_testing.h"
#include "postrider/stores/segments/segment_journal.h"

namespace postrider::layered {
namespace {

constexpr segments::SegmentOptions kSmall{.segment_bytes = 256U << 10, .segments_max = 4};

// Both halves in one directory; made anew as a process is.
struct DiskStore {
  explicit DiskStore(const std::string& directory) {
    auto folder = segments::open_folder(directory + "/journal");
    EXPECT_TRUE(folder.has_value()) << (folder ? "" : folder.error().detail);
    auto opened = segments::SegmentJournal::open(std::move(*folder), {}, kSmall);
    EXPECT_TRUE(opened.has_value()) << (opened ? "" : opened.error().detail);
    journal = std::move(*opened);
    const bool is_new = !std::filesystem::exists(directory + "/map/CURRENT");
    auto loaded = rocks::RocksMap::open(
        small(directory + "/map"),
        is_new ? rocks::RocksMap::Mode::kCreate : rocks::RocksMap::Mode::kOpen);
    EXPECT_TRUE(loaded.has_value()) << (loaded ? "" : loaded.error().detail);
    map = std::move(*loaded);
    store = std::make_unique<LayeredStore>(*journal, *map);
  }
  std::unique_ptr<segments::SegmentJournal> journal;
  std::unique_ptr<rocks::RocksMap> map;
  std::unique_ptr<LayeredStore> store;
};

// The segments are small, so the journal is full now and then, and only a spill makes room.
TEST(DiskStore, IsTheNaiveModelOverSpillsRestartsAndAFullJournal) {
  int full = 0;
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    const TemporaryDirectory directory;
    auto disk = std::make_unique<DiskStore>(directory.path());
    Epoch epoch = *disk->store->acquire(0);
    BatchMaker maker(seed);
    Contents model;
    for (int i = 0; i < 400; ++i) {
      WriteBatch batch = maker.make(model);
      if (maker.rng().below(4) == 0) batch.put("p0", std::string(maker.rng().below(40'000), 'x'));
      if (disk->store->write(epoch, batch).outcome == CommitOutcome::kFailed) {
        ++full;
        ASSERT_TRUE(disk->store->spill().has_value());
        ASSERT_EQ(disk->store->write(epoch, batch).outcome, CommitOutcome::kDurable);
      }
      apply_to(model, batch);
      if (maker.rng().below(200) == 0) {
        ASSERT_TRUE(disk->store->spill().has_value());
      }
      if (maker.rng().below(40) == 0) {
        disk.reset();
        disk = std::make_unique<DiskStore>(directory.path());
        epoch = *disk->store->acquire(0);
        ASSERT_EQ(contents_of(*disk->store), model) << seed << " " << i;
      }
    }
    ASSERT_EQ(contents_of(*disk->store), model) << seed;
  }
  EXPECT_GT(full, 0);
}

TEST(DiskStore, RefusesAMapOfAnotherJournal) {
  const TemporaryDirectory one;
  const TemporaryDirectory other;
  for (const TemporaryDirectory* directory : {&one, &other}) {
    DiskStore disk(directory->path());
    const Epoch epoch = *disk.store->acquire(0);
    for (int i = 0; i < (directory == &one ? 3 : 9); ++i) {
      WriteBatch batch;
      batch.put("k", std::to_string(i));
      ASSERT_EQ(disk.store->write(epoch, batch).outcome, CommitOutcome::kDurable);
    }
    ASSERT_TRUE(disk.store->spill().has_value());
  }
  std::filesystem::rename(other.path() + "/map", one.path() + "/other");
  std::filesystem::remove_all(one.path() + "/map");
  std::filesystem::rename(one.path() + "/other", one.path() + "/map");
  DiskStore mixed(one.path());
  const auto refused = mixed.store->acquire(0);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, ErrorCode::kCorrupt);
}

}  // namespace
}  // namespace postrider::layered
