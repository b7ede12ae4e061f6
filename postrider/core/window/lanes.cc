#include "postrider/core/window/window.h"

namespace postrider::core {

// Puts a queued entry into its lane's ready list, in the order of ids. New ones are nearly always
// the last. A follower of the open batch is not ready: it leaves with its leader.
void Window::make_ready(Step& step, Slot slot) {
  Entry& entry = entries_[slot];
  Resident& resident = residents_[entry.destination];
  Lane& lane = resident.the_lane(entry.message.id.lane());
  leave_gate(entry, lane);
  if (resident.route.batch.is_open() && resident.route.batch.claims(entry.message.id))
    return claim(step, slot);
  if (entry.claimed()) entry.waits = Waits::kNowhere;
  if (!entry.ready()) {
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
    entry.waits = Waits::kInLane;
    ++lane.ready;
  }
  step.look_at(entry.destination);
}

void Window::unready(Slot slot) {
  Entry& entry = entries_[slot];
  if (!entry.ready() && !entry.at_gate()) return;
  Lane& lane = residents_[entry.destination].the_lane(entry.message.id.lane());
  leave_gate(entry, lane);
  if (!entry.ready()) return;
  if (lane.lower) end_run(lane, entry);
  (entry.prev == kNoSlot ? lane.first : entries_[entry.prev].next) = entry.next;
  (entry.next == kNoSlot ? lane.last : entries_[entry.next].prev) = entry.prev;
  entry.prev = entry.next = kNoSlot;
  entry.waits = Waits::kNowhere;
  --lane.ready;
}

void Window::claim(Step& step, Slot slot) {
  unready(slot);
  entries_[slot].waits = Waits::kClaimed;
  step.look_at(entries_[slot].destination);
}

void Window::leave_gate(Entry& entry, Lane& lane) {
  if (!entry.at_gate()) return;
  --lane.at_gates;
  if (entry.waits == Waits::kAtLastingGate) --lane.at_lasting;
  if (entry.waits == Waits::kBehindOrder && --lane.at_order == 0) lane.last_at_order = {};
  entry.waits = Waits::kNowhere;
}

// Its neighbour in the ready list has another priority: it is the first of its own, or it is the
// head and the former head is now the first of a lower one.
void Window::begin_run(Lane& lane, Slot slot) {
  const Slot first = entries_[slot].prev == kNoSlot ? entries_[slot].next : slot;
  Lower& lower = lane.the_lower();
  lower.runs[entries_[first].message.id.high] = first;
  lower.hear_of(entries_[first].message.id);
}

// It is about to leave the ready list.
void Window::end_run(Lane& lane, const Entry& entry) {
  const std::uint64_t priority = entry.message.id.high;
  const std::uint64_t next =
      entry.next == kNoSlot ? priority : entries_[entry.next].message.id.high;
  if (entry.prev == kNoSlot) {
    if (next != priority) lane.lower->runs.erase(next);  // the highest one from now on
  } else if (entries_[entry.prev].message.id.high != priority) {
    if (entry.next != kNoSlot && next == priority) {
      lane.lower->runs[priority] = entry.next;
    } else {
      lane.lower->runs.erase(priority);
    }
  }
}

}  // namespace postrider::core
