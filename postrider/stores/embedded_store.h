// EmbeddedStore: a store in a directory of this machine, as a node opens and looks after it. The
// engine sees the Store seam alone; room on the disk, memory and closing concern the node. Which
// database lies behind it is chosen where the node's factory is (node/node.cc).
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "postrider/model/seams/store.h"

namespace postrider {

struct FileFaults;

// What the database says of itself when something is wrong; for the log of the process.
struct StoreNotice {
  bool is_error = false;  // otherwise a warning
  std::string text;
};
using TellNotice = std::function<void(const StoreNotice&)>;  // any thread, and soon done

enum class StoreKind : std::uint8_t {
  kRocks,    // RocksDB alone, with its log
  kJournal,  // a journal, and RocksDB for what survives
};

struct StoreOptions {
  std::string directory;
  StoreKind kind = StoreKind::kRocks;
  std::uint64_t journal_segment_bytes = 64U << 20;  // of a new journal
  std::uint32_t journal_segments_max = 16;
  std::chrono::milliseconds spill_after{30'000};  // a commit is in the map after so long
  std::size_t memtable_bytes = 8U << 20;
  int memtables_max = 12;
  std::size_t cache_bytes = 32U << 20;
  std::uint64_t wal_bytes_max = 64U << 20;  // what a restart has to read at most
  int open_files_max = 256;
  int background_jobs = 2;
  std::uint64_t manifest_bytes_max = 16U << 20;  // a longer one is written anew
  TellNotice tell = {};
  int notices_per_minute_max = 20;  // how many others there were is told with the next

  // For rehearsals of faults only.
  bool sync = true;
  bool drop_unsynced = false;          // kill -9 loses what was not synced, as a power cut does
  std::shared_ptr<FileFaults> faults;  // shared with the test that switches them
};

// What the store holds in memory, in bytes.
struct StoreMemory {
  std::uint64_t memtables = 0;  // with those that are being written to tables
  std::uint64_t cache = 0;      // blocks, indexes and filters
  std::uint64_t tables = 0;     // what open tables keep beside the cache
};

// Of a store with a journal, since it was opened.
struct JournalCounts {
  std::uint64_t groups = 0;
  std::uint64_t bytes = 0;
  std::chrono::nanoseconds sync_time{0};
  std::uint64_t tail_bytes = 0;     // in the journal and not yet in the map
  std::uint32_t segments = 0;       // in use
  std::uint64_t spill_records = 0;  // that came to spills
  std::uint64_t spill_survivors = 0;
  std::chrono::nanoseconds spill_time{0};
};

class EmbeddedStore : public BlockingStore {
 public:
  // Nothing else may be called afterwards. A store that is destroyed without it ends as a crash
  // does.
  virtual Result<void> close() = 0;

  virtual Result<std::uint64_t> free_bytes() const = 0;  // of the file system, for us

  // Gives back the room of dead records, if little lives. Returns by how many bytes the files
  // became smaller. Waits for all of it; any thread but the one that writes, one at a time.
  virtual std::uint64_t reclaim() = 0;
  // Makes a reclaim that is under way return soon. To be called before a thread in it is waited
  // for.
  virtual void end_reclaim() = 0;

  virtual StoreMemory memory() const = 0;

  // False: what is left of a journal is for ends, and nothing new should come in.
  virtual bool takes_new() const { return true; }
  virtual std::optional<JournalCounts> journal() const { return std::nullopt; }
};

// kConflict: another process uses the directory. kInvalid: a newer format. kCorrupt: damaged.
// kLimit: the disk has no room for what opening writes; nothing is lost, and with room it opens.
using OpenStore = std::function<Result<std::unique_ptr<EmbeddedStore>>(const StoreOptions&)>;

}  // namespace postrider
