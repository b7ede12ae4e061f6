#include "postrider/stores/journaled/open_parts.h"

#include <filesystem>
#include <sys/random.h>
#include <system_error>
#include <utility>

#include "postrider/stores/rocks/rocks_store.h"
#include "postrider/stores/rocks/synced_mark.h"
#include "postrider/stores/segments/faulty_folder.h"

namespace postrider::journaled {
namespace {

using rocks::Directory;
using segments::SegmentJournal;

constexpr std::string_view kJournal = "journal";

Result<std::unique_ptr<segments::Folder>> open_folder(const StoreOptions& options,
                                                      const std::string& path) {
  POSTRIDER_TRY(folder, segments::open_folder(path));
  if (options.sync && !options.drop_unsynced && !options.faults) return std::move(folder);
  return segments::make_faulty_folder(std::move(folder), {.faults = options.faults,
                                                          .drop_unsynced = options.drop_unsynced,
                                                          .skip_sync = !options.sync});
}

segments::SegmentOptions segment_options(const StoreOptions& options) {
  return {.segment_bytes = options.journal_segment_bytes,
          .segments_max = options.journal_segments_max,
          .newest_epoch = {}};
}

Result<std::unique_ptr<Directory>> open_directory(const StoreOptions& options) {
  return Directory::open(options.directory, Directory::Use::kWrite);
}

// The journal first, then FORMAT: until that says so, no commit went into the journal, and what an
// interrupted making left is thrown away. The older files that claim what was synced go last.
Result<void> give_journal(Directory& directory, const StoreOptions& options,
                          std::uint64_t epochs_given) {
  std::error_code error;
  const std::string path = directory.file(kJournal);
  std::filesystem::remove_all(path, error);
  if (error) return fail(ErrorCode::kUnavailable, "cannot remove " + path + ": " + error.message());
  segments::JournalId id{};
  if (::getrandom(id.data(), id.size(), 0) != static_cast<ssize_t>(id.size()))
    return fail(ErrorCode::kUnavailable, "the system gives no random bytes for a journal");
  segments::SegmentOptions wanted = segment_options(options);
  wanted.newest_epoch = Epoch(epochs_given);
  POSTRIDER_TRY(folder, open_folder(options, path));
  POSTRIDER_TRY(journal, SegmentJournal::open(std::move(folder), id, wanted));
  if (auto closed = journal->close(); !closed) return closed;
  if (auto marked = directory.set_stage(Directory::Stage::kJournal); !marked) return marked;
  return {};
}

// A store of RocksDB alone is opened as ever, with all that this verifies, and closed.
Result<void> upgrade(const StoreOptions& options) {
  std::uint64_t epochs_given = 0;
  {
    POSTRIDER_TRY(store, RocksStore::open(options));
    POSTRIDER_TRY(given, store->hand_over());
    epochs_given = given;
  }
  POSTRIDER_TRY(directory, open_directory(options));
  POSTRIDER_TRY(stage, directory->stage());
  if (stage != Directory::Stage::kReady)
    return fail(ErrorCode::kConflict, "another process changed " + options.directory);
  return give_journal(*directory, options, epochs_given);
}

Result<Parts> open_halves(std::unique_ptr<Directory> directory, const StoreOptions& options,
                          rocks::RocksMap::Mode mode, segments::Opening opening) {
  Parts parts;
  // Without the directory there is no folder to make: opening it would make one.
  const std::string path = directory->file(kJournal);
  std::error_code error;
  if (!std::filesystem::is_directory(path, error))
    return fail(ErrorCode::kCorrupt,
                path + " is missing: it holds the newest messages. Nothing was changed; restore "
                       "the whole directory from a backup");
  POSTRIDER_TRY(folder, open_folder(options, path));
  POSTRIDER_TRY(journal,
                SegmentJournal::open(std::move(folder), {}, segment_options(options), opening));
  POSTRIDER_TRY(map, rocks::RocksMap::open(options, mode));
  parts.directory = std::move(directory);
  parts.map = std::move(map);
  parts.journal = std::move(journal);
  return parts;
}

}  // namespace

Result<Parts> open_parts(const StoreOptions& options) {
  POSTRIDER_TRY(directory, open_directory(options));
  POSTRIDER_TRY(found, directory->stage());
  if (found != Directory::Stage::kJournal) {
    directory.reset();  // its lock is the store's now
    if (auto upgraded = upgrade(options); !upgraded)
      return tl::unexpected<Error>(upgraded.error());
    POSTRIDER_TRY(again, open_directory(options));
    directory = std::move(again);
  }
  if (auto closed = directory->close_to_others(); !closed)
    return tl::unexpected<Error>(closed.error());
  // They speak of a log that is not written any more.
  for (const std::string_view name : {rocks::kCleanFile, std::string_view(rocks::kSyncedFile)}) {
    if (auto removed = directory->remove_file(name); !removed)
      return tl::unexpected<Error>(removed.error());
  }
  return open_halves(std::move(directory), options, rocks::RocksMap::Mode::kOpen,
                     segments::Opening::kExisting);
}

Result<Parts> look_at_parts(std::unique_ptr<Directory> directory) {
  StoreOptions options;
  options.directory = directory->path();
  return open_halves(std::move(directory), options, rocks::RocksMap::Mode::kReadOnly,
                     segments::Opening::kLook);
}

}  // namespace postrider::journaled
