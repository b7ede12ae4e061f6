#include "postrider/sinks/common/sink_listener.h"

#include <array>
#include <optional>

#include <boost/asio/buffer.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/write.hpp>

#include "postrider/sinks/common/sink_socket.h"

namespace postrider {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

constexpr std::size_t kReadBytes = 16'384;

}  // namespace

class SinkListener::Impl : public std::enable_shared_from_this<SinkListener::Impl> {
 public:
  Impl(asio::io_context& loop, Handler handler, SinkListenerLimits limits)
      : acceptor(loop), handler_(std::move(handler)), limits_(limits) {}

  void accept();
  void close() {
    error_code error;
    acceptor.close(error);
  }

  Result<void> set_tls(const SinkTls& tls);

  tcp::acceptor acceptor;

 private:
  friend class SinkResponder::Connection;
  Handler handler_;
  SinkListenerLimits limits_;
  std::optional<asio::ssl::context> tls_;  // none: clear text
  std::uint32_t open_ = 0;
};

Result<void> SinkListener::Impl::set_tls(const SinkTls& tls) {
  if (tls.certificate_file.empty() && tls.key_file.empty()) return {};
  error_code error;
  tls_.emplace(asio::ssl::context::tls_server);
  tls_->use_certificate_chain_file(tls.certificate_file, error);
  if (!error) tls_->use_private_key_file(tls.key_file, asio::ssl::context::pem, error);
  if (error)
    return fail(ErrorCode::kInvalid,
                "the certificate or its key cannot be used: " + error.message());
  return {};
}

// Takes one request, waits for its answer, and goes on. It reads all the time, to see when the
// other side goes; that operation keeps it alive.
class SinkResponder::Connection : public std::enable_shared_from_this<SinkResponder::Connection> {
 public:
  Connection(tcp::socket socket, const std::shared_ptr<SinkListener::Impl>& owner)
      : socket_(std::move(socket)), owner_(owner) {
    error_code error;
    socket_.set_option(tcp::no_delay(true), error);
    if (owner->tls_) tls_.emplace(socket_, *owner->tls_);
  }
  ~Connection() {
    if (const auto owner = owner_.lock()) --owner->open_;
  }

  void start();
  void answer(const SinkHttpAnswer& answer);
  void close() {
    error_code error;
    socket_.close(error);
  }

 private:
  void read();
  void take();
  void write(std::string text, bool goes_on);

  tcp::socket socket_;
  std::optional<asio::ssl::stream<tcp::socket&>> tls_;  // none: clear text
  std::weak_ptr<SinkListener::Impl> owner_;
  std::array<char, kReadBytes> buffer_{};
  std::string in_;
  std::string out_;
  bool keep_ = true;
  bool waits_ = false;    // for the answer to the request that was taken
  bool writing_ = false;  // nothing is taken before the answer has left
  bool told_continue_ = false;
};

void SinkResponder::Connection::start() {
  if (!tls_) return read();
  tls_->async_handshake(asio::ssl::stream_base::server,
                        [self = shared_from_this()](error_code error) {
                          if (error) return self->close();
                          self->read();
                        });
}

void SinkResponder::Connection::read() {
  auto took = [self = shared_from_this()](error_code error, std::size_t bytes) {
    if (error) return self->close();
    self->in_.append(self->buffer_.data(), bytes);
    self->take();
    if (self->socket_.is_open()) self->read();
  };
  if (tls_) return tls_->async_read_some(asio::buffer(buffer_), std::move(took));
  socket_.async_read_some(asio::buffer(buffer_), std::move(took));
}

void SinkResponder::Connection::take() {
  const auto owner = owner_.lock();
  if (owner == nullptr) return close();
  const SinkListenerLimits& limits = owner->limits_;
  if (in_.size() > limits.head_bytes_max + limits.body_bytes_max + kReadBytes) return close();
  if (waits_ || writing_) return;
  SinkRequest request;
  switch (parse_sink_request(in_, {limits.head_bytes_max, limits.body_bytes_max}, request)) {
    case SinkParse::kMore: return;
    case SinkParse::kContinue:
      if (!std::exchange(told_continue_, true)) write("HTTP/1.1 100 Continue\r\n\r\n", true);
      return;
    case SinkParse::kBad: return write("HTTP/1.1 400 No\r\ncontent-length: 0\r\n\r\n", false);
    case SinkParse::kTooLarge: return write("HTTP/1.1 413 No\r\ncontent-length: 0\r\n\r\n", false);
    case SinkParse::kWhole: break;
  }
  keep_ = request.keep;
  waits_ = true;
  told_continue_ = false;
  owner->handler_(request, SinkResponder(weak_from_this()));
  in_.erase(0, request.size);
}

void SinkResponder::Connection::answer(const SinkHttpAnswer& answer) {
  if (!std::exchange(waits_, false) || !socket_.is_open()) return;
  std::string text = "HTTP/1.1 " + std::to_string(answer.status) +
                     (answer.status / 100 == 2 ? " OK" : " No") +
                     "\r\ncontent-length: " + std::to_string(answer.body.size());
  text.append("\r\ncontent-type: ").append(answer.content_type);
  text.append(keep_ ? "\r\n\r\n" : "\r\nconnection: close\r\n\r\n").append(answer.body);
  if (answer.twice) text += std::string(text);
  write(std::move(text), keep_);
}

void SinkResponder::Connection::write(std::string text, bool goes_on) {
  out_ = std::move(text);
  writing_ = true;
  auto written = [self = shared_from_this(), goes_on](error_code error, std::size_t) {
    self->writing_ = false;
    if (error || !goes_on) return self->close();
    self->take();
  };
  if (tls_) return asio::async_write(*tls_, asio::buffer(out_), std::move(written));
  asio::async_write(socket_, asio::buffer(out_), std::move(written));
}

void SinkResponder::answer(const SinkHttpAnswer& answer) const {
  if (const auto connection = connection_.lock()) connection->answer(answer);
}

void SinkResponder::cut() const {
  if (const auto connection = connection_.lock()) connection->close();
}

void SinkListener::Impl::accept() {
  acceptor.async_accept([watched = weak_from_this()](error_code error, tcp::socket socket) {
    const auto self = watched.lock();
    if (self == nullptr || error == asio::error::operation_aborted) return;
    if (!error && self->open_ < self->limits_.connections_max) {
      ++self->open_;
      std::make_shared<SinkResponder::Connection>(std::move(socket), self)->start();
    }
    self->accept();
  });
}

Result<std::unique_ptr<SinkListener>> SinkListener::open(asio::io_context& loop,
                                                         std::string_view address, Handler handler,
                                                         SinkListenerLimits limits,
                                                         const SinkTls& tls) {
  auto impl = std::make_shared<Impl>(loop, std::move(handler), limits);
  if (const Result<void> set = impl->set_tls(tls); !set) return tl::unexpected<Error>(set.error());
  if (const Result<void> listens = listen_on(impl->acceptor, address); !listens)
    return tl::unexpected<Error>(listens.error());
  impl->accept();
  return std::unique_ptr<SinkListener>(new SinkListener(std::move(impl)));
}

SinkListener::SinkListener(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
SinkListener::~SinkListener() { impl_->close(); }
std::string SinkListener::address() const { return address_of(impl_->acceptor); }

}  // namespace postrider
