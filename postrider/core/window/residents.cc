#include "postrider/core/window/residents.h"

#include "postrider/base/check.h"

namespace postrider::core {
namespace {

// Lanes with several priorities whose destinations are not in memory. Beyond it all are forgotten,
// and begin with the highest of the lower ones: 2 MB are enough for a courtesy.
constexpr std::size_t kTurnsMax = 65'536;

}  // namespace

// Idle residents stand in a list, least recently used first, and are forgotten when they are too
// many.
void Residents::leave_lru(Slot slot) {
  Resident& resident = slab_[slot];
  if (!resident.in_lru) return;
  (resident.lru_prev == kNoSlot ? lru_first_ : slab_[resident.lru_prev].lru_next) =
      resident.lru_next;
  (resident.lru_next == kNoSlot ? lru_last_ : slab_[resident.lru_next].lru_prev) =
      resident.lru_prev;
  resident.in_lru = false;
  --lru_size_;
}

void Residents::touch(const Step& step, Slot slot) {
  Resident& resident = slab_[slot];
  if (resident.in_lru) leave_lru(slot);
  if (resident.in_memory > 0 || resident.chores > 0) return;
  bool works = false;  // has something on disk that it could send
  for (const Lane& lane : resident.lanes)
    works = works || (lane.cold_ahead && !lane.asleep && awake(resident, step.now));
  if (works) return;
  if (resident.draining) drained_.push_back(resident.id);
  // Its spacing or rate is not forgotten either, while it still binds.
  if (const Timestamp at = resident.gate.settled_at(resident.bound->policy.route); at > step.now)
    return look_later(slot, at);
  resident.lru_next = kNoSlot;
  resident.lru_prev = lru_last_;
  (lru_last_ == kNoSlot ? lru_first_ : slab_[lru_last_].lru_next) = slot;
  lru_last_ = slot;
  resident.in_lru = true;
  ++lru_size_;
}

void Residents::look_later(Slot slot, Timestamp at) {
  Resident& resident = slab_[slot];
  timers_.cancel(resident.look_timer);
  resident.look_timer =
      timers_.arm(at, Timer{.kind = TimerKind::kRouteLook, .id = {resident.id.value(), 0}});
}

bool Residents::startable(const Resident& resident, Timestamp now) const {
  if (resident.bound->policy.pulled) return false;
  if (resident.route.closed_until > now) return false;
  switch (resident.route.health) {
    case Health::kNormal: return true;
    case Health::kProbe:
    case Health::kCatchUp:  // one probe at a time
      return !probes(resident.route) || resident.gate.in_use() == 0;
    case Health::kWait:
    case Health::kDeep:
    case Health::kPaused:
    case Health::kDisabled: return false;
  }
  POSTRIDER_CHECK(false);
}

bool Residents::awake(const Resident& resident, Timestamp now) const {
  if (resident.bound->policy.pulled) return false;
  switch (resident.route.health) {
    case Health::kNormal:
    case Health::kProbe:
    case Health::kCatchUp:
    case Health::kWait: return resident.route.closed_until <= now + limits_.hot_sleep_max;
    case Health::kDeep:  // has no window, however short the rest of the wait is
    case Health::kPaused:
    case Health::kDisabled: return false;
  }
  POSTRIDER_CHECK(false);
}

// A route that is closed for long may leave memory between any two attempts; its lower priorities
// would begin anew each time, and only the highest of them would ever have a turn.
void Residents::remember_turns(const Resident& resident) {
  for (const Lane& lane : resident.lanes) {
    if (!lane.lower || lane.lower->last_turn == 0) continue;
    if (turns_.size() >= kTurnsMax) turns_.clear();
    const MessageId first = MessageId::make(resident.id, lane.number, UINT16_MAX, Sequence(0));
    turns_[first.high] = {lane.lower->last_turn, lane.lower->ahead, lane.passed};
  }
}

// What is not known is taken for as many starts as there may have been.
void Residents::recall_turns(DestinationId destination, Lane& lane) {
  lane.passed = Lane::kAllPassed;
  const auto known =
      turns_.find(MessageId::make(destination, lane.number, UINT16_MAX, Sequence(0)).high);
  if (known == turns_.end()) return;
  lane.the_lower().last_turn = known->second.last_turn;
  lane.lower->ahead = known->second.ahead;
  lane.passed = known->second.passed;
  turns_.erase(known);
}

void Residents::begin_throttle(Resident& resident) {
  resident.throttle.begin(resident.bound->policy.route.in_use_max);
  if (resident.route.health != Health::kNormal || resident.route.failing_since.is_set())
    resident.throttle.begin_slowly();
}

std::size_t Residents::profile_number(Slot resident) const {
  const ProfileSpec* profile = slab_[resident].bound->profile;
  std::size_t number = 0;
  while (options_.profiles[number] != profile) ++number;
  return number;
}

Slot Residents::add(Resident resident) {
  const DestinationId id = resident.id;
  const Slot slot = slab_.add(std::move(resident));
  by_destination_[id.value()] = slot;
  return slot;
}

void Residents::remove(Slot slot) {
  Resident& resident = slab_[slot];
  POSTRIDER_CHECK(resident.in_memory == 0 && resident.chores == 0);
  leave_lru(slot);
  timers_.cancel(resident.look_timer);
  by_destination_.erase(resident.id.value());
  remember_turns(resident);
  slab_.remove(slot);
}

// A destination that was counted anew stays until the commit: it alone knows what to write. The
// destinations behind it were used later.
Slot Residents::surplus() const {
  const bool too_many = lru_size_ > limits_.residents_max;
  return too_many && !slab_[lru_first_].recounted ? lru_first_ : kNoSlot;
}

std::size_t Residents::memory_bytes() const {
  constexpr std::size_t kNode = 3 * sizeof(void*);  // what a hash table adds to each element, about
  return slab_.capacity() * sizeof(Resident) + by_destination_.size() * (16 + kNode);
}

}  // namespace postrider::core
