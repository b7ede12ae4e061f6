// Reclaim: gives back the room of records that are dead. RocksDB drops them when it compacts, and
// compacts when enough is written; a store that takes nothing new, because its disk is nearly full,
// would keep them for ever. Writing needs room first, so only what is mostly dead is written anew.
#pragma once

#include <atomic>
#include <cstdint>

#include "postrider/stores/rocks/database.h"
#include "postrider/stores/rocks/directory.h"

namespace postrider::rocks {

// What tables hold, as they count it themselves.
struct Held {
  std::uint64_t bytes = 0;
  std::uint64_t entries = 0;          // with the deletions
  std::uint64_t deletions = 0;        // of keys and ranges
  std::uint64_t range_deletions = 0;  // what they cover is not counted
};

// How many of the bytes would be written by a compaction. A record that was put once and removed
// once is two entries and none of them stays; what a range covers counts as alive.
std::uint64_t living_bytes(const Held& held);

// Whether writing it anew gives room back, and takes no more than half of what is free meanwhile.
bool is_worth_writing(const Held& held, std::uint64_t free_bytes);

// Waits until it is done, or until `ended`. Another thread that closes the database must set
// `ended` and stop its background work.
void reclaim(Database& database, const Directory& directory, const std::atomic<bool>& ended);

}  // namespace postrider::rocks
