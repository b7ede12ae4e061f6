#include "postrider/stores/memory.h"

#include <memory>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "postrider/stores/conformance.h"
#include "postrider/stores/conformance_once.h"

namespace postrider {
namespace {

struct MemoryHarness {
  MemoryStore memory{{.remember_once = true}};
  Store& store() { return memory; }
  void settle() {}  // the memory store answers at once
};
INSTANTIATE_TYPED_TEST_SUITE_P(Memory, StoreConformance, MemoryHarness);
INSTANTIATE_TYPED_TEST_SUITE_P(Memory, StoreOnceRules, MemoryHarness);

CommitOutcome commit(MemoryStore& store, Epoch epoch, WriteBatch batch) {
  CommitOutcome outcome = CommitOutcome::kAmbiguous;
  store.commit(epoch, std::make_shared<const WriteBatch>(std::move(batch)),
               [&](CommitOutcome told) { outcome = told; });
  return outcome;
}

WriteBatch put_batch(const std::string& key, std::string_view value) {
  WriteBatch batch;
  batch.put(key, value);
  return batch;
}

TEST(MemoryStore, OwnersOfDifferentShardsDoNotFenceEachOther) {  // req: engine.store.9
  MemoryStore store;
  const Epoch first = *store.acquire(1);
  const Epoch second = *store.acquire(2);
  EXPECT_NE(first, second);
  EXPECT_EQ(commit(store, first, put_batch("a", "1")), CommitOutcome::kDurable);
  EXPECT_EQ(commit(store, second, put_batch("b", "2")), CommitOutcome::kDurable);
  EXPECT_EQ(commit(store, Epoch(99), put_batch("c", "3")), CommitOutcome::kFailed);
  EXPECT_EQ(store.size(), 2U);
}

TEST(MemoryStore, RefusesAShardThatCannotBe) {
  MemoryStore store;
  EXPECT_TRUE(store.acquire(kShards - 1).has_value());
  const auto beyond = store.acquire(kShards);
  ASSERT_FALSE(beyond.has_value());
  EXPECT_EQ(beyond.error().code, ErrorCode::kInvalid);
}

TEST(MemoryStore, ForgetsOnceKeysUnlessToldToRemember) {
  // Remembering every key would grow for ever, so the store of a benchmark or a daemon's test does
  // not.
  MemoryStore store;
  const Epoch epoch = *store.acquire(0);
  for (int i = 0; i < 2; ++i) {
    WriteBatch batch;
    batch.put_once("message", Blob::copy_of("x"));
    batch.remove_once("message");
    EXPECT_EQ(commit(store, epoch, std::move(batch)), CommitOutcome::kDurable);
  }
}

TEST(MemoryStore, NoticesASecondPutOnceOfWhatIsThereWithoutRemembering) {  // req: engine.store.10
  MemoryStore store;
  const Epoch epoch = *store.acquire(0);
  const auto put_once = [&] {
    WriteBatch batch;
    batch.put_once("message", Blob::copy_of("x"));
    return commit(store, epoch, std::move(batch));
  };
  ASSERT_EQ(put_once(), CommitOutcome::kDurable);
  EXPECT_DEATH(put_once(), "broken invariant");
}

TEST(MemoryStore, RecordsKeepTheirValueWhenNodesAreReused) {
  MemoryStore store;
  const Epoch epoch = *store.acquire(0);
  for (int round = 0; round < 3; ++round) {
    WriteBatch puts;
    for (int i = 0; i < 5000; ++i) {
      puts.put("key" + std::to_string(i), std::to_string(i * (round + 1)));
    }
    EXPECT_EQ(commit(store, epoch, std::move(puts)), CommitOutcome::kDurable);
    EXPECT_EQ(store.size(), 5000U);
    for (int i = 0; i < 5000; i += 499) {
      EXPECT_EQ(store.get("key" + std::to_string(i))->view(), std::to_string(i * (round + 1)));
    }
    WriteBatch removes;
    removes.remove_range("key", "kez");
    EXPECT_EQ(commit(store, epoch, std::move(removes)), CommitOutcome::kDurable);
    EXPECT_EQ(store.size(), 0U);
  }
}

TEST(MemoryStore, SharesTheBytesOfAValueInsteadOfCopyingThem) {
  MemoryStore store;
  const Epoch epoch = *store.acquire(0);
  const Blob value = Blob::copy_of("shared by batch, store and reader");
  WriteBatch batch;
  batch.put("key", value);
  EXPECT_EQ(commit(store, epoch, std::move(batch)), CommitOutcome::kDurable);
  EXPECT_EQ(store.get("key")->view().data(), value.view().data());
}

TEST(MemoryStore, DamageChangesOneRecordAndNothingThatSharedItsBytes) {
  MemoryStore store;
  const Epoch epoch = *store.acquire(0);
  const Blob value = Blob::copy_of("intact");
  WriteBatch batch;
  batch.put("a", value);
  batch.put("b", value);
  EXPECT_EQ(commit(store, epoch, std::move(batch)), CommitOutcome::kDurable);
  EXPECT_TRUE(store.damage("a"));
  EXPECT_FALSE(store.damage("absent"));
  EXPECT_NE(store.get("a")->view(), "intact");
  EXPECT_EQ(store.get("b")->view(), "intact");
  EXPECT_EQ(value.view(), "intact");
}

}  // namespace
}  // namespace postrider
