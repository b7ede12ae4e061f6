// The checks that every Store must pass. A store's test gives a harness and instantiates the suite:
//
//   struct MemoryHarness {
//     Store& store();
//     void settle();   // lets everything that was asked finish, without faults
//   };
//   INSTANTIATE_TYPED_TEST_SUITE_P(Memory, StoreConformance, MemoryHarness);
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "postrider/model/seams/store.h"
#include "postrider/stores/conformance_model.h"

namespace postrider {

struct Scanned {
  std::vector<std::string> keys;
  bool complete = false;
  friend bool operator==(const Scanned&, const Scanned&) = default;
};

template <class Harness>
class StoreConformance : public ::testing::Test {
 protected:
  StoreConformance() : first_epoch(acquire()) {}

  Epoch acquire() {
    const auto epoch = harness.store().acquire(0);
    return epoch ? *epoch : Epoch();
  }
  CommitOutcome commit_as(Epoch epoch, WriteBatch batch) {
    std::optional<CommitOutcome> outcome;
    harness.store().commit(epoch, std::make_shared<const WriteBatch>(std::move(batch)),
                           [&](CommitOutcome told) { outcome = told; });
    harness.settle();
    EXPECT_TRUE(outcome.has_value()) << "the store never answered a commit";
    return outcome.value_or(CommitOutcome::kAmbiguous);
  }
  CommitOutcome commit(WriteBatch batch) { return commit_as(first_epoch, std::move(batch)); }
  void put(std::string key, std::string_view value) {
    WriteBatch batch;
    batch.put(std::move(key), value);
    ASSERT_EQ(commit(std::move(batch)), CommitOutcome::kDurable);
  }

  Found read(const Reads& reads) {
    Found out;
    bool answered = false;
    harness.store().read(reads, [&](Result<Found> found) {
      answered = true;
      EXPECT_TRUE(found.has_value());
      if (found) out = std::move(*found);
    });
    harness.settle();
    EXPECT_TRUE(answered) << "the store never answered a read";
    return out;
  }
  std::optional<std::string> get(const std::string& key) {
    const Found found = read({.keys = {key}, .scans = {}});
    const std::optional<Blob>* value = found.get(key);
    EXPECT_NE(value, nullptr) << key << " was asked for and not answered";
    if (value == nullptr || !value->has_value()) return std::nullopt;
    return std::string((*value)->view());
  }
  Scanned scan(std::string first, std::string last, std::uint32_t limit, bool backward = false) {
    const Scan asked{std::move(first), std::move(last), limit, false, backward};
    const Found found = read({.keys = {}, .scans = {asked}});
    const Rows* rows = found.scan(asked);
    EXPECT_NE(rows, nullptr) << "the range was asked for and not answered";
    if (rows == nullptr) return {};
    Scanned out;
    for (const Row& row : rows->rows) out.keys.push_back(row.first);
    out.complete = rows->complete;
    return out;
  }
  Contents contents() {
    const Scan all{std::string(1, '\0'), std::string(1, '\xFF'), 1'000'000};
    const Found found = read({.keys = {}, .scans = {all}});
    Contents out;
    const Rows* rows = found.scan(all);
    EXPECT_NE(rows, nullptr);
    if (rows == nullptr) return out;
    for (const Row& row : rows->rows) out.emplace(row.first, row.second.view());
    return out;
  }

  Harness harness;
  Epoch first_epoch;
};

TYPED_TEST_SUITE_P(StoreConformance);

TYPED_TEST_P(StoreConformance, BatchIsThereAsAWhole) {  // req: engine.store.1
  WriteBatch batch;
  batch.put("a", "1");
  batch.put_once("b", Blob::copy_of("2"));
  batch.remove("c");
  EXPECT_EQ(this->commit(std::move(batch)), CommitOutcome::kDurable);
  EXPECT_EQ(this->contents(), (Contents{{"a", "1"}, {"b", "2"}}));
}

TYPED_TEST_P(StoreConformance, BatchesTakeEffectInTheOrderOfTheCalls) {  // req: engine.store.2
  std::vector<int> done;
  for (int i = 0; i < 5; ++i) {
    auto batch = std::make_shared<WriteBatch>();
    batch->put("counter", std::to_string(i));
    this->harness.store().commit(this->first_epoch, batch, [&done, i](CommitOutcome outcome) {
      EXPECT_EQ(outcome, CommitOutcome::kDurable);
      done.push_back(i);
    });
  }
  this->harness.settle();
  EXPECT_EQ(done, (std::vector<int>{0, 1, 2, 3, 4}));
  EXPECT_EQ(this->get("counter"), "4");
}

TYPED_TEST_P(StoreConformance, LaterWritesOfABatchWin) {  // req: engine.store.3
  WriteBatch batch;
  batch.put("rewritten", "old");
  batch.put("rewritten", "new");
  batch.put("removed", "old");
  batch.remove("removed");
  batch.put("range.1", "old");
  batch.put("range.2", "old");
  batch.remove_range("range.", "range/");
  batch.put("range.2", "new");
  batch.put_once("passing", Blob::copy_of("x"));
  batch.remove_once("passing");
  EXPECT_EQ(this->commit(std::move(batch)), CommitOutcome::kDurable);
  EXPECT_EQ(this->contents(), (Contents{{"range.2", "new"}, {"rewritten", "new"}}));

  WriteBatch plain;  // a store may treat batches without ranges otherwise
  plain.put("rewritten", "newer");
  plain.put("second", "old");
  plain.put_once("passing.2", Blob::copy_of("x"));
  plain.remove("rewritten");
  plain.put("second", "new");
  plain.put("a", "1");
  plain.remove_once("passing.2");
  plain.put("rewritten", "newest");
  EXPECT_EQ(this->commit(std::move(plain)), CommitOutcome::kDurable);
  EXPECT_EQ(this->contents(),
            (Contents{{"a", "1"}, {"range.2", "new"}, {"rewritten", "newest"}, {"second", "new"}}));
}

TYPED_TEST_P(StoreConformance, ScanGivesItsRangeInOrder) {  // req: engine.store.4
  for (const char* key : {"d", "a", "c", "b", "bb"}) this->put(key, "x");
  EXPECT_EQ(this->scan("b", "d", 10), (Scanned{{"b", "bb", "c"}, true}));
  EXPECT_EQ(this->scan("", "zz", 10), (Scanned{{"a", "b", "bb", "c", "d"}, true}));
  EXPECT_EQ(this->scan("b", "b", 10), (Scanned{{}, true}));
  EXPECT_EQ(this->scan("d", "b", 10), (Scanned{{}, true}));
  EXPECT_EQ(this->scan("ba", "bb", 10), (Scanned{{}, true}));
}

TYPED_TEST_P(StoreConformance, KeysSortAsUnsignedBytes) {  // req: engine.store.4
  const std::string low("k\x01", 2);
  const std::string high("k\xFE", 2);
  const std::string zero("k\0z", 3);
  for (const std::string& key : {high, low, zero}) this->put(key, "x");
  EXPECT_EQ(this->scan("k", "l", 10), (Scanned{{zero, low, high}, true}));
}

TYPED_TEST_P(StoreConformance, ScanBackwardGivesTheSameFromTheEnd) {  // req: engine.store.21
  for (const char* key : {"a", "b", "bb", "c", "d"}) this->put(key, "x");
  EXPECT_EQ(this->scan("b", "d", 10, true), (Scanned{{"c", "bb", "b"}, true}));
  EXPECT_EQ(this->scan("", "zz", 10, true), (Scanned{{"d", "c", "bb", "b", "a"}, true}));
  EXPECT_EQ(this->scan("b", "b", 10, true), (Scanned{{}, true}));
  EXPECT_EQ(this->scan("d", "b", 10, true), (Scanned{{}, true}));
  EXPECT_EQ(this->scan("ba", "bb", 10, true), (Scanned{{}, true}));
  EXPECT_EQ(this->scan("a", "z", 4, true), (Scanned{{"d", "c", "bb", "b"}, false}));
  EXPECT_EQ(this->scan("a", "z", 5, true), (Scanned{{"d", "c", "bb", "b", "a"}, true}));
  EXPECT_EQ(this->scan("b", "z", 4, true), (Scanned{{"d", "c", "bb", "b"}, true}));
}

TYPED_TEST_P(StoreConformance, ScanKeepsItsLimitAndSaysWhetherThereIsMore) {  // req: engine.store.5
  for (const char* key : {"a", "b", "c"}) this->put(key, "x");
  EXPECT_EQ(this->scan("a", "z", 2), (Scanned{{"a", "b"}, false}));
  EXPECT_EQ(this->scan("a", "z", 3), (Scanned{{"a", "b", "c"}, true}));
  EXPECT_EQ(this->scan("a", "c", 2), (Scanned{{"a", "b"}, true}));
}

TYPED_TEST_P(StoreConformance, RemoveRangeRemovesExactlyItsRange) {  // req: engine.store.6
  for (const char* key : {"a", "b", "bz", "c", "d"}) this->put(key, "x");
  WriteBatch batch;
  batch.remove_range("b", "c");
  EXPECT_EQ(this->commit(std::move(batch)), CommitOutcome::kDurable);
  EXPECT_EQ(this->contents(), (Contents{{"a", "x"}, {"c", "x"}, {"d", "x"}}));
}

TYPED_TEST_P(StoreConformance,
             RemoveRangeOfAnEmptyOrReversedRangeRemovesNothing) {  // req: engine.store.6
  for (const char* key : {"a", "b", "c"}) this->put(key, "x");
  WriteBatch batch;
  batch.remove_range("b", "b");
  batch.remove_range("c", "a");
  EXPECT_EQ(this->commit(std::move(batch)), CommitOutcome::kDurable);
  EXPECT_EQ(this->contents().size(), 3U);
}

TYPED_TEST_P(StoreConformance, RemoveRangeTakesOnceRecordsToo) {  // req: engine.store.6
  WriteBatch puts;
  puts.put_once("log.1", Blob::copy_of("x"));
  puts.put_once("log.2", Blob::copy_of("x"));
  EXPECT_EQ(this->commit(std::move(puts)), CommitOutcome::kDurable);
  WriteBatch removes;
  removes.remove_range("log.", "log.2");
  EXPECT_EQ(this->commit(std::move(removes)), CommitOutcome::kDurable);
  EXPECT_EQ(this->contents(), (Contents{{"log.2", "x"}}));
}

TYPED_TEST_P(StoreConformance, ReadAnswersEverythingThatWasAsked) {  // req: engine.store.7
  this->put("a", "1");
  this->put("b", "2");
  const Scan empty{"x", "y", 5};
  const Scan full{"a", "c", 5};
  const Found found = this->read({.keys = {"b", "missing", "a"}, .scans = {empty, full}});
  for (const char* key : {"a", "b", "missing"}) EXPECT_NE(found.get(key), nullptr) << key;
  EXPECT_EQ(found.get("never asked"), nullptr);
  const Rows* none = found.scan(empty);
  const Rows* both = found.scan(full);
  ASSERT_TRUE(none != nullptr && both != nullptr);
  EXPECT_EQ(none->rows.size(), 0U);
  EXPECT_EQ(both->rows.size(), 2U);
}

TYPED_TEST_P(StoreConformance, ReadSeesWhatIsDurable) {  // req: engine.store.7
  for (int i = 0; i < 20; ++i) {
    this->put("key", std::to_string(i));
    EXPECT_EQ(this->get("key"), std::to_string(i));
  }
}

TYPED_TEST_P(StoreConformance, AbsentIsNotEmpty) {  // req: engine.store.8
  this->put("empty", "");
  EXPECT_EQ(this->get("empty"), "");
  EXPECT_EQ(this->get("absent"), std::nullopt);
}

TYPED_TEST_P(StoreConformance, EveryEpochIsNew) {  // req: engine.store.9
  std::vector<std::uint64_t> epochs{this->first_epoch.value()};
  for (int i = 0; i < 5; ++i) epochs.push_back(this->acquire().value());
  for (std::size_t i = 1; i < epochs.size(); ++i) EXPECT_GT(epochs[i], epochs[i - 1]);
  EXPECT_GT(epochs[0], 0U);
}

TYPED_TEST_P(StoreConformance,
             CommitOfAnEarlierOwnerFailsAndWritesNothing) {  // req: engine.store.9
  this->put("key", "first owner");
  const Epoch newer = this->acquire();
  WriteBatch late;
  late.put("key", "too late");
  EXPECT_EQ(this->commit_as(this->first_epoch, std::move(late)), CommitOutcome::kFailed);
  EXPECT_EQ(this->get("key"), "first owner");
  WriteBatch rightful;
  rightful.put("key", "second owner");
  EXPECT_EQ(this->commit_as(newer, std::move(rightful)), CommitOutcome::kDurable);
  EXPECT_EQ(this->get("key"), "second owner");
}

TYPED_TEST_P(StoreConformance, RandomBatchesEndAsTheNaiveModelSays) {  // req: engine.store.3
  BatchMaker maker(7);
  Contents model;
  for (int i = 0; i < 500; ++i) {
    WriteBatch batch = maker.make(model);
    apply_to(model, batch);
    ASSERT_EQ(this->commit(std::move(batch)), CommitOutcome::kDurable);
    if (i % 25 == 0) {
      ASSERT_EQ(this->contents(), model);
    }
  }
  EXPECT_EQ(this->contents(), model);
}

REGISTER_TYPED_TEST_SUITE_P(StoreConformance, BatchIsThereAsAWhole,
                            BatchesTakeEffectInTheOrderOfTheCalls, LaterWritesOfABatchWin,
                            ScanGivesItsRangeInOrder, ScanBackwardGivesTheSameFromTheEnd,
                            KeysSortAsUnsignedBytes, ScanKeepsItsLimitAndSaysWhetherThereIsMore,
                            RemoveRangeRemovesExactlyItsRange,
                            RemoveRangeOfAnEmptyOrReversedRangeRemovesNothing,
                            RemoveRangeTakesOnceRecordsToo, ReadAnswersEverythingThatWasAsked,
                            ReadSeesWhatIsDurable, AbsentIsNotEmpty, EveryEpochIsNew,
                            CommitOfAnEarlierOwnerFailsAndWritesNothing,
                            RandomBatchesEndAsTheNaiveModelSays);

}  // namespace postrider
