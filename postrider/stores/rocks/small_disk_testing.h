// SmallDisk: a real file system that is really full. A process of its own holds a tmpfs in its own
// mount namespace (`unshare -Urm`), and everybody else reaches it through that process's
// /proc/PID/root. With POSTRIDER_SMALL_DISK it is the file system of that name instead, of whatever
// kind and size; its files "store" and "filler" are ours.
#pragma once

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <string>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>
#include <stdlib.h>

namespace postrider {

class SmallDisk {
 public:
  explicit SmallDisk(std::uint64_t bytes) {
    if (const char* given = std::getenv("POSTRIDER_SMALL_DISK")) {
      base_ = given;
      is_there_ = true;
      clear();
      return;
    }
    place_ = ::testing::TempDir() + "small-disk-XXXXXX";
    EXPECT_NE(::mkdtemp(place_.data()), nullptr);
    std::array<int, 2> in{};
    std::array<int, 2> out{};
    EXPECT_EQ(::pipe2(in.data(), O_CLOEXEC), 0);
    EXPECT_EQ(::pipe2(out.data(), O_CLOEXEC), 0);
    const std::string size = "size=" + std::to_string(bytes);
    pid_ = ::fork();
    if (pid_ == 0) {
      ::dup2(in[0], STDIN_FILENO);
      ::dup2(out[1], STDOUT_FILENO);
      // It ends when our end of the pipe is closed, so with us at the latest.
      ::execlp("unshare", "unshare", "-Urm", "sh", "-c",
               "mount -t tmpfs -o \"$1\" none \"$0\" && echo ready && exec cat", place_.c_str(),
               size.c_str(), nullptr);
      ::_exit(127);
    }
    ::close(in[0]);
    ::close(out[1]);
    keeps_ = in[1];
    std::array<char, 6> said{};
    is_there_ = ::read(out[0], said.data(), said.size()) == 6;
    ::close(out[0]);
    base_ = "/proc/" + std::to_string(pid_) + "/root" + place_;
  }
  ~SmallDisk() {
    if (place_.empty()) {
      clear();
      return;
    }
    ::close(keeps_);
    int status = 0;
    if (pid_ > 0) ::waitpid(pid_, &status, 0);
    std::error_code ignored;
    std::filesystem::remove_all(place_, ignored);
  }
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;

  // False: this machine does not let us mount one.
  bool is_there() const { return is_there_; }
  static constexpr const char* kRefused =
      "no file system of its own: 'unshare -Urm' or mounting a tmpfs is refused here";

  std::string path(const std::string& name) const { return base_ + "/" + name; }
  std::uint64_t free_bytes() const {
    struct statvfs status {};
    EXPECT_EQ(::statvfs(path("").c_str(), &status), 0);
    return std::uint64_t{status.f_bavail} * std::uint64_t{status.f_frsize};
  }

  // Leaves so much room, or less when there is less.
  void fill(std::uint64_t leave) {
    if (free_bytes() < leave) empty();
    const int file = ::open(path("filler").c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    ASSERT_GE(file, 0) << std::strerror(errno);
    // A store that runs may take some of it meanwhile: then the rest.
    off_t size = ::lseek(file, 0, SEEK_END);
    int failed = ENOSPC;
    for (int i = 0; i < 1000 && failed == ENOSPC; ++i) {
      const std::uint64_t free = free_bytes();
      if (free <= leave) break;
      const auto more = static_cast<off_t>(free - leave);
      failed = ::posix_fallocate(file, size, more);
      if (failed == 0) size += more;
    }
    EXPECT_TRUE(failed == 0 || failed == ENOSPC) << std::strerror(failed);
    ::close(file);
  }
  void empty() { ::unlink(path("filler").c_str()); }

 private:
  void clear() {
    std::error_code ignored;
    for (const char* name : {"store", "filler"}) std::filesystem::remove_all(path(name), ignored);
  }

  std::string base_;
  std::string place_;  // the directory that it is mounted over; empty: it was given
  pid_t pid_ = -1;
  int keeps_ = -1;
  bool is_there_ = false;
};

}  // namespace postrider
