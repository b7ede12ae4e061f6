#include "postrider/api/http_connection.h"

#include <algorithm>
#include <sys/epoll.h>
#include <utility>

#include "postrider/api/http_answer.h"

namespace postrider {
namespace {

// How long a client that was refused may take to read why.
constexpr Duration kLingerTimeOut{2'000};

}  // namespace

// What the handler holds of a slot. It may outlive connection and server.
class HttpSlotExchange final : public HttpExchange {
 public:
  explicit HttpSlotExchange(HttpSlot& slot) : slot_(&slot) { slot.exchange = this; }
  ~HttpSlotExchange() override {
    if (slot_ == nullptr) return;
    slot_->exchange = nullptr;
    slot_->connection->dropped(*slot_);
  }
  HttpSlotExchange(const HttpSlotExchange&) = delete;
  HttpSlotExchange& operator=(const HttpSlotExchange&) = delete;

  void respond(HttpResponse response) override {
    if (slot_ != nullptr) slot_->connection->respond(*slot_, response);
  }
  void begin(HttpResponse head) override {
    if (slot_ != nullptr) slot_->connection->begin(*slot_, head);
  }
  bool write(std::string_view piece) override {
    return slot_ != nullptr && slot_->connection->write(*slot_, piece);
  }
  void end() override {
    if (slot_ != nullptr) slot_->connection->end(*slot_);
  }
  bool gone() const override { return slot_ == nullptr; }
  std::size_t unsent() const override {
    return slot_ == nullptr ? 0 : slot_->connection->unsent(*slot_);
  }
  void pause() override {
    if (slot_ != nullptr) slot_->connection->pause(*slot_);
  }
  void resume() override {
    if (slot_ != nullptr) slot_->connection->resume(*slot_);
  }

  void forget() { slot_ = nullptr; }

 private:
  HttpSlot* slot_;
};

HttpConnection::HttpConnection(HttpHub& hub, int fd, const HttpPeer& peer)
    : hub_(hub), socket_(fd), peer_(peer), since_(hub.now()), write_since_(hub.now()) {}

HttpConnection::~HttpConnection() {
  for (std::string* buffer : {&in_, &head_, &body_, &out_}) hub_.give_buffer(*buffer);
}

bool HttpConnection::start(const TlsIdentity* tls) {
  if (tls != nullptr && !socket_.start_tls(*tls)) return false;
  watched_ = EPOLLIN;
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

// What is not understood yet is kept, and only that.
void HttpConnection::keep(std::span<char> rest) {
  if (rest.empty()) {
    hub_.give_buffer(in_);
  } else if (rest.data() >= in_.data() && rest.data() <= in_.data() + in_.size()) {
    in_.erase(0, in_.size() - rest.size());
  } else {
    in_ = hub_.take_buffer();
    in_.assign(rest.data(), rest.size());
  }
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
  if (!closed_) keep(input);
}

bool HttpConnection::can_take() const {
  if (stopped_ && receiving_ == nullptr) return false;
  if (closing_ || unsent() >= hub_.limits().unsent_bytes_max) return false;
  return receiving_ != nullptr ? !paused_ : slot_count_ < hub_.limits().pipelined_max;
}

void HttpConnection::on_head(std::span<char>& input, const char* head_begin) {
  const HttpFraming framing = reader_.framing();
  HttpRequest& request = hub_.request();
  request.peer = peer_.text;
  request.local = peer_.local;
  since_ = hub_.now();
  HttpSlot& slot = push_slot(framing, request.method == "HEAD");
  auto exchange = std::make_shared<HttpSlotExchange>(slot);
  if (framing.body != HttpBodyKind::kNone) {
    receiving_ = &slot;
    paused_ = false;
    slot.owes_continue = framing.expects_continue && input.empty();
    if (hub_.handler().stream) {
      HttpBodySink sink = hub_.handler().stream(request, exchange);
      // It may have answered already; then the rest of the body is not wanted.
      if (exchange->gone() || receiving_ == nullptr) return;
      if (sink) {
        sink_ = std::move(sink);
        offer_continue(slot);
        return;
      }
    }
    if (framing.body == HttpBodyKind::kLength && framing.length > hub_.limits().body_bytes_max) {
      refuse({413, "the body is too large"});
      return;
    }
  }
  collect(input, head_begin, std::move(exchange));
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
  if (piece.size() > hub_.limits().body_bytes_max - body_.size()) {
    refuse({413, "the body is too large"});
    return;
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
  std::string body = std::exchange(body_, {});
  HttpRequest& request = hub_.request();
  HttpFraming framing;
  // It was fine before; nothing but its place has changed.
  static_cast<void>(parse_http_head(head, hub_.limits().headers_max, request, framing));
  request.body = body;
  request.peer = peer_.text;
  request.local = peer_.local;
  hub_.handler().handle(request, std::exchange(collecting_, {}));
  hub_.give_buffer(head);
  hub_.give_buffer(body);
}

// A client that has said all may still wait for answers, but nobody reads on for ever with its own
// side closed.
void HttpConnection::on_end_of_input() {
  end_of_input_ = true;
  bool long_answer = false;
  for (const HttpSlot* slot = first_; slot != nullptr; slot = slot->next) {
    long_answer = long_answer || slot->stage == HttpSlot::Stage::kBegun;
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
    slot = &push_slot({}, false);
  } else {
    detach(*slot);
    receiving_ = nullptr;
    sink_ = {};
    collecting_.reset();
  }
  answer(*slot, hub_.refusal(refusal.status, refusal.detail));
}

// ---- Writing

HttpSlot& HttpConnection::push_slot(const HttpFraming& framing, bool head_only) {
  HttpSlot* slot = hub_.take_slot();
  slot->connection = this;
  slot->head_only = head_only;
  slot->old_version = framing.old_version;
  slot->close = !framing.keep_alive;
  if (slot->close) stopped_ = true;
  (first_ == nullptr ? first_ : last_->next) = slot;
  last_ = slot;
  ++slot_count_;
  return *slot;
}

std::string& HttpConnection::output_of(HttpSlot& slot) {
  std::string& output = &slot == first_ ? out_ : slot.held;
  if (output.empty()) output = hub_.take_buffer();
  return output;
}

void HttpConnection::offer_continue(HttpSlot& slot) {
  if (!slot.owes_continue) return;
  slot.owes_continue = false;
  output_of(slot) += kHttpContinue;
  hub_.mark(*this);
}

// An answer before the end of the body: what follows cannot be told from a request, so it is the
// last.
void HttpConnection::prepare_answer(HttpSlot& slot, const HttpResponse& response) {
  slot.owes_continue = false;
  if (response.close) slot.close = true;
  if (hub_.draining() && &slot == last_) slot.close = true;
  if (slot.close) stopped_ = true;
}

void HttpConnection::answer(HttpSlot& slot, const HttpResponse& response) {
  if (receiving_ == &slot) slot.close = linger_ = true;
  prepare_answer(slot, response);
  if (unsent() == 0) write_since_ = hub_.now();
  append_http_answer(output_of(slot), response,
                     {.body = HttpAnswerBody::kWhole,
                      .head_only = slot.head_only,
                      .close = slot.close,
                      .say_keep_alive = slot.old_version,
                      .date_line = hub_.date_line()});
  finish(slot);
}

void HttpConnection::respond(HttpSlot& slot, const HttpResponse& response) {
  if (slot.stage == HttpSlot::Stage::kWaiting) answer(slot, response);
}

void HttpConnection::begin(HttpSlot& slot, const HttpResponse& head) {
  if (slot.stage != HttpSlot::Stage::kWaiting) return;
  slot.stage = HttpSlot::Stage::kBegun;
  slot.mute = slot.head_only || has_no_body(head.status);
  slot.chunked = !slot.old_version;
  if (slot.old_version && !slot.mute) slot.close = true;
  prepare_answer(slot, head);
  if (unsent() == 0) write_since_ = hub_.now();
  append_http_answer(output_of(slot), head,
                     {.body = slot.chunked ? HttpAnswerBody::kChunked : HttpAnswerBody::kUntilClose,
                      .head_only = slot.head_only,
                      .close = slot.close,
                      .say_keep_alive = slot.old_version,
                      .date_line = hub_.date_line()});
  hub_.mark(*this);
}

bool HttpConnection::write(HttpSlot& slot, std::string_view piece) {
  if (slot.stage != HttpSlot::Stage::kBegun) return false;
  if (slot.mute || piece.empty()) return true;
  if (unsent() == 0) write_since_ = hub_.now();
  std::string& output = output_of(slot);
  if (slot.chunked) {
    append_http_chunk(output, piece);
  } else {
    output += piece;
  }
  // Many pieces of one turn must not look like a slow reader.
  if (&slot == first_ && unsent() >= HttpHub::kScratchBytes && !blocked_) flush();
  if (closed_) return false;
  if (unsent(slot) > hub_.limits().unsent_bytes_max) {
    cut();
    return false;
  }
  hub_.mark(*this);
  return true;
}

void HttpConnection::end(HttpSlot& slot) {
  if (slot.stage != HttpSlot::Stage::kBegun) return;
  if (slot.chunked && !slot.mute) output_of(slot) += kHttpLastChunk;
  if (receiving_ == &slot) slot.close = linger_ = true;
  finish(slot);
}

// Everything behind the first unfinished answer waits for it.
void HttpConnection::finish(HttpSlot& slot) {
  slot.stage = HttpSlot::Stage::kDone;
  detach(slot);
  if (receiving_ == &slot) {
    receiving_ = nullptr;
    stopped_ = true;
    sink_ = {};
    collecting_.reset();
  }
  while (first_ != nullptr && first_->stage == HttpSlot::Stage::kDone) {
    HttpSlot* done = first_;
    const bool close = done->close;
    first_ = done->next;
    if (first_ == nullptr) last_ = nullptr;
    --slot_count_;
    hub_.give_slot(done);
    if (close) {
      closing_ = true;
      drop_slots();
    } else if (first_ != nullptr) {
      out_ += first_->held;
      hub_.give_buffer(first_->held);
    }
  }
  if (in_.empty() && receiving_ == nullptr) since_ = hub_.now();  // idle from here
  hub_.mark(*this);
}

void HttpConnection::detach(HttpSlot& slot) {
  if (slot.exchange != nullptr) slot.exchange->forget();
  slot.exchange = nullptr;
}

void HttpConnection::drop_slots() {
  receiving_ = nullptr;
  while (first_ != nullptr) {
    HttpSlot* slot = std::exchange(first_, first_->next);
    detach(*slot);
    hub_.give_slot(slot);
  }
  last_ = nullptr;
  slot_count_ = 0;
  // Both may hold exchanges of ours; those are forgotten by now.
  HttpBodySink sink = std::exchange(sink_, {});
  collecting_.reset();
}

void HttpConnection::dropped(HttpSlot& slot) {
  if (slot.stage == HttpSlot::Stage::kWaiting) {
    slot.close = true;
    answer(slot, hub_.refusal(500, "the request was given up"));
  } else if (slot.stage == HttpSlot::Stage::kBegun) {
    cut();  // the only way to say that a long answer is not complete
  }
}

std::size_t HttpConnection::unsent(const HttpSlot& slot) const {
  return unsent() + (&slot == first_ ? 0 : slot.held.size());
}

void HttpConnection::pause(const HttpSlot& slot) {
  if (receiving_ == &slot) paused_ = true;
}

void HttpConnection::resume(const HttpSlot& slot) {
  if (receiving_ != &slot || !paused_) return;
  paused_ = false;
  since_ = hub_.now();
  hub_.mark(*this);
}

void HttpConnection::flush() {
  while (unsent() > 0) {
    const IoCount count = socket_.write(std::string_view(out_).substr(sent_));
    if (count.state == IoState::kWouldBlock) {
      blocked_ = true;
      out_.erase(0, sent_);
      sent_ = 0;
      return;
    }
    if (count.state != IoState::kDone) {
      cut();
      return;
    }
    sent_ += count.bytes;
    write_since_ = hub_.now();
  }
  blocked_ = false;
  sent_ = 0;
  hub_.give_buffer(out_);
}

// ---- Life

// Called when something may have changed: writes, goes on with what was received, closes, waits.
void HttpConnection::settle() {
  marked = false;
  if (closed_) return;
  if (!blocked_) flush();
  if (!closed_ && !in_.empty() && can_take()) consume(in_);
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
    socket_.end_writing();
    return;
  }
  const bool all_said = first_ == nullptr && (end_of_input_ || (hub_.draining() && in_.empty()));
  if (closing_ || all_said) cut();
}

void HttpConnection::watch() {
  std::uint32_t events = 0;
  if (!end_of_input_ && (lingering_ || can_take())) events |= EPOLLIN;
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
  socket_.close();
  hub_.remove(*this);
}

}  // namespace postrider
