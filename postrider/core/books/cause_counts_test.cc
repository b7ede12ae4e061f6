#include "postrider/core/books/cause_counts.h"

#include <algorithm>
#include <vector>

#include <gtest/gtest.h>

namespace postrider {
namespace {

GroupName name_of(keys::Bucket bucket, std::uint64_t destination,
                  FailureClass cause = FailureClass::kServer) {
  return {bucket, DestinationId(destination), Phase::kDead, cause};
}
CauseCounts::Arrival letter(const GroupName& name, std::int64_t at) {
  return {.name = name,
          .at = Timestamp(at),
          .id = {1, static_cast<std::uint64_t>(at)},
          .reason = "HTTP 500"};
}

// req: engine.dead.4
TEST(CauseCounts, WritesEachChangedGroupOnce) {
  CauseCounts books({}, 10);
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
TEST(CauseCounts, CountsThoseWithoutPlaceTogetherUntilTheyAreGone) {
  CauseCounts books({}, 1);
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
TEST(CauseCounts, SumsUpBucketsAndShowsTheNewest) {
  CauseCounts books({}, 10);
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
TEST(CauseCounts, DropABucketWithItsLetters) {
  CauseCounts books({}, 10);
  books.add(letter(name_of(1, 5), 100));
  books.add(letter(name_of(2, 5), 100));
  WriteBatch out;
  books.write(out);
  out.clear();
  books.drop_bucket(1, out);
  ASSERT_EQ(out.writes().size(), 1U);
  EXPECT_EQ(out.writes()[0].kind, Write::Kind::kRemoveRange);
  EXPECT_EQ(out.writes()[0].key, keys::bucket(keys::kGroup, 1));
  EXPECT_EQ(out.writes()[0].last, keys::bucket(keys::kGroup, 2));
  EXPECT_EQ(books.list(std::nullopt).letters, 1U);
}

TEST(CauseCounts, CountWhatNobodyCouldReadApart) {
  CauseCounts books({}, 10);
  books.add(letter(name_of(1, 5), 100));
  WriteBatch out;
  books.write(out);
  EXPECT_FALSE(books.changed());
  books.lose(letter(name_of(1, 5), 200));
  EXPECT_TRUE(books.changed());
  EXPECT_EQ(books.list(std::nullopt).unreadable, 1U);
  EXPECT_EQ(books.letters_in(1), 0U);
  books.add_unknown(3, 7);
  EXPECT_EQ(books.list(std::nullopt).others, 7U);
}

// req: engine.dead.4
TEST(CauseCounts, ShowsFirstLastAndNewestExampleWhateverTheOrder) {
  CauseCounts books({}, 10);
  books.add(letter(name_of(1, 5), 300));
  books.add(letter(name_of(1, 5), 100));
  books.add(letter(name_of(1, 5), 200));
  DeadGroupList list = books.list(std::nullopt);
  ASSERT_EQ(list.groups.size(), 1U);
  EXPECT_EQ(list.groups[0].first, Timestamp(100));
  EXPECT_EQ(list.groups[0].last, Timestamp(300));
  EXPECT_EQ(list.groups[0].example.low, 200U) << "the one that came last";
  // Of two buckets whose last ones are of the same time the later bucket has the example.
  CauseCounts two({}, 10);
  CauseCounts::Arrival early = letter(name_of(1, 5), 100);
  CauseCounts::Arrival late = letter(name_of(2, 5), 100);
  late.id = {1, 7};
  late.reason = "HTTP 502";
  two.add(early);
  two.add(late);
  list = two.list(std::nullopt);
  ASSERT_EQ(list.groups.size(), 1U);
  EXPECT_EQ(list.groups[0].example.low, 7U);
  EXPECT_EQ(list.groups[0].reason, "HTTP 502");
  EXPECT_EQ(list.groups[0].first, Timestamp(100));
}

// req: engine.dead.4
TEST(CauseCounts, ListsTheLargestFirstAndEqualOnesByDestination) {
  CauseCounts books({}, 10);
  for (const std::uint64_t destination : {9U, 8U, 7U, 7U, 6U, 6U, 6U})
    books.add(letter(name_of(1, destination), 100));
  std::vector<std::uint64_t> order;
  for (const DeadGroup& group : books.list(std::nullopt).groups) order.push_back(group.id.value());
  EXPECT_EQ(order, (std::vector<std::uint64_t>{6, 7, 8, 9}));
}

// req: engine.dead.8
TEST(CauseCounts, HasAsManyGroupsAsTheLimitSaysAndOneAtLeast) {
  for (const std::size_t most : {0U, 1U, 2U, 3U}) {
    CauseCounts books({}, most);
    for (const std::uint64_t destination : {5U, 6U, 7U})
      books.add(letter(name_of(1, destination), 100));
    const std::size_t expected = std::max<std::size_t>(1, most);
    EXPECT_EQ(books.list(std::nullopt).groups.size(), expected);
    EXPECT_EQ(books.list(std::nullopt).others, 3 - expected);
    books.add(letter(name_of(1, 5), 101));
    EXPECT_EQ(books.list(std::nullopt).others, 3 - expected) << "one that is there goes on";
  }
}

TEST(CauseCounts, TellsTheSumsByCause) {
  CauseCounts books({}, 2);
  books.add(letter(name_of(1, 5), 100));
  books.add(letter(name_of(0, 5), 100));  // parked
  books.add(letter(name_of(1, 6), 100));  // has no place
  books.lose(letter(name_of(1, 5), 200));
  Stats stats;
  books.tell(stats);
  EXPECT_EQ(stats.dead_letters[static_cast<std::size_t>(FailureClass::kServer)], 1U);
  EXPECT_EQ(stats.parked, 1U);
  EXPECT_EQ(stats.dead_letters_ungrouped, 1U);
  EXPECT_EQ(stats.dead_groups, 4U);
}

TEST(CauseCounts, KnowsHowManyLettersABucketHas) {
  CauseCounts books({}, 10);
  books.add(letter(name_of(2, 5), 100));
  books.add(letter(name_of(2, 6), 100));
  books.add(letter(name_of(3, 6), 100));
  EXPECT_EQ(books.letters_in(1), 0U);
  EXPECT_EQ(books.letters_in(2), 2U);
  EXPECT_EQ(books.letters_in(3), 1U);
  books.lose(letter(name_of(2, 5), 200));
  books.lose(letter(name_of(2, 5), 300));
  EXPECT_EQ(books.letters_in(2), 0U);
  books.lose(letter(name_of(2, 5), 300));
  EXPECT_EQ(books.letters_in(2), 0U);
  WriteBatch out;
  books.write(out);
  const auto lost = books.groups().find({2, {}, Phase::kIndeterminate});
  ASSERT_NE(lost, books.groups().end());
  EXPECT_EQ(lost->second.count, 3U);
  EXPECT_EQ(lost->second.first, Timestamp(200));
  EXPECT_EQ(lost->second.last, Timestamp(300));
}

TEST(CauseCounts, ADroppedBucketIsNotWrittenAnyMore) {
  CauseCounts books({}, 10);
  books.add(letter(name_of(1, 5), 100));
  books.add(letter(name_of(2, 5), 100));
  books.add_unknown(2, 3);
  EXPECT_TRUE(books.changed());
  WriteBatch out;
  books.drop_bucket(1, out);
  EXPECT_EQ(out.writes().size(), 1U);
  out.clear();
  books.write(out);
  EXPECT_EQ(out.writes().size(), 2U) << "of the other bucket";
  out.clear();
  books.drop_bucket(7, out);
  EXPECT_TRUE(out.writes().empty()) << "nothing of it was ever written";
}

TEST(CauseCounts, TakingWhatWasNeverCountedChangesNothing) {
  CauseCounts books({}, 10);
  books.take(name_of(1, 5));
  EXPECT_FALSE(books.changed());
  EXPECT_TRUE(books.groups().empty());
}

}  // namespace
}  // namespace postrider
