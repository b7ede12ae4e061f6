#include "postrider/transports/http/http_streams.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <boost/asio/io_context.hpp>

#include "postrider/base/check.h"
#include "postrider/transports/http/reply_reader.h"
#include "postrider/transports/net/byte_stream.h"
#include "postrider/transports/net/origin_host.h"
#include "postrider/transports/net/own_calls.h"
#include "postrider/transports/net/resolver.h"
#include "postrider/transports/net/target.h"
#include "postrider/transports/net/wire_options.h"

namespace postrider {
namespace {

namespace asio = boost::asio;

constexpr int kProtocolSwitched = 101;

void append_chunk_size(std::string& out, std::size_t size) {
  std::array<char, 20> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), size, 16).ptr;
  out.append(digits.data(), end).append("\r\n");
}

WireEnd wire_end_of(StreamEnd end) {
  switch (end) {
    case StreamEnd::kRefused: return WireEnd::kRefused;
    case StreamEnd::kHeldBack: return WireEnd::kHeldBack;
    case StreamEnd::kNoTls: return WireEnd::kNoTls;
    case StreamEnd::kLost: return WireEnd::kReset;
  }
  POSTRIDER_CHECK(false);
}

}  // namespace

class HttpStreams::Impl {
 public:
  Impl(asio::io_context& loop, HttpTransportOptions options, const HttpStreamLimits& limits,
       Ended ended, Reach reach)
      : loop_(loop),
        options_(std::move(options)),
        limits_(limits),
        settings_{.connect_time_out = options_.connect_time_out,
                  .tls_time_out = options_.tls_time_out,
                  .protocol = TlsProtocol::kHttp1,
                  .descriptors_max = options_.descriptors_max},
        reply_limits_{.head_bytes_max = options_.reply_head_bytes_max,
                      .body_bytes_max = options_.reply_bytes_max,
                      .excerpt_bytes_max = options_.excerpt_bytes_max,
                      .interim_max = options_.interim_replies_max},
        ended_(std::move(ended)),
        guard_(std::move(reach.guard)),
        hosts_(std::move(reach.usual)),
        own_(
            loop, [this] { sweep(); }, [this] { flush(); }) {
    if (!options_.now) options_.now = steady_now;
  }
  Result<void> open();

  void prepare(AttemptId attempt, StreamForm form, StreamUser& user);
  void start(AttemptId attempt, WireRequest request);
  void abort(AttemptId attempt);
  void sweep();
  void close();

  class Stream;
  Stream* find(std::uint64_t attempt) const;
  std::size_t size() const { return streams_.size(); }

 private:
  void begin(Stream& stream, WireRequest request);
  void resolved(Stream& stream, const Addresses& addresses);
  // It ended before the head of the answer; told now, or, from inside start(), soon.
  void fail_now(Stream& stream, WireEnd end);
  void fail_soon(Stream& stream, WireEnd end);
  void forget(Stream& stream);  // it is freed when nothing of it runs any more
  void flush();
  Timestamp now() const { return options_.now(); }

  struct Told {
    AttemptId attempt;
    WireEnd end;
  };

  asio::io_context& loop_;
  HttpTransportOptions options_;
  HttpStreamLimits limits_;
  ByteStreamSettings settings_;
  ReplyLimits reply_limits_;
  Ended ended_;
  AddressGuard guard_;
  OriginHosts hosts_;
  std::unique_ptr<Resolver> resolver_;
  OwnCalls own_;
  bool closed_ = false;
  std::unordered_map<std::uint64_t, std::unique_ptr<Stream>> streams_;
  std::vector<std::unique_ptr<Stream>> graveyard_;
  std::vector<Told> told_;
};

// One exchange, from prepare() to its end or the end of its answer.
class HttpStreams::Impl::Stream final : public ByteStreamUser, public ReplySink {
 public:
  enum class State : std::uint8_t { kPrepared, kConnecting, kAsking, kAnswering, kOver };

  Stream(Impl& owner, AttemptId number, StreamForm body_form, StreamUser& its_user)
      : attempt(number), form(body_form), user(its_user), owner_(owner) {}

  void begin(WireRequest request) {
    request_ = std::move(request);
    const Duration given = request_.time_out;
    const Duration most = owner_.options_.exchange_time_out_max;
    due_ = owner_.now() + (given.count() > 0 ? std::min(given, most) : most);
    state = State::kConnecting;
  }
  void connect(Addresses addresses) {
    bytes_ = std::make_unique<ByteStream>(owner_.loop_, owner_.settings_, *this);
    bytes_->connect(host, std::move(addresses), owner_.now());
  }

  void write(std::string_view bytes, bool last) {
    if (state != State::kAsking && state != State::kAnswering) return;
    moved_ = owner_.now();
    if (form.body != StreamBody::kChunked) return bytes_->write(bytes);
    std::string chunk;
    if (!bytes.empty()) {
      append_chunk_size(chunk, bytes.size());
      chunk.append(bytes).append("\r\n");
    }
    if (last) chunk.append("0\r\n\r\n");
    bytes_->write(chunk);
  }
  std::size_t unsent() const { return bytes_ == nullptr ? 0 : bytes_->unsent() + in_.size(); }
  void pause() {
    paused_ = true;
    if (bytes_ != nullptr) bytes_->pause();
  }
  void resume() {
    paused_ = false;
    moved_ = owner_.now();
    if (bytes_ != nullptr) bytes_->resume();
  }
  void cut() {
    state = State::kOver;
    if (bytes_ != nullptr) bytes_->close();
  }
  // Ready to be started once more.
  void rewind() {
    state = State::kPrepared;
    if (bytes_ != nullptr) {
      bytes_->close();
      dead_.push_back(std::move(bytes_));
    }
    in_.clear();
    host.reset();
  }

  // The next moment at which something is too late; what to do then.
  Timestamp due() const {
    switch (state) {
      case State::kPrepared:
      case State::kOver: return Timestamp::never();
      case State::kConnecting: return bytes_ == nullptr ? due_ : std::min(due_, bytes_->due());
      case State::kAsking: return due_;
      case State::kAnswering: break;
    }
    const Timestamp whole = answered_ + owner_.limits_.whole_max;
    return paused_ ? whole : std::min(whole, moved_ + owner_.limits_.silence_max);
  }
  void expire(Timestamp now) {
    if (state == State::kAnswering) return finish(false);
    if (due_ > now) return bytes_->time_out(now);  // of one address: the next one may answer
    const bool sent = state == State::kAsking;
    owner_.fail_now(*this, sent ? WireEnd::kTimedOut : unreached());
  }

  // ByteStreamUser
  void stream_opened() override {
    state = State::kAsking;
    moved_ = owner_.now();
    reader_ = std::make_unique<ReplyReader>(owner_.reply_limits_);
    reader_->begin(request_.verb == "HEAD", *this);
    bytes_->write(head());
    user.stream_ready();
  }
  void stream_took(std::string_view bytes) override {
    moved_ = owner_.now();
    in_.append(bytes);
    std::size_t taken = 0;
    const ReplyProgress progress =
        reader_->feed(in_, in_.size() >= owner_.reply_limits_.head_bytes_max, taken);
    if (state == State::kOver || state == State::kPrepared) return;
    in_.erase(0, taken);
    switch (progress) {
      case ReplyProgress::kMore: return;
      case ReplyProgress::kWhole: return finish(true);
      case ReplyProgress::kEnough:
      case ReplyProgress::kBroken: break;
    }
    if (state == State::kAnswering) return finish(false);
    owner_.fail_now(*this, WireEnd::kReset);
  }
  void stream_drained() override { user.stream_has_room(); }
  void stream_ended(StreamEnd end) override {
    if (state == State::kConnecting) return owner_.fail_now(*this, wire_end_of(end));
    if (state == State::kAsking) return owner_.fail_now(*this, WireEnd::kReset);
    if (state != State::kAnswering) return;
    finish(bytes_->ended_in_order() && reader_->finish() == ReplyProgress::kWhole);
  }

  // ReplySink
  void reply_head(const WireReply& head) override {
    if (state != State::kAsking) return;
    // Nobody asked for another protocol.
    if (head.status == kProtocolSwitched) return owner_.fail_now(*this, WireEnd::kReset);
    state = State::kAnswering;
    answered_ = owner_.now();
    WireReply told = head;
    told.end = WireEnd::kAnswered;
    owner_.ended_(attempt, std::move(told));
  }
  void reply_piece(std::string_view bytes) override {
    if (state == State::kAnswering && !bytes.empty()) user.stream_piece(bytes);
  }

  const AttemptId attempt;
  const StreamForm form;
  StreamUser& user;
  State state = State::kPrepared;
  std::shared_ptr<OriginHost> host;  // from begin() on

 private:
  WireEnd unreached() const { return bytes_ == nullptr ? WireEnd::kNoName : WireEnd::kRefused; }
  void finish(bool whole) {
    cut();
    StreamUser& told = user;
    owner_.forget(*this);
    told.stream_over(whole);
  }
  std::string head() const {
    const auto path = path_of(request_.target, origin_of(request_.target));
    std::string out = request_.verb + " ";
    if (path->needs_slash) out.push_back('/');
    out.append(path->path).append(" HTTP/1.1\r\nhost: ").append(host->authority);
    out.append("\r\n").append(request_.headers.text()).append("connection: close\r\n");
    if (form.body == StreamBody::kChunked) out.append("transfer-encoding: chunked\r\n");
    if (form.body == StreamBody::kLength)
      out.append("content-length: ").append(std::to_string(form.length)).append("\r\n");
    return out.append("\r\n");
  }

  Impl& owner_;
  WireRequest request_;
  Timestamp due_;  // of the head of the answer
  Timestamp answered_;
  Timestamp moved_;
  bool paused_ = false;
  std::unique_ptr<ByteStream> bytes_;
  std::vector<std::unique_ptr<ByteStream>> dead_;  // of former starts; one of them may be calling
  std::unique_ptr<ReplyReader> reader_;
  std::string in_;  // what the reader has not taken
};

Result<void> HttpStreams::Impl::open() {
  auto resolver = Resolver::make(
      loop_, resolver_options(options_), options_.now,
      [this](Resolver::Token attempt, const Addresses& addresses) {
        Stream* const stream = find(attempt);
        const bool waits = stream != nullptr && stream->state == Stream::State::kConnecting;
        if (waits && stream->host != nullptr) resolved(*stream, addresses);
      },
      [this] { flush(); });
  if (!resolver) return tl::unexpected(resolver.error());
  resolver_ = std::move(*resolver);
  return {};
}

HttpStreams::Impl::Stream* HttpStreams::Impl::find(std::uint64_t attempt) const {
  const auto found = streams_.find(attempt);
  return found == streams_.end() ? nullptr : found->second.get();
}

void HttpStreams::Impl::prepare(AttemptId attempt, StreamForm form, StreamUser& user) {
  const bool fresh =
      streams_.try_emplace(attempt.value(), std::make_unique<Stream>(*this, attempt, form, user))
          .second;
  POSTRIDER_CHECK(fresh);  // a number is used once
}

void HttpStreams::Impl::start(AttemptId attempt, WireRequest request) {
  if (closed_) return;
  Stream* const stream = find(attempt.value());
  POSTRIDER_CHECK(stream != nullptr);
  begin(*stream, std::move(request));
}

void HttpStreams::Impl::begin(Stream& stream, WireRequest request) {
  const std::string_view origin = origin_of(request.target);
  const bool readable = !origin.empty() && path_of(request.target, origin).has_value();
  auto host = std::make_shared<OriginHost>();
  if (readable) hosts_.fill(*host, origin, request.trust, request.via);
  stream.begin(std::move(request));
  own_.note_due(now(), stream.due());
  if (streams_.size() > limits_.streams_max) return fail_soon(stream, WireEnd::kHeldBack);
  if (!readable || host->kind == HostKind::kNonsense) return fail_soon(stream, WireEnd::kNoName);
  if (!host->trusted) return fail_soon(stream, WireEnd::kNoTls);
  stream.host = host;
  if (host->kind == HostKind::kAddress) return resolved(stream, {host->address});
  const Resolver::Found found = resolver_->ask(host->name, stream.attempt.value());
  own_.note_due(now(), now() + OwnCalls::kFine);
  if (found.how == Resolver::Found::How::kHeldBack) return fail_soon(stream, WireEnd::kHeldBack);
  if (found.how == Resolver::Found::How::kKnown) resolved(stream, *found.addresses);
}

// Maybe inside of start(), so what cannot be reached is told later.
void HttpStreams::Impl::resolved(Stream& stream, const Addresses& addresses) {
  if (addresses.empty()) return fail_soon(stream, WireEnd::kNoName);
  Addresses allowed = permitted(guard_, addresses, stream.host->prefers_v4);
  if (allowed.empty()) return fail_soon(stream, WireEnd::kForbidden);
  stream.connect(std::move(allowed));
  own_.note_due(now(), stream.due());
}

void HttpStreams::Impl::fail_soon(Stream& stream, WireEnd end) {
  stream.rewind();
  told_.push_back({stream.attempt, end});
  own_.flush_soon();
}

void HttpStreams::Impl::fail_now(Stream& stream, WireEnd end) {
  const AttemptId attempt = stream.attempt;
  stream.rewind();
  WireReply reply;
  reply.end = end;
  ended_(attempt, std::move(reply));
}

void HttpStreams::Impl::forget(Stream& stream) {
  auto found = streams_.extract(stream.attempt.value());
  if (found.empty()) return;
  graveyard_.push_back(std::move(found.mapped()));
  own_.flush_soon();
}

void HttpStreams::Impl::flush() {
  for (const Told& told : std::exchange(told_, {})) {
    if (closed_) return;
    const Stream* const stream = find(told.attempt.value());
    if (stream == nullptr || stream->state != Stream::State::kPrepared) continue;
    WireReply reply;
    reply.end = told.end;
    ended_(told.attempt, std::move(reply));
  }
  graveyard_.clear();
}

void HttpStreams::Impl::abort(AttemptId attempt) {
  Stream* const stream = find(attempt.value());
  if (stream == nullptr) return;
  stream->cut();
  forget(*stream);
}

void HttpStreams::Impl::sweep() {
  if (closed_) return;
  resolver_->sweep();
  if (closed_) return;
  const Timestamp when = now();
  std::vector<std::uint64_t> late;
  Timestamp next = Timestamp::never();
  for (const auto& [attempt, stream] : streams_) {
    const Timestamp due = stream->due();
    if (due <= when) late.push_back(attempt);
  }
  for (const std::uint64_t attempt : late) {
    Stream* const stream = find(attempt);
    if (stream != nullptr && stream->due() <= when) stream->expire(when);
    if (closed_) return;
  }
  for (const auto& [attempt, stream] : streams_) next = std::min(next, stream->due());
  if (!streams_.empty() || resolver_->busy()) own_.sweep_again(when, next, resolver_->busy());
}

void HttpStreams::Impl::close() {
  if (closed_) return;
  closed_ = true;
  own_.cancel();
  resolver_->close();
  for (const auto& [attempt, stream] : streams_) stream->cut();
}

HttpStreams::HttpStreams(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
HttpStreams::~HttpStreams() { close(); }

Result<std::unique_ptr<HttpStreams>> HttpStreams::make(asio::io_context& loop,
                                                       HttpTransportOptions options,
                                                       HttpStreamLimits limits, Ended ended) {
  if (const auto good = check_connecting(options); !good) return tl::unexpected(good.error());
  if (const auto good = check_counts({{limits.streams_max, "streams_max"}}); !good)
    return tl::unexpected(good.error());
  POSTRIDER_TRY(reach, make_reach(options.allow, options.trust_file));
  auto impl =
      std::make_unique<Impl>(loop, std::move(options), limits, std::move(ended), std::move(reach));
  if (const auto opened = impl->open(); !opened) return tl::unexpected(opened.error());
  return std::unique_ptr<HttpStreams>(new HttpStreams(std::move(impl)));
}

void HttpStreams::prepare(AttemptId attempt, StreamForm form, StreamUser& user) {
  impl_->prepare(attempt, form, user);
}
bool HttpStreams::is_prepared(AttemptId attempt) const {
  return impl_->find(attempt.value()) != nullptr;
}
void HttpStreams::start(AttemptId attempt, WireRequest request) {
  impl_->start(attempt, std::move(request));
}
void HttpStreams::abort(AttemptId attempt) { impl_->abort(attempt); }
std::size_t HttpStreams::connections() const { return impl_->size(); }
void HttpStreams::write(AttemptId attempt, std::string_view bytes, bool last) {
  if (auto* stream = impl_->find(attempt.value())) stream->write(bytes, last);
}
std::size_t HttpStreams::unsent(AttemptId attempt) const {
  const auto* stream = impl_->find(attempt.value());
  return stream == nullptr ? 0 : stream->unsent();
}
void HttpStreams::pause(AttemptId attempt) {
  if (auto* stream = impl_->find(attempt.value())) stream->pause();
}
void HttpStreams::resume(AttemptId attempt) {
  if (auto* stream = impl_->find(attempt.value())) stream->resume();
}
void HttpStreams::sweep() { impl_->sweep(); }
void HttpStreams::close() { impl_->close(); }

}  // namespace postrider
