#include "postrider/stores/rocks/database.h"

#include <algorithm>
#include <atomic>
#include <limits>
#include <mutex>
#include <utility>

#include <rocksdb/cache.h>
#include <rocksdb/convenience.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/listener.h>
#include <rocksdb/sst_file_manager.h>
#include <rocksdb/table.h>
#include <rocksdb/utilities/table_properties_collectors.h>

#include "postrider/base/codec.h"
#include "postrider/model/records/keys.h"
#include "postrider/stores/rocks/faulty_files.h"
#include "postrider/stores/rocks/guarded_files.h"
#include "postrider/stores/rocks/notices.h"

namespace postrider::rocks {
namespace {

constexpr std::array<const char*, kFamilies> kNames = {"default", "hot", "kept"};

constexpr std::array<Family, 256> make_families() {
  std::array<Family, 256> families{};
  families[static_cast<unsigned char>(keys::kHot)] = Family::kHot;
  for (const char space : {keys::kLedger, keys::kSession, keys::kLog, keys::kEnd, keys::kDead})
    families[static_cast<unsigned char>(space)] = Family::kKept;
  return families;
}
constexpr std::array<Family, 256> kFamilyOf = make_families();

// Every one-byte key, to point at where a family ends.
constexpr std::array<char, 256> make_bytes() {
  std::array<char, 256> bytes{};
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(i);
  return bytes;
}
constexpr std::array<char, 256> kBytes = make_bytes();

unsigned first_byte(std::string_view key) {
  return key.empty() ? 0U : static_cast<unsigned char>(key[0]);
}

constexpr std::uint8_t kEpochVersion = 1;
std::string epoch_key() { return {kOwnSpace, 'e'}; }

rocksdb::DBOptions database_options(const StoreOptions& options, rocksdb::Env* env) {
  rocksdb::DBOptions out;
  out.env = env;
  out.paranoid_checks = true;
  out.wal_recovery_mode = rocksdb::WALRecoveryMode::kTolerateCorruptedTailRecords;
  out.track_and_verify_wals_in_manifest = true;
  out.max_total_wal_size = options.wal_bytes_max;
  out.bytes_per_sync = 1U << 20;
  out.max_background_jobs = options.background_jobs;
  out.max_subcompactions = 2;
  out.delayed_write_rate = 64U << 20;
  // One thread writes: locks and pipelines for several would only cost.
  out.allow_concurrent_memtable_write = false;
  out.enable_write_thread_adaptive_yield = false;
  out.max_open_files = options.open_files_max;
  out.skip_stats_update_on_db_open = true;  // a restart must not read every table
  out.skip_checking_sst_file_sizes_on_db_open = false;
  out.max_manifest_file_size = options.manifest_bytes_max;
  out.info_log_level = rocksdb::InfoLogLevel::WARN_LEVEL;
  out.stats_dump_period_sec = 0;
  out.stats_persist_period_sec = 0;
  return out;
}

rocksdb::ColumnFamilyOptions family_options(const StoreOptions& options, Family family,
                                            const std::shared_ptr<rocksdb::TableFactory>& tables) {
  rocksdb::ColumnFamilyOptions out;
  out.write_buffer_size = options.memtable_bytes;
  out.max_write_buffer_number = options.memtables_max;
  out.level_compaction_dynamic_level_bytes = true;
  out.max_bytes_for_level_base = 512U << 20;
  // A backlog comes in scattered over all destinations, so each compaction of level 0 rewrites the
  // whole next level: fewer and larger ones, and room enough before writes are held up.
  out.level0_file_num_compaction_trigger = 12;
  out.level0_slowdown_writes_trigger = 64;
  out.level0_stop_writes_trigger = 96;
  out.target_file_size_base = 64U << 20;
  out.compression = rocksdb::kLZ4Compression;
  out.table_factory = tables;
  // Gives the room of removed messages back soon.
  out.table_properties_collector_factories.push_back(
      rocksdb::NewCompactOnDeletionCollectorFactory(4096, 2048, 0.5));
  // Hot messages are hardly ever asked for when they are not there.
  if (family != Family::kHot) {
    out.memtable_whole_key_filtering = true;
    out.memtable_prefix_bloom_size_ratio = 0.05;
  }
  return out;
}

// Runs come sorted and seldom. Merging few large ones at a time writes each record few times, and a
// load waits for none of it.
void make_tiered(rocksdb::ColumnFamilyOptions& options) {
  constexpr int kRunsMax = 64;
  options.compaction_style = rocksdb::kCompactionStyleUniversal;
  options.compaction_options_universal.max_size_amplification_percent = 200;
  options.level0_file_num_compaction_trigger = 8;
  options.level0_slowdown_writes_trigger = kRunsMax;
  options.level0_stop_writes_trigger = 2 * kRunsMax;
}

std::shared_ptr<rocksdb::TableFactory> table_factory(const StoreOptions& options) {
  rocksdb::BlockBasedTableOptions out;
  out.block_size = 16U << 10;
  out.filter_policy.reset(rocksdb::NewBloomFilterPolicy(10));
  // A few large parts: in a small one the filter of a table with short records finds no room and
  // is read anew each time that somebody asks.
  constexpr int kPartBits = 2;
  out.block_cache = rocksdb::NewLRUCache(options.cache_bytes, kPartBits);
  out.cache_index_and_filter_blocks = true;
  // In parts, so that a look takes the few that it needs. Whole ones of tables that compaction has
  // long replaced would fill the cache.
  out.index_type = rocksdb::BlockBasedTableOptions::kTwoLevelIndexSearch;
  out.partition_filters = true;
  out.pin_l0_filter_and_index_blocks_in_cache = true;
  return std::shared_ptr<rocksdb::TableFactory>(rocksdb::NewBlockBasedTableFactory(out));
}

// Null: a write of ours, whose error says enough by itself.
const char* work_of(rocksdb::BackgroundErrorReason reason) {
  using Reason = rocksdb::BackgroundErrorReason;
  switch (reason) {
    case Reason::kFlush:
    case Reason::kFlushNoWAL: return "writing a table";
    case Reason::kCompaction: return "a compaction";
    case Reason::kManifestWrite:
    case Reason::kManifestWriteNoWAL: return "writing the manifest";
    case Reason::kWriteCallback:
    case Reason::kMemTable: return nullptr;
  }
  return nullptr;  // of a newer library
}

// Of RocksDB's errors about its lock those that mean that somebody has it.
bool is_locked(const std::string& text) {
  return text.find("While lock file: ") != std::string::npos ||
         text.find("lock hold by current process") != std::string::npos;
}

Error opening_error(const rocksdb::Status& status, const std::string& directory) {
  const std::string text = status.ToString();
  if (is_locked(text))
    return {ErrorCode::kConflict, "another process uses " + directory + " (" + text + ")"};
  Error error = error_of(status, "cannot open the store in " + directory);
  if (error.code == ErrorCode::kCorrupt)
    error.detail += ". Restore the directory from a backup, or look at it with 'postrider check'";
  return error;
}

}  // namespace

// Remembers why work in the background failed.
class Database::Background final : public rocksdb::EventListener {
 public:
  void OnBackgroundError(rocksdb::BackgroundErrorReason reason, rocksdb::Status* status) override {
    if (status->IsNoSpace()) {
      no_space = true;
      return;
    }
    const char* work = work_of(reason);
    const std::lock_guard lock(mutex_);
    if (work != nullptr && cause_.empty())
      cause_ = std::string(work) + " failed: " + status->ToString();
  }
  std::string cause() const {
    const std::lock_guard lock(mutex_);
    return cause_;
  }
  std::atomic<bool> no_space{false};

 private:
  mutable std::mutex mutex_;
  std::string cause_;  // the first: what follows are its consequences
};

class Database::Files final : public rocksdb::FileSystemWrapper {
 public:
  using FileSystemWrapper::FileSystemWrapper;
  const char* Name() const override { return "PostriderFiles"; }
  // A compaction would take as much room beforehand as goes in, up to the last block of the disk,
  // though hardly anything may come out: then logs and other tables have none.
  rocksdb::IOStatus NewWritableFile(const std::string& name, const rocksdb::FileOptions& options,
                                    std::unique_ptr<rocksdb::FSWritableFile>* out,
                                    rocksdb::IODebugContext* debug) override {
    rocksdb::FileOptions as_needed = options;
    if (name.ends_with(".sst")) as_needed.allow_fallocate = false;
    return target()->NewWritableFile(name, as_needed, out, debug);
  }
  rocksdb::IOStatus GetFreeSpace(const std::string& path, const rocksdb::IOOptions& options,
                                 std::uint64_t* bytes, rocksdb::IODebugContext* debug) override {
    const rocksdb::IOStatus status = target()->GetFreeSpace(path, options, bytes, debug);
    if (status.ok() && assume_room) *bytes = std::numeric_limits<std::uint64_t>::max();
    return status;
  }
  std::atomic<bool> assume_room{false};
};

Database::Database() : background_(std::make_shared<Background>()) {}

Database::AssumedRoom::AssumedRoom(Database& database) : database_(database) {
  database_.files_->assume_room = true;
}
Database::AssumedRoom::~AssumedRoom() { database_.files_->assume_room = false; }

void Database::make_env(const StoreOptions& options, std::shared_ptr<SyncedFile> synced) {
  std::shared_ptr<rocksdb::FileSystem> files = rocksdb::FileSystem::Default();
  if (options.drop_unsynced || options.faults)
    files = make_faulty_files(std::move(files), options.faults, options.drop_unsynced);
  if (synced) files = make_guarded_files(std::move(files), std::move(synced));
  files_ = std::make_shared<Files>(std::move(files));
  // Compaction is not put behind our own threads: on a busy machine it would starve, and then
  // writes would wait for it.
  env_ = rocksdb::NewCompositeEnv(files_);
}

bool Database::is_full(const rocksdb::Status& status) const {
  return status.IsNoSpace() || (status.IsIncomplete() && background_->no_space);
}

std::string Database::cause_of(const rocksdb::Status& status) const {
  const std::string cause = background_->cause();
  return cause.empty() || is_full(status) ? status.ToString() : cause;
}

Family family_of(std::string_view key) { return kFamilyOf[first_byte(key)]; }

Error error_of(const rocksdb::Status& status, const std::string& what) {
  ErrorCode code = ErrorCode::kUnavailable;
  if (status.IsCorruption()) code = ErrorCode::kCorrupt;
  if (status.IsNoSpace()) code = ErrorCode::kLimit;
  return {code, what + ": " + status.ToString()};
}

void split_range(std::string_view first, std::string_view last,
                 const std::function<bool(const FamilyRange&)>& visit) {
  while (first < last) {
    const Family family = family_of(first);
    unsigned end = first_byte(first) + 1;
    while (end < kBytes.size() && kFamilyOf[end] == family) ++end;
    std::string_view next = last;
    if (end < kBytes.size()) next = std::min(last, std::string_view(&kBytes[end], 1));
    if (!visit({family, first, next})) return;
    first = next;
  }
}

Result<std::unique_ptr<Database>> Database::open(const StoreOptions& options, Mode mode,
                                                 std::shared_ptr<SyncedFile> synced,
                                                 std::shared_ptr<rocksdb::Logger> log,
                                                 FedBy fed_by) {
  std::unique_ptr<Database> out(new Database());
  out->make_env(options, std::move(synced));
  rocksdb::DBOptions whole = database_options(options, out->env_.get());
  // Never RocksDB's own, which writes into the directory.
  whole.info_log = log ? std::move(log) : make_notices({}, 0);
  whole.listeners.push_back(out->background_);
  if (mode != Mode::kReadOnly) {
    // Lets compactions that met a full disk go on by themselves when there is room again.
    whole.sst_file_manager.reset(rocksdb::NewSstFileManager(out->env_.get()));
  }
  whole.create_if_missing = mode == Mode::kCreate;
  whole.create_missing_column_families = mode == Mode::kCreate;
  const std::shared_ptr<rocksdb::TableFactory> tables = table_factory(options);
  std::vector<rocksdb::ColumnFamilyDescriptor> families;
  for (std::size_t i = 0; i < kFamilies; ++i) {
    families.emplace_back(kNames[i], family_options(options, static_cast<Family>(i), tables));
    if (fed_by == FedBy::kRuns) make_tiered(families.back().options);
  }
  if (fed_by == FedBy::kRuns) {
    whole.max_background_jobs = 2;  // a thread for flushes, which there are none of, and one
    whole.max_subcompactions = 1;
    out->env_->SetBackgroundThreads(1, rocksdb::Env::LOW);
    out->env_->LowerThreadPoolCPUPriority(rocksdb::Env::LOW);
  }
  rocksdb::DB* db = nullptr;
  const rocksdb::Status status =
      mode == Mode::kReadOnly
          ? rocksdb::DB::OpenForReadOnly(whole, options.directory, families, &out->handles_, &db)
          : rocksdb::DB::Open(whole, options.directory, families, &out->handles_, &db);
  if (!status.ok()) return tl::unexpected<Error>(opening_error(status, options.directory));
  out->db_.reset(db);
  return out;
}

Database::~Database() { (void)close(); }

rocksdb::Status Database::close() {
  if (!db_) return rocksdb::Status::OK();
  rocksdb::CancelAllBackgroundWork(db_.get(), true);
  for (rocksdb::ColumnFamilyHandle* handle : handles_) (void)db_->DestroyColumnFamilyHandle(handle);
  handles_.clear();
  rocksdb::Status status = db_->Close();
  db_.reset();
  return status;
}

rocksdb::Status Database::for_each(const rocksdb::ReadOptions& options, std::string_view first,
                                   std::string_view last, const Visit& visit) {
  rocksdb::Status status;
  split_range(first, last, [&](const FamilyRange& range) {
    const rocksdb::Slice upper(range.last.data(), range.last.size());
    rocksdb::ReadOptions bounded = options;
    bounded.iterate_upper_bound = &upper;
    const std::unique_ptr<rocksdb::Iterator> at(db_->NewIterator(bounded, handle(range.family)));
    bool wanted = true;
    for (at->Seek({range.first.data(), range.first.size()}); wanted && at->Valid(); at->Next())
      wanted = visit(at->key().ToStringView(), at->value().ToStringView());
    status = at->status();
    return wanted && status.ok();
  });
  return status;
}

rocksdb::Status Database::for_each_backward(const rocksdb::ReadOptions& options,
                                            std::string_view first, std::string_view last,
                                            const Visit& visit) {
  std::vector<FamilyRange> ranges;
  split_range(first, last, [&](const FamilyRange& range) {
    ranges.push_back(range);
    return true;
  });
  rocksdb::Status status;
  bool wanted = true;
  for (auto range = ranges.rbegin(); wanted && status.ok() && range != ranges.rend(); ++range) {
    const rocksdb::Slice lower(range->first.data(), range->first.size());
    const rocksdb::Slice upper(range->last.data(), range->last.size());
    rocksdb::ReadOptions bounded = options;
    bounded.iterate_lower_bound = &lower;
    bounded.iterate_upper_bound = &upper;
    const std::unique_ptr<rocksdb::Iterator> at(db_->NewIterator(bounded, handle(range->family)));
    for (at->SeekToLast(); wanted && at->Valid(); at->Prev())
      wanted = visit(at->key().ToStringView(), at->value().ToStringView());
    status = at->status();
  }
  return status;
}

Result<std::uint64_t> epochs_given(Database& database) {
  std::string record;
  const rocksdb::Status status =
      database.db().Get(rocksdb::ReadOptions(), database.handle(epoch_key()), epoch_key(), &record);
  if (!status.ok()) record.clear();
  Reader reader = open_record(record, kEpochVersion);
  const std::uint64_t given = reader.u64();
  if (reader.at_end()) return given;
  return fail(ErrorCode::kCorrupt, "the record of epochs in " + database.db().GetName() +
                                       " cannot be read (" + status.ToString() +
                                       "): restore the directory from a backup");
}

rocksdb::Status put_epochs_given(Database& database, const rocksdb::WriteOptions& options,
                                 std::uint64_t given) {
  std::string record;
  Writer(record).u8(kEpochVersion).u64(given);
  seal_record(record);
  return database.db().Put(options, database.handle(epoch_key()), epoch_key(), record);
}

}  // namespace postrider::rocks
