// What an event sees: the open turn's writes, the batch in commit, the store; for keys and ranges
// alike.
#include "postrider/shard/view.h"

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "postrider/base/rng.h"
#include "postrider/stores/conformance_model.h"
#include "postrider/stores/memory.h"

namespace postrider {
namespace {

using RowsSeen = std::vector<std::pair<std::string, std::string>>;

// A store, batches in commit and an open turn, and beside them one plain map that got everything at
// once.
class ViewModel {
 public:
  ViewModel() : epoch_(*store_.acquire(0)) {}

  void write(const WriteBatch& batch) {
    apply_to(truth_, batch);
    for (const Write& write : batch.writes()) append(open_, write);
  }
  void commit() {
    auto batch = std::make_shared<const WriteBatch>(std::exchange(open_, {}));
    in_commit_.push_back(batch);
    view_.commit(batch);
  }
  void durable() {
    store_.commit(epoch_, in_commit_.front(),
                  [](CommitOutcome outcome) { ASSERT_EQ(outcome, CommitOutcome::kDurable); });
    in_commit_.erase(in_commit_.begin());
    view_.durable();
  }
  std::size_t in_commit() const { return in_commit_.size(); }

  struct Asked {
    std::uint64_t number;
    Reads reads;
    Found found;  // as the store answered at that time
  };
  Asked ask(const Reads& reads) {
    Asked out{view_.begin_read(), reads, {}};
    store_.read(reads, [&](Result<Found> found) {
      if (found) out.found = std::move(*found);
    });
    return out;
  }
  Found look(const Asked& asked) { return view_.look(asked.found, asked.reads, open_); }
  View& view() { return view_; }
  const Contents& truth() const { return truth_; }

  std::optional<std::string> get(const std::string& key) {
    const Asked asked = ask({.keys = {key}, .scans = {}});
    return value(look(asked), key);
  }
  static std::optional<std::string> value(const Found& found, const std::string& key) {
    const std::optional<Blob>* seen = found.get(key);
    EXPECT_NE(seen, nullptr) << key;
    if (seen == nullptr || !seen->has_value()) return std::nullopt;
    return std::string((*seen)->view());
  }
  static Rows page(const Found& found, const Scan& scan) {
    if (const Rows* seen = found.scan(scan)) return *seen;
    ADD_FAILURE() << "the range was not answered";
    return {};
  }
  static RowsSeen rows(const Rows& page) {
    RowsSeen out;
    for (const Row& row : page.rows) out.emplace_back(row.first, row.second.view());
    return out;
  }

 private:
  static void append(WriteBatch& batch, const Write& write) {
    switch (write.kind) {
      case Write::Kind::kPutOnce: return batch.put_once(write.key, write.value);
      case Write::Kind::kRemoveOnce: return batch.remove_once(write.key);
      case Write::Kind::kPut: return batch.put(write.key, write.value);
      case Write::Kind::kRemove: return batch.remove(write.key);
      case Write::Kind::kRemoveRange: return batch.remove_range(write.key, write.last);
    }
  }

  MemoryStore store_;
  Epoch epoch_;
  View view_;
  WriteBatch open_;
  std::vector<std::shared_ptr<const WriteBatch>> in_commit_;
  Contents truth_;
};

WriteBatch put(const std::string& key, std::string_view value) {
  WriteBatch batch;
  batch.put(key, value);
  return batch;
}

TEST(View, TheOpenTurnHidesTheBatchInCommitHidesTheStore) {  // req: engine.view.1
  ViewModel model;
  model.write(put("key", "store"));
  model.commit();
  model.durable();
  EXPECT_EQ(model.get("key"), "store");
  model.write(put("key", "commit"));
  model.commit();
  EXPECT_EQ(model.get("key"), "commit");
  model.write(put("key", "open"));
  EXPECT_EQ(model.get("key"), "open");
  WriteBatch removal;
  removal.remove("key");
  model.write(removal);
  EXPECT_EQ(model.get("key"), std::nullopt);
}

TEST(View, RemovedRangesHideWhatLiesBelowAndNotWhatCameAfter) {  // req: engine.view.2
  ViewModel model;
  for (const char* key : {"a", "b", "c"}) model.write(put(key, "old"));
  model.commit();
  model.durable();
  WriteBatch batch;
  batch.remove_range("a", "c");
  batch.put("b", "new");
  model.write(batch);
  const Scan all{"a", "z", 10};
  const Found found = model.look(model.ask({.keys = {"a", "b"}, .scans = {all}}));
  EXPECT_EQ(ViewModel::value(found, "a"), std::nullopt);
  EXPECT_EQ(ViewModel::value(found, "b"), "new");
  EXPECT_EQ(ViewModel::rows(ViewModel::page(found, all)), (RowsSeen{{"b", "new"}, {"c", "old"}}));
}

TEST(View, ABatchStaysUntilNoReadFromBeforeItsDurabilityIsLeft) {  // req: engine.view.3
  ViewModel model;
  model.write(put("key", "new"));
  model.commit();
  const auto early = model.ask({.keys = {"key"}, .scans = {}});
  model.durable();
  model.view().forget_before(early.number);
  EXPECT_EQ(ViewModel::value(model.look(early), "key"), "new");
  model.view().forget_before(0);
  EXPECT_EQ(model.view().layers(), 0U);
}

// The store cut its answer at the limit; what lies above removes some of it, and puts others in.
// The event must not believe that it has seen the whole range.
TEST(View, ALimitedRangeIsTheFirstPartOfTheMergedOne) {  // req: engine.view.4
  ViewModel model;
  for (const char* key : {"b", "d", "f", "h"}) model.write(put(key, "store"));
  model.commit();
  model.durable();
  WriteBatch above;
  above.remove("b");
  above.put("c", "above");
  above.put("g", "above");
  model.write(above);
  const Scan two{"a", "z", 2};
  const Found found = model.look(model.ask({.keys = {}, .scans = {two}}));
  const Rows page = ViewModel::page(found, two);
  EXPECT_FALSE(page.complete);
  EXPECT_EQ(ViewModel::rows(page), (RowsSeen{{"c", "above"}, {"d", "store"}}));
  EXPECT_GT(page.next, "d");
  EXPECT_LE(page.next, "f");
}

TEST(View, ARangeFromItsEndIsTheLastPartOfTheMergedOne) {  // req: engine.view.4
  ViewModel model;
  for (const char* key : {"b", "d", "f", "h"}) model.write(put(key, "store"));
  model.commit();
  model.durable();
  WriteBatch above;
  above.remove("h");
  above.put("c", "above");
  above.put("g", "above");
  model.write(above);
  const Scan two{"a", "z", 2, false, true};
  const Found found = model.look(model.ask({.keys = {}, .scans = {two}}));
  const Rows page = ViewModel::page(found, two);
  EXPECT_FALSE(page.complete);
  EXPECT_EQ(ViewModel::rows(page), (RowsSeen{{"g", "above"}, {"f", "store"}}));
  EXPECT_GT(page.next, "d");
  EXPECT_LE(page.next, "f");
}

class RandomViews : public ::testing::TestWithParam<int> {};

// The rows that are told are all that the truth has up to the end of the range, or up to where the
// page goes on.
void expect_truth(const ViewModel& model, const Found& found, const Scan& scan) {
  const Rows page = ViewModel::page(found, scan);
  const std::string& end = page.complete || scan.backward ? scan.last : page.next;
  const std::string& begin = page.complete || !scan.backward ? scan.first : page.next;
  std::vector<std::pair<std::string, std::string>> expected;
  for (auto record = model.truth().lower_bound(begin);
       record != model.truth().end() && record->first < end; ++record) {
    expected.emplace_back(*record);
  }
  if (scan.backward) std::reverse(expected.begin(), expected.end());
  EXPECT_EQ(ViewModel::rows(page), expected);
  EXPECT_LE(page.rows.size(), scan.limit);
  if (!page.complete) {
    if (scan.backward) {
      EXPECT_LT(page.next, scan.last) << "nobody could go on";
    } else {
      EXPECT_GT(page.next, scan.first) << "nobody could go on";
    }
  }
}

TEST_P(RandomViews,
       ShowTheTruth) {  // req: engine.view.1, engine.view.2, engine.view.3, engine.view.4
  BatchMaker maker(static_cast<std::uint64_t>(GetParam()));
  Rng& rng = maker.rng();
  ViewModel model;
  std::vector<ViewModel::Asked> open_reads;
  for (int i = 0; i < 400; ++i) {
    switch (rng.below(6)) {
      case 0:
      case 1: model.write(maker.make(model.truth())); break;
      case 2:
        if (model.in_commit() == 0) model.commit();
        break;
      case 3:
        if (model.in_commit() > 0) model.durable();
        break;
      case 4: {
        Reads reads;
        reads.keys = {"p" + std::to_string(rng.below(20))};
        reads.scans = {{"p" + std::to_string(rng.below(20)), "q",
                        static_cast<std::uint32_t>(1 + rng.below(5))},
                       {"o", "p", static_cast<std::uint32_t>(1 + rng.below(50))},
                       {"o", "p" + std::to_string(rng.below(20)),
                        static_cast<std::uint32_t>(1 + rng.below(5)), false, true}};
        open_reads.push_back(model.ask(reads));
        break;
      }
      default: {
        if (open_reads.empty()) break;
        const std::size_t which = rng.below(open_reads.size());
        const ViewModel::Asked asked = open_reads[which];
        const Found found = model.look(asked);
        const std::string& key = asked.reads.keys[0];
        const auto truth = model.truth().find(key);
        EXPECT_EQ(ViewModel::value(found, key),
                  truth == model.truth().end() ? std::nullopt : std::optional(truth->second));
        for (const Scan& scan : asked.reads.scans) expect_truth(model, found, scan);
        open_reads.erase(open_reads.begin() + static_cast<std::ptrdiff_t>(which));
        model.view().forget_before(open_reads.empty() ? 0 : open_reads.front().number);
        break;
      }
    }
    if (HasFatalFailure()) return;
  }
}
INSTANTIATE_TEST_SUITE_P(Seeds, RandomViews, ::testing::Range(1, 41));

}  // namespace
}  // namespace postrider
