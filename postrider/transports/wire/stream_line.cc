#include "postrider/transports/wire/stream_line.h"

#include <cerrno>
#include <span>
#include <unistd.h>
#include <utility>

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>

#include "postrider/base/check.h"

namespace postrider {
namespace {

using boost::system::error_code;
using Descriptor = boost::asio::posix::stream_descriptor;

// Bytes that nobody will read are taken from the system before a close: else it would cut off what
// was sent last.
void drop_unread(int descriptor, std::span<char> scratch) {
  constexpr int kReadsMax = 16;
  for (int i = 0; i < kReadsMax; ++i) {
    if (::recv(descriptor, scratch.data(), scratch.size(), MSG_DONTWAIT) <= 0) return;
  }
}

}  // namespace

StreamLine::StreamLine(boost::asio::io_context& loop, LineId line, LineKeeper& keeper,
                       const LineRules& rules)
    : loop_(loop), descriptor_(loop), line_(line), keeper_(&keeper), rules_(rules) {}
StreamLine::~StreamLine() = default;

std::size_t StreamLine::unsent() const {
  const std::size_t encrypted =
      security_.tls != nullptr ? security_.tls->unsent().size() : std::size_t{0};
  return out_.size() - out_sent_ + encrypted;
}

void StreamLine::set_due(Timestamp at) {
  if (keeper_ != nullptr) keeper_->line_due(line_, at);
}

void StreamLine::connect(std::vector<SocketPlace> places, LineSecurity security) {
  POSTRIDER_CHECK(state_ == State::kWaiting);
  state_ = State::kConnecting;
  places_ = std::move(places);
  security_ = std::move(security);
  connect_next();
}

void StreamLine::adopt(int descriptor, std::string peer, LineSecurity security) {
  POSTRIDER_CHECK(state_ == State::kWaiting);
  error_code error;
  descriptor_.assign(descriptor, error);
  if (error) {
    ::close(descriptor);
    return fail(LineEnd::kLost, error.message());
  }
  peer_ = std::move(peer);
  security_ = std::move(security);
  state_ = State::kConnecting;
  boost::asio::post(loop_, [self = shared_from_this()] {
    if (self->state_ == State::kConnecting) self->connected();
  });
}

void StreamLine::connect_next() {
  while (next_place_ < places_.size()) {
    const SocketPlace& place = places_[next_place_++];
    const int descriptor = new_socket(place.family(), SOCK_STREAM);
    if (descriptor < 0 && (errno == EMFILE || errno == ENFILE))
      return fail(LineEnd::kFull, "no descriptor is left");
    if (descriptor < 0) {
      last_error_ = error_text(errno);
      continue;
    }
    error_code error;
    descriptor_.assign(descriptor, error);
    POSTRIDER_CHECK(!error);  // epoll has no memory left
    const bool under_way = ::connect(descriptor, place.raw(), place.size) == 0 ||
                           errno == EINPROGRESS || errno == EINTR;
    if (!under_way) {
      last_error_ = error_text(errno);
      descriptor_.close(error);
      continue;
    }
    peer_ = text_of(place);
    set_due(keeper_->now() + rules_.connect_time_out);
    descriptor_.async_wait(Descriptor::wait_write,
                           [self = shared_from_this(), round = ++round_](error_code waited) {
                             if (!waited) self->on_connected(round);
                           });
    return;
  }
  fail(LineEnd::kRefused, last_error_);
}

void StreamLine::on_connected(std::uint32_t round) {
  if (state_ != State::kConnecting || round != round_) return;
  int result = 0;
  socklen_t size = sizeof result;
  ::getsockopt(descriptor_.native_handle(), SOL_SOCKET, SO_ERROR, &result, &size);
  if (result == 0) return connected();
  last_error_ = error_text(result);
  error_code error;
  descriptor_.close(error);
  connect_next();
}

void StreamLine::connected() {
  if (security_.tls == nullptr) return opened();
  state_ = State::kHandshake;
  set_due(keeper_->now() + rules_.tls_time_out);
  if (!take_handshake()) read_soon();
}

void StreamLine::opened() {
  state_ = State::kOpen;
  set_due(Timestamp::never());
  if (!encrypt()) return;
  flush();
  if (state_ != State::kOpen) return;
  keeper_->line_opened(line_, peer_);
  if (state_ != State::kOpen) return;
  give_plain();  // the far side may have written behind its handshake
  read_soon();
}

// What was written before the line was open is plain, and must not leave so.
bool StreamLine::encrypt() {
  if (security_.tls == nullptr || out_.empty()) return true;
  const std::string plain = std::exchange(out_, {});
  if (security_.tls->write(plain)) return true;
  end(LineEnd::kLost, "TLS is broken");
  return false;
}

void StreamLine::write(std::string bytes, std::string_view /*to*/) {
  if (over() || state_ == State::kLingering) return;
  if (state_ == State::kOpen && security_.tls != nullptr) {
    if (!security_.tls->write(bytes)) return fail(LineEnd::kLost, "TLS is broken");
  } else if (out_.empty()) {
    out_ = std::move(bytes);
  } else {
    out_.append(bytes);
  }
  flush();
  if (!over() && unsent() > rules_.limits.unsent_bytes_max)
    fail(LineEnd::kOverflow, "the far side does not take what is written");
}

void StreamLine::flush() {
  if (waits_writable_ ||
      (state_ != State::kHandshake && state_ != State::kOpen && state_ != State::kLingering))
    return;
  std::size_t sent = 0;
  if (security_.tls != nullptr) {
    const std::string_view bytes = security_.tls->unsent();
    if (bytes.empty()) return;
    send(bytes, sent);
    security_.tls->sent(sent);
    return;
  }
  send(std::string_view(out_).substr(out_sent_), sent);
  out_sent_ += sent;
  if (out_sent_ == out_.size()) {
    out_.clear();
    out_sent_ = 0;
  } else if (out_sent_ > out_.size() / 2) {
    out_.erase(0, std::exchange(out_sent_, 0));
  }
}

// False: the system takes no more for now, or the line is broken.
bool StreamLine::send(std::string_view bytes, std::size_t& sent) {
  while (sent < bytes.size()) {
    const ssize_t took = ::send(descriptor_.native_handle(), bytes.data() + sent,
                                bytes.size() - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (took >= 0) {
      sent += static_cast<std::size_t>(took);
      continue;
    }
    if (errno == EINTR) continue;
    if (errno == EAGAIN || errno == EWOULDBLOCK) {
      write_soon();
    } else {
      fail(LineEnd::kLost, error_text(errno));
    }
    return false;
  }
  return true;
}

void StreamLine::write_soon() {
  had_to_wait_ = true;
  waits_writable_ = true;
  descriptor_.async_wait(Descriptor::wait_write, [self = shared_from_this()](error_code error) {
    self->waits_writable_ = false;
    if (!error) self->on_writable();
  });
}

void StreamLine::on_writable() {
  flush();
  if (over() || unsent() > 0) return;
  if (state_ == State::kLingering) {
    let_go();
    if (keeper_ != nullptr) keeper_->line_gone(line_);
    return;
  }
  if (state_ == State::kOpen && std::exchange(had_to_wait_, false)) keeper_->line_drained(line_);
}

void StreamLine::read_soon() {
  const bool wanted = state_ == State::kHandshake || (state_ == State::kOpen && !held_);
  if (reading_ || !wanted) return;
  reading_ = true;
  descriptor_.async_wait(Descriptor::wait_read, [self = shared_from_this()](error_code error) {
    self->reading_ = false;
    if (!error) self->on_readable();
  });
}

// One read for one wake-up: a line that floods takes turns with the others.
void StreamLine::on_readable() {
  if (state_ != State::kHandshake && (state_ != State::kOpen || held_)) return;
  const std::span<char> into = keeper_->scratch();
  const ssize_t got = ::recv(descriptor_.native_handle(), into.data(), into.size(), MSG_DONTWAIT);
  if (got < 0 && (errno == EINTR || errno == EAGAIN || errno == EWOULDBLOCK)) return read_soon();
  const LineEnd how = state_ == State::kHandshake ? LineEnd::kNoTls : LineEnd::kLost;
  if (got < 0) return end(how, error_text(errno));
  if (got == 0) return end(how, "the far side has closed it");
  const std::string_view bytes(into.data(), static_cast<std::size_t>(got));
  if (security_.tls != nullptr) {
    take_encrypted(bytes);
  } else {
    keeper_->line_took(line_, bytes, {});
  }
  read_soon();
}

void StreamLine::take_encrypted(std::string_view bytes) {
  security_.tls->feed(bytes);
  if (state_ == State::kHandshake) {
    take_handshake();
    return;
  }
  give_plain();
}

// True: it is over, for good or bad.
bool StreamLine::take_handshake() {
  const TlsStep step = security_.tls->handshake();
  flush();
  if (over()) return true;
  if (step == TlsStep::kMore) return false;
  const bool pinned = security_.pinned.empty() || security_.tls->peer_key() == security_.pinned;
  if (step == TlsStep::kDone && pinned) {
    opened();
    return true;
  }
  end(LineEnd::kNoTls,
      step == TlsStep::kDone ? "the far side has another key" : "the far side is not trusted");
  return true;
}

void StreamLine::give_plain() {
  while (security_.tls != nullptr && state_ == State::kOpen && !held_) {
    const std::span<char> into = keeper_->scratch();
    std::size_t got = 0;
    const TlsStep step = security_.tls->read(into.data(), into.size(), got);
    if (step == TlsStep::kMore) break;
    if (step != TlsStep::kDone) return end(LineEnd::kLost, "the far side has closed it");
    keeper_->line_took(line_, {into.data(), got}, {});
  }
  // Reading can make OpenSSL answer, to an update of keys for example.
  if (state_ == State::kOpen) flush();
}

void StreamLine::hold(bool held) {
  if (std::exchange(held_, held) == held || held) return;
  // What TLS has read already is given from a handler, as everything is.
  boost::asio::post(loop_, [self = shared_from_this()] {
    if (self->state_ != State::kOpen) return;
    self->give_plain();
    self->read_soon();
  });
}

bool StreamLine::close() {
  if (state_ == State::kOpen) {
    if (security_.tls != nullptr) security_.tls->say_goodbye();
    flush();
  }
  if (state_ == State::kOpen && unsent() > 0) {
    state_ = State::kLingering;
    set_due(keeper_->now() + rules_.linger);
    return false;
  }
  let_go();
  keeper_ = nullptr;
  return true;
}

void StreamLine::time_out() {
  switch (state_) {
    case State::kConnecting: {
      last_error_ = "no answer in time";
      ++round_;
      error_code error;
      descriptor_.close(error);
      return connect_next();
    }
    case State::kHandshake: return end(LineEnd::kNoTls, "the handshake takes too long");
    case State::kLingering:
      let_go();
      if (keeper_ != nullptr) keeper_->line_gone(line_);
      return;
    case State::kWaiting:
    case State::kOpen:
    case State::kOver: return;
  }
}

void StreamLine::fail(LineEnd end, std::string detail) {
  if (over()) return;
  const bool closed = state_ == State::kLingering;
  let_go();
  boost::asio::post(loop_, [self = shared_from_this(), end, closed, text = std::move(detail)] {
    if (self->keeper_ == nullptr) return;
    if (closed) return self->keeper_->line_gone(self->line_);
    self->keeper_->line_ended(self->line_, end, text);
  });
}

void StreamLine::end(LineEnd end, std::string detail) {
  if (over()) return;
  let_go();
  if (keeper_ != nullptr) keeper_->line_ended(line_, end, std::move(detail));
}

void StreamLine::let_go() {
  if (over()) return;
  set_due(Timestamp::never());
  state_ = State::kOver;
  out_.clear();
  out_sent_ = 0;
  if (!descriptor_.is_open()) return;
  error_code error;
  if (keeper_ != nullptr) {
    ::shutdown(descriptor_.native_handle(), SHUT_WR);
    drop_unread(descriptor_.native_handle(), keeper_->scratch());
  }
  descriptor_.close(error);
}

void StreamLine::cut() {
  keeper_ = nullptr;
  let_go();
}

}  // namespace postrider
