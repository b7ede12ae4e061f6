#include "postrider/stores/rocks/wal.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>
#include <utility>

#include "postrider/base/crc.h"

namespace postrider::rocks {
namespace {

// The format of RocksDB's log: blocks of 32 KiB; in them parts of records, each with a header of
// checksum (4 bytes), length (2) and type (1), little-endian. A tail of a block too short for a
// header is filled with zeros. A record is one full part, or first, middle …, last.
constexpr std::uint64_t kBlock = 32768;
constexpr std::uint64_t kHeader = 7;
enum PartType : std::uint8_t { kZero = 0, kFull = 1, kFirst = 2, kMiddle = 3, kLast = 4 };
// A record is a batch: sequence of its first write (8 bytes), number of writes (4), the writes.
constexpr std::size_t kBatchHead = 12;

template <class Number>
Number little(std::string_view bytes) {
  static_assert(std::endian::native == std::endian::little);
  Number value = 0;
  std::memcpy(&value, bytes.data(), sizeof(value));
  return value;
}

struct Part {
  std::uint8_t type = kZero;
  std::string_view content;
};

// The checksum covers type and content, and is stored rotated.
bool checksum_holds(std::string_view header, std::size_t length) {
  const std::uint32_t crc = crc32c(header.substr(6, 1 + length));
  return little<std::uint32_t>(header) == ((crc >> 15) | (crc << 17)) + 0xA282EAD8U;
}

class Scanner {
 public:
  explicit Scanner(std::string_view bytes) : bytes_(bytes) {}

  WalScan run() {
    while (!out_.broken && at_ < bytes_.size()) step();
    // A record whose first parts are there and whose last is not was never finished.
    if (!out_.broken && inside_) break_at(record_at_, "the record has no end", true);
    if (out_.broken && inside_ && out_.next_sequence == 0 && head_.size() == kBatchHead)
      out_.next_sequence = little<std::uint64_t>(head_);
    if (out_.broken) out_.broken->followed = find_record_behind(out_.broken->at);
    return std::move(out_);
  }

 private:
  std::uint64_t left_in_block() const { return kBlock - at_ % kBlock; }

  void break_at(std::uint64_t at, std::string what, bool incomplete) {
    out_.broken = WalScan::Break{at, std::move(what), incomplete, 0};
  }

  void step() {
    if (left_in_block() < kHeader) {
      at_ += left_in_block();
      return;
    }
    const std::string_view rest = bytes_.substr(at_);
    if (rest.size() < kHeader) return break_at(at_, "the header is cut off", true);
    if (rest.find_first_not_of('\0') == std::string_view::npos)
      return break_at(at_, "nothing was written from here on", true);
    const std::uint64_t length = little<std::uint16_t>(rest.substr(4));
    const bool too_long = kHeader + length > left_in_block();
    if (too_long || kHeader + length > rest.size()) {
      if (holds_for_another_length(rest, length)) return break_at(at_, "its length changed", false);
      return too_long ? break_at(at_, "the length cannot be", rest.size() < left_in_block())
                      : break_at(at_, "the record is cut off", true);
    }
    if (!checksum_holds(rest, length)) return break_at(at_, "the checksum does not hold", false);
    take({static_cast<std::uint8_t>(rest[6]), rest.substr(kHeader, length)});
    at_ += kHeader + length;
  }

  // Few lengths are tried, because each has a chance of 1 in 2^32 to hold for a torn write: the one
  // that reaches to the end of the file, and those that differ by one bit.
  bool holds_for_another_length(std::string_view rest, std::uint64_t length) const {
    const std::uint64_t room = std::min<std::uint64_t>(rest.size(), left_in_block()) - kHeader;
    if (checksum_holds(rest, room)) return true;
    for (std::uint64_t bit = 1; bit <= 0x8000; bit <<= 1) {
      if ((length ^ bit) < room && checksum_holds(rest, length ^ bit)) return true;
    }
    return false;
  }

  void take(Part part) {
    const bool starts = part.type == kFull || part.type == kFirst;
    const bool goes_on = part.type == kMiddle || part.type == kLast;
    if (!starts && !goes_on) return break_at(at_, "the type is unknown", false);
    if (starts == inside_) return break_at(at_, "the parts are out of order", false);
    if (starts) {
      record_at_ = at_;
      head_.clear();
    }
    head_.append(part.content.substr(0, kBatchHead - std::min(kBatchHead, head_.size())));
    inside_ = part.type == kFirst || part.type == kMiddle;
    if (!inside_) finish(at_ + kHeader + part.content.size());
  }

  void finish(std::uint64_t end) {
    if (head_.size() < kBatchHead) return break_at(record_at_, "the record is too short", false);
    const auto sequence = little<std::uint64_t>(head_);
    const auto count = little<std::uint32_t>(std::string_view(head_).substr(8));
    if (out_.next_sequence != 0 && sequence != out_.next_sequence)
      return break_at(record_at_, "writes are missing before it", false);
    if (out_.first_sequence == 0) out_.first_sequence = sequence;
    out_.next_sequence = sequence + count;
    out_.good_bytes = end;
    ++out_.records;
  }

  // Looks at every byte behind a break, because a damaged length hides where the next part begins.
  std::uint64_t find_record_behind(std::uint64_t broken) const {
    for (std::uint64_t at = broken + 1; at + kHeader + kBatchHead <= bytes_.size(); ++at) {
      if (is_record_start(at)) return at;
    }
    return 0;
  }
  bool is_record_start(std::uint64_t at) const {
    const auto type = static_cast<std::uint8_t>(bytes_[at + 6]);
    if (type != kFull && type != kFirst) return false;
    const std::uint64_t length = little<std::uint16_t>(bytes_.substr(at + 4));
    const std::uint64_t room = std::min(kBlock - at % kBlock, bytes_.size() - at);
    if (length < kBatchHead || kHeader + length > room) return false;
    const auto sequence = little<std::uint64_t>(bytes_.substr(at + kHeader));
    return sequence > out_.next_sequence && checksum_holds(bytes_.substr(at), length);
  }

  std::string_view bytes_;
  WalScan out_;
  std::uint64_t at_ = 0;
  bool inside_ = false;          // of a record with several parts
  std::uint64_t record_at_ = 0;  // where the record began
  std::string head_;             // its first bytes
};

std::optional<std::uint64_t> wal_number(std::string_view name) {
  if (!name.ends_with(".log")) return std::nullopt;
  name.remove_suffix(4);
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  if (error != std::errc() || end != name.data() + name.size()) return std::nullopt;
  return number;
}

Result<WalScan> scan_file(const std::string& path, std::uint64_t size) {
  if (size == 0) return WalScan();
  const int handle = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (handle < 0) return fail(ErrorCode::kUnavailable, "cannot read " + path);
  void* const start = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, handle, 0);
  ::close(handle);
  if (start == MAP_FAILED) return fail(ErrorCode::kUnavailable, "cannot read " + path);
  ::madvise(start, size, MADV_SEQUENTIAL);
  WalScan scan = scan_wal(std::string_view(static_cast<const char*>(start), size));
  ::munmap(start, size);
  return scan;
}

}  // namespace

WalScan scan_wal(std::string_view bytes) { return Scanner(bytes).run(); }

Result<std::vector<WalFile>> scan_wals(const Directory& directory) {
  POSTRIDER_TRY(files, directory.database_files());
  std::vector<WalFile> out;
  for (const FileSize& file : files) {
    const auto number = wal_number(file.name);
    if (!number) continue;
    POSTRIDER_TRY(scan, scan_file(directory.file(file.name), file.bytes));
    out.push_back({file.name, *number, std::move(scan)});
  }
  std::sort(out.begin(), out.end(),
            [](const WalFile& a, const WalFile& b) { return a.number < b.number; });
  return out;
}

namespace {

// Sequences only ever rise, from record to record and from log to log.
std::optional<std::string> exchanged(const std::vector<WalFile>& files) {
  const WalFile* before = nullptr;
  for (const WalFile& file : files) {
    if (file.scan.records == 0) continue;
    if (before != nullptr && file.scan.first_sequence < before->scan.next_sequence)
      return file.name + " begins with write " + std::to_string(file.scan.first_sequence) +
             ", and " + before->name + " reaches to write " +
             std::to_string(before->scan.next_sequence - 1) +
             " already: one of them holds another log's records";
    before = &file;
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> damage_of(const std::vector<WalFile>& files) {
  for (std::size_t i = 0; i < files.size(); ++i) {
    const auto& broken = files[i].scan.broken;
    if (!broken) continue;
    const std::string where =
        files[i].name + " is damaged at byte " + std::to_string(broken->at) + ": " + broken->what;
    if (broken->followed != 0)
      return where + ", and a record follows it at byte " + std::to_string(broken->followed);
    if (!broken->incomplete) return where;
    // An unfinished record is dropped and its sequence given out again. A later log that begins
    // behind that sequence shows that the record was finished once.
    for (std::size_t later = i + 1; later < files.size(); ++later) {
      const WalScan& next = files[later].scan;
      const std::uint64_t dropped = files[i].scan.next_sequence;
      if (next.records == 0) continue;
      if (dropped != 0 && next.first_sequence > dropped)
        return where + ", and " + files[later].name + " follows it";
      break;
    }
  }
  return exchanged(files);
}

}  // namespace postrider::rocks
