// Census: how many messages there are in each state, wherever they are. Messages in memory are
// counted as they are; messages of the cold space by their records, for each destination; what
// changed is written with the same commit (books/census_pages.h), so a restart finds exact numbers
// without reading them. Hot messages are all looked at by a restart.
//
// Invariants
//   - `in_states_` counts the entries of the window, and `recorded_` the cold ones among them as
//     their records say.
//   - `cold_` is the sum of the residents' cold counts and of the records of all others up to
//     the cursor.
//   - A destination that was counted anew stays in memory until its count is written.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "postrider/core/books/census_pages.h"
#include "postrider/core/books/receipts.h"
#include "postrider/core/books/sequences.h"
#include "postrider/core/engine.h"
#include "postrider/core/step.h"
#include "postrider/core/window/residents.h"
#include "postrider/core/window/sleepers.h"

namespace postrider::core {

class Census {
 public:
  using StateCounts = std::vector<std::array<std::uint64_t, kStatesMax>>;  // by profile
  Census(const EngineOptions& options, const EngineLimits& limits, Receipts& receipts,
         Sequences& sequences, Residents& residents, std::vector<CensusPage> pages)
      : options_(options),
        limits_(limits),
        receipts_(receipts),
        sequences_(sequences),
        residents_(residents),
        in_states_(options.profiles.size()),
        recorded_(options.profiles.size()),
        cold_(options.profiles.size()),
        pages_(std::move(pages), {limits.census_pages_max, limits.census_counts_max}) {}
  Census(const Census&) = delete;
  Census& operator=(const Census&) = delete;

  std::uint64_t& in_state(const Entry& entry);
  StateIndex initial_state(const Entry& entry) const;
  void count_cold(Slot slot, StateIndex state, bool comes);
  void count_kept(Slot slot, const Message& message, bool comes);
  void record_state(Entry& entry, StateIndex state);
  void read_census(Step& step, Resident& resident, const std::optional<Blob>& record);
  void write_census(WriteBatch& out);
  void forget_census(Slot slot);
  void restore_census(Step& step, const Chore& chore);
  void lose_cold(const Step& step, const keys::PartKey& key, bool in_memory);
  void tell_states(Stats& stats, const Sleepers& sleepers, bool restoring) const;

  void set_state(Entry& entry, StateIndex to) {
    --in_state(entry);
    entry.state.state = to;
    ++in_state(entry);
  }
  void add(const Entry& entry);                    // it came into the window …
  void remove(const Entry& entry);                 // … and leaves it
  void move_to_cold(const Entry& entry);           // its records do
  void adopt(const Entry& entry, StateIndex was);  // its record was read, and says another state
  const std::string& cursor() const { return cursor_; }
  void note_unserved() { unserved_ = true; }
  const CensusPages& pages() const { return pages_; }

 private:
  void add_to_census(const CensusRecord& census);
  std::map<std::uint64_t, const Row*> census_between(const Rows& rows,
                                                     const std::string& first) const;

  const EngineOptions& options_;
  const EngineLimits& limits_;
  Receipts& receipts_;
  Sequences& sequences_;
  Residents& residents_;
  StateCounts in_states_;  // of the entries, as they are
  StateCounts recorded_;   // of the cold ones among them, as their records say
  StateCounts cold_;       // of all in the cold space, as their records say
  std::string cursor_ = keys::space(keys::kCensus);  // counted so far; empty: all are
  bool unserved_ = false;                 // some messages are of a profile that we do not have
  std::vector<DestinationId> recounted_;  // whose census is to be written with this commit
  CensusPages pages_;
};

}  // namespace postrider::core
