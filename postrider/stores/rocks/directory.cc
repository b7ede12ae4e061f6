#include "postrider/stores/rocks/directory.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <system_error>
#include <unistd.h>
#include <utility>

#include "postrider/base/crc.h"
#include "postrider/stores/rocks/lines.h"

namespace postrider::rocks {
namespace {

constexpr std::size_t kSmallFileMax = 16U << 20;
constexpr mode_t kOnlyUs = 0700;

tl::unexpected<Error> system_error(std::string what) {
  const int number = errno;
  const ErrorCode code =
      number == ENOSPC || number == EDQUOT ? ErrorCode::kLimit : ErrorCode::kUnavailable;
  return fail(code, std::move(what) + ": " + std::generic_category().message(number));
}

bool is_database_file(std::string_view name) {
  return name == "CURRENT" || name.starts_with("MANIFEST-") || name.ends_with(".log") ||
         name.ends_with(".sst");
}

Result<void> write_all(int handle, std::string_view bytes, const std::string& path) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(handle, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return system_error("cannot write " + path);
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  if (::fsync(handle) != 0) return system_error("cannot sync " + path);
  return {};
}

}  // namespace

std::string encode_clean(const CleanMark& mark) {
  std::string text = "postrider-clean 1\nsequence " + std::to_string(mark.sequence) + "\n";
  for (const FileSize& file : mark.files)
    text += "file " + std::to_string(file.bytes) + " " + file.name + "\n";
  text += "crc " + std::to_string(crc32c(text)) + "\n";
  return text;
}

std::optional<CleanMark> decode_clean(std::string_view text) {
  const std::size_t last = text.rfind("crc ");
  if (last == std::string_view::npos) return std::nullopt;
  std::string_view tail = text.substr(last);
  const auto crc = take_line(tail, "crc");
  if (!crc || !tail.empty() || number_of(*crc) != crc32c(text.substr(0, last))) return std::nullopt;
  text = text.substr(0, last);
  CleanMark mark;
  if (take_line(text, "postrider-clean") != "1") return std::nullopt;
  const auto sequence = take_line(text, "sequence");
  if (!sequence || !number_of(*sequence)) return std::nullopt;
  mark.sequence = *number_of(*sequence);
  while (!text.empty()) {
    const auto line = take_line(text, "file");
    const std::size_t space = line ? line->find(' ') : std::string_view::npos;
    if (space == std::string_view::npos) return std::nullopt;
    const auto bytes = number_of(line->substr(0, space));
    if (!bytes) return std::nullopt;
    mark.files.push_back({std::string(line->substr(space + 1)), *bytes});
  }
  return mark;
}

Directory::Directory(std::string path, int handle) : path_(std::move(path)), handle_(handle) {}
Directory::~Directory() { ::close(handle_); }

std::string Directory::file(std::string_view name) const {
  std::string out = path_;
  out.push_back('/');
  return out.append(name);
}

Result<std::unique_ptr<Directory>> Directory::open(std::string path, Use use) {
  if (path.empty()) return fail(ErrorCode::kInvalid, "the data directory has no name");
  if (use == Use::kWrite) {
    std::error_code error;
    const std::filesystem::path parent = std::filesystem::path(path).parent_path();
    if (!parent.empty()) std::filesystem::create_directories(parent, error);
    if (error) return fail(ErrorCode::kUnavailable, "cannot make " + path + ": " + error.message());
    if (::mkdir(path.c_str(), kOnlyUs) != 0 && errno != EEXIST)
      return system_error("cannot make " + path);
  }
  const int handle = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (handle < 0) return system_error("cannot open the directory " + path);
  std::unique_ptr<Directory> directory(new Directory(std::move(path), handle));
  // A lock on the directory itself: it outlives the database being closed and opened again. File
  // systems that cannot lock a directory are left to RocksDB's own lock.
  if (::flock(handle, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    return fail(ErrorCode::kConflict, "another daemon uses " + directory->path_ +
                                          ": stop it first, or give this one its own directory");
  }
  return directory;
}

Result<void> Directory::close_to_others() {
  struct stat status {};
  if (::fstat(handle_, &status) != 0) return system_error("cannot look at " + path_);
  if ((status.st_mode & 0777) == kOnlyUs) return {};
  if (::fchmod(handle_, kOnlyUs) != 0)
    return system_error("others can read " + path_ + " and its mode cannot be set to 0700");
  return {};
}

Result<std::optional<std::string>> Directory::read_file(std::string_view name) const {
  const int handle = ::openat(handle_, std::string(name).c_str(), O_RDONLY | O_CLOEXEC);
  if (handle < 0 && errno == ENOENT) return std::optional<std::string>();
  if (handle < 0) return system_error("cannot read " + file(name));
  std::string content;
  char part[4096];
  ssize_t got = 0;
  do {
    got = ::read(handle, part, sizeof(part));
    if (got > 0) content.append(part, static_cast<std::size_t>(got));
  } while (got > 0 && content.size() <= kSmallFileMax);
  const int number = errno;
  ::close(handle);
  errno = number;
  if (got < 0) return system_error("cannot read " + file(name));
  if (content.size() > kSmallFileMax) return fail(ErrorCode::kCorrupt, file(name) + " is too long");
  return std::optional<std::string>(std::move(content));
}

// All or nothing, also over a power cut.
Result<void> Directory::replace_file(std::string_view name, std::string_view content) {
  const std::string target(name);
  const std::string draft = target + ".new";
  const int handle =
      ::openat(handle_, draft.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (handle < 0) return system_error("cannot make " + file(draft));
  const Result<void> written = write_all(handle, content, file(draft));
  ::close(handle);
  if (!written) {
    ::unlinkat(handle_, draft.c_str(), 0);  // on a full disk every part of it counts
    return written;
  }
  if (::renameat(handle_, draft.c_str(), handle_, target.c_str()) != 0)
    return system_error("cannot make " + file(target));
  if (::fsync(handle_) != 0) return system_error("cannot sync " + path_);
  return {};
}

Result<Directory::Stage> Directory::stage() const {
  POSTRIDER_TRY(content, read_file(kFormatFile));
  if (!content) {
    POSTRIDER_TRY(files, database_files());
    if (files.empty()) return Stage::kEmpty;
    return fail(ErrorCode::kConflict,
                path_ + " holds " + files.front().name + " but no " + std::string(kFormatFile) +
                    ": it is not a store of postrider, or " + std::string(kFormatFile) +
                    " was lost. Choose another directory");
  }
  std::string_view text = *content;
  const auto format = take_line(text, "postrider-store");
  const std::uint64_t number = number_of(format.value_or("")).value_or(0);
  const auto state = take_line(text, "state");
  if (number > kJournalFormat) {
    return fail(ErrorCode::kInvalid, path_ + " has store format " + std::to_string(number) +
                                         ", and this postrider knows formats up to " +
                                         std::to_string(kJournalFormat) +
                                         ": use the newer postrider that wrote it");
  }
  if (number == kJournalFormat && text.empty() && state == "ready") return Stage::kJournal;
  const bool known = number == kFormat && text.empty();
  if (known && state == "ready") return Stage::kReady;
  if (known && state == "creating") return Stage::kCreating;
  return fail(ErrorCode::kCorrupt, file(kFormatFile) + " is damaged. Nothing was changed");
}

Result<void> Directory::set_stage(Stage stage) {
  const std::uint32_t format = stage == Stage::kJournal ? kJournalFormat : kFormat;
  return replace_file(kFormatFile, "postrider-store " + std::to_string(format) + "\nstate " +
                                       (stage == Stage::kCreating ? "creating" : "ready") + "\n");
}

Result<std::optional<CleanMark>> Directory::clean_mark() const {
  POSTRIDER_TRY(content, read_file(kCleanFile));
  if (!content) return std::optional<CleanMark>();
  std::optional<CleanMark> mark = decode_clean(*content);
  if (!mark)
    return fail(ErrorCode::kCorrupt, file(kCleanFile) + " is damaged. Nothing was changed");
  return mark;
}

Result<void> Directory::write_clean(std::uint64_t sequence) {
  POSTRIDER_TRY(files, database_files());
  return replace_file(kCleanFile, encode_clean({sequence, std::move(files)}));
}

Result<void> Directory::remove_clean() { return remove_file(kCleanFile); }

Result<void> Directory::remove_file(std::string_view name) {
  if (::unlinkat(handle_, std::string(name).c_str(), 0) != 0 && errno != ENOENT)
    return system_error("cannot remove " + file(name));
  if (::fsync(handle_) != 0) return system_error("cannot sync " + path_);
  return {};
}

Result<void> Directory::compare(const CleanMark& mark) const {
  POSTRIDER_TRY(files, database_files());
  for (const FileSize& then : mark.files) {
    const auto now = std::find_if(files.begin(), files.end(),
                                  [&](const FileSize& file) { return file.name == then.name; });
    if (now != files.end() && now->bytes == then.bytes) continue;
    const std::string held =
        now == files.end() ? "is missing" : "now has " + std::to_string(now->bytes) + " bytes";
    return fail(ErrorCode::kCorrupt, file(then.name) + " had " + std::to_string(then.bytes) +
                                         " bytes when the store was closed and " + held +
                                         ": messages would be lost. Nothing was changed; restore "
                                         "the whole directory from a backup");
  }
  return {};
}

Result<std::vector<FileSize>> Directory::database_files() const {
  std::vector<FileSize> out;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(path_, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (!is_database_file(name)) continue;
    struct stat status {};
    if (::fstatat(handle_, name.c_str(), &status, 0) != 0) continue;  // removed meanwhile
    out.push_back({name, static_cast<std::uint64_t>(status.st_size)});
  }
  if (error) return fail(ErrorCode::kUnavailable, "cannot list " + path_ + ": " + error.message());
  std::sort(out.begin(), out.end(),
            [](const FileSize& a, const FileSize& b) { return a.name < b.name; });
  return out;
}

Result<std::uint64_t> Directory::free_bytes() const {
  struct statvfs status {};
  if (::fstatvfs(handle_, &status) != 0)
    return system_error("cannot ask for the space of " + path_);
  return std::uint64_t{status.f_bavail} * std::uint64_t{status.f_frsize};
}

}  // namespace postrider::rocks
