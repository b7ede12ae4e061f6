// What becomes of a store whose bytes were changed behind its back: it holds everything that was
// acknowledged, or it refuses by name; it never gives a wrong value.
#include <algorithm>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "postrider/base/crc.h"
#include "postrider/stores/rocks/damage_testing.h"
#include "postrider/stores/rocks/wal.h"

namespace postrider {
namespace {

// A kill in the middle of a write leaves a part of the record, and a mark that does not claim it.
TEST_F(DamageTest, UnfinishedLastRecordIsNormal) {  // req: engine.store.13
  make(small(""), 30, 2000);
  const std::string name = files_of(live.path(), ".log").at(0);
  const std::uint64_t whole = rocks::scan_wal(read_whole(live.file(name))).good_bytes;
  TemporaryDirectory before;
  std::filesystem::copy(live.path(), before.path());
  WriteBatch last;
  last.put("M", value_of(rng, 80'000));  // over several blocks of the log
  ASSERT_EQ(store->write(epoch, last).outcome, CommitOutcome::kDurable);
  const std::string bytes = read_whole(live.file(name));
  for (std::uint64_t size = whole + 1; size < bytes.size(); size += 9973) {
    std::filesystem::remove_all(damaged.path());
    std::filesystem::copy(before.path(), damaged.path());
    write_whole(damaged.file(name), std::string_view(bytes).substr(0, size));
    const auto report = check_store(damaged.path());
    ASSERT_TRUE(report) << report.error().detail;
    EXPECT_EQ(report->notes.size(), 2U) << "it tells of the kill and of the unfinished record";
    expect_whole("cut at " + std::to_string(size) + " of " + std::to_string(bytes.size()));
  }
}

// Every byte of the log before its last record is tried against our own reading of it, a sample
// against the whole store, which takes long to open.
TEST_F(DamageTest, ChangedLogBeforeItsLastRecordIsRefusedByName) {  // req: engine.store.13
  make(small(""), 60, 1500);
  const std::string name = files_of(live.path(), ".log").at(0);
  const std::string bytes = read_whole(live.file(name));
  const std::uint64_t acknowledged_bytes = rocks::scan_wal(bytes).good_bytes;
  commit(1, 100);
  const std::string longer = read_whole(live.file(name));
  ASSERT_GT(acknowledged_bytes, 3U * 32768U) << "the log must have several blocks";
  for (std::uint64_t at = 0; at < acknowledged_bytes; at += 7) {
    std::string changed = longer;
    flip(changed, at, at % 8);
    const std::vector<rocks::WalFile> files{{name, 1, rocks::scan_wal(changed)}};
    // The filling at the end of a block means nothing.
    if (32768 - at % 32768 < 7 && longer[at] == '\0') continue;
    ASSERT_TRUE(rocks::damage_of(files).has_value()) << "byte " << at;
  }
  for (int i = 0; i < 12; ++i) {
    // The last block is where RocksDB itself would miss a changed length.
    const std::uint64_t from = i % 2 == 0 ? 0 : acknowledged_bytes / 32768 * 32768;
    const std::uint64_t at = from + rng.below(acknowledged_bytes - from);
    copy();
    std::string changed = longer;
    flip(changed, at, rng.below(8));
    write_whole(damaged.file(name), changed);
    const Seen seen = look();
    EXPECT_TRUE(seen == Seen::kRefused || seen == Seen::kWhole) << "byte " << at;
    if (seen == Seen::kRefused) {
      EXPECT_NE(said.find(name), std::string::npos) << said;
    }
    EXPECT_EQ(read_whole(damaged.file(name)), changed) << "a refused store must stay as it is";
  }
}

TEST_F(DamageTest, ChangedLengthInTheLastBlockIsNotTakenForAnUnfinishedRecord) {
  make(small(""), 3, 100);
  const std::string name = files_of(live.path(), ".log").at(0);
  std::string bytes = read_whole(live.file(name));
  flip(bytes, 5, 6);  // the length of the first record
  copy();
  write_whole(damaged.file(name), bytes);
  EXPECT_EQ(look(), Seen::kRefused);
  EXPECT_NE(said.find("a record follows it"), std::string::npos) << said;
}

// req: engine.store.19
TEST_F(DamageTest, ChangedTablesGiveAnErrorAndNeverAWrongValue) {  // req: engine.store.13
  StoreOptions options = small("");
  options.memtable_bytes = 64U << 10;
  make(options, 200, 2000);
  ASSERT_TRUE(store->close());
  store.reset();
  const std::vector<std::string> tables = files_of(live.path(), ".sst");
  ASSERT_FALSE(tables.empty());
  int noticed = 0;
  for (int i = 0; i < 16; ++i) {
    const std::string& name = tables[rng.below(tables.size())];
    std::string bytes = read_whole(live.file(name));
    // Every second time near the end, where index, filter, properties and footer lie.
    const std::uint64_t from =
        i % 2 == 0 ? 0 : bytes.size() - std::min<std::uint64_t>(bytes.size(), 2000);
    const std::uint64_t at = from + rng.below(bytes.size() - from);
    flip(bytes, at, rng.below(8));
    copy();
    write_whole(damaged.file(name), bytes);
    const Seen seen = look();
    EXPECT_TRUE(seen == Seen::kRefused || seen == Seen::kReadError || seen == Seen::kWhole)
        << name << " byte " << at;
    if (seen == Seen::kWhole) continue;
    ++noticed;
    // Of a table whose properties are out of order the library names the list that led to it.
    const bool by_list = said.find("properties unsorted in file") != std::string::npos;
    EXPECT_TRUE(by_list || said.find(name) != std::string::npos) << said;
  }
  EXPECT_GT(noticed, 5);
}

TEST_F(DamageTest, MissingLogIsNoticedWithoutACleanClose) {  // req: engine.store.13
  StoreOptions options = small("");
  options.memtable_bytes = 64U << 10;
  make(options, 100, 2000);
  copy();
  const std::vector<std::string> logs = files_of(live.path(), ".log");
  ASSERT_GT(logs.size(), 1U);
  std::filesystem::remove(damaged.file(logs.front()));
  EXPECT_EQ(look(), Seen::kRefused) << said;
}

// The reader of the log itself.

std::string part_of(std::uint8_t type, std::string_view content) {
  std::string covered(1, static_cast<char>(type));
  covered += content;
  const std::uint32_t crc = crc32c(covered);
  const std::uint32_t stored = ((crc >> 15) | (crc << 17)) + 0xA282EAD8U;
  std::string out;
  for (int shift = 0; shift < 32; shift += 8) out.push_back(static_cast<char>(stored >> shift));
  out.push_back(static_cast<char>(content.size() & 0xFF));
  out.push_back(static_cast<char>(content.size() >> 8));
  return out + covered;
}
std::string batch_of(std::uint64_t sequence, std::uint32_t count) {
  std::string out;
  for (int shift = 0; shift < 64; shift += 8) out.push_back(static_cast<char>(sequence >> shift));
  for (int shift = 0; shift < 32; shift += 8) out.push_back(static_cast<char>(count >> shift));
  return out + "writes";
}

TEST(WalScan, FollowsSequencesAndParts) {
  const std::string split = batch_of(12, 1);
  const std::string log = part_of(1, batch_of(10, 2)) + part_of(2, split.substr(0, 5)) +
                          part_of(3, split.substr(5, 3)) + part_of(4, split.substr(8));
  const rocks::WalScan scan = rocks::scan_wal(log);
  EXPECT_FALSE(scan.broken.has_value());
  EXPECT_EQ(scan.records, 2U);
  EXPECT_EQ(scan.first_sequence, 10U);
  EXPECT_EQ(scan.next_sequence, 13U);
  EXPECT_EQ(scan.good_bytes, log.size());
}

TEST(WalScan, TellsAnUnfinishedRecordFromDamage) {
  const std::string first = part_of(1, batch_of(10, 2));
  const std::string second = part_of(1, batch_of(12, 1));
  const std::string both = first + second;
  for (std::size_t size = first.size() + 1; size < both.size(); ++size) {
    const rocks::WalScan scan = rocks::scan_wal(std::string_view(both).substr(0, size));
    ASSERT_TRUE(scan.broken.has_value());
    EXPECT_TRUE(scan.broken->incomplete);
    EXPECT_EQ(scan.broken->followed, 0U);
    EXPECT_EQ(scan.good_bytes, first.size());
  }
  for (std::size_t at = 0; at < first.size(); ++at) {
    std::string changed = both;
    flip(changed, at, 0);
    const rocks::WalScan scan = rocks::scan_wal(changed);
    ASSERT_TRUE(scan.broken.has_value()) << at;
    EXPECT_EQ(scan.broken->followed, first.size()) << at;
  }
}

TEST(WalScan, MissingWritesAreDamage) {
  const rocks::WalScan scan =
      rocks::scan_wal(part_of(1, batch_of(10, 2)) + part_of(1, batch_of(13, 1)));
  ASSERT_TRUE(scan.broken.has_value());
  EXPECT_FALSE(scan.broken->incomplete);
}

TEST(WalScan, UnfinishedEndOfAnOlderLogIsNormalOnlyIfItsSequenceWasGivenAgain) {
  const std::string whole = part_of(1, batch_of(10, 2));
  const std::string cut = whole + part_of(1, batch_of(12, 1)).substr(0, 9);
  const auto files = [&](std::uint64_t next) {
    return std::vector<rocks::WalFile>{
        {"1.log", 1, rocks::scan_wal(cut)},
        {"2.log", 2, rocks::scan_wal("")},
        {"3.log", 3, rocks::scan_wal(part_of(1, batch_of(next, 1)))}};
  };
  EXPECT_EQ(rocks::damage_of(files(12)), std::nullopt);
  EXPECT_NE(rocks::damage_of(files(13)), std::nullopt);
}

// One changed bit in the length of the last record, which then seems to be cut off.
TEST(WalScan, TellsAChangedLengthFromAnUnfinishedRecord) {  // req: engine.synced.4
  const std::string first = part_of(1, batch_of(10, 2));
  const std::string both = first + part_of(1, batch_of(12, 1));
  const std::string torn = both + part_of(1, batch_of(13, 1)).substr(0, 12);
  for (const std::string& log : {both, torn}) {
    for (std::uint64_t bit = 0; bit < 16; ++bit) {
      std::string changed = log;
      flip(changed, first.size() + 4 + bit / 8, bit % 8);
      const rocks::WalScan scan = rocks::scan_wal(changed);
      ASSERT_TRUE(scan.broken.has_value()) << bit;
      EXPECT_FALSE(scan.broken->incomplete) << bit;
      EXPECT_EQ(scan.good_bytes, first.size()) << bit;
    }
  }
  EXPECT_TRUE(rocks::scan_wal(torn).broken->incomplete);
}

TEST(WalScan, RefusesALogWithTheRecordsOfAnother) {  // req: engine.synced.4
  const std::string older = part_of(1, batch_of(10, 2)) + part_of(1, batch_of(12, 3));
  const std::string newer = part_of(1, batch_of(15, 1));
  const auto damage = [](const std::string& first, const std::string& second) {
    return rocks::damage_of({{"1.log", 1, rocks::scan_wal(first)},
                             {"2.log", 2, rocks::scan_wal("")},
                             {"3.log", 3, rocks::scan_wal(second)}});
  };
  EXPECT_EQ(damage(older, newer), std::nullopt);
  EXPECT_NE(damage(older, older).value_or("").find("3.log"), std::string::npos);
  EXPECT_NE(damage(newer, older).value_or("").find("3.log"), std::string::npos);
  EXPECT_NE(damage(newer, newer).value_or("").find("3.log"), std::string::npos);
}

TEST(WalScan, TakesAnyBytes) {
  Rng rng(3);
  for (int i = 0; i < 2000; ++i) {
    std::string bytes;
    for (std::uint64_t left = rng.below(200); left > 0; --left)
      bytes.push_back(static_cast<char>(rng.below(5)));
    const rocks::WalScan scan = rocks::scan_wal(bytes);
    EXPECT_LE(scan.good_bytes, bytes.size());
  }
}

}  // namespace
}  // namespace postrider
