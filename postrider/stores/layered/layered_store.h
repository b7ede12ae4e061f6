// LayeredStore: a store made of a journal and a map. A commit is one group of the journal; what
// survives goes into the map later, sorted, by spill(). Between them lies the tail, which this
// class owns: the groups that the map does not have yet.
//
// Invariants. Everything durable is in the tail or in the map: a group leaves the tail after its
// load is durable, and the journal after that. A read takes the tail's word first and the map's
// second, so that a spill in between shows a record twice and never not at all.
//
// One thread writes and acquires, one spills, any may read.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "postrider/model/seams/journal.h"
#include "postrider/model/seams/map.h"
#include "postrider/model/seams/store.h"
#include "postrider/stores/layered/tail.h"

namespace postrider::layered {

class LayeredStore final : public BlockingStore {
 public:
  // Both outlive it.
  LayeredStore(Journal& journal, Map& map) : journal_(journal), map_(map) {}
  LayeredStore(const LayeredStore&) = delete;
  LayeredStore& operator=(const LayeredStore&) = delete;

  // kCorrupt: journal and map do not belong together, or a group between them is missing.
  Result<Epoch> acquire(std::uint32_t shard) override;
  Written write(Epoch epoch, const WriteBatch& batch) override;
  Result<Found> read(const Reads& reads) override;

  // Moves what is durable now into the map. An error leaves everything where it was.
  Result<void> spill();

  std::uint64_t tail_bytes() const;

 private:
  Result<void> fill_tail(const Ownership& owned);
  Result<Rows> merge(const Scan& scan, Slice slice);
  Written finish(Epoch epoch, GroupNumber number, Appended appended, GroupBytes group);

  Journal& journal_;
  Map& map_;
  std::mutex journal_mutex_;  // append and trim, one at a time
  mutable std::mutex tail_mutex_;
  Tail tail_;
  Epoch epoch_;
  // Until a load has ended well: one of a former owner may have been interrupted.
  MapHas map_has_ = MapHas::kPerhapsSome;
};

}  // namespace postrider::layered
