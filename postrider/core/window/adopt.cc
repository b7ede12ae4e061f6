#include "postrider/base/planted.h"
#include "postrider/core/window/state_records.h"

namespace postrider::core {

void StateRecords::adopt_state(Entry& entry, const std::optional<StoredState>& stored) {
  if (!stored) return;
  entry.state = stored->state;
  entry.stored = true;
  const StateIndex was = std::exchange(entry.recorded, entry.state.state);
  if (window_.contains(entry.message.id)) census_.adopt(entry, was);  // not only looked at
  window_.set_reason(entry, stored->reason);
  if (stored->intent != Intent() || !stored->notes.empty() || !stored->past.empty()) {
    entry.more().intent = stored->intent;
    entry.more().notes = stored->notes;
    // What cannot be read of the past is left out; the message itself is whole.
    entry.more().past = decode_attempt_history(stored->past, {stored->state.since, stored->reason})
                            .value_or(AttemptHistory());
    AttemptList& attempts = entry.details->past.attempts;
    if (planted(Bug::kAttemptForgotten) && !attempts.empty()) attempts.notes.pop_back();
  }
  const Phase phase = window_.phase_of(entry);
  // Its attempt is made again.
  if (phase == Phase::kInFlight && !window_.method_of(entry).durable_intent) lose_attempt(entry);
  if (!entry.hot() && (phase == Phase::kBackoff || phase == Phase::kQueued))
    entry.due_entry = entry.state.due;
  entry.marked = !entry.hot() && (window_.keeps_gates(entry) || entry.lasts());
}

// Whether an attempt, which leaves no record without durable intent, may have been open when the
// former owner stopped. Of the messages on disk without an attempt, only one near the head of its
// lane can have had one: the windows of both owners begin there. The rest comes by its time.
bool StateRecords::may_be_lost(const Entry& entry) const {
  if (entry.message.id.sequence().value() >= sequences_.first() || planted(Bug::kLostAttemptUntold))
    return false;
  if (window_.method_of(entry).durable_intent || (entry.stored && entry.state.since > started_))
    return false;
  const Resident& resident = residents_[entry.destination];
  const Timestamp held = resident.route.held_since;  // nothing has started since
  if (held.is_set() && held < entry.message.accepted) return false;
  const std::uint32_t window = 2 * resident.bound->policy.window_max + limits_.lane_waiters_max;
  const Lane* lane = resident.lane(entry.message.id.lane());
  if (!entry.hot() && !entry.stored && lane != nullptr && lane->taken > window) return false;
  const Phase phase = window_.phase_of(entry);
  if (phase == Phase::kQueued || phase == Phase::kBackoff) return entry.state.due <= acted_until_;
  return phase == Phase::kInFlight;
}

// Its attempts, with the first one when that is all there is; null: none are kept.
AttemptList* StateRecords::attempts_of(Entry& entry) const {
  const std::uint32_t kept = limits_.attempts_kept_max;
  if (entry.state.attempts == 0 || kept == 0) return nullptr;
  AttemptList& list = entry.more().past.attempts;
  if (!list.empty()) return &list;
  // The first attempt is in the state. Attempts by an older version of the program are counted.
  list.earlier = entry.state.attempts - 1U;
  list.begin(list.earlier == 0 ? entry.state.first_attempt : entry.state.since, kept);
  return &list;
}

// A crash forgot how it ended.
void StateRecords::lose_attempt(Entry& entry) const {
  if (AttemptList* list = attempts_of(entry)) list->lose_open();
}

}  // namespace postrider::core
