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

#include "postrider/stores/embedded_store.h"

namespace postrider {

class RocksStore final : public EmbeddedStore {
 public:
  // kConflict: another process uses the directory. kInvalid: a newer format. kCorrupt: damaged.
  // kLimit: the disk has no room for what opening writes; nothing is lost, and with room it opens.
  static Result<std::unique_ptr<RocksStore>> open(StoreOptions options);
  ~RocksStore() override;  // without close() it ends as a crash does
  RocksStore(const RocksStore&) = delete;
  RocksStore& operator=(const RocksStore&) = delete;

  // After a write that met a full disk it opens the database again, and is kLimit until there is
  // room.
  Result<Epoch> acquire(std::uint32_t shard) override;
  Written write(Epoch epoch, const WriteBatch& batch) override;
  Result<Found> read(const Reads& reads) override;

  // Leaves a synced mark of all that is here, so that a loss is noticed at the next opening.
  Result<void> close() override;
  Result<std::uint64_t> free_bytes() const override;
  // Logs are written to tables, and tables are compacted. Once ended, none begins until the
  // database is opened again.
  std::uint64_t reclaim() override;
  void end_reclaim() override;

  // Writes all logs into tables and closes, so that a RocksMap can take the files. How many epochs
  // were given out is told. Nothing else may be called afterwards.
  Result<std::uint64_t> hand_over();

  // RocksDB's own figure of that name, for metrics and benches; 0: there is none.
  std::uint64_t property(const std::string& name) const;
  StoreMemory memory() const override;

  // Every record of [first, last) in order, until `visit` says false.
  using Visit = std::function<bool(std::string_view key, std::string_view value)>;
  Result<void> for_each(std::string_view first, std::string_view last, const Visit& visit);

 private:
  class Impl;
  explicit RocksStore(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace postrider
