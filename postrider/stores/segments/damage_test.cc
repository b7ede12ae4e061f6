// Damage to the files of a journal: it is refused by name, or changes nothing. Never are other
// groups read than those that were appended.
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "postrider/stores/segments/journal_testing.h"

namespace postrider::segments {
namespace {

// 50 groups in a few segments, closed, or left as a kill leaves them.
ModelDisk journal_of_50() {
  ModelDisk disk;
  auto journal = std::move(*open_on(disk, kRoomy));
  const Epoch epoch = journal->acquire(0)->epoch;
  for (std::uint64_t number = 1; number <= 50; ++number) {
    const std::string content = content_of(number);
    EXPECT_EQ(journal->append(epoch, GroupNumber(number), {content, 1}).end, AppendEnd::kDurable);
  }
  return disk;
}

// Opens and reads everything. The refusal, or nothing when all 50 groups are there unchanged.
std::optional<Error> refusal(ModelDisk& disk) {
  auto journal = open_on(disk, kRoomy);
  if (!journal) return journal.error();
  const auto owned = (*journal)->acquire(0);
  if (!owned) return owned.error();
  EXPECT_EQ(owned->last, GroupNumber(50));
  const auto read =
      (*journal)->read(owned->first, owned->last, [&](GroupNumber number, Group group) {
        EXPECT_EQ(group.bytes, content_of(number.value()));
        return true;
      });
  if (!read) return read.error();
  return std::nullopt;
}

void expect_refused(ModelDisk& disk, const std::string& named, const std::string& what) {
  const std::optional<Error> error = refusal(disk);
  ASSERT_TRUE(error.has_value()) << what;
  EXPECT_EQ(error->code, ErrorCode::kCorrupt) << what;
  EXPECT_NE(error->detail.find(named), std::string::npos) << what << ": " << error->detail;
}

TEST(JournalDamage, NoFlippedBitOfAnyGroupIsSilent) {
  const ModelDisk whole = journal_of_50();
  std::uint64_t refused = 0;
  for (const auto& [name, file] : whole.files) {
    if (!parse_segment_name(name)) continue;
    std::uint64_t offset = 0;
    while (offset < file->written.size()) {
      ModelDisk disk = whole.copy();
      std::string& bytes = disk.bytes(name);
      bytes[static_cast<std::size_t>(offset)] =
          static_cast<char>(bytes[static_cast<std::size_t>(offset)] ^ (1 << (offset % 8)));
      refused += refusal(disk) ? 1U : 0U;  // otherwise it has looked at all groups
      // All bytes of heads, and a sample of the contents.
      offset += offset % kBlock < 64 ? 1U : 149U;
    }
  }
  EXPECT_GT(refused, 1000U);
}

TEST(JournalDamage, AnyPrefixOfTheSegmentsIsRefused) {
  const ModelDisk whole = journal_of_50();
  for (const auto& [name, file] : whole.files) {
    if (!parse_segment_name(name)) continue;
    for (std::size_t size = 0; size < file->written.size(); size += kBlock / 2) {
      ModelDisk disk = whole.copy();
      disk.bytes(name).resize(size);
      expect_refused(disk, name, "cut to " + std::to_string(size));
    }
  }
}

TEST(JournalDamage, OldOrExchangedBlocksOfAGroupAreRefused) {
  const ModelDisk whole = journal_of_50();
  for (const auto& [name, file] : whole.files) {
    if (!parse_segment_name(name)) continue;
    for (std::size_t block = 1; block + 1 < file->written.size() / kBlock; ++block) {
      ModelDisk zeroed = whole.copy();
      std::string& bytes = zeroed.bytes(name);
      const bool blank = bytes.compare(block * kBlock, kBlock, std::string(kBlock, '\0')) == 0;
      if (blank) continue;
      bytes.replace(block * kBlock, kBlock, std::string(kBlock, '\0'));
      expect_refused(zeroed, name.substr(0, 0), "zeroed block " + std::to_string(block));
      ModelDisk exchanged = whole.copy();
      std::string& other = exchanged.bytes(name);
      const std::string one = other.substr(block * kBlock, kBlock);
      const std::string two = other.substr((block + 1) * kBlock, kBlock);
      if (one == two) continue;
      other.replace(block * kBlock, kBlock, two).replace((block + 1) * kBlock, kBlock, one);
      expect_refused(exchanged, "", "exchanged blocks at " + std::to_string(block));
    }
  }
}

struct DamageCase {
  std::string name;
  std::function<void(ModelDisk&)> harm;
  std::string named;  // empty: it must be harmless
};

class NamedDamage : public ::testing::TestWithParam<DamageCase> {};

TEST_P(NamedDamage, IsRefusedByNameOrHarmless) {
  ModelDisk disk = journal_of_50();
  GetParam().harm(disk);
  if (GetParam().named.empty()) {
    const std::optional<Error> error = refusal(disk);
    EXPECT_FALSE(error.has_value()) << error->detail;
    return;
  }
  expect_refused(disk, GetParam().named, GetParam().name);
}

const std::string kFirst = segment_name(1);
const std::string kNewest = segment_name(2);

// Which of the two copies is the newer one, by their content.
std::string newer_control(ModelDisk& disk, bool newer) {
  const auto first = decode_control(disk.bytes("CONTROL.0"));
  const auto second = decode_control(disk.bytes("CONTROL.1"));
  return (first->turn > second->turn) == newer ? "CONTROL.0" : "CONTROL.1";
}
void spoil(ModelDisk& disk, const std::string& name) { disk.bytes(name)[12] ^= 0x10; }

// The control records and segments of a moment when the journal had 10 groups, under today's.
ModelDisk journal_of(std::uint64_t last) {
  ModelDisk disk;
  auto journal = std::move(*open_on(disk, kRoomy));
  const Epoch epoch = journal->acquire(0)->epoch;
  for (std::uint64_t number = 1; number <= last; ++number)
    journal->append(epoch, GroupNumber(number), {content_of(number), 1});
  return disk;
}

INSTANTIATE_TEST_SUITE_P(
    Files, NamedDamage,
    ::testing::Values(
        DamageCase{"FirstSegmentDeleted", [](ModelDisk& d) { d.files.erase(kFirst); }, kFirst},
        DamageCase{"NewestSegmentDeleted", [](ModelDisk& d) { d.files.erase(kNewest); }, kNewest},
        DamageCase{"SegmentGrown", [](ModelDisk& d) { d.bytes(kFirst) += "x"; }, kFirst},
        DamageCase{"SegmentZeroed",
                   [](ModelDisk& d) { d.bytes(kNewest).assign(kRoomy.segment_bytes, '\0'); },
                   kNewest},
        DamageCase{"SegmentsExchanged",
                   [](ModelDisk& d) { std::swap(d.files.at(kFirst), d.files.at(kNewest)); },
                   kFirst},
        DamageCase{"SegmentOfAnotherJournal",
                   [](ModelDisk& d) {
                     ModelDisk other;
                     (void)open_on(other, kRoomy, JournalId{9});
                     d.files[kFirst] = other.files.at(kFirst);
                   },
                   kFirst},
        DamageCase{"NewestSegmentReplacedByAnOlderCopy",
                   [](ModelDisk& d) { d.files[kNewest] = journal_of(49).files.at(kNewest); },
                   "MARK"},
        DamageCase{"MarkDeleted", [](ModelDisk& d) { d.files.erase("MARK"); }, "MARK"},
        DamageCase{"MarkEmptied", [](ModelDisk& d) { d.bytes("MARK").clear(); }, "MARK"},
        DamageCase{"MarkOfAnotherJournal",
                   [](ModelDisk& d) {
                     ModelDisk other;
                     (void)open_on(other, kRoomy, JournalId{9});
                     d.files["MARK"] = other.files.at("MARK");
                   },
                   "MARK"},
        DamageCase{"StrangeFilesBeside",
                   [](ModelDisk& d) {
                     d.files["notes.txt"] = std::make_shared<ModelFile>();
                     d.files[segment_name(77)] = std::make_shared<ModelFile>();
                   },
                   ""}),
    [](const auto& tested) { return tested.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Control, NamedDamage,
    ::testing::Values(
        DamageCase{"OlderCopyDamaged", [](ModelDisk& d) { spoil(d, newer_control(d, false)); }, ""},
        DamageCase{"NewerCopyDamaged", [](ModelDisk& d) { spoil(d, newer_control(d, true)); },
                   "older than"},
        DamageCase{"BothCopiesDamaged",
                   [](ModelDisk& d) {
                     spoil(d, "CONTROL.0");
                     spoil(d, "CONTROL.1");
                   },
                   "CONTROL.0"},
        DamageCase{
            "CopiesSwapped",
            [](ModelDisk& d) { std::swap(d.files.at("CONTROL.0"), d.files.at("CONTROL.1")); }, ""},
        DamageCase{"BothCopiesDeleted",
                   [](ModelDisk& d) {
                     d.files.erase("CONTROL.0");
                     d.files.erase("CONTROL.1");
                   },
                   "CONTROL.0"},
        DamageCase{"OlderCopyDeleted", [](ModelDisk& d) { d.files.erase(newer_control(d, false)); },
                   ""},
        DamageCase{"OlderPairRestored",
                   [](ModelDisk& d) {
                     const ModelDisk older = journal_of(3);
                     d.files["CONTROL.0"] = older.files.at("CONTROL.0");
                     d.files["CONTROL.1"] = older.files.at("CONTROL.1");
                   },
                   "older than"},
        DamageCase{"CopyOfAnotherJournal",
                   [](ModelDisk& d) {
                     ModelDisk other;
                     auto journal = open_on(other, kRoomy, JournalId{9});
                     (void)(*journal)->acquire(0);
                     d.files["CONTROL.1"] = other.files.at("CONTROL.1");
                   },
                   "CONTROL.1"}),
    [](const auto& tested) { return tested.param.name; });

// A head that is right in itself, and wrong where it stands.
struct HeadCase {
  std::string name;
  std::function<void(GroupHead&)> change;
};
class WrongHead : public ::testing::TestWithParam<HeadCase> {};

TEST_P(WrongHead, IsRefusedOrEndsTheJournal) {
  ModelDisk disk;
  std::uint64_t end = 0;
  {
    auto journal = std::move(*open_on(disk, kRoomy));
    const Epoch epoch = journal->acquire(0)->epoch;
    for (std::uint64_t number = 1; number <= 3; ++number) {
      journal->append(epoch, GroupNumber(number), {"x", 1});
      end = kBlock * (number + 1);
    }
  }
  GroupHead head{.generation = 1,
                 .number = GroupNumber(4),
                 .durable = GroupNumber(3),
                 .epoch = Epoch(1),
                 .length = 0,
                 .batches = 1};
  GetParam().change(head);
  disk.bytes(kFirst).replace(static_cast<std::size_t>(end), kBlock,
                             encode_group(kTestId, head, "forged"));
  auto journal = open_on(disk, kRoomy);
  if (journal) {
    EXPECT_EQ((*journal)->acquire(0)->last, GroupNumber(3));
  }
}
INSTANTIATE_TEST_SUITE_P(
    Heads, WrongHead,
    ::testing::Values(HeadCase{"OfAnotherGeneration", [](GroupHead& h) { h.generation = 7; }},
                      HeadCase{"NumberRepeated", [](GroupHead& h) { h.number = GroupNumber(3); }},
                      HeadCase{"NumberSkipped", [](GroupHead& h) { h.number = GroupNumber(6); }},
                      HeadCase{"NoBatches", [](GroupHead& h) { h.batches = 0; }},
                      HeadCase{"DurableAheadOfItself",
                               [](GroupHead& h) { h.durable = GroupNumber(9); }}),
    [](const auto& tested) { return tested.param.name; });

TEST(JournalFormat, ContentThatLooksLikeAGroupOfAnotherJournalIsNotOne) {
  const GroupHead head{.generation = 1,
                       .number = GroupNumber(1),
                       .durable = GroupNumber(),
                       .epoch = Epoch(1),
                       .length = 0,
                       .batches = 1};
  const std::string bytes = encode_group(kTestId, head, "content");
  EXPECT_TRUE(decode_group(kTestId, bytes).has_value());
  EXPECT_FALSE(decode_group(JournalId{}, bytes).has_value());
}

TEST(JournalFormat, ReadsWhatItWrote) {
  const Use use{.file = 7, .generation = 9, .first = GroupNumber(11)};
  const auto found = decode_use(encode_use(kTestId, use));
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->use, use);
  EXPECT_EQ(found->id, kTestId);
  const Control control{.turn = 3,
                        .id = kTestId,
                        .epoch = Epoch(4),
                        .segment_bytes = 8 * kBlock,
                        .generation = 9,
                        .order = {use},
                        .spare = {1, 2}};
  EXPECT_EQ(decode_control(encode_control(control)), control);
  const Mark mark{.turn = 5, .id = kTestId, .durable = GroupNumber(12)};
  EXPECT_EQ(decode_mark(encode_mark(mark)), mark);
  EXPECT_LE(encode_mark(mark).size(), kMarkBytes);
  EXPECT_EQ(parse_segment_name(segment_name(4'294'967'295U)), 4'294'967'295U);
  for (const char* name : {"0000000000.segment", "1.segment", "00000000x1.segment", "0000000001"})
    EXPECT_FALSE(parse_segment_name(name).has_value()) << name;
}

}  // namespace
}  // namespace postrider::segments
