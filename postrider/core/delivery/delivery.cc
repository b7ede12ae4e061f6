// Delivery: the interpreter of the profiles' tables. A signal finds its row; the row's verb is
// carried out here and nowhere else.
#include <algorithm>

#include "postrider/base/hash.h"
#include "postrider/base/planted.h"
#include "postrider/core/engine_impl.h"

namespace postrider {
namespace {

std::uint64_t hash_of(const WireRequest& request) {
  std::uint64_t hash = hash64(request.verb);
  hash = hash64(request.target, hash);
  hash = hash64(request.headers.text(), hash);
  return hash64(request.body, hash);
}

}  // namespace

const Method& Engine::Impl::method_of(const Entry& entry) const {
  return residents_[entry.destination].bound->profile->methods[entry.state.method];
}

const StateRow& Engine::Impl::state_of(const Entry& entry) const {
  return residents_[entry.destination].bound->profile->states[entry.state.state];
}

Facts Engine::Impl::facts_of(const Step& step, const Entry& entry) const {
  const Bound& bound = *residents_[entry.destination].bound;
  return {entry.message,
          entry.state,
          bound.config,
          bound.policy,
          step.now,
          step.wall,
          entry.notes(),
          intent_of(entry),
          entry.details ? &entry.details->past.trail : nullptr,
          {bound.prepared.get(), parsed_of(entry)},
          &ids_,
          step.doubt,
          later(entry.message),
          receipts_.wall().made_in_doubt(entry.message.accepted)};
}

// What cannot be read though it was admitted stays without; the profile sees that.
const Opaque* Engine::Impl::parsed_of(const Entry& entry) const {
  const ProfileSpec& profile = *residents_[entry.destination].bound->profile;
  if (entry.parsed == nullptr && profile.door.read != nullptr) {
    auto parsed = profile.door.read(entry.message.body, entry.message.attributes);
    if (parsed) entry.parsed = std::move(*parsed);
  }
  return entry.parsed.get();
}

const Intent* Engine::Impl::intent_of(const Entry& entry) {
  return entry.details && entry.details->intent.hash != 0 ? &entry.details->intent : nullptr;
}

// For methods that keep a trail; the others pay for nothing but this look.
void Engine::Impl::leave_step(const Step& step, Entry& entry, StateIndex to, On on) {
  if (!method_of(entry).trail || (planted(Bug::kStepLost) && on == On::kTimedOut)) return;
  const Phase phase = residents_[entry.destination].bound->profile->states[to].phase;
  const bool failed = phase == Phase::kBackoff || (is_end(phase) && phase != Phase::kDelivered);
  const bool waited = phase_of(entry) == Phase::kBackoff && phase == Phase::kQueued;
  add_step(entry.more().past.trail, {.at = waited ? back_off_end(step, entry) : step.now,
                                     .state = to,
                                     .on = on,
                                     .reason = failed ? std::string(entry.reason_text()) : ""});
}

// Usually no record is written when a back-off is over, so the record from before tells when that
// was: it is the same time when a crash lets it be over once more.
Timestamp Engine::Impl::back_off_end(const Step& step, const Entry& entry) {
  return entry.state.due.is_set() ? std::min(entry.state.due, step.now) : step.now;
}

void Engine::Impl::set_reason(Entry& entry, std::string_view reason) {
  if (reason.empty()) {
    entry.reason.reset();
  } else {
    entry.reason = std::make_unique<std::string>(reason.substr(0, limits_.reason_bytes_max));
  }
}

std::optional<Timestamp> Engine::Impl::retry_due(Step& step, const Entry& entry,
                                                 const Reading* reading) {
  const Resident& resident = residents_[entry.destination];
  const RetryRule& rule = resident.bound->policy.rule(entry.state.failure);
  RetryFacts facts;
  facts.attempts = entry.state.counted();
  if (planted(Bug::kAttemptCapOffByOne) && facts.attempts > 1) --facts.attempts;
  facts.now = step.now;
  facts.first_attempt = receipts_.wall().meant(entry.state.first_attempt);
  facts.held = held_time(resident.route, step.now) - entry.state.held_before;
  if (planted(Bug::kBudgetCountsHeldTime)) facts.held = Duration(0);
  if (reading != nullptr && !planted(Bug::kRetryAfterIgnored))
    facts.retry_after = reading->retry_after;
  auto due = next_due(rule, facts, rng_);
  if (due && planted(Bug::kJitterOutsideRange))
    due = step.now + 2 * (*due - step.now) + Duration(1);
  return due;
}

const Transition* Engine::Impl::next_row(Step& step, Entry& entry, On signal,
                                         const Reading* reading, std::optional<Timestamp>& due) {
  const Resident& resident = residents_[entry.destination];
  const ProfileSpec& profile = *resident.bound->profile;
  const Method& method = method_of(entry);
  std::size_t profile_index = 0;
  while (options_.profiles[profile_index] != &profile) ++profile_index;
  auto& uses = row_use_[profile_index][entry.state.method];

  const Transition* row = find_row(method.rows, entry.state.state, signal);
  if (row == nullptr) return nullptr;
  ++uses[static_cast<std::size_t>(row - method.rows.data())];
  bool exhausted = false;
  if (row->verb == Do::kRetry) {
    if (const On way = poison_signal(entry); way != On::kFailed) {
      const Transition* out = find_row(method.rows, entry.state.state, way);
      if (out == nullptr) out = find_row(method.rows, entry.state.state, On::kExhausted);
      ++uses[static_cast<std::size_t>(out - method.rows.data())];
      return out;
    }
    due = retry_due(step, entry, reading);
    exhausted = !due;
  } else if (row->verb == Do::kNextMethod) {
    exhausted = entry.state.method + std::size_t{1} >= profile.methods.size();
  }
  if (!exhausted) return row;
  const bool reach =
      row->verb == Do::kRetry && resident.bound->policy.rule(entry.state.failure).parks;
  const Transition* last =
      reach ? find_row(method.rows, entry.state.state, On::kOutOfReach) : nullptr;
  if (last == nullptr) last = find_row(method.rows, entry.state.state, On::kExhausted);
  POSTRIDER_CHECK(last != nullptr);
  ++uses[static_cast<std::size_t>(last - method.rows.data())];
  return last;
}

void Engine::Impl::apply(Step& step, Slot slot, On signal, const Reading* reading) {
  Entry& entry = entries_[slot];
  const Slot resident = entry.destination;
  if (signal == On::kTimedOut && reading == nullptr && phase_of(entry) == Phase::kInFlight) {
    entry.state.failure = FailureClass::kTimeout;
    entry.state.certainty = Certainty::kUnknown;
    set_reason(entry, "no answer in time");
    note_failure(step.now, entry);
    strike_gates(step, slot);
    if (entry.kind == AttemptKind::kProbe && entry.attempt.is_set() &&
        entry.state.probes_failed < UINT16_MAX)
      ++entry.state.probes_failed;
    if (planted(Bug::kSlotLeakedOnTimeout)) entry.holds_gates = false;
  }
  const Transition* told = find_row(method_of(entry).rows, entry.state.state, signal);
  if (signal == On::kTimedOut && reading == nullptr && told != nullptr &&
      told->verb == Do::kRetry && phase_of(entry) == Phase::kAwaiting) {
    entry.state.failure = FailureClass::kOther;
    entry.state.certainty = Certainty::kUnknown;
    set_reason(entry, "no news in time");
    note_failure(step.now, entry);
    strike_gates(step, slot);
  }
  std::optional<Timestamp> due;
  const Transition* row = next_row(step, entry, signal, reading, due);
  if (row == nullptr || row->verb == Do::kIgnore) {
    ++tallies_.ignored_signals;
    if (row != nullptr && row->raise != Raise::kNone) raise(step, resident, *row, entry);
    if (signal == On::kCancelled && row != nullptr && !entry.state.cancel_wanted &&
        method_of(entry).cancels_later) {
      // Raised again in its next live state, also after a crash. A visitor stays one: whoever
      // brings it in for good reads the record, and arms its timer and takes its gates.
      entry.state.cancel_wanted = true;
      store_awake(step, entry);
    }
    if (entry.dirty) store_dirty(step, entry);
    return;
  }
  // The route hears of it first: a message that goes to sleep must know whether the way is closed.
  raise(step, resident, *told, entry);
  const RetryRule& rule = residents_[resident].bound->policy.rule(entry.state.failure);
  if (reading != nullptr && reading->retry_after && rule.holds_route &&
      !planted(Bug::kRetryAfterIgnored)) {
    hold_route(step, resident, step.now + std::min(*reading->retry_after, rule.retry_after_max),
               entry.reason_text());
  }
  const Phase from = phase_of(entry);
  const Phase to = residents_[resident].bound->profile->states[row->to].phase;
  if ((from == Phase::kInFlight || from == Phase::kAwaiting) && to != Phase::kInFlight &&
      to != Phase::kAwaiting)
    note_attempt(step, entry, to, signal, reading);
  if (row != told && told->verb == Do::kRetry && poison_signal(entry) != On::kFailed)
    let_others_pass(step, entry, *row);
  const bool probes_again = row->verb == Do::kProbe && row->to == entry.state.state;
  if (row->verb != Do::kNextMethod && !probes_again) leave_step(step, entry, row->to, row->on);
  carry_out(step, slot, *row, due);
}

void Engine::Impl::raise(Step& step, Slot resident, const Transition& row, const Entry& entry) {
  switch (row.raise) {
    case Raise::kNone: return;
    case Raise::kOk: return tell_health(step, resident, HealthOn::kOk, "delivered");
    case Raise::kFail:
      if (residents_[resident].bound->policy.rule(entry.state.failure).strikes) {
        return tell_health(step, resident, HealthOn::kFail, entry.reason_text());
      }
      if (entry.state.certainty == Certainty::kAnswered)
        tell_health(step, resident, contact(resident), entry.reason_text());
      return;
    case Raise::kGone: return tell_health(step, resident, HealthOn::kGone, entry.reason_text());
    case Raise::kSeen: return tell_health(step, resident, contact(resident), entry.reason_text());
  }
}

void Engine::Impl::carry_out(Step& step, Slot slot, const Transition& row,
                             std::optional<Timestamp> due) {
  Entry& entry = entries_[slot];
  switch (row.verb) {
    case Do::kIgnore: return;
    case Do::kStartAttempt: return start_attempt(step, slot, row.to, AttemptKind::kSend);
    case Do::kProbe: return start_probe(step, slot, row.to);
    case Do::kFindRoute: return start_attempt(step, slot, row.to, AttemptKind::kFindRoute);
    case Do::kNextMethod:
      ++entry.state.method;
      entry.state.attempts = entry.state.held_back = 0;
      return enter(
          step, slot,
          residents_[entry.destination].bound->profile->methods[entry.state.method].initial, {});
    case Do::kAwait:
    case Do::kRelease: return enter(step, slot, row.to, {});
    case Do::kRetry:
      ++tallies_.retries[static_cast<std::size_t>(entry.state.failure)];
      return enter(step, slot, row.to, due);
    case Do::kPark: return enter(step, slot, row.to, {});
    case Do::kComplete:
    case Do::kDeadLetter:
    case Do::kDrop:
    case Do::kMarkIndeterminate:
      if (!entry.reason && row.verb != Do::kComplete) set_reason(entry, row.why);
      return end(step, slot, row.to);
  }
}

// Gates held from the cold space would be forgotten by a restart until the window comes to the
// message, so a record says who holds some. Hot ones are found by the scan of the hot space.
void Engine::Impl::mark_holding(Step& step, Entry& entry, bool holding) {
  if (entry.hot || entry.marked == holding) return;
  entry.marked = holding;
  if (holding) {
    step.out.writes.put(keys::holding(entry.message.id), std::string_view());
  } else {
    step.out.writes.remove(keys::holding(entry.message.id));
  }
}

// A message that was read for one event stays, or ends: it no longer sleeps, and a FIFO lane no
// longer sleeps with it.
void Engine::Impl::settle_visitor(Entry& entry) {
  if (!std::exchange(entry.visitor, false)) return;
  // The restore has not come to it yet and will not look at it again.
  if (keeps_gates(entry)) occupy_gates(entry);
  hold_lasting(entry.destination, entry.message, entry.state);
  wake_sleeper(entry.message.id);
  residents_[entry.destination].the_lane(entry.message.id.lane()).asleep = false;
}

// Everything that a change of state entails. The message is live before and after.
void Engine::Impl::enter(Step& step, Slot slot, StateIndex to, std::optional<Timestamp> due) {
  Entry& entry = entries_[slot];
  const Resident& resident = residents_[entry.destination];
  const StateRow& target = resident.bound->profile->states[to];
  const Phase from = phase_of(entry);
  settle_visitor(entry);
  timers_.cancel(std::exchange(entry.timer, 0));
  entry.probes_later = false;
  if (target.phase != Phase::kInFlight) {
    leave_attempt(step, slot);
    if (!target.keeps_gates) give_back_gates(step, slot);
  }
  if (from == Phase::kParked) unpark(step, entry.message.id);
  if (target.phase == Phase::kBackoff) abandon(step, entry);
  const bool durable = method_of(entry).durable_intent;
  const bool keeps = (target.phase == Phase::kAwaiting && target.keeps_gates) ||
                     (target.phase == Phase::kInFlight && durable);
  // Without an intent a first attempt leaves no record. After a crash it is made again, and its
  // message is the first of its order again: nothing that waits behind it can have started.
  const bool recorded = durable || entry.marked || target.phase != Phase::kInFlight;
  mark_holding(step, entry, (keeps && entry.holds_gates) || (entry.lasts() && recorded));
  const bool next_method =
      target.phase == Phase::kQueued && entry.state.method != entry.message.method;
  if (state_of(entry).revives && target.phase == Phase::kQueued) refresh_attempts(step, entry);
  set_state(entry, to);
  const bool waited = from == Phase::kBackoff && target.phase == Phase::kQueued;
  entry.state.since = waited ? back_off_end(step, entry) : step.now;
  const Timestamp was_due = entry.state.due;
  entry.state.due = due ? *due : timer_due(step, entry, target);
  const bool starts = target.phase == Phase::kInFlight;
  // A record that says otherwise would take the message back after a crash, or when its window goes
  // to disk.
  const bool early = from == Phase::kBackoff && was_due > step.now;
  const bool released = from == Phase::kInFlight && target.phase == Phase::kQueued;
  const bool told_otherwise =
      entry.stored && (from == Phase::kAwaiting || from == Phase::kParked || early);

  switch (target.phase) {
    case Phase::kBackoff: return sleep(step, slot);
    case Phase::kParked: return park(step, slot);
    case Phase::kAwaiting:
    case Phase::kInFlight:
    case Phase::kQueued: break;
    case Phase::kDelivered:
    case Phase::kDead:
    case Phase::kExpired:
    case Phase::kCancelled:
    case Phase::kIndeterminate: POSTRIDER_CHECK(false);
  }
  if (target.phase == Phase::kAwaiting || (durable && starts) || told_otherwise || next_method ||
      released || entry.dirty) {
    store_awake(step, entry);
  }
  if (!entry.hot && !entry.due_entry.is_set()) {
    cover(step, entry.destination, residents_[entry.destination].the_lane(entry.message.id.lane()),
          entry.message.id);
  }
  const bool extended = from == Phase::kInFlight && target.phase == Phase::kAwaiting &&
                        entry.kind == AttemptKind::kProbe;
  if (entry.state.due.is_set() && !(planted(Bug::kExtensionForgotten) && extended))
    entry.timer =
        timers_.arm(entry.state.due, Timer{.kind = TimerKind::kState, .id = entry.message.id});
  if (target.phase == Phase::kQueued) {
    make_ready(slot);
  } else {
    unready(slot);
  }
  if (target.phase == Phase::kInFlight || raise_remembered(step, slot)) return;
  if (!awake(resident, step.now)) spill_all(step, entry.destination);
}

Timestamp Engine::Impl::timer_due(const Step& step, const Entry& entry,
                                  const StateRow& target) const {
  const Policy& policy = residents_[entry.destination].bound->policy;
  if (target.timer == TimeOut::kNone || target.timer == TimeOut::kRetry) return {};
  if (target.timer != TimeOut::kPoll) return step.now + policy.time_out(target.timer);
  const bool first = entry.kind == AttemptKind::kSend && policy.poll.first > Duration(0);
  const Duration age = step.now - entry.message.accepted - later(entry.message);
  Duration wait = std::max(first ? policy.poll.first : policy.poll.wait_at(age),
                           policy.poll.wait_after(entry.state.probes_failed));
  if (planted(Bug::kAskedTooOften)) wait = policy.poll.wait_at(Duration(0));
  if (entry.details) wait = std::max(wait, std::exchange(entry.details->patience, Duration(0)));
  return step.now + std::max(wait, Duration(1));
}

// What a row ignored earlier, because an attempt was open, counts now.
bool Engine::Impl::raise_remembered(Step& step, Slot slot) {
  const Entry& entry = entries_[slot];
  const MessageId id = entry.message.id;
  const StateIndex state = entry.state.state;
  if (is_expired(entry.message, step.now) && !planted(Bug::kExpiredMessageSent)) {
    apply(step, slot, On::kExpired, nullptr);
  } else if (entry.state.cancel_wanted) {
    apply(step, slot, On::kCancelled, nullptr);
  }
  const auto same = by_id_.find(id);
  return same == by_id_.end() || entries_[same->second].state.state != state;
}

void Engine::Impl::leave_attempt(Step& step, Slot slot, bool ended) {
  Entry& entry = entries_[slot];
  if (!entry.attempt.is_set()) return;
  if (entry.tries_gate) give_up_trial(step, entry);
  step.out.actions.emplace_back(AbortAttempt{entry.attempt, ended});
  const auto open = by_attempt_.find(entry.attempt.value());
  POSTRIDER_CHECK(open != by_attempt_.end());
  tallies_.attempt_took.add(step.now - open->second.started);
  by_attempt_.erase(open);
  entry.attempt = AttemptId();
  attempt_closed(entry);
}

void Engine::Impl::start_attempt(Step& step, Slot slot, StateIndex to, AttemptKind kind) {
  leave_attempt(step, slot);
  Entry& entry = entries_[slot];
  Resident& resident = residents_[entry.destination];
  const bool intent = kind == AttemptKind::kSend && method_of(entry).durable_intent;
  if (kind == AttemptKind::kSend) {
    if (entry.state.attempts < UINT16_MAX) ++entry.state.attempts;
    // The first one ever, or the first after a revival.
    const bool anew = entry.state.attempts == 1 && entry.state.method == entry.message.method;
    if (!entry.state.first_attempt.is_set() || anew) {
      entry.state.first_attempt = step.now;
      tallies_.until_sent.add(step.now - entry.message.accepted);
      entry.state.held_before = held_time(resident.route, step.now);
    }
    entry.state.probes_failed = 0;
    if (entry.details && !entry.details->past.attempts.empty())
      entry.details->past.attempts.begin(step.now, limits_.attempts_kept_max);
    take_gates(step, entry);
  }
  entry.kind = kind;
  WireRequest request;
  if (intent) request = encode_intent(step, entry, to);
  enter(step, slot, to, {});
  entry.attempt = AttemptId(++last_attempt_);
  by_attempt_.emplace(entry.attempt.value(), OpenAttempt{slot, step.now});
  attempt_opened(entry);
  ++tallies_.attempts;
  if (kind == AttemptKind::kProbe) ++tallies_.probes;
  if (has_gates(entry.message)) begin_trial(step, entry);
  if (!intent) request = resident.bound->profile->wire.encode(facts_of(step, entry), kind);
  request.time_out = entry.state.due.is_set() ? entry.state.due - step.now : Duration(0);
  step.out.actions.emplace_back(StartAttempt{entry.attempt, entry.message.id, std::move(request)});
}

// The record of the attempt is written before its bytes leave, so the bytes are made first. As long
// as an earlier attempt may still arrive they are made as of that one's time, and are the same.
WireRequest Engine::Impl::encode_intent(Step& step, Entry& entry, StateIndex to) {
  const Bound& bound = *residents_[entry.destination].bound;
  Intent& intent = entry.more().intent;
  const bool again = intent.open && intent.hash != 0;
  if (!again || planted(Bug::kResendRestamped))
    intent = {.at = step.now, .wall = step.wall, .hash = again ? intent.hash : 0, .open = true};
  State sending = entry.state;
  sending.state = to;
  sending.since = step.now;
  const Facts facts{entry.message, sending,
                    bound.config,  bound.policy,
                    intent.at,     intent.wall,
                    entry.notes(), &intent,
                    nullptr,       {bound.prepared.get(), parsed_of(entry)},
                    &ids_};
  WireRequest request = bound.profile->wire.encode(facts, AttemptKind::kSend);
  const std::uint64_t hash = hash_of(request);
  if (again && intent.hash != hash) {
    ++tallies_.altered_resends;
    LogEntry altered;
    altered.kind = LogEntry::Kind::kAltered;
    altered.at = step.now;
    altered.id = entry.message.id;
    altered.attempts = entry.state.attempts;
    altered.reason = "a resend is not the same bytes as the attempt that may still arrive";
    receipts_.note(std::move(altered));
  }
  intent.hash = hash;
  Aftermath left;
  if (bound.profile->after != nullptr)
    left = bound.profile->after(facts, {.kind = Moment::Kind::kStarted});
  if (planted(Bug::kStartNotTold)) left = {.names = std::move(left.names)};
  write_nested(step, *bound.profile, entry.message.id, left.submits);
  give_names(step, *bound.profile, {entry.message.id, entry.state.attempts}, left.names, step.now);
  if (left.notes) entry.more().notes = std::move(*left.notes);  // `facts` look at the old ones
  return request;
}

// A question that follows a failed one waits, so that a far side in trouble is not asked for ever.
void Engine::Impl::start_probe(Step& step, Slot slot, StateIndex to) {
  Entry& entry = entries_[slot];
  const PollRule& rule = residents_[entry.destination].bound->policy.poll;
  Duration wait{0};
  const bool again = phase_of(entry) == Phase::kInFlight && entry.kind == AttemptKind::kProbe;
  if (again) wait = rule.wait_after(entry.state.probes_failed);
  if (entry.details) wait = std::max(wait, std::exchange(entry.details->patience, Duration(0)));
  if (has_gates(entry.message)) wait = std::max(wait, shut_for(entry, step.now));
  if (wait <= Duration(0)) return start_attempt(step, slot, to, AttemptKind::kProbe);
  leave_attempt(step, slot);
  entry.kind = AttemptKind::kProbe;
  enter(step, slot, to, step.now + wait);
  entry.probes_later = true;
}

void Engine::Impl::give_back_gates(Step& step, Slot slot) {
  Entry& entry = entries_[slot];
  if (!entry.holds_gates) return;
  entry.holds_gates = false;
  Resident& resident = residents_[entry.destination];
  resident.gate.give_back();
  leave_group(step, entry);
  ring(entry.destination);
  const auto gates = entry.message.gates;
  const std::uint8_t lasting = entry.message.lasting;
  for (std::size_t i = 0; i < kGatesMax; ++i) {
    const GateName name = gates[i];
    if (name == 0 || (lasting >> i & 1) != 0) continue;
    const auto gate = gates_.find(name);
    POSTRIDER_CHECK(gate != gates_.end());
    give_back_one(step, *gate, entry.message.id);
  }
}

void Engine::Impl::store_state(Step& step, Entry& entry) {
  const std::string key = entry.hot ? keys::hot(entry.message.id.sequence(), keys::Part::kState)
                                    : keys::cold(entry.message.id, keys::Part::kState);
  if (planted(Bug::kNotesForgotten) && entry.details) entry.details->notes.clear();
  if (entry.details) {
    const Details& more = *entry.details;
    const std::string_view reason = entry.reason_text();
    step.out.writes.put(
        key, encode_state(entry.state, reason, more.intent, more.notes,
                          encode_attempt_history(more.past, {entry.state.since, reason})));
  } else {
    step.out.writes.put(key, encode_state(entry.state, entry.reason_text()));
  }
  entry.stored = true;
  entry.dirty = false;
  record_state(entry, entry.state.state);
}

// Its record, and nothing else about it: what sleeps or is parked goes on doing so.
void Engine::Impl::store_dirty(Step& step, Entry& entry) {
  const bool sleeps = entry.due_entry.is_set() && entry.state.due == entry.due_entry;
  if (sleeps || phase_of(entry) == Phase::kParked) return store_state(step, entry);
  store_awake(step, entry);
}

// The record of a message that does not sleep names no due entry, so its lane's head leads to it.
void Engine::Impl::store_awake(Step& step, Entry& entry) {
  const MessageId id = entry.message.id;
  store_state(step, entry);
  if (entry.due_entry.is_set()) {
    step.out.writes.remove(
        keys::due(std::exchange(entry.due_entry, {}), keys::DueKind::kAttempt, id));
  }
  Resident& resident = residents_[entry.destination];
  if (!entry.hot) cover(step, entry.destination, resident.the_lane(id.lane()), id);
}

void Engine::Impl::forget_state(Step& step, Entry& entry) {
  if (!entry.stored) return;
  step.out.writes.remove(entry.hot ? keys::hot(entry.message.id.sequence(), keys::Part::kState)
                                   : keys::cold(entry.message.id, keys::Part::kState));
  entry.stored = false;
  record_state(entry, initial_state(entry));
}

TimerHandle Engine::Impl::put_due(Step& step, Timestamp at, keys::DueKind kind, MessageId id) {
  step.out.writes.put(keys::due(at, kind, id), std::string_view());
  if (at >= due_loaded_until_) return 0;  // its page comes later
  const TimerKind timer = kind == keys::DueKind::kAttempt  ? TimerKind::kDueAttempt
                          : kind == keys::DueKind::kExpiry ? TimerKind::kDueExpiry
                                                           : TimerKind::kDueOpening;
  return timers_.arm(at, Timer{.kind = timer, .id = id});
}

bool Engine::Impl::move_to_cold(Step& step, Slot slot) {
  Entry& entry = entries_[slot];
  if (!entry.hot) return false;
  const bool stored = entry.stored;
  forget_state(step, entry);
  step.out.writes.put_once(keys::cold(entry.message.id, keys::Part::kMessage),
                           entry.message.record);
  step.out.writes.remove_once(keys::hot(entry.message.id.sequence(), keys::Part::kMessage));
  entry.hot = false;
  ++recorded_[profile_number(entry.destination)][entry.recorded];
  count_cold(entry.destination, entry.recorded, true);
  residents_[entry.destination].the_lane(entry.message.id.lane()).cold.push_back(entry.message.id);
  if (entry.lasts()) mark_holding(step, entry, true);
  return stored;
}

// Back-off: in an unordered lane the message leaves the window; in a FIFO lane it blocks on
// purpose.
void Engine::Impl::sleep(Step& step, Slot slot) {
  Entry& entry = entries_[slot];
  if (planted(Bug::kOrderOvertaken) && entry.message.ordered)
    release_lasting(step, entry.message.id);
  Resident& resident = residents_[entry.destination];
  Lane& lane = resident.the_lane(entry.message.id.lane());
  const MessageId id = entry.message.id;
  const bool is_short = entry.state.due - step.now <= limits_.hot_sleep_max;
  const bool fifo = resident.bound->policy.lane_kind(lane.number) == LaneKind::kFifo;
  unready(slot);
  if (raise_remembered(step, slot)) return;
  if (fifo && is_short) {
    store_awake(step, entry);
    entry.timer = timers_.arm(entry.state.due, Timer{.kind = TimerKind::kState, .id = id});
    return;
  }
  if (!fifo && entry.hot && is_short && hot_sleepers_.size() < limits_.hot_sleepers_max) {
    store_state(step, entry);
    put_to_sleep(entry.destination, id, entry.state.state, entry.message.accepted);
    timers_.arm(entry.state.due, Timer{.kind = TimerKind::kWakeHot, .id = id});
    return forget_entry(step, slot);
  }
  move_to_cold(step, slot);
  store_state(step, entry);
  if (entry.due_entry.is_set())
    step.out.writes.remove(keys::due(entry.due_entry, keys::DueKind::kAttempt, id));
  put_due(step, entry.state.due, keys::DueKind::kAttempt, id);
  if (fifo) {
    cover(step, entry.destination, lane, id);
    lane.gains(id);
    lane.asleep = true;
    spill(step, entry.destination, lane);
    lane.asleep = lane.cursor == id;  // what was revived in front of it does not wait for it
  }
  forget_entry(step, slot);
}

void Engine::Impl::end(Step& step, Slot slot, StateIndex to) {
  Entry& entry = entries_[slot];
  const ProfileSpec& profile = *residents_[entry.destination].bound->profile;
  const Phase phase = profile.states[to].phase;
  POSTRIDER_CHECK(is_end(phase));
  const MessageId id = entry.message.id;
  settle_visitor(entry);
  if (phase_of(entry) == Phase::kParked) unpark(step, id);
  mark_holding(step, entry, false);
  forget_state(step, entry);
  step.out.writes.remove_once(entry.hot ? keys::hot(id.sequence(), keys::Part::kMessage)
                                        : keys::cold(id, keys::Part::kMessage));
  if (!entry.hot && !planted(Bug::kCensusForgotten))
    count_cold(entry.destination, entry.recorded, false);
  if (entry.due_entry.is_set())
    step.out.writes.remove(keys::due(entry.due_entry, keys::DueKind::kAttempt, id));
  if (entry.message.expires.is_set()) {
    step.out.writes.remove(keys::due(entry.message.expires, keys::DueKind::kExpiry, id));
    timers_.cancel(entry.expiry_timer);
  }
  if (entry.state.lost) tell_lost(entry, phase);
  EndRecord record;
  record.id = id;
  record.phase = phase;
  record.cause = phase == Phase::kDelivered ? FailureClass::kNone
                 : phase == Phase::kExpired ? FailureClass::kExpired
                                            : entry.state.failure;
  record.attempts = entry.state.attempts;
  record.accepted = entry.message.accepted;
  record.at = step.now;
  record.origin = entry.message.origin;
  if (phase != Phase::kDelivered) record.reason = entry.reason_text();
  record.notes = entry.notes();
  if (entry.details)
    record.past = encode_attempt_history(entry.details->past, {record.at, record.reason});
  last_end_ = phase;
  note_end(step, entry, phase);
  if (profile.after != nullptr) {
    Aftermath left =
        profile.after(facts_of(step, entry), {.kind = Moment::Kind::kEnded, .end = to});
    if (left.notes) record.notes = std::move(*left.notes);
    if (!left.outcome.empty()) count(tallies_.outcomes, left.outcome);
    write_nested(step, profile, id, left.submits);
    give_names(step, profile, {id, entry.state.attempts}, left.names, step.now);
  }
  const bool forgets = planted(Bug::kHistoryForgotten) && phase == Phase::kCancelled;
  const bool keeps = leaves_letter(phase) ||
                     (residents_[entry.destination].bound->policy.keeps_history && !forgets);
  if (const std::uint64_t body = entry.message.shared.id; body != 0) {
    if (leaves_letter(phase)) {
      step.out.writes.put(keys::body_letter(receipts_.running(Kept::kDead), body, id),
                          std::string_view());
    } else {
      bodies_.release(body);
    }
  }
  receipts_.end(record, keeps ? &entry.message : nullptr, step.out.writes);
  leave_attempt(step, slot, true);
  give_back_gates(step, slot);
  if (entry.message.lasting != 0) release_lasting(step, id);
  forget_entry(step, slot);
}

}  // namespace postrider
