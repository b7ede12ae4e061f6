#include "postrider/transports/http/connection.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <sys/socket.h>
#include <sys/uio.h>
#include <utility>

#include <boost/asio/buffer.hpp>
#include <boost/asio/error.hpp>

#include "postrider/base/check.h"

namespace postrider {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

constexpr std::size_t kInBytes = 4096;  // most answers fit; grows up to the limit of a head
constexpr std::size_t kEncryptedBytes = 8192;
constexpr std::size_t kEncryptAhead = 65'536;

tcp::endpoint endpoint_of(const IpAddress& address, std::uint16_t port) {
  if (address.is_v4()) return {asio::ip::address_v4(address.v4_value()), port};
  return {asio::ip::address_v6(address.bytes()), port};
}

// What we lack ourselves, and not the peer.
bool is_exhausted(error_code error) {
  return error == asio::error::no_descriptors || error == asio::error::no_buffer_space ||
         error == boost::system::errc::too_many_files_open_in_system;
}
// No port is left. With IPv6 it is what a machine says that does not have it at all.
bool lacks_port(error_code error, bool v4) {
  return v4 && error == boost::system::errc::address_not_available;
}

bool would_block(int error) { return error == EAGAIN || error == EWOULDBLOCK; }

// Sends pieces that follow each other; −1 and errno as sendmsg.
ssize_t send_pieces(int socket, std::string_view first, std::string_view second) {
  std::array<iovec, 2> parts{};
  std::size_t count = 0;
  for (const std::string_view piece : {first, second}) {
    if (piece.empty()) continue;
    parts.at(count++) = {const_cast<char*>(piece.data()), piece.size()};  // sendmsg only reads
  }
  msghdr message{};
  message.msg_iov = parts.data();
  message.msg_iovlen = count;
  ssize_t sent = 0;
  do {
    sent = ::sendmsg(socket, &message, MSG_NOSIGNAL);
  } while (sent < 0 && errno == EINTR);
  return sent;
}

}  // namespace

Connection::Connection(asio::io_context& loop, const ConnectionSettings& settings,
                       ConnectionOwner& owner, Origin& origin)
    : settings_(settings),
      owner_(owner),
      origin_(origin),
      socket_(loop.get_executor()),
      self_(this),
      in_(kInBytes),
      reader_(settings.reply) {}

void Connection::connect(Exchange& exchange) {
  exchange_ = &exchange;
  exchange.connection = this;
  exchange.place = Place::kConnection;
  connect_next();
}

// The kernel gives the lowest free number, so a high one means that few are left.
error_code Connection::open_low(bool v4) {
  error_code error;
  socket_.open(v4 ? tcp::v4() : tcp::v6(), error);
  if (error || settings_.descriptors_max == 0) return error;
  if (socket_.native_handle() < settings_.descriptors_max) return error;
  socket_.close(error);
  return asio::error::no_descriptors;
}

bool Connection::open_socket(bool v4) {
  error_code error = open_low(v4);
  if (is_exhausted(error) && owner_.make_room()) error = open_low(v4);
  held_back_ = held_back_ || is_exhausted(error);
  if (!error) socket_.non_blocking(true, error);
  if (!error) socket_.set_option(tcp::no_delay(true), error);
  return !error;
}

void Connection::connect_next() {
  while (next_address_ < exchange_->addresses.size()) {
    const IpAddress& address = exchange_->addresses[next_address_++];
    if (!open_socket(address.is_v4())) continue;
    phase_due_ = owner_.now() + settings_.connect_time_out;
    owner_.note_due(phase_due_);
    const std::uint32_t round = ++connect_round_;
    socket_.async_connect(endpoint_of(address, origin_.port),
                          [self = Ref(this), round](error_code error) {
                            if (self->state_ != State::kConnecting) return;
                            if (self->connect_round_ != round) return;
                            self->on_connected(error);
                            self->owner_.flush();
                          });
    return;
  }
  fail_exchange(held_back_ && !tried_ ? WireEnd::kHeldBack : WireEnd::kRefused);
}

void Connection::on_connected(error_code error) {
  const bool v4 = exchange_->addresses[next_address_ - 1].is_v4();
  const bool ours = is_exhausted(error) || lacks_port(error, v4);
  held_back_ = held_back_ || ours;
  tried_ = tried_ || !ours;
  if (error) {
    v6_failed_ = v6_failed_ || !v4;
    socket_.close(error);
    connect_next();
    return;
  }
  if (!v4 || v6_failed_) origin_.prefers_v4 = v4;
  phase_due_ = Timestamp::never();
  if (origin_.tls) {
    begin_handshake();
  } else {
    begin_exchange();
  }
  if (state_ != State::kClosed) read();
}

void Connection::begin_handshake() {
  tls_ = std::make_unique<TlsStream>(origin_.tls_context, origin_.certificate_name(),
                                     origin_.peer_is_address, origin_.tls_memory);
  encrypted_.resize(kEncryptedBytes);
  state_ = State::kHandshake;
  phase_due_ = owner_.now() + settings_.tls_time_out;
  owner_.note_due(phase_due_);
  tls_->handshake();
  flush_tls();
}

void Connection::send(Exchange& exchange) {
  exchange_ = &exchange;
  exchange.connection = this;
  exchange.place = Place::kConnection;
  reused_ = true;
  begin_exchange();
}

void Connection::begin_exchange() {
  state_ = State::kExchange;
  reply_begun_ = false;
  reader_.begin(exchange_->request.verb == "HEAD", exchange_->request.reply_bytes);
  if (settings_.first_byte_time_out.count() > 0) {
    phase_due_ = owner_.now() + settings_.first_byte_time_out;
    owner_.note_due(phase_due_);
  }
  write_head();
  sent_ = 0;
  write();
}

// The profile's lines go as they are; those that frame the request are ours.
void Connection::write_head() {
  const WireRequest& request = exchange_->request;
  head_.assign(request.verb).append(" ");
  if (exchange_->path.needs_slash) head_.push_back('/');
  head_.append(exchange_->path.path).append(" HTTP/1.1\r\nhost: ").append(origin_.authority);
  head_.append("\r\n").append(request.headers.text());
  if (!settings_.keeps) head_.append("connection: close\r\n");
  const bool bodiless = request.body.empty() && (request.verb == "GET" || request.verb == "HEAD");
  if (!bodiless) {
    std::array<char, 20> digits{};
    const auto end =
        std::to_chars(digits.data(), digits.data() + digits.size(), request.body.size()).ptr;
    head_.append("content-length: ").append(digits.data(), end).append("\r\n");
  }
  head_.append("\r\n");
}

bool Connection::all_sent() const {
  const bool given = sent_ == head_.size() + exchange_->request.body.size();
  return given && !write_broken_ && (tls_ == nullptr || tls_->unsent().empty());
}

// A failed write is not the end: the peer may have answered before it closed, so the read decides.
void Connection::write() {
  if (write_broken_) return;
  if (tls_ == nullptr) {
    write_plain();
  } else {
    write_tls();
  }
  if (sent_ > 0) exchange_->maybe_sent = true;
}

void Connection::write_plain() {
  const std::string_view body = exchange_->request.body;
  while (sent_ < head_.size() + body.size()) {
    const std::size_t of_head = std::min(sent_, head_.size());
    const ssize_t sent =
        send_pieces(socket_.native_handle(), std::string_view(head_).substr(of_head),
                    body.substr(sent_ - of_head));
    if (sent < 0) {
      if (would_block(errno)) return wait_writable();
      write_broken_ = true;
      return;
    }
    sent_ += static_cast<std::size_t>(sent);
  }
}

void Connection::write_tls() {
  while (true) {
    if (!tls_->unsent().empty() && !flush_tls()) return;
    if (sent_ == head_.size() + exchange_->request.body.size()) return;
    encrypt_more();
    if (write_broken_) return;
  }
}

void Connection::encrypt_more() {
  const std::string_view body = exchange_->request.body;
  const std::string_view of_head = std::string_view(head_).substr(std::min(sent_, head_.size()));
  const std::size_t body_sent = sent_ - std::min(sent_, head_.size());
  const std::string_view of_body = body.substr(body_sent, kEncryptAhead);
  write_broken_ = !tls_->write(of_head) || !tls_->write(of_body);
  sent_ += of_head.size() + of_body.size();
}

// False when bytes are left: the socket is full, or broken.
bool Connection::flush_tls() {
  for (std::string_view bytes = tls_->unsent(); !bytes.empty(); bytes = tls_->unsent()) {
    const ssize_t sent = send_pieces(socket_.native_handle(), bytes, {});
    if (sent < 0) {
      if (would_block(errno)) {
        wait_writable();
      } else {
        write_broken_ = true;
      }
      return false;
    }
    tls_->sent(static_cast<std::size_t>(sent));
  }
  return true;
}

void Connection::wait_writable() {
  if (waiting_writable_) return;
  waiting_writable_ = true;
  socket_.async_wait(Socket::wait_write, [self = Ref(this)](error_code error) {
    self->waiting_writable_ = false;
    if (error || self->state_ == State::kClosed) return;
    if (self->state_ == State::kExchange) {
      self->write();
    } else if (self->tls_ != nullptr) {
      self->flush_tls();
    }
  });
}

void Connection::read() {
  char* into = in_.data() + in_used_;
  std::size_t room = in_.size() - in_used_;
  if (tls_ != nullptr) {
    into = encrypted_.data();
    room = encrypted_.size();
  }
  socket_.async_read_some(
      asio::buffer(into, room),
      [self = Ref(this)](error_code error, std::size_t bytes) { self->on_read(error, bytes); });
}

void Connection::on_read(error_code error, std::size_t bytes) {
  if (state_ == State::kClosed) return;
  if (error) {
    on_gone(error == asio::error::eof);
  } else if (tls_ != nullptr) {
    take_encrypted(bytes);
  } else {
    in_used_ += bytes;
    take_plain();
  }
  if (state_ != State::kClosed) read();
  owner_.flush();
}

void Connection::take_encrypted(std::size_t bytes) {
  tls_->feed({encrypted_.data(), bytes});
  if (state_ == State::kHandshake && !take_handshake()) return;
  while (state_ != State::kClosed) {
    std::size_t got = 0;
    const TlsStep step = tls_->read(in_.data() + in_used_, in_.size() - in_used_, got);
    if (step == TlsStep::kMore) break;
    if (step != TlsStep::kDone) return on_gone(step == TlsStep::kClosed);
    in_used_ += got;
    take_plain();
  }
  // Reading can make OpenSSL answer, to an update of keys for example.
  if (state_ != State::kClosed && !write_broken_) flush_tls();
}

// True when the stream is ready and the request is on its way.
bool Connection::take_handshake() {
  const TlsStep step = tls_->handshake();
  flush_tls();
  if (step == TlsStep::kMore) return false;
  if (step != TlsStep::kDone) {
    fail_exchange(WireEnd::kNoTls);
    return false;
  }
  if (tls_->resumed()) owner_.resumed();
  phase_due_ = Timestamp::never();
  begin_exchange();
  return true;
}

void Connection::take_plain() {
  if (exchange_ == nullptr) {
    // Nobody asked: whatever it is, the next answer could not be told from it.
    owner_.lost(*this);
    return;
  }
  reply_begun_ = true;
  phase_due_ = Timestamp::never();
  const std::size_t most = std::max<std::size_t>(kInBytes, settings_.reply.head_bytes_max);
  std::size_t taken = 0;
  const ReplyProgress progress = reader_.feed({in_.data(), in_used_}, in_used_ >= most, taken);
  in_used_ -= taken;
  if (in_used_ > 0 && taken > 0) std::memmove(in_.data(), in_.data() + taken, in_used_);
  switch (progress) {
    case ReplyProgress::kMore:
      if (in_used_ == in_.size()) in_.resize(std::min(2 * in_.size(), most));
      return;
    case ReplyProgress::kWhole:
      return end_reply(reader_.keeps_alive() && in_used_ == 0 && all_sent());
    case ReplyProgress::kEnough: return end_reply(false);
    case ReplyProgress::kBroken: return fail_exchange(WireEnd::kReset);
  }
}

void Connection::end_reply(bool keep) {
  exchange_->reply = reader_.take();
  if (in_.size() > kInBytes && in_used_ == 0) {
    in_.resize(kInBytes);
    in_.shrink_to_fit();
  }
  owner_.replied(*this, keep);
}

void Connection::fail_exchange(WireEnd end) { owner_.failed(*this, end, false); }

void Connection::on_gone(bool orderly) {
  if (state_ == State::kHandshake) return fail_exchange(WireEnd::kNoTls);
  if (exchange_ == nullptr) return owner_.lost(*this);
  // A body that ends with the connection may end without TLS's good-bye: many servers leave it out,
  // and what matters, the status, is known to be theirs.
  if (orderly && reply_begun_ && reader_.finish() == ReplyProgress::kWhole) return end_reply(false);
  owner_.failed(*this, WireEnd::kReset, reused_ && !reply_begun_);
}

Exchange& Connection::release_exchange() {
  POSTRIDER_CHECK(exchange_ != nullptr);
  Exchange& exchange = *std::exchange(exchange_, nullptr);
  exchange.connection = nullptr;
  state_ = State::kIdle;
  phase_due_ = Timestamp::never();
  return exchange;
}

void Connection::time_out(bool whole) {
  switch (state_) {
    case State::kConnecting: {
      if (whole) return fail_exchange(WireEnd::kRefused);
      tried_ = true;
      v6_failed_ = v6_failed_ || !exchange_->addresses[next_address_ - 1].is_v4();
      ++connect_round_;
      error_code error;
      socket_.close(error);
      return connect_next();
    }
    case State::kHandshake: return fail_exchange(WireEnd::kNoTls);
    case State::kExchange: return fail_exchange(WireEnd::kTimedOut);
    case State::kIdle:
    case State::kClosed: return;
  }
}

void Connection::close() {
  if (state_ == State::kClosed) return;
  if (tls_ != nullptr && state_ == State::kIdle && !write_broken_) {
    tls_->say_goodbye();
    flush_tls();
  }
  state_ = State::kClosed;
  exchange_ = nullptr;
  error_code error;
  socket_.close(error);
  Hook<AnyConnection>::unlink();
  if (Hook<IdleConnection>::is_linked()) Hook<IdleConnection>::unlink();
  self_.reset();  // the last thing: it may have been the only one
}

}  // namespace postrider
