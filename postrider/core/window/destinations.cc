#include "postrider/core/window/destinations.h"

#include <algorithm>

#include "postrider/base/planted.h"

namespace postrider::core {
namespace {

// As if what the last message made were not known to the next one.
bool made_again(const Resident& resident) {
  return planted(Bug::kMadeTwice) && !resident.bound->like.empty() && resident.in_memory == 0 &&
         resident.cold_messages == 0;
}

}  // namespace

Destinations::Destined Destinations::find_destination(Step& step, std::string_view name) {
  for (std::uint64_t probe = 0; probe < kProbes; ++probe) {
    const DestinationId id = destination_id(name, name, probe);
    if (const Slot found = residents_.find(id.value()); found != kNoSlot) {
      if (residents_[found].name == name) return {true, found};
      continue;
    }
    const auto* value = step.get(keys::config(id));
    if (value == nullptr) return {};
    if (!value->has_value()) return {true, kNoSlot};
    const auto config = decode_config((*value)->view());
    if (!config) {
      step.damaged.emplace_back(keys::config(id), **value);
      return {true, kNoSlot};
    }
    if (config->name != name) continue;
    if (config->removed) return {true, kNoSlot};
    return find_destination(step, id);
  }
  return {true, kNoSlot};
}

Destinations::Destined Destinations::find_destination(Step& step, DestinationId id) {
  if (const Slot found = residents_.find(id.value()); found != kNoSlot) return {true, found};
  const auto* config = step.get(keys::config(id));
  const auto* route = step.get(keys::route(id));
  const auto* owed = step.get(keys::owed(id));
  const auto* census = step.get(keys::census(id));
  if (config == nullptr || route == nullptr || owed == nullptr || census == nullptr) return {};
  if (!config->has_value()) return {true, kNoSlot};
  return {true, make_resident(step, id, **config)};
}

Route Destinations::read_route(Step& step, DestinationId id, const std::optional<Blob>& record) {
  if (!record) return {};
  auto route = decode_route(record->view());
  if (route && planted(Bug::kBatchForgotten)) route->batch = {};
  if (route) return std::move(*route);
  step.damaged.emplace_back(keys::route(id), *record);
  // Whether messages are parked for want of reach is lost, so a walk must look.
  Route unknown;
  unknown.revive_at = step.now;
  return unknown;
}

// Of a destination that is not in memory. Damage is repaired when it is brought there.
Route Destinations::peek_at_route(Step& step, DestinationId id,
                                  const std::optional<Blob>& record) const {
  if (!record) return {};
  auto route = decode_route(record->view());
  if (route) return std::move(*route);
  step.out.chores.push_back({.kind = Chore::Kind::kWakeRoute, .destination = id});
  return {};
}

Slot Destinations::make_resident(Step& step, DestinationId id, const Blob& record) {
  const auto config = decode_config(record.view());
  if (!config) {
    step.damaged.emplace_back(keys::config(id), record);
    return kNoSlot;
  }
  if (config->removed) return kNoSlot;
  Resident resident;
  resident.id = id;
  resident.name = config->name;
  resident.draining = config->draining;
  resident.bound = templates_.bind(*config);
  if (!resident.bound) return kNoSlot;
  const std::size_t met = step.damaged.size();
  resident.activity.since = step.now;
  resident.route = read_route(step, id, *step.get(keys::route(id)));
  const bool route_lost = step.damaged.size() > met;
  // How many batches there were is lost, too. No destination opens one in each second of its life,
  // so a number that was used before is not used again.
  if (route_lost && resident.bound->policy.members_max > 0)
    resident.route.claims = static_cast<std::uint32_t>(step.now.ms() / 1000);
  resident.failing_stored = resident.route.failing_since;
  resident.strikes_stored = resident.route.strikes;
  // The entry of its opening is named by the time until which it is closed.
  resident.opening_entry = resident.route.closed_until;
  resident.revive_entry = resident.route.revive_at;
  resident.stranded = resident.route.revive_at.is_set();
  const std::optional<Blob>& stored = *step.get(keys::owed(id));
  if (stored) {
    resident.owed_stored = true;
    auto owed = decode_owed(stored->view());
    if (!owed) {
      // Which lanes are owed is lost, so all of them may be: look everywhere from the beginning.
      step.damaged.emplace_back(keys::owed(id), *stored);
      owed = Owed{};
      for (std::uint8_t lane = 0; lane < kLanes; ++lane)
        owed->heads[lane] = MessageId::make(id, lane, UINT16_MAX, Sequence(1));
    }
    for (std::uint8_t number = 0; number < kLanes; ++number) {
      if (!owed->heads[number].is_set()) continue;
      Lane& lane = resident.lane_or_new(number);
      lane.head = lane.cursor = owed->heads[number];
      lane.cold_ahead = true;
      residents_.recall_turns(id, lane);
    }
    const bool behind = std::any_of(owed->heads.begin(), owed->heads.end(), [&](MessageId head) {
      return head.is_set() && head.sequence().value() < sequences_.first();
    });
    if (behind) begin_behind(step, resident);
  }
  census_.read_census(step, resident, *step.get(keys::census(id)));
  resident.swept_cold = resident.cold_messages;
  // It stays even if the step has to come again, and then these are not read once more.
  const auto first = step.damaged.begin() + static_cast<std::ptrdiff_t>(met);
  damaged_.insert(damaged_.end(), first, step.damaged.end());
  step.damaged.resize(met);
  // What its gate let through before a restart is forgotten, so it is taken for used up.
  resident.gate.drain(resident.bound->policy.route, started_);
  residents_.begin_throttle(resident);
  const Slot slot = residents_.add(std::move(resident));
  residents_.note_fresh(residents_[slot].id);
  residents_.touch(step, slot);
  if (route_lost) begin_revival(step, slot, false, Timestamp::never());
  const Route& route = residents_[slot].route;
  if (route.sweep_until.is_set() || route.latest_until.is_set()) begin_sweep(step, slot);
  step.look_at(slot);
  return slot;
}

void Destinations::begin_behind(const Step& step, Resident& resident) {
  if (!resident.bound->policy.health.begins_behind || resident.route.health != Health::kNormal ||
      resident.route.closed_until > step.now)
    return;
  resident.route.health = Health::kCatchUp;
  resident.route.health_since = step.now;
  if (resident.bound->policy.keeps_latest()) resident.route.latest_until = step.now;
}

Destinations::Destined Destinations::find_or_make(Step& step, const std::string& name) {
  const Destined destined = find_destination(step, name);
  if (!destined.known) return destined;
  const bool known = destined.slot != kNoSlot;
  const Slot there = known && !made_again(residents_[destined.slot]) ? destined.slot : kNoSlot;
  if (there != kNoSlot || !is_destination_name(name)) return {true, there};
  const Templates::Template* wide = templates_.for_name(name);
  if (wide == nullptr || wide->bound == nullptr) return {true, kNoSlot};
  const std::size_t asked = step.need.keys.size();
  const auto id = free_probe(step, name);
  if (step.need.keys.size() > asked) return {};
  if (!id) return {true, kNoSlot};
  Resident resident;
  resident.id = *id;
  resident.name = name;
  resident.bound = wide->bound;
  resident.unwritten = true;
  resident.activity.since = step.now;
  residents_.begin_throttle(resident);
  const Slot slot = residents_.add(std::move(resident));
  unwritten_.push_back(slot);
  return {true, slot};
}

void Destinations::keep_made(Step& step, Slot slot) {
  Resident& resident = residents_[slot];
  if (!resident.unwritten) return;
  resident.unwritten = false;
  std::erase(unwritten_, slot);
  write_config(step, resident, {});
  residents_.note_fresh(resident.id);
}

void Destinations::drop_unwritten() {
  for (const Slot slot : unwritten_) residents_.remove(slot);
  unwritten_.clear();
}

void Destinations::write_config(Step& step, Resident& resident, std::string_view before) {
  const std::string& like = resident.bound->like;
  step.out.writes.put(keys::config(resident.id), encode_config(resident.config()));
  if (before == like) return;
  if (!before.empty()) step.out.writes.remove(keys::like(before, resident.id));
  if (!like.empty()) step.out.writes.put(keys::like(like, resident.id), std::string());
  resident.used_stored = Timestamp();
}

void Destinations::write_use(Step& step, Slot slot) {
  Resident& resident = residents_[slot];
  const Bound& bound = *resident.bound;
  if (bound.like.empty()) return;
  resident.used_at = step.now;
  const Timestamp stored = resident.used_stored;
  const bool is_near = stored.is_set() && step.now - stored < bound.policy.idle_life / kIdleMarks;
  if (is_near || (planted(Bug::kIdleUseForgotten) && stored.is_set())) return;
  resident.used_stored = step.now;
  step.out.writes.put(keys::like(bound.like, resident.id), encode_used(step.now));
}

std::optional<DestinationId> Destinations::free_probe(Step& step, std::string_view name) {
  for (std::uint64_t probe = 0; probe < kProbes; ++probe) {
    const DestinationId id = destination_id(name, name, probe);
    if (residents_.contains(id.value())) continue;
    const auto* value = step.get(keys::config(id));
    if (value == nullptr) return std::nullopt;
    if (!value->has_value()) return id;
    const auto config = decode_config((*value)->view());
    if (!config || (config->removed && config->name == name)) return id;
  }
  return std::nullopt;
}

// Of all parked messages, or of the oldest; and only of messages that a success from `until` or
// earlier revives. The time stands for the whole walk, or its end would overtake its beginning. The
// destination stays in memory meanwhile: it alone knows of a success that the walk came too early
// for.
void Destinations::begin_revival(Step& step, Slot slot, bool all, Timestamp until) {
  Resident& resident = residents_[slot];
  if (resident.reviving) return;
  resident.reviving = true;
  resident.stranded = false;
  resident.revive_later = {};
  residents_.leave_lru(slot);
  ++resident.chores;
  step.out.chores.push_back(
      {.kind = Chore::Kind::kRevive, .destination = resident.id, .at = until, .all = all});
}

// What was accepted up to Route::sweep_until and latest_until. The destination is pinned meanwhile.
void Destinations::begin_sweep(Step& step, Slot slot) {
  Resident& resident = residents_[slot];
  if (resident.sweeping) return;
  resident.sweeping = true;
  residents_.leave_lru(slot);
  ++resident.chores;
  step.out.chores.push_back({.kind = Chore::Kind::kSweep, .destination = resident.id});
}

void Destinations::write_owed(Step& step, Slot slot) {
  Resident& resident = residents_[slot];
  Owed owed;
  for (const Lane& lane : resident.lanes) owed.heads[lane.number] = lane.head;
  // One that is being drained is always found by a restart, which may have to take it away.
  if (owed.any() || resident.draining) {
    step.out.writes.put(keys::owed(resident.id), encode_owed(owed));
    resident.owed_stored = true;
  } else if (resident.owed_stored) {
    step.out.writes.remove(keys::owed(resident.id));
    resident.owed_stored = false;
  }
}

void Destinations::cover(Step& step, Slot slot, Lane& lane, MessageId id) {
  if (lane.head.is_set() && lane.head <= id) return;
  lane.head = id;
  write_owed(step, slot);
}

// When the last message of a lane that was on disk is gone, the lane is owed no more.
void Destinations::settle_owed(Step& step, Slot slot, Lane& lane) {
  if (lane.cold_ahead || !lane.cold.empty() || lane.asleep || !lane.head.is_set()) return;
  lane.head = MessageId();
  write_owed(step, slot);
}

// A list must not fill the cache: only the name is read. Empty: it is gone, or must be read first.
std::string Destinations::name_of_destination(Step& step, DestinationId id, Removed removed) {
  if (const Slot found = residents_.find(id.value()); found != kNoSlot)
    return residents_[found].name;
  const auto* record = step.get(keys::config(id));
  if (record == nullptr || !record->has_value()) return {};
  const auto config = decode_config((*record)->view());
  if (!config || (config->removed && removed == Removed::kHasNoName)) return {};
  return config->name;
}

}  // namespace postrider::core
