#include "apps/postrider/demo_daemon.h"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>
#include <vector>

namespace postrider {
namespace {

constexpr std::string_view kListens = "Postrider listens on ";
constexpr const char* kOurselves = "/proc/self/exe";

// The address that it tells; empty: it ended without telling one.
std::string read_address(int pipe) {
  std::string said;
  std::array<char, 1024> buffer{};
  while (true) {
    const std::size_t at = said.find(kListens);
    const std::size_t end = at == std::string::npos ? at : said.find('\n', at);
    if (end != std::string::npos)
      return said.substr(at + kListens.size(), end - at - kListens.size());
    const ssize_t got = ::read(pipe, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return {};
    said.append(buffer.data(), static_cast<std::size_t>(got));
  }
}

}  // namespace

DemoDaemon::DemoDaemon(std::string directory, std::string broken)
    : directory_(std::move(directory)), broken_(std::move(broken)) {}

DemoDaemon::~DemoDaemon() { kill(); }

Result<void> DemoDaemon::start() {
  const std::string data = directory_ + "/store";
  const std::string log_name = directory_ + "/daemon.log";
  std::vector<const char*> words = {kOurselves, "serve",       "--data",  data.c_str(),
                                    "--listen", "127.0.0.1:0", "--break", broken_.c_str()};
  if (!config_.empty()) words.insert(words.end(), {"--config", config_.c_str()});
  words.push_back(nullptr);
  std::vector<std::string> variables = {"POSTRIDER_TRANSPORT_ALLOW=127.0.0.0/8"};
  for (char** variable = environ; *variable != nullptr; ++variable) {
    if (!std::string_view(*variable).starts_with("POSTRIDER_")) variables.emplace_back(*variable);
  }
  std::vector<char*> environment;
  for (std::string& variable : variables) environment.push_back(variable.data());
  environment.push_back(nullptr);
  std::array<int, 2> pipe{};
  const int log = ::open(log_name.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (log < 0 || ::pipe2(pipe.data(), O_CLOEXEC) != 0)
    return fail(ErrorCode::kUnavailable, log_name + ": " + std::strerror(errno));
  const pid_t parent = ::getpid();
  pid_ = ::fork();
  if (pid_ == 0) {  // our other threads are not here: only calls that need nothing of them
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(127);
    ::dup2(pipe[1], STDOUT_FILENO);
    ::dup2(log, STDERR_FILENO);
    // Ctrl-C is for the demo, which ends its daemon itself.
    ::setpgid(0, 0);
    ::execve(kOurselves, const_cast<char* const*>(words.data()), environment.data());
    ::_exit(127);
  }
  ::close(pipe[1]);
  ::close(log);
  const std::string address = pid_ < 0 ? std::string() : read_address(pipe[0]);
  ::close(pipe[0]);
  if (!address.empty()) {
    url_ = "http://" + address;
    return {};
  }
  kill();
  return fail(ErrorCode::kUnavailable, last_words());
}

void DemoDaemon::strike() const {
  if (pid_ > 0) ::kill(pid_, SIGKILL);
}

void DemoDaemon::kill() {
  strike();
  if (pid_ > 0) wait();
}

int DemoDaemon::stop() {
  if (pid_ <= 0) return 0;
  ::kill(pid_, SIGTERM);
  return wait();
}

int DemoDaemon::wait() {
  int status = 0;
  while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) continue;
  pid_ = -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

std::string DemoDaemon::last_words() const {
  std::ifstream log(directory_ + "/daemon.log");
  std::string last = "it said nothing";
  for (std::string line; std::getline(log, line);) {
    if (!line.empty()) last = line;
  }
  return last;
}

}  // namespace postrider
