// SYNCED: the mark outside the logs. It claims of each log, and of RocksDB's list of tables
// (MANIFEST), that so many of its first bytes were synced, and what their checksum is; so a log
// that is lost, cut or exchanged is told from one whose last record was never finished.
//
// A claim is only ever made of what was synced before, and is taken back before its file is
// removed. So every state of the mark that a kill or a power cut can leave is true: it may claim
// less than there is, never more. The mark is written after every sync, without a sync of its own,
// which makes it exact for a process that ends in any way. For a power cut it is synced when a file
// begins, with each change of the list of tables and every kClaimsPerSync claims.
//
// docs/store-format.md describes the bytes: two slots in different pages, written in turn, each
// within one sector.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "postrider/base/result.h"

namespace postrider::rocks {

inline constexpr std::string_view kSyncedFile = "SYNCED";

struct SyncedPart {
  std::string name;
  std::uint64_t bytes = 0;  // so many were synced
  std::uint32_t crc = 0;    // of them
  friend bool operator==(const SyncedPart&, const SyncedPart&) = default;
};

struct SyncedMark {
  std::uint64_t turn = 0;  // the slot with the higher one is the newer
  // The operator gave the mark up (the file holds the word "unknown"): nothing is claimed.
  bool unknown = false;
  std::vector<SyncedPart> files;  // in the order in which they began
  friend bool operator==(const SyncedMark&, const SyncedMark&) = default;
};

// Only these grow by appending, and only these are claimed.
bool is_claimed_kind(std::string_view name);

// One slot. Lists of tables first, then the newest logs, as many as fit; an older log that is left
// out is closed, and RocksDB's own list has its size.
std::string encode_synced(const SyncedMark& mark);
std::optional<SyncedMark> decode_synced(std::string_view slot);
// The newer of the readable slots of a whole file.
std::optional<SyncedMark> newest_synced(std::string_view file);

// The file. Any thread.
class SyncedFile final {
 public:
  static constexpr std::uint64_t kClaimsPerSync = 256;

  // kSynced is a rehearsal: what was written and not synced is lost by a kill, as by a power cut.
  enum class Keeps : std::uint8_t { kWritten, kSynced };

  // Goes on from the mark that was found.
  static Result<std::shared_ptr<SyncedFile>> open(const std::string& directory, SyncedMark found,
                                                  Keeps keeps = Keeps::kWritten);
  // A mark that claims nothing, in place of whatever is there.
  static Result<std::shared_ptr<SyncedFile>> create(const std::string& directory,
                                                    Keeps keeps = Keeps::kWritten);
  ~SyncedFile();
  SyncedFile(const SyncedFile&) = delete;
  SyncedFile& operator=(const SyncedFile&) = delete;

  void begin(const std::string& name);
  // The bytes are durable by now. Nothing is claimed of a file that did not begin here.
  Result<void> claim(const SyncedPart& part);
  // Before the file is removed or written anew. On failure it must stay as it is.
  Result<void> take_back(const std::string& name);

 private:
  SyncedFile(std::string directory, SyncedMark mark, Keeps keeps);
  Result<void> open_files(int flags);
  Result<void> write_slot();  // with the mutex held
  Result<void> put(const std::string& slot, std::size_t index);
  Result<void> sync();

  const std::string directory_;
  const Keeps keeps_;
  int directory_handle_ = -1;
  int handle_ = -1;
  std::mutex mutex_;
  SyncedMark mark_;
  std::set<std::string> begun_;
  std::uint64_t claims_ = 0;
  std::array<std::string, 2> unsynced_;  // slots that a rehearsal holds back
};

}  // namespace postrider::rocks
