#include "postrider/stores/layered/layered_store.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "postrider/base/rng.h"
#include "postrider/stores/conformance.h"
#include "postrider/stores/layered/contents_testing.h"
#include "postrider/stores/layered/group.h"
#include "postrider/stores/memory_journal.h"
#include "postrider/stores/memory_map.h"

namespace postrider::layered {
namespace {

// Spills before every n-th commit, or never.
template <int kEvery>
class SpillingHarness final : public Store {
 public:
  Store& store() { return *this; }
  void settle() {}

  Result<Epoch> acquire(std::uint32_t shard) override { return layered.acquire(shard); }
  void commit(Epoch epoch, std::shared_ptr<const WriteBatch> batch, CommitDone done) override {
    if (kEvery > 0 && ++commits % kEvery == 0) {
      EXPECT_TRUE(layered.spill().has_value());
    }
    done(layered.write(epoch, *batch).outcome);
  }
  void read(const Reads& reads, ReadDone done) override { done(layered.read(reads)); }

  MemoryJournal journal;
  MemoryMap map;
  LayeredStore layered{journal, map};
  int commits = 0;
};

}  // namespace
}  // namespace postrider::layered

namespace postrider {
using NeverSpilling = layered::SpillingHarness<0>;
using AlwaysSpilling = layered::SpillingHarness<1>;
using SpillingNowAndThen = layered::SpillingHarness<3>;
INSTANTIATE_TYPED_TEST_SUITE_P(LayeredTail, StoreConformance, NeverSpilling);
INSTANTIATE_TYPED_TEST_SUITE_P(LayeredMap, StoreConformance, AlwaysSpilling);
INSTANTIATE_TYPED_TEST_SUITE_P(LayeredBoth, StoreConformance, SpillingNowAndThen);
}  // namespace postrider

namespace postrider::layered {
namespace {

// Random batches, spills and restarts; after each the store is what the naive model says, and any
// scan with any limit is a piece of it.
TEST(LayeredStore, IsTheNaiveModelOverSpillsAndRestarts) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    MemoryJournal journal;
    MemoryMap map;
    auto store = std::make_unique<LayeredStore>(journal, map);
    Epoch epoch = *store->acquire(0);
    BatchMaker maker(seed);
    Contents model;
    for (int i = 0; i < 120; ++i) {
      const WriteBatch batch = maker.make(model);
      apply_to(model, batch);
      ASSERT_EQ(store->write(epoch, batch).outcome, CommitOutcome::kDurable);
      if (maker.rng().below(5) == 0) {
        ASSERT_TRUE(store->spill().has_value());
      }
      if (maker.rng().below(10) == 0) {
        store = std::make_unique<LayeredStore>(journal, map);
        epoch = *store->acquire(0);
      }
      const bool backward = maker.rng().below(2) == 0;
      const Scan scan{"p" + std::to_string(maker.rng().below(20)),
                      "p" + std::to_string(maker.rng().below(20)),
                      static_cast<std::uint32_t>(maker.rng().below(6)), false, backward};
      const auto found = store->read({.keys = {"p3", "o1"}, .scans = {scan}});
      std::vector<std::string> wanted;
      for (const auto& [key, value] : model) {
        if (key >= scan.first && key < scan.last) wanted.push_back(key);
      }
      if (backward) std::reverse(wanted.begin(), wanted.end());
      const bool complete = wanted.size() <= scan.limit;
      wanted.resize(std::min<std::size_t>(wanted.size(), scan.limit));
      std::vector<std::string> keys;
      for (const Row& row : found->scan(scan)->rows) keys.push_back(row.first);
      ASSERT_EQ(keys, wanted) << seed << " " << i;
      ASSERT_EQ(found->scan(scan)->complete, complete) << seed << " " << i;
      ASSERT_EQ((*found->get("p3")).has_value(), model.contains("p3")) << seed << " " << i;
      ASSERT_EQ((*found->get("o1")).has_value(), model.contains("o1")) << seed << " " << i;
    }
    ASSERT_EQ(contents_of(*store), model) << seed;
    ASSERT_TRUE(store->spill().has_value());
    EXPECT_EQ(store->tail_bytes(), 0U);
    ASSERT_EQ(contents_of(*store), model) << seed;
  }
}

WriteBatch one_put(const std::string& key, const std::string& value) {
  WriteBatch batch;
  batch.put(key, value);
  return batch;
}

TEST(LayeredStore, WhatIsPutOnceAndRemovedNeverReachesTheMap) {
  MemoryJournal journal;
  MemoryMap map;
  LayeredStore store(journal, map);
  const Epoch epoch = *store.acquire(0);
  WriteBatch in;
  in.put_once("message", Blob::copy_of("x"));
  ASSERT_EQ(store.write(epoch, in).outcome, CommitOutcome::kDurable);
  WriteBatch out;
  out.remove_once("message");
  ASSERT_EQ(store.write(epoch, out).outcome, CommitOutcome::kDurable);
  Tail tail;
  tail.begin_behind(GroupNumber());
  ASSERT_TRUE(journal.read(GroupNumber(1), GroupNumber(2), [&](GroupNumber number, Group group) {
    tail.add(number, std::make_shared<const std::string>(group.bytes));
    return true;
  }));
  const auto survivors = [&tail](std::uint64_t last, MapHas has) {
    return cut(tail.upto(GroupNumber(last)), GroupNumber(last), has).run.records.size();
  };
  EXPECT_EQ(survivors(2, MapHas::kNothingOfTheTail), 0U);
  EXPECT_EQ(survivors(2, MapHas::kPerhapsSome), 1U);
  EXPECT_EQ(survivors(1, MapHas::kNothingOfTheTail), 1U);
  // Without its put the removal must be told to the map.
  tail.forget(GroupNumber(1));
  const Chunk later =
      cut(tail.upto(GroupNumber(2)), GroupNumber(2), MapHas::kNothingOfTheTail);
  ASSERT_EQ(later.run.records.size(), 1U);
  EXPECT_FALSE(later.run.records[0].second.has_value());
}

// A map that loads and is killed before its mark is durable.
class ForgetfulMap final : public Map {
 public:
  Result<void> load(const Run& run) override {
    Run unmarked = run;
    unmarked.last = *map.loaded();
    if (forgets) {
      (void)map.load(unmarked);
      return fail(ErrorCode::kUnavailable, "killed");
    }
    return map.load(run);
  }
  Result<GroupNumber> loaded() override { return map.loaded(); }
  Result<Found> read(const Reads& reads) override { return map.read(reads); }
  MemoryMap map;
  bool forgets = false;
};

TEST(LayeredStore, ALoadThatWasInterruptedIsRepeatedAndChangesNothing) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    MemoryJournal journal;
    ForgetfulMap map;
    Contents model;
    BatchMaker maker(seed);
    for (int life = 0; life < 10; ++life) {
      LayeredStore store(journal, map);
      const Epoch epoch = *store.acquire(0);
      ASSERT_EQ(contents_of(store), model);
      for (int i = 0; i < 10; ++i) {
        const WriteBatch batch = maker.make(model);
        apply_to(model, batch);
        ASSERT_EQ(store.write(epoch, batch).outcome, CommitOutcome::kDurable);
        map.forgets = maker.rng().below(3) != 0;
        if (maker.rng().below(4) == 0) (void)store.spill();
        ASSERT_EQ(contents_of(store), model) << seed << " " << life << " " << i;
      }
    }
  }
}

TEST(LayeredStore, RefusesAMapThatIsAheadOfItsJournalOrBehindIt) {
  MemoryJournal journal;
  MemoryMap map;
  LayeredStore store(journal, map);
  const Epoch epoch = *store.acquire(0);
  for (int i = 0; i < 3; ++i) store.write(epoch, one_put("k", "v"));
  ASSERT_TRUE(store.spill().has_value());
  MemoryJournal fresh;
  LayeredStore ahead(fresh, map);
  const auto refused = ahead.acquire(0);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, ErrorCode::kCorrupt);
  store.write(epoch, one_put("k", "w"));
  MemoryMap empty;  // the journal was trimmed, so groups between the two are missing
  LayeredStore behind(journal, empty);
  EXPECT_EQ(behind.acquire(0).error().code, ErrorCode::kCorrupt);
}

TEST(LayeredStore, RefusesAGroupThatIsNone) {
  MemoryJournal journal;
  MemoryMap map;
  const Epoch epoch = journal.acquire(0)->epoch;
  ASSERT_EQ(journal.append(epoch, GroupNumber(1), {"\x01\x09zz", 1}).end, AppendEnd::kDurable);
  LayeredStore store(journal, map);
  EXPECT_EQ(store.acquire(0).error().code, ErrorCode::kCorrupt);
}

TEST(LayeredStore, TellsAFullJournalAndGoesOnAfterASpill) {
  MemoryJournal journal(64);
  MemoryMap map;
  LayeredStore store(journal, map);
  const Epoch epoch = *store.acquire(0);
  const WriteBatch batch = one_put("key", std::string(40, 'x'));
  ASSERT_EQ(store.write(epoch, batch).outcome, CommitOutcome::kDurable);
  EXPECT_EQ(store.write(epoch, batch).outcome, CommitOutcome::kFailed);
  ASSERT_TRUE(store.spill().has_value());
  EXPECT_EQ(store.write(epoch, batch).outcome, CommitOutcome::kDurable);
  const auto larger = store.write(epoch, one_put("key", std::string(64, 'x')));
  EXPECT_EQ(larger.outcome, CommitOutcome::kFailed);
  EXPECT_NE(larger.reason.find("larger"), std::string::npos);
}

TEST(Ranges, ThatTouchBecomeOne) {
  Ranges ranges;
  ranges.add("b", "d");
  ranges.add("f", "h");
  ranges.add("x", "x");
  ranges.add("z", "y");
  EXPECT_EQ(ranges.all().size(), 2U);
  ranges.add("d", "f");
  ASSERT_EQ(ranges.all().size(), 1U);
  EXPECT_EQ(ranges.all().begin()->first, "b");
  EXPECT_EQ(ranges.all().begin()->second, "h");
  for (const char* key : {"b", "c", "gz"}) EXPECT_TRUE(ranges.holds(key)) << key;
  for (const char* key : {"a", "h", "i", ""}) EXPECT_FALSE(ranges.holds(key)) << key;
  EXPECT_EQ(ranges.within("a", "b").all().size(), 0U);
  EXPECT_EQ(ranges.within("c", "c\x01").all().size(), 1U);
  EXPECT_EQ(ranges.within("h", "z").all().size(), 0U);
}

}  // namespace
}  // namespace postrider::layered
