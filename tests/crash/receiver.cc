#include "tests/crash/receiver.h"

#include <arpa/inet.h>
#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string_view>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>
#include <utility>

#include "postrider/base/rng.h"

namespace postrider::crash {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kEvents = 1024;
constexpr int kSlowMsMax = 60;
// Connections that wait to be accepted, then their requests, and once more to be sure.
constexpr int kPassesOfBarrier = 3;

[[noreturn]] void broken(const char* what) {
  std::perror(what);
  std::exit(2);
}

std::string_view status_line(int status) {
  switch (status) {
    case 200: return "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n";
    case 404: return "HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n";
    case 429: return "HTTP/1.1 429 Too Many Requests\r\ncontent-length: 0\r\n\r\n";
    case 503: return "HTTP/1.1 503 Unavailable\r\ncontent-length: 0\r\n\r\n";
    default: return "HTTP/1.1 500 No\r\ncontent-length: 0\r\n\r\n";
  }
}

std::string_view header(std::string_view head, std::string_view name) {
  const std::string wanted = "\r\n" + std::string(name) + ": ";
  const std::size_t at = head.find(wanted);
  if (at == std::string_view::npos) return {};
  const std::size_t begin = at + wanted.size();
  return head.substr(begin, head.find("\r\n", begin) - begin);
}

int new_socket(std::uint16_t port) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  // One socket keeps the port while another one listens or does not.
  const int on = 1;
  ::setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof on);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  ::inet_pton(AF_INET, "127.0.0.1", &address.sin_addr);
  if (::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) broken("bind");
  return fd;
}

}  // namespace

std::string body_of(std::uint64_t serial, bool unwanted) {
  Rng rng(serial);
  std::size_t size = static_cast<std::size_t>(rng.below(400));
  if (rng.chance(1, 100)) size = static_cast<std::size_t>(rng.below(40'000));
  std::string body = (unwanted ? "u" : "w") + std::to_string(serial) + ":";
  body.reserve(body.size() + size);
  while (size > 0) {
    std::uint64_t letters = rng.next();
    for (int i = 0; i < 12 && size > 0; ++i, --size, letters /= 26)
      body.push_back(static_cast<char>('a' + letters % 26));
  }
  return body;
}

class Receiver::Impl {
 public:
  Impl(std::uint32_t sites, std::uint64_t seed, Keeps keeps)
      : keeps_(keeps), rng_(seed), sites_(sites) {
    epoll_ = ::epoll_create1(EPOLL_CLOEXEC);
    wake_ = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    watch(wake_);
    for (Site& site : sites_) {
      site.holds_port = new_socket(0);
      sockaddr_in address{};
      socklen_t size = sizeof address;
      ::getsockname(site.holds_port, reinterpret_cast<sockaddr*>(&address), &size);
      site.port = ntohs(address.sin_port);
    }
    thread_ = std::thread([this] { run(); });
  }
  ~Impl() {
    stopped_ = true;
    wake();
    thread_.join();
    for (auto& [fd, connection] : connections_) ::close(fd);
    for (Site& site : sites_) {
      ::close(site.holds_port);
      if (site.listens >= 0) ::close(site.listens);
    }
    ::close(wake_);
    ::close(epoll_);
  }

  struct Site {
    int holds_port = -1;
    int listens = -1;
    std::uint16_t port = 0;
    std::atomic<Mood> mood{Mood::kHealthy};
  };

  void wake() const {
    const std::uint64_t one = 1;
    static_cast<void>(!::write(wake_, &one, sizeof one));
  }
  void begin_life(std::uint32_t life) {
    std::unique_lock lock(mutex_);
    passes_wanted_ = passes_ + kPassesOfBarrier + 1;
    wake();
    passed_.wait(lock, [this] { return passes_ >= passes_wanted_; });
    life_ = life;
  }

  mutable std::mutex mutex_;
  std::vector<Arrival> log_;
  std::vector<Site>& sites() { return sites_; }

 private:
  struct Connection {
    std::uint32_t site = 0;
    std::uint64_t number = 0;
    std::string in;
  };
  struct Later {
    int fd;
    std::uint64_t number;
    int status;
  };

  void watch(int fd) const {
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.fd = fd;
    if (::epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &event) != 0) broken("epoll");
  }
  void run();
  void follow_moods();
  void count_pass();
  bool accept_from(int fd);
  void read_from(int fd, Connection& connection);
  bool take_request(int fd, Connection& connection);
  int choose(Mood mood, bool unwanted);
  void close_connection(int fd);
  static void answer(int fd, int status) {
    const std::string_view text = status_line(status);
    static_cast<void>(::send(fd, text.data(), text.size(), MSG_NOSIGNAL));
  }
  void answer_late();
  int wait_ms() const;

  const Keeps keeps_;
  Rng rng_;
  std::vector<Site> sites_;
  int epoll_ = -1;
  int wake_ = -1;
  std::map<int, Connection> connections_;
  std::multimap<Clock::time_point, Later> later_;
  std::uint64_t last_number_ = 0;
  std::atomic<bool> stopped_ = false;
  std::condition_variable passed_;
  std::uint64_t passes_ = 0;
  std::uint64_t passes_wanted_ = 0;
  std::uint32_t life_ = 0;
  std::thread thread_;
};

void Receiver::Impl::run() {
  std::array<epoll_event, kEvents> events{};
  while (!stopped_) {
    follow_moods();
    const int count = ::epoll_wait(epoll_, events.data(), kEvents, wait_ms());
    for (int i = 0; i < count; ++i) {
      const int fd = events[static_cast<std::size_t>(i)].data.fd;
      if (fd == wake_) {
        std::uint64_t value = 0;
        static_cast<void>(!::read(wake_, &value, sizeof value));
      } else if (!accept_from(fd)) {
        const auto found = connections_.find(fd);
        if (found != connections_.end()) read_from(fd, found->second);
      }
    }
    answer_late();
    count_pass();
  }
}

void Receiver::Impl::count_pass() {
  const std::lock_guard lock(mutex_);
  ++passes_;
  if (passes_ < passes_wanted_) {
    wake();
  } else {
    passed_.notify_all();
  }
}

int Receiver::Impl::wait_ms() const {
  if (later_.empty()) return -1;
  const auto left =
      std::chrono::ceil<std::chrono::milliseconds>(later_.begin()->first - Clock::now());
  return left.count() < 0 ? 0 : static_cast<int>(left.count());
}

void Receiver::Impl::follow_moods() {
  for (Site& site : sites_) {
    const bool dead = site.mood == Mood::kDead;
    if (dead && site.listens >= 0) {
      ::close(site.listens);
      site.listens = -1;
    } else if (!dead && site.listens < 0) {
      site.listens = new_socket(site.port);
      if (::listen(site.listens, 1024) != 0) broken("listen");
      watch(site.listens);
    }
  }
}

bool Receiver::Impl::accept_from(int fd) {
  for (std::size_t i = 0; i < sites_.size(); ++i) {
    if (sites_[i].listens != fd) continue;
    for (int client = 0;
         (client = ::accept4(fd, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK)) >= 0;) {
      const int on = 1;
      ::setsockopt(client, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
      connections_[client] = {static_cast<std::uint32_t>(i), ++last_number_, {}};
      watch(client);
    }
    return true;
  }
  return false;
}

void Receiver::Impl::close_connection(int fd) {
  ::close(fd);
  connections_.erase(fd);
}

void Receiver::Impl::read_from(int fd, Connection& connection) {
  std::array<char, 64 * 1024> buffer{};
  const ssize_t got = ::recv(fd, buffer.data(), buffer.size(), 0);
  if (got <= 0) return close_connection(fd);
  connection.in.append(buffer.data(), static_cast<std::size_t>(got));
  while (take_request(fd, connection)) continue;
}

// One whole request of those that came. False: there is none, or the connection is gone.
bool Receiver::Impl::take_request(int fd, Connection& connection) {
  const std::size_t end = connection.in.find("\r\n\r\n");
  if (end == std::string::npos) return false;
  const std::string head = connection.in.substr(0, end + 2);
  const std::size_t size =
      std::strtoul(std::string(header(head, "content-length")).c_str(), nullptr, 10);
  if (connection.in.size() < end + 4 + size) return false;
  const std::string body = connection.in.substr(end + 4, size);
  connection.in.erase(0, end + 4 + size);

  Arrival arrival;
  arrival.site = connection.site;
  arrival.id = parse_public_id(header(head, "webhook-id")).value_or(PublicId());
  const bool unwanted = body.starts_with('u');
  arrival.serial = body.empty() ? 0 : std::strtoull(body.c_str() + 1, nullptr, 10);
  if (keeps_ == Keeps::kBodies) {
    arrival.event = header(head, "x-device-messaging-event-id");
    arrival.body = body;
  }
  arrival.intact = arrival.id.is_set() && body == body_of(arrival.serial, unwanted);
  const Mood mood = sites_[connection.site].mood;
  arrival.status = choose(mood, unwanted);
  {
    const std::lock_guard lock(mutex_);
    arrival.life = life_;
    log_.push_back(arrival);
  }
  if (arrival.status == Arrival::kCut) {
    close_connection(fd);
    return false;
  }
  if (mood != Mood::kSlow) {
    answer(fd, arrival.status);
    return true;
  }
  const auto wait = std::chrono::milliseconds(rng_.between(1, kSlowMsMax));
  later_.emplace(Clock::now() + wait, Later{fd, connection.number, arrival.status});
  return true;
}

int Receiver::Impl::choose(Mood mood, bool unwanted) {
  if (mood == Mood::kDead) return Arrival::kCut;
  const std::uint64_t luck = mood == Mood::kFlaky ? rng_.below(100) : 100;
  if (luck < 12) return 500;
  if (luck < 18) return 503;
  if (luck < 24) return 429;
  if (luck < 36) return Arrival::kCut;
  return unwanted ? 404 : 200;
}

void Receiver::Impl::answer_late() {
  while (!later_.empty() && later_.begin()->first <= Clock::now()) {
    const Later late = later_.begin()->second;
    later_.erase(later_.begin());
    const auto found = connections_.find(late.fd);
    if (found != connections_.end() && found->second.number == late.number)
      answer(late.fd, late.status);
  }
}

Receiver::Receiver(std::uint32_t sites, std::uint64_t seed, Keeps keeps)
    : impl_(std::make_unique<Impl>(sites, seed, keeps)) {}
Receiver::~Receiver() = default;

std::string Receiver::url(std::uint32_t site) const {
  return "http://127.0.0.1:" + std::to_string(impl_->sites()[site].port) + "/";
}
void Receiver::set_mood(std::uint32_t site, Mood mood) {
  impl_->sites()[site].mood = mood;
  impl_->wake();
}
Mood Receiver::mood(std::uint32_t site) const { return impl_->sites()[site].mood; }
void Receiver::begin_life(std::uint32_t life) { impl_->begin_life(life); }
std::size_t Receiver::size() const {
  const std::lock_guard lock(impl_->mutex_);
  return impl_->log_.size();
}
std::vector<Arrival> Receiver::arrivals(std::size_t from) const {
  const std::lock_guard lock(impl_->mutex_);
  const auto& log = impl_->log_;
  return {log.begin() + static_cast<std::ptrdiff_t>(from), log.end()};
}
void Receiver::clear() {
  const std::lock_guard lock(impl_->mutex_);
  impl_->log_.clear();
}

}  // namespace postrider::crash
