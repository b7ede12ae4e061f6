// FileFaults: faults of a disk, for rehearsals of a store that writes files.
#pragma once

#include <atomic>
#include <cstdint>

namespace postrider {

// Switched by a test while the store runs; read by all its threads.
struct FileFaults {
  enum class Fault : std::uint8_t { kNone, kNoSpace, kIoError };
  // A failing write puts the first half of its bytes into the file, as a full disk may do.
  std::atomic<Fault> writes{Fault::kNone};
  std::atomic<Fault> syncs{Fault::kNone};
  std::atomic<Fault> reads{Fault::kNone};      // of tables
  std::atomic<bool> tables_only{false};        // logs and all else work
  std::atomic<std::uint64_t> tables_above{0};  // … and so do the first bytes of each table
  std::atomic<std::int64_t> works_for{0};  // so many operations go well before the fault strikes
  std::atomic<std::uint64_t> struck{0};
};

}  // namespace postrider
