#include "postrider/core/window/state_records.h"

#include "postrider/base/planted.h"

namespace postrider::core {

void StateRecords::store_state(Step& step, Entry& entry) {
  const std::string key = entry.hot() ? keys::hot(entry.message.id.sequence(), keys::Part::kState)
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
  census_.record_state(entry, entry.state.state);
}

// Its record, and nothing else about it: what sleeps or is parked goes on doing so.
void StateRecords::store_dirty(Step& step, Entry& entry) {
  const bool sleeps = entry.due_entry.is_set() && entry.state.due == entry.due_entry;
  if (sleeps || window_.phase_of(entry) == Phase::kParked) return store_state(step, entry);
  store_awake(step, entry);
}

// The record of a message that does not sleep names no due entry, so its lane's head leads to it.
void StateRecords::store_awake(Step& step, Entry& entry) {
  const MessageId id = entry.message.id;
  store_state(step, entry);
  if (entry.due_entry.is_set()) {
    step.out.writes.remove(
        keys::due(std::exchange(entry.due_entry, {}), keys::DueKind::kAttempt, id));
  }
  Resident& resident = residents_[entry.destination];
  if (!entry.hot()) destinations_.cover(step, entry.destination, resident.the_lane(id.lane()), id);
}

void StateRecords::forget_state(Step& step, Entry& entry) {
  if (!entry.stored) return;
  step.out.writes.remove(entry.hot() ? keys::hot(entry.message.id.sequence(), keys::Part::kState)
                                     : keys::cold(entry.message.id, keys::Part::kState));
  entry.stored = false;
  census_.record_state(entry, census_.initial_state(entry));
}

bool StateRecords::move_to_cold(Step& step, Slot slot) {
  Entry& entry = window_[slot];
  if (!entry.hot()) return false;
  const bool stored = entry.stored;
  forget_state(step, entry);
  step.out.writes.put_once(keys::cold(entry.message.id, keys::Part::kMessage),
                           entry.message.record);
  step.out.writes.remove_once(keys::hot(entry.message.id.sequence(), keys::Part::kMessage));
  entry.space = Space::kCold;
  census_.move_to_cold(entry);
  residents_[entry.destination].the_lane(entry.message.id.lane()).cold.push_back(entry.message.id);
  if (entry.lasts()) mark_holding(step, entry, true);
  return stored;
}

// Gates held from the cold space would be forgotten by a restart until the window comes to the
// message, so a record marks each holder. Hot holders are found by the scan of the hot space.
void StateRecords::mark_holding(Step& step, Entry& entry, bool holding) {
  if (entry.hot() || entry.marked == holding) return;
  entry.marked = holding;
  if (holding) {
    step.out.writes.put(keys::holding(entry.message.id), std::string_view());
  } else {
    step.out.writes.remove(keys::holding(entry.message.id));
  }
}

// The waiting part of a window goes to disk: the route is closed for longer than it is worth the
// memory.
void StateRecords::spill(Step& step, Slot slot, Lane& lane) {
  ++lane.spills;
  while (lane.first != kNoSlot) spill_entry(step, slot, lane, lane.first);
}

void StateRecords::spill_entry(Step& step, Slot slot, Lane& lane, Slot entry) {
  const MessageId id = window_[entry].message.id;
  if (move_to_cold(step, entry)) store_state(step, window_[entry]);
  lane.gains(id);
  destinations_.cover(step, slot, lane, id);
  window_.forget_entry(step, entry);
}

void StateRecords::spill_claimed(Step& step, Slot slot) {
  for (const MessageId id : residents_[slot].route.batch.followers) {
    const Slot entry = window_.find(id);
    if (entry == kNoSlot || !window_[entry].claimed()) continue;
    Lane& lane = residents_[slot].the_lane(id.lane());
    ++lane.spills;
    spill_entry(step, slot, lane, entry);
  }
}

void StateRecords::spill_all(Step& step, Slot slot) {
  for (std::size_t i = 0; i < residents_[slot].lanes.size(); ++i)
    spill(step, slot, residents_[slot].lanes[i]);
  const OpenBatch& batch = residents_[slot].route.batch;
  const Slot leader = batch.is_open() ? window_.find(batch.leader) : kNoSlot;
  // An attempt that is open needs its followers in memory: they may end with it.
  const bool under_way = leader != kNoSlot && !window_[leader].ready();
  if (!under_way) spill_claimed(step, slot);
}

}  // namespace postrider::core
