#include "postrider/stores/rocks/examine.h"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <unistd.h>
#include <utility>

#include "postrider/base/running_crc.h"

namespace postrider::rocks {
namespace {

constexpr const char* kCurrentFile = "CURRENT";

tl::unexpected<Error> damaged(std::string what) {
  return fail(ErrorCode::kCorrupt, std::move(what) +
                                       ". Nothing was changed; restore the whole directory from a "
                                       "backup, or look at it with 'postrider check'");
}

Result<SyncedMark> read_synced(const Directory& directory) {
  POSTRIDER_TRY(content, directory.read_file(kSyncedFile));
  std::optional<SyncedMark> mark = newest_synced(content.value_or(""));
  if (mark) return std::move(*mark);
  const std::string file = directory.file(kSyncedFile);
  return damaged(file + (content ? " is damaged" : " is missing") +
                 ", so a lost or shortened log would not be noticed. If nothing else is wrong and "
                 "you accept that, write the word 'unknown' into it: echo unknown > " +
                 file);
}

// The checksum of the first bytes; fewer are there: nullopt.
Result<std::optional<std::uint32_t>> checksum_of(const std::string& path, std::uint64_t bytes) {
  const auto cannot = [&path] {
    return fail(ErrorCode::kUnavailable,
                "cannot read " + path + ": " + std::generic_category().message(errno));
  };
  const int handle = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (handle < 0) return cannot();
  RunningCrc crc;
  std::string part(256U << 10, '\0');
  ssize_t got = 1;
  while (bytes > 0 && got > 0) {
    got = ::read(handle, part.data(), std::min<std::uint64_t>(bytes, part.size()));
    if (got <= 0) continue;
    crc.add(std::string_view(part).substr(0, static_cast<std::size_t>(got)));
    bytes -= static_cast<std::uint64_t>(got);
  }
  const int number = errno;
  ::close(handle);
  errno = number;
  if (got < 0) return cannot();
  if (bytes > 0) return std::optional<std::uint32_t>();
  return std::optional<std::uint32_t>(crc.value());
}

Result<void> claim_holds(const Directory& directory, const std::vector<FileSize>& files,
                         const SyncedPart& claim) {
  const auto file = std::find_if(files.begin(), files.end(),
                                 [&](const FileSize& one) { return one.name == claim.name; });
  const std::string synced =
      directory.file(claim.name) + " had " + std::to_string(claim.bytes) + " synced bytes and ";
  if (file == files.end()) return damaged(synced + "is missing: messages would be lost");
  if (file->bytes < claim.bytes)
    return damaged(synced + "now has only " + std::to_string(file->bytes) +
                   ": messages would be lost");
  POSTRIDER_TRY(crc, checksum_of(directory.file(claim.name), claim.bytes));
  if (crc != claim.crc) return damaged(synced + "these are others now");
  return {};
}

// RocksDB's own file names, and ours. A directory in the place of a file fails a start halfway
// through, and is not looked at by a reader.
bool is_store_file(std::string_view name) {
  for (const std::string_view one :
       {kFormatFile, kCleanFile, kSyncedFile, std::string_view("CURRENT"),
        std::string_view("IDENTITY"), std::string_view("LOCK"), std::string_view("LOG")}) {
    if (name == one) return true;
  }
  return name.starts_with("MANIFEST-") || name.starts_with("OPTIONS-") || name.ends_with(".log") ||
         name.ends_with(".sst");
}

Result<void> all_are_files(const Directory& directory) {
  std::error_code error;
  std::filesystem::directory_iterator entry(directory.path(), error);
  for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    std::error_code gone;
    if (is_store_file(name) && !entry->is_regular_file(gone) && !gone)
      return damaged(directory.file(name) + " is not a file");
  }
  if (!error) return {};
  return fail(ErrorCode::kUnavailable, "cannot list " + directory.path() + ": " + error.message());
}

// A list of tables is synced before CURRENT leads to it.
Result<void> current_leads_on(const Directory& directory, const std::vector<FileSize>& files,
                              const SyncedMark& synced) {
  POSTRIDER_TRY(content, directory.read_file(kCurrentFile));
  if (!content) return damaged(directory.file(kCurrentFile) + " is missing");
  const auto named = [&](const std::string& name) { return name + "\n" == *content; };
  const bool is_there =
      std::any_of(files.begin(), files.end(), [&](const FileSize& one) { return named(one.name); });
  const bool claimed =
      synced.unknown || std::any_of(synced.files.begin(), synced.files.end(),
                                    [&](const SyncedPart& one) { return named(one.name); });
  if (is_there && claimed) return {};
  return damaged(directory.file(kCurrentFile) + " does not lead to the list of tables");
}

}  // namespace

Result<Evidence> examine(const Directory& directory) {
  Evidence out;
  const Result<void> files_only = all_are_files(directory);
  if (!files_only) return tl::unexpected<Error>(files_only.error());
  POSTRIDER_TRY(clean, directory.clean_mark());
  if (clean) {
    const Result<void> whole = directory.compare(*clean);
    if (!whole) return tl::unexpected<Error>(whole.error());
  }
  out.clean = std::move(clean);
  POSTRIDER_TRY(synced, read_synced(directory));
  out.synced = std::move(synced);
  POSTRIDER_TRY(wals, scan_wals(directory));
  out.wals = std::move(wals);
  if (const auto damage = damage_of(out.wals)) return damaged(directory.file(*damage));
  POSTRIDER_TRY(files, directory.database_files());
  Result<void> good = current_leads_on(directory, files, out.synced);
  for (const SyncedPart& claim : out.synced.files) {
    if (good) good = claim_holds(directory, files, claim);
  }
  if (!good) return tl::unexpected<Error>(good.error());
  return out;
}

Result<void> reaches_its_mark(const Directory& directory, const Evidence& evidence,
                              std::uint64_t newest_write) {
  if (!evidence.clean || newest_write >= evidence.clean->sequence) return {};
  return fail(ErrorCode::kCorrupt, directory.path() + " was closed at write " +
                                       std::to_string(evidence.clean->sequence) +
                                       " and holds only " + std::to_string(newest_write) +
                                       ": restore it from a backup");
}

}  // namespace postrider::rocks
