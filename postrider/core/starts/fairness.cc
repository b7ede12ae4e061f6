// How many attempts a destination may have open. A route learns what its far side takes; a group of
// destinations shares one limit; and of all places that the engine has, no destination takes more
// than are left for the others, and some are kept for destinations that are known to answer.
#include "postrider/base/planted.h"
#include "postrider/core/starts/starts.h"

namespace postrider::core {

// Whether one more attempt of this destination may be open. If not, it is looked at again as soon
// as that may have changed.
bool Starts::has_room(Step& step, Slot slot) {
  Resident& resident = residents_[slot];
  const Policy& policy = resident.bound->policy;
  if (policy.adapts && resident.gate.in_use() >= resident.throttle.places() &&
      !planted(Bug::kNothingLearnt)) {
    resident.held_back = true;
    return false;
  }
  if (resident.open_attempts > 0 && resident.open_attempts >= attempts_.free() &&
      !planted(Bug::kPlacesHogged)) {
    resident.held_back = true;
    return false;
  }
  if (!is_proven(resident) && attempts_.unproven_free() == 0) {
    if (!std::exchange(resident.crowded, true)) crowded_.push_back(slot);
    return false;
  }
  return policy.group == 0 || limit_groups_.enter_group(step, slot);
}

// Destinations that waited for a place among the unproven join the ring again, as many as there are
// places. False: none.
bool Starts::let_crowd_in() {
  std::uint32_t places = attempts_.unproven_free();
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

}  // namespace postrider::core
