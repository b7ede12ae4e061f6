// FaultyFiles: a file system for rehearsals. It keeps bytes that were written and not yet synced in
// the memory of the process, so that kill -9 loses them as a power cut would; and it fails on
// command. What it does not rehearse: names of files whose directory was not synced, and bytes of a
// file that was closed without a sync (those are written at the close).
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include <rocksdb/file_system.h>

namespace postrider {

// Switched by a test while the store runs; read by all its threads.
struct FileFaults {
  enum class Fault : std::uint8_t { kNone, kNoSpace, kIoError };
  // A failing write puts the first half of its bytes into the file, as a full disk may do.
  std::atomic<Fault> writes{Fault::kNone};
  std::atomic<Fault> syncs{Fault::kNone};
  std::atomic<Fault> reads{Fault::kNone};  // of tables
  std::atomic<bool> tables_only{false};    // logs and all else work
  std::atomic<std::int64_t> works_for{0};  // so many operations go well before the fault strikes
  std::atomic<std::uint64_t> struck{0};
};

// `faults` may be null.
std::shared_ptr<rocksdb::FileSystem> make_faulty_files(std::shared_ptr<rocksdb::FileSystem> real,
                                                       std::shared_ptr<FileFaults> faults,
                                                       bool drop_unsynced);

}  // namespace postrider
