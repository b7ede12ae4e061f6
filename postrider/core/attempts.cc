// Attempts: what is told of them one by one. A message has a list from its first failure on, which
// is part of whichever record is written anyway; nothing is decided by it.
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

// Its message goes back in line, is parked, or ends. Of the first one nothing is kept when it
// delivers: most messages pay for nothing but this look.
void Engine::Impl::note_attempt(const Turn& turn, Entry& entry, Phase to, On signal,
                                const Reading* reading) {
  const bool delivered = to == Phase::kDelivered;
  if (delivered && (!entry.details || entry.details->past.attempts.empty())) return;
  AttemptList* list = attempts_of(entry);
  if (list == nullptr || !list->is_open()) return;
  AttemptNote how{.at = {}, .took = turn.now - list->notes.back().at};
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
