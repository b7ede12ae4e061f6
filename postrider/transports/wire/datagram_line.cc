#include "postrider/transports/wire/datagram_line.h"

#include <cerrno>
#include <netinet/in.h>
#include <unistd.h>
#include <utility>

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>

namespace postrider {
namespace {

using boost::system::error_code;
using Descriptor = boost::asio::posix::stream_descriptor;

constexpr int kDatagramsAtOnce = 32;  // then the other lines have their turn

}  // namespace

DatagramLine::DatagramLine(boost::asio::io_context& loop, LineId line, LineKeeper& keeper,
                           const LineRules& rules, bool foreign)
    : loop_(loop),
      descriptor_(loop),
      line_(line),
      keeper_(&keeper),
      rules_(rules),
      foreign_(foreign) {}

bool DatagramLine::open(const SocketPlace& place) {
  const int descriptor = new_socket(place.family(), SOCK_DGRAM);
  if (descriptor < 0) {
    const bool none_left = errno == EMFILE || errno == ENFILE;
    fail(none_left ? LineEnd::kFull : LineEnd::kRefused, error_text(errno));
    return false;
  }
  error_code error;
  descriptor_.assign(descriptor, error);
  if (!error) return true;
  ::close(descriptor);
  fail(LineEnd::kRefused, error.message());
  return false;
}

void DatagramLine::listen(const SocketPlace& place) {
  listens_ = true;
  if (!open(place)) return;
  const int on = 1;
  if (place.family() == AF_INET6)
    ::setsockopt(descriptor_.native_handle(), IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
  if (::bind(descriptor_.native_handle(), place.raw(), place.size) != 0)
    return fail(LineEnd::kRefused, error_text(errno));
  told_open(own_place(descriptor_.native_handle()));
}

void DatagramLine::connect(const SocketPlace& place) {
  if (!open(place)) return;
  if (::connect(descriptor_.native_handle(), place.raw(), place.size) != 0)
    return fail(LineEnd::kRefused, error_text(errno));
  told_open(text_of(place));
}

void DatagramLine::told_open(std::string peer) {
  open_ = true;
  boost::asio::post(loop_, [self = shared_from_this(), text = std::move(peer)] {
    if (self->keeper_ == nullptr || !self->open_) return;
    self->keeper_->line_opened(self->line_, text);
    if (self->open_) self->read_soon();
  });
}

void DatagramLine::fail(LineEnd end, std::string detail) {
  open_ = false;
  error_code error;
  if (descriptor_.is_open()) descriptor_.close(error);
  boost::asio::post(loop_, [self = shared_from_this(), end, text = std::move(detail)] {
    if (self->keeper_ != nullptr) self->keeper_->line_ended(self->line_, end, text);
  });
}

void DatagramLine::write(std::string bytes, std::string_view to) {
  if (!open_ || bytes.size() > rules_.limits.datagram_bytes_max) return keeper_->datagram_lost();
  SocketPlace place;
  if (listens_) {
    const auto endpoint = parse_line_endpoint(to);
    if (!endpoint || (foreign_ && !keeper_->permits(endpoint->address)))
      return keeper_->datagram_lost();
    place = place_of(*endpoint);
  }
  const ssize_t sent =
      ::sendto(descriptor_.native_handle(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT,
               listens_ ? place.raw() : nullptr, listens_ ? place.size : 0);
  if (sent < 0) keeper_->datagram_lost();
}

void DatagramLine::hold(bool held) {
  if (std::exchange(held_, held) == held || held) return;
  boost::asio::post(loop_, [self = shared_from_this()] { self->read_soon(); });
}

void DatagramLine::read_soon() {
  if (reading_ || held_ || !open_) return;
  reading_ = true;
  descriptor_.async_wait(Descriptor::wait_read, [self = shared_from_this()](error_code error) {
    self->reading_ = false;
    if (!error) self->on_readable();
  });
}

void DatagramLine::on_readable() {
  for (int i = 0; i < kDatagramsAtOnce && open_ && !held_; ++i) {
    if (!read_one()) break;
  }
  read_soon();
}

// False: there is none. An error is that of a datagram before, which was lost.
bool DatagramLine::read_one() {
  const std::span<char> into = keeper_->scratch();
  SocketPlace from;
  const ssize_t got = ::recvfrom(descriptor_.native_handle(), into.data(), into.size(),
                                 MSG_DONTWAIT, from.raw(), &from.size);
  if (got < 0) return errno != EAGAIN && errno != EWOULDBLOCK;
  keeper_->line_took(line_, {into.data(), static_cast<std::size_t>(got)}, text_of(from));
  return true;
}

bool DatagramLine::close() {
  cut();
  return true;
}

void DatagramLine::cut() {
  keeper_ = nullptr;
  open_ = false;
  error_code error;
  if (descriptor_.is_open()) descriptor_.close(error);
}

}  // namespace postrider
