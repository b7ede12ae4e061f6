#include "postrider/stores/rocks/guarded_files.h"

#include <mutex>
#include <string>
#include <utility>

#include "postrider/base/running_crc.h"

namespace postrider::rocks {
namespace {

using rocksdb::FileOptions;
using rocksdb::IODebugContext;
using rocksdb::IOOptions;
using rocksdb::IOStatus;
using rocksdb::Slice;

std::string name_of(const std::string& path) { return path.substr(path.rfind('/') + 1); }

IOStatus status_of(const Result<void>& result) {
  if (result) return IOStatus::OK();
  return result.error().code == ErrorCode::kLimit ? IOStatus::NoSpace(result.error().detail)
                                                  : IOStatus::IOError(result.error().detail);
}

class GuardedFile final : public rocksdb::FSWritableFileOwnerWrapper {
 public:
  GuardedFile(std::unique_ptr<rocksdb::FSWritableFile> real, std::string name,
              std::shared_ptr<SyncedFile> synced)
      : FSWritableFileOwnerWrapper(std::move(real)),
        name_(std::move(name)),
        synced_(std::move(synced)) {}

  IOStatus Append(const Slice& data, const IOOptions& options, IODebugContext* debug) override {
    return note(data, target()->Append(data, options, debug));
  }
  IOStatus Append(const Slice& data, const IOOptions& options,
                  const rocksdb::DataVerificationInfo& verification,
                  IODebugContext* debug) override {
    return note(data, target()->Append(data, options, verification, debug));
  }
  IOStatus Sync(const IOOptions& options, IODebugContext* debug) override {
    const State before = state();
    const IOStatus synced = target()->Sync(options, debug);
    return synced.ok() ? claim(before) : synced;
  }
  IOStatus Fsync(const IOOptions& options, IODebugContext* debug) override {
    const State before = state();
    const IOStatus synced = target()->Fsync(options, debug);
    return synced.ok() ? claim(before) : synced;
  }

 private:
  struct State {
    std::uint64_t bytes = 0;
    RunningCrc crc;
    bool known = true;  // every byte went through here, and was written
  };

  State state() {
    const std::lock_guard lock(mutex_);
    return state_;
  }
  IOStatus note(const Slice& data, IOStatus written) {
    const std::lock_guard lock(mutex_);
    if (!written.ok()) state_.known = false;  // a part of it may be there
    state_.bytes += data.size();
    state_.crc.add(data.ToStringView());
    return written;
  }
  IOStatus claim(const State& durable) {
    if (!durable.known || durable.bytes == 0) return IOStatus::OK();
    return status_of(synced_->claim({name_, durable.bytes, durable.crc.value()}));
  }

  const std::string name_;
  const std::shared_ptr<SyncedFile> synced_;
  std::mutex mutex_;  // one thread may append while another syncs
  State state_;
};

class GuardedFiles final : public rocksdb::FileSystemWrapper {
 public:
  GuardedFiles(std::shared_ptr<rocksdb::FileSystem> real, std::shared_ptr<SyncedFile> synced)
      : FileSystemWrapper(std::move(real)), synced_(std::move(synced)) {}

  const char* Name() const override { return "PostriderGuardedFiles"; }

  IOStatus NewWritableFile(const std::string& path, const FileOptions& options,
                           std::unique_ptr<rocksdb::FSWritableFile>* out,
                           IODebugContext* debug) override {
    const std::string name = name_of(path);
    if (!is_claimed_kind(name)) return target()->NewWritableFile(path, options, out, debug);
    const IOStatus free = release(path);
    if (!free.ok()) return free;
    std::unique_ptr<rocksdb::FSWritableFile> real;
    IOStatus made = target()->NewWritableFile(path, options, &real, debug);
    if (!made.ok()) return made;
    synced_->begin(name);
    *out = std::make_unique<GuardedFile>(std::move(real), name, synced_);
    return made;
  }
  // A file that is written again is not claimed.
  IOStatus ReopenWritableFile(const std::string& path, const FileOptions& options,
                              std::unique_ptr<rocksdb::FSWritableFile>* out,
                              IODebugContext* debug) override {
    const IOStatus free = release(path);
    return free.ok() ? target()->ReopenWritableFile(path, options, out, debug) : free;
  }
  IOStatus ReuseWritableFile(const std::string& path, const std::string& old_path,
                             const FileOptions& options,
                             std::unique_ptr<rocksdb::FSWritableFile>* out,
                             IODebugContext* debug) override {
    IOStatus free = release(path);
    if (free.ok()) free = release(old_path);
    return free.ok() ? target()->ReuseWritableFile(path, old_path, options, out, debug) : free;
  }
  IOStatus DeleteFile(const std::string& path, const IOOptions& options,
                      IODebugContext* debug) override {
    const IOStatus free = release(path);
    return free.ok() ? target()->DeleteFile(path, options, debug) : free;
  }
  IOStatus RenameFile(const std::string& from, const std::string& to, const IOOptions& options,
                      IODebugContext* debug) override {
    IOStatus free = release(from);
    if (free.ok()) free = release(to);
    return free.ok() ? target()->RenameFile(from, to, options, debug) : free;
  }

 private:
  IOStatus release(const std::string& path) {
    const std::string name = name_of(path);
    return is_claimed_kind(name) ? status_of(synced_->take_back(name)) : IOStatus::OK();
  }

  const std::shared_ptr<SyncedFile> synced_;
};

}  // namespace

std::shared_ptr<rocksdb::FileSystem> make_guarded_files(std::shared_ptr<rocksdb::FileSystem> real,
                                                        std::shared_ptr<SyncedFile> synced) {
  return std::make_shared<GuardedFiles>(std::move(real), std::move(synced));
}

}  // namespace postrider::rocks
