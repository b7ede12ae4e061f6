// SYNCED: what becomes of a store that was killed and whose logs, list of tables or mark were
// changed behind its back, and what the mark may say at any instant.
#include "postrider/stores/rocks/synced_mark.h"

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "postrider/base/crc.h"
#include "postrider/stores/rocks/damage_testing.h"
#include "postrider/stores/rocks/guarded_files.h"
#include "postrider/stores/rocks/wal.h"

namespace postrider {
namespace {

using rocks::SyncedFile;
using rocks::SyncedMark;
using rocks::SyncedPart;

std::string synced_file(const TemporaryDirectory& directory) { return directory.file("SYNCED"); }
SyncedMark mark_of(const TemporaryDirectory& directory) {
  return rocks::newest_synced(read_whole(synced_file(directory))).value_or(SyncedMark());
}

TEST(SyncedMark, IsReadAsItWasWritten) {
  const SyncedMark mark{
      .turn = 7,
      .unknown = false,
      .files = {
          {"000012.log", 70'000, 5}, {"000013.log", 12, 4'294'967'295}, {"MANIFEST-000005", 1, 0}}};
  const std::string slot = rocks::encode_synced(mark);
  EXPECT_EQ(slot.size(), 512U);
  EXPECT_EQ(rocks::decode_synced(slot), mark);
  for (std::size_t at = 0; at < slot.find('\0'); ++at) {
    std::string changed = slot;
    flip(changed, at, at % 8);
    EXPECT_EQ(rocks::decode_synced(changed), std::nullopt) << at;
  }
}

TEST(SyncedMark, ClaimsTheListOfTablesAndTheNewestLogsWhenNotAllFit) {
  SyncedMark mark;
  mark.files.push_back({"MANIFEST-000005", 1'000'000, 4'000'000'000});
  for (std::uint64_t number = 100; number < 160; ++number)
    mark.files.push_back({"000" + std::to_string(number) + ".log", 8'000'000, 4'000'000'000});
  const auto read = rocks::decode_synced(rocks::encode_synced(mark));
  ASSERT_TRUE(read.has_value());
  EXPECT_GT(read->files.size(), 8U);
  EXPECT_EQ(read->files.back().name, "MANIFEST-000005");
  EXPECT_EQ(read->files[read->files.size() - 2].name, "000159.log");
}

TEST(SyncedMark, NewerSlotHolds) {
  std::string file(8192, '\0');
  const auto put = [&file](std::size_t slot, std::uint64_t turn) {
    SyncedMark mark;
    mark.turn = turn;
    file.replace(slot * 4096, 512, rocks::encode_synced(mark));
  };
  EXPECT_EQ(rocks::newest_synced(file), std::nullopt);
  put(0, 4);
  EXPECT_EQ(rocks::newest_synced(file)->turn, 4U);
  put(1, 5);
  EXPECT_EQ(rocks::newest_synced(file)->turn, 5U);
  flip(file, 4100, 3);
  EXPECT_EQ(rocks::newest_synced(file)->turn, 4U);
  flip(file, 4, 3);
  EXPECT_EQ(rocks::newest_synced(file), std::nullopt);
  EXPECT_TRUE(rocks::newest_synced("unknown\n")->unknown);
  EXPECT_EQ(rocks::newest_synced(""), std::nullopt);
}

// Over claims, and over claims that were taken back, whichever slot is lost.
TEST(SyncedMark, NeitherSlotClaimsAFileThatWasTakenBack) {
  const TemporaryDirectory directory;
  const auto file = *SyncedFile::create(directory.path());
  for (const char* name : {"000004.log", "000007.log"}) file->begin(name);
  ASSERT_TRUE(file->claim({"000004.log", 10, 1}));
  ASSERT_TRUE(file->claim({"000007.log", 20, 2}));
  ASSERT_TRUE(file->take_back("000004.log"));
  ASSERT_TRUE(file->claim({"000004.log", 30, 3})) << "which is nothing any more";
  const std::string bytes = read_whole(synced_file(directory));
  for (const std::size_t slot : {0U, 4096U}) {
    const auto mark = rocks::decode_synced(std::string_view(bytes).substr(slot, 512));
    ASSERT_TRUE(mark.has_value());
    EXPECT_EQ(mark->files, (std::vector<SyncedPart>{{"000007.log", 20, 2}}));
  }
}

// /dev/full refuses every write, as a disk may do to the mark.
TEST(SyncedMark, WhatCannotBeMarkedIsNeitherDurableNorRemoved) {  // req: engine.synced.2
  const TemporaryDirectory directory;
  std::filesystem::create_symlink("/dev/full", synced_file(directory));
  const std::string old = directory.file("000004.log");
  write_whole(old, "records");
  const auto files = rocks::make_guarded_files(
      rocksdb::FileSystem::Default(),
      *SyncedFile::open(directory.path(), {.turn = 1, .files = {{"000004.log", 7, 1}}}));
  const rocksdb::IOOptions options;
  EXPECT_TRUE(files->DeleteFile(old, options, nullptr).IsNoSpace());
  EXPECT_TRUE(std::filesystem::exists(old));
  std::unique_ptr<rocksdb::FSWritableFile> file;
  ASSERT_TRUE(files->NewWritableFile(directory.file("000007.log"), {}, &file, nullptr).ok());
  ASSERT_TRUE(file->Append("record", options, nullptr).ok());
  EXPECT_TRUE(file->Sync(options, nullptr).IsNoSpace());
}

// A store that was killed: one log, with the commits of `DamageTest::make`.
class KilledStore : public DamageTest {
 protected:
  void SetUp() override {
    make(small(""), 30, 500);
    log = files_of(live.path(), ".log").at(0);
    bytes = read_whole(live.file(log));
  }
  std::string log;
  std::string bytes;
};

TEST_F(KilledStore, ClaimsExactlyWhatWasAcknowledged) {
  const SyncedMark mark = mark_of(live);
  ASSERT_EQ(mark.files.size(), 2U);
  EXPECT_EQ(mark.files[0], (SyncedPart{log, bytes.size(), crc32c(bytes)}));
  EXPECT_TRUE(mark.files[1].name.starts_with("MANIFEST-"));
  copy();
  expect_whole("unchanged");
}

// req: engine.synced.1, engine.check.2
TEST_F(KilledStore, LostEmptiedAndShortenedLogsAreRefusedByName) {
  copy();
  std::filesystem::remove(damaged.file(log));
  expect_refused(log, "removed");
  copy();
  write_whole(damaged.file(log), "");
  expect_refused(log, "emptied");
  for (const std::uint64_t left :
       {bytes.size() - 1, bytes.size() - 40, bytes.size() / 2, std::size_t{7}, std::size_t{1}}) {
    copy();
    write_whole(damaged.file(log), std::string_view(bytes).substr(0, left));
    expect_refused(log, "cut to " + std::to_string(left));
  }
}

// Exactly between two records there is nothing torn to be seen.
TEST_F(KilledStore, ALogThatLacksItsLastRecordIsRefusedByName) {  // req: engine.synced.1
  commit(1, 100);
  copy();
  write_whole(damaged.file(log), bytes);
  expect_refused(log, "without the last record");
}

// req: engine.synced.1, engine.synced.4
TEST_F(KilledStore, EachBitOfTheLastRecordIsGuarded) {
  commit(1, 100);
  const std::string longer = read_whole(live.file(log));
  for (std::uint64_t bit = 0; bit < 7 * 8 + 3; ++bit) {
    std::string changed = longer;
    flip(changed, bytes.size() + bit / 8, bit % 8);
    copy();
    write_whole(damaged.file(log), changed);
    expect_refused(log, "bit " + std::to_string(bit));
  }
}

// A power cut may leave a mark that is older than the log.
TEST_F(KilledStore, AnOlderMarkIsNoDamage) {  // req: engine.synced.2
  const std::string before = read_whole(synced_file(live));
  commit(3, 100);
  copy();
  write_whole(synced_file(damaged), before);
  expect_whole("older mark");
}

TEST_F(KilledStore, OneSlotOfTheMarkIsEnough) {  // req: engine.synced.3
  const std::string mark = read_whole(synced_file(live));
  for (const std::size_t slot : {0U, 4096U}) {
    std::string changed = mark;
    flip(changed, slot + 20, 1);
    copy();
    write_whole(synced_file(damaged), changed);
    expect_whole("slot at " + std::to_string(slot));
  }
}

TEST_F(KilledStore, ALostMarkIsRefusedUntilItIsGivenUp) {  // req: engine.synced.3
  copy();
  std::filesystem::remove(synced_file(damaged));
  expect_refused("SYNCED", "removed");
  write_whole(synced_file(damaged), "");
  expect_refused("SYNCED", "emptied");
  write_whole(synced_file(damaged), std::string(8192, 'x'));
  expect_refused("SYNCED", "overwritten");
  write_whole(synced_file(damaged), "unknown\n");
  const auto report = check_store(damaged.path());
  ASSERT_TRUE(report) << report.error().detail;
  EXPECT_EQ(report->notes.size(), 2U);
  expect_whole("given up");
  EXPECT_FALSE(mark_of(damaged).files.empty()) << "from now on there are claims again";
}

TEST_F(KilledStore, ChangedListsOfTablesAreRefusedByName) {  // req: engine.synced.1
  const std::string current = read_whole(live.file("CURRENT"));
  const std::string list = current.substr(0, current.size() - 1);
  const std::string content = read_whole(live.file(list));
  copy();
  write_whole(damaged.file(list), std::string_view(content).substr(0, content.size() - 20));
  expect_refused(list, "cut");
  for (std::uint64_t at = 0; at < content.size(); at += 61) {
    std::string changed = content;
    flip(changed, at, at % 8);
    copy();
    write_whole(damaged.file(list), changed);
    expect_refused(list, "byte " + std::to_string(at));
  }
  for (const std::string& other : {std::string(), std::string("MANIFEST-000999\n"), list}) {
    copy();
    write_whole(damaged.file("CURRENT"), other);
    expect_refused("CURRENT", "'" + other + "'");
  }
}

// req: engine.check.2
TEST_F(KilledStore, ADirectoryInThePlaceOfAFileIsRefusedByName) {
  std::vector<std::string> names = files_of(live.path(), "");
  for (const char* more : {"CLEAN", "LOG"}) names.emplace_back(more);
  for (const std::string& name : names) {
    copy();
    std::filesystem::remove(damaged.file(name));
    std::filesystem::create_directory(damaged.file(name));
    if (name == "FORMAT") {
      EXPECT_FALSE(check_store(damaged.path()).has_value());
      EXPECT_EQ(look(), Seen::kRefused);
      continue;
    }
    const auto report = check_store(damaged.path());
    ASSERT_TRUE(report) << report.error().detail;
    ASSERT_FALSE(report->whole()) << name;
    EXPECT_NE(report->damage[0].find(name), std::string::npos) << report->damage[0];
    EXPECT_EQ(look(), Seen::kRefused) << name;
    EXPECT_NE(said.find(name), std::string::npos) << said;
  }
}

// Some file systems show a file as long as it was to become, with zeros where nothing was written.
TEST_F(KilledStore, ZerosBehindTheLastRecordAreNormal) {  // req: engine.synced.2
  for (const std::size_t zeros : {3U, 7U, 100U, 40'000U}) {
    copy();
    write_whole(damaged.file(log), bytes + std::string(zeros, '\0'));
    expect_whole(std::to_string(zeros) + " zeros");
  }
}

// Logs of which none is obsolete: RocksDB ends the process when it reads one twice.
class KilledStoreOfManyLogs : public DamageTest {
 protected:
  void SetUp() override {
    StoreOptions options = small("");
    options.memtable_bytes = 64U << 10;
    make(options, 1, 500);
    // Only one family grows; what the first commit wrote to the others keeps all logs.
    while (files_of(live.path(), ".log").size() < 3) commit_hot(2000);
    commit_hot(500);
    logs = files_of(live.path(), ".log");
  }
  void commit_hot(std::size_t bytes) {
    const std::string key = "H" + std::to_string(acknowledged.size());
    acknowledged[key] = value_of(rng, bytes);
    WriteBatch batch;
    batch.put_once(key, Blob::copy_of(acknowledged[key]));
    ASSERT_EQ(store->write(epoch, batch).outcome, CommitOutcome::kDurable);
  }
  std::vector<std::string> logs;
};

// req: engine.synced.1, engine.check.2
TEST_F(KilledStoreOfManyLogs, ALogWithTheRecordsOfAnotherIsRefusedByName) {
  for (const std::string& to : logs) {
    for (const std::string& from : logs) {
      if (from == to) continue;
      copy();
      write_whole(damaged.file(to), read_whole(live.file(from)));
      expect_refused(".log", from + " over " + to);
    }
  }
  copy();
  std::filesystem::rename(damaged.file(logs[1]), damaged.file("swap"));
  std::filesystem::rename(damaged.file(logs[2]), damaged.file(logs[1]));
  std::filesystem::rename(damaged.file("swap"), damaged.file(logs[2]));
  expect_refused(".log", "swapped");
  for (const std::string& log : logs) {
    copy();
    std::filesystem::remove(damaged.file(log));
    expect_refused(log, "removed");
  }
}

// Whatever RocksDB removes and begins anew, a kill at any commit leaves a mark that holds.
TEST_F(DamageTest, AKillNeverLeavesAClaimOfARemovedLog) {  // req: engine.synced.2
  StoreOptions options = small("");
  options.memtable_bytes = 64U << 10;
  make(options, 1, 500);
  for (int life = 0; life < 12; ++life) {
    commit(20 + life * 3, 2000);
    // Without close() it ends as a kill does.
    store.reset();
    copy();
    const auto report = check_store(damaged.path());
    ASSERT_TRUE(report) << report.error().detail;
    // The test's records are no messages: only files are looked at here.
    for (const std::string& damage : report->damage)
      EXPECT_EQ(damage.find(damaged.path()), std::string::npos) << damage;
    expect_whole("life " + std::to_string(life));
    options.directory = live.path();
    auto opened = RocksStore::open(options);
    ASSERT_TRUE(opened) << opened.error().detail;
    store = std::move(*opened);
    epoch = *store->acquire(0);
  }
}

// A power cut takes what was written and not synced of the logs and of the mark, and leaves removed
// files removed.
TEST_F(DamageTest, APowerCutNeverLeavesAClaimOfWhatIsGone) {  // req: engine.synced.2
  StoreOptions options = small("");
  options.memtable_bytes = 64U << 10;
  options.drop_unsynced = true;
  make(options, 1, 500);
  options.directory = live.path();
  for (int life = 0; life < 12; ++life) {
    commit(5 + life * 5, 2000);
    copy();
    expect_whole("life " + std::to_string(life));
    if (life % 3 != 2) continue;
    store.reset();
    auto opened = RocksStore::open(options);
    ASSERT_TRUE(opened) << opened.error().detail;
    store = std::move(*opened);
    epoch = *store->acquire(0);
  }
}

// req: engine.synced.3
TEST_F(DamageTest, AClosedStoreWithoutItsMarkOfTheCloseIsStillGuarded) {
  make(small(""), 30, 500);
  ASSERT_TRUE(store->close());
  store.reset();
  const std::string log = files_of(live.path(), ".log").at(0);
  copy();
  std::filesystem::remove(damaged.file("CLEAN"));
  const std::string bytes = read_whole(live.file(log));
  write_whole(damaged.file(log), std::string_view(bytes).substr(0, bytes.size() - 30));
  expect_refused(log, "cut");
}

}  // namespace
}  // namespace postrider
