// examine: the judgement of a store's files before RocksDB opens them, the same for a daemon that
// starts and for `postrider check`. It changes nothing. RocksDB is not asked about files that do
// not pass: it takes some of them for good, and ends the process at others.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "postrider/base/result.h"
#include "postrider/stores/rocks/directory.h"
#include "postrider/stores/rocks/synced_mark.h"
#include "postrider/stores/rocks/wal.h"

namespace postrider::rocks {

struct Evidence {
  std::optional<CleanMark> clean;  // nullopt: the store was not closed
  SyncedMark synced;
  std::vector<WalFile> wals;  // oldest first
};

// Of a store that is ready. kCorrupt: damaged; the detail names the file and what is wrong with it.
Result<Evidence> examine(const Directory& directory);

// Whether the database, now open, has all writes that it had when it was closed.
Result<void> reaches_its_mark(const Directory& directory, const Evidence& evidence,
                              std::uint64_t newest_write);

}  // namespace postrider::rocks
