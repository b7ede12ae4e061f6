// Notices: what RocksDB says of itself, handed to whoever opened the store. Nothing of it is
// written into the directory: RocksDB's own logger writes a file there and asserts that each write
// to it goes well, so one that meets a full disk would end the process. Any thread.
#pragma once

#include <chrono>
#include <functional>
#include <memory>

#include <rocksdb/env.h>

#include "postrider/stores/rocks/rocks_store.h"

namespace postrider::rocks {

using NoticeClock = std::function<std::chrono::steady_clock::time_point()>;

// Warnings and errors, at most `per_minute_max` of them; how many were left out is told with the
// next that is not. A null `tell` hears nothing. One for all openings of a store: on a full disk it
// may be opened again each second.
std::shared_ptr<rocksdb::Logger> make_notices(
    TellNotice tell, int per_minute_max,
    NoticeClock now = [] { return std::chrono::steady_clock::now(); });

}  // namespace postrider::rocks
