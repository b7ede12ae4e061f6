// What an answer or news says about a message, in one commit.
#include "postrider/core/delivery/delivery.h"

namespace postrider::core {

// News that is not about a transition: notes, and whether the open send can still arrive.
void Delivery::absorb(Step& step, Entry& entry, const Reading& reading, bool answers_send) {
  tallies_.mismatched += reading.mismatched ? 1 : 0;
  tallies_.adopted += reading.adopted ? 1 : 0;
  if (reading.alarm) {
    ++tallies_.alarms;
    receipts_.note({.position = {},
                    .kind = LogEntry::Kind::kAlarm,
                    .at = step.now,
                    .id = entry.message.id,
                    .attempts = entry.state.attempts,
                    .reason = reading.outcome.reason.substr(0, limits_.reason_bytes_max)});
  }
  if (reading.notes && reading.notes->size() > kNotesMax) {
    ++tallies_.refused_readings;
  } else if (reading.notes && *reading.notes != entry.notes()) {
    entry.more().notes = *reading.notes;
    entry.dirty = true;
  }
  if (!reading.cards.empty())
    cards_.write(step, *residents_[entry.destination].bound->profile, reading.cards);
  const bool answered = answers_send && reading.outcome.certainty != Certainty::kUnknown;
  const bool closes = reading.closes || (answered && !window_.method_of(entry).keeps_bytes);
  if (closes && entry.details && entry.details->intent.open) {
    entry.details->intent.open = false;
    entry.dirty = true;
  }
}

// All that a reading says about a message in memory, in one commit.
void Delivery::apply_reading(Step& step, Slot slot, const Reading& reading, std::uint16_t attempt,
                             Timestamp at) {
  const MessageId id = window_[slot].message.id;
  const ProfileSpec& profile = *residents_[window_[slot].destination].bound->profile;
  apply(step, slot, reading.signal, &reading);
  if (reading.then) {
    const Slot same = window_.find(id);
    if (same != kNoSlot) apply(step, same, *reading.then, &reading);
  }
  if (!reading.names.empty()) names_.give_names(step, profile, {id, attempt}, reading.names, at);
  if (!reading.submits.empty()) nested_.write_nested(step, profile, id, reading.submits);
}

// News about a message by another way than its attempt.
void Delivery::tell(Step& step, Slot slot, const Reading& reading, std::uint16_t attempt,
                    Timestamp at) {
  Entry& entry = window_[slot];
  const bool legal = reading.silent || may_come_from_outside(reading.signal);
  const bool then_legal = !reading.then || may_come_from_outside(*reading.then);
  if (!legal || !then_legal) {
    ++tallies_.ignored_signals;
    return;
  }
  absorb(step, entry, reading, false);
  if (reading.silent) {
    const ProfileSpec& profile = *residents_[entry.destination].bound->profile;
    names_.give_names(step, profile, {entry.message.id, attempt}, reading.names, at);
    if (entry.dirty) records_.store_dirty(step, entry);
    return;
  }
  const Transition* row =
      find_row(window_.method_of(entry).rows, entry.state.state, reading.signal);
  if (row != nullptr && row->verb != Do::kIgnore) {
    entry.state.failure = reading.outcome.failure;
    entry.state.certainty = reading.outcome.certainty;
    if (!reading.outcome.reason.empty()) window_.set_reason(entry, reading.outcome.reason);
    if (gates_.has_gates(entry.message)) gates_.strike_gates(step, slot);
  }
  apply_reading(step, slot, reading, attempt, at);
}

void Delivery::note_late(Step& step, MessageId id, std::string_view source) {
  ++tallies_.late_receipts;
  LogEntry late;
  late.kind = LogEntry::Kind::kLate;
  late.at = step.now;
  late.id = id;
  late.reason = source.substr(0, limits_.reason_bytes_max);
  receipts_.note(std::move(late));
}

}  // namespace postrider::core
