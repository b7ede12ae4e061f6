#include "tests/crash/daemon_process.h"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace postrider::crash {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::string_view kListens = "Postrider listens on ";

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> out;
  for (const std::string& text : texts) out.push_back(const_cast<char*>(text.c_str()));
  out.push_back(nullptr);
  return out;
}

int left_ms(Clock::time_point until) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now()).count();
  return left < 0 ? 0 : static_cast<int>(left);
}

[[noreturn]] void broken(const char* what) {
  std::perror(what);
  std::exit(2);
}

}  // namespace

DaemonProcess::DaemonProcess(const DaemonCommand& command) {
  std::vector<std::string> environment = command.environment;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    if (!std::string_view(*variable).starts_with("POSTRIDER_")) environment.emplace_back(*variable);
  }
  const std::vector<char*> words = pointers(command.words);
  const std::vector<char*> variables = pointers(environment);
  std::array<int, 2> pipe{};
  if (::pipe2(pipe.data(), O_CLOEXEC) != 0) broken("pipe");
  const int log = ::open(command.log_file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (log < 0) broken(command.log_file.c_str());
  const pid_t parent = ::getpid();
  pid_ = ::fork();
  if (pid_ < 0) broken("fork");
  if (pid_ == 0) {  // other threads are not here: only calls that need nothing of them
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(127);
    ::dup2(pipe[1], STDOUT_FILENO);
    ::dup2(log, STDERR_FILENO);
    ::execve(words[0], words.data(), variables.data());
    ::_exit(127);
  }
  ::close(pipe[1]);
  ::close(log);
  output_ = pipe[0];
  pid_fd_ = static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0));
  if (pid_fd_ < 0) broken("pidfd_open");
}

DaemonProcess::~DaemonProcess() {
  kill_now();
  ::close(output_);
  ::close(pid_fd_);
}

std::string DaemonProcess::wait_address(std::chrono::milliseconds at_most) {
  return wait_said(kListens, at_most);
}

std::string DaemonProcess::wait_said(std::string_view words, std::chrono::milliseconds at_most) {
  const Clock::time_point until = Clock::now() + at_most;
  while (true) {
    const std::size_t at = said_.find(words);
    const std::size_t end = at == std::string::npos ? at : said_.find('\n', at);
    if (end != std::string::npos) return said_.substr(at + words.size(), end - at - words.size());
    pollfd waits{output_, POLLIN, 0};
    if (::poll(&waits, 1, left_ms(until)) <= 0) return {};
    std::array<char, 4096> buffer{};
    const ssize_t got = ::read(output_, buffer.data(), buffer.size());
    if (got <= 0) return {};
    said_.append(buffer.data(), static_cast<std::size_t>(got));
  }
}

void DaemonProcess::signal(int number) const {
  if (!ended_) ::kill(pid_, number);
}

std::optional<int> DaemonProcess::wait_end(std::chrono::milliseconds at_most) {
  if (ended_) return ended_;
  const Clock::time_point until = Clock::now() + at_most;
  pollfd waits{pid_fd_, POLLIN, 0};
  int ready = 0;
  do {
    ready = ::poll(&waits, 1, left_ms(until));
  } while (ready < 0 && errno == EINTR);
  if (ready <= 0) return std::nullopt;
  int status = 0;
  if (::waitpid(pid_, &status, 0) != pid_) broken("waitpid");
  ended_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return ended_;
}

int DaemonProcess::kill_now() {
  signal(SIGKILL);
  return wait_end(std::chrono::minutes(1)).value_or(-1);
}

}  // namespace postrider::crash
