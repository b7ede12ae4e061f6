// Database: RocksDB itself, opened with our options and column families. It knows no epochs and no
// directory rules; those are RocksStore's and check's.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <rocksdb/db.h>
#include <rocksdb/env.h>

#include "postrider/base/result.h"
#include "postrider/stores/rocks/rocks_store.h"

namespace postrider::rocks {

class SyncedFile;

// Spaces with different lives lie apart: a memtable of messages in order of arrival is filled at
// its end and half emptied by its own removals, and what has a retention is only ever dropped by
// range.
enum class Family : std::uint8_t { kLive, kHot, kKept };
inline constexpr std::size_t kFamilies = 3;
Family family_of(std::string_view key);

// The store's own records begin with this byte, which no key of a caller does.
inline constexpr char kOwnSpace = '\xFF';

Error error_of(const rocksdb::Status& status, const std::string& what);

// Splits [first, last) into ranges that lie in one family each, in order, until `visit` says false.
struct FamilyRange {
  Family family;
  std::string_view first;
  std::string_view last;
};
void split_range(std::string_view first, std::string_view last,
                 const std::function<bool(const FamilyRange&)>& visit);

class Database final {
 public:
  enum class Mode : std::uint8_t { kOpen, kCreate, kReadOnly };
  // Writes go through memtables and a log. Sorted runs are tables already: their families are
  // tiered, and one thread of the lowest priority compacts.
  enum class FedBy : std::uint8_t { kWrites, kRuns };
  // `synced` is told what becomes durable; null for kReadOnly, where nothing does. `log` gets what
  // RocksDB says; null: nothing does.
  static Result<std::unique_ptr<Database>> open(const StoreOptions& options, Mode mode,
                                                std::shared_ptr<SyncedFile> synced = nullptr,
                                                std::shared_ptr<rocksdb::Logger> log = nullptr,
                                                FedBy fed_by = FedBy::kWrites);
  ~Database();
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  rocksdb::DB& db() { return *db_; }
  rocksdb::ColumnFamilyHandle* handle(Family family) const {
    return handles_[static_cast<std::size_t>(family)];
  }
  rocksdb::ColumnFamilyHandle* handle(std::string_view key) const { return handle(family_of(key)); }
  rocksdb::FileSystem& files() { return *env_->GetFileSystem(); }

  using Visit = RocksStore::Visit;
  rocksdb::Status for_each(const rocksdb::ReadOptions& options, std::string_view first,
                           std::string_view last, const Visit& visit);
  rocksdb::Status for_each_backward(const rocksdb::ReadOptions& options, std::string_view first,
                                    std::string_view last, const Visit& visit);
  rocksdb::Status close();

  // Whether a failed write means that there is no space. RocksDB says so itself, unless the write
  // had to wait for a flush or a compaction, and that failed.
  bool is_full(const rocksdb::Status& status) const;
  // What made a write fail, for people: RocksDB refuses it because of work in the background, too.
  std::string cause_of(const rocksdb::Status& status) const;

  // While one lives RocksDB takes the disk to have room. Once a compaction met a full disk, it
  // begins none without as much room as goes in, though hardly anything may come out.
  class AssumedRoom {
   public:
    explicit AssumedRoom(Database& database);
    ~AssumedRoom();
    AssumedRoom(const AssumedRoom&) = delete;
    AssumedRoom& operator=(const AssumedRoom&) = delete;

   private:
    Database& database_;
  };

 private:
  class Background;
  class Files;
  Database();
  void make_env(const StoreOptions& options, std::shared_ptr<SyncedFile> synced);

  std::shared_ptr<Background> background_;
  std::shared_ptr<Files> files_;

  std::unique_ptr<rocksdb::Env> env_;
  std::unique_ptr<rocksdb::DB> db_;
  std::vector<rocksdb::ColumnFamilyHandle*> handles_;  // owned by db_, given back before it ends
};

// How many epochs the store gave out. kCorrupt: the record is not there or damaged.
Result<std::uint64_t> epochs_given(Database& database);
rocksdb::Status put_epochs_given(Database& database, const rocksdb::WriteOptions& options,
                                 std::uint64_t given);

}  // namespace postrider::rocks
