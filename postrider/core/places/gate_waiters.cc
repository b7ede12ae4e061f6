#include <algorithm>

#include "postrider/core/places/shared_gates.h"

namespace postrider::core {

void SharedGates::wait_at_gate(Step& step, Slot slot, GateName name, Timestamp again) {
  Entry& entry = window_[slot];
  window_.unready(slot);
  Lane& lane = residents_[entry.destination].the_lane(entry.message.id.lane());
  entry.waits = Waits::kAtGate;
  ++lane.at_gates;
  SharedGate& gate = gates_.at(name);
  const MessageId id = entry.message.id;
  for (std::size_t i = 0; i < kGatesMax; ++i) {
    const bool lasting = entry.message.gates[i] == name && (entry.message.lasting >> i & 1) != 0;
    if (!lasting || entry.waits != Waits::kAtGate) continue;
    // One that was not to be sent earlier, or that was parked out of the way and is sent again, may
    // find a younger one of its order under way.
    const bool behind = gate.holder.is_set() && gate.holder < id;
    const bool order = entry.message.ordered && !entry.message.not_before.is_set() && behind;
    entry.waits = order ? Waits::kBehindOrder : Waits::kAtLastingGate;
    ++(order ? lane.at_order : lane.at_lasting);
    if (order) lane.last_at_order = std::max(lane.last_at_order, entry.message.id);
  }
  gate.waiters.insert_or_assign(std::pair{id.high & 0xFFFF, id.low}, std::pair{slot, id});
  if (again.is_set() && !timers_.armed(gate.timer)) {
    gate.timer =
        timers_.arm(std::max(again, step.now), Timer{.kind = TimerKind::kGate, .id = {name, 0}});
  }
  step.look_at(entry.destination);  // it left its place in the lane
}

// The message that holds a gate to its end, in a FIFO lane whose head waits for it. It was under
// way before the lane had an order, or before a higher priority came; if it waited for the head,
// both would wait for ever.
Slot SharedGates::holder_behind(const Lane& lane) const {
  if (lane.at_lasting == 0 || lane.in_memory != lane.ready + lane.at_gates) return kNoSlot;
  for (Slot at = lane.first; at != kNoSlot; at = window_[at].next) {
    if (window_[at].message.lasting != 0 && lasting_.contains(window_[at].message.id)) return at;
  }
  return kNoSlot;
}

// Messages that waited for an older one of their key go by the lane from now on.
void SharedGates::leave_lines(Step& step, Slot slot) {
  std::vector<MessageId> waiting;
  for (const auto& [name, gate] : gates_) {
    for (const auto& [place, waiter] : gate.waiters) {
      if (waiter.second.destination() == residents_[slot].id) waiting.push_back(waiter.second);
    }
  }
  std::sort(waiting.begin(), waiting.end());
  for (const MessageId id : waiting) {
    const Slot found = window_.find(id);
    if (found != kNoSlot && window_[found].at_gate() && window_.goes_by_lane(window_[found]))
      window_.make_ready(step, found);
  }
}

// A message that waits for one gate may be younger than a message that waits for another of them.
// When both open at once the older goes first, whichever is looked at first.
bool SharedGates::lets_older_pass(Step& step, Slot slot) {
  const Message& message = window_[slot].message;
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

Slot SharedGates::next_waiter(const Step& step, GateName name) {
  const auto found = gates_.find(name);
  if (found == gates_.end()) return kNoSlot;
  SharedGate& gate = found->second;
  while (!gate.waiters.empty()) {
    const GateState::Permit permit = permit_at(gate, step.now);
    if (!permit.open) {
      if (permit.again.is_set() && !timers_.armed(gate.timer))
        gate.timer = timers_.arm(permit.again, Timer{.kind = TimerKind::kGate, .id = {name, 0}});
      return kNoSlot;
    }
    const auto [slot, id] = gate.waiters.begin()->second;
    gate.waiters.erase(gate.waiters.begin());
    const bool stale = window_.find(id) != slot || window_[slot].ready();
    if (!stale && window_.phase_of(window_[slot]) == Phase::kQueued) return slot;
  }
  if (gate.state.in_use() == 0 && gate.strikes == 0 &&
      gate.state.settled_at(gate.limits) <= step.now)
    gates_.erase(found);
  return kNoSlot;
}

}  // namespace postrider::core
