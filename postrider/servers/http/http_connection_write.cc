// The writing half of HttpConnection: slots, answers, and what of them counts against the budget.
#include <algorithm>
#include <utility>

#include "postrider/servers/http/http_answer.h"
#include "postrider/servers/http/http_connection.h"
#include "postrider/servers/http/http_exchange.h"

namespace postrider {
namespace {

// An answer up to this size is never refused for want of room: a refusal is as long.
constexpr std::size_t kSmallAnswerBytes = 2048;
// Above it the memory of what was sent is given back early, though that copies the rest.
constexpr std::size_t kLargeBufferBytes = 1'048'576;

}  // namespace

HttpSlot& HttpConnection::push_slot(const HttpFraming& framing, std::string_view method) {
  HttpSlot* slot = hub_.take_slot();
  slot->connection = this;
  slot->head_only = method == "HEAD";
  slot->asks = method == "GET";
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

template <class Append>
void HttpConnection::put(HttpSlot& slot, Append append) {
  std::string& output = output_of(slot);
  const std::size_t before = output.size();
  append(output);
  if (&slot != first_) slot_bytes_ += output.size() - before;
  account();
}

// What is held is known at every moment, for others ask before they hold more. What a closed
// connection holds goes at the end of the turn.
void HttpConnection::account() {
  const std::uint64_t now = closed_ ? 0 : in_.size() + head_.size() + out_.size() + slot_bytes_;
  hub_.hold(counted_, now);
  counted_ = now;
}

void HttpConnection::keep_for(HttpSlot& slot, std::uint64_t bytes) {
  if (slot.stage == HttpSlot::Stage::kDone) return;
  slot_bytes_ = slot_bytes_ - slot.kept + bytes;
  slot.kept = bytes;
  account();
}

void HttpConnection::offer_continue(HttpSlot& slot) {
  if (!slot.owes_continue) return;
  slot.owes_continue = false;
  put(slot, [](std::string& output) { output += kHttpContinue; });
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
  keep_for(slot, 0);
  // What was done is told in any case; a question can be asked again.
  if (slot.asks && response.body.size() > kSmallAnswerBytes &&
      !hub_.has_room(response.body.size())) {
    slot.asks = false;
    linger_ = true;
    answer(slot, hub_.refusal(kNoRoom.status, kNoRoom.detail));
    return;
  }
  if (receiving_ == &slot) slot.close = linger_ = true;
  prepare_answer(slot, response);
  if (unsent() == 0) write_since_ = hub_.now();
  put(slot, [&](std::string& output) {
    append_http_answer(output, response,
                       {.body = HttpAnswerBody::kWhole,
                        .head_only = slot.head_only,
                        .close = slot.close,
                        .say_keep_alive = slot.old_version,
                        .date_line = hub_.date_line()});
  });
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
  put(slot, [&](std::string& output) {
    append_http_answer(
        output, head,
        {.body = slot.chunked ? HttpAnswerBody::kChunked : HttpAnswerBody::kUntilClose,
         .head_only = slot.head_only,
         .close = slot.close,
         .say_keep_alive = slot.old_version,
         .date_line = hub_.date_line()});
  });
  hub_.mark(*this);
}

bool HttpConnection::write(HttpSlot& slot, std::string_view piece) {
  if (slot.stage != HttpSlot::Stage::kBegun) return false;
  if (slot.mute || piece.empty()) return true;
  if (unsent() == 0) write_since_ = hub_.now();
  put(slot, [&](std::string& output) {
    if (slot.chunked) {
      append_http_chunk(output, piece);
    } else {
      output += piece;
    }
  });
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
  if (slot.chunked && !slot.mute) put(slot, [](std::string& output) { output += kHttpLastChunk; });
  if (receiving_ == &slot) slot.close = linger_ = true;
  finish(slot);
}

// Everything behind the first unfinished answer waits for it.
void HttpConnection::finish(HttpSlot& slot) {
  keep_for(slot, 0);
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
      slot_bytes_ -= first_->held.size();
      if (out_.empty()) {
        out_.swap(first_->held);
      } else {
        out_ += first_->held;
      }
      hub_.give_buffer(first_->held);
    }
  }
  account();
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
  slot_bytes_ = 0;
  account();
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

void HttpConnection::when_room(HttpSlot& slot, std::function<void()> call) {
  slot.room = std::move(call);
  slot.paced = true;
  hub_.mark(*this);
}

// Called by the hub a turn after there was room, so that a long answer to a fast reader stops
// nobody else.
void HttpConnection::offer_room() {
  roomy = false;
  if (closed_ || first_ == nullptr || !first_->room) return;
  const std::function<void()> call = std::exchange(first_->room, {});
  call();
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
      forget_sent();
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
  account();
}

// Not before it is half of the whole: to move the rest costs as much as the rest is long.
void HttpConnection::forget_sent() {
  if (sent_ < out_.size() - sent_) return;
  if (out_.capacity() > kLargeBufferBytes) {
    out_ = std::string(std::string_view(out_).substr(sent_));
  } else {
    out_.erase(0, sent_);
  }
  sent_ = 0;
  account();
}

}  // namespace postrider
