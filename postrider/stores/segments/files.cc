#include "postrider/stores/segments/files.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace postrider::segments {
namespace {

bool means_full(int error) { return error == ENOSPC || error == EDQUOT; }

std::string say(const std::string& path, std::string_view verb, int error) {
  return path + ": " + std::string(verb) + ": " + std::generic_category().message(error);
}

IoEnd ended(const std::string& path, std::string_view verb, int error) {
  return {means_full(error) ? Io::kNoSpace : Io::kFailed, say(path, verb, error)};
}

class DiskFile final : public File {
 public:
  DiskFile(std::string path, int descriptor) : path_(std::move(path)), descriptor_(descriptor) {}
  ~DiskFile() override { ::close(descriptor_); }
  DiskFile(const DiskFile&) = delete;
  DiskFile& operator=(const DiskFile&) = delete;

  Result<std::string> read(std::uint64_t offset, std::size_t size) const override {
    std::string bytes(size, '\0');
    std::size_t done = 0;
    while (done < size) {
      const ssize_t count =
          ::pread(descriptor_, bytes.data() + done, size - done, static_cast<off_t>(offset + done));
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) return fail(ErrorCode::kUnavailable, say(path_, "cannot be read", errno));
      if (count == 0) break;
      done += static_cast<std::size_t>(count);
    }
    bytes.resize(done);
    return bytes;
  }

  IoEnd write(std::uint64_t offset, std::string_view bytes) override {
    while (!bytes.empty()) {
      const ssize_t count =
          ::pwrite(descriptor_, bytes.data(), bytes.size(), static_cast<off_t>(offset));
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) return ended(path_, "cannot be written", errno);
      bytes.remove_prefix(static_cast<std::size_t>(count));
      offset += static_cast<std::uint64_t>(count);
    }
    return {};
  }

  IoEnd sync() override {
    if (::fdatasync(descriptor_) != 0) return ended(path_, "cannot be synced", errno);
    return {};
  }

  Result<std::uint64_t> size() const override {
    struct stat status {};
    if (::fstat(descriptor_, &status) != 0)
      return fail(ErrorCode::kUnavailable, say(path_, "cannot be looked at", errno));
    return static_cast<std::uint64_t>(status.st_size);
  }

 private:
  std::string path_;
  int descriptor_;
};

class DiskFolder final : public Folder {
 public:
  DiskFolder(std::string path, int descriptor) : path_(std::move(path)), descriptor_(descriptor) {}
  ~DiskFolder() override { ::close(descriptor_); }
  DiskFolder(const DiskFolder&) = delete;
  DiskFolder& operator=(const DiskFolder&) = delete;

  Result<std::vector<std::string>> list() const override {
    std::vector<std::string> names;
    std::error_code error;
    std::filesystem::directory_iterator at(path_, error);
    for (; !error && at != std::filesystem::directory_iterator(); at.increment(error))
      names.push_back(at->path().filename().string());
    if (error) return fail(ErrorCode::kUnavailable, path_ + ": " + error.message());
    std::sort(names.begin(), names.end());
    return names;
  }

  Result<std::unique_ptr<File>> open(const std::string& name) override { return get(name, 0); }
  Result<std::unique_ptr<File>> create(const std::string& name) override {
    return get(name, O_CREAT | O_TRUNC);
  }

  IoEnd sync() override {
    if (::fsync(descriptor_) != 0) return ended(path_, "cannot be synced", errno);
    return {};
  }

 private:
  Result<std::unique_ptr<File>> get(const std::string& name, int flags) {
    const std::string path = path_ + "/" + name;
    const int descriptor =
        ::openat(descriptor_, name.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | flags, 0600);
    if (descriptor >= 0) return std::make_unique<DiskFile>(path, descriptor);
    const ErrorCode code = errno == ENOENT     ? ErrorCode::kNotFound
                           : means_full(errno) ? ErrorCode::kLimit
                                               : ErrorCode::kUnavailable;
    return fail(code, say(path, "cannot be opened", errno));
  }

  std::string path_;
  int descriptor_;
};

}  // namespace

Result<std::unique_ptr<Folder>> open_folder(const std::string& directory) {
  if (::mkdir(directory.c_str(), 0700) != 0 && errno != EEXIST)
    return fail(means_full(errno) ? ErrorCode::kLimit : ErrorCode::kUnavailable,
                say(directory, "cannot be made", errno));
  const int descriptor = ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0)
    return fail(ErrorCode::kUnavailable, say(directory, "cannot be opened", errno));
  return std::make_unique<DiskFolder>(directory, descriptor);
}

}  // namespace postrider::segments
