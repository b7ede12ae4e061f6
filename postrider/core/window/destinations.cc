// Residents: destinations in memory. One with nothing to do may be forgotten at any time, because
// everything that matters about it is in the store.
#include <algorithm>

#include "postrider/base/planted.h"
#include "postrider/core/engine_impl.h"

namespace postrider {

Engine::Impl::Destined Engine::Impl::find_destination(Step& step, std::string_view name) {
  for (std::uint64_t probe = 0; probe < kProbes; ++probe) {
    const DestinationId id = destination_id(name, name, probe);
    if (const auto found = by_destination_.find(id.value()); found != by_destination_.end()) {
      if (residents_[found->second].bound->config.name == name) return {true, found->second};
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

Engine::Impl::Destined Engine::Impl::find_destination(Step& step, DestinationId id) {
  if (const auto found = by_destination_.find(id.value()); found != by_destination_.end())
    return {true, found->second};
  const auto* config = step.get(keys::config(id));
  const auto* route = step.get(keys::route(id));
  const auto* owed = step.get(keys::owed(id));
  const auto* census = step.get(keys::census(id));
  if (config == nullptr || route == nullptr || owed == nullptr || census == nullptr) return {};
  if (!config->has_value()) return {true, kNoSlot};
  return {true, make_resident(step, id, **config)};
}

Route Engine::Impl::read_route(Step& step, DestinationId id, const std::optional<Blob>& record) {
  if (!record) return {};
  auto route = decode_route(record->view());
  if (route) return std::move(*route);
  step.damaged.emplace_back(keys::route(id), *record);
  // Whether some are parked for want of reach is lost, so somebody must look.
  Route unknown;
  unknown.revive_at = step.now;
  return unknown;
}

// Of one that is not in memory. Damage is mended by whoever brings it there.
Route Engine::Impl::peek_at_route(Step& step, DestinationId id,
                                  const std::optional<Blob>& record) const {
  if (!record) return {};
  auto route = decode_route(record->view());
  if (route) return std::move(*route);
  step.out.chores.push_back({.kind = Chore::Kind::kWakeRoute, .destination = id});
  return {};
}

Slot Engine::Impl::make_resident(Step& step, DestinationId id, const Blob& record) {
  const auto config = decode_config(record.view());
  if (!config) {
    step.damaged.emplace_back(keys::config(id), record);
    return kNoSlot;
  }
  if (config->removed) return kNoSlot;
  Resident resident;
  resident.id = id;
  resident.bound = bind(*config);
  if (!resident.bound) return kNoSlot;
  const std::size_t met = step.damaged.size();
  resident.activity.since = step.now;
  resident.route = read_route(step, id, *step.get(keys::route(id)));
  const bool route_lost = step.damaged.size() > met;
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
      recall_turns(id, lane);
    }
  }
  read_census(step, resident, *step.get(keys::census(id)));
  // It stays even if the step has to come again, and then nobody reads these once more.
  const auto first = step.damaged.begin() + static_cast<std::ptrdiff_t>(met);
  damaged_at_load_.insert(damaged_at_load_.end(), first, step.damaged.end());
  step.damaged.resize(met);
  // What its gate let through before a restart is forgotten, so it is taken for used up.
  resident.gate.drain(resident.bound->policy.route, started_);
  begin_throttle(resident);
  const Slot slot = residents_.add(std::move(resident));
  by_destination_[id.value()] = slot;
  note_for_holds(residents_[slot]);
  touch(slot);
  if (route_lost) begin_revival(step, slot, false, Timestamp::never());
  maybe_refill(step, slot);
  return slot;
}

std::shared_ptr<const Bound> Engine::Impl::bind(const DestinationConfig& config) {
  const ProfileSpec* profile = nullptr;
  for (const ProfileSpec* candidate : options_.profiles) {
    if (candidate->name == config.profile) profile = candidate;
  }
  if (profile == nullptr) return nullptr;
  auto policy = profile->settings.configure(config.settings);
  if (!policy) return nullptr;
  return bound_to(config, *profile, *policy);
}

std::shared_ptr<const Bound> Engine::Impl::bound_to(const DestinationConfig& config,
                                                    const ProfileSpec& profile,
                                                    const Policy& policy) {
  Bound bound{config, &profile, policy, nullptr};
  if (profile.settings.prepare != nullptr) bound.prepared = profile.settings.prepare(bound.config);
  return std::make_shared<const Bound>(std::move(bound));
}

// Idle residents stand in a list, least recently used first, and are forgotten when they are too
// many.
void Engine::Impl::leave_lru(Slot slot) {
  Resident& resident = residents_[slot];
  if (!resident.in_lru) return;
  (resident.lru_prev == kNoSlot ? lru_first_ : residents_[resident.lru_prev].lru_next) =
      resident.lru_next;
  (resident.lru_next == kNoSlot ? lru_last_ : residents_[resident.lru_next].lru_prev) =
      resident.lru_prev;
  resident.in_lru = false;
  --lru_size_;
}

void Engine::Impl::touch(Slot slot) {
  leave_lru(slot);
  Resident& resident = residents_[slot];
  bool works = false;  // has something on disk that it could send
  for (const Lane& lane : resident.lanes)
    works = works || (lane.cold_ahead && !lane.asleep && awake(resident, now_));
  if (works || resident.in_memory > 0 || resident.chores > 0) return;
  if (resident.bound->config.draining) drained_.push_back(resident.id);
  // Its spacing or rate is not forgotten either, while it still binds.
  if (const Timestamp at = resident.gate.settled_at(resident.bound->policy.route); at > now_)
    return look_later(slot, at);
  resident.lru_next = kNoSlot;
  resident.lru_prev = lru_last_;
  (lru_last_ == kNoSlot ? lru_first_ : residents_[lru_last_].lru_next) = slot;
  lru_last_ = slot;
  resident.in_lru = true;
  ++lru_size_;
}

void Engine::Impl::evict_surplus() {
  // One that was counted anew stays until the commit: it alone knows what to write. Those behind it
  // were used later.
  while (lru_size_ > limits_.residents_max && !residents_[lru_first_].recounted)
    forget_resident(lru_first_);
}

void Engine::Impl::forget_resident(Slot slot) {
  Resident& resident = residents_[slot];
  POSTRIDER_CHECK(resident.in_memory == 0 && resident.chores == 0);
  leave_lru(slot);
  timers_.cancel(resident.look_timer);
  by_destination_.erase(resident.id.value());
  remember_turns(resident);
  if (resident.in_ring) ring_.remove(slot, resident.ring_tenant);
  if (resident.crowded) std::erase(crowded_, slot);
  if (resident.at_group) {
    for (auto& [name, group] : limit_groups_) std::erase(group.waiters, slot);
  }
  residents_.remove(slot);
}

void Engine::Impl::cover(Step& step, Slot slot, Lane& lane, MessageId id) {
  if (lane.head.is_set() && lane.head <= id) return;
  lane.head = id;
  write_owed(step, slot);
}

// When the last message of a lane that was on disk is gone, the lane is owed no more.
void Engine::Impl::settle_owed(Step& step, Slot slot, Lane& lane) {
  if (lane.cold_ahead || !lane.cold.empty() || lane.asleep || !lane.head.is_set()) return;
  lane.head = MessageId();
  write_owed(step, slot);
}

void Engine::Impl::write_owed(Step& step, Slot slot) {
  Resident& resident = residents_[slot];
  Owed owed;
  for (const Lane& lane : resident.lanes) owed.heads[lane.number] = lane.head;
  // One that is being drained is always found by a restart, which may have to take it away.
  if (owed.any() || resident.bound->config.draining) {
    step.out.writes.put(keys::owed(resident.id), encode_owed(owed));
    resident.owed_stored = true;
  } else if (resident.owed_stored) {
    step.out.writes.remove(keys::owed(resident.id));
    resident.owed_stored = false;
  }
}

void Engine::Impl::write_route(Step& step, Slot slot) {
  Resident& resident = residents_[slot];
  step.out.writes.put(keys::route(resident.id), encode_route(resident.route));
  resident.failing_stored = resident.route.failing_since;
  resident.strikes_stored = resident.route.strikes;
  const Timestamp wanted =
      resident.route.closed_until > step.now ? resident.route.closed_until : Timestamp();
  move_look(step, resident, resident.opening_entry, wanted);
}

void Engine::Impl::tell_health(Step& step, Slot slot, HealthOn on, std::string_view reason) {
  Resident& resident = residents_[slot];
  const HealthChange change =
      postrider::apply(resident.route, on, resident.bound->policy.health, step.now);
  if (on == HealthOn::kOk) hear_success(step, slot);
  if (resident.bound->policy.adapts) learn(resident, on, change);
  // A sign of life may have given it another place, and none of its own attempts ends for that.
  if (on == HealthOn::kOk && std::exchange(resident.held_back, false)) ring(slot);
  if (!change.changed()) {
    // The clock of a failing route must go on after a restart, and failures that are over must not
    // come back. Strikes in between may be forgotten: they are not worth a record each.
    const bool over = resident.route.strikes < resident.strikes_stored;
    if (over || resident.route.failing_since != resident.failing_stored) write_route(step, slot);
    return;
  }
  resident.route.reason = std::string(reason.substr(0, limits_.reason_bytes_max));
  write_route(step, slot);
  // While it was held nobody was tried.
  if (on == HealthOn::kResume && resident.route.revive_at.is_set())
    set_revival(step, slot, step.now);
  LogEntry notice;
  notice.at = step.now;
  notice.id = MessageId{resident.id.value() << 20, 0};
  notice.reason = resident.route.reason;
  // One notice when a route closes and one when it opens; the probes between are no news.
  bool news = true;
  switch (change.after) {
    case Health::kNormal: notice.kind = LogEntry::Kind::kDestinationOpen; break;
    case Health::kWait:
      notice.kind = LogEntry::Kind::kDestinationClosed;
      news = change.before == Health::kNormal;
      break;
    case Health::kDisabled: notice.kind = LogEntry::Kind::kDestinationDisabled; break;
    case Health::kPaused: notice.kind = LogEntry::Kind::kDestinationClosed; break;
    case Health::kProbe: news = false; break;
  }
  if (news) receipts_.note(std::move(notice));
  if (awake(resident, step.now)) {
    ring(slot);
    maybe_refill(step, slot);
  } else {
    spill_all(step, slot);
  }
  touch(slot);
}

void Engine::Impl::begin_throttle(Resident& resident) {
  resident.throttle.begin(resident.bound->policy.route.in_use_max);
  if (resident.route.health != Health::kNormal || resident.route.failing_since.is_set())
    resident.throttle.begin_slowly();
}

// A route that was closed, paused or disabled begins slowly when it opens.
void Engine::Impl::learn(Resident& resident, HealthOn on, const HealthChange& change) {
  const bool closes = change.before == Health::kNormal && change.after != Health::kNormal;
  if (closes && !planted(Bug::kSlowStartSkipped)) {
    ++tallies_.slow_starts;
    return resident.throttle.begin_slowly();
  }
  if (change.after != Health::kNormal) return;
  if (on == HealthOn::kOk) resident.throttle.succeeded(resident.bound->policy.route.in_use_max);
  if (on == HealthOn::kFail) resident.throttle.failed();
}

void Engine::Impl::hold_route(Step& step, Slot slot, Timestamp until, std::string_view reason) {
  Resident& resident = residents_[slot];
  if (resident.route.closed_until >= until) return;
  resident.route.closed_until = until;
  resident.route.reason = std::string(reason.substr(0, limits_.reason_bytes_max));
  write_route(step, slot);
  if (!awake(resident, step.now)) spill_all(step, slot);
  touch(slot);
}

bool Engine::Impl::startable(const Resident& resident, Timestamp now) const {
  if (resident.route.closed_until > now) return false;
  switch (resident.route.health) {
    case Health::kNormal: return true;
    case Health::kProbe: return resident.gate.in_use() == 0;  // one probe at a time
    case Health::kWait:
    case Health::kPaused:
    case Health::kDisabled: return false;
  }
  POSTRIDER_CHECK(false);
}

bool Engine::Impl::awake(const Resident& resident, Timestamp now) const {
  switch (resident.route.health) {
    case Health::kNormal:
    case Health::kProbe:
    case Health::kWait: return resident.route.closed_until <= now + limits_.hot_sleep_max;
    case Health::kPaused:
    case Health::kDisabled: return false;
  }
  POSTRIDER_CHECK(false);
}

}  // namespace postrider
