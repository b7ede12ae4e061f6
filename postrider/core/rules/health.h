// Health of a route: one table for all profiles, which give numbers only. Strikes close a route; a
// closed route waits, then lets one probe through; only a delivery clears it, mere contact never
// does. A wait that has grown beyond a rule's bound is deep: the route then catches up with what it
// owes before it is normal again.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "postrider/base/rng.h"
#include "postrider/base/time.h"
#include "postrider/model/destination.h"
#include "postrider/model/policy.h"

namespace postrider {

enum class HealthOn : std::uint8_t {
  kOk,       // a delivery
  kFail,     // a strike below the limit, or a failed probe
  kTrip,     // the strike that reaches the limit
  kDeep,     // a failure by which the wait grows beyond the rule's bound
  kSeen,     // a sign of life that is no delivery; also an operator's wake
  kOpen,     // the wait is over
  kDrained,  // no lane that catches up owes anything
  kStale,    // failing for too long
  kGone,     // the destination says that it exists no more
  kPause,
  kResume,
};
inline constexpr std::size_t kHealthSignals = 11;
std::string_view name_of(HealthOn on);

struct HealthRow {
  Health from;
  HealthOn on;
  Health to;
  std::string_view why;
};
// Total and strongly connected; checked at compile time.
std::span<const HealthRow> health_table();

struct HealthChange {
  Health before;
  Health after;
  bool changed() const { return before != after; }
  bool became(Health health) const { return changed() && after == health; }
};

// Applies a signal to the route: moves its health by the table and keeps its books (strikes, waits,
// interval, closed_until, failing_since, held time). kFail becomes kTrip, kDeep or kStale here, by
// the rule's numbers. Only a rule with jitter draws.
HealthChange apply(Route& route, HealthOn on, const HealthRule& rule, Timestamp now, Rng& rng);

// Time the route has been paused or disabled, up to `now`.
Duration held_time(const Route& route, Timestamp now);

// The wait before the next probe after `waits` ≥ 1 closings in a row, of a rule that doubles it.
Duration wait_for(const HealthRule& rule, std::uint16_t waits);

// The wait of the route's next closing: the rule's first one, or the last one grown by the factor,
// with jitter, and never above the maximum.
Duration next_interval(const HealthRule& rule, const Route& route, Rng& rng);

// Whether an attempt may start one at a time only, because nothing has succeeded yet.
bool probes(const Route& route);

}  // namespace postrider
