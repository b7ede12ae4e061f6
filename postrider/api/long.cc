#include "postrider/api/long.h"

#include <algorithm>

namespace postrider {

// Writes the text, then calls `then`; at once when the text is still short enough to be whole.
void HttpApi::Impl::tell(const std::shared_ptr<LongAnswer>& answer, std::function<void()> then) {
  if (!answer->begun && answer->text.size() <= LongAnswer::kPieceBytes) return then();
  const HttpExchangePtr& exchange = answer->waiting.exchange;
  if (!answer->begun) {
    answer->begun = true;
    counts_.count(answer->waiting.route, 200);
    HttpResponse head;
    head.content_type = answer->content_type;
    add_usual_headers(head);
    exchange->begin(std::move(head));
  }
  exchange->keep(answer->text.size() - answer->written + answer->beside);
  exchange->when_room([weak = weak_from_this(), answer, then = std::move(then)]() mutable {
    if (const auto self = weak.lock()) self->tell_piece(answer, std::move(then));
  });
}

void HttpApi::Impl::tell_piece(const std::shared_ptr<LongAnswer>& answer,
                               std::function<void()> then) {
  const std::string_view rest = std::string_view(answer->text).substr(answer->written);
  const std::string_view piece = rest.substr(0, LongAnswer::kPieceBytes);
  if (!answer->waiting.exchange->write(piece)) return;
  answer->written += piece.size();
  if (piece.size() < rest.size()) return tell(answer, std::move(then));
  answer->text.clear();
  answer->written = 0;
  answer->waiting.exchange->keep(answer->beside);
  then();
}

void HttpApi::Impl::end_telling(const std::shared_ptr<LongAnswer>& answer) {
  if (!answer->begun && answer->text.size() <= LongAnswer::kPieceBytes) {
    HttpResponse response;
    response.content_type = answer->content_type;
    response.body = std::move(answer->text);
    return finish(answer->waiting, std::move(response));
  }
  tell(answer, [answer] { answer->waiting.exchange->end(); });
}

// Once it has begun it can only be cut, which happens when nobody holds it any more.
void HttpApi::Impl::fail_telling(const std::shared_ptr<LongAnswer>& answer,
                                 const api::Problem& problem) {
  if (!answer->begun) refuse(answer->waiting, problem);
}

// False: it is refused, because the memory for it is not there.
bool HttpApi::Impl::reserve(const Waiting& waiting, std::size_t bytes) {
  if (!waiting.exchange->has_room(bytes)) {
    refuse(waiting, api::no_room());
    return false;
  }
  waiting.exchange->keep(bytes);
  return true;
}

}  // namespace postrider
