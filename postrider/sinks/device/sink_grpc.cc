#include "postrider/sinks/device/sink_grpc.h"

#include <algorithm>
#include <array>
#include <map>
#include <vector>

#include <boost/asio/buffer.hpp>
#include <boost/asio/write.hpp>
#include <nghttp2/nghttp2.h>

#include "postrider/base/check.h"
#include "postrider/sinks/common/sink_socket.h"

namespace postrider {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

constexpr std::size_t kGrpcReadBytes = 16'384;
constexpr std::size_t kHeaderBytesMax = 16'384;  // of the fields that we keep

using Fields = std::vector<std::pair<std::string_view, std::string>>;

// Views into `fields`. The library copies what it is given, but takes it as bytes that might
// change.
std::vector<nghttp2_nv> fields_of(const Fields& fields) {
  const auto bytes = [](std::string_view text) {
    return reinterpret_cast<std::uint8_t*>(const_cast<char*>(text.data()));
  };
  std::vector<nghttp2_nv> out;
  for (const auto& [name, value] : fields)
    out.push_back({bytes(name), bytes(value), name.size(), value.size(), NGHTTP2_NV_FLAG_NONE});
  return out;
}

}  // namespace

class SinkGrpc::Impl : public std::enable_shared_from_this<SinkGrpc::Impl> {
 public:
  Impl(asio::io_context& loop, Handler its_handler, SinkGrpcLimits its_limits)
      : acceptor(loop), handler(std::move(its_handler)), limits(its_limits) {}

  void accept();

  tcp::acceptor acceptor;
  Handler handler;
  SinkGrpcLimits limits;
  std::uint32_t open = 0;
};

class SinkGrpcResponder::Connection
    : public std::enable_shared_from_this<SinkGrpcResponder::Connection> {
 public:
  Connection(tcp::socket socket, std::weak_ptr<SinkGrpc::Impl> owner, SinkGrpcLimits limits)
      : socket_(std::move(socket)), owner_(std::move(owner)), limits_(limits) {
    error_code error;
    socket_.set_option(tcp::no_delay(true), error);
  }
  ~Connection() {
    nghttp2_session_del(session_);
    if (const auto owner = owner_.lock()) --owner->open;
  }

  void begin();
  void answer(std::int32_t stream, grpc::Status status, std::string_view text,
              std::string_view message);
  void reset(std::int32_t stream);

 private:
  struct Stream {
    SinkGrpcCall call;  // `message` with its frame until the call is whole
    std::string out;    // the answer's frame
    std::size_t given = 0;
    bool answered = false;
  };

  static Connection& of(void* user) { return *static_cast<Connection*>(user); }
  static int on_header(nghttp2_session*, const nghttp2_frame* frame, const std::uint8_t* name,
                       std::size_t name_size, const std::uint8_t* value, std::size_t value_size,
                       std::uint8_t, void* user);
  static int on_data(nghttp2_session*, std::uint8_t, std::int32_t stream, const std::uint8_t* bytes,
                     std::size_t size, void* user);
  static int on_frame(nghttp2_session*, const nghttp2_frame* frame, void* user);
  static ssize_t give_data(nghttp2_session*, std::int32_t stream, std::uint8_t* into,
                           std::size_t room, std::uint32_t* flags, nghttp2_data_source*,
                           void* user);
  void take(std::int32_t stream);
  void read();
  void pump();
  void write();
  void close() {
    error_code error;
    socket_.close(error);
  }

  tcp::socket socket_;
  std::weak_ptr<SinkGrpc::Impl> owner_;
  SinkGrpcLimits limits_;
  nghttp2_session* session_ = nullptr;
  std::array<std::uint8_t, kGrpcReadBytes> in_{};
  std::string out_;
  std::string on_wire_;
  bool writing_ = false;
  bool inside_ = false;  // the library calls us: it may not be called
  std::map<std::int32_t, Stream> streams_;
};

int SinkGrpcResponder::Connection::on_header(nghttp2_session*, const nghttp2_frame* frame,
                                             const std::uint8_t* name, std::size_t name_size,
                                             const std::uint8_t* value, std::size_t value_size,
                                             std::uint8_t, void* user) {
  const std::string_view its_name(reinterpret_cast<const char*>(name), name_size);
  const std::string_view its_value(reinterpret_cast<const char*>(value), value_size);
  if (its_value.size() > kHeaderBytesMax) return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
  SinkGrpcCall& call = of(user).streams_[frame->hd.stream_id].call;
  if (its_name == ":path") call.path = its_value;
  if (its_name == "authorization") call.authorization = its_value;
  return 0;
}

int SinkGrpcResponder::Connection::on_data(nghttp2_session* session, std::uint8_t,
                                           std::int32_t stream, const std::uint8_t* bytes,
                                           std::size_t size, void* user) {
  const auto found = of(user).streams_.find(stream);
  if (found == of(user).streams_.end()) return 0;
  std::string& message = found->second.call.message;
  if (message.size() + size > of(user).limits_.message_bytes_max + grpc::kFrameHeadBytes) {
    nghttp2_submit_rst_stream(session, NGHTTP2_FLAG_NONE, stream, NGHTTP2_ENHANCE_YOUR_CALM);
    of(user).streams_.erase(found);
    return 0;
  }
  message.append(reinterpret_cast<const char*>(bytes), size);
  return 0;
}

int SinkGrpcResponder::Connection::on_frame(nghttp2_session*, const nghttp2_frame* frame,
                                            void* user) {
  const bool carries = frame->hd.type == NGHTTP2_HEADERS || frame->hd.type == NGHTTP2_DATA;
  const bool ends = (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0;
  if (carries && ends) of(user).take(frame->hd.stream_id);
  return 0;
}

ssize_t SinkGrpcResponder::Connection::give_data(nghttp2_session* session, std::int32_t stream,
                                                 std::uint8_t* into, std::size_t room,
                                                 std::uint32_t* flags, nghttp2_data_source*,
                                                 void* user) {
  const auto found = of(user).streams_.find(stream);
  if (found == of(user).streams_.end()) return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
  Stream& its = found->second;
  const std::size_t step = std::min(room, its.out.size() - its.given);
  std::copy_n(its.out.data() + its.given, step, into);
  its.given += step;
  if (its.given == its.out.size()) {
    *flags |= NGHTTP2_DATA_FLAG_EOF | NGHTTP2_DATA_FLAG_NO_END_STREAM;
    const Fields trailers = {{"grpc-status", "0"}};
    const std::vector<nghttp2_nv> fields = fields_of(trailers);
    nghttp2_submit_trailer(session, stream, fields.data(), fields.size());
  }
  return static_cast<ssize_t>(step);
}

void SinkGrpcResponder::Connection::begin() {
  nghttp2_session_callbacks* callbacks = nullptr;
  POSTRIDER_CHECK(nghttp2_session_callbacks_new(&callbacks) == 0);
  nghttp2_session_callbacks_set_on_header_callback(callbacks, &on_header);
  nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, &on_data);
  nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, &on_frame);
  nghttp2_session_callbacks_set_on_stream_close_callback(
      callbacks, [](nghttp2_session*, std::int32_t stream, std::uint32_t, void* user) {
        of(user).streams_.erase(stream);
        return 0;
      });
  POSTRIDER_CHECK(nghttp2_session_server_new(&session_, callbacks, this) == 0);
  nghttp2_session_callbacks_del(callbacks);
  const nghttp2_settings_entry entries[] = {
      {NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, limits_.streams_max},
      {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, 2 * kHeaderBytesMax},
  };
  nghttp2_submit_settings(session_, NGHTTP2_FLAG_NONE, entries, std::size(entries));
  pump();
  read();
}

void SinkGrpcResponder::Connection::take(std::int32_t number) {
  const auto owner = owner_.lock();
  const auto found = streams_.find(number);
  if (owner == nullptr || found == streams_.end()) return;
  const Result<std::string_view> message = grpc::decode_frame(found->second.call.message);
  if (!message) return answer(number, grpc::Status::kInternal, message.error().detail, "");
  found->second.call.message = std::string(*message);
  owner->handler(found->second.call, SinkGrpcResponder(weak_from_this(), number));
}

void SinkGrpcResponder::Connection::read() {
  socket_.async_read_some(
      asio::buffer(in_), [self = shared_from_this()](error_code error, std::size_t bytes) {
        if (error) return self->close();
        self->inside_ = true;
        const ssize_t used = nghttp2_session_mem_recv(self->session_, self->in_.data(), bytes);
        self->inside_ = false;
        if (used < 0) return self->close();
        self->pump();
        if (self->socket_.is_open()) self->read();
      });
}

void SinkGrpcResponder::Connection::pump() {
  if (inside_ || !socket_.is_open()) return;
  inside_ = true;
  const std::uint8_t* bytes = nullptr;
  for (ssize_t size = 1; size > 0;) {
    size = nghttp2_session_mem_send(session_, &bytes);
    if (size > 0) out_.append(reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(size));
  }
  inside_ = false;
  if (!writing_) write();
}

void SinkGrpcResponder::Connection::write() {
  if (out_.empty()) return;
  on_wire_ = std::exchange(out_, {});
  writing_ = true;
  asio::async_write(socket_, asio::buffer(on_wire_),
                    [self = shared_from_this()](error_code error, std::size_t) {
                      self->writing_ = false;
                      if (error) return self->close();
                      self->write();
                    });
}

void SinkGrpcResponder::Connection::answer(std::int32_t number, grpc::Status status,
                                           std::string_view text, std::string_view message) {
  const auto found = streams_.find(number);
  if (found == streams_.end() || std::exchange(found->second.answered, true)) return;
  Fields head = {{":status", "200"}, {"content-type", "application/grpc"}};
  nghttp2_data_provider provider{};
  provider.read_callback = &give_data;
  if (status == grpc::Status::kOk) {
    found->second.out = grpc::encode_frame(message);
  } else {
    head.emplace_back("grpc-status", std::to_string(static_cast<int>(status)));
    if (!text.empty()) head.emplace_back("grpc-message", grpc::encode_message(text));
  }
  const std::vector<nghttp2_nv> fields = fields_of(head);
  nghttp2_submit_response(session_, number, fields.data(), fields.size(),
                          status == grpc::Status::kOk ? &provider : nullptr);
  pump();
}

void SinkGrpcResponder::Connection::reset(std::int32_t number) {
  if (!streams_.contains(number)) return;
  nghttp2_submit_rst_stream(session_, NGHTTP2_FLAG_NONE, number, NGHTTP2_INTERNAL_ERROR);
  pump();
}

void SinkGrpcResponder::answer(grpc::Status status, std::string_view text,
                               std::string_view message) const {
  if (const auto connection = connection_.lock())
    connection->answer(stream_, status, text, message);
}

void SinkGrpcResponder::reset() const {
  if (const auto connection = connection_.lock()) connection->reset(stream_);
}

void SinkGrpc::Impl::accept() {
  acceptor.async_accept([watched = weak_from_this()](error_code error, tcp::socket socket) {
    const auto self = watched.lock();
    if (self == nullptr || error == asio::error::operation_aborted) return;
    if (!error && self->open < self->limits.connections_max) {
      ++self->open;
      std::make_shared<SinkGrpcResponder::Connection>(std::move(socket), watched, self->limits)
          ->begin();
    }
    self->accept();
  });
}

Result<std::unique_ptr<SinkGrpc>> SinkGrpc::open(asio::io_context& loop, std::string_view address,
                                                 Handler handler, SinkGrpcLimits limits) {
  auto impl = std::make_shared<Impl>(loop, std::move(handler), limits);
  if (const Result<void> listens = listen_on(impl->acceptor, address); !listens)
    return tl::unexpected<Error>(listens.error());
  impl->accept();
  return std::unique_ptr<SinkGrpc>(new SinkGrpc(std::move(impl)));
}

SinkGrpc::SinkGrpc(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
SinkGrpc::~SinkGrpc() {
  error_code error;
  impl_->acceptor.close(error);
}
std::string SinkGrpc::address() const { return address_of(impl_->acceptor); }

}  // namespace postrider
