#include "postrider/runtime/first_transport.h"

#include <utility>

namespace postrider {

void FirstTransport::start(AttemptId attempt, WireRequest request) {
  if (request.first == nullptr) return inner_->start(attempt, std::move(request));
  WireRequest question = *request.first;
  request.time_out /= 2;
  question.time_out = request.time_out;
  request.first = nullptr;
  waiting_.insert_or_assign(attempt.value(), std::move(request));
  inner_->start(attempt, std::move(question));
}

void FirstTransport::inner_ended(AttemptId attempt, WireReply reply) {
  const auto found = waiting_.find(attempt.value());
  if (found == waiting_.end()) return ended_(attempt, std::move(reply));
  WireRequest request = std::move(found->second);
  waiting_.erase(found);
  if (reply.end == WireEnd::kAnswered && reply.status == 0)
    return inner_->start(attempt, std::move(request));
  reply.of_first = true;
  ended_(attempt, std::move(reply));
}

void FirstTransport::abort(AttemptId attempt) {
  waiting_.erase(attempt.value());
  inner_->abort(attempt);
}

}  // namespace postrider
