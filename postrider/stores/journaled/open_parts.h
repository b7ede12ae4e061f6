// The two halves of a JournaledStore and their directory, for the daemon and for check.
#pragma once

#include <memory>
#include <string>

#include "postrider/stores/embedded_store.h"
#include "postrider/stores/rocks/directory.h"
#include "postrider/stores/rocks/rocks_map.h"
#include "postrider/stores/segments/segment_journal.h"

namespace postrider::journaled {

struct Parts {
  std::unique_ptr<rocks::Directory> directory;  // holds the lock
  std::unique_ptr<rocks::RocksMap> map;
  std::unique_ptr<segments::SegmentJournal> journal;
};

// Makes what is not there, and gives a journal to a store that has none.
Result<Parts> open_parts(const StoreOptions& options);
// Changes nothing. `directory` was found to be a store with a journal.
Result<Parts> look_at_parts(std::unique_ptr<rocks::Directory> directory);

}  // namespace postrider::journaled
