// Where a message from disk belongs, and what wakes it there.
#include "postrider/base/check.h"
#include "postrider/base/planted.h"
#include "postrider/core/refill/refill.h"

namespace postrider::core {

bool Refill::settle_in(Step& step, Slot slot, Message message,
                       const std::optional<StoredState>& stored, bool hot) {
  Resident& resident = residents_[slot];
  const MessageId id = message.id;
  if (stored) {
    const Phase phase = resident.bound->profile->states[stored->state.state].phase;
    const Timestamp due = window_.due_of(message, stored->state);
    if (phase == Phase::kParked) return false;
    const bool fifo = resident.bound->policy.lane_kind(id.lane()) == LaneKind::kFifo;
    const bool sleeps = (phase == Phase::kBackoff || phase == Phase::kQueued) && due > step.now;
    if (sleeps && hot && !fifo) {
      if (!sleepers_.contains(id)) timers_.arm(due, Timer{.kind = TimerKind::kWakeHot, .id = id});
      sleepers_.put_to_sleep(slot, id, stored->state.state, message.accepted);
      if (message.key_size != 0) window_.keys().fall_asleep(message);
      return false;
    }
    if (sleeps && !hot && !fifo) return false;  // its due entry wakes it
    if (sleeps && !hot && (phase == Phase::kQueued || due - step.now > limits_.hot_sleep_max)) {
      Lane& lane = resident.lane_or_new(id.lane());
      lane.asleep = true;
      lane.cold_ahead = true;
      if (due == stored->state.due) {
        due_.put_due(step, due, keys::DueKind::kAttempt, id);
      } else {
        timers_.arm(due, Timer{.kind = TimerKind::kDueAttempt, .id = id});  // its entry is earlier
      }
      return false;
    }
  }
  const Slot added = window_.add_entry(step, slot, std::move(message), hot);
  records_.count_adopted(window_[added], stored);
  if (window_[added].message.key_size != 0) settle_value(step, added);
  if (!hot) ++resident.the_lane(id.lane()).taken;
  resume_state(step, added);
  return true;
}

// It is the value of a key, and older ones may wait in memory.
void Refill::settle_value(Step& step, Slot slot) {
  const Entry& entry = window_[slot];
  window_.keys().wake(entry.message);
  delivery_.supersede(step, entry.destination, entry.message.id.lane(), entry.message.key(),
                      entry.message.id.sequence());
}

// Goes on where the state record says the message was.
void Refill::resume_state(Step& step, Slot slot) {
  Entry& entry = window_[slot];
  const StateRow& state = window_.state_of(entry);
  switch (state.phase) {
    case Phase::kQueued:
      window_.make_ready(step, slot);
      delivery_.raise_remembered(step, slot);
      return;
    case Phase::kBackoff:
      if (entry.state.due <= step.now) return delivery_.apply(step, slot, On::kDue, nullptr);
      entry.timer =
          timers_.arm(entry.state.due, Timer{.kind = TimerKind::kState, .id = entry.message.id});
      return;
    case Phase::kAwaiting:
      if (state.keeps_gates) gates_.occupy_gates(entry);
      entry.timer =
          timers_.arm(entry.state.due, Timer{.kind = TimerKind::kState, .id = entry.message.id});
      return;
    case Phase::kInFlight:
      if (window_.method_of(entry).durable_intent && !planted(Bug::kIntentForgotten)) {
        gates_.occupy_gates(entry);
        return delivery_.apply(step, slot, On::kTimedOut, nullptr);
      }
      census_.set_state(entry, window_.method_of(entry).initial);
      entry.state.due = Timestamp();
      window_.make_ready(step, slot);
      delivery_.raise_remembered(step, slot);
      return;
    case Phase::kParked:
    case Phase::kDelivered:
    case Phase::kDead:
    case Phase::kExpired:
    case Phase::kCancelled:
    case Phase::kIndeterminate: break;
  }
  POSTRIDER_CHECK(false);
}

// With `chore.all` its state went into quarantine, and nothing else knows of it: a parked message
// without its state would wait for ever, and so would the messages behind it in its order.
void Refill::wake_message(Step& step, const Chore& chore) {
  const std::optional<Blob>* parked = chore.all ? step.get(keys::parked(chore.id)) : nullptr;
  if (chore.all && parked == nullptr) return;
  if (window_.contains(chore.id)) {
    ++tallies_.stray_timers;
    return;
  }
  Lookup::Stored stored = lookup_.read_message(step, chore.id);
  if (!stored.known) return;
  if (stored.resident != kNoSlot && residents_[stored.resident].route.batch.leader == chore.id)
    residents_[stored.resident].leader_sleeps = false;
  if (parked != nullptr && parked->has_value() && stored.message && !stored.state)
    delivery_.unpark(step, chore.id);
  sleepers_.wake_sleeper(chore.id);
  Timestamp due;
  if (stored.message)
    due = stored.state ? window_.due_of(*stored.message, stored.state->state)
                       : stored.message->not_before;
  if (!stored.message || due > step.now) {
    ++tallies_.stray_timers;
    // Its entry is earlier than it means, and has fired; after a restart it does so again.
    if (stored.message && !stored.hot && (!stored.state || due != stored.state->state.due))
      timers_.arm(due, Timer{.kind = TimerKind::kDueAttempt, .id = chore.id});
    if (stored.message && stored.hot)
      settle_in(step, stored.resident, std::move(*stored.message), stored.state, true);
    if (!stored.message) rouse_lane(step, chore.id);
    return;
  }
  Resident& resident = residents_[stored.resident];
  Lane& lane = resident.lane_or_new(chore.id.lane());
  const bool fifo = resident.bound->policy.lane_kind(lane.number) == LaneKind::kFifo;
  if (stored.state &&
      resident.bound->profile->states[stored.state->state.state].phase == Phase::kParked)
    return;
  if (!stored.hot &&
      (fifo || lane.in_window(limits_.lane_waiters_max) >= resident.bound->policy.window_max ||
       !residents_.awake(resident, step.now))) {
    // No room, or the order is not ours to choose: the refill comes to it in its place.
    lane.asleep = false;
    lane.gains(chore.id);
    destinations_.cover(step, stored.resident, lane, chore.id);
    return step.look_at(stored.resident);
  }
  settle_in(step, stored.resident, std::move(*stored.message), stored.state, stored.hot);
  step.look_at(stored.resident);
}

void Refill::rouse_lane(Step& step, MessageId id) {
  const Slot resident = residents_.find(id.destination().value());
  if (resident == kNoSlot) return;
  Lane* lane = residents_[resident].lane(id.lane());
  if (lane == nullptr || !lane->asleep) return;
  lane->asleep = false;
  step.look_at(resident);
}

void Refill::expire_message(Step& step, const Chore& chore) {
  const Lookup::Located located = lookup_.locate(step, chore.id);
  if (!located.known) return;
  if (located.slot == kNoSlot || !window_.is_expired(window_[located.slot].message, step.now)) {
    ++tallies_.stray_timers;
    if (located.slot == kNoSlot) return;
    // Its entry is earlier than it means, and has fired; after a restart it does so again.
    Entry& entry = window_[located.slot];
    if (const Duration more = window_.later(entry.message); more > Duration(0))
      entry.expiry_timer = timers_.arm(entry.message.expires + more,
                                       Timer{.kind = TimerKind::kDueExpiry, .id = chore.id});
    return;
  }
  if (planted(Bug::kExpiredMessageSent)) return;
  window_[located.slot].expiry_timer = 0;
  delivery_.apply(step, located.slot, On::kExpired, nullptr);
}

}  // namespace postrider::core
