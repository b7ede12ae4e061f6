// Revival: how messages are parked, and come back. Some wait for an operator. Others ran out of
// attempts because their destination was not there: they go back in line with fresh attempts as
// soon as the route hears of a success. Until then one of them is tried from time to time, because
// nobody else may.
#include <algorithm>

#include "postrider/base/planted.h"
#include "postrider/core/engine_impl.h"

namespace postrider {

void Engine::Impl::park(Step& step, Slot slot) {
  Entry& entry = entries_[slot];
  move_to_cold(step, slot);
  store_state(step, entry);
  if (entry.due_entry.is_set()) {
    step.out.writes.remove(
        keys::due(std::exchange(entry.due_entry, {}), keys::DueKind::kAttempt, entry.message.id));
  }
  receipts_.add_parked(entry.message.id, step.now, entry.reason_text());
  if (state_of(entry).revives) {
    park_for_reach(step, slot);
  } else {
    const bool by_key = entry.message.ordered && !goes_by_lane(entry);
    step.out.writes.put(keys::parked(entry.message.id),
                        std::exchange(entry.leaves_gap, false)
                            ? keys::parked_as_gap(by_key ? entry.message.gates[0] : 0)
                            : std::string());
  }
  receipts_.note({.position = {},
                  .kind = LogEntry::Kind::kParked,
                  .at = step.now,
                  .id = entry.message.id,
                  .phase = Phase::kParked,
                  .cause = entry.state.failure,
                  .attempts = entry.state.attempts,
                  .reason = std::string(entry.reason_text())});
  unready(slot);
  if (raise_remembered(step, slot)) return;
  forget_entry(step, slot);
}

void Engine::Impl::unpark(Step& step, MessageId id) {
  step.out.writes.remove(keys::parked(id));
  receipts_.take_parked(id);
}

// One that ran out while others were delivered may itself be what the far side cannot take: it is
// not put back by each delivery, only by the clock, or after a while.
void Engine::Impl::park_for_reach(Step& step, Slot slot) {
  const Entry& entry = entries_[slot];
  Resident& resident = residents_[entry.destination];
  const Duration every = resident.bound->policy.health.revive_every;
  const bool others_went = resident.ok_at.is_set() && resident.ok_at > entry.state.first_attempt;
  const Timestamp from = others_went ? step.now + every : step.now;
  step.out.writes.put(keys::parked(entry.message.id), keys::parked_for_reach(from));
  resident.stranded = resident.stranded || !others_went;
  if (!others_went) resident.lost_at = step.now;
  // A walk that is under way may have gone past it.
  if (resident.reviving && others_went && !resident.revive_later.is_set())
    resident.revive_later = from;
  if (!resident.route.revive_at.is_set()) set_revival(step, entry.destination, step.now + every);
}

void Engine::Impl::refresh_attempts(const Step& step, Entry& entry) const {
  entry.state.attempts = entry.state.held_back = 0;
  // Not unset: that there was a start says that it holds gates until its end.
  if (entry.state.first_attempt.is_set()) entry.state.first_attempt = step.now;
  entry.state.held_before = held_time(residents_[entry.destination].route, step.now);
}

void Engine::Impl::hear_success(Step& step, Slot slot) {
  Resident& resident = residents_[slot];
  resident.ok_at = step.now;
  if (resident.route.health != Health::kNormal) return;
  if (resident.reviving) resident.revive_again = true;
  if (resident.stranded && !planted(Bug::kRevivalForgotten))
    begin_revival(step, slot, true, step.now);
}

// The entry of a revival came due.
void Engine::Impl::look_at_parked(Step& step, Slot slot) {
  Resident& resident = residents_[slot];
  if (!resident.revive_entry.is_set() || resident.revive_entry > step.now) return;
  const Route& route = resident.route;
  // Nobody is tried while the route is held; its resumption looks again. Else the entry stays until
  // the walk is over, because a crash would forget that.
  if (route.health == Health::kPaused || route.health == Health::kDisabled)
    return move_look(step, resident, resident.revive_entry, {});
  // An operator who resumes it clears the failures, and some failures do not count: a success from
  // before says nothing about who is there now.
  const bool well = route.health == Health::kNormal && resident.ok_at.is_set() &&
                    resident.ok_at >= route.health_since && resident.ok_at > resident.lost_at &&
                    !route.failing_since.is_set();
  begin_revival(step, slot, well, Timestamp::never());
}

// Of all, or of the oldest; and of those only whom a success revives from `until` or earlier. The
// time stands for the whole walk, or its end would overtake its beginning. The destination stays in
// memory meanwhile: it alone knows of a success that the walk came too early for.
void Engine::Impl::begin_revival(Step& step, Slot slot, bool all, Timestamp until) {
  Resident& resident = residents_[slot];
  if (resident.reviving) return;
  resident.reviving = true;
  resident.stranded = false;
  resident.revive_later = {};
  leave_lru(slot);
  ++resident.chores;
  step.out.chores.push_back(
      {.kind = Chore::Kind::kRevive, .destination = resident.id, .at = until, .all = all});
}

void Engine::Impl::revive(Step& step, const Chore& chore) {
  const auto known = by_destination_.find(chore.destination.value());
  POSTRIDER_CHECK(known != by_destination_.end());  // pinned by its chore
  const std::uint64_t number = chore.destination.value();
  const std::string first = chore.cursor.empty() ? keys::parked({number << 20, 0}) : chore.cursor;
  const Rows* rows = step.scan({first, keys::parked({(number + 1) << 20, 0}),
                                std::max<std::uint32_t>(1, limits_.refill_rows_max)});
  if (rows == nullptr) return;
  std::vector<std::pair<MessageId, Slot>> found;
  Timestamp later;  // the first that must wait longer
  bool parked_meanwhile = false;
  for (const Row& row : rows->rows) {
    const auto id = keys::parse_parked(row.first);
    const auto from = keys::parse_parked_for_reach(row.second.view());
    if (!id || !from) continue;
    if (chore.all && *from > chore.at) {
      if (*from <= step.now) parked_meanwhile = true;
      if (*from > step.now) later = later.is_set() ? std::min(later, *from) : *from;
      continue;
    }
    found.emplace_back(*id, locate(step, *id).slot);
    if (!chore.all) break;
  }
  if (step.lacks()) return;
  for (const auto& [id, slot] : found) {
    unpark(step, id);
    // It is gone when nobody can read it, and awake when nobody could read that it was parked.
    if (slot != kNoSlot && entries_[slot].visitor) put_back(step, slot);
  }
  const Slot walked = known->second;
  Resident& resident = residents_[walked];
  resident.stranded = resident.stranded || parked_meanwhile;
  if (later.is_set() && (!resident.revive_later.is_set() || later < resident.revive_later))
    resident.revive_later = later;
  const bool goes_on = !rows->complete && (chore.all || found.empty());
  if (goes_on) {
    step.out.chores.push_back({.kind = Chore::Kind::kRevive,
                               .destination = chore.destination,
                               .at = chore.at,
                               .cursor = rows->next,
                               .all = chore.all});
  } else {
    end_revival(step, walked, !chore.all && !found.empty());
  }
  ring(walked);
  maybe_refill(step, walked);
  touch(walked);
}

// Back in line on disk, with fresh attempts; the refill brings it in its place.
void Engine::Impl::put_back(Step& step, Slot slot) {
  Entry& entry = entries_[slot];
  const MessageId id = entry.message.id;
  std::optional<Timestamp> due;
  // One that an operator puts back has the attempts that it had.
  const bool fresh = phase_of(entry) != Phase::kParked || state_of(entry).revives;
  if (phase_of(entry) == Phase::kParked) {
    const Transition& row = *next_row(step, entry, On::kDue, nullptr, due);
    leave_step(step, entry, row.to, row.on);
    set_state(entry, row.to);
  }
  if (fresh) refresh_attempts(step, entry);
  entry.state.since = step.now;
  entry.state.due = Timestamp();
  store_state(step, entry);
  Lane& lane = residents_[entry.destination].the_lane(id.lane());
  // It stands in front of whoever sleeps.
  if (!lane.cold_ahead || id < lane.cursor) lane.asleep = false;
  lane.gains(id);
  cover(step, entry.destination, lane, id);
}

// The walk is over. `some_wait`: it was about one only, and there may be others.
void Engine::Impl::end_revival(Step& step, Slot slot, bool some_wait) {
  Resident& resident = residents_[slot];
  const Timestamp usual = step.now + resident.bound->policy.health.revive_every;
  resident.reviving = false;
  --resident.chores;
  const Timestamp later = std::exchange(resident.revive_later, {});
  const bool again = std::exchange(resident.revive_again, false);
  resident.stranded = resident.stranded || some_wait;
  if (!resident.stranded && !later.is_set()) return set_revival(step, slot, {});
  set_revival(step, slot, later.is_set() ? std::clamp(later, step.now, usual) : usual);
  if (again && resident.stranded) begin_revival(step, slot, true, step.now);
}

void Engine::Impl::set_revival(Step& step, Slot slot, Timestamp at) {
  Resident& resident = residents_[slot];
  if (resident.route.revive_at == at && resident.revive_entry == at) return;
  resident.route.revive_at = at;
  move_look(step, resident, resident.revive_entry, at);
  write_route(step, slot);
}

// An entry in the due space that makes somebody look at the route. There may be two of them, for
// its opening and for its revival, and they may be one.
void Engine::Impl::move_look(Step& step, const Resident& resident, Timestamp& entry,
                             Timestamp wanted) {
  if (entry == wanted) return;
  const MessageId id{resident.id.value() << 20, 0};
  const Timestamp old = std::exchange(entry, wanted);
  const bool shared = old == resident.opening_entry || old == resident.revive_entry;
  if (old.is_set() && !shared) step.out.writes.remove(keys::due(old, keys::DueKind::kOpening, id));
  if (wanted.is_set()) put_due(step, wanted, keys::DueKind::kOpening, id);
}

}  // namespace postrider
