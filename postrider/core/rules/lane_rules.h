// What the rule of a lane says of one message: whether a newer one of its key takes its place, and
// how long it rides with others. Pure.
#pragma once

#include <cstdint>

#include "postrider/base/time.h"
#include "postrider/model/destination.h"
#include "postrider/model/ids.h"
#include "postrider/model/policy.h"

namespace postrider {

// A route that was away: what it need not hear of any more is told from what it must.
constexpr bool is_behind(Health health) {
  return health == Health::kDeep || health == Health::kCatchUp;
}

constexpr bool takes_latest(const LaneRule& rule, const Route& route) {
  return rule.latest == Latest::kAlways ||
         (rule.latest == Latest::kWhenBehind && is_behind(route.health));
}

// Whether a message stays though a newer one of its key waits: one of this age, with so many newer
// ones in its lane.
constexpr bool stays_anyway(const LaneRule& rule, Duration age, std::uint64_t newer) {
  return rule.latest == Latest::kWhenBehind && rule.keep > Duration(0) && age <= rule.keep &&
         newer < rule.keep_max;
}

// So long after its acceptance a message leaves with others only: between half of the rule's time
// and all of it, by destination and lane, so that many destinations do not lead at one time.
constexpr Duration ride_of(const LaneRule& rule, MessageId id) {
  const std::uint64_t lane = id.high >> 16;  // destination and lane
  const std::uint64_t drawn = (lane * 0x9E3779B97F4A7C15ULL) >> 32;
  const auto half = static_cast<std::uint64_t>(rule.rides.count() / 2);
  return rule.rides - Duration(static_cast<std::int64_t>(drawn % (half + 1)));
}

}  // namespace postrider
