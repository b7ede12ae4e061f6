#include "postrider/core/delivery/revival.h"

#include <algorithm>

#include "postrider/base/check.h"

namespace postrider::core {

// The entry of a revival came due.
void Revival::look_at_parked(Step& step, Slot slot) {
  Resident& resident = residents_[slot];
  if (!resident.revive_entry.is_set() || resident.revive_entry > step.now) return;
  const Route& route = resident.route;
  // Nothing is tried while the route is held; its resumption looks again. Else the entry stays
  // until the walk is over, because a crash would forget that.
  if (route.health == Health::kPaused || route.health == Health::kDisabled)
    return routes_.move_look(step, resident, resident.revive_entry, {});
  // An operator that resumes the route clears its failures, and some failures do not count: an
  // earlier success says nothing about whether the destination is there now.
  const bool well = route.health == Health::kNormal && resident.ok_at.is_set() &&
                    resident.ok_at >= route.health_since && resident.ok_at > resident.lost_at &&
                    !route.failing_since.is_set();
  destinations_.begin_revival(step, slot, well, Timestamp::never());
}

void Revival::revive(Step& step, const Chore& chore) {
  const Slot known = residents_.find(chore.destination.value());
  POSTRIDER_CHECK(known != kNoSlot);  // pinned by its chore
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
    found.emplace_back(*id, lookup_.locate(step, *id).slot);
    if (!chore.all) break;
  }
  if (step.lacks()) return;
  for (const auto& [id, slot] : found) {
    delivery_.unpark(step, id);
    // It is gone when it cannot be read, and awake when its parking could not be read.
    if (slot != kNoSlot && window_[slot].visitor()) put_back(step, slot);
  }
  const Slot walked = known;
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
  step.look_at(walked);
}

// Back in line on disk, with fresh attempts; the refill brings it in its place.
void Revival::put_back(Step& step, Slot slot) {
  Entry& entry = window_[slot];
  const MessageId id = entry.message.id;
  std::optional<Timestamp> due;
  // One that an operator puts back has the attempts that it had.
  const bool fresh = window_.phase_of(entry) != Phase::kParked || window_.state_of(entry).revives;
  if (window_.phase_of(entry) == Phase::kParked) {
    const Transition& row = *delivery_.next_row(step, entry, On::kDue, nullptr, due);
    delivery_.leave_step(step, entry, row.to, row.on);
    census_.set_state(entry, row.to);
  }
  if (fresh) delivery_.refresh_attempts(step, entry);
  entry.state.since = step.now;
  entry.state.due = Timestamp();
  records_.store_state(step, entry);
  Lane& lane = residents_[entry.destination].the_lane(id.lane());
  // It stands in front of a head that sleeps.
  if (!lane.cold_ahead || id < lane.cursor) lane.asleep = false;
  lane.gains(id);
  destinations_.cover(step, entry.destination, lane, id);
}

// The walk is over. `some_wait`: it was about one message, and more may be parked.
void Revival::end_revival(Step& step, Slot slot, bool some_wait) {
  Resident& resident = residents_[slot];
  const Timestamp usual = step.now + resident.bound->policy.health.revive_every;
  resident.reviving = false;
  --resident.chores;
  const Timestamp later = std::exchange(resident.revive_later, {});
  const bool again = std::exchange(resident.revive_again, false);
  resident.stranded = resident.stranded || some_wait;
  if (!resident.stranded && !later.is_set()) return routes_.set_revival(step, slot, {});
  routes_.set_revival(step, slot, later.is_set() ? std::clamp(later, step.now, usual) : usual);
  if (again && resident.stranded) destinations_.begin_revival(step, slot, true, step.now);
}

void Revival::wake_route(Step& step, const Chore& chore) {
  const Destinations::Destined destined = destinations_.find_destination(step, chore.destination);
  if (!destined.known) return;
  if (destined.slot == kNoSlot) {
    ++tallies_.stray_timers;
    return;
  }
  look_at_parked(step, destined.slot);
  routes_.open_route(step, destined.slot);
}

}  // namespace postrider::core
