#include "postrider/core/delivery/delivery.h"

#include <algorithm>

#include "postrider/base/check.h"
#include "postrider/base/planted.h"

namespace postrider::core {
namespace {

// Whether the followers of a batch go back to their lanes when this becomes of its leader.
bool gives_back(Do verb) {
  switch (verb) {
    case Do::kRelease:
    case Do::kPark:
    case Do::kNextMethod:
    case Do::kDeadLetter:
    case Do::kDrop: return true;
    case Do::kIgnore:
    case Do::kStartAttempt:
    case Do::kFindRoute:
    case Do::kAwait:
    case Do::kProbe:
    case Do::kRetry:
    case Do::kComplete:
    case Do::kMarkIndeterminate: return false;
  }
  POSTRIDER_CHECK(false);
}

}  // namespace

Facts Delivery::facts_of(const Step& step, const Entry& entry, Cabinet* cabinet) const {
  const Resident& resident = residents_[entry.destination];
  const Bound& bound = *resident.bound;
  return {entry.message,
          entry.state,
          resident.facts(),
          bound.policy,
          step.now,
          step.wall,
          entry.notes(),
          window_.intent_of(entry),
          entry.details ? &entry.details->past.trail : nullptr,
          {bound.prepared.get(), parsed_of(entry)},
          &ids_,
          options_.secrets.get(),
          step.doubt,
          window_.later(entry.message),
          receipts_.wall().made_in_doubt(entry.message.accepted),
          &resident.route,
          nullptr,
          cabinet};
}

// What cannot be read though it was admitted stays without; the profile sees that.
const Opaque* Delivery::parsed_of(const Entry& entry) const {
  if (!std::exchange(entry.read, true) && entry.parsed == nullptr) {
    const ProfileSpec& profile = *residents_[entry.destination].bound->profile;
    auto parsed = parse_message(profile, entry.message.attributes, entry.message.body);
    if (parsed) entry.parsed = std::move(*parsed);
  }
  return entry.parsed.get();
}

// For methods that keep a trail; other methods pay for this look only.
void Delivery::leave_step(const Step& step, Entry& entry, StateIndex to, On on) {
  if (!window_.method_of(entry).trail || (planted(Bug::kStepLost) && on == On::kTimedOut)) return;
  const Phase phase = residents_[entry.destination].bound->profile->states[to].phase;
  const bool failed = phase == Phase::kBackoff || (is_end(phase) && phase != Phase::kDelivered);
  const bool waited = window_.phase_of(entry) == Phase::kBackoff && phase == Phase::kQueued;
  add_step(entry.more().past.trail, {.at = waited ? back_off_end(step, entry) : step.now,
                                     .state = to,
                                     .on = on,
                                     .reason = failed ? std::string(entry.reason_text()) : ""});
}

// Usually no record is written when a back-off is over, so the record from before tells when that
// was: it is the same time when a crash lets it be over once more.
Timestamp Delivery::back_off_end(const Step& step, const Entry& entry) {
  return entry.state.due.is_set() ? std::min(entry.state.due, step.now) : step.now;
}

std::optional<Timestamp> Delivery::retry_due(Step& step, const Entry& entry,
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

const Transition* Delivery::next_row(Step& step, Entry& entry, On signal, const Reading* reading,
                                     std::optional<Timestamp>& due) {
  const Resident& resident = residents_[entry.destination];
  const ProfileSpec& profile = *resident.bound->profile;
  const Method& method = window_.method_of(entry);
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

void Delivery::apply(Step& step, Slot slot, On signal, const Reading* reading) {
  Entry& entry = window_[slot];
  if (window_.is_claimed(entry)) return remember(step, entry, signal);
  const Slot resident = entry.destination;
  if (signal == On::kTimedOut && reading == nullptr &&
      window_.phase_of(entry) == Phase::kInFlight) {
    entry.state.failure = FailureClass::kTimeout;
    entry.state.certainty = Certainty::kUnknown;
    window_.set_reason(entry, "no answer in time");
    note_failure(step.now, entry);
    gates_.strike_gates(step, slot);
    if (entry.kind == AttemptKind::kProbe && attempts_.is_open(entry) &&
        entry.state.probes_failed < UINT16_MAX)
      ++entry.state.probes_failed;
    if (planted(Bug::kSlotLeakedOnTimeout)) entry.holds_gates = false;
  }
  const Transition* told = find_row(window_.method_of(entry).rows, entry.state.state, signal);
  if (signal == On::kTimedOut && reading == nullptr && told != nullptr &&
      told->verb == Do::kRetry && window_.phase_of(entry) == Phase::kAwaiting) {
    entry.state.failure = FailureClass::kOther;
    entry.state.certainty = Certainty::kUnknown;
    window_.set_reason(entry, "no news in time");
    note_failure(step.now, entry);
    gates_.strike_gates(step, slot);
  }
  std::optional<Timestamp> due;
  const Transition* row = next_row(step, entry, signal, reading, due);
  if (row == nullptr || row->verb == Do::kIgnore) {
    ++tallies_.ignored_signals;
    if (row != nullptr && row->raise != Raise::kNone) raise(step, resident, *row, entry);
    if (signal == On::kCancelled && row != nullptr && !entry.state.cancel_wanted &&
        window_.method_of(entry).cancels_later) {
      // Raised again in its next live state, also after a crash. A visitor stays one: the
      // refill that brings it in for good reads the record, arms its timer and takes its gates.
      entry.state.cancel_wanted = true;
      records_.store_awake(step, entry);
    }
    if (entry.dirty) records_.store_dirty(step, entry);
    return;
  }
  // The route hears of it first: a message that goes to sleep must know whether the way is closed.
  // When nothing is left to try, that row speaks, if it has something to say.
  const bool spent = row != told && row->raise != Raise::kNone && !planted(Bug::kSpentNotTold);
  raise(step, resident, spent ? *row : *told, entry);
  const RetryRule& rule = residents_[resident].bound->policy.rule(entry.state.failure);
  if (reading != nullptr && reading->retry_after && rule.holds_route &&
      !planted(Bug::kRetryAfterIgnored)) {
    routes_.hold_route(step, resident,
                       step.now + std::min(*reading->retry_after, rule.retry_after_max),
                       entry.reason_text());
  }
  const Phase from = window_.phase_of(entry);
  const Phase to = residents_[resident].bound->profile->states[row->to].phase;
  if ((from == Phase::kInFlight || from == Phase::kAwaiting) && to != Phase::kInFlight &&
      to != Phase::kAwaiting)
    note_attempt(step, entry, to, signal, reading);
  if (row != told && told->verb == Do::kRetry && poison_signal(entry) != On::kFailed)
    let_others_pass(step, entry, *row);
  const bool probes_again = row->verb == Do::kProbe && row->to == entry.state.state;
  if (row->verb != Do::kNextMethod && !probes_again) leave_step(step, entry, row->to, row->on);
  carry_out(step, slot, *row, due, reading);
}

// A follower hears nothing while its batch is open: its expiry is looked at again when it is
// released, and so is a cancel, which is written down for that.
void Delivery::remember(Step& step, Entry& entry, On signal) {
  ++tallies_.ignored_signals;
  if (signal == On::kCancelled && !entry.state.cancel_wanted &&
      window_.method_of(entry).cancels_later) {
    entry.state.cancel_wanted = true;
    records_.store_awake(step, entry);
  }
  if (entry.dirty) records_.store_dirty(step, entry);
}

void Delivery::raise(Step& step, Slot resident, const Transition& row, const Entry& entry) {
  switch (row.raise) {
    case Raise::kNone: return;
    case Raise::kOk:
      routes_.note_delivery(step, resident);
      routes_.tell_health(step, resident, HealthOn::kOk, "delivered");
      return;
    case Raise::kFail:
      if (residents_[resident].bound->policy.rule(entry.state.failure).strikes) {
        const HealthChange change =
            routes_.tell_health(step, resident, HealthOn::kFail, entry.reason_text());
        if (change.became(Health::kDeep)) become_deep(step, resident);
        return;
      }
      if (entry.state.certainty == Certainty::kAnswered)
        routes_.tell_health(step, resident, residents_.contact(resident), entry.reason_text());
      return;
    case Raise::kGone:
      routes_.tell_health(step, resident, HealthOn::kGone, entry.reason_text());
      return;
    case Raise::kSeen:
      routes_.tell_health(step, resident, residents_.contact(resident), entry.reason_text());
      return;
  }
}

// An open batch is released: by the time that the route opens, other members may be worth sending.
// The leader, whose failure did it, is still in flight, and its row comes next. What waits is on
// disk already, and a sweep is on its way to lanes that are dropped.
void Delivery::become_deep(Step& step, Slot resident) {
  ++tallies_.deep_waits;
  if (residents_[resident].bound->policy.members_max == 0) return;
  batches_.begin_small(resident);
  if (residents_[resident].route.batch.is_open()) {
    give_batch_back(step, resident);
  } else {
    routes_.write_route(step, resident);
  }
}

// Ends a message that waits, without an attempt, as cancelled. False: it is on its way, or its
// table does not let it go.
bool Delivery::call_off(Step& step, Slot slot, std::string_view reason) {
  Entry& entry = window_[slot];
  const Phase phase = window_.phase_of(entry);
  const Transition* row =
      find_row(window_.method_of(entry).rows, entry.state.state, On::kCancelled);
  const bool waits = (phase == Phase::kQueued || phase == Phase::kBackoff) &&
                     !window_.is_claimed(entry) && !window_.leads(entry);
  if (!waits || row == nullptr || row->verb == Do::kIgnore) return false;
  window_.set_reason(entry, reason);
  apply(step, slot, On::kCancelled, nullptr);
  return true;
}

void Delivery::carry_out(Step& step, Slot slot, const Transition& row, std::optional<Timestamp> due,
                         const Reading* reading) {
  Entry& entry = window_[slot];
  if (window_.leads(entry) && gives_back(row.verb))
    give_batch_back(step, entry.destination, reading != nullptr && reading->splits);
  if (window_.state_of(entry).refreshes && row.to != entry.state.state)
    refresh_attempts(step, entry);
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
      if (!entry.reason && row.verb != Do::kComplete) window_.set_reason(entry, row.why);
      return end_members(step, slot, row.to, row.on, reading);
  }
}

// Everything that a change of state entails. The message is live before and after.
void Delivery::enter(Step& step, Slot slot, StateIndex to, std::optional<Timestamp> due) {
  Entry& entry = window_[slot];
  const Resident& resident = residents_[entry.destination];
  const StateRow& target = resident.bound->profile->states[to];
  const Phase from = window_.phase_of(entry);
  if (window_.leads(entry)) residents_[entry.destination].leader_sleeps = false;
  settle_visitor(entry);
  timers_.cancel(std::exchange(entry.timer, 0));
  if (entry.waits == Waits::kForProbe) entry.waits = Waits::kNowhere;
  if (target.phase != Phase::kInFlight) {
    leave_attempt(step, slot);
    if (!target.keeps_gates) gates_.give_back_gates(step, slot);
    // News of an attempt that a crash forgot: the far side has it, and it takes up its place. News
    // without a name goes to the holder of a shared gate, the message whose call is open.
    if (target.keeps_gates && target.phase == Phase::kAwaiting && !entry.holds_gates &&
        !gates_.has_gates(entry.message))
      gates_.occupy_gates(entry);
  }
  if (from == Phase::kParked) unpark(step, entry.message.id);
  if (target.phase == Phase::kBackoff) abandon(step, entry);
  const bool durable = window_.method_of(entry).durable_intent;
  const bool keeps = (target.phase == Phase::kAwaiting && target.keeps_gates) ||
                     (target.phase == Phase::kInFlight && durable);
  // Without an intent a first attempt leaves no record. After a crash it is made again, and its
  // message is the first of its order again: nothing that waits behind it can have started.
  const bool recorded = durable || entry.marked || target.phase != Phase::kInFlight;
  records_.mark_holding(step, entry, (keeps && entry.holds_gates) || (entry.lasts() && recorded));
  const bool next_method =
      target.phase == Phase::kQueued && entry.state.method != entry.message.method;
  if (window_.state_of(entry).revives && target.phase == Phase::kQueued)
    refresh_attempts(step, entry);
  census_.set_state(entry, to);
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
    records_.store_awake(step, entry);
  }
  if (!entry.hot() && !entry.due_entry.is_set()) {
    destinations_.cover(step, entry.destination,
                        residents_[entry.destination].the_lane(entry.message.id.lane()),
                        entry.message.id);
  }
  const bool extended = from == Phase::kInFlight && target.phase == Phase::kAwaiting &&
                        entry.kind == AttemptKind::kProbe;
  if (entry.state.due.is_set() && !(planted(Bug::kExtensionForgotten) && extended))
    entry.timer =
        timers_.arm(entry.state.due, Timer{.kind = TimerKind::kState, .id = entry.message.id});
  if (target.phase == Phase::kQueued) {
    window_.make_ready(step, slot);
  } else {
    window_.unready(slot);
  }
  if (target.phase == Phase::kInFlight || raise_remembered(step, slot)) return;
  if (!residents_.awake(resident, step.now)) records_.spill_all(step, entry.destination);
}

// A message that was read for one event stays, or ends: it no longer sleeps, and a FIFO lane no
// longer sleeps with it.
void Delivery::settle_visitor(Entry& entry) {
  if (!entry.visitor()) return;
  entry.waits = Waits::kNowhere;
  if (entry.message.key_size != 0) window_.keys().wake(entry.message);
  // The restore has not come to it yet and will not look at it again.
  if (window_.keeps_gates(entry)) gates_.occupy_gates(entry);
  gates_.hold_lasting(entry.destination, entry.message, entry.state);
  sleepers_.wake_sleeper(entry.message.id);
  residents_[entry.destination].the_lane(entry.message.id.lane()).asleep = false;
}

Timestamp Delivery::timer_due(const Step& step, const Entry& entry, const StateRow& target) const {
  const Policy& policy = residents_[entry.destination].bound->policy;
  if (target.timer == TimeOut::kNone || target.timer == TimeOut::kRetry) return {};
  if (target.timer != TimeOut::kPoll) return step.now + policy.time_out(target.timer);
  const bool first = entry.kind == AttemptKind::kSend && policy.poll.first > Duration(0);
  const Duration age = step.now - entry.message.accepted - window_.later(entry.message);
  Duration wait = std::max(first ? policy.poll.first : policy.poll.wait_at(age),
                           policy.poll.wait_after(entry.state.probes_failed));
  if (planted(Bug::kAskedTooOften)) wait = policy.poll.wait_at(Duration(0));
  if (entry.details) wait = std::max(wait, std::exchange(entry.details->patience, Duration(0)));
  return step.now + std::max(wait, Duration(1));
}

// What a row ignored earlier, because an attempt was open, counts now, and so does a newer message
// of its key, which came meanwhile.
bool Delivery::raise_remembered(Step& step, Slot slot) {
  const Entry& entry = window_[slot];
  const MessageId id = entry.message.id;
  const StateIndex state = entry.state.state;
  if (window_.is_expired(entry.message, step.now) && !planted(Bug::kExpiredMessageSent)) {
    apply(step, slot, On::kExpired, nullptr);
  } else if (entry.state.cancel_wanted) {
    apply(step, slot, On::kCancelled, nullptr);
  } else if (entry.message.key_size != 0 && is_replaced(step, entry)) {
    end_replaced(step, slot);
  }
  const Slot same = window_.find(id);
  return same == kNoSlot || window_[same].state.state != state;
}

// Back-off: in an unordered lane the message leaves the window; in a FIFO lane it blocks on
// purpose.
void Delivery::sleep(Step& step, Slot slot) {
  Entry& entry = window_[slot];
  if (planted(Bug::kOrderOvertaken) && entry.message.ordered)
    gates_.release_lasting(step, entry.message.id);
  Resident& resident = residents_[entry.destination];
  Lane& lane = resident.the_lane(entry.message.id.lane());
  const MessageId id = entry.message.id;
  const bool is_short = entry.state.due - step.now <= limits_.hot_sleep_max;
  const bool fifo = resident.bound->policy.lane_kind(lane.number) == LaneKind::kFifo;
  window_.unready(slot);
  if (raise_remembered(step, slot)) return;
  const bool leads = window_.leads(entry);
  if (leads && (!is_short || !residents_.awake(resident, step.now)))
    records_.spill_claimed(step, entry.destination);
  if (fifo && is_short) {
    records_.store_awake(step, entry);
    entry.timer = timers_.arm(entry.state.due, Timer{.kind = TimerKind::kState, .id = id});
    return;
  }
  if (!fifo && entry.hot() && is_short && sleepers_.size() < limits_.hot_sleepers_max) {
    records_.store_state(step, entry);
    sleepers_.put_to_sleep(entry.destination, id, entry.state.state, entry.message.accepted);
    timers_.arm(entry.state.due, Timer{.kind = TimerKind::kWakeHot, .id = id});
    if (entry.message.key_size != 0) window_.keys().fall_asleep(entry.message);
    return window_.forget_entry(step, slot);
  }
  records_.move_to_cold(step, slot);
  records_.store_state(step, entry);
  resident.leader_sleeps = resident.leader_sleeps || leads;
  if (entry.due_entry.is_set())
    step.out.writes.remove(keys::due(entry.due_entry, keys::DueKind::kAttempt, id));
  due_.put_due(step, entry.state.due, keys::DueKind::kAttempt, id);
  if (fifo) {
    destinations_.cover(step, entry.destination, lane, id);
    lane.gains(id);
    lane.asleep = true;
    records_.spill(step, entry.destination, lane);
    lane.asleep = lane.cursor == id;  // what was revived in front of it does not wait for it
  }
  if (entry.message.key_size != 0) window_.keys().fall_asleep(entry.message);
  window_.forget_entry(step, slot);
}

void Delivery::leave_behind(Step& step, const Entry& entry, StateIndex to, EndRecord& record) {
  const ProfileSpec& profile = *residents_[entry.destination].bound->profile;
  OpenCabinet cabinet(cards_, step, profile.name, OpenCabinet::Reads::kMayNot);
  Aftermath left =
      profile.after(facts_of(step, entry, &cabinet), {.kind = Moment::Kind::kEnded, .end = to});
  if (left.notes) record.notes = std::move(*left.notes);
  if (!left.outcome.empty()) count(tallies_.outcomes, left.outcome);
  if (left.position != 0 && record.phase == Phase::kDelivered)
    routes_.note_position(step, entry.destination, left.position);
  cards_.write_at_end(step, profile, record.id, left.cards);
  nested_.write_nested(step, profile, record.id, left.submits);
  names_.give_names(step, profile, {record.id, entry.state.attempts}, left.names, step.now);
}

void Delivery::tell_waiters(Step& step, const ProfileSpec& profile, const EndRecord& end,
                            const std::string* outcome) {
  if (outcome != nullptr) cards_.write_outcome(step, profile, end.id, *outcome);
  if (waiters_.empty()) return;
  Answer answer;
  if (profile.keeps_outcomes)
    answer.view = EndView{end.phase, end.at, end.attempts, end.reason,
                          outcome == nullptr ? Blob() : Blob::copy_of(*outcome)};
  waiters_.tell(step, end.id, std::move(answer));
}

void Delivery::end(Step& step, Slot slot, StateIndex to, std::string_view remark,
                   const std::string* outcome) {
  Entry& entry = window_[slot];
  const ProfileSpec& profile = *residents_[entry.destination].bound->profile;
  const Phase phase = profile.states[to].phase;
  POSTRIDER_CHECK(is_end(phase));
  const MessageId id = entry.message.id;
  if (window_.leads(entry)) give_batch_back(step, entry.destination);
  batches_.forget_refused(step, entry);
  settle_visitor(entry);
  if (window_.phase_of(entry) == Phase::kParked) unpark(step, id);
  records_.mark_holding(step, entry, false);
  records_.forget_state(step, entry);
  step.out.writes.remove_once(entry.hot() ? keys::hot(id.sequence(), keys::Part::kMessage)
                                          : keys::cold(id, keys::Part::kMessage));
  if (!entry.hot() && !planted(Bug::kCensusForgotten)) {
    census_.count_cold(entry.destination, entry.recorded, false);
    census_.count_kept(entry.destination, entry.message, false);
  }
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
  record.reason =
      phase == Phase::kDelivered ? remark.substr(0, limits_.reason_bytes_max) : entry.reason_text();
  record.notes = entry.notes();
  if (entry.details)
    record.past = encode_attempt_history(entry.details->past, {record.at, record.reason});
  last_end_ = phase;
  note_end(step, entry, phase);
  if (profile.after != nullptr) leave_behind(step, entry, to, record);
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
  gates_.give_back_gates(step, slot);
  if (entry.message.lasting != 0) gates_.release_lasting(step, id);
  window_.forget_entry(step, slot);
  tell_waiters(step, profile, record, outcome);
}

}  // namespace postrider::core
