// ModelFolder: a folder in memory that forgets what was not synced, as a power cut does, ends the
// process at any of its operations, and fails on demand. What it holds outlives it: a test opens
// the same ModelDisk again.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "postrider/base/rng.h"
#include "postrider/stores/segments/files.h"
#include "postrider/stores/segments/format.h"

namespace postrider::segments {

inline constexpr std::size_t kSector = 512;

struct ModelFile {
  std::string synced;
  std::string written;  // what a process sees
  bool name_synced = false;
};

struct ModelDisk {
  std::map<std::string, std::shared_ptr<ModelFile>> files;
  std::uint64_t operations = 0;
  std::uint64_t dies_at = UINT64_MAX;  // from this operation on nothing is done any more
  Io fault = Io::kDone;
  std::uint64_t fault_at = UINT64_MAX;  // the one operation that fails so
  bool fault_stays = false;

  bool dead() const { return operations > dies_at; }

  // What is on the disk after a power cut: of each sector that was written and not synced, either
  // what was there before or what was written, as `rng` draws.
  void cut_power(Rng& rng) {
    for (auto at = files.begin(); at != files.end();) {
      ModelFile& file = *at->second;
      if (!file.name_synced && rng.below(2) == 0) {
        at = files.erase(at);
        continue;
      }
      std::string kept = file.synced;
      if (kept.size() < file.written.size() && rng.below(2) == 0)
        kept.resize(file.written.size(), '\0');
      for (std::size_t i = 0; i < kept.size(); i += kSector) {
        // A file that was made anew may be shorter than it was.
        if (rng.below(2) == 0 || i >= file.written.size()) continue;
        const std::size_t size = std::min(
            {kSector, kept.size() - i, file.written.size() - std::min(i, file.written.size())});
        kept.replace(i, size, file.written, i, size);
      }
      at->second = std::make_shared<ModelFile>(ModelFile{kept, kept, true});
      ++at;
    }
  }
  // A kill: what was written stays in the page cache.
  void revive() {
    dies_at = UINT64_MAX;
    fault_at = UINT64_MAX;
    operations = 0;
  }
  std::string& bytes(const std::string& name) { return files.at(name)->written; }
  ModelDisk copy() const {
    ModelDisk out = *this;
    for (auto& [name, file] : out.files) file = std::make_shared<ModelFile>(*file);
    return out;
  }
};

class ModelFolder final : public Folder {
 public:
  explicit ModelFolder(ModelDisk& disk) : disk_(disk) {}

  Result<std::vector<std::string>> list() const override {
    std::vector<std::string> names;
    for (const auto& [name, file] : disk_.files) names.push_back(name);
    return names;
  }
  Result<std::unique_ptr<File>> open(const std::string& name) override {
    const auto found = disk_.files.find(name);
    if (found == disk_.files.end()) return fail(ErrorCode::kNotFound, name);
    return std::make_unique<OpenFile>(disk_, found->second, name);
  }
  Result<std::unique_ptr<File>> create(const std::string& name) override {
    if (const IoEnd end = operate(disk_, name); !end.done())
      return fail(end.io == Io::kNoSpace ? ErrorCode::kLimit : ErrorCode::kUnavailable, end.reason);
    if (!disk_.dead()) {
      auto& file = disk_.files[name];
      if (file == nullptr) file = std::make_shared<ModelFile>();
      file->written.clear();
      return std::make_unique<OpenFile>(disk_, file, name);
    }
    return std::make_unique<OpenFile>(disk_, std::make_shared<ModelFile>(), name);
  }
  IoEnd sync() override {
    const IoEnd end = operate(disk_, "folder");
    if (end.done() && !disk_.dead()) {
      for (auto& [name, file] : disk_.files) file->name_synced = true;
    }
    return end;
  }

 private:
  static IoEnd operate(ModelDisk& disk, const std::string& name) {
    ++disk.operations;
    const bool strikes =
        disk.fault_stays ? disk.operations >= disk.fault_at : disk.operations == disk.fault_at;
    if (strikes) return {disk.fault, name + ": a fault of the test"};
    return {};
  }

  class OpenFile final : public File {
   public:
    OpenFile(ModelDisk& disk, std::shared_ptr<ModelFile> file, std::string name)
        : disk_(disk), file_(std::move(file)), name_(std::move(name)) {}
    Result<std::string> read(std::uint64_t offset, std::size_t size) const override {
      if (offset >= file_->written.size()) return std::string();
      return file_->written.substr(static_cast<std::size_t>(offset), size);
    }
    // A write that fails, or in which the process ends, leaves the first half of its bytes.
    IoEnd write(std::uint64_t offset, std::string_view bytes) override {
      const bool was_dead = disk_.dead();
      const IoEnd end = operate(disk_, name_);
      if (was_dead) return end;
      if (!end.done() || disk_.dead()) bytes = bytes.substr(0, bytes.size() / 2);
      std::string& written = file_->written;
      if (written.size() < offset + bytes.size())
        written.resize(static_cast<std::size_t>(offset) + bytes.size(), '\0');
      written.replace(static_cast<std::size_t>(offset), bytes.size(), bytes);
      return end;
    }
    IoEnd sync() override {
      const IoEnd end = operate(disk_, name_);
      if (end.done() && !disk_.dead()) file_->synced = file_->written;
      return end;
    }
    Result<std::uint64_t> size() const override { return file_->written.size(); }

   private:
    ModelDisk& disk_;
    std::shared_ptr<ModelFile> file_;
    std::string name_;
  };

  ModelDisk& disk_;
};

}  // namespace postrider::segments
