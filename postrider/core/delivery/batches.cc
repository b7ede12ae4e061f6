#include "postrider/core/delivery/batches.h"

#include <algorithm>

#include "postrider/base/check.h"
#include "postrider/base/planted.h"

namespace postrider::core {

bool Batches::is_batched(const Entry& entry) const {
  const Bound& bound = *residents_[entry.destination].bound;
  if (window_.leads(entry)) return true;
  return bound.policy.members_max > 0 && bound.profile->wire.compose != nullptr &&
         window_.method_of(entry).durable_intent;
}

std::uint32_t Batches::members_max(const Resident& resident) const {
  const std::uint32_t most = std::clamp<std::uint32_t>(
      resident.bound->policy.members_max, 1, static_cast<std::uint32_t>(kBatchMembersMax));
  const std::uint32_t learnt = resident.route.members_max;
  return learnt == 0 ? most : std::min(learnt, most);
}

// A message that waits at a gate of several destinations would hold up all members, and one that is
// late or unwanted is told so when its own turn comes.
bool Batches::may_follow(const Step& step, const Entry& leader, const Entry& entry) const {
  const Transition* row = find_row(window_.method_of(entry).rows, entry.state.state, On::kDue);
  const bool has_gates = std::any_of(entry.message.gates.begin(), entry.message.gates.end(),
                                     [](GateName name) { return name != 0; });
  return entry.ready() && entry.state.method == leader.state.method && !has_gates &&
         row != nullptr && row->verb == Do::kStartAttempt && !entry.state.cancel_wanted &&
         !window_.is_expired(entry.message, step.now);
}

std::vector<Slot> Batches::candidates(const Step& step, Slot leader) const {
  const Entry& first = window_[leader];
  const Resident& resident = residents_[first.destination];
  const Policy& policy = resident.bound->policy;
  std::vector<const Lane*> lanes;
  for (const Lane& lane : resident.lanes) lanes.push_back(&lane);
  std::sort(lanes.begin(), lanes.end(),
            [](const Lane* a, const Lane* b) { return a->number < b->number; });
  std::vector<Slot> out;
  for (const Lane* lane : lanes) {
    if (lane->first == kNoSlot || window_.owes_before(*lane, window_[lane->first])) continue;
    if (resident.route.health == Health::kCatchUp && !policy.starts_in_catch_up(lane->number))
      continue;
    const bool fifo = policy.lane_kind(lane->number) == LaneKind::kFifo;
    // Its head is under way, or in back-off: nothing overtakes it.
    if (fifo && lane->in_memory != lane->ready) continue;
    for (Slot slot = lane->first; slot != kNoSlot; slot = window_[slot].next) {
      if (slot == leader) continue;
      const bool may = may_follow(step, first, window_[slot]);
      if (may) out.push_back(slot);
      if (!may && fifo) break;
    }
  }
  return out;
}

void Batches::open(Step& step, Slot leader, std::span<const Slot> candidates,
                   std::span<const std::size_t> chosen) {
  Entry& first = window_[leader];
  Resident& resident = residents_[first.destination];
  const Policy& policy = resident.bound->policy;
  POSTRIDER_CHECK(!resident.route.batch.is_open());
  const std::size_t room = members_max(resident) - 1;
  std::vector<bool> taken(candidates.size(), false);
  for (const std::size_t place : chosen) {
    if (place < candidates.size()) taken[place] = true;
  }
  // Of a FIFO lane those before the first one that was left out.
  std::uint16_t gaps = 0;
  for (std::size_t place = 0; place < candidates.size(); ++place) {
    const std::uint8_t lane = window_[candidates[place]].message.id.lane();
    if (policy.lane_kind(lane) != LaneKind::kFifo) continue;
    if (!taken[place]) gaps = static_cast<std::uint16_t>(gaps | 1U << lane);
    if ((gaps >> lane & 1U) != 0) taken[place] = false;
  }
  OpenBatch batch{.leader = first.message.id};
  for (const std::size_t place : chosen) {
    if (place >= candidates.size() || !taken[place] || batch.followers.size() == room) continue;
    taken[place] = false;
    batch.followers.push_back(window_[candidates[place]].message.id);
  }
  resident.route.batch = std::move(batch);
  resident.leader_sleeps = false;
  ++resident.route.claims;
  for (const MessageId id : resident.route.batch.followers) window_.claim(step, window_.at(id));
  // What was written down for an earlier attempt was about other members.
  first.more().intent.open = false;
  routes_.write_route(step, first.destination);
  ++tallies_.batches;
  tallies_.batch_members += 1 + resident.route.batch.followers.size();
}

std::vector<MessageId> Batches::release(Step& step, Slot resident_slot, bool splits) {
  Resident& resident = residents_[resident_slot];
  OpenBatch batch = close(resident_slot);
  if (splits && !batch.followers.empty()) {
    const std::size_t members = batch.followers.size() + 1;
    const std::size_t fewer = planted(Bug::kSplitForgotten) ? members - 1 : members / 2;
    resident.route.members_max = static_cast<std::uint16_t>(fewer);
    resident.route.refused = {batch.leader};
    resident.route.refused.insert(resident.route.refused.end(), batch.followers.begin(),
                                  batch.followers.end());
    ++tallies_.batch_splits;
  }
  routes_.write_route(step, resident_slot);
  bool lost = planted(Bug::kMemberLost);
  for (const MessageId id : batch.followers) {
    const Slot slot = window_.find(id);
    if (slot != kNoSlot && !window_[slot].visitor()) {
      if (!std::exchange(lost, false)) window_.make_ready(step, slot);
      continue;
    }
    Lane& lane = resident.lane_or_new(id.lane());
    lane.gains(id);
    destinations_.cover(step, resident_slot, lane, id);
  }
  step.look_at(resident_slot);
  const Slot leader = window_.find(batch.leader);
  Details* details = leader == kNoSlot ? nullptr : window_[leader].details.get();
  if (details != nullptr && details->intent.open) {
    details->intent.open = false;
    window_[leader].dirty = true;
  }
  return std::move(batch.followers);
}

OpenBatch Batches::close(Slot resident) {
  residents_[resident].leader_sleeps = false;
  return std::exchange(residents_[resident].route.batch, {});
}

void Batches::drop_follower(Slot resident, MessageId id) {
  std::erase(residents_[resident].route.batch.followers, id);
}

void Batches::forget_refused(Step& step, const Entry& entry) {
  Route& route = residents_[entry.destination].route;
  if (route.refused.empty()) return;
  if (std::erase(route.refused, entry.message.id) != 0)
    routes_.write_route(step, entry.destination);
}

void Batches::take_one_more(Step& step, Slot leader) {
  const std::vector<Slot> found = candidates(step, leader);
  if (found.empty()) return;
  Entry& newest = window_[found.back()];
  residents_[newest.destination].route.batch.followers.push_back(newest.message.id);
  window_.claim(step, found.back());
  routes_.write_route(step, newest.destination);
}

// What the far side refused has gone through in parts: it may take more again.
void Batches::note_success(Resident& resident) {
  Route& route = resident.route;
  if (route.members_max == 0 || !route.refused.empty()) return;
  const std::uint32_t doubled = 2U * route.members_max;
  const bool all = doubled >= resident.bound->policy.members_max;
  route.members_max = all ? std::uint16_t{0} : static_cast<std::uint16_t>(doubled);
}

void Batches::begin_small(Slot resident_slot) {
  Resident& resident = residents_[resident_slot];
  resident.route.refused.clear();
  if (resident.bound->policy.batches_begin_small) resident.route.members_max = 1;
}

}  // namespace postrider::core
