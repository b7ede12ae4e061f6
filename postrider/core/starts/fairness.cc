// Fairness: who may have how many attempts open. A route learns what its far side takes; a group of
// destinations shares one limit; and of all places that the engine has, nobody takes more than are
// left for the others, and some are kept for destinations that are known to answer.
#include <algorithm>

#include "postrider/base/planted.h"
#include "postrider/core/engine_impl.h"

namespace postrider {

// Whether one more attempt of this destination may be open. If not, it is looked at again as soon
// as that may have changed.
bool Engine::Impl::has_room(Step& step, Slot slot) {
  Resident& resident = residents_[slot];
  const Policy& policy = resident.bound->policy;
  if (policy.adapts && resident.gate.in_use() >= resident.throttle.places() &&
      !planted(Bug::kNothingLearnt)) {
    resident.held_back = true;
    return false;
  }
  const std::uint32_t most = limits_.open_attempts_max;
  const std::uint32_t free = most > open_attempts_ ? most - open_attempts_ : 0;
  if (resident.open_attempts > 0 && resident.open_attempts >= free &&
      !planted(Bug::kPlacesHogged)) {
    resident.held_back = true;
    return false;
  }
  if (!is_proven(resident) && unproven_open_ >= unproven_max()) {
    if (!std::exchange(resident.crowded, true)) crowded_.push_back(slot);
    return false;
  }
  return policy.group == 0 || enter_group(step, slot);
}

bool Engine::Impl::is_proven(const Resident& resident) {
  return resident.ok_at.is_set() && !resident.route.failing_since.is_set();
}

// One place in eight is for destinations that are known to answer, however many hang.
std::uint32_t Engine::Impl::unproven_max() const {
  if (planted(Bug::kPlacesNotKept)) return limits_.open_attempts_max;
  return limits_.open_attempts_max - limits_.open_attempts_max / 8;
}

void Engine::Impl::attempt_opened(Entry& entry) {
  Resident& resident = residents_[entry.destination];
  entry.unproven = !is_proven(resident);
  unproven_open_ += entry.unproven ? 1U : 0U;
  ++open_attempts_;
  ++resident.open_attempts;
  count_start(resident);
  const std::size_t large = (entry.message.bytes() + entry.message.shared.bytes) / kBytesPerCost;
  spent_ += 1 + static_cast<std::uint32_t>(std::min<std::size_t>(large, kCostMax - 1));
}

// Few tenants are told of by name, because each is a line of the figures for ever.
void Engine::Impl::count_start(const Resident& resident) {
  const std::uint64_t number = resident.bound->policy.tenant;
  if (number == 0) return;
  std::vector<Tallies::Tenant>& list = tallies_.tenants;
  for (Tallies::Tenant& tenant : list) {
    if (tenant.number != number) continue;
    ++tenant.starts;
    return;
  }
  const std::string* name = find_text(resident.bound->config.settings, "tenant");
  if (list.size() >= kTenantsTold || name == nullptr) {
    ++tallies_.other_tenants;
  } else {
    list.push_back({number, *name, 1});
  }
}

void Engine::Impl::attempt_closed(Entry& entry) {
  Resident& resident = residents_[entry.destination];
  unproven_open_ -= std::exchange(entry.unproven, false) ? 1U : 0U;
  --open_attempts_;
  --resident.open_attempts;
  if (std::exchange(resident.held_back, false)) ring(entry.destination);
}

// Those that waited for a place among the unproven stand in the ring again, as many as there are
// places. False: nobody.
bool Engine::Impl::let_crowd_in() {
  std::uint32_t places = unproven_max() > unproven_open_ ? unproven_max() - unproven_open_ : 0;
  bool some = false;
  for (; places > 0 && !crowded_.empty(); --places) {
    const Slot slot = crowded_.front();
    crowded_.pop_front();
    residents_[slot].crowded = false;
    ring(slot);
    some = true;
  }
  return some;
}

Engine::Impl::LimitGroup& Engine::Impl::group_of(const Policy& policy) {
  const auto [place, is_new] = limit_groups_.try_emplace(policy.group);
  if (is_new) place->second.state.drain(policy.group_limits, started_);
  place->second.limits = policy.group_limits;
  return place->second;
}

// Destinations of a group name its limits each for itself; when they differ, the last one asked
// goes by its own.
bool Engine::Impl::enter_group(Step& step, Slot slot) {
  Resident& resident = residents_[slot];
  const Policy& policy = resident.bound->policy;
  LimitGroup& group = group_of(policy);
  const GateState::Permit permit = group.state.permit(policy.group_limits, step.now);
  if (permit.open || planted(Bug::kGroupIgnored)) return true;
  if (!std::exchange(resident.at_group, true)) group.waiters.push_back(slot);
  if (permit.again.is_set() && !timers_.armed(group.timer)) {
    group.timer =
        timers_.arm(permit.again, Timer{.kind = TimerKind::kGroup, .id = {policy.group, 0}});
  }
  return false;
}

void Engine::Impl::take_group(const Step& step, Entry& entry) {
  const Policy& policy = residents_[entry.destination].bound->policy;
  if (policy.group == 0) return;
  LimitGroup& group = group_of(policy);
  if (group.state.permit(policy.group_limits, step.now).open) {
    group.state.take(policy.group_limits, step.now);
  } else {
    group.state.occupy();
  }
  entry.group = policy.group;
}

void Engine::Impl::occupy_group(Entry& entry) {
  const Policy& policy = residents_[entry.destination].bound->policy;
  if (policy.group == 0) return;
  group_of(policy).state.occupy();
  entry.group = policy.group;
}

void Engine::Impl::leave_group(Step& step, Entry& entry) {
  if (entry.group == 0) return;
  limit_groups_.at(entry.group).state.give_back();
  step.freed_groups.push_back(std::exchange(entry.group, 0));
}

// Its destinations in turn, one start each.
void Engine::Impl::serve_group(Step& step, GateName name) {
  const auto found = limit_groups_.find(name);
  if (found == limit_groups_.end()) return;
  LimitGroup& group = found->second;
  while (!group.waiters.empty()) {
    const GateState::Permit permit = group.state.permit(group.limits, step.now);
    if (!permit.open) {
      if (permit.again.is_set() && !timers_.armed(group.timer))
        group.timer = timers_.arm(permit.again, Timer{.kind = TimerKind::kGroup, .id = {name, 0}});
      return;
    }
    const Slot slot = group.waiters.front();
    group.waiters.pop_front();
    residents_[slot].at_group = false;
    const bool full = open_attempts_ >= limits_.open_attempts_max;
    if (full || start_next(step, slot)) ring(slot);
    touch(slot);
  }
  if (group.state.in_use() == 0 && group.state.settled_at(group.limits) <= step.now)
    limit_groups_.erase(found);
}

}  // namespace postrider
