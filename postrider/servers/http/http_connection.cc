#include "postrider/servers/http/http_connection.h"

#include <algorithm>
#include <sys/epoll.h>
#include <utility>

#include "postrider/servers/http/http_answer.h"
#include "postrider/servers/http/http_exchange.h"

namespace postrider {
namespace {

// How long a client that was refused may take to read why.
constexpr Duration kLingerTimeOut{2'000};
// A long answer goes on when no more than this is unsent.
constexpr std::size_t kRoomBytes = 65'536;

}  // namespace

HttpConnection::HttpConnection(HttpHub& hub, int fd, const HttpPeer& peer)
    : hub_(hub), socket_(fd), peer_(peer), since_(hub.now()), write_since_(hub.now()) {}

// Not earlier: a handler that looks at its request may be what cut the connection.
HttpConnection::~HttpConnection() {
  for (std::string* buffer : {&in_, &head_, &body_, &out_}) hub_.give_buffer(*buffer);
}

bool HttpConnection::start(const TlsIdentity* tls) {
  if (tls != nullptr && !socket_.start_tls(*tls)) return false;
  watched_ = EPOLLIN | EPOLLRDHUP;
  hub_.watch(socket_.fd(), *this, watched_);
  hub_.expire_at(index, due());
  return true;
}

void HttpConnection::turn_away() { refuse({503, "there are too many connections"}); }

// ---- Reading

void HttpConnection::on_ready(std::uint32_t events) {
  if (closed_) return;
  if ((events & EPOLLERR) != 0 || (events & (EPOLLHUP | EPOLLIN)) == EPOLLHUP) {
    cut();
    return;
  }
  if ((events & EPOLLRDHUP) != 0) parted_ = true;
  if ((events & EPOLLOUT) != 0) blocked_ = false;
  if ((events & EPOLLIN) != 0 || socket_.wants_to_write()) receive();
  if (!closed_) hub_.mark(*this);
}

void HttpConnection::receive() {
  const std::span<char> scratch = hub_.scratch();
  const IoCount count = socket_.read(scratch);
  switch (count.state) {
    case IoState::kDone:
      if (!lingering_) take(scratch.first(count.bytes));
      return;
    case IoState::kWouldBlock: return;
    case IoState::kClosed: on_end_of_input(); return;
    case IoState::kFailed: cut(); return;
  }
}

void HttpConnection::take(std::span<char> bytes) {
  if (in_.empty()) {
    if (!reader_.in_body()) since_ = hub_.now();
    consume(bytes);
    return;
  }
  in_.append(bytes.data(), bytes.size());
  consume(in_);
}

// What is not understood yet is kept, and only that; nothing when no further request is read.
void HttpConnection::keep(std::span<char> rest) {
  if (rest.empty() || (stopped_ && receiving_ == nullptr)) {
    hub_.give_buffer(in_);
  } else if (rest.data() >= in_.data() && rest.data() <= in_.data() + in_.size()) {
    in_.erase(0, in_.size() - rest.size());
  } else {
    in_ = hub_.take_buffer();
    in_.assign(rest.data(), rest.size());
  }
  account();
}

void HttpConnection::consume(std::span<char> input) {
  std::string_view piece;
  bool more = true;
  while (more && !closed_ && can_take()) {
    const char* begin = input.data();
    switch (reader_.next(input, hub_.reader_limits(), hub_.request(), piece)) {
      case HttpReader::Found::kMore: more = false; break;
      case HttpReader::Found::kHead: on_head(input, begin); break;
      case HttpReader::Found::kPiece: on_piece(piece, false); break;
      case HttpReader::Found::kLast: on_piece(piece, true); break;
      case HttpReader::Found::kRefused: refuse(reader_.refusal()); break;
    }
  }
  if (closed_) return;
  keep(input);
  // The beginnings of heads are all that a client may leave here unasked.
  if (in_.empty() || !can_take() || reader_.in_body() || !hub_.pressed()) return;
  hub_.give_buffer(in_);
  account();
  refuse(kNoRoom);
}

// A client that does not read its answers is asked for no further request: what it may make us hold
// with small questions is little.
bool HttpConnection::can_take() const {
  if (closing_ || unsent() >= hub_.limits().unsent_bytes_max) return false;
  if (receiving_ != nullptr) return !paused_;
  return !stopped_ && unsent() <= kRoomBytes && slot_count_ < hub_.limits().pipelined_max;
}

void HttpConnection::on_head(std::span<char>& input, const char* head_begin) {
  const HttpFraming framing = reader_.framing();
  HttpRequest& request = hub_.request();
  request.peer = peer_.text;
  request.local = peer_.local;
  request.length = framing.length;
  since_ = hub_.now();
  const bool owes = slot_count_ > 0 || unsent() > 0;
  HttpSlot& slot = push_slot(framing, request.method);
  auto exchange = std::make_shared<HttpSlotExchange>(slot);
  if (owes && hub_.pressed()) {
    receiving_ = &slot;  // whether it has a body or not: this is the last
    refuse(kNoRoom);
    return;
  }
  if (framing.body != HttpBodyKind::kNone) {
    slot.owes_continue = framing.expects_continue && input.empty();
    if (!on_body(slot, exchange, reader_.has_whole_body(input))) return;
  }
  collect(input, head_begin, std::move(exchange));
}

// A body follows. True: it is to be collected.
bool HttpConnection::on_body(HttpSlot& slot, const HttpExchangePtr& exchange, bool here) {
  const HttpFraming framing = reader_.framing();
  HttpRequest& request = hub_.request();
  receiving_ = &slot;
  paused_ = false;
  if (hub_.handler().stream) {
    request.body_waits = !here;
    HttpBodySink sink = hub_.handler().stream(request, exchange);
    request.body_waits = false;
    // It may have answered already; then the rest of the body is not wanted.
    if (exchange->gone() || receiving_ == nullptr) return false;
    if (sink) {
      sink_ = std::move(sink);
      offer_continue(slot);
      return false;
    }
  }
  body_bytes_max_ = hub_.limits().body_bytes_max;
  const bool known = framing.body == HttpBodyKind::kLength;
  if (hub_.handler().body_bytes_max && (!known || framing.length > body_bytes_max_))
    body_bytes_max_ = std::max(body_bytes_max_, hub_.handler().body_bytes_max(request));
  if (known && framing.length > body_bytes_max_) {
    refuse({413, "the body is too large"});
    return false;
  }
  // The whole of it counts before its first byte is read, so that a body that was begun is not
  // refused in the middle for others that began later.
  if (!hub_.has_room(framing.length)) {
    refuse(kNoRoom);
    return false;
  }
  keep_for(slot, framing.length);
  return true;
}

// Most requests lie in the buffer as a whole and are handed on where they are. Otherwise the head
// is copied, and read a second time when the body is complete.
void HttpConnection::collect(std::span<char>& input, const char* head_begin,
                             HttpExchangePtr exchange) {
  const char* head_end = input.data();
  if (reader_.take_whole_body(input, hub_.request().body)) {
    receiving_ = nullptr;
    hub_.handler().handle(hub_.request(), std::move(exchange));
    return;
  }
  head_ = hub_.take_buffer();
  head_.assign(head_begin, head_end);
  body_ = hub_.take_buffer();
  body_.reserve(static_cast<std::size_t>(reader_.framing().length));
  collecting_ = std::move(exchange);
  collecting_since_ = hub_.now();
  offer_continue(*receiving_);
}

void HttpConnection::on_piece(std::string_view piece, bool last) {
  since_ = hub_.now();
  if (sink_) {
    feed_sink(piece, last);
    return;
  }
  if (piece.size() > body_bytes_max_ - body_.size()) {
    refuse({413, "the body is too large"});
    return;
  }
  const std::size_t size = body_.size() + piece.size();
  if (size > receiving_->kept) {  // in chunks: it counts as it comes
    if (!hub_.has_room(piece.size())) {
      refuse(kNoRoom);
      return;
    }
    keep_for(*receiving_, size);
  }
  body_.append(piece);
  if (last) hand_over_collected();
}

// The sink may answer, and by that end itself: it is not a member while it runs.
void HttpConnection::feed_sink(std::string_view piece, bool last) {
  HttpBodySink sink = std::exchange(sink_, {});
  if (last) receiving_ = nullptr;
  sink(piece, last);
  if (!closed_ && receiving_ != nullptr) sink_ = std::move(sink);
}

void HttpConnection::hand_over_collected() {
  receiving_ = nullptr;
  std::string head = std::exchange(head_, {});
  account();
  std::string body = std::exchange(body_, {});
  HttpRequest& request = hub_.request();
  HttpFraming framing;
  // It was fine before; nothing but its place has changed.
  static_cast<void>(
      parse_http_head(head, hub_.limits().headers_max, request, framing, hub_.handler().forwards));
  request.body = body;
  request.length = body.size();
  request.peer = peer_.text;
  request.local = peer_.local;
  hub_.handler().handle(request, std::exchange(collecting_, {}));
  hub_.give_buffer(head);
  hub_.give_buffer(body);
}

// A client that has said all may still wait for answers, but nobody reads on for ever with its own
// side closed. A long answer that goes by the client's pace has an end.
void HttpConnection::on_end_of_input() {
  end_of_input_ = parted_ = true;
  bool long_answer = false;
  for (const HttpSlot* slot = first_; slot != nullptr; slot = slot->next) {
    long_answer = long_answer || (slot->stage == HttpSlot::Stage::kBegun && !slot->paced);
  }
  if (receiving_ != nullptr || lingering_ || long_answer) cut();
}

void HttpConnection::refuse(HttpRefusal refusal) {
  HttpSlot* slot = receiving_;
  if (slot != nullptr && slot->stage != HttpSlot::Stage::kWaiting) {
    cut();  // an answer is under way: too late for another
    return;
  }
  stopped_ = true;
  linger_ = true;
  if (slot == nullptr) {
    slot = &push_slot({}, {});
  } else {
    detach(*slot);
    receiving_ = nullptr;
    sink_ = {};
    collecting_.reset();
    hub_.give_buffer(head_);
    hub_.give_buffer(body_);
  }
  slot->asks = false;
  answer(*slot, hub_.refusal(refusal.status, refusal.detail));
}

// ---- Life

// Called when something may have changed: writes, goes on with what was received, closes, waits.
void HttpConnection::settle() {
  marked = false;
  if (closed_) return;
  if (!blocked_) flush();
  if (!closed_ && !in_.empty() && can_take()) consume(in_);
  if (!closed_ && first_ != nullptr && first_->room && unsent() <= kRoomBytes)
    hub_.offer_room_to(*this);
  if (!closed_) close_when_done();
  if (closed_) return;
  watch();
}

bool HttpConnection::idle() const { return first_ == nullptr && in_.empty() && unsent() == 0; }

void HttpConnection::close_when_done() {
  if (marked || lingering_ || unsent() > 0) return;
  if (closing_ && linger_ && !end_of_input_) {
    lingering_ = true;
    since_ = hub_.now();
    hub_.give_buffer(in_);
    account();
    socket_.end_writing();
    return;
  }
  const bool all_said = first_ == nullptr && (end_of_input_ || (hub_.draining() && in_.empty()));
  if (closing_ || all_said) cut();
}

void HttpConnection::watch() {
  std::uint32_t events = 0;
  if (!end_of_input_ && (lingering_ || can_take())) events |= EPOLLIN;
  // Seen even where nothing is read, because a handler may wait for long on behalf of the client.
  if (!parted_) events |= EPOLLRDHUP;
  if ((unsent() > 0 && blocked_) || socket_.wants_to_write()) events |= EPOLLOUT;
  if (events != watched_) {
    // The client could not go on before; its time starts now.
    if ((events & ~watched_ & EPOLLIN) != 0 && !lingering_) since_ = hub_.now();
    watched_ = events;
    hub_.change(socket_.fd(), *this, events);
  }
  hub_.expire_at(index, due());
}

// Waiting for the handler has no end of ours.
Timestamp HttpConnection::due() const {
  const HttpLimits& limits = hub_.limits();
  if (lingering_) return since_ + kLingerTimeOut;
  if (socket_.in_handshake()) return since_ + limits.head_time_out;
  Timestamp due = Timestamp::never();
  if (unsent() > 0) due = write_since_ + limits.body_time_out;
  if (!can_take() || end_of_input_) return due;
  if (receiving_ != nullptr) {
    due = std::min(due, since_ + limits.body_time_out);
    return sink_ ? due : std::min(due, collecting_since_ + limits.whole_body_time_out);
  }
  if (!in_.empty()) return std::min(due, since_ + limits.head_time_out);
  return idle() ? since_ + limits.idle_time_out : due;
}

void HttpConnection::expire() {
  const Timestamp now = hub_.now();
  const HttpLimits& limits = hub_.limits();
  if (due() > now) {
    hub_.expire_at(index, due());
    return;
  }
  const bool stuck = unsent() > 0 && write_since_ + limits.body_time_out <= now;
  if (stuck || lingering_ || socket_.in_handshake() || idle()) {
    cut();
  } else {
    refuse({408, receiving_ != nullptr ? "the body did not come in time"
                                       : "the headers did not come in time"});
  }
}

void HttpConnection::drain() {
  if (idle() && !lingering_) cut();
}

void HttpConnection::cut() {
  if (closed_) return;
  closed_ = true;
  drop_slots();
  account();
  socket_.close();
  hub_.remove(*this);
}

}  // namespace postrider
