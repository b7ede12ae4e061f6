#include "postrider/api/awaits.h"

#include <utility>

namespace postrider::api {

void Awaits::begin(HttpExchangePtr exchange, std::string_view tenant, Await event, Done done) {
  const Timestamp until = clock_.read().boot + event.at_most;
  waits_.push_back(
      {std::move(exchange), std::string(tenant), std::move(event), until, std::move(done)});
  post(std::prev(waits_.end()));
}

void Awaits::post(Place place) {
  Await event = place->event;
  event.at_most = place->until - clock_.read().boot;
  const Door door = host_.await(
      place->tenant, std::move(event),
      [this, life = std::weak_ptr(life_), place](const Answer& answer) {
        if (!life.expired()) take(place, answer);
      },
      place->ticket);
  if (door == Door::kOpen) return;
  place->ticket = {};
  if (door == Door::kRestarting) return;  // asked again by the tick
  Answer answer;
  answer.code = door == Door::kStopping ? AnswerCode::kPending : AnswerCode::kBusy;
  take(place, std::move(answer));
}

void Awaits::take(Place place, Answer answer) {
  place->ticket = {};
  // The shard was made anew and knows nothing of those who waited.
  const bool interrupted = answer.code == AnswerCode::kUnavailable;
  if (interrupted && clock_.read().boot < place->until) return;
  if (interrupted) answer.code = AnswerCode::kPending;
  const Done done = std::move(place->done);
  const bool gone = place->exchange->gone();
  waits_.erase(place);
  if (!gone) done(answer);
}

void Awaits::tick() {
  const Timestamp now = clock_.read().boot;
  for (auto at = waits_.begin(); at != waits_.end();) {
    const Place place = at++;
    if (place->exchange->parted()) {
      if (place->ticket.is_set()) host_.stop_waiting(place->ticket);
      end_unanswered(place);
    } else if (!place->ticket.is_set()) {
      if (now < place->until) {
        post(place);
      } else {
        end_unanswered(place);
      }
    }
  }
}

void Awaits::end_unanswered(Place place) {
  Answer pending;
  pending.code = AnswerCode::kPending;
  take(place, std::move(pending));
}

}  // namespace postrider::api
