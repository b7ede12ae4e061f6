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

#include <atomic>
#include <chrono>
#include <cstddef>
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

  // Reads what the journal holds and the map does not, so that reads work before it is acquired.
  // kCorrupt: journal and map do not belong together, or a group between them is missing.
  Result<void> begin(const Ownership& found);
  // The same errors as begin.
  Result<Epoch> acquire(std::uint32_t shard) override;
  Written write(Epoch epoch, const WriteBatch& batch) override;
  Result<Found> read(const Reads& reads) override;

  // Moves what is durable now into the map. An error leaves everything where it was.
  Result<void> spill();

  std::uint64_t tail_bytes() const;
  std::size_t tail_groups() const;
  // The last append found no room.
  bool is_full() const { return is_full_; }

  struct Spilled {
    std::uint64_t spills = 0;
    std::uint64_t writes = 0;     // that came to them
    std::uint64_t survivors = 0;  // of them, in the runs
    std::chrono::nanoseconds time{0};
  };
  Spilled spilled() const;

 private:
  GroupNumber oldest_in_tail() const;
  Result<Rows> merge(const Scan& scan, Slice slice);
  Written finish(Epoch epoch, GroupNumber number, Appended appended, GroupBytes group);

  Journal& journal_;
  Map& map_;
  std::mutex journal_mutex_;  // append and trim, one at a time
  mutable std::mutex tail_mutex_;
  Tail tail_;
  Spilled spilled_;
  bool has_begun_ = false;  // the tail is what lies between the two
  std::atomic<bool> is_full_{false};
  Epoch epoch_;
  // Until a load has ended well: one of a former owner may have been interrupted.
  MapHas map_has_ = MapHas::kPerhapsSome;
};

}  // namespace postrider::layered
