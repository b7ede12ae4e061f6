#include "postrider/profiles/device/table.h"

#include <set>

#include <gtest/gtest.h>

#include "postrider/base/durations.h"
#include "postrider/model/spec_tables_testing.h"
#include "postrider/profiles/device/rules.h"

namespace postrider::device {
namespace {

const SpecTables& document() {
  static const SpecTables kTables = read_spec_tables("docs/spec/device.md");
  return kTables;
}

// req: device.st.1
TEST(DeviceTable, StatesAreThoseOfTheDocument) {
  const auto expected = find_table(document(), "States");
  ASSERT_TRUE(expected.has_value());
  EXPECT_EQ(compare_states(*expected, kStates), Differences());
  std::set<std::string_view> words;
  for (std::size_t row = 0; row < expected->rows.size(); ++row) {
    const auto state = static_cast<StateIndex>(row);
    const std::string want = expected->cell(row, "shown");
    EXPECT_EQ(shown(state), want == "-" ? "" : want) << kStates[row].name;
    if (!shown(state).empty()) words.insert(shown(state));
  }
  EXPECT_EQ(words.size(), 7U);
}

// req: device.to.1
TEST(DeviceTable, TimeOutsAreThoseOfTheDocument) {
  const auto expected = find_table(document(), "States");
  ASSERT_TRUE(expected.has_value());
  const Policy push = default_policy(Way::kPush);
  const Policy pull = default_policy(Way::kPull);
  for (std::size_t row = 0; row < expected->rows.size(); ++row) {
    const std::string after = expected->cell(row, "after");
    if (after == "-" || after == "next poll" || after == "back-off") continue;
    const auto want = parse_duration(after);
    ASSERT_TRUE(want.has_value()) << after;
    const Policy& policy = expected->cell(row, "methods") == "pull" ? pull : push;
    EXPECT_EQ(policy.time_out(kStates[row].timer), *want) << kStates[row].name;
  }
}

// req: device.st.3, device.st.7
TEST(DeviceTable, EveryCellIsThatOfTheDocument) {
  ASSERT_EQ(kMethods.size(), 6U);
  for (const Method& method : kMethods) {
    const auto expected = find_table(document(), "Transitions of " + std::string(method.name));
    ASSERT_TRUE(expected.has_value()) << method.name;
    EXPECT_EQ(compare_transitions(*expected, kStates, method), Differences()) << method.name;
  }
}

// req: device.st.3
TEST(DeviceTable, HasAsManyPairsAsTheSourceCounts) {
  const auto pairs = [](std::string_view method) {
    const auto table = find_table(document(), "Transitions of " + std::string(method));
    return table ? table->rows.size() * (table->columns.size() - 1) : 0;
  };
  EXPECT_EQ(pairs("push-free"), 91U);
  EXPECT_EQ(pairs("push-closed"), 117U);
  EXPECT_EQ(pairs("push-never"), 117U);
  EXPECT_EQ(pairs("pull-free"), 50U);
  EXPECT_EQ(pairs("pull-closed"), 50U);
  EXPECT_EQ(pairs("mint"), 24U);
}

// A comparison is worth nothing unless each single change is found.
TEST(DeviceTable, AnyChangeOfACellIsFound) {
  for (const Method& method : kMethods) {
    const auto expected = find_table(document(), "Transitions of " + std::string(method.name));
    ASSERT_TRUE(expected.has_value());
    for (std::size_t row = 0; row < expected->rows.size(); ++row) {
      for (std::size_t column = 1; column < expected->columns.size(); ++column) {
        SpecTable changed = *expected;
        std::string& cell = changed.rows[row][column];
        cell = cell == "·" ? "Failed/dead-letter" : "·";
        EXPECT_FALSE(compare_transitions(changed, kStates, method).empty());
      }
    }
  }
}

// req: device.st.2
TEST(DeviceTable, PullNeverShowsSentToDevice) {
  for (const std::size_t method : {3U, 4U}) {
    for (const Transition& row : kMethods[method].rows) {
      if (row.verb == Do::kIgnore) continue;
      EXPECT_NE(shown(row.to), "SENT_TO_DEVICE");
    }
  }
}

// req: device.can.1
TEST(DeviceTable, CancelMovesOnlyWhatWaits) {
  for (const Method& method : kMethods) {
    for (const Transition& row : method.rows) {
      if (row.on != On::kCancelled) continue;
      EXPECT_EQ(row.verb == Do::kDrop, row.from == kWaiting);
    }
  }
}

}  // namespace
}  // namespace postrider::device
