#include "postrider/transports/wire/listener_line.h"

#include <cerrno>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>

namespace postrider {
namespace {

using boost::system::error_code;
using Descriptor = boost::asio::posix::stream_descriptor;

constexpr int kAcceptsAtOnce = 16;  // then the other lines have their turn
constexpr int kBacklog = 1024;
constexpr Duration kPause{1'000};  // when no descriptor is left

// A file whose listener is gone is in the way of the next one.
bool is_left_over(const SocketPlace& place) {
  const int probe = new_socket(AF_UNIX, SOCK_STREAM);
  if (probe < 0) return false;
  const bool refused = ::connect(probe, place.raw(), place.size) != 0 && errno == ECONNREFUSED;
  ::close(probe);
  return refused;
}

}  // namespace

ListenerLine::ListenerLine(boost::asio::io_context& loop, LineId line, LineKeeper& keeper)
    : loop_(loop), descriptor_(loop), line_(line), keeper_(&keeper) {}

bool ListenerLine::bind_to(const SocketPlace& place) const {
  return ::bind(const_cast<Descriptor&>(descriptor_).native_handle(), place.raw(), place.size) == 0;
}

void ListenerLine::listen(const SocketPlace& place, std::string file) {
  const int descriptor = new_socket(place.family(), SOCK_STREAM);
  if (descriptor < 0) {
    const bool none_left = errno == EMFILE || errno == ENFILE;
    return fail(none_left ? LineEnd::kFull : LineEnd::kRefused, error_text(errno));
  }
  error_code error;
  descriptor_.assign(descriptor, error);
  if (error) {
    ::close(descriptor);
    return fail(LineEnd::kRefused, error.message());
  }
  const int on = 1;
  if (place.family() != AF_UNIX) ::setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (place.family() == AF_INET6)
    ::setsockopt(descriptor, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
  bool bound = bind_to(place);
  if (!bound && errno == EADDRINUSE && !file.empty() && is_left_over(place)) {
    ::unlink(file.c_str());
    bound = bind_to(place);
  }
  if (!bound) return fail(LineEnd::kRefused, error_text(errno));
  file_ = std::move(file);
  // For our own user; nothing can connect before listen().
  if (!file_.empty()) ::chmod(file_.c_str(), S_IRUSR | S_IWUSR);
  if (::listen(descriptor, kBacklog) != 0) return fail(LineEnd::kRefused, error_text(errno));
  open_ = true;
  boost::asio::post(loop_, [self = shared_from_this()] {
    if (self->keeper_ == nullptr || !self->open_) return;
    self->keeper_->line_opened(self->line_, own_place(self->descriptor_.native_handle()));
    self->accept_soon();
  });
}

void ListenerLine::fail(LineEnd end, std::string detail) {
  open_ = false;
  error_code error;
  if (descriptor_.is_open()) descriptor_.close(error);
  boost::asio::post(loop_, [self = shared_from_this(), end, text = std::move(detail)] {
    if (self->keeper_ != nullptr) self->keeper_->line_ended(self->line_, end, text);
  });
}

void ListenerLine::accept_soon() {
  if (waiting_ || held_ || pauses_ || !open_) return;
  waiting_ = true;
  descriptor_.async_wait(Descriptor::wait_read, [self = shared_from_this()](error_code error) {
    self->waiting_ = false;
    if (!error) self->on_readable();
  });
}

void ListenerLine::on_readable() {
  for (int i = 0; i < kAcceptsAtOnce && open_ && !held_; ++i) {
    SocketPlace from;
    const int descriptor = ::accept4(descriptor_.native_handle(), from.raw(), &from.size,
                                     SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (descriptor < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOBUFS)) {
      pauses_ = true;
      keeper_->line_due(line_, keeper_->now() + kPause);
      return;
    }
    if (descriptor < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) break;
    if (descriptor < 0) continue;  // a far side that has gone meanwhile
    const int on = 1;
    if (from.family() != AF_UNIX) {
      ::setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
      ::setsockopt(descriptor, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
    }
    keeper_->line_accepted(line_, descriptor, text_of(from));
  }
  accept_soon();
}

void ListenerLine::time_out() {
  pauses_ = false;
  if (keeper_ != nullptr) keeper_->line_due(line_, Timestamp::never());
  accept_soon();
}

void ListenerLine::hold(bool held) {
  held_ = held;
  if (!held) accept_soon();
}

bool ListenerLine::close() {
  cut();
  return true;
}

void ListenerLine::cut() {
  if (keeper_ != nullptr) keeper_->line_due(line_, Timestamp::never());
  keeper_ = nullptr;
  open_ = false;
  error_code error;
  if (descriptor_.is_open()) descriptor_.close(error);
  if (!file_.empty()) ::unlink(file_.c_str());
  file_.clear();
}

}  // namespace postrider
