// How messages are parked: some wait for an operator, others for their destination to answer again.
#include "postrider/core/delivery/delivery.h"

namespace postrider::core {

void Delivery::park(Step& step, Slot slot) {
  Entry& entry = window_[slot];
  records_.move_to_cold(step, slot);
  records_.store_state(step, entry);
  if (entry.due_entry.is_set()) {
    step.out.writes.remove(
        keys::due(std::exchange(entry.due_entry, {}), keys::DueKind::kAttempt, entry.message.id));
  }
  receipts_.add_parked(entry.message.id, step.now, entry.reason_text());
  if (window_.state_of(entry).revives) {
    park_for_reach(step, slot);
  } else {
    const bool by_key = entry.message.ordered && !window_.goes_by_lane(entry);
    step.out.writes.put(keys::parked(entry.message.id),
                        std::exchange(entry.leaves_gap, false)
                            ? keys::parked_as_gap(by_key ? entry.message.gates[0] : 0)
                            : std::string());
  }
  receipts_.note({.position = {},
                  .kind = LogEntry::Kind::kParked,
                  .at = step.now,
                  .id = entry.message.id,
                  .phase = Phase::kParked,
                  .cause = entry.state.failure,
                  .attempts = entry.state.attempts,
                  .reason = std::string(entry.reason_text())});
  window_.unready(slot);
  if (raise_remembered(step, slot)) return;
  window_.forget_entry(step, slot);
}

void Delivery::unpark(Step& step, MessageId id) {
  step.out.writes.remove(keys::parked(id));
  receipts_.take_parked(id);
}

// A message that ran out while its route delivered may itself be what the far side cannot take: it
// is not put back by each delivery, only by the clock, or after a while.
void Delivery::park_for_reach(Step& step, Slot slot) {
  const Entry& entry = window_[slot];
  Resident& resident = residents_[entry.destination];
  const Duration every = resident.bound->policy.health.revive_every;
  const bool others_went = resident.ok_at.is_set() && resident.ok_at > entry.state.first_attempt;
  const Timestamp from = others_went ? step.now + every : step.now;
  step.out.writes.put(keys::parked(entry.message.id), keys::parked_for_reach(from));
  resident.stranded = resident.stranded || !others_went;
  if (!others_went) resident.lost_at = step.now;
  // A walk that is under way may have gone past it.
  if (resident.reviving && others_went && !resident.revive_later.is_set())
    resident.revive_later = from;
  if (!resident.route.revive_at.is_set())
    routes_.set_revival(step, entry.destination, step.now + every);
}

void Delivery::refresh_attempts(const Step& step, Entry& entry) const {
  entry.state.attempts = entry.state.held_back = 0;
  // Not unset: that there was a start says that it holds gates until its end.
  if (entry.state.first_attempt.is_set()) entry.state.first_attempt = step.now;
  entry.state.held_before = held_time(residents_[entry.destination].route, step.now);
}

}  // namespace postrider::core
