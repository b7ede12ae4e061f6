// RocksMap: the map of this machine, on RocksDB without its log. A load writes one sorted file for
// each family and hands them over together, so that a record costs one write and no memtable. The
// mark of the load lies in one of the files. Compaction is tiered, on one thread of the lowest
// priority: a run has a long way before it holds anything up.
//
// Invariants. A load is in the database whole or not at all: the files are taken in by one change
// of the manifest. What a load that was cut short left beside the database is written over by the
// next one.
//
// One thread loads; any may read.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <shared_mutex>
#include <string>

#include "postrider/model/seams/map.h"
#include "postrider/stores/embedded_store.h"

namespace postrider::rocks {

class Database;
class Directory;

class RocksMap final : public Map {
 public:
  enum class Mode : std::uint8_t { kOpen, kCreate, kReadOnly };
  // The database of a RocksStore that was flushed is a map as well. kConflict: another process uses
  // it. kCorrupt: it is damaged. kLimit: the disk has no room for what opening writes.
  static Result<std::unique_ptr<RocksMap>> open(const StoreOptions& options, Mode mode);
  ~RocksMap() override;
  RocksMap(const RocksMap&) = delete;
  RocksMap& operator=(const RocksMap&) = delete;

  Result<void> load(const Run& run) override;
  Result<GroupNumber> loaded() override;
  Result<Found> read(const Reads& reads) override;

  Database& database() { return *database_; }  // not beside a load
  StoreMemory memory();
  // As EmbeddedStore says.
  std::uint64_t reclaim(const Directory& directory);
  void end_reclaim();
  // Synced and whole. Nothing else may be called afterwards.
  Result<void> close();

 private:
  RocksMap(std::unique_ptr<Database> database, const StoreOptions& options);
  Result<void> open_again();

  StoreOptions options_;
  std::string directory_;
  std::shared_mutex mutex_;             // readers share it; opening again has it alone
  std::unique_ptr<Database> database_;  // null: it could not be opened again
  bool is_stuck_ = false;               // files were not taken in
  std::atomic<bool> reclaim_ended_{false};
};

}  // namespace postrider::rocks
