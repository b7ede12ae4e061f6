#include "postrider/transports/net/byte_stream.h"

#include <array>
#include <cerrno>
#include <string>
#include <sys/socket.h>
#include <utility>

#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>

namespace postrider {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

constexpr std::size_t kInBytes = 16'384;

tcp::endpoint endpoint_of(const IpAddress& address, std::uint16_t port) {
  if (address.is_v4()) return {asio::ip::address_v4(address.v4_value()), port};
  return {asio::ip::address_v6(address.bytes()), port};
}

}  // namespace

class ByteStream::Core final : public std::enable_shared_from_this<ByteStream::Core> {
 public:
  Core(asio::io_context& loop, const ByteStreamSettings& settings, ByteStreamUser& user)
      : settings_(settings), user_(user), loop_(loop), socket_(loop) {}

  void connect(std::shared_ptr<OriginHost> host, Addresses addresses, Timestamp now) {
    host_ = std::move(host);
    addresses_ = std::move(addresses);
    connect_next(now);
  }
  void write(std::string_view bytes);
  std::size_t unsent() const { return out_.size() - out_sent_ + tls_unsent(); }
  std::uint64_t left() const { return left_; }
  Timestamp due() const { return due_; }
  void time_out(Timestamp now);
  void pause() { paused_ = true; }
  void resume();
  bool ended_in_order() const { return in_order_; }
  void close();

 private:
  enum class State : std::uint8_t { kConnecting, kHandshake, kOpen, kClosed };

  void connect_next(Timestamp now);
  bool open_socket(bool v4);
  void on_connected(error_code error, Timestamp now);
  void begin_handshake(Timestamp now);
  void read();
  void on_read(error_code error, std::size_t bytes);
  void take_encrypted(std::size_t bytes);
  bool take_handshake();
  void flush();
  bool send(std::string_view bytes, std::size_t& sent);
  void wait_writable();
  void end(StreamEnd end);
  std::size_t tls_unsent() const { return tls_ == nullptr ? 0 : tls_->unsent().size(); }

  ByteStreamSettings settings_;
  ByteStreamUser& user_;  // not used once closed
  asio::io_context& loop_;
  tcp::socket socket_;
  State state_ = State::kConnecting;
  std::shared_ptr<OriginHost> host_;
  Addresses addresses_;
  std::size_t next_address_ = 0;
  std::uint32_t round_ = 0;
  bool v6_failed_ = false;
  bool held_back_ = false;  // no descriptor was left for some address
  bool broken_ = false;     // for writing; the read will tell
  bool waiting_writable_ = false;
  bool paused_ = false;
  bool read_waits_ = false;  // for resume()
  bool in_order_ = false;
  Timestamp due_ = Timestamp::never();
  std::string out_;  // plain; with TLS always empty
  std::size_t out_sent_ = 0;
  std::uint64_t left_ = 0;
  std::array<char, kInBytes> in_{};
  std::array<char, kInBytes> plain_{};
  std::unique_ptr<TlsStream> tls_;
};

bool ByteStream::Core::open_socket(bool v4) {
  error_code error;
  socket_.open(v4 ? tcp::v4() : tcp::v6(), error);
  held_back_ = held_back_ || error == asio::error::no_descriptors ||
               error == boost::system::errc::too_many_files_open_in_system;
  if (error) return false;
  // The kernel gives the lowest free number, so a high one means that few are left.
  const bool high =
      settings_.descriptors_max > 0 && socket_.native_handle() >= settings_.descriptors_max;
  if (!high) socket_.non_blocking(true, error);
  if (!high && !error) socket_.set_option(tcp::no_delay(true), error);
  if (!high && !error) return true;
  held_back_ = held_back_ || high;
  socket_.close(error);
  return false;
}

void ByteStream::Core::connect_next(Timestamp now) {
  while (next_address_ < addresses_.size()) {
    const IpAddress& address = addresses_[next_address_++];
    if (!open_socket(address.is_v4())) continue;
    due_ = now + settings_.connect_time_out;
    socket_.async_connect(endpoint_of(address, host_->port),
                          [self = shared_from_this(), round = ++round_, now](error_code error) {
                            if (self->state_ != State::kConnecting || self->round_ != round) return;
                            self->on_connected(error, now);
                          });
    return;
  }
  const StreamEnd told = held_back_ && round_ == 0 ? StreamEnd::kHeldBack : StreamEnd::kRefused;
  asio::post(loop_, [self = shared_from_this(), told] { self->end(told); });
}

// `now` is that of the begin: good enough for what is counted in seconds.
void ByteStream::Core::on_connected(error_code error, Timestamp now) {
  const bool v4 = addresses_[next_address_ - 1].is_v4();
  if (error) {
    v6_failed_ = v6_failed_ || !v4;
    socket_.close(error);
    return connect_next(now);
  }
  if (!v4 || v6_failed_) host_->prefers_v4 = v4;
  if (host_->tls) {
    begin_handshake(now);
  } else {
    state_ = State::kOpen;
    due_ = Timestamp::never();
    user_.stream_opened();
  }
  read();
}

void ByteStream::Core::begin_handshake(Timestamp now) {
  tls_ = std::make_unique<TlsStream>(host_->tls_context, host_->certificate_name(),
                                     host_->peer_is_address, host_->tls_memory, settings_.protocol);
  state_ = State::kHandshake;
  due_ = now + settings_.connect_time_out + settings_.tls_time_out;
  tls_->handshake();
  flush();
}

void ByteStream::Core::write(std::string_view bytes) {
  if (state_ != State::kOpen || broken_) return;
  if (tls_ == nullptr) {
    out_.append(bytes);
  } else {
    broken_ = !tls_->write(bytes);
    left_ += bytes.size();
  }
  flush();
}

// False when the socket takes no more for now, or is broken.
bool ByteStream::Core::send(std::string_view bytes, std::size_t& sent) {
  sent = 0;
  while (sent < bytes.size()) {
    const ssize_t got = ::send(socket_.native_handle(), bytes.data() + sent, bytes.size() - sent,
                               MSG_NOSIGNAL | MSG_DONTWAIT);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
      wait_writable();
      return false;
    }
    if (got < 0) {
      // Not the end: the peer may have answered before it closed, so the read decides.
      broken_ = true;
      return false;
    }
    sent += static_cast<std::size_t>(got);
  }
  return true;
}

void ByteStream::Core::flush() {
  if (broken_ || waiting_writable_) return;
  std::size_t sent = 0;
  if (tls_ != nullptr) {
    const std::string_view bytes = tls_->unsent();
    if (bytes.empty()) return;
    send(bytes, sent);
    tls_->sent(sent);
    return;
  }
  send(std::string_view(out_).substr(out_sent_), sent);
  out_sent_ += sent;
  left_ += sent;
  if (out_sent_ == out_.size()) {
    out_.clear();
    out_sent_ = 0;
  }
}

void ByteStream::Core::wait_writable() {
  if (waiting_writable_) return;
  waiting_writable_ = true;
  socket_.async_wait(tcp::socket::wait_write, [self = shared_from_this()](error_code error) {
    self->waiting_writable_ = false;
    if (error || self->state_ == State::kClosed) return;
    self->flush();
    const bool drained = self->unsent() == 0 && self->state_ == State::kOpen;
    if (drained && !self->broken_) self->user_.stream_drained();
  });
}

void ByteStream::Core::read() {
  if (state_ == State::kClosed) return;
  if (paused_) {
    read_waits_ = true;
    return;
  }
  socket_.async_read_some(asio::buffer(in_),
                          [self = shared_from_this()](error_code error, std::size_t bytes) {
                            if (self->state_ == State::kClosed) return;
                            self->on_read(error, bytes);
                          });
}

void ByteStream::Core::resume() {
  paused_ = false;
  if (std::exchange(read_waits_, false)) read();
}

void ByteStream::Core::on_read(error_code error, std::size_t bytes) {
  in_order_ = error == asio::error::eof;
  if (error) return end(state_ == State::kHandshake ? StreamEnd::kNoTls : StreamEnd::kLost);
  if (tls_ != nullptr) {
    take_encrypted(bytes);
  } else {
    user_.stream_took({in_.data(), bytes});
  }
  read();
}

void ByteStream::Core::take_encrypted(std::size_t bytes) {
  tls_->feed({in_.data(), bytes});
  if (state_ == State::kHandshake && !take_handshake()) return;
  while (state_ == State::kOpen) {
    std::size_t got = 0;
    const TlsStep step = tls_->read(plain_.data(), plain_.size(), got);
    if (step == TlsStep::kMore) break;
    in_order_ = step == TlsStep::kClosed;
    if (step != TlsStep::kDone) return end(StreamEnd::kLost);
    user_.stream_took({plain_.data(), got});
  }
  // Reading can make OpenSSL answer, to an update of keys for example.
  if (state_ == State::kOpen) flush();
}

bool ByteStream::Core::take_handshake() {
  const TlsStep step = tls_->handshake();
  flush();
  if (step == TlsStep::kMore) return false;
  if (step != TlsStep::kDone) {
    end(StreamEnd::kNoTls);
    return false;
  }
  state_ = State::kOpen;
  due_ = Timestamp::never();
  user_.stream_opened();
  return true;
}

void ByteStream::Core::time_out(Timestamp now) {
  if (state_ == State::kHandshake) return end(StreamEnd::kNoTls);
  if (state_ != State::kConnecting) return;
  v6_failed_ = v6_failed_ || !addresses_[next_address_ - 1].is_v4();
  ++round_;
  error_code error;
  socket_.close(error);
  due_ = Timestamp::never();
  connect_next(now);
}

void ByteStream::Core::end(StreamEnd end) {
  if (state_ == State::kClosed) return;
  close();
  user_.stream_ended(end);
}

void ByteStream::Core::close() {
  if (state_ == State::kClosed) return;
  if (tls_ != nullptr && state_ == State::kOpen && !broken_) {
    tls_->say_goodbye();
    flush();
  }
  state_ = State::kClosed;
  due_ = Timestamp::never();
  error_code error;
  socket_.close(error);
}

ByteStream::ByteStream(asio::io_context& loop, const ByteStreamSettings& settings,
                       ByteStreamUser& user)
    : core_(std::make_shared<Core>(loop, settings, user)) {}
ByteStream::~ByteStream() { core_->close(); }

void ByteStream::connect(std::shared_ptr<OriginHost> host, Addresses addresses, Timestamp now) {
  core_->connect(std::move(host), std::move(addresses), now);
}
void ByteStream::write(std::string_view bytes) { core_->write(bytes); }
std::size_t ByteStream::unsent() const { return core_->unsent(); }
std::uint64_t ByteStream::left() const { return core_->left(); }
Timestamp ByteStream::due() const { return core_->due(); }
void ByteStream::time_out(Timestamp now) { core_->time_out(now); }
void ByteStream::pause() { core_->pause(); }
void ByteStream::resume() { core_->resume(); }
bool ByteStream::ended_in_order() const { return core_->ended_in_order(); }
void ByteStream::close() { core_->close(); }

}  // namespace postrider
