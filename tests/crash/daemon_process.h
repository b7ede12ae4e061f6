// DaemonProcess: one life of the daemon, from its start to its end by a signal or by itself. It is
// killed when this object, or the process that made it, is gone. One thread.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <vector>

namespace postrider::crash {

struct DaemonCommand {
  std::vector<std::string> words;        // the program and its arguments
  std::vector<std::string> environment;  // "NAME=value", beside our own
  std::string log_file;                  // its standard error is appended here
};

class DaemonProcess {
 public:
  explicit DaemonProcess(const DaemonCommand& command);
  ~DaemonProcess();
  DaemonProcess(const DaemonProcess&) = delete;
  DaemonProcess& operator=(const DaemonProcess&) = delete;

  // Where it listens, as it says itself on its standard output. Empty: it ended before it said so,
  // or said nothing for so long.
  std::string wait_address(std::chrono::milliseconds at_most);

  // What follows `words` in a line of its standard output; empty as above.
  std::string wait_said(std::string_view words, std::chrono::milliseconds at_most);

  void signal(int number) const;
  // The exit code, or 128 and the number of the signal that ended it. Nothing: it still runs.
  std::optional<int> wait_end(std::chrono::milliseconds at_most);
  // kill -9, and waits until nothing of it is left.
  int kill_now();

  pid_t pid() const { return pid_; }

 private:
  pid_t pid_ = -1;
  int pid_fd_ = -1;
  int output_ = -1;
  std::string said_;
  std::optional<int> ended_;
};

}  // namespace postrider::crash
