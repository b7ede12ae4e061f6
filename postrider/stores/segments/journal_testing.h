// What the tests of segments share: a small journal on a modelled disk, and what it should hold.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "postrider/stores/segments/model_folder_testing.h"
#include "postrider/stores/segments/segment_journal.h"

namespace postrider::segments {

inline constexpr SegmentOptions kSmall{.segment_bytes = 8 * kBlock, .segments_max = 4};
inline constexpr SegmentOptions kRoomy{.segment_bytes = 64 * kBlock, .segments_max = 8};
inline constexpr JournalId kTestId{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};

inline Result<std::unique_ptr<SegmentJournal>> open_on(ModelDisk& disk,
                                                       const SegmentOptions& options = kSmall,
                                                       const JournalId& id = kTestId) {
  return SegmentJournal::open(std::make_unique<ModelFolder>(disk), id, options);
}

// Content that differs in length and bytes from group to group, and looks like heads here and
// there.
inline std::string content_of(std::uint64_t number) {
  std::string out = "group " + std::to_string(number) + " ";
  if (number % 3 == 0) {
    const GroupHead forged{.generation = 1 + number / 7,
                           .number = GroupNumber(number + 1),
                           .durable = GroupNumber(number),
                           .epoch = Epoch(1),
                           .length = 0,
                           .batches = 1};
    out.resize(kBlock - kGroupHeadBytes, '.');  // what follows begins at a block of the file
    out += encode_group(JournalId{}, forged, "forged").substr(0, 100);
  } else {
    out.append(number * 977 % 5000, static_cast<char>('a' + number % 26));
  }
  return out;
}

// Opens, acquires, and compares every group from `oldest` on: they must be a run without gaps that
// holds at least all up to `acknowledged`, with the bytes that were appended.
inline void expect_whole(ModelDisk& disk, std::uint64_t oldest, std::uint64_t acknowledged,
                         std::uint64_t appended, const std::string& when) {
  auto journal = open_on(disk);
  ASSERT_TRUE(journal.has_value()) << when << ": " << journal.error().detail;
  const auto owned = (*journal)->acquire(0);
  ASSERT_TRUE(owned.has_value()) << when << ": " << owned.error().detail;
  ASSERT_LE(owned->first.value(), oldest) << when;
  ASSERT_GE(owned->last.value(), acknowledged) << when;
  ASSERT_LE(owned->last.value(), appended) << when;
  std::uint64_t expected = owned->first.value();
  const auto read =
      (*journal)->read(owned->first, owned->last, [&](GroupNumber number, Group group) {
        EXPECT_EQ(number.value(), expected++) << when;
        EXPECT_EQ(group.bytes, content_of(number.value())) << when;
        return true;
      });
  ASSERT_TRUE(read.has_value()) << when << ": " << read.error().detail;
  ASSERT_EQ(expected, owned->last.value() + 1) << when;
}

// Appends groups and trims now and then until the disk dies or `last` is reached. Returns the
// newest group that was told durable.
struct RunResult {
  std::uint64_t acknowledged = 0;
  std::uint64_t appended = 0;
  std::uint64_t trimmed = 0;
};
inline RunResult run_journal(ModelDisk& disk, std::uint64_t last) {
  RunResult result;
  auto journal = open_on(disk);
  if (disk.dead() || !journal) return result;
  const auto owned = (*journal)->acquire(0);
  if (disk.dead() || !owned) return result;
  result.acknowledged = result.appended = owned->last.value();
  for (std::uint64_t number = owned->last.value() + 1; number <= last; ++number) {
    result.appended = number;
    const std::string content = content_of(number);
    const Appended end = (*journal)->append(owned->epoch, GroupNumber(number), {content, 1});
    if (disk.dead()) return result;
    if (end.end != AppendEnd::kDurable) {
      ADD_FAILURE() << end.reason;
      return result;
    }
    result.acknowledged = number;
    if (number % 5 != 0) continue;
    result.trimmed = number - 4;
    if (!(*journal)->trim(owned->epoch, GroupNumber(result.trimmed)).has_value())
      ADD_FAILURE() << "trim";
    if (disk.dead()) return result;
  }
  EXPECT_TRUE((*journal)->close().has_value());
  return result;
}

}  // namespace postrider::segments
