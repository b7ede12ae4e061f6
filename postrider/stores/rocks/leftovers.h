// Leftovers: tables that an opening wrote before it met a full disk. RocksDB removes them after an
// opening that succeeds, and each that fails leaves more: soon a disk is full of them, and room
// that would do is not enough.
#pragma once

#include <vector>

#include "postrider/stores/rocks/directory.h"
#include "postrider/stores/rocks/rocks_store.h"

namespace postrider::rocks {

// To be called after an opening failed: removes tables that were not there `before` it and that the
// database does not know. Without a database that can be read nothing is removed.
void remove_leftovers(const StoreOptions& options, const Directory& directory,
                      const std::vector<FileSize>& before);

}  // namespace postrider::rocks
