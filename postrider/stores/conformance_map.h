// The checks that every Map must pass. A map's test gives a harness and instantiates the suite:
//
//   struct Harness {
//     Map& map();
//     void open_again();  // as after the end of the process; a map in memory stays as it is
//   };
//   INSTANTIATE_TYPED_TEST_SUITE_P(Memory, MapConformance, Harness);
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "postrider/base/rng.h"
#include "postrider/model/seams/map.h"
#include "postrider/stores/conformance_model.h"

namespace postrider {

// A run with the bytes that it is a view of.
struct OwnedRun {
  std::vector<std::pair<std::string, std::string>> ranges;
  std::map<std::string, std::optional<std::string>> records;
  std::uint64_t last = 0;

  Run run() const {
    Run out;
    out.removed_ranges = ranges;
    for (const auto& [key, value] : records)
      out.records.emplace_back(key, value ? std::optional<std::string_view>(*value) : std::nullopt);
    out.last = GroupNumber(last);
    return out;
  }
  void apply_to(Contents& model) const {
    for (const auto& [first, last_key] : ranges) {
      std::erase_if(model, [&, &end = last_key, &begin = first](const auto& record) {
        return record.first >= begin && record.first < end;
      });
    }
    for (const auto& [key, value] : records) {
      if (value) {
        model[key] = *value;
      } else {
        model.erase(key);
      }
    }
  }
};

template <class Harness>
class MapConformance : public ::testing::Test {
 protected:
  void load(const OwnedRun& run) {
    const auto loaded = harness.map().load(run.run());
    ASSERT_TRUE(loaded.has_value()) << loaded.error().detail;
  }
  std::uint64_t mark() {
    const auto loaded = harness.map().loaded();
    EXPECT_TRUE(loaded.has_value()) << (loaded ? "" : loaded.error().detail);
    return loaded ? loaded->value() : 0;
  }
  Contents contents() {
    const Scan all{std::string(1, '\0'), std::string(1, '\xFF'), 1'000'000};
    const auto found = harness.map().read({.keys = {}, .scans = {all}});
    Contents out;
    EXPECT_TRUE(found.has_value());
    if (!found) return out;
    for (const Row& row : found->scan(all)->rows) out.emplace(row.first, row.second.view());
    return out;
  }
  // Keys of several spaces, because a map may keep these apart.
  OwnedRun draw(Rng& rng, std::uint64_t last) {
    constexpr std::string_view kSpaces = "abehlmsz";
    const auto key = [&] {
      return std::string(1, kSpaces[rng.below(kSpaces.size())]) + std::to_string(rng.below(12));
    };
    OwnedRun out;
    for (std::uint64_t left = rng.below(3); left > 0; --left) out.ranges.emplace_back(key(), key());
    for (std::uint64_t left = rng.below(12); left > 0; --left) {
      std::optional<std::string> value;
      if (rng.below(3) != 0) value = std::to_string(rng.next());
      out.records.insert_or_assign(key(), std::move(value));
    }
    out.last = last;
    return out;
  }

  Harness harness;
};
TYPED_TEST_SUITE_P(MapConformance);

TYPED_TEST_P(MapConformance, BeginsEmptyAndWithoutAMark) {
  EXPECT_EQ(this->mark(), 0U);
  EXPECT_TRUE(this->contents().empty());
}

TYPED_TEST_P(MapConformance, IsTheNaiveModelOverLoadsAndRestarts) {
  Rng rng(7);
  Contents model;
  for (std::uint64_t i = 1; i <= 60; ++i) {
    const OwnedRun run = this->draw(rng, i);
    this->load(run);
    run.apply_to(model);
    if (rng.below(6) == 0) this->harness.open_again();
    ASSERT_EQ(this->contents(), model) << i;
    ASSERT_EQ(this->mark(), i);
  }
}

TYPED_TEST_P(MapConformance, ALoadThatIsRepeatedChangesNothing) {
  Rng rng(8);
  Contents model;
  for (std::uint64_t i = 1; i <= 20; ++i) {
    const OwnedRun run = this->draw(rng, i);
    this->load(run);
    this->load(run);
    run.apply_to(model);
    ASSERT_EQ(this->contents(), model) << i;
  }
}

TYPED_TEST_P(MapConformance, RangesGoBeforeTheRecordsOfTheSameRun) {
  this->load({.ranges = {}, .records = {{"m1", "old"}, {"m5", "old"}}, .last = 1});
  this->load({.ranges = {{"m0", "m9"}, {"m9", "m0"}}, .records = {{"m5", "new"}}, .last = 2});
  EXPECT_EQ(this->contents(), (Contents{{"m5", "new"}}));
}

TYPED_TEST_P(MapConformance, ARunWithoutRecordsMovesTheMark) {
  this->load({.ranges = {}, .records = {}, .last = 9});
  this->harness.open_again();
  EXPECT_EQ(this->mark(), 9U);
  EXPECT_TRUE(this->contents().empty());
}

TYPED_TEST_P(MapConformance, ReadsKeysAndScansBothWaysWithALimit) {
  this->load({.ranges = {}, .records = {{"a1", "1"}, {"h1", "2"}, {"z1", "3"}}, .last = 1});
  const Scan forward{"a", "zz", 2};
  const Scan backward{"a", "zz", 2, false, true};
  const auto found =
      this->harness.map().read({.keys = {"h1", "h2"}, .scans = {forward, backward}});
  ASSERT_TRUE(found.has_value());
  ASSERT_TRUE((*found->get("h1")).has_value());
  EXPECT_EQ((*found->get("h1"))->view(), "2");
  EXPECT_FALSE((*found->get("h2")).has_value());
  const Rows* first = found->scan(forward);
  ASSERT_EQ(first->rows.size(), 2U);
  EXPECT_EQ(first->rows[0].first, "a1");
  EXPECT_FALSE(first->complete);
  const Rows* last = found->scan(backward);
  ASSERT_EQ(last->rows.size(), 2U);
  EXPECT_EQ(last->rows[0].first, "z1");
}

REGISTER_TYPED_TEST_SUITE_P(MapConformance, BeginsEmptyAndWithoutAMark,
                            IsTheNaiveModelOverLoadsAndRestarts,
                            ALoadThatIsRepeatedChangesNothing,
                            RangesGoBeforeTheRecordsOfTheSameRun, ARunWithoutRecordsMovesTheMark,
                            ReadsKeysAndScansBothWaysWithALimit);

}  // namespace postrider
