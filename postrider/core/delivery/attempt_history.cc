// What is told of attempts one by one. A message has a list from its first failure on, which is
// part of a record that is written anyway; nothing is decided by it.
#include <algorithm>

#include "postrider/core/delivery/delivery.h"

namespace postrider::core {

// An end that says that nothing was delivered must not hide that something may have been.
void Delivery::tell_lost(Entry& entry, Phase phase) {
  if (phase != Phase::kCancelled && phase != Phase::kExpired) return;
  std::string reason(kLostAttempt);
  if (entry.reason) reason.append("; ").append(*entry.reason);
  window_.set_reason(entry, reason);
}

// Its message goes back in line, is parked, or ends. Of the first one nothing is kept when it
// delivers: most messages pay for nothing but this look.
void Delivery::note_attempt(const Step& step, Entry& entry, Phase to, On signal,
                            const Reading* reading) {
  const bool delivered = to == Phase::kDelivered;
  if (delivered && (!entry.details || entry.details->past.attempts.empty())) return;
  AttemptList* list = records_.attempts_of(entry);
  if (list == nullptr || !list->is_open()) return;
  AttemptNote how{.at = {}, .took = step.now - list->notes.back().at};
  if (delivered) {
    how.end = AttemptEnd::kDelivered;
  } else if (signal == On::kCancelled || signal == On::kExpired) {
    how.end = AttemptEnd::kGivenUp;
  } else {
    // News by another way says no more than what it means.
    const bool timed_out = signal == On::kTimedOut && entry.state.failure != FailureClass::kNone;
    const bool told = reading != nullptr || timed_out;
    how.end = AttemptEnd::kFailed;
    how.failure = told ? entry.state.failure : FailureClass::kOther;
    how.reason = told ? entry.reason_text() : name_of(signal);
  }
  list->close(how);
}

void Delivery::note_end(Step& step, const Entry& entry, Phase phase) {
  destinations_.note_use(step, entry.destination);
  tallies_.until_ended.add(step.now - entry.message.accepted);
  if (phase != Phase::kDelivered) return;
  Activity& activity = residents_[entry.destination].activity;
  ++activity.delivered;
  activity.deliveries.add(step.now);
  activity.deliveries_lately.add(step.now);
  if (!entry.details) return;
  const std::span<const StateRow> states = residents_[entry.destination].bound->profile->states;
  const Trail& trail = entry.details->past.trail;
  const auto last = std::find_if(trail.rbegin(), trail.rend(), [&](const TrailStep& it) {
    return states[it.state].timer == TimeOut::kLate;
  });
  if (last != trail.rend()) tallies_.until_answered.add(step.now - last->at);
}

void Delivery::note_failure(Timestamp now, const Entry& entry) {
  Activity& activity = residents_[entry.destination].activity;
  ++activity.failed;
  activity.failures.add(now);
  activity.failures_lately.add(now);
  activity.failed_at = now;
  activity.last_failure = entry.state.failure;
  if (!entry.reason) {
    activity.last_error.reset();
  } else if (!activity.last_error || *activity.last_error != *entry.reason) {
    activity.last_error = std::make_unique<std::string>(*entry.reason);
  }
}

}  // namespace postrider::core
