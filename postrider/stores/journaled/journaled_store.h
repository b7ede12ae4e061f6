// JournaledStore: the embedded store of a journal of segments in front of a map on RocksDB. The map
// lies in the directory of the store, where a RocksStore has its files, and the journal in
// `journal` below it. A store of RocksDB alone becomes one of these when it is opened.
//
// A thread of its own moves what survives into the map (spill_rule.h): the writing thread does not
// wait for it, unless the journal is full.
#pragma once

#include <memory>

#include "postrider/stores/embedded_store.h"

namespace postrider {

class JournaledStore final : public EmbeddedStore {
 public:
  // Errors as RocksStore::open has them.
  static Result<std::unique_ptr<JournaledStore>> open(const StoreOptions& options);
  ~JournaledStore() override;  // without close() it ends as a crash does
  JournaledStore(const JournaledStore&) = delete;
  JournaledStore& operator=(const JournaledStore&) = delete;

  // kLimit: the journal is full, and the map has no room for what is in it.
  Result<Epoch> acquire(std::uint32_t shard) override;
  Written write(Epoch epoch, const WriteBatch& batch) override;
  Result<Found> read(const Reads& reads) override;

  // Spills, so that the next start has nothing to read.
  Result<void> close() override;
  Result<std::uint64_t> free_bytes() const override;
  std::uint64_t reclaim() override;
  void end_reclaim() override;
  StoreMemory memory() const override;
  bool takes_new() const override;
  std::optional<JournalCounts> journal() const override;

  // Moves what is durable now into the map, for tests; the thread does it by itself.
  Result<void> spill();

 private:
  class Impl;
  explicit JournaledStore(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace postrider
