#include "postrider/stores/rocks/rocks_map.h"

#include <filesystem>
#include <mutex>
#include <system_error>
#include <utility>
#include <vector>

#include <rocksdb/convenience.h>
#include <rocksdb/sst_file_writer.h>

#include "postrider/base/check.h"
#include "postrider/base/codec.h"
#include "postrider/stores/rocks/database.h"
#include "postrider/stores/rocks/directory.h"
#include "postrider/stores/rocks/notices.h"
#include "postrider/stores/rocks/reads.h"
#include "postrider/stores/rocks/reclaim.h"

namespace postrider::rocks {
namespace {

// Beside the tables of the database, which takes every file of its own directory for its own.
constexpr const char* kRuns = "/runs";
constexpr std::uint8_t kMarkVersion = 1;

std::string mark_key() { return {kOwnSpace, 'm'}; }
std::string mark_of(GroupNumber last) {
  std::string record;
  Writer(record).u8(kMarkVersion).u64(last.value());
  seal_record(record);
  return record;
}

// The sorted file of one family. It is begun with its first record: a family without any has none.
class RunFile {
 public:
  RunFile(Database& database, Family family, std::string path)
      : database_(database), family_(family), path_(std::move(path)) {}

  rocksdb::Status put(std::string_view key, std::string_view value) {
    rocksdb::Status begun = begin();
    return begun.ok() ? writer_->Put(slice_of(key), slice_of(value)) : begun;
  }
  rocksdb::Status remove(std::string_view key) {
    rocksdb::Status begun = begin();
    return begun.ok() ? writer_->Delete(slice_of(key)) : begun;
  }
  // Records of the same file are newer than this, in whatever order they come.
  rocksdb::Status remove_range(std::string_view first, std::string_view last) {
    rocksdb::Status begun = begin();
    return begun.ok() ? writer_->DeleteRange(slice_of(first), slice_of(last)) : begun;
  }
  // Synced when it returns. False: there is no file.
  Result<bool> finish() {
    if (!writer_) return false;
    const rocksdb::Status status = writer_->Finish();
    if (!status.ok()) return tl::unexpected<Error>(error_of(status, "cannot write " + path_));
    return true;
  }
  rocksdb::IngestExternalFileArg argument() const {
    rocksdb::IngestExternalFileArg out;
    out.column_family = database_.handle(family_);
    out.external_files = {path_};
    out.options.move_files = true;
    // Nothing is in a memtable; were something there, the files would have to go behind it.
    out.options.allow_blocking_flush = false;
    return out;
  }
  const std::string& path() const { return path_; }

 private:
  rocksdb::Status begin() {
    if (writer_) return rocksdb::Status::OK();
    const rocksdb::Options options(database_.db().GetDBOptions(),
                                   database_.db().GetOptions(database_.handle(family_)));
    writer_ = std::make_unique<rocksdb::SstFileWriter>(rocksdb::EnvOptions(), options,
                                                       database_.handle(family_));
    return writer_->Open(path_);
  }

  Database& database_;
  Family family_;
  std::string path_;
  std::unique_ptr<rocksdb::SstFileWriter> writer_;
};

class RunFiles {
 public:
  RunFiles(Database& database, const std::string& directory) : database_(database) {
    files_.reserve(kFamilies);
    for (std::size_t i = 0; i < kFamilies; ++i)
      files_.emplace_back(database, static_cast<Family>(i),
                          directory + "/" + std::to_string(i) + ".sst");
  }

  Result<void> write(const Run& run) {
    rocksdb::Status status;
    for (const auto& [first, last] : run.removed_ranges) {
      split_range(first, last, [&](const FamilyRange& range) {
        status = of(range.family).remove_range(range.first, range.last);
        return status.ok();
      });
      if (!status.ok()) return failed(status);
    }
    for (const auto& [key, value] : run.records) {
      POSTRIDER_CHECK(key.empty() || key[0] != kOwnSpace);
      RunFile& file = of(family_of(key));
      status = value ? file.put(key, *value) : file.remove(key);
      if (!status.ok()) return failed(status);
    }
    // The store's own space is the last one, so the mark is the last record of its file.
    status = of(family_of(mark_key())).put(mark_key(), mark_of(run.last));
    return status.ok() ? Result<void>() : failed(status);
  }

  Result<void> hand_over() {
    std::vector<rocksdb::IngestExternalFileArg> arguments;
    for (RunFile& file : files_) {
      POSTRIDER_TRY(is_there, file.finish());
      if (is_there) arguments.push_back(file.argument());
    }
    const rocksdb::Status status = database_.db().IngestExternalFiles(arguments);
    return status.ok() ? Result<void>() : failed(status);
  }

 private:
  RunFile& of(Family family) { return files_[static_cast<std::size_t>(family)]; }
  Result<void> failed(const rocksdb::Status& status) const {
    if (!database_.is_full(status))
      return fail(ErrorCode::kUnavailable,
                  "cannot load a run into " + database_.db().GetName() + ": " +
                      database_.cause_of(status));
    return fail(ErrorCode::kLimit, "no room to load a run into " + database_.db().GetName() + ": " +
                                       status.ToString());
  }

  Database& database_;
  std::vector<RunFile> files_;
};

Result<std::unique_ptr<Database>> open_database(const StoreOptions& options, RocksMap::Mode mode) {
  using Mode = RocksMap::Mode;
  std::error_code error;
  if (mode != Mode::kReadOnly)
    std::filesystem::create_directories(options.directory + kRuns, error);
  if (error)
    return fail(
        error == std::errc::no_space_on_device ? ErrorCode::kLimit : ErrorCode::kUnavailable,
        "cannot make " + options.directory + kRuns + ": " + error.message());
  Database::Mode open_mode = Database::Mode::kOpen;
  if (mode == Mode::kCreate) open_mode = Database::Mode::kCreate;
  if (mode == Mode::kReadOnly) open_mode = Database::Mode::kReadOnly;
  return Database::open(options, open_mode, nullptr,
                        make_notices(options.tell, options.notices_per_minute_max),
                        Database::FedBy::kRuns);
}

tl::unexpected<Error> gone() {
  return fail(ErrorCode::kUnavailable, "the map could not be opened again");
}

}  // namespace

Result<std::unique_ptr<RocksMap>> RocksMap::open(const StoreOptions& options, Mode mode) {
  POSTRIDER_TRY(database, open_database(options, mode));
  return std::unique_ptr<RocksMap>(new RocksMap(std::move(database), options));
}

RocksMap::RocksMap(std::unique_ptr<Database> database, const StoreOptions& options)
    : options_(options), directory_(options.directory), database_(std::move(database)) {}
RocksMap::~RocksMap() = default;

Result<void> RocksMap::load(const Run& run) {
  if (is_stuck_ && database_) {
    // Whether the disk has room again is tried before the database is closed.
    RunFiles files(*database_, directory_ + kRuns);
    if (auto written = files.write(run); !written) return written;
  }
  if (is_stuck_) {
    if (auto opened = open_again(); !opened) return opened;
  }
  RunFiles files(*database_, directory_ + kRuns);
  if (auto written = files.write(run); !written) return written;
  Result<void> handed = files.hand_over();
  is_stuck_ = !handed;
  return handed;
}

// A list of tables that met a full disk stops RocksDB for good, and what it has in memory is not to
// be trusted; what the disk has is.
Result<void> RocksMap::open_again() {
  end_reclaim();
  const std::unique_lock lock(mutex_);
  database_.reset();
  POSTRIDER_TRY(database, open_database(options_, Mode::kOpen));
  database_ = std::move(database);
  is_stuck_ = false;
  reclaim_ended_ = false;
  return {};
}

Result<GroupNumber> RocksMap::loaded() {
  const std::shared_lock lock(mutex_);
  if (!database_) return gone();
  std::string record;
  const rocksdb::Status status = database_->db().Get(
      rocksdb::ReadOptions(), database_->handle(mark_key()), mark_key(), &record);
  if (status.IsNotFound()) return GroupNumber();
  if (!status.ok())
    return tl::unexpected<Error>(error_of(status, "cannot read the mark of " + directory_));
  Reader reader = open_record(record, kMarkVersion);
  const GroupNumber last(reader.u64());
  if (!reader.at_end())
    return fail(ErrorCode::kCorrupt, "the mark of loads in " + directory_ + " cannot be read");
  return last;
}

Result<Found> RocksMap::read(const Reads& reads) {
  const std::shared_lock lock(mutex_);
  if (!database_) return gone();
  return read_from(*database_, reads);
}

StoreMemory RocksMap::memory() {
  const std::shared_lock lock(mutex_);
  StoreMemory out;
  if (!database_) return out;
  (void)database_->db().GetAggregatedIntProperty("rocksdb.estimate-table-readers-mem",
                                                 &out.tables);
  // The families share one cache: the sum would count it three times.
  (void)database_->db().GetIntProperty("rocksdb.block-cache-usage", &out.cache);
  return out;
}

std::uint64_t RocksMap::reclaim(const Directory& directory) {
  const auto file_bytes = [&directory] {
    std::uint64_t sum = 0;
    const auto files = directory.database_files();
    if (!files) return sum;
    for (const FileSize& file : *files) sum += file.bytes;
    return sum;
  };
  const std::shared_lock lock(mutex_);
  if (!database_ || reclaim_ended_) return 0;
  const std::uint64_t before = file_bytes();
  rocks::reclaim(*database_, directory, reclaim_ended_);
  const std::uint64_t after = file_bytes();
  return before > after ? before - after : 0;
}

void RocksMap::end_reclaim() {
  reclaim_ended_ = true;
  const std::shared_lock lock(mutex_);
  if (database_) rocksdb::CancelAllBackgroundWork(&database_->db(), false);
}

Result<void> RocksMap::close() {
  if (!database_) return gone();
  const rocksdb::Status closed = database_->close();
  if (closed.ok()) return {};
  return tl::unexpected<Error>(error_of(closed, "cannot close " + directory_));
}

}  // namespace postrider::rocks
