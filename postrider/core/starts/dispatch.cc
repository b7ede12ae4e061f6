// Dispatch: whose turn it is. Destinations with something to send stand in a ring, by tenant, and
// start one attempt each in turn, so that a long queue costs its neighbours nothing.
#include <algorithm>

#include "postrider/base/planted.h"
#include "postrider/core/engine_impl.h"

namespace postrider {

void Engine::Impl::ring(Slot slot) {
  Resident& resident = residents_[slot];
  if (resident.in_ring) return;
  resident.in_ring = true;
  resident.ring_tenant = planted(Bug::kTenantsIgnored) ? 0 : resident.bound->policy.tenant;
  ring_.add(slot, resident.ring_tenant, resident.bound->policy.tenant_weight);
}

void Engine::Impl::pump(Step& step) {
  if (restoring_hot_ || starts_held_) return;
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
    if (open_attempts_ >= limits_.open_attempts_max) return;
    if (ring_.empty() && !let_crowd_in()) return;
    const Slot slot = ring_.next();
    residents_[slot].in_ring = false;
    const std::uint64_t tenant = residents_[slot].ring_tenant;
    spent_ = 0;
    ++tallies_.looks;
    if (start_next(step, slot)) ring(slot);
    ring_.charge(tenant, spent_);
    touch(slot);
  }
}

// One step forward for this destination: an attempt, an end, or a place in a gate's queue. False:
// nothing to do now.
bool Engine::Impl::start_next(Step& step, Slot slot) {
  Resident& resident = residents_[slot];
  if (resident.lanes.empty() || !startable(resident, step.now)) return false;
  const std::size_t count = resident.lanes.size();
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t index = (resident.next_lane + i) % count;
    Lane& lane = resident.lanes[index];
    if (lane.first == kNoSlot) continue;
    const LaneKind kind = resident.bound->policy.lane_kind(lane.number);
    if (kind == LaneKind::kFifo && lane.in_memory != lane.ready) {
      const Slot holder = holder_behind(lane);
      if (holder == kNoSlot) continue;  // its head is on the way
      return try_start(step, holder);
    }
    if (owes_before(lane, entries_[lane.first]) && !planted(Bug::kColdOvertakesHot)) {
      maybe_refill(step, slot);  // what goes first is on disk
      continue;
    }
    const bool plain = kind == LaneKind::kFifo || !lane.may_have_lower();
    const Slot chosen = plain ? lane.first : whose_turn(step, slot, lane);
    if (chosen == kNoSlot) continue;  // it is read from disk
    const bool moved = plain ? start_lowest(step, slot, lane) : start_by_turns(step, slot, chosen);
    // A look without a free place is no turn: every other one is, after each start.
    if (moved) residents_[slot].next_lane = static_cast<std::uint8_t>((index + 1) % count);
    return moved;
  }
  return false;
}

// Who holds a gate to its end, in a FIFO lane whose head waits for it. It was under way before the
// lane had an order, or before somebody of a higher priority came; if it waited for the head, both
// would wait for ever.
Slot Engine::Impl::holder_behind(const Lane& lane) const {
  if (lane.at_lasting == 0 || lane.in_memory != lane.ready + lane.at_gates) return kNoSlot;
  for (Slot at = lane.first; at != kNoSlot; at = entries_[at].next) {
    if (entries_[at].message.lasting != 0 && lasting_.contains(entries_[at].message.id)) return at;
  }
  return kNoSlot;
}

// Whether something on disk must be looked at before this one may start.
bool Engine::Impl::owes_before(const Lane& lane, const Entry& entry) const {
  const Policy& policy = residents_[entry.destination].bound->policy;
  // Gates that are held to the end are had in the order of acceptance, and after a restart the
  // older may be on disk while the younger is in the window.
  const bool in_order =
      policy.lane_kind(lane.number) == LaneKind::kFifo || entry.message.lasting != 0;
  return lane.owes_before(entry.message.id, in_order);
}

bool Engine::Impl::try_start(Step& step, Slot slot) {
  Entry& entry = entries_[slot];
  const MessageId id = entry.message.id;
  Resident& resident = residents_[entry.destination];
  if (is_expired(entry.message, step.now) && !planted(Bug::kExpiredMessageSent)) {
    apply(step, slot, On::kExpired, nullptr);
    return true;
  }
  if (!startable(resident, step.now)) return false;
  if (resident.more_until > step.now) {
    look_later(entry.destination, resident.more_until);
    return false;
  }
  const GateState::Permit permit = resident.gate.permit(resident.bound->policy.route, step.now);
  if (!permit.open) {
    if (permit.again.is_set()) look_later(entry.destination, permit.again);
    return false;
  }
  if (!has_room(step, entry.destination)) return false;
  const bool lasts = entry.message.lasting != 0 && lasting_.contains(id);
  for (std::size_t i = 0; i < kGatesMax; ++i) {
    const GateName name = entry.message.gates[i];
    const bool held = lasts && (entry.message.lasting >> i & 1) != 0;
    if (name == 0 || held || goes_by_lane(entry)) continue;
    SharedGate& gate = shared_gate(entry.destination, name);
    const GateState::Permit shared = permit_at(gate, step.now);
    if (shared.open) continue;
    wait_at_gate(step, slot, name, shared.again);
    return true;
  }
  if (lets_older_pass(step, slot)) return true;
  const Judgement judgement = resident.bound->profile->wire.judge(facts_of(step, entry));
  if (!judgement.reason.empty()) set_reason(entry, judgement.reason);
  apply(step, slot, judgement.signal, nullptr);
  // A profile whose judge names a signal that its table ignores would be asked for ever.
  const auto same = by_id_.find(id);
  return same == by_id_.end() || !entries_[same->second].ready;
}

// Whoever waits for one gate only may be younger than one who waits for another of the same gates.
// When both open at once the older goes first, whichever is looked at first.
bool Engine::Impl::lets_older_pass(Step& step, Slot slot) {
  const Message& message = entries_[slot].message;
  if (message.ordered) return false;  // its line sees to that, also on disk
  const bool lasts = message.lasting != 0 && lasting_.contains(message.id);
  const std::pair mine{message.id.high & 0xFFFF, message.id.low};
  for (std::size_t i = 0; i < kGatesMax; ++i) {
    const GateName name = message.gates[i];
    const bool held = lasts && (message.lasting >> i & 1) != 0;  // they wait for us
    const auto gate = name == 0 || held ? gates_.end() : gates_.find(name);
    if (gate == gates_.end() || gate->second.waiters.empty()) continue;
    if (mine < gate->second.waiters.begin()->first) continue;
    wait_at_gate(step, slot, name, {});
    step.freed_gates.push_back(name);
    return true;
  }
  return false;
}

// In a lane that has become FIFO since then nobody waits for another of his key: one that was not
// to be sent earlier may stand before a younger one that is under way, and they would wait for each
// other for ever.
bool Engine::Impl::goes_by_lane(const Entry& entry) const {
  return entry.message.ordered && residents_[entry.destination].bound->policy.lane_kind(
                                      entry.message.id.lane()) == LaneKind::kFifo;
}

// Those that waited for another of their key go by the lane from now on.
void Engine::Impl::leave_lines(Slot slot) {
  std::vector<MessageId> waiting;
  for (const auto& [name, gate] : gates_) {
    for (const auto& [place, waiter] : gate.waiters) {
      if (waiter.second.destination() == residents_[slot].id) waiting.push_back(waiter.second);
    }
  }
  std::sort(waiting.begin(), waiting.end());
  for (const MessageId id : waiting) {
    const auto found = by_id_.find(id);
    if (found != by_id_.end() && entries_[found->second].at_gate &&
        goes_by_lane(entries_[found->second]))
      make_ready(found->second);
  }
}

void Engine::Impl::look_later(Slot slot, Timestamp at) {
  Resident& resident = residents_[slot];
  timers_.cancel(resident.look_timer);
  resident.look_timer =
      timers_.arm(at, Timer{.kind = TimerKind::kRouteLook, .id = {resident.id.value(), 0}});
}

// Puts a queued entry into its lane's ready list, in the order of ids. New ones are nearly always
// the last.
void Engine::Impl::make_ready(Slot slot) {
  Entry& entry = entries_[slot];
  Resident& resident = residents_[entry.destination];
  Lane& lane = resident.the_lane(entry.message.id.lane());
  leave_gate(entry, lane);
  if (!entry.ready) {
    Slot after = lane.last;
    while (after != kNoSlot && entry.message.id < entries_[after].message.id)
      after = entries_[after].prev;
    entry.prev = after;
    entry.next = after == kNoSlot ? lane.first : entries_[after].next;
    (entry.next == kNoSlot ? lane.last : entries_[entry.next].prev) = slot;
    (after == kNoSlot ? lane.first : entries_[after].next) = slot;
    const Slot other = after == kNoSlot ? entry.next : after;
    if (other != kNoSlot && entries_[other].message.id.high != entry.message.id.high)
      begin_run(lane, slot);
    entry.ready = true;
    ++lane.ready;
  }
  ring(entry.destination);
}

void Engine::Impl::unready(Slot slot) {
  Entry& entry = entries_[slot];
  if (!entry.ready && !entry.at_gate) return;
  Lane& lane = residents_[entry.destination].the_lane(entry.message.id.lane());
  leave_gate(entry, lane);
  if (!entry.ready) return;
  if (lane.lower) end_run(lane, entry);
  (entry.prev == kNoSlot ? lane.first : entries_[entry.prev].next) = entry.next;
  (entry.next == kNoSlot ? lane.last : entries_[entry.next].prev) = entry.prev;
  entry.prev = entry.next = kNoSlot;
  entry.ready = false;
  --lane.ready;
}

void Engine::Impl::leave_gate(Entry& entry, Lane& lane) {
  if (std::exchange(entry.at_gate, false)) --lane.at_gates;
  if (std::exchange(entry.at_lasting, false)) --lane.at_lasting;
  if (std::exchange(entry.at_order, false) && --lane.at_order == 0) lane.last_at_order = {};
}

SharedGate& Engine::Impl::shared_gate(Slot destination, GateName name) {
  const auto [place, is_new] = gates_.try_emplace(name);
  SharedGate& gate = place->second;
  if (is_new) {
    const Bound& bound = *residents_[destination].bound;
    if (bound.profile->gates.limits != nullptr)
      gate.limits = bound.profile->gates.limits(name, bound.policy);
    gate.state.drain(gate.limits, started_);
  }
  return gate;
}

void Engine::Impl::wait_at_gate(Step& step, Slot slot, GateName name, Timestamp again) {
  Entry& entry = entries_[slot];
  unready(slot);
  Lane& lane = residents_[entry.destination].the_lane(entry.message.id.lane());
  entry.at_gate = true;
  ++lane.at_gates;
  SharedGate& gate = gates_.at(name);
  const MessageId id = entry.message.id;
  for (std::size_t i = 0; i < kGatesMax; ++i) {
    const bool lasting = entry.message.gates[i] == name && (entry.message.lasting >> i & 1) != 0;
    if (!lasting || entry.at_lasting || entry.at_order) continue;
    // One that was not to be sent earlier, or that was parked out of the way and is sent again, may
    // find a younger one of its order under way.
    const bool behind = gate.holder.is_set() && gate.holder < id;
    entry.at_order = entry.message.ordered && !entry.message.not_before.is_set() && behind;
    entry.at_lasting = !entry.at_order;
    ++(entry.at_order ? lane.at_order : lane.at_lasting);
    if (entry.at_order) lane.last_at_order = std::max(lane.last_at_order, entry.message.id);
  }
  gate.waiters.insert_or_assign(std::pair{id.high & 0xFFFF, id.low}, std::pair{slot, id});
  if (again.is_set() && !timers_.armed(gate.timer)) {
    gate.timer =
        timers_.arm(std::max(again, step.now), Timer{.kind = TimerKind::kGate, .id = {name, 0}});
  }
  maybe_refill(step, entry.destination);  // it left its place to others
}

// A gate that opened looks at its own waiters only: the highest priority first, then the oldest.
void Engine::Impl::serve_gate(Step& step, GateName name) {
  const auto found = gates_.find(name);
  if (found == gates_.end()) return;
  SharedGate& gate = found->second;
  while (!gate.waiters.empty()) {
    const GateState::Permit permit = permit_at(gate, step.now);
    if (!permit.open) {
      if (permit.again.is_set() && !timers_.armed(gate.timer)) {
        gate.timer = timers_.arm(permit.again, Timer{.kind = TimerKind::kGate, .id = {name, 0}});
      }
      return;
    }
    const auto [slot, id] = gate.waiters.begin()->second;
    gate.waiters.erase(gate.waiters.begin());
    const auto same = by_id_.find(id);
    if (same == by_id_.end() || same->second != slot || entries_[slot].ready) continue;
    if (phase_of(entries_[slot]) != Phase::kQueued) continue;
    make_ready(slot);
    // Else it stands in its lane again, and the ring comes to it: behind those that could not start
    // a moment ago, which may be older ones of its order.
    const Lane& lane = residents_[entries_[slot].destination].the_lane(id.lane());
    if (open_attempts_ >= limits_.open_attempts_max || owes_before(lane, entries_[slot])) continue;
    if (lane.first == slot) try_start(step, slot);
  }
  if (gate.state.in_use() == 0 && gate.strikes == 0 &&
      gate.state.settled_at(gate.limits) <= step.now)
    gates_.erase(found);
}

}  // namespace postrider
