// FaultyFiles: a file system for rehearsals. It keeps bytes that were written and not yet synced in
// the memory of the process, so that kill -9 loses them as a power cut would; and it fails on
// command. What it does not rehearse: names of files whose directory was not synced, and bytes of a
// file that was closed without a sync (those are written at the close).
#pragma once

#include <memory>

#include <rocksdb/file_system.h>

#include "postrider/stores/file_faults.h"

namespace postrider {

// `faults` may be null.
std::shared_ptr<rocksdb::FileSystem> make_faulty_files(std::shared_ptr<rocksdb::FileSystem> real,
                                                       std::shared_ptr<FileFaults> faults,
                                                       bool drop_unsynced);

}  // namespace postrider
