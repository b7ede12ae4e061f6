#include "postrider/sim/world/submit_draws.h"

#include <algorithm>
#include <array>
#include <utility>

namespace postrider::sim {
namespace {

constexpr std::size_t kSessions = 6;

}  // namespace

SubmitDraws::SubmitDraws(Surroundings around, Rng& rng) : around_(std::move(around)), rng_(rng) {
  sessions_.resize(kSessions);
  for (std::size_t i = 0; i < kSessions; ++i)
    sessions_[i] = {"session-" + std::to_string(i) + "-0", around_.began, 0};
}

Submit SubmitDraws::draw(std::uint32_t destination,
                         const std::function<std::string()>& attributes) {
  Submit submit;
  submit.caller.key = draw_key();
  submit.destination = draw_name(destination);
  submit.lane = static_cast<std::uint8_t>(rng_.chance(1, 3) ? rng_.below(3) : 0);
  if (rng_.chance(1, 4)) submit.priority = static_cast<std::uint16_t>(rng_.below(4));
  draw_times(submit);
  submit.attributes = attributes();
  submit.body = draw_body();
  return submit;
}

std::string SubmitDraws::draw_name(std::uint32_t destination) {
  return rng_.chance(1, 200) ? "nobody" : around_.destinations[destination].name;
}

std::string SubmitDraws::draw_body() {
  std::string body = "{\"operation\":" + std::to_string(++last_operation_) + ",\"padding\":\"";
  body.append(rng_.chance(1, 10) ? rng_.below(4000) : rng_.below(100), 'x');
  return body + "\"}";
}

void SubmitDraws::draw_times(Submit& submit) {
  const Timestamp now = around_.engine_now();
  constexpr std::array<Duration, 5> kAhead = {2s, 1min, 20min, 5h, 30h};
  if (rng_.chance(1, 8)) submit.not_before = now + up_to(kAhead[rng_.below(kAhead.size())]);
  if (rng_.chance(1, 5))
    submit.expires = std::max(now, submit.not_before) + up_to(kAhead[rng_.below(kAhead.size())]);
}

OperationKey SubmitDraws::draw_key() {
  OperationKey key;
  if (rng_.chance(1, 2)) return key;
  const Timestamp now = around_.engine_now();
  key.scope = rng_.chance(1, 2) ? "tenant" : "another";
  key.key = "key-" + std::to_string(++last_key_);
  switch (rng_.below(4)) {
    case 0:
      key.kind = OperationKey::Kind::kTimed;
      key.made = now - up_to(1h);
      if (rng_.chance(1, 20)) key.made = now - Duration(25h) - up_to(10h);
      if (rng_.chance(1, 20)) key.made = now + Duration(130min) + up_to(10h);
      break;
    case 1: {
      key.kind = OperationKey::Kind::kSequenced;
      const std::size_t which = rng_.below(sessions_.size());
      Session& session = sessions_[which];
      if (rng_.chance(1, 30))
        session = {"session-" + std::to_string(which) + "-" + std::to_string(last_key_), now, 0};
      key.scope = "tenant";
      key.key = session.name;
      key.made = session.began;
      key.sequence = ++session.sequence;
      break;
    }
    default: key.kind = OperationKey::Kind::kOpaque; break;
  }
  return key;
}

}  // namespace postrider::sim
