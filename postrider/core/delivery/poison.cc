// Poison: a message that others must wait for, in a FIFO lane or an order by key, and that fails
// again and again. The destination's rule says whether they wait until it ends, or it is parked or
// ends out of their way. Either leaves a gap in their order, which is marked: in the log, and by
// the record of the parked message, both in the commit that lets the others go on.
#include "postrider/base/planted.h"
#include "postrider/core/delivery/delivery.h"

namespace postrider::core {

// What takes it out of the way after a failed attempt; kFailed: nothing, it tries again. That
// nothing was sent, or that the far side has too much to do, says nothing about this message.
On Delivery::poison_signal(const Entry& entry) const {
  const Policy& policy = residents_[entry.destination].bound->policy;
  if (policy.on_poison == OnPoison::kBlock || !window_.in_order(entry)) return On::kFailed;
  if (entry.state.certainty == Certainty::kNotSent ||
      entry.state.failure == FailureClass::kThrottled)
    return On::kFailed;
  const int late = planted(Bug::kPoisonTooLate) ? 1 : 0;
  if (entry.state.counted() < policy.poison_after + late) return On::kFailed;
  return policy.on_poison == OnPoison::kPark ? On::kPoison : On::kSkipped;
}

// The row takes it out of the way. The next of its order may start: one that is parked gives back
// what it holds until its end, and takes it again when it is sent again.
void Delivery::let_others_pass(Step& step, Entry& entry, const Transition& row) {
  const bool parks = row.verb == Do::kPark;
  const std::string attempts = std::to_string(entry.state.attempts);
  window_.set_reason(entry, "in the way of others after " + attempts +
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
  gates_.release_lasting(step, entry.message.id);
}

}  // namespace postrider::core
