// What becomes of a store whose bytes were changed behind its back: it holds everything that was
// acknowledged, or it refuses by name; it never gives a wrong value.
#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "postrider/base/crc.h"
#include "postrider/base/rng.h"
#include "postrider/stores/rocks/rocks_store.h"
#include "postrider/stores/rocks/rocks_testing.h"
#include "postrider/stores/rocks/wal.h"

namespace postrider {
namespace {

using Contents = std::map<std::string, std::string>;

RocksStoreOptions small(const std::string& directory) {
  RocksStoreOptions options;
  options.directory = directory;
  options.cache_bytes = 1U << 20;
  return options;
}

void flip(std::string& bytes, std::uint64_t at, std::uint64_t bit) {
  bytes[at] = static_cast<char>(static_cast<unsigned char>(bytes[at]) ^ (1 << bit));
}

std::string value_of(Rng& rng, std::size_t size) {
  std::string value;
  while (value.size() < size) value += std::to_string(rng.next());
  value.resize(size);
  return value;
}

std::vector<std::string> files_of(const std::string& directory, std::string_view ending) {
  std::vector<std::string> out;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    if (entry.path().string().ends_with(ending)) out.push_back(entry.path().filename().string());
  }
  return out;
}

// A store with some commits, copied while it runs as a power cut would leave it.
class DamageTest : public ::testing::Test {
 protected:
  void make(RocksStoreOptions options, int commits, std::size_t value_bytes) {
    options.directory = live.path();
    store = std::move(*RocksStore::open(options));
    epoch = *store->acquire(0);
    commit(commits, value_bytes);
  }
  void commit(int commits, std::size_t value_bytes) {
    for (int i = 0; i < commits; ++i) {
      WriteBatch batch;
      for (const char* space : {"H", "C", "R"}) {
        const std::string key = space + std::to_string(acknowledged.size());
        acknowledged[key] = value_of(rng, 1 + rng.below(value_bytes));
        batch.put_once(key, Blob::copy_of(acknowledged[key]));
      }
      ASSERT_EQ(store->write(epoch, batch).outcome, CommitOutcome::kDurable);
    }
  }
  // The store is open: a file may go while we copy, and then the whole is copied again.
  void copy() {
    std::error_code error;
    do {
      std::filesystem::remove_all(damaged.path());
      std::filesystem::copy(live.path(), damaged.path(), error);
    } while (error == std::errc::no_such_file_or_directory);
    ASSERT_FALSE(error) << error.message();
  }

  enum class Seen { kRefused, kReadError, kWhole, kMissing, kWrong };
  Seen look() {
    auto opened = RocksStore::open(small(damaged.path()));
    if (!opened) {
      said = opened.error().detail;
      EXPECT_NE(said.find(damaged.path()), std::string::npos) << said;
      return Seen::kRefused;
    }
    Contents held;
    const Result<void> read =
        (*opened)->for_each("", "\xFF", [&](std::string_view key, std::string_view value) {
          held.emplace(key, value);
          return true;
        });
    for (const auto& [key, value] : held) {
      const auto known = acknowledged.find(key);
      if (known == acknowledged.end() || known->second != value) return Seen::kWrong;
    }
    if (!read) {
      said = read.error().detail;
      return Seen::kReadError;
    }
    return held.size() == acknowledged.size() ? Seen::kWhole : Seen::kMissing;
  }

  TemporaryDirectory live;
  TemporaryDirectory damaged;
  std::unique_ptr<RocksStore> store;
  Epoch epoch;
  Contents acknowledged;
  Rng rng{11};
  std::string said;
};

TEST_F(DamageTest, UnfinishedLastRecordIsNormal) {  // req: engine.store.13
  make(small(""), 30, 2000);
  const std::string name = files_of(live.path(), ".log").at(0);
  const std::uint64_t whole = rocks::scan_wal(read_whole(live.file(name))).good_bytes;
  WriteBatch last;
  last.put("M", value_of(rng, 80'000));  // over several blocks of the log
  ASSERT_EQ(store->write(epoch, last).outcome, CommitOutcome::kDurable);
  const std::string bytes = read_whole(live.file(name));
  for (std::uint64_t size = whole + 1; size < bytes.size(); size += 9973) {
    copy();
    write_whole(damaged.file(name), std::string_view(bytes).substr(0, size));
    EXPECT_EQ(look(), Seen::kWhole) << "cut at " << size << " of " << bytes.size() << said;
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
  RocksStoreOptions options = small("");
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
  RocksStoreOptions options = small("");
  options.memtable_bytes = 64U << 10;
  make(options, 100, 2000);
  copy();
  std::vector<std::string> logs = files_of(live.path(), ".log");
  std::sort(logs.begin(), logs.end());
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
