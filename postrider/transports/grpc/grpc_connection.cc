#include "postrider/transports/grpc/grpc_connection.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include <nghttp2/nghttp2.h>

#include "postrider/base/check.h"
#include "postrider/protocols/web/http_text.h"

namespace postrider {
namespace {

constexpr std::size_t kUnsentMax = 65'536;           // then nghttp2 is not asked for more
constexpr std::int32_t kConnectionWindow = 1 << 20;  // what all answers together may be ahead

std::string_view text_of(const std::uint8_t* bytes, std::size_t size) {
  return {reinterpret_cast<const char*>(bytes), size};
}

// nghttp2 copies what it is given, and only reads it.
nghttp2_nv field_of(std::string_view name, std::string_view value, bool secret = false) {
  const auto bytes = [](std::string_view text) {
    return reinterpret_cast<std::uint8_t*>(const_cast<char*>(text.data()));
  };
  const auto flags = static_cast<std::uint8_t>(secret ? NGHTTP2_NV_FLAG_NO_INDEX : 0);
  return {bytes(name), bytes(value), name.size(), value.size(), flags};
}

// Fields that are ours to write, or that HTTP/2 forbids (RFC 9113 §8.2.2).
bool is_reserved(std::string_view name) {
  constexpr std::string_view kReserved[] = {
      "connection",   "content-length", "content-type",      "grpc-encoding",
      "grpc-timeout", "host",           "keep-alive",        "proxy-connection",
      "te",           "upgrade",        "transfer-encoding", "grpc-accept-encoding",
  };
  return std::find(std::begin(kReserved), std::end(kReserved), name) != std::end(kReserved);
}

WireReply reply_of(WireEnd end, std::string_view why = {}) {
  WireReply reply;
  reply.end = end;
  reply.body = why;
  return reply;
}

}  // namespace

void GrpcConnection::SessionFree::operator()(nghttp2_session* session) const {
  nghttp2_session_del(session);
}

// The functions that nghttp2 calls. It must not be called for bytes from inside them, nor freed.
struct GrpcCallbacks {
  static GrpcConnection& of(void* user) { return *static_cast<GrpcConnection*>(user); }

  static int before_send(nghttp2_session*, const nghttp2_frame* frame, void* user) {
    GrpcConnection& self = of(user);
    GrpcCall* call = self.call_of(frame->hd.stream_id);
    const bool first = call != nullptr && call->first_byte == UINT64_MAX;
    if (first && frame->hd.type == NGHTTP2_HEADERS) call->first_byte = self.produced_;
    return 0;
  }

  static int not_sent(nghttp2_session*, const nghttp2_frame* frame, int, void* user) {
    if (frame->hd.type == NGHTTP2_HEADERS)
      of(user).on_stream_closed(frame->hd.stream_id, NGHTTP2_REFUSED_STREAM);
    return 0;
  }

  static int begin_headers(nghttp2_session*, const nghttp2_frame* frame, void* user) {
    GrpcCall* call = of(user).call_of(frame->hd.stream_id);
    if (call != nullptr) call->answer.begin_fields();
    return 0;
  }

  static int header(nghttp2_session*, const nghttp2_frame* frame, const std::uint8_t* name,
                    std::size_t name_size, const std::uint8_t* value, std::size_t value_size,
                    std::uint8_t, void* user) {
    GrpcConnection& self = of(user);
    GrpcCall* call = self.call_of(frame->hd.stream_id);
    if (call == nullptr) return 0;
    if (!call->answer.field(text_of(name, name_size), text_of(value, value_size)))
      self.end_call(*call, call->answer.finish(), true);
    return 0;
  }

  static int data(nghttp2_session*, std::uint8_t, std::int32_t stream, const std::uint8_t* bytes,
                  std::size_t size, void* user) {
    GrpcConnection& self = of(user);
    GrpcCall* call = self.call_of(stream);
    if (call != nullptr && !call->answer.data(text_of(bytes, size)))
      self.end_call(*call, call->answer.finish(), true);
    return 0;
  }

  static int frame(nghttp2_session*, const nghttp2_frame* frame, void* user) {
    GrpcConnection& self = of(user);
    const bool ack = (frame->hd.flags & NGHTTP2_FLAG_ACK) != 0;
    if (frame->hd.type == NGHTTP2_SETTINGS && !ack) {
      self.state_ = GrpcConnection::State::kReady;
      self.reached_ = true;
      self.greeting_due_ = Timestamp::never();
    }
    if (frame->hd.type == NGHTTP2_PING && ack) self.ping_due_ = Timestamp::never();
    if (frame->hd.type == NGHTTP2_GOAWAY) self.retired_ = true;
    const bool speaks = frame->hd.type == NGHTTP2_HEADERS || frame->hd.type == NGHTTP2_DATA;
    if (speaks && (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0) {
      if (GrpcCall* call = self.call_of(frame->hd.stream_id)) self.on_whole(*call);
    }
    return 0;
  }

  static int closed(nghttp2_session*, std::int32_t stream, std::uint32_t error, void* user) {
    of(user).on_stream_closed(stream, error);
    return 0;
  }

  static ssize_t body(nghttp2_session*, std::int32_t stream, std::uint8_t* into, std::size_t room,
                      std::uint32_t* flags, nghttp2_data_source*, void* user) {
    GrpcCall* call = of(user).call_of(stream);
    if (call == nullptr) return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;  // given up meanwhile
    const std::string_view body = call->request.body;
    const GrpcPrefix prefix = grpc_prefix(static_cast<std::uint32_t>(body.size()));
    std::size_t copied = 0;
    while (copied < room && call->given < prefix.size() + body.size()) {
      const bool in_prefix = call->given < prefix.size();
      const std::string_view left =
          in_prefix ? std::string_view(prefix.data(), prefix.size()).substr(call->given)
                    : body.substr(call->given - prefix.size());
      const std::size_t step = std::min(left.size(), room - copied);
      std::memcpy(into + copied, left.data(), step);
      copied += step;
      call->given += step;
    }
    if (call->given == prefix.size() + body.size()) *flags |= NGHTTP2_DATA_FLAG_EOF;
    return static_cast<ssize_t>(copied);
  }

  static nghttp2_session* open(GrpcConnection& self) {
    nghttp2_session_callbacks* callbacks = nullptr;
    nghttp2_session* session = nullptr;
    POSTRIDER_CHECK(nghttp2_session_callbacks_new(&callbacks) == 0);  // out of memory
    nghttp2_session_callbacks_set_before_frame_send_callback(callbacks, &before_send);
    nghttp2_session_callbacks_set_on_frame_not_send_callback(callbacks, &not_sent);
    nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks, &begin_headers);
    nghttp2_session_callbacks_set_on_header_callback(callbacks, &header);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, &data);
    nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, &frame);
    nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, &closed);
    const int opened = nghttp2_session_client_new(&session, callbacks, &self);
    nghttp2_session_callbacks_del(callbacks);
    POSTRIDER_CHECK(opened == 0);  // out of memory
    return session;
  }
};

GrpcConnection::GrpcConnection(boost::asio::io_context& loop,
                               const GrpcConnectionSettings& settings, GrpcConnectionOwner& owner,
                               std::shared_ptr<GrpcChannel> channel)
    : settings_(settings),
      owner_(owner),
      channel_(std::move(channel)),
      stream_(std::make_unique<ByteStream>(loop, settings_.stream, *this)) {}

GrpcConnection::~GrpcConnection() = default;

void GrpcConnection::connect(std::shared_ptr<OriginHost> host, Addresses addresses) {
  stream_->connect(std::move(host), std::move(addresses), owner_.now());
  owner_.note_due(due());
}

// Nothing is sent before the peer has shown by its SETTINGS that it speaks HTTP/2 and how many
// streams it takes: a call to a peer that does not would else be one of unknown outcome.
void GrpcConnection::stream_opened() {
  session_.reset(GrpcCallbacks::open(*this));
  state_ = State::kGreeting;
  heard_ = owner_.now();
  greeting_due_ = heard_ + settings_.greeting_time_out;
  owner_.note_due(greeting_due_);
  const nghttp2_settings_entry entries[] = {
      {NGHTTP2_SETTINGS_ENABLE_PUSH, 0},
      {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, settings_.head_bytes_max},
  };
  nghttp2_submit_settings(session_.get(), NGHTTP2_FLAG_NONE, entries, std::size(entries));
  nghttp2_session_set_local_window_size(session_.get(), NGHTTP2_FLAG_NONE, 0, kConnectionWindow);
  pump();
  owner_.flush();
}

bool GrpcConnection::full() const {
  const std::uint32_t theirs =
      nghttp2_session_get_remote_settings(session_.get(), NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS);
  return streams_.size() >= std::min(settings_.streams_max, theirs) ||
         stream_->unsent() >= kUnsentMax;
}

void GrpcConnection::submit(GrpcCall& call, const OriginHost& host) {
  const WireRequest& request = call.request;
  call.submitted = owner_.now();
  const std::string timeout = grpc_timeout(call.due - call.submitted);
  std::vector<nghttp2_nv> fields = {
      field_of(":method", "POST"),         field_of(":scheme", host.tls ? "https" : "http"),
      field_of(":path", call.path),        field_of(":authority", host.authority),
      field_of("te", "trailers"),          field_of("content-type", "application/grpc"),
      field_of("user-agent", "postrider"), field_of("grpc-timeout", timeout),
  };
  const NamedTexts given = request.headers.list();
  std::vector<std::string> names;
  names.reserve(given.size());  // the fields point into it
  for (const auto& [name, value] : given) {
    names.push_back(to_lower(name));
    if (!is_reserved(names.back()))
      fields.push_back(field_of(names.back(), value, names.back() == "authorization"));
  }
  nghttp2_data_provider body{};
  body.read_callback = &GrpcCallbacks::body;
  call.stream =
      nghttp2_submit_request(session_.get(), nullptr, fields.data(), fields.size(), &body, nullptr);
  if (call.stream < 0) {
    retired_ = true;
    owner_.call_ended(call, reply_of(WireEnd::kRefused));
    return;
  }
  call.place = GrpcPlace::kStream;
  call.connection = this;
  streams_[call.stream] = &call;
  if (++calls_ >= settings_.calls_per_connection) retired_ = true;
  pump();
}

void GrpcConnection::ping() {
  if (state_ != State::kReady || pinging()) return;
  nghttp2_submit_ping(session_.get(), NGHTTP2_FLAG_NONE, nullptr);
  ping_due_ = owner_.now() + settings_.ping_time_out;
  owner_.note_due(ping_due_);
  pump();
}

GrpcCall* GrpcConnection::call_of(std::int32_t stream) const {
  const auto found = streams_.find(stream);
  return found == streams_.end() ? nullptr : found->second;
}

bool GrpcConnection::maybe_sent(const GrpcCall& call) const {
  return stream_->left() > call.first_byte;
}

bool GrpcConnection::cancel(GrpcCall& call) {
  const bool sent = maybe_sent(call);
  streams_[call.stream] = nullptr;
  call.connection = nullptr;
  nghttp2_submit_rst_stream(session_.get(), NGHTTP2_FLAG_NONE, call.stream, NGHTTP2_CANCEL);
  pump();
  return sent;
}

void GrpcConnection::end_call(GrpcCall& call, WireReply reply, bool reset_stream) {
  streams_[call.stream] = nullptr;
  call.connection = nullptr;
  if (reset_stream)
    nghttp2_submit_rst_stream(session_.get(), NGHTTP2_FLAG_NONE, call.stream, NGHTTP2_CANCEL);
  owner_.call_ended(call, std::move(reply));
}

// The peer has said all it will, perhaps before it has read all of ours.
void GrpcConnection::on_whole(GrpcCall& call) {
  const bool all_given = nghttp2_session_get_stream_local_close(session_.get(), call.stream) == 1;
  end_call(call, call.answer.finish(), !all_given);
}

void GrpcConnection::on_stream_closed(std::int32_t stream, std::uint32_t error) {
  const auto found = streams_.find(stream);
  if (found == streams_.end()) return;
  GrpcCall* call = std::exchange(found->second, nullptr);
  streams_.erase(found);
  if (call == nullptr) return;
  call->connection = nullptr;
  // "Not processed in any way" (RFC 9113 §8.7): said of this stream, or by a GOAWAY of all above
  // its number. A peer that had begun to answer contradicts itself, and is not believed.
  const bool untouched = error == NGHTTP2_REFUSED_STREAM && !call->answer.begun();
  if (untouched || !maybe_sent(*call))
    return owner_.call_ended(*call, reply_of(WireEnd::kRefused, "the peer refused the stream"));
  owner_.call_ended(*call, reply_of(WireEnd::kReset, std::string("the stream was reset: ") +
                                                         nghttp2_http2_strerror(error)));
}

void GrpcConnection::stream_took(std::string_view bytes) {
  heard_ = owner_.now();
  in_session_ = true;
  const ssize_t taken = nghttp2_session_mem_recv(
      session_.get(), reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
  in_session_ = false;
  pump();
  // After a breach of the protocol nghttp2 has said GOAWAY and wants nothing more.
  const bool over = nghttp2_session_want_read(session_.get()) == 0 &&
                    nghttp2_session_want_write(session_.get()) == 0;
  if (taken < 0 || over) {
    end(WireEnd::kReset);
  } else if (state_ == State::kReady) {
    owner_.connection_changed(*this);
  }
  owner_.flush();
}

void GrpcConnection::stream_drained() {
  pump();
  if (state_ == State::kReady) owner_.connection_changed(*this);
  owner_.flush();
}

void GrpcConnection::stream_ended(StreamEnd ended) {
  switch (ended) {
    case StreamEnd::kRefused: end(WireEnd::kRefused); break;
    case StreamEnd::kHeldBack: end(WireEnd::kHeldBack); break;
    case StreamEnd::kNoTls: end(WireEnd::kNoTls); break;
    case StreamEnd::kLost: end(WireEnd::kReset); break;
  }
  owner_.flush();
}

// Moves what nghttp2 has to say into the stream.
void GrpcConnection::pump() {
  if (in_session_ || state_ == State::kClosed || session_ == nullptr) return;
  in_session_ = true;
  while (stream_->unsent() < kUnsentMax) {
    const std::uint8_t* bytes = nullptr;
    const ssize_t size = nghttp2_session_mem_send(session_.get(), &bytes);
    if (size <= 0) break;
    produced_ += static_cast<std::uint64_t>(size);
    stream_->write(text_of(bytes, static_cast<std::size_t>(size)));
  }
  in_session_ = false;
}

// The connection is no more: every call on it has its end.
void GrpcConnection::end(WireEnd end) {
  if (state_ == State::kClosed) return;
  state_ = State::kClosed;
  retired_ = true;
  greeting_due_ = ping_due_ = Timestamp::never();
  auto streams = std::exchange(streams_, {});
  for (const auto& [stream, call] : streams) {
    if (call == nullptr) continue;
    call->connection = nullptr;
    const bool sent = maybe_sent(*call);
    owner_.call_ended(*call, sent ? reply_of(WireEnd::kReset, "the connection was lost")
                                  : reply_of(WireEnd::kRefused));
  }
  stream_->close();
  // Before it was ready nothing but a greeting was sent.
  const bool greeted = reached_;
  const WireEnd told = end == WireEnd::kReset && !greeted ? WireEnd::kRefused : end;
  owner_.connection_ended(*this, told, greeted);
}

Timestamp GrpcConnection::due() const {
  return std::min({stream_->due(), greeting_due_, ping_due_});
}

void GrpcConnection::time_out(Timestamp now) {
  if (stream_->due() <= now) {
    stream_->time_out(now);
    if (state_ != State::kClosed) owner_.note_due(due());
    return;
  }
  if (std::min(greeting_due_, ping_due_) <= now) end(WireEnd::kReset);
}

void GrpcConnection::close() {
  if (state_ == State::kClosed) return;
  if (session_ != nullptr) {
    nghttp2_session_terminate_session(session_.get(), NGHTTP2_NO_ERROR);
    streams_.clear();
    pump();
  }
  state_ = State::kClosed;
  stream_->close();
}

}  // namespace postrider
