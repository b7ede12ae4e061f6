#include "postrider/stores/rocks/synced_mark.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <fcntl.h>
#include <system_error>
#include <unistd.h>
#include <utility>

#include "postrider/base/crc.h"
#include "postrider/stores/rocks/lines.h"

namespace postrider::rocks {
namespace {

// A disk writes a sector whole or not at all. Where that does not hold, the other slot does.
constexpr std::size_t kSector = 512;
constexpr std::size_t kPage = 4096;
constexpr std::size_t kSlots = 2;
constexpr std::string_view kUnknown = "unknown\n";
constexpr std::string_view kWord = "postrider-synced";

bool is_list(std::string_view name) { return name.starts_with("MANIFEST-"); }

tl::unexpected<Error> mark_error(const std::string& what) {
  const int number = errno;
  const bool full = number == ENOSPC || number == EDQUOT;
  return fail(full ? ErrorCode::kLimit : ErrorCode::kUnavailable,
              what + ": " + std::generic_category().message(number));
}

std::string line_of(const SyncedPart& part) {
  return "file " + std::to_string(part.bytes) + " " + std::to_string(part.crc) + " " + part.name +
         "\n";
}

std::optional<SyncedPart> part_of(std::string_view line) {
  const std::size_t first = line.find(' ');
  const std::size_t second = first == std::string_view::npos ? first : line.find(' ', first + 1);
  if (second == std::string_view::npos) return std::nullopt;
  const auto bytes = number_of(line.substr(0, first));
  const auto crc = number_of(line.substr(first + 1, second - first - 1));
  const std::string_view name = line.substr(second + 1);
  if (!bytes || !crc || *crc > 0xFFFFFFFFU || !is_claimed_kind(name)) return std::nullopt;
  return SyncedPart{std::string(name), *bytes, static_cast<std::uint32_t>(*crc)};
}

}  // namespace

bool is_claimed_kind(std::string_view name) {
  return name.find('/') == std::string_view::npos &&
         (is_list(name) || (name.ends_with(".log") && number_of(name.substr(0, name.size() - 4))));
}

std::string encode_synced(const SyncedMark& mark) {
  constexpr std::size_t kCrcLine = sizeof("crc 4294967295\n") - 1;
  std::string text = std::string(kWord) + " 1\nturn " + std::to_string(mark.turn) + "\n";
  const auto add = [&text](const SyncedPart& part) {
    const std::string line = line_of(part);
    if (text.size() + line.size() + kCrcLine <= kSector) text += line;
  };
  for (const bool lists : {true, false}) {
    for (auto part = mark.files.rbegin(); part != mark.files.rend(); ++part) {
      if (is_list(part->name) == lists) add(*part);
    }
  }
  text += "crc " + std::to_string(crc32c(text)) + "\n";
  text.resize(kSector);
  return text;
}

std::optional<SyncedMark> decode_synced(std::string_view slot) {
  std::string_view text = slot.substr(0, slot.find('\0'));
  const std::size_t last = text.rfind("crc ");
  if (last == std::string_view::npos) return std::nullopt;
  std::string_view tail = text.substr(last);
  const auto crc = take_line(tail, "crc");
  if (!crc || !tail.empty() || number_of(*crc) != crc32c(text.substr(0, last))) return std::nullopt;
  text = text.substr(0, last);
  SyncedMark mark;
  if (take_line(text, kWord) != "1") return std::nullopt;
  const auto turn = take_line(text, "turn");
  if (!turn || !number_of(*turn)) return std::nullopt;
  mark.turn = *number_of(*turn);
  while (!text.empty()) {
    const auto line = take_line(text, "file");
    auto part = line ? part_of(*line) : std::nullopt;
    if (!part) return std::nullopt;
    mark.files.push_back(std::move(*part));
  }
  std::reverse(mark.files.begin(), mark.files.end());  // the newest was written first
  return mark;
}

std::optional<SyncedMark> newest_synced(std::string_view file) {
  if (file == kUnknown) return SyncedMark{.unknown = true};
  std::optional<SyncedMark> newest;
  for (std::size_t slot = 0; slot < kSlots && slot * kPage < file.size(); ++slot) {
    auto mark = decode_synced(file.substr(slot * kPage, kSector));
    if (mark && (!newest || mark->turn > newest->turn)) newest = std::move(mark);
  }
  return newest;
}

SyncedFile::SyncedFile(std::string directory, SyncedMark mark, Keeps keeps)
    : directory_(std::move(directory)), keeps_(keeps), mark_(std::move(mark)) {}

SyncedFile::~SyncedFile() {
  if (handle_ >= 0) ::close(handle_);
  if (directory_handle_ >= 0) ::close(directory_handle_);
}

Result<void> SyncedFile::open_files(int flags) {
  directory_handle_ = ::open(directory_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (directory_handle_ < 0) return mark_error("cannot open the directory " + directory_);
  const std::string name(kSyncedFile);
  handle_ = ::openat(directory_handle_, name.c_str(), O_RDWR | O_CLOEXEC | flags, 0600);
  if (handle_ < 0) return mark_error("cannot write " + directory_ + "/" + name);
  return {};
}

Result<std::shared_ptr<SyncedFile>> SyncedFile::open(const std::string& directory, SyncedMark found,
                                                     Keeps keeps) {
  if (found.unknown) return create(directory, keeps);
  std::shared_ptr<SyncedFile> out(new SyncedFile(directory, std::move(found), keeps));
  const Result<void> opened = out->open_files(0);
  if (!opened) return tl::unexpected<Error>(opened.error());
  return out;
}

// All of the file has its place on the disk from now on, so that a full disk does not matter.
Result<std::shared_ptr<SyncedFile>> SyncedFile::create(const std::string& directory, Keeps keeps) {
  std::shared_ptr<SyncedFile> out(new SyncedFile(directory, SyncedMark(), keeps));
  Result<void> made = out->open_files(O_CREAT | O_TRUNC);
  constexpr std::array<char, kSlots * kPage> kNothing{};
  if (made && ::pwrite(out->handle_, kNothing.data(), kNothing.size(), 0) !=
                  static_cast<ssize_t>(kNothing.size()))
    made = mark_error("cannot write " + directory + "/" + std::string(kSyncedFile));
  for (std::size_t slot = 0; made && slot < kSlots; ++slot) made = out->write_slot();
  if (made) made = out->sync();
  if (made && ::fsync(out->directory_handle_) != 0) made = mark_error("cannot sync " + directory);
  if (!made) return tl::unexpected<Error>(made.error());
  return out;
}

void SyncedFile::begin(const std::string& name) {
  const std::lock_guard lock(mutex_);
  begun_.insert(name);
}

Result<void> SyncedFile::claim(const SyncedPart& part) {
  const auto named = [&part](const SyncedPart& one) { return one.name == part.name; };
  bool first = false;
  {
    const std::lock_guard lock(mutex_);
    if (begun_.count(part.name) == 0) return {};
    first = std::none_of(mark_.files.begin(), mark_.files.end(), named);
  }
  // A name that a power cut may take back must not be claimed.
  if (first && ::fsync(directory_handle_) != 0) return mark_error("cannot sync " + directory_);
  bool lasting = first || is_list(part.name);
  {
    const std::lock_guard lock(mutex_);
    auto found = std::find_if(mark_.files.begin(), mark_.files.end(), named);
    if (found == mark_.files.end()) found = mark_.files.insert(mark_.files.end(), part);
    if (found->bytes > part.bytes) return {};  // another thread synced more meanwhile
    *found = part;
    lasting = ++claims_ % kClaimsPerSync == 0 || lasting;
    const Result<void> written = write_slot();
    if (!written) return written;
  }
  return lasting ? sync() : Result<void>();
}

Result<void> SyncedFile::take_back(const std::string& name) {
  {
    const std::lock_guard lock(mutex_);
    begun_.erase(name);
    if (std::erase_if(mark_.files, [&](const SyncedPart& one) { return one.name == name; }) == 0)
      return {};
    // Both slots: an older one that claims the file must not come back after it is gone.
    for (std::size_t slot = 0; slot < kSlots; ++slot) {
      const Result<void> written = write_slot();
      if (!written) return written;
    }
  }
  return sync();
}

Result<void> SyncedFile::write_slot() {
  ++mark_.turn;
  std::string slot = encode_synced(mark_);
  const std::size_t index = mark_.turn % kSlots;
  if (keeps_ == Keeps::kWritten) return put(slot, index);
  unsynced_[index] = std::move(slot);
  return {};
}

Result<void> SyncedFile::put(const std::string& slot, std::size_t index) {
  const auto at = static_cast<off_t>(index * kPage);
  ssize_t written = 0;
  do {
    written = ::pwrite(handle_, slot.data(), slot.size(), at);
  } while (written < 0 && errno == EINTR);
  if (written == static_cast<ssize_t>(slot.size())) return {};
  if (written >= 0) errno = ENOSPC;
  return mark_error("cannot write " + directory_ + "/" + std::string(kSyncedFile));
}

Result<void> SyncedFile::sync() {
  if (keeps_ == Keeps::kSynced) {
    const std::lock_guard lock(mutex_);
    for (std::size_t index = 0; index < kSlots; ++index) {
      const Result<void> written =
          unsynced_[index].empty() ? Result<void>() : put(unsynced_[index], index);
      if (!written) return written;
      unsynced_[index].clear();
    }
  }
  if (::fdatasync(handle_) == 0) return {};
  return mark_error("cannot sync " + directory_ + "/" + std::string(kSyncedFile));
}

}  // namespace postrider::rocks
