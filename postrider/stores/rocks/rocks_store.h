// RocksStore: the embedded store, on RocksDB. One directory, one process. One thread writes
// (acquire, write, close); any may read. Each write is one synced batch. It opens after an
// unfinished last record as if that had never been begun; with any other damage that it can see it
// refuses, names the file and changes nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "postrider/model/seams/store.h"

namespace postrider {

struct FileFaults;

// What the database says of itself when something is wrong; for the log of the process.
struct StoreNotice {
  bool is_error = false;  // otherwise a warning
  std::string text;
};
using TellNotice = std::function<void(const StoreNotice&)>;  // any thread, and soon done

struct RocksStoreOptions {
  std::string directory;
  std::size_t memtable_bytes = 8U << 20;
  int memtables_max = 12;
  std::size_t cache_bytes = 32U << 20;
  std::uint64_t wal_bytes_max = 64U << 20;  // what a restart has to read at most
  int open_files_max = 256;
  int background_jobs = 2;
  std::uint64_t manifest_bytes_max = 16U << 20;  // a longer one is written anew
  TellNotice tell = {};
  int notices_per_minute_max = 20;  // how many others there were is told with the next

  // For rehearsals of faults only.
  bool sync = true;
  bool drop_unsynced = false;          // kill -9 loses what was not synced, as a power cut does
  std::shared_ptr<FileFaults> faults;  // shared with the test that switches them
};

// What RocksDB holds in memory, in bytes.
struct StoreMemory {
  std::uint64_t memtables = 0;  // with those that are being written to tables
  std::uint64_t cache = 0;      // blocks, indexes and filters
  std::uint64_t tables = 0;     // what open tables keep beside the cache
};

class RocksStore final : public BlockingStore {
 public:
  // kConflict: another process uses the directory. kInvalid: a newer format. kCorrupt: damaged.
  // kLimit: the disk has no room for what opening writes; nothing is lost, and with room it opens.
  static Result<std::unique_ptr<RocksStore>> open(RocksStoreOptions options);
  ~RocksStore() override;  // without close() it ends as a crash does
  RocksStore(const RocksStore&) = delete;
  RocksStore& operator=(const RocksStore&) = delete;

  // After a write that met a full disk it opens the database again, and is kLimit until there is
  // room.
  Result<Epoch> acquire(std::uint32_t shard) override;
  Written write(Epoch epoch, const WriteBatch& batch) override;
  Result<Found> read(const Reads& reads) override;

  // Leaves a synced mark of all that is here, so that a loss is noticed at the next opening.
  // Nothing else may be called afterwards.
  Result<void> close();

  Result<std::uint64_t> free_bytes() const;  // of the file system, for us

  // Gives back the room of records that are dead, if little lives: logs are written to tables, and
  // tables are compacted. Returns by how many bytes the files became smaller. Waits for all of it;
  // any thread but the one that writes, one at a time.
  std::uint64_t reclaim();
  // Makes a reclaim that is under way return soon; none begins until the database is opened again.
  // To be called before a thread in it is waited for.
  void end_reclaim();

  // RocksDB's own figure of that name, for metrics and benches; 0: there is none.
  std::uint64_t property(const std::string& name) const;
  StoreMemory memory() const;

  // Every record of [first, last) in order, until `visit` says false.
  using Visit = std::function<bool(std::string_view key, std::string_view value)>;
  Result<void> for_each(std::string_view first, std::string_view last, const Visit& visit);

 private:
  class Impl;
  explicit RocksStore(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace postrider
