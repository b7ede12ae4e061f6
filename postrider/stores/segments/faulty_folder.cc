#include "postrider/stores/segments/faulty_folder.h"

#include <string>
#include <utility>
#include <vector>

namespace postrider::segments {
namespace {

IoEnd strike(const Rehearsal& rehearsal, FileFaults::Fault fault) {
  if (fault == FileFaults::Fault::kNone || rehearsal.faults->tables_only ||
      rehearsal.faults->works_for.fetch_sub(1) > 0)
    return {};
  rehearsal.faults->works_for = 0;
  rehearsal.faults->struck.fetch_add(1);
  return fault == FileFaults::Fault::kNoSpace
             ? IoEnd{Io::kNoSpace, "rehearsed: no space left on device"}
             : IoEnd{Io::kFailed, "rehearsed: input/output error"};
}
IoEnd of_write(const Rehearsal& rehearsal) {
  return rehearsal.faults ? strike(rehearsal, rehearsal.faults->writes.load()) : IoEnd{};
}
IoEnd of_sync(const Rehearsal& rehearsal) {
  return rehearsal.faults ? strike(rehearsal, rehearsal.faults->syncs.load()) : IoEnd{};
}

class RehearsedFile final : public File {
 public:
  RehearsedFile(std::unique_ptr<File> real, Rehearsal rehearsal)
      : real_(std::move(real)), rehearsal_(std::move(rehearsal)) {}
  // The process ends by itself, and the kernel has what it wrote.
  ~RehearsedFile() override { (void)let_out(); }
  RehearsedFile(const RehearsedFile&) = delete;
  RehearsedFile& operator=(const RehearsedFile&) = delete;

  // What is read was synced, or written by an earlier process.
  Result<std::string> read(std::uint64_t offset, std::size_t size) const override {
    return real_->read(offset, size);
  }
  IoEnd write(std::uint64_t offset, std::string_view bytes) override {
    const IoEnd fault = of_write(rehearsal_);
    if (!fault.done()) bytes = bytes.substr(0, bytes.size() / 2);
    if (rehearsal_.drop_unsynced) {
      held_.emplace_back(offset, bytes);
      return fault;
    }
    const IoEnd written = real_->write(offset, bytes);
    return written.done() ? fault : written;
  }
  IoEnd sync() override {
    if (rehearsal_.skip_sync) return {};
    if (const IoEnd fault = of_sync(rehearsal_); !fault.done()) return fault;
    const IoEnd out = let_out();
    return out.done() ? real_->sync() : out;
  }
  Result<std::uint64_t> size() const override { return real_->size(); }

 private:
  IoEnd let_out() {
    for (const auto& [offset, bytes] : held_) {
      if (IoEnd end = real_->write(offset, bytes); !end.done()) return end;
    }
    held_.clear();
    return {};
  }

  std::unique_ptr<File> real_;
  Rehearsal rehearsal_;
  std::vector<std::pair<std::uint64_t, std::string>> held_;  // one group, or one new segment
};

class RehearsedFolder final : public Folder {
 public:
  RehearsedFolder(std::unique_ptr<Folder> real, Rehearsal rehearsal)
      : real_(std::move(real)), rehearsal_(std::move(rehearsal)) {}

  Result<std::vector<std::string>> list() const override { return real_->list(); }
  Result<std::unique_ptr<File>> open(const std::string& name) override {
    return rehearsed(real_->open(name));
  }
  Result<std::unique_ptr<File>> create(const std::string& name) override {
    return rehearsed(real_->create(name));
  }
  IoEnd sync() override { return real_->sync(); }

 private:
  Result<std::unique_ptr<File>> rehearsed(Result<std::unique_ptr<File>> real) {
    if (!real) return real;
    return std::make_unique<RehearsedFile>(std::move(*real), rehearsal_);
  }

  std::unique_ptr<Folder> real_;
  Rehearsal rehearsal_;
};

}  // namespace

std::unique_ptr<Folder> make_faulty_folder(std::unique_ptr<Folder> real, Rehearsal rehearsal) {
  return std::make_unique<RehearsedFolder>(std::move(real), std::move(rehearsal));
}

}  // namespace postrider::segments
