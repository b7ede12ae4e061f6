#include "postrider/stores/rocks/rocks_store.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <utility>
#include <vector>

#include <rocksdb/convenience.h>
#include <rocksdb/file_system.h>
#include <rocksdb/write_batch.h>

#include "postrider/base/check.h"
#include "postrider/stores/rocks/database.h"
#include "postrider/stores/rocks/directory.h"
#include "postrider/stores/rocks/examine.h"
#include "postrider/stores/rocks/leftovers.h"
#include "postrider/stores/rocks/notices.h"
#include "postrider/stores/rocks/reads.h"
#include "postrider/stores/rocks/reclaim.h"
#include "postrider/stores/rocks/synced_mark.h"

namespace postrider {
namespace {

using rocks::Database;
using rocks::Directory;
using rocks::slice_of;

constexpr std::uint64_t kEpochMax = (std::uint64_t{1} << (64 - kCounterBits)) - 1;
// A probe of this size tells whether a full disk has room again: opening the database writes
// tables.
constexpr std::size_t kProbeBytes = 1U << 20;
constexpr const char* kProbeFile = "PROBE";

std::uint64_t first_bytes(std::string_view key) {
  std::uint64_t out = 0;
  for (std::size_t i = 0; i < sizeof out; ++i)
    out = out << 8U | (i < key.size() ? static_cast<unsigned char>(key[i]) : 0U);
  return out;
}

// What to do about it is said here, because the daemon cannot start and say it.
std::string no_room(const StoreOptions& options, const std::string& detail) {
  return "the disk has no room to open the store in " + options.directory +
         ". Nothing is lost: make room outside of the directory, or copy it whole to a larger "
         "disk, "
         "and start again (" +
         detail + ")";
}

}  // namespace

class RocksStore::Impl {
 public:
  explicit Impl(StoreOptions options)
      : options_(std::move(options)),
        log_(rocks::make_notices(options_.tell, options_.notices_per_minute_max)) {}

  Result<void> open();
  Result<Epoch> acquire(std::uint32_t shard);
  Written write(Epoch epoch, const WriteBatch& batch);
  Result<Found> read(const Reads& reads);
  Result<void> close();
  Result<std::uint64_t> hand_over();
  Result<void> for_each(std::string_view first, std::string_view last, const Visit& visit);
  std::uint64_t reclaim();
  void end_reclaim();

  StoreOptions options_;
  std::shared_ptr<rocksdb::Logger> log_;  // shared with the database and what outlives it
  std::unique_ptr<Directory> directory_;
  std::shared_ptr<rocks::SyncedFile> synced_;  // shared with the files that RocksDB writes
  // Readers share it; acquire has it alone while it opens the database again.
  std::shared_mutex database_mutex_;
  std::unique_ptr<Database> database_;

 private:
  enum class Health : std::uint8_t {
    kGood,
    kFull,  // a write met a full disk: nothing is written until acquire has opened the store again
    kLost,  // a write or a sync failed: nothing is written any more
  };

  Result<void> create();
  Result<void> open_ready();
  Result<void> open_database(Database::Mode mode);
  Result<void> open_again();
  Result<void> probe();
  bool owns(Epoch epoch) const;
  void fill(const WriteBatch& batch);
  void fill(const Write& write);
  Written failed(const rocksdb::Status& status);
  rocks::SyncedFile::Keeps mark_keeps() const {
    return options_.drop_unsynced ? rocks::SyncedFile::Keeps::kSynced
                                  : rocks::SyncedFile::Keeps::kWritten;
  }
  rocksdb::WriteOptions write_options() const {
    rocksdb::WriteOptions out;
    out.sync = options_.sync;
    return out;
  }

  // A write and its place in the order of keys.
  struct Placed {
    std::uint64_t first_bytes;
    const Write* write;
    bool operator<(const Placed& other) const {
      if (first_bytes != other.first_bytes) return first_bytes < other.first_bytes;
      const int order = write->key.compare(other.write->key);
      return order != 0 ? order < 0 : write < other.write;
    }
  };

  rocksdb::WriteBatch batch_;              // its memory is used again, …
  std::vector<Placed> placed_;             // … and so is this
  std::map<std::uint32_t, Epoch> owners_;  // by shard; at most kShards
  std::uint64_t epochs_given_ = 0;
  Health health_ = Health::kGood;
  std::string why_;  // not good
  std::atomic<bool> reclaim_ended_{false};
};

Result<void> RocksStore::Impl::open() {
  POSTRIDER_TRY(directory, Directory::open(options_.directory, Directory::Use::kWrite));
  directory_ = std::move(directory);
  POSTRIDER_TRY(stage, directory_->stage());
  if (stage == Directory::Stage::kJournal)
    return fail(ErrorCode::kInvalid, directory_->path() +
                                         " is a store with a journal: open it with store.kind = "
                                         "\"journal\"");
  const Result<void> closed = directory_->close_to_others();
  if (!closed) return closed;
  return stage == Directory::Stage::kReady ? open_ready() : create();
}

// FORMAT says "creating" until the store can be opened, so a ready store without its database is
// never taken for a new one.
Result<void> RocksStore::Impl::create() {
  const Result<void> begun = directory_->set_stage(Directory::Stage::kCreating);
  if (!begun) return begun;
  POSTRIDER_TRY(synced, rocks::SyncedFile::create(directory_->path(), mark_keeps()));
  synced_ = std::move(synced);
  const Result<void> opened = open_database(Database::Mode::kCreate);
  if (!opened) return opened;
  const rocksdb::Status status = rocks::put_epochs_given(*database_, write_options(), 0);
  if (!status.ok())
    return tl::unexpected<Error>(rocks::error_of(status, "cannot write to " + directory_->path()));
  return directory_->set_stage(Directory::Stage::kReady);
}

Result<void> RocksStore::Impl::open_ready() {
  POSTRIDER_TRY(evidence, rocks::examine(*directory_));
  // From here on RocksDB changes files, so the mark of a clean close would be wrong.
  if (evidence.clean) {
    const Result<void> removed = directory_->remove_clean();
    if (!removed) return removed;
  }
  POSTRIDER_TRY(synced, rocks::SyncedFile::open(directory_->path(), evidence.synced, mark_keeps()));
  synced_ = std::move(synced);
  const Result<void> opened = open_database(Database::Mode::kOpen);
  if (!opened) return opened;
  const Result<void> reaches =
      rocks::reaches_its_mark(*directory_, evidence, database_->db().GetLatestSequenceNumber());
  if (!reaches) {
    (void)directory_->write_clean(evidence.clean->sequence);  // the next opening refuses as well
    return reaches;
  }
  POSTRIDER_TRY(given, rocks::epochs_given(*database_));
  epochs_given_ = given;
  return {};
}

Result<void> RocksStore::Impl::open_database(Database::Mode mode) {
  POSTRIDER_TRY(before, directory_->database_files());
  auto opened = Database::open(options_, mode, synced_, log_);
  if (!opened) {
    if (opened.error().code == ErrorCode::kLimit)
      rocks::remove_leftovers(options_, *directory_, before);
    return tl::unexpected<Error>(std::move(opened.error()));
  }
  database_ = std::move(*opened);
  return {};
}

Result<Epoch> RocksStore::Impl::acquire(std::uint32_t shard) {
  if (shard >= kShards) return fail(ErrorCode::kInvalid, "there is no such shard");
  if (epochs_given_ == kEpochMax) return fail(ErrorCode::kLimit, "all epochs are used up");
  if (health_ == Health::kLost) return fail(ErrorCode::kUnavailable, why_);
  if (health_ == Health::kFull) {
    Result<void> ready = probe();
    if (ready) ready = open_again();
    if (!ready) return tl::unexpected<Error>(ready.error());
  }
  // A number that may have been written is not given again, whether it was or not.
  const Epoch epoch(++epochs_given_);
  const rocksdb::Status status =
      rocks::put_epochs_given(*database_, write_options(), epochs_given_);
  if (!status.ok()) {
    // A full disk that stopped the background stops this write by a status of its own.
    (void)failed(status);
    return fail(health_ == Health::kFull ? ErrorCode::kLimit : ErrorCode::kUnavailable, why_);
  }
  owners_[shard] = epoch;
  return epoch;
}

// Asks the disk with little, before the database is closed and can no longer be read.
Result<void> RocksStore::Impl::probe() {
  if (!database_) return {};
  rocksdb::FileSystem& files = database_->files();
  const std::string name = directory_->file(kProbeFile);
  std::unique_ptr<rocksdb::FSWritableFile> file;
  rocksdb::IOStatus status = files.NewWritableFile(name, rocksdb::FileOptions(), &file, nullptr);
  if (status.ok()) {
    status = file->Append(std::string(kProbeBytes, 'x'), rocksdb::IOOptions(), nullptr);
    if (status.ok()) status = file->Fsync(rocksdb::IOOptions(), nullptr);
    (void)file->Close(rocksdb::IOOptions(), nullptr);
  }
  (void)files.DeleteFile(name, rocksdb::IOOptions(), nullptr);
  if (status.ok()) return {};
  return tl::unexpected<Error>(rocks::error_of(status, "cannot write to " + directory_->path()));
}

// What RocksDB holds in memory after a failed write is not to be trusted; what the disk holds is.
// Opening writes it into new tables, so a log whose end is in doubt is not written to again.
Result<void> RocksStore::Impl::open_again() {
  end_reclaim();
  const std::unique_lock lock(database_mutex_);
  database_.reset();
  const auto evidence = rocks::examine(*directory_);
  if (!evidence && evidence.error().code == ErrorCode::kCorrupt) {
    health_ = Health::kLost;
    why_ = evidence.error().detail;
  }
  if (!evidence) return tl::unexpected<Error>(evidence.error());
  const Result<void> opened = open_database(Database::Mode::kOpen);
  if (!opened) return opened;
  reclaim_ended_ = false;
  health_ = Health::kGood;
  why_.clear();
  return {};
}

bool RocksStore::Impl::owns(Epoch epoch) const {
  for (const auto& [shard, owner] : owners_) {
    if (owner == epoch) return true;
  }
  return false;
}

BlockingStore::Written RocksStore::Impl::write(Epoch epoch, const WriteBatch& batch) {
  if (!owns(epoch)) return {CommitOutcome::kFailed, "the shard has another owner by now"};
  if (health_ == Health::kFull) return {CommitOutcome::kFailed, why_};
  if (health_ == Health::kLost) return {CommitOutcome::kNoSync, why_};
  rocks::count_nothing();
  fill(batch);
  if (batch_.Count() == 0) return {};  // all before it is durable
  const rocksdb::Status status = database_->db().Write(write_options(), &batch_);
  if (!status.ok()) return failed(status);
  return {};
}

BlockingStore::Written RocksStore::Impl::failed(const rocksdb::Status& status) {
  why_ = "cannot write to " + directory_->path() + ": " + database_->cause_of(status);
  const bool full = database_->is_full(status);
  health_ = full ? Health::kFull : Health::kLost;
  return {full ? CommitOutcome::kAmbiguous : CommitOutcome::kNoSync, why_};
}

// In the order of keys, because a memtable finds the place of a key near the one before it much
// faster than anywhere; writes of one key stay in their order. A range that is removed goes before
// or behind the keys in it as it was given: then all stay as they are.
void RocksStore::Impl::fill(const WriteBatch& batch) {
  batch_.Clear();
  const auto& writes = batch.writes();
  if (std::any_of(writes.begin(), writes.end(),
                  [](const Write& write) { return write.kind == Write::Kind::kRemoveRange; })) {
    for (const Write& write : writes) fill(write);
    return;
  }
  placed_.clear();
  for (const Write& write : writes) placed_.push_back({first_bytes(write.key), &write});
  std::sort(placed_.begin(), placed_.end());
  for (const Placed& placed : placed_) fill(*placed.write);
}

void RocksStore::Impl::fill(const Write& write) {
  POSTRIDER_CHECK(write.key.empty() || write.key[0] != rocks::kOwnSpace);
  switch (write.kind) {
    case Write::Kind::kPutOnce:
    case Write::Kind::kPut:
      (void)batch_.Put(database_->handle(write.key), slice_of(write.key),
                       slice_of(write.value.view()));
      return;
    case Write::Kind::kRemove:
      (void)batch_.Delete(database_->handle(write.key), slice_of(write.key));
      return;
    case Write::Kind::kRemoveRange:
      rocks::split_range(write.key, write.last, [&](const rocks::FamilyRange& range) {
        return batch_
            .DeleteRange(database_->handle(range.family), slice_of(range.first),
                         slice_of(range.last))
            .ok();
      });
      return;
    case Write::Kind::kRemoveOnce:
      (void)batch_.SingleDelete(database_->handle(write.key), slice_of(write.key));
      return;
  }
  POSTRIDER_CHECK(false);
}

Result<Found> RocksStore::Impl::read(const Reads& reads) {
  const std::shared_lock lock(database_mutex_);
  if (!database_) return fail(ErrorCode::kUnavailable, "the store is being opened again");
  return rocks::read_from(*database_, reads);
}

Result<void> RocksStore::Impl::for_each(std::string_view first, std::string_view last,
                                        const Visit& visit) {
  const std::shared_lock lock(database_mutex_);
  if (!database_) return fail(ErrorCode::kUnavailable, "the store is being opened again");
  rocksdb::ReadOptions options;
  options.fill_cache = false;
  const rocksdb::Status status = database_->for_each(options, first, last, visit);
  if (!status.ok())
    return tl::unexpected<Error>(rocks::error_of(status, "cannot read " + directory_->path()));
  return {};
}

std::uint64_t RocksStore::Impl::reclaim() {
  const auto file_bytes = [this] {
    std::uint64_t sum = 0;
    const auto files = directory_->database_files();
    if (!files) return sum;
    for (const rocks::FileSize& file : *files) sum += file.bytes;
    return sum;
  };
  const std::shared_lock lock(database_mutex_);
  if (!database_ || reclaim_ended_) return 0;
  const std::uint64_t before = file_bytes();
  rocks::reclaim(*database_, *directory_, reclaim_ended_);
  const std::uint64_t after = file_bytes();
  return before > after ? before - after : 0;
}

// What waits for RocksDB's background work hears that it stops; so do flushes that wait for room.
void RocksStore::Impl::end_reclaim() {
  reclaim_ended_ = true;
  const std::shared_lock lock(database_mutex_);
  if (database_) rocksdb::CancelAllBackgroundWork(&database_->db(), false);
}

Result<void> RocksStore::Impl::close() {
  end_reclaim();
  const std::unique_lock lock(database_mutex_);
  if (!database_ || health_ != Health::kGood) {
    database_.reset();
    return fail(health_ == Health::kFull ? ErrorCode::kLimit : ErrorCode::kUnavailable,
                "the store was not closed cleanly: " + why_);
  }
  const rocksdb::Status synced = database_->db().SyncWAL();
  const std::uint64_t newest = database_->db().GetLatestSequenceNumber();
  const rocksdb::Status closed = database_->close();
  database_.reset();
  const rocksdb::Status& bad = synced.ok() ? closed : synced;
  if (!bad.ok())
    return tl::unexpected<Error>(rocks::error_of(bad, "cannot close " + directory_->path()));
  return directory_->write_clean(newest);
}

Result<std::uint64_t> RocksStore::Impl::hand_over() {
  std::vector<rocksdb::ColumnFamilyHandle*> handles;
  for (std::size_t i = 0; i < rocks::kFamilies; ++i)
    handles.push_back(database_->handle(static_cast<rocks::Family>(i)));
  const rocksdb::Status status = database_->db().Flush(rocksdb::FlushOptions(), handles);
  if (!status.ok()) {
    (void)failed(status);
    return fail(health_ == Health::kFull ? ErrorCode::kLimit : ErrorCode::kUnavailable, why_);
  }
  if (auto closed = close(); !closed) return tl::unexpected<Error>(closed.error());
  return epochs_given_;
}

RocksStore::RocksStore(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
RocksStore::~RocksStore() = default;

Result<std::unique_ptr<RocksStore>> RocksStore::open(StoreOptions options) {
  auto impl = std::make_unique<Impl>(std::move(options));
  const Result<void> opened = impl->open();
  if (!opened) {
    Error error = opened.error();
    if (error.code == ErrorCode::kLimit) error.detail = no_room(impl->options_, error.detail);
    return tl::unexpected<Error>(std::move(error));
  }
  return std::unique_ptr<RocksStore>(new RocksStore(std::move(impl)));
}

Result<Epoch> RocksStore::acquire(std::uint32_t shard) { return impl_->acquire(shard); }
BlockingStore::Written RocksStore::write(Epoch epoch, const WriteBatch& batch) {
  return impl_->write(epoch, batch);
}
Result<Found> RocksStore::read(const Reads& reads) { return impl_->read(reads); }
Result<void> RocksStore::close() { return impl_->close(); }
Result<std::uint64_t> RocksStore::hand_over() { return impl_->hand_over(); }
std::uint64_t RocksStore::reclaim() { return impl_->reclaim(); }
void RocksStore::end_reclaim() { impl_->end_reclaim(); }
Result<std::uint64_t> RocksStore::free_bytes() const { return impl_->directory_->free_bytes(); }
Result<void> RocksStore::for_each(std::string_view first, std::string_view last,
                                  const Visit& visit) {
  return impl_->for_each(first, last, visit);
}
std::uint64_t RocksStore::property(const std::string& name) const {
  const std::shared_lock lock(impl_->database_mutex_);
  std::uint64_t value = 0;
  if (impl_->database_) (void)impl_->database_->db().GetAggregatedIntProperty(name, &value);
  return value;
}
StoreMemory RocksStore::memory() const {
  StoreMemory out;
  out.memtables = property("rocksdb.size-all-mem-tables");
  out.tables = property("rocksdb.estimate-table-readers-mem");
  const std::shared_lock lock(impl_->database_mutex_);
  // The families share one cache: the sum would count it three times.
  if (impl_->database_)
    (void)impl_->database_->db().GetIntProperty("rocksdb.block-cache-usage", &out.cache);
  return out;
}

}  // namespace postrider
