#include "postrider/sim/fields/matrix/far_sides.h"

#include <array>
#include <utility>

#include "postrider/protocols/matrix/server_name.h"
#include "postrider/sim/fields/matrix/checkers.h"
#include "postrider/sim/fields/matrix/items.h"

namespace postrider::sim {

MatrixFarSides::MatrixFarSides(Surroundings around, const SimOptions& options, Rng rng)
    : around_(std::move(around)), faults_(options.faults) {
  const auto key = matrix::parse_key_file(kMatrixKeyFile);
  for (std::uint32_t i = 0; i < options.destinations; ++i) {
    Rng own = rng.fork(i);
    auto side = std::make_unique<Side>();
    ReceiverOptions receiver;
    receiver.server_name = matrix_server(i);
    receiver.keys = {{.id = key->key.id(), .key = key->key.public_key()}};
    receiver.poison = kMatrixPoison;
    side->receiver = std::make_unique<Receiver>(receiver, own.fork(1));
    side->faults = draw_faults(own);
    apply_mood(*side, Mood::kHealthy);
    sides_.push_back(std::move(side));
  }
}

ReceiverFaults MatrixFarSides::draw_faults(Rng& rng) const {
  constexpr std::array<std::uint32_t, 5> kPercents = {0, 0, 2, 10, 30};
  constexpr std::array<std::uint32_t, 4> kStatuses = {503, 500, 502, 401};
  const auto some = [&](Fault fault) {
    const std::uint32_t percent = kPercents[rng.below(kPercents.size())];
    return has(fault) ? percent : 0;
  };
  ReceiverFaults out;
  out.fail = some(Fault::kPeerFlaky);
  out.fail_status = kStatuses[rng.below(kStatuses.size())];
  out.lose_answers = some(Fault::kReplyLost);
  out.hang = some(Fault::kReplyLost) / 2;
  out.slow_ms = some(Fault::kDelay) * 20;
  return out;
}

void MatrixFarSides::apply_mood(Side& side, Mood mood) const {
  ReceiverFaults faults = healed_ ? ReceiverFaults() : side.faults;
  switch (mood) {
    case Mood::kHealthy:
    case Mood::kRefuses:
    case Mood::kNoName:
    case Mood::kNoTls:
    case Mood::kSwallows: break;
    case Mood::kSlow: faults.slow_ms = 20'000; break;
    case Mood::kFlaky: faults.fail = 50; break;
    case Mood::kThrottles:
    case Mood::kLimited:
      faults.fail = 75;
      faults.fail_status = 429;
      break;
    case Mood::kGone:
      faults.fail = 100;
      faults.fail_status = 404;
      break;
  }
  side.receiver->faults = faults;
}

void MatrixFarSides::set_mood(std::uint32_t peer, Mood mood) {
  if (peer < sides_.size()) apply_mood(*sides_[peer], mood);
}

void MatrixFarSides::heal() {
  healed_ = true;
  for (const auto& side : sides_) {
    side->receiver->cure();
    apply_mood(*side, Mood::kHealthy);
  }
}

void MatrixFarSides::add_checkers(const CheckerContext& context, Notebook& notebook,
                                  CheckerList& list) const {
  list.push_back(make_matrix_checker(context, notebook, *this));
}

void MatrixFarSides::request(std::uint64_t ticket, std::uint64_t /*tag*/, std::uint32_t peer,
                             const WireRequest& request) {
  if (peer >= sides_.size()) return;
  const auto target = matrix::parse_matrix_target(request.target);
  if (!target) return;
  sides_[peer]->receiver->call(around_.agenda.now(),
                               {.ticket = ticket,
                                .method = request.verb,
                                .uri = target->uri,
                                .authorization = request.headers.find("authorization"),
                                .body = request.body});
  pump(peer);
}

void MatrixFarSides::pump(std::uint32_t number) {
  Side& side = *sides_[number];
  for (ReceiverReply& reply : side.receiver->due(around_.agenda.now())) {
    WireReply answer;
    answer.end = reply.cut ? WireEnd::kReset : WireEnd::kAnswered;
    answer.status = reply.cut ? 0 : reply.status;
    answer.body = std::move(reply.body);
    around_.answer(reply.ticket, std::move(answer));
  }
  const auto next = side.receiver->next();
  if (!next || *next >= side.wake_at) return;
  side.wake_at = std::max(*next, around_.agenda.now());
  around_.agenda.at(side.wake_at, [this, number, at = side.wake_at] {
    if (sides_[number]->wake_at != at) return;
    sides_[number]->wake_at = Timestamp::never();
    pump(number);
  });
}

}  // namespace postrider::sim
