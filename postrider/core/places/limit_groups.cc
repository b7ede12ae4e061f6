#include "postrider/core/places/limit_groups.h"

#include "postrider/base/planted.h"

namespace postrider::core {

LimitGroups::LimitGroup& LimitGroups::group_of(const Policy& policy) {
  const auto [place, is_new] = groups_.try_emplace(policy.group);
  if (is_new) place->second.state.drain(policy.group_limits, started_);
  place->second.limits = policy.group_limits;
  return place->second;
}

// Destinations of a group name its limits each for itself; when they differ, the last one asked
// goes by its own.
bool LimitGroups::enter_group(Step& step, Slot slot) {
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

void LimitGroups::take_group(const Step& step, Entry& entry) {
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

void LimitGroups::occupy_group(Entry& entry) {
  const Policy& policy = residents_[entry.destination].bound->policy;
  if (policy.group == 0) return;
  group_of(policy).state.occupy();
  entry.group = policy.group;
}

void LimitGroups::leave_group(Step& step, Entry& entry) {
  if (entry.group == 0) return;
  groups_.at(entry.group).state.give_back();
  step.freed_groups.push_back(std::exchange(entry.group, 0));
}

Slot LimitGroups::next_waiter(const Step& step, GateName name) {
  const auto found = groups_.find(name);
  if (found == groups_.end()) return kNoSlot;
  LimitGroup& group = found->second;
  if (!group.waiters.empty()) {
    const GateState::Permit permit = group.state.permit(group.limits, step.now);
    if (!permit.open) {
      if (permit.again.is_set() && !timers_.armed(group.timer))
        group.timer = timers_.arm(permit.again, Timer{.kind = TimerKind::kGroup, .id = {name, 0}});
      return kNoSlot;
    }
    const Slot slot = group.waiters.front();
    group.waiters.pop_front();
    residents_[slot].at_group = false;
    return slot;
  }
  if (group.state.in_use() == 0 && group.state.settled_at(group.limits) <= step.now)
    groups_.erase(found);
  return kNoSlot;
}

void LimitGroups::leave_waiters(Slot slot) {
  for (auto& [name, group] : groups_) std::erase(group.waiters, slot);
}

}  // namespace postrider::core
