#include "postrider/core/window/lookup.h"

namespace postrider::core {

Lookup::Stored Lookup::read_message(Step& step, MessageId id) {
  Stored out;
  const std::string hot = keys::hot(id.sequence(), keys::Part::kMessage);
  const std::string cold = keys::cold(id, keys::Part::kMessage);
  const auto* hot_value = step.get(hot);
  const auto* cold_value = step.get(cold);
  const auto* hot_state = step.get(keys::hot(id.sequence(), keys::Part::kState));
  const auto* cold_state = step.get(keys::cold(id, keys::Part::kState));
  if (hot_value == nullptr || cold_value == nullptr || hot_state == nullptr ||
      cold_state == nullptr)
    return out;
  const Destinations::Destined destined = destinations_.find_destination(step, id.destination());
  if (!destined.known) return out;
  out.known = true;
  out.resident = destined.slot;
  // A hot key is the sequence alone: an id that a caller made up may name another message's.
  const auto peek = hot_value->has_value() ? decode_message(**hot_value)
                                           : Result<Message>(fail(ErrorCode::kNotFound, {}));
  out.hot = hot_value->has_value() && (!peek || peek->id == id);
  if (destined.slot == kNoSlot || (!out.hot && !cold_value->has_value())) return out;
  const Row row{out.hot ? hot : cold, out.hot ? **hot_value : **cold_value};
  const std::optional<Blob>& state = out.hot ? *hot_state : *cold_state;
  const Row state_row{
      out.hot ? keys::hot(id.sequence(), keys::Part::kState) : keys::cold(id, keys::Part::kState),
      state ? *state : Blob()};
  out.message = decode_row(step, destined.slot, row, state ? &state_row : nullptr, out.state);
  if (!out.message || out.message->shared.id == 0) return out;
  if (!bodies_.load_body(step, out.message->shared.id, true)) return {};
  if (!bodies_.give_body(*out.message)) {
    step.damaged.push_back(row);
    out.message.reset();
  }
  return out;
}

// A message and its state from disk; nothing when it cannot be read, and then it goes to
// quarantine.
std::optional<Message> Lookup::decode_row(Step& step, Slot slot, const Row& row, const Row* state,
                                          std::optional<StoredState>& stored) {
  const ProfileSpec& profile = *residents_[slot].bound->profile;
  auto message = decode_message(row.second, dictionaries_);
  if (!message || message->is_closed() || message->method >= profile.methods.size()) {
    step.damaged.push_back(row);
    return std::nullopt;
  }
  if (state == nullptr) return std::move(*message);
  auto decoded = decode_state(state->second.view());
  if (decoded && decoded->state.method < profile.methods.size() &&
      decoded->state.state < profile.states.size()) {
    stored = std::move(*decoded);
    return std::move(*message);
  }
  step.damaged.push_back(*state);
  if (!profile.methods[message->method].durable_intent) {
    // Its attempts are forgotten, but not that it was not to be sent earlier.
    State anew;
    anew.method = message->method;
    anew.state = profile.methods[message->method].initial;
    anew.since = message->accepted;
    anew.due = message->not_before;
    if (message->not_before > step.now) stored = StoredState{anew, {}};
    return std::move(*message);
  }
  // It may have been sent, and must not be sent twice: which of the two cannot be told any more.
  step.damaged.push_back(row);
  return std::nullopt;
}

// What is raised on the leader of a batch may end its followers, too.
Lookup::Located Lookup::locate(Step& step, MessageId id) {
  const Located located = locate_one(step, id);
  if (located.slot == kNoSlot || !window_.leads(window_[located.slot])) return located;
  const OpenBatch& batch = residents_[window_[located.slot].destination].route.batch;
  bool known = true;
  for (const MessageId follower : batch.followers)
    known = locate_one(step, follower).known && known;
  return known ? located : Located{};
}

Lookup::Located Lookup::locate_one(Step& step, MessageId id) {
  if (const Slot found = window_.find(id); found != kNoSlot) return {true, found};
  Stored stored = read_message(step, id);
  if (!stored.known) return {};
  if (!stored.message) return {true, kNoSlot};
  const Slot slot =
      window_.add_entry(step, stored.resident, std::move(*stored.message), stored.hot);
  Entry& entry = window_[slot];
  records_.count_adopted(entry, stored.state);
  entry.waits = Waits::kVisiting;
  window_.add_visitor(slot);
  return {true, slot};
}

void Lookup::dismiss_visitor(Step& step, Slot slot) {
  if (window_[slot].destination == kNoSlot || !window_[slot].visitor()) return;
  window_.forget_entry(step, slot);
}

bool Lookup::is_whole(const Rows& rows, std::string_view message_key) {
  return rows.complete ||
         std::string(message_key.substr(0, message_key.size() - 1)) + '\1' < rows.next;
}

bool Lookup::is_state_of(std::string_view state_key, std::string_view message_key) {
  return state_key.size() == message_key.size() && !state_key.empty() && state_key.back() == 1 &&
         message_key.back() == 0 &&
         state_key.substr(0, state_key.size() - 1) == message_key.substr(0, message_key.size() - 1);
}

}  // namespace postrider::core
