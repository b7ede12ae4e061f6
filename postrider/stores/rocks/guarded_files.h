// The file system as RocksDB sees it, with an eye on what grows by appending: after each sync of a
// log or of the list of tables SYNCED claims what is durable, and before one of them is removed
// SYNCED takes its claim back. RocksDB itself keeps no such account of its newest log.
#pragma once

#include <memory>

#include <rocksdb/file_system.h>

#include "postrider/stores/rocks/synced_mark.h"

namespace postrider::rocks {

// The files, the file system and the store share the mark, because files outlive each other.
std::shared_ptr<rocksdb::FileSystem> make_guarded_files(std::shared_ptr<rocksdb::FileSystem> real,
                                                        std::shared_ptr<SyncedFile> synced);

}  // namespace postrider::rocks
