#include "postrider/servers/http/http_server.h"

#include <array>
#include <cerrno>
#include <chrono>
#include <ctime>
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>
#include <utility>

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>

#include "postrider/base/check.h"
#include "postrider/servers/http/http_answer.h"
#include "postrider/servers/http/http_hub.h"
#include "postrider/servers/http/http_listener.h"

namespace postrider {
namespace {

namespace asio = boost::asio;

constexpr std::chrono::seconds kSweepInterval{1};
constexpr std::chrono::milliseconds kAcceptBackOff{100};
constexpr int kAcceptsMax = 64;  // of one listener in one turn

Timestamp read_clock(clockid_t id) {
  timespec time{};
  ::clock_gettime(id, &time);
  return Timestamp(time.tv_sec * 1000 + time.tv_nsec / 1'000'000);
}

class SystemClock final : public Clock {
 public:
  Instant read() const override { return {read_clock(CLOCK_BOOTTIME), read_clock(CLOCK_REALTIME)}; }
};

const Clock& system_clock() {
  static const SystemClock kClock;
  return kClock;
}

// Errors of accept() that a single client brought along (accept(2)); all others may come again at
// once.
bool only_this_client(int error) {
  switch (error) {
    case EINTR:
    case ECONNABORTED:
    case EPROTO:
    case EPERM:
    case ENOPROTOOPT:
    case EOPNOTSUPP:
    case ENETDOWN:
    case ENETUNREACH:
    case EHOSTDOWN:
    case EHOSTUNREACH:
    case ENONET: return true;
    default: return false;
  }
}

int duplicate(int fd) {
  const int copy = ::fcntl(fd, F_DUPFD_CLOEXEC, 0);
  POSTRIDER_CHECK(copy >= 0);
  return copy;
}

int open_reserve() { return ::open("/dev/null", O_RDONLY | O_CLOEXEC); }

}  // namespace

class HttpServer::Impl {
 public:
  Impl(asio::io_context& loop, const HttpLimits& limits, HttpHandler handler, const Clock& clock)
      : loop_(loop),
        clock_(clock),
        hub_(limits, std::move(handler), [this] { post_settle(); }),
        ready_(loop, duplicate(hub_.descriptor())),
        sweep_timer_(loop),
        accept_timer_(loop),
        descriptors_max_(limits.descriptors_max),
        reserve_(open_reserve()) {
    wait_for_ready();
    wait_for_sweep();
  }
  ~Impl() {
    close();
    if (reserve_ >= 0) ::close(reserve_);
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  Result<std::string> listen(const HttpListen& where);
  void stop_accepting();
  void close();
  void sweep();
  std::size_t connections() const { return hub_.connections(); }
  std::uint64_t held_bytes() const { return hub_.held_bytes(); }

 private:
  // One listener in the set. It stays until the server goes: events of this turn may name it.
  struct Door final : HttpWatched {
    Door(Impl& owner, std::unique_ptr<HttpListener> opened)
        : server(owner), listener(std::move(opened)) {}
    void on_ready(std::uint32_t) override { server.accept(*this); }

    Impl& server;
    std::unique_ptr<HttpListener> listener;  // empty when it is closed
  };

  void wait_for_ready();
  void wait_for_sweep();
  void post_settle();
  void accept(Door& door);
  void turn_away(const Door& door, int fd);
  void back_off(Door& door);
  void accept_again();

  asio::io_context& loop_;
  const Clock& clock_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);  // handlers left in the loop ask it
  HttpHub hub_;
  asio::posix::stream_descriptor ready_;
  asio::steady_timer sweep_timer_;
  asio::steady_timer accept_timer_;
  std::vector<std::unique_ptr<Door>> doors_;
  bool backing_off_ = false;
  bool closed_ = false;
  const int descriptors_max_;
  int reserve_;  // given up for a moment when the process has no descriptor left
};

void HttpServer::Impl::wait_for_ready() {
  ready_.async_wait(asio::posix::stream_descriptor::wait_read,
                    [this, alive = std::weak_ptr(alive_)](const boost::system::error_code& error) {
                      if (error || alive.expired() || closed_) return;
                      hub_.turn(clock_.read());
                      if (!closed_) wait_for_ready();
                    });
}

void HttpServer::Impl::wait_for_sweep() {
  sweep_timer_.expires_after(kSweepInterval);
  sweep_timer_.async_wait(
      [this, alive = std::weak_ptr(alive_)](const boost::system::error_code& error) {
        if (error || alive.expired() || closed_) return;
        sweep();
        wait_for_sweep();
      });
}

void HttpServer::Impl::post_settle() {
  if (closed_) return;
  asio::post(loop_, [this, alive = std::weak_ptr(alive_)] {
    if (!alive.expired()) hub_.settle(clock_.read());
  });
}

void HttpServer::Impl::sweep() {
  hub_.sweep(clock_.read());
  if (reserve_ < 0) reserve_ = open_reserve();
}

Result<std::string> HttpServer::Impl::listen(const HttpListen& where) {
  POSTRIDER_CHECK(!closed_);
  POSTRIDER_TRY(listener, HttpListener::open(where));
  std::string address = listener->address();
  const int fd = listener->fd();
  doors_.push_back(std::make_unique<Door>(*this, std::move(listener)));
  hub_.watch(fd, *doors_.back(), EPOLLIN);
  return address;
}

void HttpServer::Impl::accept(Door& door) {
  for (int i = 0; i < kAcceptsMax && door.listener != nullptr; ++i) {
    HttpPeer peer;
    const HttpAccepted accepted = door.listener->accept(peer);
    if (accepted.fd >= 0) {
      // The kernel gives the lowest free number, so a high one means that few are left.
      if (descriptors_max_ == 0 || accepted.fd < descriptors_max_) {
        hub_.adopt(accepted.fd, peer, door.listener->tls());
      } else {
        turn_away(door, accepted.fd);
      }
      continue;
    }
    if (accepted.error == EAGAIN) return;
    if (!only_this_client(accepted.error)) {
      back_off(door);
      return;
    }
  }
}

void HttpServer::Impl::turn_away(const Door& door, int fd) {
  if (door.listener->tls() == nullptr) {
    std::string answer;
    append_http_answer(answer, hub_.refusal(503, "there are too many open files"),
                       {.close = true, .date_line = hub_.date_line()});
    static_cast<void>(::send(fd, answer.data(), answer.size(), MSG_NOSIGNAL));
    ::shutdown(fd, SHUT_WR);
  }
  ::close(fd);
}

// Out of descriptors, or of memory: the waiting client is told so with the one in reserve, and the
// listeners rest a little. Without that the loop would spin, for the client stays in the queue.
void HttpServer::Impl::back_off(Door& door) {
  if (reserve_ >= 0) {
    ::close(reserve_);
    HttpPeer peer;
    const HttpAccepted accepted = door.listener->accept(peer);
    if (accepted.fd >= 0) turn_away(door, accepted.fd);
    reserve_ = open_reserve();
  }
  for (const auto& each : doors_) {
    if (each->listener != nullptr) hub_.change(each->listener->fd(), *each, 0);
  }
  if (std::exchange(backing_off_, true)) return;
  accept_timer_.expires_after(kAcceptBackOff);
  accept_timer_.async_wait(
      [this, alive = std::weak_ptr(alive_)](const boost::system::error_code& error) {
        if (!error && !alive.expired() && !closed_) accept_again();
      });
}

void HttpServer::Impl::accept_again() {
  backing_off_ = false;
  if (reserve_ < 0) reserve_ = open_reserve();
  for (const auto& each : doors_) {
    if (each->listener != nullptr) hub_.change(each->listener->fd(), *each, EPOLLIN);
  }
}

void HttpServer::Impl::stop_accepting() {
  for (const auto& door : doors_) door->listener.reset();
  hub_.drain();
}

// The loop runs out of work of ours.
void HttpServer::Impl::close() {
  if (std::exchange(closed_, true)) return;
  for (const auto& door : doors_) door->listener.reset();
  hub_.cut_all();
  boost::system::error_code ignored;
  ready_.close(ignored);
  sweep_timer_.cancel();
  accept_timer_.cancel();
}

HttpServer::HttpServer(asio::io_context& loop, HttpLimits limits, HttpHandler handler)
    : HttpServer(loop, limits, std::move(handler), system_clock()) {}

HttpServer::HttpServer(asio::io_context& loop, HttpLimits limits, HttpHandler handler,
                       const Clock& clock)
    : impl_(std::make_unique<Impl>(loop, limits, std::move(handler), clock)) {}

HttpServer::~HttpServer() = default;

Result<std::string> HttpServer::listen(const HttpListen& where) { return impl_->listen(where); }
void HttpServer::stop_accepting() { impl_->stop_accepting(); }
void HttpServer::close() { impl_->close(); }
void HttpServer::sweep() { impl_->sweep(); }
std::size_t HttpServer::connections() const { return impl_->connections(); }
std::uint64_t HttpServer::held_bytes() const { return impl_->held_bytes(); }

}  // namespace postrider
