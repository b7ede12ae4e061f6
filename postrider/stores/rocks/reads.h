// What every reader of a Database does: keys and scans as of one instant.
#pragma once

#include <string_view>

#include <rocksdb/slice.h>

#include "postrider/base/result.h"
#include "postrider/model/seams/store.h"

namespace postrider::rocks {

class Database;

inline rocksdb::Slice slice_of(std::string_view bytes) { return {bytes.data(), bytes.size()}; }

// RocksDB counts what a thread compares and reads unless that thread says otherwise; each
// comparison of keys costs it two look-ups of thread-local variables.
void count_nothing();

Result<Found> read_from(Database& database, const Reads& reads);

}  // namespace postrider::rocks
