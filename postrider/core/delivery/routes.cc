#include "postrider/core/delivery/routes.h"

#include "postrider/base/planted.h"

namespace postrider::core {
namespace {

// More than one attempt at a time may be open.
bool works(Health health) { return health == Health::kNormal || health == Health::kCatchUp; }

}  // namespace

HealthChange Routes::tell_health(Step& step, Slot slot, HealthOn on, std::string_view reason) {
  Resident& resident = residents_[slot];
  const HealthChange change =
      postrider::apply(resident.route, on, resident.bound->policy.health, step.now, rng_);
  if (on == HealthOn::kOk) hear_success(step, slot);
  if (resident.bound->policy.adapts) learn(resident, on, change);
  // A sign of life may have given it another place, and none of its own attempts ends for that.
  if (on == HealthOn::kOk && std::exchange(resident.held_back, false)) step.look_at(slot);
  if (!change.changed()) {
    // The clock of a failing route must go on after a restart, and failures that are over must not
    // come back. Strikes in between may be forgotten: they are not worth a record each.
    const bool over = resident.route.strikes < resident.strikes_stored;
    if (over || resident.route.failing_since != resident.failing_stored) write_route(step, slot);
    return change;
  }
  resident.route.reason = std::string(reason.substr(0, limits_.reason_bytes_max));
  const bool deep = change.became(Health::kDeep);
  const bool drops = deep && resident.bound->policy.drops_when_deep();
  const bool coalesces =
      (deep || change.became(Health::kCatchUp)) && resident.bound->policy.keeps_latest();
  if (drops) resident.route.sweep_until = step.now;
  if (coalesces) resident.route.latest_until = step.now;
  write_route(step, slot);
  if (drops || coalesces) destinations_.begin_sweep(step, slot);
  // While it was held nothing was tried.
  if (on == HealthOn::kResume && resident.route.revive_at.is_set())
    set_revival(step, slot, step.now);
  tell_change(step, slot, change);
  if (!residents_.awake(resident, step.now)) records_.spill_all(step, slot);
  step.look_at(slot);
  return change;
}

// One notice when a route closes and one when it opens; the probes between are no news.
void Routes::tell_change(Step& step, Slot slot, const HealthChange& change) {
  const Resident& resident = residents_[slot];
  LogEntry notice;
  notice.at = step.now;
  notice.id = MessageId{resident.id.value() << 20, 0};
  notice.reason = resident.route.reason;
  bool news = true;
  switch (change.after) {
    case Health::kNormal: notice.kind = LogEntry::Kind::kDestinationOpen; break;
    case Health::kWait:
    case Health::kDeep:
      notice.kind = LogEntry::Kind::kDestinationClosed;
      news = change.before == Health::kNormal;
      break;
    case Health::kDisabled: notice.kind = LogEntry::Kind::kDestinationDisabled; break;
    case Health::kPaused: notice.kind = LogEntry::Kind::kDestinationClosed; break;
    case Health::kProbe:
    case Health::kCatchUp: news = false; break;
  }
  if (news) receipts_.note(std::move(notice));
}

// That there was one is written down once; when, with whatever is written of the route later.
void Routes::note_delivery(Step& step, Slot slot) {
  Resident& resident = residents_[slot];
  if (resident.bound->policy.health.deep_after <= Duration(0)) return;
  const bool first = !resident.route.delivered_at.is_set();
  resident.route.delivered_at = step.now;
  if (first) write_route(step, slot);
}

void Routes::note_position(Step& step, Slot slot, std::uint64_t position) {
  Resident& resident = residents_[slot];
  const bool grew = position > resident.route.position;
  if (!grew && !(planted(Bug::kPositionBack) && position < resident.route.position)) return;
  resident.route.position = position;
  write_route(step, slot);
}

// A route that was closed, paused or disabled begins slowly when it opens.
void Routes::learn(Resident& resident, HealthOn on, const HealthChange& change) {
  const bool closes = works(change.before) && !works(change.after);
  if (closes && !planted(Bug::kSlowStartSkipped)) {
    ++tallies_.slow_starts;
    return resident.throttle.begin_slowly();
  }
  if (!works(change.after)) return;
  if (on == HealthOn::kOk) resident.throttle.succeeded(resident.bound->policy.route.in_use_max);
  if (on == HealthOn::kFail) resident.throttle.failed();
}

void Routes::sweep_values(Step& step, Slot slot) {
  residents_[slot].route.latest_until = step.now;
  write_route(step, slot);
  destinations_.begin_sweep(step, slot);
}

void Routes::hold_route(Step& step, Slot slot, Timestamp until, std::string_view reason) {
  Resident& resident = residents_[slot];
  if (resident.route.closed_until >= until) return;
  resident.route.closed_until = until;
  resident.route.reason = std::string(reason.substr(0, limits_.reason_bytes_max));
  write_route(step, slot);
  if (!residents_.awake(resident, step.now)) records_.spill_all(step, slot);
  step.look_at(slot);
}

void Routes::open_route(Step& step, Slot slot) {
  Resident& resident = residents_[slot];
  if (resident.route.closed_until > step.now) return;
  move_look(step, resident, resident.opening_entry, {});
  if (resident.route.health == Health::kWait || resident.route.health == Health::kDeep)
    tell_health(step, slot, HealthOn::kOpen, resident.route.reason);
  step.look_at(slot);
}

void Routes::write_route(Step& step, Slot slot) {
  Resident& resident = residents_[slot];
  if (planted(Bug::kIntervalNotStored)) resident.route.interval = Duration(0);
  step.out.writes.put(keys::route(resident.id), encode_route(resident.route));
  resident.failing_stored = resident.route.failing_since;
  resident.strikes_stored = resident.route.strikes;
  const Timestamp wanted =
      resident.route.closed_until > step.now ? resident.route.closed_until : Timestamp();
  move_look(step, resident, resident.opening_entry, wanted);
}

// An entry in the due space that makes the engine look at the route. There may be two of them, for
// its opening and for its revival, and they may be one.
void Routes::move_look(Step& step, const Resident& resident, Timestamp& entry, Timestamp wanted) {
  if (entry == wanted) return;
  const MessageId id{resident.id.value() << 20, 0};
  const Timestamp old = std::exchange(entry, wanted);
  const bool shared = old == resident.opening_entry || old == resident.revive_entry;
  if (old.is_set() && !shared) step.out.writes.remove(keys::due(old, keys::DueKind::kOpening, id));
  if (wanted.is_set()) due_.put_due(step, wanted, keys::DueKind::kOpening, id);
}

void Routes::set_revival(Step& step, Slot slot, Timestamp at) {
  Resident& resident = residents_[slot];
  if (resident.route.revive_at == at && resident.revive_entry == at) return;
  resident.route.revive_at = at;
  move_look(step, resident, resident.revive_entry, at);
  write_route(step, slot);
}

void Routes::hear_success(Step& step, Slot slot) {
  Resident& resident = residents_[slot];
  resident.ok_at = step.now;
  if (!works(resident.route.health)) return;
  if (resident.reviving) resident.revive_again = true;
  if (resident.stranded && !planted(Bug::kRevivalForgotten))
    destinations_.begin_revival(step, slot, true, step.now);
}

}  // namespace postrider::core
