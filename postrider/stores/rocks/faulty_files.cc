#include "postrider/stores/rocks/faulty_files.h"

#include <mutex>
#include <string>
#include <utility>

namespace postrider {
namespace {

using rocksdb::IODebugContext;
using rocksdb::IOOptions;
using rocksdb::IOStatus;
using rocksdb::Slice;

class Faults {
 public:
  Faults(std::shared_ptr<FileFaults> faults, bool drop_unsynced)
      : faults_(std::move(faults)), drop_unsynced_(drop_unsynced) {}

  bool drop_unsynced() const { return drop_unsynced_; }
  Faults of_file(const std::string& name) const {
    Faults out = *this;
    out.table_ = name.ends_with(".sst");
    return out;
  }
  // To a file of so many bytes.
  IOStatus of_write(std::uint64_t size) const {
    if (!faults_ || (table_ && size < faults_->tables_above)) return IOStatus::OK();
    return strike(faults_->writes.load());
  }
  IOStatus of_sync() const { return faults_ ? strike(faults_->syncs.load()) : IOStatus::OK(); }
  IOStatus of_read() const { return faults_ ? strike(faults_->reads.load()) : IOStatus::OK(); }

 private:
  IOStatus strike(FileFaults::Fault fault) const {
    if (fault == FileFaults::Fault::kNone || (faults_->tables_only && !table_) ||
        faults_->works_for.fetch_sub(1) > 0)
      return IOStatus::OK();
    faults_->works_for = 0;
    faults_->struck.fetch_add(1);
    return fault == FileFaults::Fault::kNoSpace
               ? IOStatus::NoSpace("rehearsed: no space left on device")
               : IOStatus::IOError("rehearsed: input/output error");
  }

  bool table_ = false;
  std::shared_ptr<FileFaults> faults_;
  bool drop_unsynced_;
};

class FaultyFile final : public rocksdb::FSWritableFileOwnerWrapper {
 public:
  FaultyFile(std::unique_ptr<rocksdb::FSWritableFile> real, Faults faults)
      : FSWritableFileOwnerWrapper(std::move(real)), faults_(std::move(faults)) {}

  IOStatus Append(const Slice& data, const IOOptions& options, IODebugContext* debug) override {
    const std::lock_guard lock(mutex_);
    const IOStatus fault = faults_.of_write(size_);
    const Slice part(data.data(), fault.ok() ? data.size() : data.size() / 2);
    size_ += part.size();
    if (faults_.drop_unsynced()) {
      unsynced_.append(part.data(), part.size());
      return fault;
    }
    const IOStatus written = target()->Append(part, options, debug);
    return written.ok() ? fault : written;
  }
  IOStatus Append(const Slice& data, const IOOptions& options,
                  const rocksdb::DataVerificationInfo& /*verification*/,
                  IODebugContext* debug) override {
    return Append(data, options, debug);
  }
  IOStatus Sync(const IOOptions& options, IODebugContext* debug) override {
    const std::lock_guard lock(mutex_);
    const IOStatus ready = before_sync(options, debug);
    return ready.ok() ? target()->Sync(options, debug) : ready;
  }
  IOStatus Fsync(const IOOptions& options, IODebugContext* debug) override {
    const std::lock_guard lock(mutex_);
    const IOStatus ready = before_sync(options, debug);
    return ready.ok() ? target()->Fsync(options, debug) : ready;
  }
  // Neither makes anything durable, so neither lets bytes out.
  IOStatus Flush(const IOOptions& options, IODebugContext* debug) override {
    return faults_.drop_unsynced() ? IOStatus::OK() : target()->Flush(options, debug);
  }
  IOStatus RangeSync(std::uint64_t offset, std::uint64_t bytes, const IOOptions& options,
                     IODebugContext* debug) override {
    if (faults_.drop_unsynced()) return IOStatus::OK();
    return target()->RangeSync(offset, bytes, options, debug);
  }
  IOStatus Truncate(std::uint64_t size, const IOOptions& options, IODebugContext* debug) override {
    const std::lock_guard lock(mutex_);
    const IOStatus out = let_out(options, debug);
    size_ = size;
    return out.ok() ? target()->Truncate(size, options, debug) : out;
  }
  IOStatus Close(const IOOptions& options, IODebugContext* debug) override {
    const std::lock_guard lock(mutex_);
    const IOStatus out = let_out(options, debug);
    const IOStatus closed = target()->Close(options, debug);
    return out.ok() ? closed : out;
  }
  std::uint64_t GetFileSize(const IOOptions& options, IODebugContext* debug) override {
    const std::lock_guard lock(mutex_);
    return faults_.drop_unsynced() ? size_ : target()->GetFileSize(options, debug);
  }

 private:
  IOStatus before_sync(const IOOptions& options, IODebugContext* debug) {
    const IOStatus fault = faults_.of_sync();
    return fault.ok() ? let_out(options, debug) : fault;
  }
  IOStatus let_out(const IOOptions& options, IODebugContext* debug) {
    if (unsynced_.empty()) return IOStatus::OK();
    const IOStatus written = target()->Append(unsynced_, options, debug);
    unsynced_.clear();
    return written;
  }

  Faults faults_;
  std::mutex mutex_;  // one thread may append while another syncs
  std::string unsynced_;
  std::uint64_t size_ = 0;
};

class FaultyTable final : public rocksdb::FSRandomAccessFileOwnerWrapper {
 public:
  FaultyTable(std::unique_ptr<rocksdb::FSRandomAccessFile> real, Faults faults)
      : FSRandomAccessFileOwnerWrapper(std::move(real)), faults_(std::move(faults)) {}

  IOStatus Read(std::uint64_t offset, std::size_t bytes, const IOOptions& options, Slice* result,
                char* scratch, IODebugContext* debug) const override {
    const IOStatus fault = faults_.of_read();
    return fault.ok() ? target()->Read(offset, bytes, options, result, scratch, debug) : fault;
  }
  // All other ways to read come down to the one above.
  IOStatus MultiRead(rocksdb::FSReadRequest* requests, std::size_t count, const IOOptions& options,
                     IODebugContext* debug) override {
    return FSRandomAccessFile::MultiRead(requests, count, options, debug);
  }
  IOStatus ReadAsync(rocksdb::FSReadRequest& request, const IOOptions& options,
                     std::function<void(const rocksdb::FSReadRequest&, void*)> done, void* argument,
                     void** handle, rocksdb::IOHandleDeleter* deleter,
                     IODebugContext* debug) override {
    return FSRandomAccessFile::ReadAsync(request, options, std::move(done), argument, handle,
                                         deleter, debug);
  }
  IOStatus Prefetch(std::uint64_t /*offset*/, std::size_t /*bytes*/, const IOOptions& /*options*/,
                    IODebugContext* /*debug*/) override {
    return IOStatus::NotSupported("read it when it is wanted");
  }

 private:
  Faults faults_;
};

class FaultyFiles final : public rocksdb::FileSystemWrapper {
 public:
  FaultyFiles(std::shared_ptr<rocksdb::FileSystem> real, Faults faults)
      : FileSystemWrapper(std::move(real)), faults_(std::move(faults)) {}

  const char* Name() const override { return "PostriderFaultyFiles"; }

  IOStatus NewWritableFile(const std::string& name, const rocksdb::FileOptions& options,
                           std::unique_ptr<rocksdb::FSWritableFile>* out,
                           IODebugContext* debug) override {
    const Faults faults = faults_.of_file(name);
    const IOStatus fault = faults.of_write(0);
    if (!fault.ok()) return fault;
    // Memory-mapped and direct writing would go around us.
    rocksdb::FileOptions plain = options;
    plain.use_mmap_writes = false;
    plain.use_direct_writes = false;
    std::unique_ptr<rocksdb::FSWritableFile> real;
    IOStatus made = target()->NewWritableFile(name, plain, &real, debug);
    if (made.ok()) *out = std::make_unique<FaultyFile>(std::move(real), faults);
    return made;
  }
  IOStatus NewRandomAccessFile(const std::string& name, const rocksdb::FileOptions& options,
                               std::unique_ptr<rocksdb::FSRandomAccessFile>* out,
                               IODebugContext* debug) override {
    std::unique_ptr<rocksdb::FSRandomAccessFile> real;
    IOStatus made = target()->NewRandomAccessFile(name, options, &real, debug);
    if (made.ok()) *out = std::make_unique<FaultyTable>(std::move(real), faults_.of_file(name));
    return made;
  }
  IOStatus ReopenWritableFile(const std::string& /*name*/, const rocksdb::FileOptions& /*options*/,
                              std::unique_ptr<rocksdb::FSWritableFile>* /*out*/,
                              IODebugContext* /*debug*/) override {
    return IOStatus::NotSupported("files are not written twice here");
  }
  IOStatus ReuseWritableFile(const std::string& /*name*/, const std::string& /*old_name*/,
                             const rocksdb::FileOptions& /*options*/,
                             std::unique_ptr<rocksdb::FSWritableFile>* /*out*/,
                             IODebugContext* /*debug*/) override {
    return IOStatus::NotSupported("files are not written twice here");
  }

 private:
  Faults faults_;
};

}  // namespace

std::shared_ptr<rocksdb::FileSystem> make_faulty_files(std::shared_ptr<rocksdb::FileSystem> real,
                                                       std::shared_ptr<FileFaults> faults,
                                                       bool drop_unsynced) {
  return std::make_shared<FaultyFiles>(std::move(real), Faults(std::move(faults), drop_unsynced));
}

}  // namespace postrider
