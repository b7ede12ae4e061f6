#include "apps/postrider/bench_load.h"

#include <arpa/inet.h>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>  // NOLINT(modernize-deprecated-headers): kill is not in the C++ one
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include "postrider/cli/client.h"
#include "postrider/cli/json.h"

namespace postrider {
namespace {

using Clock = std::chrono::steady_clock;

tl::unexpected<Error> failed(const std::string& what) {
  return fail(ErrorCode::kUnavailable, what + ": " + std::strerror(errno));
}

// Reads the child's output until the line that names its address.
std::string address_in(int out) {
  constexpr std::string_view kMark = "listens on ";
  std::string text;
  std::array<char, 512> piece{};
  for (;;) {
    const std::size_t at = text.find(kMark);
    const std::size_t end = at == std::string::npos ? at : text.find('\n', at);
    if (end != std::string::npos) return text.substr(at + kMark.size(), end - at - kMark.size());
    const ssize_t got = ::read(out, piece.data(), piece.size());
    if (got <= 0) return {};
    text.append(piece.data(), static_cast<std::size_t>(got));
  }
}

// One connection: a request out, an answer in, and again.
struct Client {
  int socket = -1;
  std::string out;
  std::size_t sent = 0;
  std::string in;
  Clock::time_point begun;
  bool busy = false;
};

// How long the answer at the start of `in` is; 0: not whole yet. `status` is its status.
std::size_t whole_answer(std::string_view in, int& status) {
  const std::size_t head = in.find("\r\n\r\n");
  if (head == std::string_view::npos || in.size() < 12) return 0;
  std::from_chars(in.data() + 9, in.data() + 12, status);
  const std::string_view lines = in.substr(0, head + 2);
  if (lines.find("transfer-encoding: chunked") != std::string_view::npos) {
    const std::size_t end = in.find("\r\n0\r\n\r\n", head + 2);
    return end == std::string_view::npos ? 0 : end + 7;
  }
  constexpr std::string_view kLength = "content-length: ";
  const std::size_t at = lines.find(kLength);
  std::size_t length = 0;
  if (at != std::string_view::npos)
    std::from_chars(lines.data() + at + kLength.size(), lines.data() + lines.size(), length);
  return in.size() >= head + 4 + length ? head + 4 + length : 0;
}

class Load {
 public:
  explicit Load(const LoadOptions& options) : options_(options), clients_(options.connections) {}
  ~Load() {
    for (const Client& client : clients_) {
      if (client.socket >= 0) ::close(client.socket);
    }
    if (epoll_ >= 0) ::close(epoll_);
  }
  Load(const Load&) = delete;
  Load& operator=(const Load&) = delete;

  Result<LoadResult> run();

 private:
  Result<void> connect();
  bool may_go_on() const { return asked_ < options_.requests_max && Clock::now() < until_; }
  void ask(Client& client);
  bool send(Client& client);
  bool receive(Client& client);
  void answered(Client& client, std::size_t size, int status);

  const LoadOptions& options_;
  std::vector<Client> clients_;
  int epoll_ = -1;
  Clock::time_point until_;
  std::uint64_t asked_ = 0;
  std::size_t busy_ = 0;
  LoadResult result_;
};

Result<void> Load::connect() {
  const std::size_t colon = options_.address.rfind(':');
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(static_cast<std::uint16_t>(std::stoi(options_.address.substr(colon + 1))));
  ::inet_pton(AF_INET, options_.address.substr(0, colon).c_str(), &to.sin_addr);
  epoll_ = ::epoll_create1(EPOLL_CLOEXEC);
  for (std::size_t i = 0; i < clients_.size(); ++i) {
    Client& client = clients_[i];
    client.socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (client.socket < 0 ||
        ::connect(client.socket, reinterpret_cast<const sockaddr*>(&to), sizeof to) != 0)
      return failed("cannot connect to " + options_.address);
    const int on = 1;
    ::setsockopt(client.socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    ::fcntl(client.socket, F_SETFL, O_NONBLOCK);
    epoll_event wanted{};
    wanted.events = EPOLLIN | EPOLLOUT | EPOLLET;
    wanted.data.u64 = i;
    ::epoll_ctl(epoll_, EPOLL_CTL_ADD, client.socket, &wanted);
  }
  return {};
}

void Load::ask(Client& client) {
  client.out.clear();
  client.sent = 0;
  options_.next(asked_++, client.out);
  client.begun = Clock::now();
  if (!client.busy) ++busy_;
  client.busy = true;
}

bool Load::send(Client& client) {
  while (client.busy && client.sent < client.out.size()) {
    const ssize_t count = ::send(client.socket, client.out.data() + client.sent,
                                 client.out.size() - client.sent, MSG_NOSIGNAL);
    if (count < 0) return errno == EAGAIN;
    client.sent += static_cast<std::size_t>(count);
  }
  return true;
}

void Load::answered(Client& client, std::size_t size, int status) {
  ++(status >= 200 && status < 300 ? result_.answers : result_.others);
  const auto waited = std::chrono::duration<double, std::micro>(Clock::now() - client.begun);
  result_.latencies.add(waited.count());
  if (!options_.counted.empty()) {
    const std::string_view answer = std::string_view(client.in).substr(0, size);
    for (std::size_t at = answer.find(options_.counted); at != std::string_view::npos;
         at = answer.find(options_.counted, at + 1))
      ++result_.counted;
  }
  client.in.erase(0, size);
  client.busy = false;
  --busy_;
}

bool Load::receive(Client& client) {
  std::array<char, 65536> piece{};  // NOLINT(cppcoreguidelines-pro-type-member-init)
  for (;;) {
    const ssize_t count = ::recv(client.socket, piece.data(), piece.size(), 0);
    if (count == 0) return false;
    if (count < 0) return errno == EAGAIN;
    client.in.append(piece.data(), static_cast<std::size_t>(count));
    int status = 0;
    const std::size_t size = whole_answer(client.in, status);
    if (size == 0) continue;
    answered(client, size, status);
    if (!may_go_on()) continue;
    ask(client);
    if (!send(client)) return false;
  }
}

Result<LoadResult> Load::run() {
  if (const auto connected = connect(); !connected) return tl::unexpected<Error>(connected.error());
  const auto begun = Clock::now();
  until_ = begun + std::chrono::duration_cast<Clock::duration>(
                       std::chrono::duration<double>(options_.seconds));
  for (Client& client : clients_) {
    if (!may_go_on()) break;
    ask(client);
    if (!send(client)) return failed("the daemon cut a connection");
  }
  std::array<epoll_event, 256> events{};
  while (busy_ > 0) {
    const int count = ::epoll_wait(epoll_, events.data(), static_cast<int>(events.size()), 10'000);
    if (count == 0) return fail(ErrorCode::kUnavailable, "the daemon did not answer for 10 s");
    for (int i = 0; i < count; ++i) {
      Client& client = clients_[events[static_cast<std::size_t>(i)].data.u64];
      if (!send(client) || !receive(client)) return failed("the daemon cut a connection");
    }
  }
  result_.seconds = std::chrono::duration<double>(Clock::now() - begun).count();
  return std::move(result_);
}

}  // namespace

Result<std::unique_ptr<BenchDaemon>> BenchDaemon::start(const std::string& directory) {
  std::array<int, 2> pipe{};
  if (::pipe2(pipe.data(), O_CLOEXEC) != 0) return failed("pipe");
  const pid_t pid = ::fork();
  if (pid < 0) return failed("fork");
  if (pid == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::dup2(pipe[1], STDOUT_FILENO);
    ::setenv("POSTRIDER_LOG_LEVEL", "warning", 1);
    ::execl("/proc/self/exe", "postrider", "serve", "--dev", "--data", directory.c_str(),
            "--listen", "127.0.0.1:0", static_cast<char*>(nullptr));
    ::_exit(127);
  }
  ::close(pipe[1]);
  std::unique_ptr<BenchDaemon> daemon(new BenchDaemon());
  daemon->pid_ = pid;
  daemon->out_ = pipe[0];
  daemon->address_ = address_in(pipe[0]);
  if (daemon->address_.empty()) return fail(ErrorCode::kUnavailable, "the daemon did not start");
  // It listens before it has read what an earlier life left.
  for (int i = 0; i < 600; ++i) {
    const auto ready = postrider::ask({.url = daemon->url()}, {.path = "/readyz"});
    if (ready && ready->status == 200) return daemon;
    ::usleep(20'000);
  }
  return fail(ErrorCode::kUnavailable, "the daemon did not become ready");
}

BenchDaemon::~BenchDaemon() {
  kill();
  if (out_ >= 0) ::close(out_);
}

void BenchDaemon::kill() {
  if (pid_ <= 0) return;
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
  pid_ = -1;
}

Result<void> BenchDaemon::stop() {
  ::kill(pid_, SIGTERM);
  int status = 0;
  ::waitpid(pid_, &status, 0);
  pid_ = -1;
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return {};
  return fail(ErrorCode::kUnavailable, "the daemon did not end well");
}

double BenchDaemon::cpu_seconds() const {
  std::ifstream stat("/proc/" + std::to_string(pid_) + "/stat");
  std::string word;
  double ticks = 0;
  for (int i = 1; i <= 15 && stat >> word; ++i) {
    if (i >= 14) ticks += std::stod(word);
  }
  return ticks / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

double BenchDaemon::resident_mb() const {
  std::ifstream statm("/proc/" + std::to_string(pid_) + "/statm");
  double total = 0;
  double resident = 0;
  statm >> total >> resident;
  return resident * static_cast<double>(::sysconf(_SC_PAGESIZE)) / 1e6;
}

Result<void> BenchDaemon::make_destinations(const std::string& prefix, std::uint32_t count,
                                            const std::string& settings, bool paused) const {
  LoadOptions load;
  load.address = address_;
  load.connections = 16;
  load.seconds = 600;
  load.requests_max = count;
  load.next = [&](std::uint64_t number, std::string& request) {
    const std::string body = "{\"profile\":\"webhook\",\"settings\":" + settings + "}";
    request.append("PUT /v1/destinations/" + prefix + std::to_string(number) +
                   " HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
                   "content-length: " +
                   std::to_string(body.size()) + "\r\n\r\n" + body);
  };
  POSTRIDER_TRY(made, put_load(load));
  if (made.others > 0) return fail(ErrorCode::kInvalid, "destinations were refused");
  if (!paused) return {};
  load.next = [&](std::uint64_t number, std::string& request) {
    append_post(request, "/v1/destinations/" + prefix + std::to_string(number) + "/pause",
                "application/json", "{\"reason\":\"bench\"}");
  };
  POSTRIDER_TRY(held, put_load(load));
  if (held.others > 0) return fail(ErrorCode::kInvalid, "destinations could not be paused");
  return {};
}

Result<std::uint64_t> BenchDaemon::counter(const std::string& name) const {
  POSTRIDER_TRY(answer, postrider::ask({.url = url()}, {.path = "/v1/stats"}));
  const std::string mark = "\"" + name + "\":";
  const std::size_t at = answer.body.find(mark);
  if (answer.status != 200 || at == std::string::npos)
    return fail(ErrorCode::kUnavailable, "the daemon has no such figure: " + name);
  std::uint64_t value = 0;
  std::from_chars(answer.body.data() + at + mark.size(), answer.body.data() + answer.body.size(),
                  value);
  return value;
}

Result<StoreFigures> BenchDaemon::store() const {
  POSTRIDER_TRY(answer, postrider::ask({.url = url()}, {.path = "/metrics"}));
  const auto figure = [&answer](const std::string& name) {
    const std::string mark = "\n" + name + " ";
    const std::size_t at = answer.body.find(mark);
    if (at == std::string::npos) return 0.0;
    return std::strtod(answer.body.c_str() + at + mark.size(), nullptr);
  };
  return StoreFigures{figure("postrider_store_records_total{kind=\"put\"}"),
                      figure("postrider_store_committed_bytes_total")};
}

void add_store(Figures& figures, const StoreFigures& before, const StoreFigures& after,
               std::uint64_t count) {
  const auto each = static_cast<double>(count);
  figures.add("records_per_lifecycle", (after.puts - before.puts) / each, 3);
  figures.add("bytes_per_lifecycle", (after.bytes - before.bytes) / each);
}

Result<LoadResult> put_load(const LoadOptions& options) { return Load(options).run(); }

void append_post(std::string& out, std::string_view path, std::string_view type,
                 std::string_view body) {
  out.append("POST ").append(path).append(" HTTP/1.1\r\nhost: localhost\r\ncontent-type: ");
  out.append(type).append("\r\ncontent-length: ").append(std::to_string(body.size()));
  out.append("\r\n\r\n").append(body);
}

}  // namespace postrider
