#include "postrider/stores/rocks/check.h"

#include <memory>
#include <utility>

#include <rocksdb/db.h>
#include <rocksdb/metadata.h>
#include <rocksdb/sst_file_reader.h>

#include "postrider/stores/rocks/check_records.h"
#include "postrider/stores/rocks/check_tables.h"
#include "postrider/stores/rocks/database.h"
#include "postrider/stores/rocks/directory.h"
#include "postrider/stores/rocks/examine.h"

namespace postrider {
namespace {

using rocks::Database;
using rocks::Directory;

void add_notes(const rocks::Evidence& evidence, CheckReport& report) {
  if (!evidence.clean) report.notes.emplace_back("the store was not closed cleanly");
  if (evidence.synced.unknown)
    report.notes.emplace_back("SYNCED was given up: a lost or shortened log is not noticed");
  for (const rocks::WalFile& wal : evidence.wals) {
    if (wal.scan.broken)
      report.notes.push_back(wal.name +
                             " ends with an unfinished record, which is normal after a "
                             "crash");
  }
}

rocks::RecordSource source_of(Database& database, CheckReport& report) {
  rocks::RecordSource source;
  source.epochs_given = rocks::epochs_given(database).value_or(0);
  source.get = [&database](std::string_view key) -> std::optional<std::string> {
    std::string value;
    const rocksdb::Status status = database.db().Get(rocksdb::ReadOptions(), database.handle(key),
                                                     {key.data(), key.size()}, &value);
    if (!status.ok()) return std::nullopt;  // a table that cannot be read is named elsewhere
    return value;
  };
  source.for_each = [&database, &report](std::string_view first, std::string_view last,
                                         const auto& visit) {
    rocksdb::ReadOptions options;
    options.fill_cache = false;
    const rocksdb::Status status =
        database.for_each(options, first, last, [&](std::string_view key, std::string_view value) {
          visit(key, value);
          return true;
        });
    if (!status.ok()) report.add_damage("records cannot be read: " + status.ToString());
    return status.ok();
  };
  return source;
}

}  // namespace

void rocks::check_tables(Database& database, CheckReport& report) {
  std::vector<rocksdb::LiveFileMetaData> files;
  database.db().GetLiveFilesMetaData(&files);
  for (const rocksdb::LiveFileMetaData& file : files) {
    rocksdb::Options options;
    rocksdb::SstFileReader reader(options);
    const std::string path = file.db_path + file.name;
    rocksdb::Status status = reader.Open(path);
    if (status.ok()) status = reader.VerifyChecksum();
    if (!status.ok()) report.add_damage(path + ": " + status.ToString());
  }
}

void CheckReport::add_damage(std::string line) {
  ++damages;
  if (damage.size() < kLinesMax) damage.push_back(std::move(line));
}

Result<CheckReport> check_store(const std::string& path) {
  POSTRIDER_TRY(directory, Directory::open(path, Directory::Use::kCheck));
  POSTRIDER_TRY(stage, directory->stage());
  if (stage == Directory::Stage::kJournal)
    return fail(ErrorCode::kInvalid, path + " is a store with a journal");
  if (stage != Directory::Stage::kReady)
    return fail(ErrorCode::kNotFound, "there is no store in " + path);
  CheckReport report;
  const auto evidence = rocks::examine(*directory);
  if (!evidence) {
    report.add_damage(evidence.error().detail);
    return report;
  }
  add_notes(*evidence, report);
  StoreOptions options;
  options.directory = path;
  const auto database = Database::open(options, Database::Mode::kReadOnly);
  if (!database) {
    report.add_damage(database.error().detail);
    return report;
  }
  const Result<void> reaches =
      rocks::reaches_its_mark(*directory, *evidence, (*database)->db().GetLatestSequenceNumber());
  if (!reaches) report.add_damage(reaches.error().detail);
  rocks::check_tables(**database, report);
  const auto epochs = rocks::epochs_given(**database);
  if (!epochs) report.add_damage(epochs.error().detail);
  rocks::check_records(source_of(**database, report), report);
  return report;
}

}  // namespace postrider
