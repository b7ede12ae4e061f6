#include "postrider/core/books/waiters.h"

#include <algorithm>
#include <utility>

#include "postrider/base/planted.h"

namespace postrider::core {

bool Waiters::wait(const Step& step, Ticket ticket, MessageId thing, Duration at_most) {
  if (waiting_.size() >= limits_.awaits_max) return false;
  std::vector<Ticket>& others = by_thing_[thing];
  if (others.size() >= limits_.awaits_of_one_max) return false;
  others.push_back(ticket);
  const Timestamp until = step.now + std::clamp(at_most, Duration(0), limits_.await_max);
  waiting_[ticket.value()] = {
      thing, timers_.arm(until, Timer{.kind = TimerKind::kAwait, .id = {ticket.value(), 0}})};
  return true;
}

void Waiters::tell(Step& step, MessageId thing, Answer answer) {
  if (by_thing_.empty()) return;
  const auto found = by_thing_.find(thing);
  if (found == by_thing_.end() || planted(Bug::kAwaitForgotten)) return;
  answer.id = thing;
  for (const Ticket ticket : found->second) {
    timers_.cancel(waiting_.at(ticket.value()).timer);
    waiting_.erase(ticket.value());
    step.reply(ticket, Answer(answer));
  }
  by_thing_.erase(found);
}

void Waiters::time_out(Step& step, Ticket ticket) {
  const auto found = waiting_.find(ticket.value());
  if (found == waiting_.end()) return;
  Answer answer;
  answer.code = AnswerCode::kPending;
  answer.id = found->second.thing;
  leave(ticket, found->second.thing);
  waiting_.erase(found);
  step.reply(ticket, std::move(answer));
}

void Waiters::stop(Ticket ticket) {
  const auto found = waiting_.find(ticket.value());
  if (found == waiting_.end()) return;
  timers_.cancel(found->second.timer);
  leave(ticket, found->second.thing);
  waiting_.erase(found);
}

void Waiters::leave(Ticket ticket, MessageId thing) {
  const auto found = by_thing_.find(thing);
  std::erase(found->second, ticket);
  if (found->second.empty()) by_thing_.erase(found);
}

}  // namespace postrider::core
