#include "postrider/stores/segments/segment_journal.h"

#include <filesystem>

#include <stdlib.h>

#include "postrider/stores/conformance_journal.h"
#include "postrider/stores/segments/journal_testing.h"

namespace postrider {
namespace segments {
namespace {

struct ModelHarness {
  ModelHarness() : held(std::move(*open_on(disk, kRoomy))) {}
  Journal& journal() { return *held; }
  ModelDisk disk;
  std::unique_ptr<SegmentJournal> held;
};

// A directory of its own, removed in the end.
struct DiskHarness {
  DiskHarness() {
    std::string name = (std::filesystem::temp_directory_path() / "segments-XXXXXX").string();
    EXPECT_NE(::mkdtemp(name.data()), nullptr);
    directory = name;
    held = open();
  }
  ~DiskHarness() {
    held.reset();
    std::filesystem::remove_all(directory);
  }
  DiskHarness(const DiskHarness&) = delete;
  DiskHarness& operator=(const DiskHarness&) = delete;
  std::unique_ptr<SegmentJournal> open() {
    auto folder = open_folder(directory + "/journal");
    EXPECT_TRUE(folder.has_value());
    auto journal = SegmentJournal::open(std::move(*folder), kTestId,
                                        {.segment_bytes = 1U << 20, .segments_max = 4});
    EXPECT_TRUE(journal.has_value()) << journal.error().detail;
    return std::move(*journal);
  }
  Journal& journal() { return *held; }
  std::string directory;
  std::unique_ptr<SegmentJournal> held;
};

}  // namespace
}  // namespace segments

INSTANTIATE_TYPED_TEST_SUITE_P(SegmentsOnAModel, JournalConformance, segments::ModelHarness);
INSTANTIATE_TYPED_TEST_SUITE_P(SegmentsOnDisk, JournalConformance, segments::DiskHarness);

namespace segments {
namespace {

TEST(SegmentJournal, HoldsItsGroupsOverARestart) {
  DiskHarness harness;
  const Epoch epoch = harness.held->acquire(0)->epoch;
  for (std::uint64_t number = 1; number <= 9; ++number) {
    const std::string content = content_of(number);
    ASSERT_EQ(harness.held->append(epoch, GroupNumber(number), {content, 2}).end,
              AppendEnd::kDurable);
  }
  harness.held.reset();
  harness.held = harness.open();
  const auto owned = harness.held->acquire(0);
  EXPECT_GT(owned->epoch, epoch);
  EXPECT_EQ(owned->last, GroupNumber(9));
  std::uint64_t number = 1;
  EXPECT_TRUE(harness.held->read(GroupNumber(1), GroupNumber(9), [&](GroupNumber, Group group) {
    EXPECT_EQ(group.bytes, content_of(number++));
    EXPECT_EQ(group.batches, 2U);
    return true;
  }));
}

TEST(SegmentJournal, UsesItsSegmentsAgain) {
  ModelDisk disk;
  run_journal(disk, 400);
  std::size_t segments = 0;
  for (const auto& [name, file] : disk.files)
    segments += parse_segment_name(name).has_value() ? 1U : 0U;
  EXPECT_LE(segments, kSmall.segments_max);
  expect_whole(disk, 396, 400, 400, "after 400 groups");
}

TEST(SegmentJournal, IsFullWhenAllSegmentsAreInUseAndGoesOnAfterATrim) {
  ModelDisk disk;
  auto journal = std::move(*open_on(disk));
  const Epoch epoch = journal->acquire(0)->epoch;
  const std::string content(3 * kBlock, 'x');  // one in a segment
  std::uint64_t number = 1;
  while (true) {
    const std::uint64_t room = journal->room();
    const Appended end = journal->append(epoch, GroupNumber(number), {content, 1});
    if (end.end == AppendEnd::kFull) {
      EXPECT_LT(room, 2 * padded(content.size()));
      break;
    }
    ASSERT_EQ(end.end, AppendEnd::kDurable) << end.reason;
    ASSERT_GE(room, padded(content.size()));
    ++number;
  }
  EXPECT_EQ(number, kSmall.segments_max + 1U);
  ASSERT_TRUE(journal->trim(epoch, GroupNumber(1)).has_value());
  EXPECT_EQ(journal->append(epoch, GroupNumber(number), {content, 1}).end, AppendEnd::kDurable);
}

TEST(SegmentJournal, TakesAGroupOfTheGreatestSize) {
  ModelDisk disk;
  auto journal = std::move(*open_on(disk));
  const Epoch epoch = journal->acquire(0)->epoch;
  const std::string content(static_cast<std::size_t>(journal->group_bytes_max()), 'x');
  EXPECT_EQ(journal->append(epoch, GroupNumber(1), {content, 1}).end, AppendEnd::kDurable);
  EXPECT_EQ(groups_of(*journal, GroupNumber(1), GroupNumber(1)), (Groups{{1, content}}));
}

TEST(SegmentJournal, KeepsTheSizeOfItsSegments) {
  ModelDisk disk;
  run_journal(disk, 20);
  auto journal = open_on(disk, {.segment_bytes = 64 * kBlock, .segments_max = 4});
  ASSERT_TRUE(journal.has_value());
  EXPECT_EQ((*journal)->group_bytes_max(), kSmall.segment_bytes - kBlock - kGroupHeadBytes);
}

// A kill at every operation, the making of the journal included: what was told durable is there,
// and the journal goes on from there.
TEST(SegmentJournal, LosesNothingByAKillAtAnyOperation) {
  ModelDisk whole;
  run_journal(whole, 60);
  for (std::uint64_t at = 1; at <= whole.operations; ++at) {
    ModelDisk disk;
    disk.dies_at = at;
    const RunResult first = run_journal(disk, 60);
    disk.revive();
    ASSERT_NO_FATAL_FAILURE(expect_whole(disk, first.trimmed + 1, first.acknowledged,
                                         first.appended, "killed at " + std::to_string(at)));
    const RunResult second = run_journal(disk, 80);
    ASSERT_EQ(second.acknowledged, 80U) << at;
    ASSERT_NO_FATAL_FAILURE(expect_whole(disk, 77, 80, 80, "later, " + std::to_string(at)));
  }
}

// The same with a power cut: of what was not synced, any sectors may be lost.
TEST(SegmentJournal, LosesNothingByAPowerCutAtAnyOperation) {
  ModelDisk whole;
  run_journal(whole, 40);
  for (std::uint64_t at = 1; at <= whole.operations; ++at) {
    for (std::uint64_t seed = 1; seed <= 6; ++seed) {
      ModelDisk disk;
      disk.dies_at = at;
      const RunResult first = run_journal(disk, 40);
      Rng rng(at * 1000 + seed);
      disk.cut_power(rng);
      disk.revive();
      const std::string when = "cut at " + std::to_string(at) + ", seed " + std::to_string(seed);
      ASSERT_NO_FATAL_FAILURE(
          expect_whole(disk, first.trimmed + 1, first.acknowledged, first.appended, when));
      ASSERT_EQ(run_journal(disk, 50).acknowledged, 50U) << when;
    }
  }
}

// A second kill while the first one is recovered from, and a power cut after it: what a recovering
// owner saw stays.
TEST(SegmentJournal, WhatAnOwnerFoundIsDurable) {
  ModelDisk whole;
  run_journal(whole, 12);
  for (std::uint64_t at = 1; at <= whole.operations; ++at) {
    ModelDisk disk;
    disk.dies_at = at;
    run_journal(disk, 12);
    disk.revive();
    std::uint64_t found = 0;
    {
      auto journal = open_on(disk);
      ASSERT_TRUE(journal.has_value()) << at;
      found = (*journal)->acquire(0)->last.value();
    }
    Rng rng(at);
    disk.cut_power(rng);
    auto journal = open_on(disk);
    ASSERT_TRUE(journal.has_value()) << at << journal.error().detail;
    ASSERT_GE((*journal)->acquire(0)->last.value(), found) << at;
  }
}

TEST(SegmentJournal, GivesNoEpochTwice) {
  ModelDisk disk;
  Epoch newest;
  for (int i = 0; i < 40; ++i) {
    auto journal = std::move(*open_on(disk));
    const auto owned = journal->acquire(0);
    ASSERT_GT(owned->epoch, newest);
    newest = owned->epoch;
  }
}

TEST(SegmentJournal, AFullDiskIsToldAndNothingOfTheGroupComesBack) {
  ModelDisk whole;
  run_journal(whole, 20);
  for (std::uint64_t at = 8; at <= whole.operations; ++at) {
    ModelDisk disk;
    disk.fault = Io::kNoSpace;
    disk.fault_at = at;
    auto journal = open_on(disk, kRoomy);
    if (!journal) continue;  // refused to be made, which its own test looks at
    const auto owned = (*journal)->acquire(0);
    if (!owned) continue;
    for (std::uint64_t number = 1; number <= 20; ++number) {
      const std::string content = content_of(number);
      Appended end = (*journal)->append(owned->epoch, GroupNumber(number), {content, 1});
      if (end.end == AppendEnd::kFull) {
        // A kill now must not find the group.
        ModelDisk copy = disk.copy();
        copy.revive();
        ASSERT_NO_FATAL_FAILURE(
            expect_whole(copy, number, number - 1, number - 1, "full at " + std::to_string(at)));
        end = (*journal)->append(owned->epoch, GroupNumber(number), {content, 1});
      }
      ASSERT_EQ(end.end, AppendEnd::kDurable) << at << " " << end.reason;
    }
    disk.revive();
    ASSERT_NO_FATAL_FAILURE(expect_whole(disk, 1, 20, 20, "later, " + std::to_string(at)));
  }
}

TEST(SegmentJournal, AFailingDiskIsToldAndNothingIsWrittenAfterwards) {
  ModelDisk whole;
  run_journal(whole, 20);
  std::uint64_t told = 0;
  for (std::uint64_t at = 8; at <= whole.operations; ++at) {
    ModelDisk disk;
    disk.fault = Io::kFailed;
    disk.fault_at = at;
    auto journal = open_on(disk, kRoomy);
    if (!journal) continue;
    const auto owned = (*journal)->acquire(0);
    if (!owned) continue;
    std::uint64_t acknowledged = 0;
    for (std::uint64_t number = 1; number <= 20; ++number) {
      const std::string content = content_of(number);
      const Appended end = (*journal)->append(owned->epoch, GroupNumber(number), {content, 1});
      if (end.end == AppendEnd::kLost) {
        ++told;
        EXPECT_NE(end.reason.find("a fault of the test"), std::string::npos);
        const std::uint64_t operations = disk.operations;
        EXPECT_EQ((*journal)->append(owned->epoch, GroupNumber(number), {content, 1}).end,
                  AppendEnd::kLost);
        EXPECT_EQ(disk.operations, operations);
        break;
      }
      acknowledged = number;
    }
    disk.revive();
    ASSERT_NO_FATAL_FAILURE(expect_whole(disk, 1, acknowledged, 20, std::to_string(at)));
  }
  EXPECT_GT(told, 20U);
}

TEST(SegmentJournal, ADiskWithoutRoomIsToldWhenTheJournalIsMade) {
  for (std::uint64_t at = 1; at <= 10; ++at) {
    ModelDisk disk;
    disk.fault = Io::kNoSpace;
    disk.fault_at = at;
    disk.fault_stays = true;
    const auto journal = open_on(disk);
    ASSERT_FALSE(journal.has_value()) << at;
    EXPECT_EQ(journal.error().code, ErrorCode::kLimit) << at;
    disk.revive();
    EXPECT_TRUE(open_on(disk).has_value()) << at;
  }
}

}  // namespace
}  // namespace segments
}  // namespace postrider
