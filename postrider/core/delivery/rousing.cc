#include "postrider/core/delivery/rousing.h"

#include <algorithm>

#include "postrider/base/check.h"
#include "postrider/base/planted.h"

namespace postrider::core {
namespace {

// Whether a sign of life ends a back-off in this state, by one of the profile's methods.
bool rouses(const ProfileSpec& profile, StateIndex state) {
  if (profile.states[state].phase != Phase::kBackoff) return false;
  return std::any_of(profile.methods.begin(), profile.methods.end(), [&](const Method& method) {
    const Transition* row = find_row(method.rows, state, On::kPeerSeen);
    return row != nullptr && row->verb != Do::kIgnore;
  });
}

bool rouses_any(const ProfileSpec& profile) {
  for (std::size_t state = 0; state < profile.states.size(); ++state) {
    if (rouses(profile, static_cast<StateIndex>(state))) return true;
  }
  return false;
}

}  // namespace

void Rousing::hear_sign_of_life(Step& step, Slot slot, std::string_view reason) {
  const HealthOn seen =
      planted(Bug::kContactClearsBackoff) ? HealthOn::kOk : residents_.contact(slot);
  routes_.tell_health(step, slot, seen, reason);
  if (rouses_any(*residents_[slot].bound->profile) && !planted(Bug::kSeenForgetsPause))
    begin(step, slot);
}

void Rousing::begin(Step& step, Slot slot) {
  Resident& resident = residents_[slot];
  if (std::exchange(resident.rousing, true)) {
    resident.rouse_again = true;
    return;
  }
  residents_.leave_lru(slot);
  ++resident.chores;
  step.out.chores.push_back({.kind = Chore::Kind::kRouse, .destination = resident.id});
}

bool Rousing::is_roused(const ProfileSpec& profile, const Entry& entry) const {
  if (profile.states[entry.state.state].phase != Phase::kBackoff) return false;
  const Transition* row = find_row(window_.method_of(entry).rows, entry.state.state, On::kPeerSeen);
  return row != nullptr && row->verb != Do::kIgnore;
}

bool Rousing::has_some_on_disk(const Resident& resident) const {
  return std::any_of(resident.cold_states.begin(), resident.cold_states.end(),
                     [&](const auto& known) {
                       return known.second > 0 && rouses(*resident.bound->profile, known.first);
                     });
}

// The cursor is empty for what is in memory, then an id of a sleeper behind the letter 's', then a
// key of the cold space.
void Rousing::rouse(Step& step, const Chore& chore) {
  const Slot slot = residents_.find(chore.destination.value());
  POSTRIDER_CHECK(slot != kNoSlot);  // pinned by its chore
  const Resident& resident = residents_[slot];
  const bool asleep = chore.cursor.empty() || chore.id.is_set();
  std::vector<MessageId> ids;
  Chore next{.kind = Chore::Kind::kRouse, .destination = chore.destination};
  bool over = false;
  if (asleep) {
    if (!chore.id.is_set()) {
      for (Slot one = resident.newest; one != kNoSlot; one = window_[one].next_here)
        ids.push_back(window_[one].message.id);
    }
    const auto page = sleepers_.page_of(resident.id, chore.id, limits_.job_rows_max);
    ids.insert(ids.end(), page.begin(), page.end());
    if (page.size() == limits_.job_rows_max) {
      next.id = MessageId{page.back().high, page.back().low + 1};
    } else {
      over = !has_some_on_disk(resident);
      next.cursor = keys::cold({resident.id.value() << 20, 0}, keys::Part::kMessage);
    }
  } else {
    const std::string last = keys::cold({(resident.id.value() + 1) << 20, 0}, keys::Part::kMessage);
    const Rows* rows =
        step.scan({chore.cursor, last, std::max<std::uint32_t>(2, limits_.job_rows_max), true});
    if (rows == nullptr) return;
    for (const Row& row : rows->rows) {
      const auto key = keys::parse_cold(row.first);
      if (!key || key->part != keys::Part::kState) continue;
      const auto stored = decode_state(row.second.view());
      const ProfileSpec& profile = *resident.bound->profile;
      if (stored && stored->state.state < profile.states.size() &&
          rouses(profile, stored->state.state))
        ids.push_back(key->id);
    }
    over = rows->complete;
    next.cursor = rows->next;
  }
  for (const MessageId id : ids) lookup_.locate(step, id);
  if (step.lacks()) return;
  for (const MessageId id : ids) {
    const Slot found = window_.find(id);
    if (found != kNoSlot) rouse_one(step, found);
  }
  if (!over) {
    step.out.chores.push_back(std::move(next));
    return;
  }
  Resident& walked = residents_[slot];
  walked.rousing = false;
  --walked.chores;
  if (std::exchange(walked.rouse_again, false)) begin(step, slot);
  step.look_at(slot);
}

// A message on disk that must not overtake, or for which there is no room, becomes due there, and
// comes in its place.
void Rousing::rouse_one(Step& step, Slot slot) {
  Entry& entry = window_[slot];
  const Resident& resident = residents_[entry.destination];
  if (!is_roused(*resident.bound->profile, entry)) return;
  ++tallies_.roused;
  const MessageId id = entry.message.id;
  const Policy& policy = resident.bound->policy;
  const Lane* lane = resident.lane(id.lane());
  const bool fifo = policy.lane_kind(id.lane()) == LaneKind::kFifo;
  const bool full =
      lane != nullptr && lane->in_window(limits_.lane_waiters_max) > policy.window_max;
  if (!entry.visitor() || entry.hot() || !(fifo || full))
    return delivery_.apply(step, slot, On::kPeerSeen, nullptr);
  entry.state.due = step.now;
  records_.store_state(step, entry);
  if (entry.due_entry.is_set()) {
    step.out.writes.remove(
        keys::due(std::exchange(entry.due_entry, {}), keys::DueKind::kAttempt, id));
  }
  due_.put_due(step, step.now, keys::DueKind::kAttempt, id);
  if (due_.loaded_until() <= step.now)
    step.out.chores.push_back(
        {.kind = Chore::Kind::kWakeMessage, .destination = id.destination(), .id = id});
}

}  // namespace postrider::core
