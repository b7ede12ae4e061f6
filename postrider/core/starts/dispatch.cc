#include <algorithm>

#include "postrider/base/check.h"
#include "postrider/base/planted.h"
#include "postrider/core/rules/lane_rules.h"
#include "postrider/core/starts/starts.h"

namespace postrider::core {

void Starts::ring(Slot slot) {
  Resident& resident = residents_[slot];
  if (resident.in_ring) return;
  resident.in_ring = true;
  resident.ring_tenant = planted(Bug::kTenantsIgnored) ? 0 : resident.bound->policy.tenant;
  ring_.add(slot, resident.ring_tenant, resident.bound->policy.tenant_weight);
}

// Every destination that something in this step was done to: perhaps it has room for a page from
// disk, may start something, or is idle and the cache may forget it. In the order of the looks.
void Starts::serve_looks(Step& step) {
  for (std::size_t i = 0; i < step.looks.size(); ++i) {
    const Slot slot = step.looks[i];
    if (!residents_[slot].bound) continue;  // it was taken away
    if (residents_[slot].route.health == Health::kCatchUp) end_catch_up(step, slot);
    refill_.maybe_refill(step, slot);
    ring(slot);
    residents_.touch(step, slot);
  }
  step.looks.clear();
}

// Whether no lane that starts in catch-up owes anything. What sleeps on disk for long is not owed
// now; what is parked waits for something else. A destination that has just come into memory may
// have hot sleepers of lanes that it does not know yet.
bool Starts::has_caught_up(const Resident& resident) const {
  const Policy& policy = resident.bound->policy;
  for (const Lane& lane : resident.lanes) {
    if (policy.starts_in_catch_up(lane.number) &&
        (lane.in_memory > 0 || lane.cold_ahead || lane.asleep))
      return false;
  }
  for (std::uint8_t lane = 0; lane < kLanes; ++lane) {
    if (policy.starts_in_catch_up(lane) && sleepers_.any_of_lane(resident.id, lane)) return false;
  }
  return true;
}

// A destination that was never reached has nothing to catch up with: all that waits is new to it.
void Starts::end_catch_up(Step& step, Slot slot) {
  const Resident& resident = residents_[slot];
  if (window_.restoring() || planted(Bug::kCatchUpNeverEnds)) return;
  if (resident.route.delivered_at.is_set() && !has_caught_up(resident)) return;
  if (!step.lacks()) {
    routes_.tell_health(step, slot, HealthOn::kDrained, "nothing is owed any more");
    return;
  }
  // This step writes nothing; another one will.
  step.out.chores.push_back({.kind = Chore::Kind::kWakeRoute, .destination = resident.id});
}

void Starts::settle(Step& step) {
  serve_looks(step);
  if (!step.lacks()) pump(step);
  POSTRIDER_CHECK(step.looks.empty());
}

void Starts::pump(Step& step) {
  if (window_.restoring() || held_) return;
  for (;;) {
    while (!step.freed_gates.empty()) {
      const GateName name = step.freed_gates.back();
      step.freed_gates.pop_back();
      serve_gate(step, name);
    }
    while (!step.freed_groups.empty()) {
      const GateName name = step.freed_groups.back();
      step.freed_groups.pop_back();
      serve_group(step, name);
    }
    serve_looks(step);
    if (attempts_.full()) return;
    if (ring_.empty() && !let_crowd_in()) return;
    const Slot slot = ring_.next();
    residents_[slot].in_ring = false;
    const std::uint64_t tenant = residents_[slot].ring_tenant;
    attempts_.take_cost();  // of starts that were not in turn
    ++tallies_.looks;
    if (start_next(step, slot)) ring(slot);
    ring_.charge(tenant, attempts_.take_cost());
    residents_.touch(step, slot);
  }
}

// One step forward for this destination: an attempt, an end, or a place in a gate's queue. False:
// nothing to do now.
bool Starts::start_next(Step& step, Slot slot) {
  Resident& resident = residents_[slot];
  if (resident.lanes.empty() || !residents_.startable(resident, step.now)) return false;
  if (resident.route.batch.is_open() && !planted(Bug::kSecondBatch))
    return go_on_with_batch(step, slot);
  // In catch-up the policy may have an order of lanes, and one waits until those before it have
  // been read.
  const LaneOrder& order = resident.bound->policy.catch_up_lanes;
  const bool behind = resident.route.health == Health::kCatchUp && order.any();
  const std::size_t count = behind ? order.used : resident.lanes.size();
  Timestamp rides = Timestamp::never();
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t index =
        behind ? resident.place_of(order.lanes[i]) : (resident.next_lane + i) % count;
    if (index >= resident.lanes.size()) continue;
    Lane& lane = resident.lanes[index];
    if (lane.first == kNoSlot && behind && lane.cold_ahead && !lane.asleep) return false;
    if (lane.first == kNoSlot) continue;
    if (const Timestamp until = rides_until(lane, resident); until > step.now) {
      rides = std::min(rides, until);
      continue;
    }
    const LaneKind kind = resident.bound->policy.lane_kind(lane.number);
    if (kind == LaneKind::kFifo && lane.in_memory != lane.ready) {
      const Slot holder = gates_.holder_behind(lane);
      if (holder == kNoSlot) continue;  // its head is on the way
      return try_start(step, holder);
    }
    if (window_.owes_before(lane, window_[lane.first]) && !planted(Bug::kColdOvertakesHot)) {
      refill_.maybe_refill(step, slot);  // what goes first is on disk
      continue;
    }
    const bool plain = kind == LaneKind::kFifo || !lane.may_have_lower();
    const Slot chosen = plain ? lane.first : whose_turn(step, slot, lane);
    if (chosen == kNoSlot) continue;  // it is read from disk
    const bool moved = plain ? start_lowest(step, slot, lane) : start_by_turns(step, slot, chosen);
    // A look without a free place is no turn: every other one is, after each start.
    if (moved && !behind)
      residents_[slot].next_lane = static_cast<std::uint8_t>((index + 1) % count);
    return moved;
  }
  if (rides != Timestamp::never()) residents_.look_later(slot, rides);
  return false;
}

// Until when the next message of this lane leaves with others only; unset: it may lead. The others
// of its lane wait with it, as it is the oldest of the highest priority. What cannot leave with
// others does not wait for them.
Timestamp Starts::rides_until(const Lane& lane, const Resident& resident) const {
  const LaneRule& rule = resident.bound->policy.lane_rule(lane.number);
  if (rule.rides <= Duration(0)) return {};
  const Entry& first = window_[lane.first];
  if (!batches_.is_batched(first) || gates_.has_gates(first.message)) return {};
  return first.message.accepted + window_.later(first.message) +
         ride_of(rule, first.message.id);
}

// A table may say that what was sent once goes again, though its time is over: it may have arrived.
bool Starts::may_expire(const Entry& entry) const {
  const Transition* row = find_row(window_.method_of(entry).rows, entry.state.state, On::kExpired);
  return row != nullptr && row->verb != Do::kIgnore;
}

bool Starts::try_start(Step& step, Slot slot) {
  Entry& entry = window_[slot];
  const MessageId id = entry.message.id;
  Resident& resident = residents_[entry.destination];
  if (window_.is_expired(entry.message, step.now) && may_expire(entry) &&
      !planted(Bug::kExpiredMessageSent)) {
    delivery_.apply(step, slot, On::kExpired, nullptr);
    return true;
  }
  if (!residents_.startable(resident, step.now)) return false;
  const bool leads = window_.leads(entry);
  if (resident.route.batch.is_open() && !leads && !planted(Bug::kSecondBatch)) return false;
  if (resident.route.health == Health::kCatchUp && !leads &&
      !resident.bound->policy.starts_in_catch_up(id.lane()))
    return false;
  if (resident.more_until > step.now) {
    residents_.look_later(entry.destination, resident.more_until);
    return false;
  }
  const GateState::Permit permit = resident.gate.permit(resident.bound->policy.route, step.now);
  if (!permit.open) {
    if (permit.again.is_set()) residents_.look_later(entry.destination, permit.again);
    return false;
  }
  if (!leads && waits_for_more(step, entry)) return false;
  if (!has_room(step, entry.destination)) return false;
  const bool lasts = entry.message.lasting != 0 && gates_.holds_lasting(id);
  for (std::size_t i = 0; i < kGatesMax; ++i) {
    const GateName name = entry.message.gates[i];
    const bool held = lasts && (entry.message.lasting >> i & 1) != 0;
    if (name == 0 || held || window_.goes_by_lane(entry)) continue;
    SharedGate& gate = gates_.shared_gate(entry.destination, name);
    const GateState::Permit shared = gates_.permit_at(gate, step.now);
    if (shared.open) continue;
    gates_.wait_at_gate(step, slot, name, shared.again);
    return true;
  }
  if (gates_.lets_older_pass(step, slot)) return true;
  const Judgement judgement = resident.bound->profile->wire.judge(delivery_.facts_of(step, entry));
  if (!judgement.reason.empty()) window_.set_reason(entry, judgement.reason);
  delivery_.apply(step, slot, judgement.signal, nullptr);
  // A profile whose judge names a signal that its table ignores would be asked for ever.
  const Slot same = window_.find(id);
  return same == kNoSlot || !window_[same].ready();
}

// The open batch of a destination: its leader goes again when its turn has come and all followers
// are in memory. A leader that sleeps is woken by its time.
bool Starts::go_on_with_batch(Step& step, Slot slot) {
  Resident& resident = residents_[slot];
  const OpenBatch& batch = resident.route.batch;
  const Slot leader = window_.find(batch.leader);
  if (leader == kNoSlot) {
    if (!resident.leader_sleeps && !sleepers_.contains(batch.leader))
      refill_.bring_batch_later(step, slot);
    return false;
  }
  if (!window_[leader].ready()) return false;
  const bool whole = std::all_of(batch.followers.begin(), batch.followers.end(),
                                 [&](MessageId id) { return window_.contains(id); });
  if (whole) return try_start(step, leader);
  refill_.bring_batch_later(step, slot);
  return false;
}

// Whether a message that would lead a batch lets it fill up first.
bool Starts::waits_for_more(const Step& step, const Entry& entry) {
  const Resident& resident = residents_[entry.destination];
  const Duration wait = resident.bound->policy.batch_wait;
  if (wait <= Duration(0) || !batches_.is_batched(entry)) return false;
  const Timestamp until = entry.message.accepted + window_.later(entry.message) + wait;
  if (until <= step.now) return false;
  std::uint32_t ready = 0;
  for (const Lane& lane : resident.lanes) {
    if (lane.cold_ahead) return false;  // there is more than enough
    ready += lane.ready;
  }
  if (ready >= batches_.members_max(resident)) return false;
  residents_.look_later(entry.destination, until);
  return true;
}

// A gate that opened looks at its own waiters only: the highest priority first, then the oldest.
void Starts::serve_gate(Step& step, GateName name) {
  for (;;) {
    const Slot slot = gates_.next_waiter(step, name);
    if (slot == kNoSlot) return;
    window_.make_ready(step, slot);
    // Else it stands in its lane again, and the ring comes to it: behind those that could not start
    // a moment ago, which may be older ones of its order.
    const Entry& entry = window_[slot];
    const Lane& lane = residents_[entry.destination].the_lane(entry.message.id.lane());
    if (attempts_.full() || window_.owes_before(lane, entry)) continue;
    if (lane.first == slot) try_start(step, slot);
  }
}

// Its destinations in turn, one start each.
void Starts::serve_group(Step& step, GateName name) {
  for (;;) {
    const Slot slot = limit_groups_.next_waiter(step, name);
    if (slot == kNoSlot) return;
    if (attempts_.full() || start_next(step, slot)) ring(slot);
    residents_.touch(step, slot);
  }
}

void Starts::evict_surplus() {
  for (Slot slot = residents_.surplus(); slot != kNoSlot; slot = residents_.surplus())
    forget_resident(slot);
}

void Starts::forget_resident(Slot slot) {
  const Resident& resident = residents_[slot];
  if (resident.in_ring) ring_.remove(slot, resident.ring_tenant);
  if (resident.crowded) std::erase(crowded_, slot);
  if (resident.at_group) limit_groups_.leave_waiters(slot);
  residents_.remove(slot);
}

}  // namespace postrider::core
