#include "postrider/sinks/webhook/sink.h"

#include <algorithm>
#include <arpa/inet.h>
#include <array>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <ctime>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <queue>
#include <string_view>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <system_error>
#include <unistd.h>
#include <vector>

#include "postrider/sinks/common/sink_http.h"
#include "postrider/sinks/webhook/sink_judge.h"

namespace postrider {
namespace {

constexpr std::size_t kSinkReadBytes = 65'536;
constexpr int kEvents = 512;
constexpr int kBacklog = 4096;

std::int64_t now_ms(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return static_cast<std::int64_t>(time.tv_sec) * 1000 + time.tv_nsec / 1'000'000;
}

tl::unexpected<Error> broken(std::string_view what) {
  return fail(ErrorCode::kUnavailable,
              std::string(what) + ": " + std::generic_category().message(errno));
}

class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) : fd_(fd) {}
  ~Fd() { reset(); }
  Fd(const Fd&) = delete;
  Fd& operator=(const Fd&) = delete;

  void reset(int fd = -1) {
    if (fd_ >= 0) close(fd_);
    fd_ = fd;
  }
  int get() const { return fd_; }

 private:
  int fd_ = -1;
};

Result<sockaddr_in> parse_address(std::string_view text) {
  const auto wrong = [&] {
    return fail(ErrorCode::kInvalid,
                "'" + std::string(text) + "' is no address: write 127.0.0.1:8080");
  };
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return wrong();
  std::string host(text.substr(0, colon));
  if (host == "localhost") host = "127.0.0.1";
  const std::string_view port = text.substr(colon + 1);
  std::uint16_t number = 0;
  const auto [rest, error] = std::from_chars(port.data(), port.data() + port.size(), number);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(number);
  if (error != std::errc() || rest != port.data() + port.size() || port.empty() ||
      inet_pton(AF_INET, host.c_str(), &address.sin_addr) != 1)
    return wrong();
  return address;
}

std::string answer_text(int status, bool keep) {
  return "HTTP/1.1 " + std::to_string(status) + (status / 100 == 2 ? " OK" : " No") +
         "\r\ncontent-length: 0\r\n" + (keep ? "\r\n" : "connection: close\r\n\r\n");
}

}  // namespace

class Sink::Impl {
 public:
  explicit Impl(SinkOptions options) : options_(std::move(options)), judge_(options_) {}

  Result<void> open();
  Result<void> run();
  void stop() const {
    const std::uint64_t one = 1;
    static_cast<void>(!write(stop_.get(), &one, sizeof one));
  }
  std::string address() const { return address_; }
  SinkCounts counts() const;

 private:
  struct Connection {
    Connection(int socket, std::uint64_t which) : fd(socket), number(which) {}
    Fd fd;
    std::uint64_t number;  // tells a connection from an older one with the same descriptor
    std::string in;
    std::string out;
    std::size_t sent = 0;
    std::uint32_t interest = EPOLLIN;
    bool waits = false;  // for its own slow answer; nothing is read meanwhile
    bool closing = false;
    bool touched = false;
    bool told_continue = false;
  };
  struct Later {
    std::int64_t at;
    int fd;
    std::uint64_t number;
    int status;
    bool keep;
    friend bool operator>(const Later& a, const Later& b) { return a.at > b.at; }
  };

  Result<void> listen_now();
  int wait_ms() const;
  void serve(const epoll_event& event);
  void accept_all();
  void read_from(Connection& connection);
  std::size_t take_all(Connection& connection, std::string_view bytes);
  void take(Connection& connection, const SinkRequest& request);
  void refuse(Connection& connection, SinkParse why);
  void answer(Connection& connection, int status, bool keep);
  void answer_due();
  Result<void> flush_log();
  void flush(Connection& connection);
  void end_turn();
  void touch(Connection& connection);
  Connection* find(int fd) {
    const auto index = static_cast<std::size_t>(fd);
    return index < connections_.size() ? connections_[index].get() : nullptr;
  }

  SinkOptions options_;
  std::string address_;
  Fd epoll_;
  Fd listener_;
  Fd stop_;
  Fd log_;
  int log_fd_ = -1;
  bool listening_ = false;
  bool stopped_ = false;
  std::int64_t back_at_ = 0;

  std::vector<std::unique_ptr<Connection>> connections_;  // by descriptor
  std::size_t open_count_ = 0;
  std::uint64_t last_number_ = 0;
  std::vector<int> touched_;
  std::priority_queue<Later, std::vector<Later>, std::greater<>> later_;
  std::vector<char> buffer_ = std::vector<char>(kSinkReadBytes);
  std::string log_text_;
  SinkJudge judge_;
  std::string good_answer_;

  struct {
    std::atomic<std::uint64_t> connections{0}, requests{0}, good{0}, failed{0}, cut{0}, forged{0},
        garbage{0};
  } counts_;
};

Result<void> Sink::Impl::open() {
  if (options_.fail_percent > 100 || options_.duplicate_percent > 100)
    return fail(ErrorCode::kInvalid, "a percentage is at most 100");
  for (const int status : {options_.status, options_.fail_status}) {
    if (status < 200 || status > 599)
      return fail(ErrorCode::kInvalid, "a status is a number from 200 to 599");
  }
  Result<void> verifies = judge_.set_secrets(options_.verify);
  if (!verifies) return verifies;
  good_answer_ = answer_text(options_.status, true);
  POSTRIDER_TRY(address, parse_address(options_.listen));
  epoll_.reset(epoll_create1(EPOLL_CLOEXEC));
  stop_.reset(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  listener_.reset(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (epoll_.get() < 0 || stop_.get() < 0 || listener_.get() < 0) return broken("sink");
  // Two sockets that may reuse an address and do not listen can have the same port; so a dead sink
  // does not, nor one that takes any port.
  const bool is_dead = options_.dead || options_.back_after.count() > 0;
  const int reuses = !is_dead && address.sin_port != 0 ? 1 : 0;
  setsockopt(listener_.get(), SOL_SOCKET, SO_REUSEADDR, &reuses, sizeof reuses);
  socklen_t size = sizeof address;
  if (bind(listener_.get(), reinterpret_cast<const sockaddr*>(&address), size) != 0)
    return broken(options_.listen);
  getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&address), &size);
  std::array<char, INET_ADDRSTRLEN> text{};
  inet_ntop(AF_INET, &address.sin_addr, text.data(), text.size());
  address_ = std::string(text.data()) + ":" + std::to_string(ntohs(address.sin_port));

  if (options_.log_file == "-") {
    log_fd_ = STDOUT_FILENO;
  } else if (!options_.log_file.empty()) {
    log_.reset(::open(options_.log_file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
    if (log_.get() < 0) return broken(options_.log_file);
    log_fd_ = log_.get();
  }
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.fd = stop_.get();
  if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, stop_.get(), &event) != 0) return broken("epoll");
  if (!is_dead) return listen_now();
  if (options_.back_after.count() > 0)
    back_at_ = now_ms(CLOCK_MONOTONIC) + options_.back_after.count();
  return {};
}

// A socket that is bound and does not listen refuses connections and keeps the port for us.
Result<void> Sink::Impl::listen_now() {
  back_at_ = 0;
  if (listen(listener_.get(), kBacklog) != 0) return broken("listen");
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.fd = listener_.get();
  if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, listener_.get(), &event) != 0) return broken("epoll");
  listening_ = true;
  return {};
}

SinkCounts Sink::Impl::counts() const {
  return {.connections = counts_.connections,
          .requests = counts_.requests,
          .good = counts_.good,
          .failed = counts_.failed,
          .cut = counts_.cut,
          .forged = counts_.forged,
          .garbage = counts_.garbage};
}

int Sink::Impl::wait_ms() const {
  std::int64_t next = INT64_MAX;
  if (!later_.empty()) next = later_.top().at;
  if (back_at_ != 0) next = std::min(next, back_at_);
  if (next == INT64_MAX) return -1;
  const std::int64_t left = next - now_ms(CLOCK_MONOTONIC);
  return static_cast<int>(std::clamp<std::int64_t>(left, 0, 60'000));
}

Result<void> Sink::Impl::run() {
  std::array<epoll_event, kEvents> events{};
  while (!stopped_) {
    const int count = epoll_wait(epoll_.get(), events.data(), kEvents, wait_ms());
    if (count < 0 && errno != EINTR) return broken("epoll");
    judge_.begin_turn(Timestamp(now_ms(CLOCK_REALTIME)));
    if (back_at_ != 0 && now_ms(CLOCK_MONOTONIC) >= back_at_) {
      Result<void> back = listen_now();
      if (!back) return back;
    }
    for (int i = 0; i < count; ++i) serve(events[static_cast<std::size_t>(i)]);
    answer_due();
    // The log before the answers: nobody has an answer that the log does not know.
    Result<void> logged = flush_log();
    if (!logged) return logged;
    end_turn();
  }
  return {};
}

void Sink::Impl::serve(const epoll_event& event) {
  const int fd = event.data.fd;
  if (fd == stop_.get()) {
    stopped_ = true;
    return;
  }
  if (fd == listener_.get()) {
    accept_all();
    return;
  }
  Connection* connection = find(fd);
  if (connection == nullptr) return;
  touch(*connection);
  if ((event.events & (EPOLLERR | EPOLLHUP)) != 0 && (event.events & EPOLLIN) == 0) {
    connection->closing = true;
    connection->out.clear();
    return;
  }
  if ((event.events & EPOLLIN) != 0) read_from(*connection);
}

void Sink::Impl::accept_all() {
  while (true) {
    const int fd = accept4(listener_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0) return;
    if (open_count_ >= options_.connections_max) {
      close(fd);
      continue;
    }
    const int on = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.fd = fd;
    const auto index = static_cast<std::size_t>(fd);
    if (index >= connections_.size()) connections_.resize(index + 1);
    connections_[index] = std::make_unique<Connection>(fd, ++last_number_);
    ++open_count_;
    counts_.connections.fetch_add(1, std::memory_order_relaxed);
    if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) != 0) {
      connections_[index]->closing = true;
      touch(*connections_[index]);
    }
  }
}

void Sink::Impl::touch(Connection& connection) {
  if (connection.touched) return;
  connection.touched = true;
  touched_.push_back(connection.fd.get());
}

void Sink::Impl::read_from(Connection& connection) {
  if (connection.waits || connection.closing) return;
  const ssize_t got = recv(connection.fd.get(), buffer_.data(), buffer_.size(), 0);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (got <= 0) {
    connection.closing = true;
    return;
  }
  const std::string_view fresh(buffer_.data(), static_cast<std::size_t>(got));
  if (connection.in.empty()) {  // the usual case: whole requests, and nothing is copied
    const std::size_t used = take_all(connection, fresh);
    connection.in.append(fresh.substr(used));
    return;
  }
  connection.in.append(fresh);
  connection.in.erase(0, take_all(connection, connection.in));
}

// Takes whole requests from the front and returns how many bytes they were.
std::size_t Sink::Impl::take_all(Connection& connection, std::string_view bytes) {
  const SinkParseLimits limits{options_.head_bytes_max, options_.body_bytes_max};
  std::size_t used = 0;
  SinkRequest request;
  while (used < bytes.size() && !connection.waits && !connection.closing) {
    const SinkParse parsed = parse_sink_request(bytes.substr(used), limits, request);
    if (parsed == SinkParse::kMore) break;
    if (parsed == SinkParse::kContinue) {
      if (!connection.told_continue) connection.out += "HTTP/1.1 100 Continue\r\n\r\n";
      connection.told_continue = true;
      break;
    }
    if (parsed != SinkParse::kWhole) {
      refuse(connection, parsed);
      break;
    }
    connection.told_continue = false;
    take(connection, request);
    used += request.size;
  }
  return connection.closing ? bytes.size() : used;
}

void Sink::Impl::refuse(Connection& connection, SinkParse why) {
  counts_.garbage.fetch_add(1, std::memory_order_relaxed);
  connection.out += answer_text(why == SinkParse::kTooLarge ? 413 : 400, false);
  connection.closing = true;
}

void Sink::Impl::take(Connection& connection, const SinkRequest& request) {
  const SinkVerdict verdict = judge_.judge(request);
  const int status = verdict.status;
  counts_.requests.fetch_add(1, std::memory_order_relaxed);
  if (verdict.signature == SinkSignature::kBad)
    counts_.forged.fetch_add(1, std::memory_order_relaxed);
  if (log_fd_ >= 0) judge_.append_line(request, verdict, log_text_);
  if (status == SinkVerdict::kCut) {
    counts_.cut.fetch_add(1, std::memory_order_relaxed);
    connection.closing = true;
    return;
  }
  if (status == SinkVerdict::kNone || options_.slow.count() > 0) {
    connection.waits = true;
    if (status == SinkVerdict::kNone) return;
    // The clock is cut to milliseconds; one more, and no answer is early.
    later_.push({.at = now_ms(CLOCK_MONOTONIC) + options_.slow.count() + 1,
                 .fd = connection.fd.get(),
                 .number = connection.number,
                 .status = status,
                 .keep = request.keep});
    return;
  }
  answer(connection, status, request.keep);
}

void Sink::Impl::answer(Connection& connection, int status, bool keep) {
  (status / 100 == 2 ? counts_.good : counts_.failed).fetch_add(1, std::memory_order_relaxed);
  if (status == options_.status && keep) {
    connection.out += good_answer_;
  } else {
    connection.out += answer_text(status, keep);
  }
  if (!keep) connection.closing = true;
}

void Sink::Impl::answer_due() {
  const std::int64_t now = later_.empty() ? 0 : now_ms(CLOCK_MONOTONIC);
  while (!later_.empty() && later_.top().at <= now) {
    const Later due = later_.top();
    later_.pop();
    Connection* connection = find(due.fd);
    if (connection == nullptr || connection->number != due.number) continue;
    connection->waits = false;
    touch(*connection);
    answer(*connection, due.status, due.keep);
    std::string waiting = std::move(connection->in);
    connection->in.clear();
    const std::size_t used = take_all(*connection, waiting);
    connection->in = waiting.substr(used);
  }
}

Result<void> Sink::Impl::flush_log() {
  std::string_view left = log_text_;
  while (!left.empty()) {
    const ssize_t wrote = write(log_fd_, left.data(), left.size());
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) return broken("the log");
    left.remove_prefix(static_cast<std::size_t>(wrote));
  }
  log_text_.clear();
  return {};
}

void Sink::Impl::flush(Connection& connection) {
  while (connection.sent < connection.out.size()) {
    const ssize_t wrote = send(connection.fd.get(), connection.out.data() + connection.sent,
                               connection.out.size() - connection.sent, MSG_NOSIGNAL);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0 && errno != EAGAIN) connection.closing = true;
    if (wrote < 0 && errno != EAGAIN) connection.out.clear();
    if (wrote < 0) break;
    connection.sent += static_cast<std::size_t>(wrote);
  }
  if (connection.sent < connection.out.size()) return;
  connection.out.clear();
  connection.sent = 0;
}

void Sink::Impl::end_turn() {
  for (const int fd : touched_) {
    Connection* const found = find(fd);
    if (found == nullptr) continue;
    Connection& connection = *found;
    connection.touched = false;
    flush(connection);
    if (connection.closing && connection.out.empty()) {
      connections_[static_cast<std::size_t>(fd)].reset();
      --open_count_;
      continue;
    }
    const std::size_t unsent = connection.out.size() - connection.sent;
    const bool reads =
        !connection.waits && !connection.closing && unsent < options_.unsent_bytes_max;
    const std::uint32_t interest =
        (reads ? std::uint32_t{EPOLLIN} : 0U) | (unsent > 0 ? std::uint32_t{EPOLLOUT} : 0U);
    if (interest == connection.interest) continue;
    connection.interest = interest;
    epoll_event event{};
    event.events = interest;
    event.data.fd = fd;
    epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, fd, &event);
  }
  touched_.clear();
}

Result<std::unique_ptr<Sink>> Sink::open(SinkOptions options) {
  auto impl = std::make_unique<Impl>(std::move(options));
  const Result<void> opened = impl->open();
  if (!opened) return fail(opened.error().code, opened.error().detail);
  return std::unique_ptr<Sink>(new Sink(std::move(impl)));
}

Sink::Sink(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Sink::~Sink() = default;
std::string Sink::address() const { return impl_->address(); }
Result<void> Sink::run() { return impl_->run(); }
void Sink::stop() { impl_->stop(); }
SinkCounts Sink::counts() const { return impl_->counts(); }

SinkThread::SinkThread(std::unique_ptr<Sink> sink)
    : sink_(std::move(sink)), thread_([this] { static_cast<void>(sink_->run()); }) {}

SinkThread::~SinkThread() {
  sink_->stop();
  thread_.join();
}

Result<std::unique_ptr<SinkThread>> SinkThread::start(SinkOptions options) {
  auto sink = Sink::open(std::move(options));
  if (!sink) return fail(sink.error().code, sink.error().detail);
  return std::unique_ptr<SinkThread>(new SinkThread(std::move(*sink)));
}

}  // namespace postrider
