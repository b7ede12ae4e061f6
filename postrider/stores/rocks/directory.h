// Directory: the data directory around RocksDB's own files. It makes it, locks it against a second
// process, keeps it closed to others, and knows two small files of ours: FORMAT (which format, and
// whether the store was ever finished) and CLEAN (what lay here when the store was last closed).
// A third one, SYNCED, is synced_mark.h's. docs/store-format.md describes them. Used by one thread,
// at opening and closing.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "postrider/base/result.h"

namespace postrider::rocks {

inline constexpr std::uint32_t kFormat = 1;         // RocksDB alone
inline constexpr std::uint32_t kJournalFormat = 2;  // a journal in front of it
inline constexpr std::string_view kFormatFile = "FORMAT";
inline constexpr std::string_view kCleanFile = "CLEAN";

struct FileSize {
  std::string name;
  std::uint64_t bytes = 0;
  friend bool operator==(const FileSize&, const FileSize&) = default;
};

// Written when a store was closed, removed when it is opened.
struct CleanMark {
  std::uint64_t sequence = 0;   // of the newest write
  std::vector<FileSize> files;  // in the order of their names
  friend bool operator==(const CleanMark&, const CleanMark&) = default;
};
std::string encode_clean(const CleanMark& mark);
std::optional<CleanMark> decode_clean(std::string_view text);

class Directory final {
 public:
  enum class Use : std::uint8_t { kWrite, kCheck };  // kCheck changes nothing, not even the mode

  // Takes the lock. kConflict: another process has it. kWrite makes the directory if it is missing.
  static Result<std::unique_ptr<Directory>> open(std::string path, Use use);
  ~Directory();
  Directory(const Directory&) = delete;
  Directory& operator=(const Directory&) = delete;

  const std::string& path() const { return path_; }
  std::string file(std::string_view name) const;

  enum class Stage : std::uint8_t {
    kEmpty,     // no store here
    kCreating,  // the process ended while it made one: nothing was acknowledged yet
    kReady,
    kJournal,  // ready, and the newest commits are in a journal
  };
  // An Error for a store of a newer format, a damaged FORMAT, or a database that is not ours.
  Result<Stage> stage() const;
  Result<void> set_stage(Stage stage);
  Result<void> close_to_others();  // mode 0700

  Result<void> remove_file(std::string_view name);  // if it is there

  Result<std::optional<CleanMark>> clean_mark() const;
  Result<void> write_clean(std::uint64_t sequence);
  Result<void> remove_clean();
  // What is missing or shorter than when the store was closed, as an Error that names the file.
  Result<void> compare(const CleanMark& mark) const;

  Result<std::vector<FileSize>> database_files() const;  // in the order of their names
  // A small file; nullopt: it is not there.
  Result<std::optional<std::string>> read_file(std::string_view name) const;
  Result<std::uint64_t> free_bytes() const;

 private:
  Directory(std::string path, int handle);
  Result<void> replace_file(std::string_view name, std::string_view content);

  std::string path_;
  int handle_;  // of the directory; holds the lock
};

}  // namespace postrider::rocks
