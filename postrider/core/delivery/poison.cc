// Poison: a message that others must wait for, in a FIFO lane or an order by key, and that fails
// again and again. The destination's rule says whether they wait until it ends, or it is parked or
// ends out of their way. Either leaves a gap in their order, which is marked: in the log, and by
// the record of the parked one, both in the commit that lets the others go on.
#include "postrider/base/planted.h"
#include "postrider/core/engine_impl.h"

namespace postrider {
namespace {

constexpr std::uint32_t kGapRows = 256;  // of one read

}  // namespace

bool Engine::Impl::in_order(const Entry& entry) const {
  const Policy& policy = residents_[entry.destination].bound->policy;
  return entry.message.ordered || policy.lane_kind(entry.message.id.lane()) == LaneKind::kFifo;
}

// What takes it out of the way after a failed attempt; kFailed: nothing, it tries again. That
// nothing was sent, or that the far side has too much to do, says nothing about this message.
On Engine::Impl::poison_signal(const Entry& entry) const {
  const Policy& policy = residents_[entry.destination].bound->policy;
  if (policy.on_poison == OnPoison::kBlock || !in_order(entry)) return On::kFailed;
  if (entry.state.certainty == Certainty::kNotSent ||
      entry.state.failure == FailureClass::kThrottled)
    return On::kFailed;
  const int late = planted(Bug::kPoisonTooLate) ? 1 : 0;
  if (entry.state.counted() < policy.poison_after + late) return On::kFailed;
  return policy.on_poison == OnPoison::kPark ? On::kPoison : On::kSkipped;
}

// The row takes it out of the way. The next of its order may start: one that is parked gives back
// what it holds until its end, and takes it again when it is sent again.
void Engine::Impl::let_others_pass(Step& step, Entry& entry, const Transition& row) {
  const bool parks = row.verb == Do::kPark;
  const std::string attempts = std::to_string(entry.state.attempts);
  set_reason(entry, "in the way of others after " + attempts +
                        (entry.state.attempts == 1 ? " attempt: " : " attempts: ") +
                        std::string(entry.reason_text()));
  receipts_.note({.position = {},
                  .kind = LogEntry::Kind::kGap,
                  .at = step.now,
                  .id = entry.message.id,
                  .phase = parks ? Phase::kParked : Phase::kDead,
                  .cause = entry.state.failure,
                  .attempts = entry.state.attempts,
                  .reason = parks ? "it was parked, and those behind it go on"
                                  : "it was skipped, and those behind it go on"});
  entry.leaves_gap = parks && !planted(Bug::kGapNotMarked);
  if (!parks || !entry.message.ordered || planted(Bug::kGapKeepsGate)) return;
  entry.state.first_attempt = Timestamp();
  release_lasting(step, entry.message.id);
}

// Somebody who was parked out of the way before it, and still is. False: that must be read first.
bool Engine::Impl::find_gap(Step& step, const Entry& entry, Explanation& out) {
  if (!in_order(entry)) return true;
  const Resident& resident = residents_[entry.destination];
  const MessageId id = entry.message.id;
  const bool fifo = resident.bound->policy.lane_kind(id.lane()) == LaneKind::kFifo;
  const std::string last = keys::parked(id);
  for (std::string first = keys::parked({id.high, 0}); !first.empty();) {
    const Rows* rows = step.scan({first, last, kGapRows});
    if (rows == nullptr) return false;
    for (const Row& row : rows->rows) {
      const auto parked = keys::parse_parked(row.first);
      const auto gate = keys::parse_parked_as_gap(row.second.view());
      if (!parked || !gate || !(fifo || *gate == entry.message.gates[0])) continue;
      out.gap = *parked;
      out.why += "; a gap: " + ids_.text(*parked) + " was parked before it";
      return true;
    }
    first = rows->complete ? std::string() : rows->next;
  }
  return true;
}

}  // namespace postrider
