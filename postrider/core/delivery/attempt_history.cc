// Attempts: what is told of them one by one. A message has a list from its first failure on, which
// is part of whichever record is written anyway; nothing is decided by it.
#include "postrider/base/planted.h"
#include "postrider/core/engine_impl.h"

namespace postrider {

// Its attempts, with the first one when that is all there is; null: none are kept.
AttemptList* Engine::Impl::attempts_of(Entry& entry) const {
  const std::uint32_t kept = limits_.attempts_kept_max;
  if (entry.state.attempts == 0 || kept == 0) return nullptr;
  AttemptList& list = entry.more().past.attempts;
  if (!list.empty()) return &list;
  // The first is in its state. Of a message that an older version has tried, those are counted.
  list.earlier = entry.state.attempts - 1U;
  list.begin(list.earlier == 0 ? entry.state.first_attempt : entry.state.since, kept);
  return &list;
}

// A crash forgot how it ended.
void Engine::Impl::lose_attempt(Entry& entry) const {
  if (AttemptList* list = attempts_of(entry)) list->lose_open();
}

// Whether an attempt, which leaves no record without durable intent, may have been open when the
// former owner stopped. On disk only a message near the head of its lane can have had one: the
// windows of both owners begin there.
bool Engine::Impl::may_be_lost(const Entry& entry) const {
  if (entry.message.id.sequence().value() >= first_sequence_ || planted(Bug::kLostAttemptUntold))
    return false;
  if (method_of(entry).durable_intent || (entry.stored && entry.state.since > started_))
    return false;
  const Resident& resident = residents_[entry.destination];
  const Timestamp held = resident.route.held_since;  // nothing has started since
  if (held.is_set() && held < entry.message.accepted) return false;
  const std::uint32_t window = 2 * resident.bound->policy.window_max + limits_.lane_waiters_max;
  const Lane* lane = resident.lane(entry.message.id.lane());
  if (!entry.hot && lane != nullptr && lane->taken > window) return false;
  const Phase phase = phase_of(entry);
  if (phase == Phase::kQueued || phase == Phase::kBackoff) return entry.state.due <= started_;
  return phase == Phase::kInFlight;
}

// An end that says that nothing was delivered must not hide that something may have been.
void Engine::Impl::tell_lost(Entry& entry, Phase phase) {
  if (phase != Phase::kCancelled && phase != Phase::kExpired) return;
  std::string reason(kLostAttempt);
  if (entry.reason) reason.append("; ").append(*entry.reason);
  set_reason(entry, reason);
}

// Its message goes back in line, is parked, or ends. Of the first one nothing is kept when it
// delivers: most messages pay for nothing but this look.
void Engine::Impl::note_attempt(const Step& step, Entry& entry, Phase to, On signal,
                                const Reading* reading) {
  const bool delivered = to == Phase::kDelivered;
  if (delivered && (!entry.details || entry.details->past.attempts.empty())) return;
  AttemptList* list = attempts_of(entry);
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

}  // namespace postrider
