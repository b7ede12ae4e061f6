#include "postrider/transports/grpc/grpc_peer_testing.h"

#include <algorithm>
#include <array>

#include <boost/asio/buffer.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/write.hpp>
#include <gtest/gtest.h>
#include <nghttp2/nghttp2.h>
#include <openssl/ssl.h>

#include "postrider/base/check.h"
#include "postrider/transports/grpc/grpc_text.h"

namespace postrider {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

std::vector<nghttp2_nv> fields_of(const Fields& fields) {
  std::vector<nghttp2_nv> out;
  for (const auto& [name, value] : fields) {
    out.push_back({reinterpret_cast<std::uint8_t*>(const_cast<char*>(name.data())),
                   reinterpret_cast<std::uint8_t*>(const_cast<char*>(value.data())), name.size(),
                   value.size(), NGHTTP2_NV_FLAG_NONE});
  }
  return out;
}

}  // namespace

std::string framed(std::string_view message, char flag) {
  GrpcPrefix prefix = grpc_prefix(static_cast<std::uint32_t>(message.size()));
  prefix[0] = flag;
  return std::string(prefix.data(), prefix.size()).append(message);
}

GrpcAnswer good_answer(std::string_view message) {
  GrpcAnswer answer;
  answer.data = framed(message);
  return answer;
}

GrpcAnswer only_trailers(int status, std::string_view message) {
  GrpcAnswer answer;
  answer.trailers.clear();
  answer.head.emplace_back("grpc-status", std::to_string(status));
  if (!message.empty()) answer.head.emplace_back("grpc-message", message);
  return answer;
}

// One accepted connection.
struct GrpcPeer::Served : std::enable_shared_from_this<GrpcPeer::Served> {
  Served(GrpcPeer& owner, tcp::socket accepted, int its_number)
      : peer(&owner),
        alive(owner.alive_),
        options(owner.options_),
        socket(std::move(accepted)),
        number(its_number) {
    socket.set_option(tcp::no_delay(true));
    if (options.tls != nullptr)
      tls = std::make_unique<asio::ssl::stream<tcp::socket&>>(socket, *options.tls);
  }
  ~Served() {
    nghttp2_session_del(session);
    if (!alive.expired()) --peer->open;
  }

  struct Answering {
    GrpcAnswer answer;
    std::size_t given = 0;
  };

  void begin();
  void greet();
  void read();
  void took(std::size_t bytes);
  void pump();
  void write();
  void close() {
    error_code error;
    socket.close(error);
    closed = true;
  }

  GrpcPeer* peer;
  std::weak_ptr<int> alive;
  GrpcPeerOptions options;
  tcp::socket socket;
  std::unique_ptr<asio::ssl::stream<tcp::socket&>> tls;
  int number;
  bool closed = false;
  bool writing = false;
  nghttp2_session* session = nullptr;
  std::array<char, 16'384> in{};
  std::string out;
  std::string on_wire;
  std::map<std::int32_t, Call> calls;
  std::map<std::int32_t, Answering> answers;
};

namespace {

GrpcPeer::Served& served_of(void* user) { return *static_cast<GrpcPeer::Served*>(user); }

int on_begin(nghttp2_session*, const nghttp2_frame* frame, void* user) {
  GrpcPeer::Served& served = served_of(user);
  GrpcPeer::Call& call = served.calls[frame->hd.stream_id];
  call.served = served.weak_from_this();
  call.stream = frame->hd.stream_id;
  call.connection = served.number;
  served.peer->most_streams =
      std::max(served.peer->most_streams, static_cast<int>(served.calls.size()));
  return 0;
}

int on_field(nghttp2_session*, const nghttp2_frame* frame, const std::uint8_t* name,
             std::size_t name_size, const std::uint8_t* value, std::size_t value_size, std::uint8_t,
             void* user) {
  served_of(user).calls[frame->hd.stream_id].head.emplace(
      std::string(reinterpret_cast<const char*>(name), name_size),
      std::string(reinterpret_cast<const char*>(value), value_size));
  return 0;
}

int on_data(nghttp2_session*, std::uint8_t, std::int32_t stream, const std::uint8_t* bytes,
            std::size_t size, void* user) {
  served_of(user).calls[stream].data.append(reinterpret_cast<const char*>(bytes), size);
  return 0;
}

int on_closed(nghttp2_session*, std::int32_t stream, std::uint32_t, void* user) {
  served_of(user).calls.erase(stream);
  return 0;
}

ssize_t give_data(nghttp2_session* session, std::int32_t stream, std::uint8_t* into,
                  std::size_t room, std::uint32_t* flags, nghttp2_data_source*, void* user) {
  GrpcPeer::Served::Answering& answering = served_of(user).answers[stream];
  const std::string& data = answering.answer.data;
  const std::size_t step = std::min({room, answering.answer.step, data.size() - answering.given});
  if (step == 0 && answering.answer.stops) return NGHTTP2_ERR_DEFERRED;
  std::copy_n(data.data() + answering.given, step, into);
  answering.given += step;
  if (answering.given == data.size() && !answering.answer.stops) {
    *flags |= NGHTTP2_DATA_FLAG_EOF;
    if (!answering.answer.trailers.empty()) {
      *flags |= NGHTTP2_DATA_FLAG_NO_END_STREAM;
      const auto fields = fields_of(answering.answer.trailers);
      nghttp2_submit_trailer(session, stream, fields.data(), fields.size());
    }
  }
  return static_cast<ssize_t>(step);
}

}  // namespace

void GrpcPeer::Served::begin() {
  if (tls == nullptr) return greet();
  tls->async_handshake(asio::ssl::stream_base::server,
                       [self = shared_from_this()](error_code error) {
                         if (!error) self->greet();
                       });
}

void GrpcPeer::Served::greet() {
  nghttp2_session_callbacks* callbacks = nullptr;
  nghttp2_session_callbacks_new(&callbacks);
  nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks, &on_begin);
  nghttp2_session_callbacks_set_on_header_callback(callbacks, &on_field);
  nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, &on_data);
  nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, &on_closed);
  nghttp2_session_callbacks_set_on_frame_recv_callback(
      callbacks, [](nghttp2_session*, const nghttp2_frame* frame, void* user) {
        Served& served = served_of(user);
        if (served.alive.expired()) return 0;
        if (frame->hd.type == NGHTTP2_PING) ++served.peer->pings;
        if (frame->hd.type == NGHTTP2_RST_STREAM) ++served.peer->resets;
        const auto found = served.calls.find(frame->hd.stream_id);
        if (found == served.calls.end()) return 0;
        const Call call = found->second;
        if (frame->hd.type == NGHTTP2_HEADERS && served.peer->begun_) served.peer->begun_(call);
        if ((frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0 &&
            (frame->hd.type == NGHTTP2_HEADERS || frame->hd.type == NGHTTP2_DATA))
          served.peer->handler_(call);
        return 0;
      });
  nghttp2_option* option = nullptr;
  nghttp2_option_new(&option);
  nghttp2_option_set_no_auto_ping_ack(option, options.answers_pings ? 0 : 1);
  nghttp2_session_server_new2(&session, callbacks, this, option);
  nghttp2_option_del(option);
  nghttp2_session_callbacks_del(callbacks);
  const nghttp2_settings_entry entries[] = {
      {NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, options.streams_max},
      {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, options.window},
  };
  nghttp2_submit_settings(session, NGHTTP2_FLAG_NONE, entries, std::size(entries));
  pump();
  read();
}

void GrpcPeer::Served::read() {
  const auto on_read = [self = shared_from_this()](error_code error, std::size_t bytes) {
    if (error || self->closed) return self->close();
    self->took(bytes);
  };
  if (tls != nullptr) {
    tls->async_read_some(asio::buffer(in), on_read);
  } else {
    socket.async_read_some(asio::buffer(in), on_read);
  }
}

void GrpcPeer::Served::took(std::size_t bytes) {
  if (nghttp2_session_mem_recv(session, reinterpret_cast<const std::uint8_t*>(in.data()), bytes) <
      0)
    return close();
  if (closed) return;
  pump();
  read();
}

void GrpcPeer::Served::pump() {
  if (closed) return;
  const std::uint8_t* bytes = nullptr;
  for (ssize_t size = 1; size > 0;) {
    size = nghttp2_session_mem_send(session, &bytes);
    if (size > 0) out.append(reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(size));
  }
  if (!writing) write();
}

void GrpcPeer::Served::write() {
  if (out.empty() || closed) return;
  const std::size_t step = options.write_step == 0 ? out.size() : options.write_step;
  on_wire = out.substr(0, step);
  out.erase(0, on_wire.size());
  writing = true;
  const auto on_written = [self = shared_from_this()](error_code error, std::size_t) {
    self->writing = false;
    if (!error) self->write();
  };
  if (tls != nullptr) {
    asio::async_write(*tls, asio::buffer(on_wire), on_written);
  } else {
    asio::async_write(socket, asio::buffer(on_wire), on_written);
  }
}

void GrpcPeer::Call::answer(GrpcAnswer answer) const {
  const auto self = served.lock();
  if (self == nullptr || self->closed) return;
  const bool bare = answer.data.empty() && answer.trailers.empty();
  Served::Answering& answering = self->answers[stream];
  answering.answer = std::move(answer);
  const auto fields = fields_of(answering.answer.head);
  nghttp2_data_provider provider{};
  provider.read_callback = &give_data;
  nghttp2_submit_response(self->session, stream, fields.data(), fields.size(),
                          bare ? nullptr : &provider);
  asio::post(self->socket.get_executor(), [self] { self->pump(); });
}

void GrpcPeer::Call::reset(std::uint32_t error) const {
  const auto self = served.lock();
  if (self == nullptr || self->closed) return;
  nghttp2_submit_rst_stream(self->session, NGHTTP2_FLAG_NONE, stream, error);
  asio::post(self->socket.get_executor(), [self] { self->pump(); });
}

void GrpcPeer::Call::go_away(std::int32_t last_stream) const {
  const auto self = served.lock();
  if (self == nullptr || self->closed) return;
  nghttp2_submit_goaway(self->session, NGHTTP2_FLAG_NONE, last_stream, NGHTTP2_NO_ERROR, nullptr,
                        0);
  asio::post(self->socket.get_executor(), [self] { self->pump(); });
}

void GrpcPeer::Call::cut() const {
  const auto self = served.lock();
  if (self != nullptr) self->close();
}

GrpcPeer::GrpcPeer(asio::io_context& loop, Handler handler, GrpcPeerOptions options)
    : loop_(loop),
      acceptor_(loop, tcp::endpoint(asio::ip::address_v4::loopback(), 0)),
      handler_(std::move(handler)),
      options_(options) {
  accept();
}
GrpcPeer::~GrpcPeer() = default;

void GrpcPeer::accept() {
  acceptor_.async_accept(
      [this, alive = std::weak_ptr<int>(alive_)](error_code error, tcp::socket socket) {
        if (error || alive.expired()) return;
        ++open;
        std::make_shared<Served>(*this, std::move(socket), ++accepted)->begin();
        accept();
      });
}

std::string GrpcPeer::url(std::string_view path, std::string_view host) const {
  return (options_.tls != nullptr ? "https://" : "http://") + std::string(host) + ":" +
         std::to_string(acceptor_.local_endpoint().port()) + std::string(path);
}

void GrpcPeer::stop() { acceptor_.close(); }

std::unique_ptr<asio::ssl::context> grpc_server_context(const Certificate& certificate,
                                                        bool speaks_h2) {
  auto context = server_context(certificate);
  if (!speaks_h2) return context;
  SSL_CTX_set_alpn_select_cb(
      context->native_handle(),
      [](SSL*, const unsigned char** chosen, unsigned char* size, const unsigned char* offered,
         unsigned int offered_size, void*) {
        const auto* wanted = reinterpret_cast<const unsigned char*>("\x02h2");
        unsigned char* found = nullptr;
        const int got = SSL_select_next_proto(&found, size, wanted, 3, offered, offered_size);
        *chosen = found;
        return got == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_ALERT_FATAL;
      },
      nullptr);
  return context;
}

GrpcTransportOptions GrpcRig::local() {
  GrpcTransportOptions options;
  options.allow = {"127.0.0.0/8", "::1"};
  return options;
}

GrpcRig::GrpcRig(GrpcTransportOptions options)
    : transport(make<GrpcTransport>(std::move(options))) {}
GrpcRig::~GrpcRig() = default;

AttemptId GrpcRig::start(const std::string& url, std::string_view body, Duration time_out,
                         const std::string& trust) {
  const Blob owner = Blob::copy_of(body);
  return start(WireRequest{.verb = "POST",
                           .target = url,
                           .headers = {{"authorization", "Bearer secret"}},
                           .owner = owner,
                           .body = owner.view(),
                           .time_out = time_out,
                           .trust = trust});
}

}  // namespace postrider
