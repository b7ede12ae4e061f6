#include "postrider/core/desk/idle.h"

#include <algorithm>
#include <utility>

#include "postrider/base/durations.h"
#include "postrider/base/planted.h"

namespace postrider::core {
namespace {

constexpr Duration kPeriodMin = 1s;  // between two walks over one template

Duration life_of(const Templates::Template& wide) {
  return wide.bound ? wide.bound->policy.idle_life : Duration(0);
}
Duration period_of(Duration life) { return std::max(life / kIdleMarks, kPeriodMin); }

}  // namespace

void Idle::look(Step& step) {
  if (planted(Bug::kIdleNotLookedFor)) return;
  std::erase_if(walks_, [this](const auto& walk) {
    const Templates::Template* wide = templates_.find(walk.first);
    return !walk.second.runs && (wide == nullptr || life_of(*wide) == Duration(0));
  });
  for (const auto& [name, wide] : templates_.all()) {
    const Duration life = life_of(wide);
    if (life == Duration(0)) continue;
    const Timestamp soon = step.now + period_of(life);
    // The first one comes at once: a process may live for less than the time between two.
    Walk& walk = walks_.try_emplace(name, Walk{step.now}).first->second;
    walk.next = std::min(walk.next, soon);  // its life may have become shorter
    if (walk.runs || walk.next > step.now) continue;
    walk.runs = true;
    step.out.chores.push_back({.kind = Chore::Kind::kIdle, .cursor = keys::like(name)});
  }
  arm();
}

void Idle::arm() {
  timers_.cancel(std::exchange(timer_, 0));
  Timestamp first = Timestamp::never();
  for (const auto& [name, walk] : walks_) {
    if (!walk.runs) first = std::min(first, walk.next);
  }
  if (first != Timestamp::never()) timer_ = timers_.arm(first, Timer{.kind = TimerKind::kIdle});
}

void Idle::end_walk(Timestamp now, const std::string& name) {
  const auto walk = walks_.find(name);
  if (walk == walks_.end()) return;
  const Templates::Template* wide = templates_.find(name);
  const Duration life = wide == nullptr ? Duration(0) : life_of(*wide);
  if (life == Duration(0)) {
    walks_.erase(walk);
  } else {
    walk->second = {now + period_of(life)};
  }
  arm();
}

bool Idle::is_over(Timestamp now, const Templates::Template& wide, const Resident* resident,
                   Timestamp mark) const {
  const WallBooks& wall = receipts_.wall();
  const Duration life = life_of(wide);
  // What was used before the life was set, or was another one, is not known exactly.
  if (wall.meant(wide.config.idle_since) + life > now) return false;
  if (resident != nullptr && resident->used_at.is_set() && !planted(Bug::kIdleUseForgotten))
    return wall.meant(resident->used_at) + life <= now;
  // Uses that came soon behind the mark are not in it.
  return !mark.is_set() || wall.meant(mark) + life + life / kIdleMarks <= now;
}

// A page of the entries of one template.
void Idle::walk(Step& step, const Chore& chore) {
  const auto ran = std::find_if(walks_.begin(), walks_.end(), [&chore](const auto& walk) {
    return chore.cursor.starts_with(keys::like(walk.first));
  });
  if (ran == walks_.end()) return;
  const std::string name = ran->first;
  const Templates::Template* wide = templates_.find(name);
  if (wide == nullptr || life_of(*wide) == Duration(0)) return end_walk(step.now, name);
  const Rows* rows = step.scan({chore.cursor, keys::after_prefix(keys::like(name)),
                                std::max<std::uint32_t>(1, limits_.refill_rows_max)});
  if (rows == nullptr) return;
  for (const Row& row : rows->rows) {
    const auto key = keys::parse_like(row.first);
    if (!key) continue;
    const Slot slot = residents_.find(key->destination.value());
    const Resident* resident = slot == kNoSlot ? nullptr : &residents_[slot];
    const auto mark = decode_used(row.second.view());
    if (!mark) {  // damaged: it may have been used just now
      step.out.writes.put(row.first, encode_used(step.now));
    } else if (is_over(step.now, *wide, resident, *mark)) {
      step.out.chores.push_back(
          {.kind = Chore::Kind::kRemoveIdle, .destination = key->destination});
    }
  }
  if (rows->complete) return end_walk(step.now, name);
  step.out.chores.push_back({.kind = Chore::Kind::kIdle, .cursor = rows->next});
}

bool Idle::may_go(Timestamp now, const Resident& resident) const {
  const Bound& bound = *resident.bound;
  if (bound.like.empty() || !bound.own.empty() || resident.draining) return false;
  if (bound.policy.idle_life == Duration(0)) return false;
  const Route& route = resident.route;
  if (route.health == Health::kPaused || route.health == Health::kDisabled) return false;
  if (route.closed_until > now) return false;
  // Its dead letters could not be sent again.
  if (receipts_.cause_counts().any_of(resident.id)) return false;
  return !waiters_.any_of(Waiters::mailbox(resident.id));
}

// Among the events of the destination, so that a message that came before keeps it, and a message
// that comes behind makes it again.
void Idle::remove_idle(Step& step, const Chore& chore) {
  const Slot known = residents_.find(chore.destination.value());
  if (known != kNoSlot && !may_go(step.now, residents_[known])) return;
  // One that is not in memory comes there only to be taken away.
  if (known == kNoSlot && !settings_.has_none_on_disk(step, chore.destination).value_or(false))
    return;
  const Destinations::Destined destined = destinations_.find_destination(step, chore.destination);
  if (!destined.known || destined.slot == kNoSlot) return;
  const Resident& resident = residents_[destined.slot];
  if (!may_go(step.now, resident)) return;
  const auto* entry = step.get(keys::like(resident.bound->like, resident.id));
  const std::optional<bool> empty = settings_.is_empty(step, destined.slot);
  if (entry == nullptr || !empty) return;
  if (!*empty && !(planted(Bug::kIdleTakesMessages) && resident.in_memory == 0)) return;
  const auto mark = decode_used(entry->has_value() ? (*entry)->view() : std::string_view());
  const Templates::Template* wide = templates_.find(resident.bound->like);
  if (wide == nullptr || !mark || !is_over(step.now, *wide, &resident, *mark)) return;
  LogEntry notice;
  notice.kind = LogEntry::Kind::kRemoved;
  notice.at = step.now;
  notice.id = {resident.id.value() << 20, 0};
  notice.reason = "destination '" + resident.name + "' went: it had nothing to do for " +
                  to_string(life_of(*wide));
  receipts_.note(std::move(notice));
  settings_.take_away(step, destined.slot);
}

}  // namespace postrider::core
