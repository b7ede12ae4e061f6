#include "postrider/core/books/recent_names.h"

#include <gtest/gtest.h>

namespace postrider {
namespace {

NameEntry given(std::int64_t at) {
  NameEntry entry;
  entry.at = Timestamp(at);
  entry.holders.push_back({MessageId{1, static_cast<std::uint64_t>(at)}, 0});
  return entry;
}

TEST(RecentNames, HaveTheLastOnesAndSaySinceWhenTheyAreComplete) {
  RecentNames names(2, Timestamp(50));
  EXPECT_EQ(names.complete_since(), Timestamp(50));
  EXPECT_EQ(names.find("a"), nullptr);
  names.put("a", given(100));
  names.put("b", given(200));
  ASSERT_NE(names.find("a"), nullptr);
  EXPECT_EQ(names.find("a")->at, Timestamp(100));
  EXPECT_EQ(names.complete_since(), Timestamp(50)) << "nobody had to go";
  names.put("c", given(300));
  EXPECT_EQ(names.find("a"), nullptr);
  EXPECT_NE(names.find("b"), nullptr);
  EXPECT_NE(names.find("c"), nullptr);
  EXPECT_EQ(names.complete_since(), Timestamp(101)) << "just behind the one that went";
  names.put("d", given(400));
  EXPECT_EQ(names.find("b"), nullptr);
  EXPECT_EQ(names.complete_since(), Timestamp(201));
}

TEST(RecentNames, OneThatWasGivenAgainStaysForItsSecondTime) {
  RecentNames names(2, Timestamp(0));
  names.put("a", given(100));
  names.put("a", given(200));
  names.put("b", given(300));  // the first time of `a` goes
  ASSERT_NE(names.find("a"), nullptr);
  EXPECT_EQ(names.find("a")->at, Timestamp(200));
  names.put("c", given(400));
  EXPECT_EQ(names.find("a"), nullptr);
  EXPECT_EQ(names.complete_since(), Timestamp(201));
}

TEST(RecentNames, ThatMayHoldNothingKnowThoseOfTheInstant) {
  RecentNames names(0, Timestamp(50));
  names.put("a", given(100));
  names.put("b", given(100));
  EXPECT_NE(names.find("a"), nullptr);
  EXPECT_NE(names.find("b"), nullptr);
  EXPECT_EQ(names.complete_since(), Timestamp(50));
  names.put("c", given(101));
  EXPECT_EQ(names.find("a"), nullptr);
  EXPECT_EQ(names.find("b"), nullptr);
  EXPECT_NE(names.find("c"), nullptr);
  EXPECT_EQ(names.complete_since(), Timestamp(101));
  RecentNames one(1, Timestamp(50));
  one.put("a", given(100));
  EXPECT_NE(one.find("a"), nullptr);
  EXPECT_EQ(one.complete_since(), Timestamp(50));
}

}  // namespace
}  // namespace postrider
