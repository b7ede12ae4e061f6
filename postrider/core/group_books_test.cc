#include "postrider/core/group_books.h"

#include <gtest/gtest.h>

namespace postrider {
namespace {

GroupName name_of(keys::Bucket bucket, std::uint64_t destination,
                  FailureClass cause = FailureClass::kServer) {
  return {bucket, DestinationId(destination), Phase::kDead, cause};
}
GroupBooks::Arrival letter(const GroupName& name, std::int64_t at) {
  return {.name = name,
          .at = Timestamp(at),
          .id = {1, static_cast<std::uint64_t>(at)},
          .reason = "HTTP 500"};
}

// req: engine.dead.4
TEST(GroupBooks, WritesEachChangedGroupOnce) {
  GroupBooks books({}, 10);
  books.add(letter(name_of(1, 5), 100));
  books.add(letter(name_of(1, 5), 90));
  WriteBatch out;
  books.write(out);
  ASSERT_EQ(out.writes().size(), 1U);
  const auto group = decode_group(out.writes()[0].value.view());
  ASSERT_TRUE(group.has_value());
  EXPECT_EQ(group->count, 2U);
  EXPECT_EQ(group->first, Timestamp(90));
  EXPECT_EQ(group->last, Timestamp(100));
  EXPECT_FALSE(books.changed());
  books.take(name_of(1, 5));
  books.take(name_of(1, 5));
  out.clear();
  books.write(out);
  ASSERT_EQ(out.writes().size(), 1U);
  EXPECT_EQ(out.writes()[0].kind, Write::Kind::kRemove);
}

// req: engine.dead.8
TEST(GroupBooks, CountsThoseWithoutPlaceTogetherUntilTheyAreGone) {
  GroupBooks books({}, 1);
  books.add(letter(name_of(1, 5), 100));
  books.add(letter(name_of(1, 6), 100));
  books.take(name_of(1, 5));
  // There is room again, but some of this group may be among the others.
  books.add(letter(name_of(1, 6), 101));
  DeadGroupList list = books.list(std::nullopt);
  EXPECT_EQ(list.others, 2U);
  EXPECT_EQ(list.letters, 2U);
  books.take(name_of(1, 6));
  books.take(name_of(1, 6));
  books.add(letter(name_of(1, 6), 102));
  list = books.list(std::nullopt);
  EXPECT_EQ(list.others, 0U);
  ASSERT_EQ(list.groups.size(), 1U);
  EXPECT_EQ(list.groups[0].count, 1U);
}

// req: engine.dead.4
TEST(GroupBooks, SumsUpBucketsAndShowsTheNewest) {
  GroupBooks books({}, 10);
  books.add(letter(name_of(1, 5), 100));
  books.add(letter(name_of(2, 5), 300));
  books.add(letter(name_of(2, 6), 200));
  const DeadGroupList list = books.list(std::nullopt);
  ASSERT_EQ(list.groups.size(), 2U);
  EXPECT_EQ(list.groups[0].count, 2U);
  EXPECT_EQ(list.groups[0].first, Timestamp(100));
  EXPECT_EQ(list.groups[0].example.low, 300U);
  EXPECT_EQ(books.list(DestinationId(6)).letters, 1U);
}

// req: engine.dead.4
TEST(GroupBooks, DropABucketWithItsLetters) {
  GroupBooks books({}, 10);
  books.add(letter(name_of(1, 5), 100));
  books.add(letter(name_of(2, 5), 100));
  WriteBatch out;
  books.write(out);
  out.clear();
  books.drop_bucket(1, out);
  ASSERT_EQ(out.writes().size(), 1U);
  EXPECT_EQ(out.writes()[0].kind, Write::Kind::kRemoveRange);
  EXPECT_EQ(books.list(std::nullopt).letters, 1U);
}

TEST(GroupBooks, CountWhatNobodyCouldReadApart) {
  GroupBooks books({}, 10);
  books.add(letter(name_of(1, 5), 100));
  books.lose(letter(name_of(1, 5), 200));
  EXPECT_EQ(books.list(std::nullopt).unreadable, 1U);
  EXPECT_EQ(books.letters_in(1), 0U);
  books.add_unknown(3, 7);
  EXPECT_EQ(books.list(std::nullopt).others, 7U);
}

}  // namespace
}  // namespace postrider
