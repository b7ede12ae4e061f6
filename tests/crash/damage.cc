#include "tests/crash/damage.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>
#include <utility>
#include <vector>

#include "postrider/stores/rocks/wal.h"

namespace postrider::crash {
namespace {

std::string read_whole(const std::string& path) {
  std::ostringstream out;
  out << std::ifstream(path, std::ios::binary).rdbuf();
  return out.str();
}

void write_whole(const std::string& path, std::string_view bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc)
      .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

// Where the last record of a log, or of a list of tables, which has the same form, begins.
std::uint64_t last_record(std::string_view bytes) {
  const std::uint64_t end = rocks::scan_wal(bytes).good_bytes;
  return end == 0 ? 0 : rocks::scan_wal(bytes.substr(0, end - 1)).good_bytes;
}

// Anywhere; near the end; or in the head of the last record (checksum, length, type).
std::uint64_t draw_place(std::string_view bytes, Rng& rng) {
  constexpr std::uint64_t kNearEnd = 300;
  constexpr std::uint64_t kHead = 7;
  const std::uint64_t luck = rng.below(3);
  if (luck == 0) return rng.below(bytes.size());
  if (luck == 1)
    return bytes.size() - 1 - rng.below(std::min<std::uint64_t>(bytes.size(), kNearEnd));
  return std::min<std::uint64_t>(bytes.size() - 1, last_record(bytes) + rng.below(kHead));
}

class Harmer {
 public:
  Harmer(const std::string& directory, Rng& rng) : directory_(directory), rng_(rng) {
    for (const auto& entry : std::filesystem::directory_iterator(directory)) {
      if (!entry.is_regular_file()) continue;
      const std::string name = entry.path().filename().string();
      by_kind_[kind_of_file(name)].push_back(name);
    }
    for (auto& [kind, names] : by_kind_) std::sort(names.begin(), names.end());
  }

  std::optional<Damage> run() {
    Damage out = draw_file();
    const std::string path = directory_ + "/" + out.file;
    const std::string before = read_whole(path);
    out.what = harm(path, before);
    const bool same = std::filesystem::is_regular_file(path) && read_whole(path) == before;
    if (out.what.empty() || (same && copied_.empty())) return std::nullopt;
    return out;
  }

 private:
  Damage draw_file() {
    // Every third time the newest log: nothing but the mark knows how long it was.
    const auto logs = by_kind_.find("log");
    if (logs != by_kind_.end() && rng_.below(3) == 0) return {logs->second.back(), "log", ""};
    // Tables are most of the bytes.
    auto kind = by_kind_.find("table");
    if (kind == by_kind_.end() || rng_.below(4) != 0)
      kind = std::next(by_kind_.begin(), static_cast<std::ptrdiff_t>(rng_.below(by_kind_.size())));
    return {kind->second[rng_.below(kind->second.size())], kind->first, ""};
  }

  std::string harm(const std::string& path, const std::string& before) {
    switch (rng_.below(12)) {
      case 0: std::filesystem::remove(path); return "removed";
      case 1: write_whole(path, ""); return "emptied";
      case 2:
      case 3: return cut(path, before);
      case 4: return fill_with_zeros(path, before);
      case 5: return append(path, before);
      case 6: return take_content_of_another(path, false);
      case 7: return take_content_of_another(path, true);
      case 8: return become_directory(path);
      case 9: return be_copied(path);
      default: return flip(path, before);
    }
  }

  static std::string become_directory(const std::string& path) {
    std::filesystem::remove(path);
    std::filesystem::create_directory(path);
    return "a directory is in its place";
  }
  // Under a number that is not used yet, so that it looks like the newest of its kind.
  std::string be_copied(const std::string& path) {
    const std::string name = std::filesystem::path(path).filename().string();
    const std::size_t digits = name.find_first_of("0123456789");
    if (digits == std::string::npos) return "";
    copied_ = name;
    copied_.replace(digits, 6, "000" + std::to_string(900 + rng_.below(100)));
    std::filesystem::copy(path, directory_ + "/" + copied_);
    return "copied to " + copied_;
  }

  std::string flip(const std::string& path, std::string bytes) {
    if (bytes.empty()) return "";
    const std::uint64_t at = draw_place(bytes, rng_);
    const std::uint64_t bit = rng_.below(8);
    bytes[at] = static_cast<char>(static_cast<unsigned char>(bytes[at]) ^ (1U << bit));
    write_whole(path, bytes);
    return "bit " + std::to_string(bit) + " of byte " + std::to_string(at) + " of " +
           std::to_string(bytes.size());
  }
  // Also exactly behind a record, where no torn one shows.
  std::string cut(const std::string& path, std::string_view bytes) {
    if (bytes.empty()) return "";
    const std::uint64_t left = rng_.below(3) == 0 ? last_record(bytes) : draw_place(bytes, rng_);
    write_whole(path, bytes.substr(0, left));
    return "cut to " + std::to_string(left) + " of " + std::to_string(bytes.size()) + " bytes";
  }
  std::string fill_with_zeros(const std::string& path, std::string bytes) {
    if (bytes.empty()) return "";
    const std::uint64_t at = draw_place(bytes, rng_);
    const std::uint64_t count = std::min<std::uint64_t>(bytes.size() - at, 1 + rng_.below(4096));
    bytes.replace(at, count, count, '\0');
    write_whole(path, bytes);
    return std::to_string(count) + " zeros at byte " + std::to_string(at);
  }
  std::string append(const std::string& path, std::string bytes) {
    const std::uint64_t count = 1 + rng_.below(100);
    for (std::uint64_t i = 0; i < count; ++i) bytes.push_back(static_cast<char>(rng_.below(256)));
    write_whole(path, bytes);
    return std::to_string(count) + " bytes appended";
  }
  // Of the same kind where there is one, because such a content looks right.
  std::string take_content_of_another(const std::string& path, bool swap) {
    const std::string name = std::filesystem::path(path).filename().string();
    std::vector<std::string> others;
    for (const std::string& one : by_kind_[kind_of_file(name)]) {
      if (one != name) others.push_back(one);
    }
    if (others.empty()) {
      for (const auto& [kind, names] : by_kind_) {
        if (kind != kind_of_file(name)) others.insert(others.end(), names.begin(), names.end());
      }
    }
    if (others.empty()) return "";
    const std::string& other = others[rng_.below(others.size())];
    const std::string content = read_whole(directory_ + "/" + other);
    if (swap) write_whole(directory_ + "/" + other, read_whole(path));
    write_whole(path, content);
    return (swap ? "exchanged with " : "overwritten with the content of ") + other;
  }

  const std::string& directory_;
  Rng& rng_;
  std::map<std::string, std::vector<std::string>> by_kind_;
  std::string copied_;
};

}  // namespace

std::string kind_of_file(std::string_view name) {
  if (name.ends_with(".log")) return "log";
  if (name.ends_with(".sst")) return "table";
  if (name.starts_with("MANIFEST-")) return "list of tables";
  if (name.starts_with("OPTIONS-")) return "OPTIONS";
  if (name.starts_with("LOG")) return "LOG";
  return std::string(name);
}

std::optional<Damage> do_damage(const std::string& directory, Rng& rng) {
  return Harmer(directory, rng).run();
}

}  // namespace postrider::crash
