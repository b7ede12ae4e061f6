#include "postrider/core/rules/health.h"

#include <algorithm>
#include <array>
#include <utility>

#include "postrider/base/check.h"
#include "postrider/base/planted.h"

namespace postrider {
namespace {

using enum Health;

constexpr std::array<std::string_view, kHealthSignals> kSignalNames = {
    "ok", "fail", "trip", "deep", "seen", "open", "drained", "stale", "gone", "pause", "resume"};

// clang-format off
constexpr auto kTable = std::to_array<HealthRow>({
    // from    on                  to         why
    {kNormal,    HealthOn::kOk,       kNormal,    "a delivery"},
    {kNormal,    HealthOn::kFail,     kNormal,    "a strike below the limit"},
    {kNormal,    HealthOn::kTrip,     kWait,      "too many strikes in a row"},
    {kNormal,    HealthOn::kDeep,     kDeep,      "the first wait is deep already"},
    {kNormal,    HealthOn::kSeen,     kNormal,    "contact interrupts the row of strikes"},
    {kNormal,    HealthOn::kOpen,     kNormal,    "a timer of an earlier wait"},
    {kNormal,    HealthOn::kDrained,  kNormal,    "nothing to catch up with"},
    {kNormal,    HealthOn::kStale,    kDisabled,  "failing for too long"},
    {kNormal,    HealthOn::kGone,     kDisabled,  "the destination exists no more"},
    {kNormal,    HealthOn::kPause,    kPaused,    "the operator"},
    {kNormal,    HealthOn::kResume,   kNormal,    "nothing to resume"},

    {kWait,      HealthOn::kOk,       kNormal,    "an attempt from before the closing succeeded"},
    {kWait,      HealthOn::kFail,     kWait,      "failures of attempts from before the closing do not lengthen the wait"},
    {kWait,      HealthOn::kTrip,     kWait,      "failures of attempts from before the closing do not lengthen the wait"},
    {kWait,      HealthOn::kDeep,     kDeep,      "the wait has grown too long"},
    {kWait,      HealthOn::kSeen,     kProbe,     "evidence brings the probe forward"},
    {kWait,      HealthOn::kOpen,     kProbe,     "the wait is over"},
    {kWait,      HealthOn::kDrained,  kWait,      "that nothing is owed opens nothing"},
    {kWait,      HealthOn::kStale,    kDisabled,  "failing for too long"},
    {kWait,      HealthOn::kGone,     kDisabled,  "the destination exists no more"},
    {kWait,      HealthOn::kPause,    kPaused,    "the operator"},
    {kWait,      HealthOn::kResume,   kProbe,     "the operator brings the probe forward"},

    {kProbe,     HealthOn::kOk,       kNormal,    "the probe was delivered"},
    {kProbe,     HealthOn::kFail,     kWait,      "the probe failed: a longer wait"},
    {kProbe,     HealthOn::kTrip,     kWait,      "the probe failed: a longer wait"},
    {kProbe,     HealthOn::kDeep,     kDeep,      "the probe failed: the wait has grown too long"},
    {kProbe,     HealthOn::kSeen,     kProbe,     "contact is no delivery"},
    {kProbe,     HealthOn::kOpen,     kProbe,     "a timer of an earlier wait"},
    {kProbe,     HealthOn::kDrained,  kProbe,     "only a delivery clears it"},
    {kProbe,     HealthOn::kStale,    kDisabled,  "failing for too long"},
    {kProbe,     HealthOn::kGone,     kDisabled,  "the destination exists no more"},
    {kProbe,     HealthOn::kPause,    kPaused,    "the operator"},
    {kProbe,     HealthOn::kResume,   kProbe,     "probing already"},

    {kPaused,    HealthOn::kOk,       kPaused,    "an attempt from before the pause; only the books are kept"},
    {kPaused,    HealthOn::kFail,     kPaused,    "an attempt from before the pause; only the books are kept"},
    {kPaused,    HealthOn::kTrip,     kPaused,    "an attempt from before the pause; only the books are kept"},
    {kPaused,    HealthOn::kDeep,     kPaused,    "an attempt from before the pause; only the books are kept"},
    {kPaused,    HealthOn::kSeen,     kPaused,    "only the operator ends a pause"},
    {kPaused,    HealthOn::kOpen,     kPaused,    "a timer of an earlier wait"},
    {kPaused,    HealthOn::kDrained,  kPaused,    "only the operator ends a pause"},
    {kPaused,    HealthOn::kStale,    kPaused,    "nothing is attempted, so nothing fails for too long"},
    {kPaused,    HealthOn::kGone,     kDisabled,  "the destination exists no more"},
    {kPaused,    HealthOn::kPause,    kPaused,    "paused already"},
    {kPaused,    HealthOn::kResume,   kNormal,    "the operator"},

    {kDisabled,  HealthOn::kOk,       kDisabled,  "an attempt from before; only the books are kept"},
    {kDisabled,  HealthOn::kFail,     kDisabled,  "an attempt from before; only the books are kept"},
    {kDisabled,  HealthOn::kTrip,     kDisabled,  "an attempt from before; only the books are kept"},
    {kDisabled,  HealthOn::kDeep,     kDisabled,  "an attempt from before; only the books are kept"},
    {kDisabled,  HealthOn::kSeen,     kDisabled,  "only the operator enables it again"},
    {kDisabled,  HealthOn::kOpen,     kDisabled,  "a timer of an earlier wait"},
    {kDisabled,  HealthOn::kDrained,  kDisabled,  "only the operator enables it again"},
    {kDisabled,  HealthOn::kStale,    kDisabled,  "disabled already"},
    {kDisabled,  HealthOn::kGone,     kDisabled,  "disabled already"},
    {kDisabled,  HealthOn::kPause,    kDisabled,  "disabled is more than paused"},
    {kDisabled,  HealthOn::kResume,   kNormal,    "the operator"},

    {kDeep,      HealthOn::kOk,       kCatchUp,   "an attempt from before the closing succeeded, or a sign of life counts as one"},
    {kDeep,      HealthOn::kFail,     kDeep,      "failures of attempts from before the closing do not lengthen the wait"},
    {kDeep,      HealthOn::kTrip,     kDeep,      "failures of attempts from before the closing do not lengthen the wait"},
    {kDeep,      HealthOn::kDeep,     kDeep,      "failures of attempts from before the closing do not lengthen the wait"},
    {kDeep,      HealthOn::kSeen,     kCatchUp,   "evidence brings the catch-up forward"},
    {kDeep,      HealthOn::kOpen,     kCatchUp,   "the wait is over"},
    {kDeep,      HealthOn::kDrained,  kDeep,      "that nothing is owed opens nothing"},
    {kDeep,      HealthOn::kStale,    kDisabled,  "failing for too long"},
    {kDeep,      HealthOn::kGone,     kDisabled,  "the destination exists no more"},
    {kDeep,      HealthOn::kPause,    kPaused,    "the operator"},
    {kDeep,      HealthOn::kResume,   kCatchUp,   "the operator brings the catch-up forward"},

    {kCatchUp,   HealthOn::kOk,       kCatchUp,   "more may be owed"},
    {kCatchUp,   HealthOn::kFail,     kDeep,      "the far side is away again"},
    {kCatchUp,   HealthOn::kTrip,     kDeep,      "the far side is away again"},
    {kCatchUp,   HealthOn::kDeep,     kDeep,      "the far side is away again"},
    {kCatchUp,   HealthOn::kSeen,     kCatchUp,   "contact is no delivery"},
    {kCatchUp,   HealthOn::kOpen,     kCatchUp,   "a timer of an earlier wait"},
    {kCatchUp,   HealthOn::kDrained,  kNormal,    "all is caught up with"},
    {kCatchUp,   HealthOn::kStale,    kDisabled,  "failing for too long"},
    {kCatchUp,   HealthOn::kGone,     kDisabled,  "the destination exists no more"},
    {kCatchUp,   HealthOn::kPause,    kPaused,    "the operator"},
    {kCatchUp,   HealthOn::kResume,   kCatchUp,   "catching up already"},
});
// clang-format on

constexpr std::size_t index_of(Health health) { return static_cast<std::size_t>(health); }

consteval bool total() {
  std::array<std::array<int, kHealthSignals>, kHealths> rows{};
  for (const HealthRow& row : kTable) ++rows[index_of(row.from)][static_cast<std::size_t>(row.on)];
  for (const auto& of_state : rows) {
    for (const int count : of_state) {
      if (count != 1) return false;
    }
  }
  return true;
}

// The states that can be reached from `start`, as bits.
consteval unsigned reach(unsigned start) {
  for (unsigned before = 0; before != start;) {
    before = start;
    for (const HealthRow& row : kTable) {
      if ((start >> index_of(row.from) & 1U) != 0) start |= 1U << index_of(row.to);
    }
  }
  return start;
}

consteval bool strongly_connected() {
  for (std::size_t state = 0; state < kHealths; ++state) {
    if (reach(1U << state) != (1U << kHealths) - 1) return false;
  }
  return true;
}

// The rows stand in the order of states and signals, so a row is found without a search.
consteval bool ordered() {
  for (std::size_t i = 0; i < kTable.size(); ++i) {
    if (index_of(kTable[i].from) * kHealthSignals + static_cast<std::size_t>(kTable[i].on) != i) {
      return false;
    }
  }
  return true;
}

static_assert(total(), "every health answers every signal with exactly one row");
static_assert(strongly_connected(), "no health is a trap");
static_assert(ordered());

constexpr bool is_closed(Health health) { return health == kWait || health == kDeep; }
constexpr bool is_held(Health health) { return health == kPaused || health == kDisabled; }

constexpr const HealthRow& row_of(Health from, HealthOn on) {
  return kTable[index_of(from) * kHealthSignals + static_cast<std::size_t>(on)];
}

bool is_deep(const HealthRule& rule, Duration wait) {
  if (rule.deep_after <= Duration(0)) return false;
  return wait > rule.deep_after || (planted(Bug::kDeepTooEarly) && wait == rule.deep_after);
}

constexpr void count_up(std::uint16_t& counter) {
  if (counter < UINT16_MAX) ++counter;
}

// What the signal says about the far side goes into the books in every health, because attempts
// that were open when a route was closed or paused still tell the truth.
void keep_books(Route& route, HealthOn on, Timestamp now) {
  switch (on) {
    case HealthOn::kOk:
      route.seen_at = now;
      route.strikes = 0;
      route.waits = 0;
      route.interval = Duration(0);
      route.failing_since = Timestamp();
      return;
    case HealthOn::kFail:
    case HealthOn::kTrip:
    case HealthOn::kDeep:
      count_up(route.strikes);
      if (!route.failing_since.is_set()) route.failing_since = now;
      return;
    case HealthOn::kSeen:
      route.seen_at = now;
      if (route.health == kNormal) route.strikes = 0;
      return;
    case HealthOn::kResume:
      route.strikes = 0;
      route.waits = 0;
      route.interval = Duration(0);
      route.failing_since = Timestamp();
      return;
    case HealthOn::kOpen:
    case HealthOn::kDrained:
    case HealthOn::kStale:
    case HealthOn::kGone:
    case HealthOn::kPause: return;
  }
}

// Without a limit of its own the wait still stays far from overflow.
constexpr Duration kWaitMax{INT64_MAX / 1024};

Duration limit_of(const HealthRule& rule) {
  return rule.wait_max > Duration(0) ? std::min(rule.wait_max, kWaitMax) : kWaitMax;
}

Duration scaled(Duration wait, std::uint16_t by, int unit) {
  __extension__ using Wide = __int128;
  const Wide out = Wide{wait.count()} * by / unit;
  return out > kWaitMax.count() ? kWaitMax : Duration(static_cast<std::int64_t>(out));
}

// A strike may be the one that closes or disables the route. Disabling goes first: it is the
// further step.
HealthOn resolve(const Route& route, HealthOn on, const HealthRule& rule, Timestamp now) {
  if (on != HealthOn::kFail) return on;
  if (rule.disable_after > Duration(0) && now - route.failing_since >= rule.disable_after) {
    return HealthOn::kStale;
  }
  if (rule.strikes_max != 0 && route.strikes >= rule.strikes_max) return HealthOn::kTrip;
  return on;
}

// `wait` is that of a closing.
void enter(Route& route, Health to, const HealthRule& rule, Timestamp now, Duration wait) {
  const Health from = std::exchange(route.health, to);
  route.health_since = now;
  if (is_closed(from)) route.closed_until = Timestamp();
  if (is_closed(to)) {
    count_up(route.waits);
    if (rule.keeps_interval()) route.interval = wait;
    // The far side may have asked for more.
    route.closed_until = std::max(route.closed_until, now + wait);
  }
  if (is_held(to) && !is_held(from)) route.held_since = now;
  if (!is_held(to) && is_held(from)) {
    route.held = held_time(route, now);
    route.held_since = Timestamp();
  }
}

}  // namespace

std::string_view name_of(HealthOn on) {
  const auto index = static_cast<std::size_t>(on);
  POSTRIDER_CHECK(index < kSignalNames.size());
  return kSignalNames[index];
}

std::span<const HealthRow> health_table() { return kTable; }

HealthChange apply(Route& route, HealthOn on, const HealthRule& rule, Timestamp now, Rng& rng) {
  const Health before = route.health;
  keep_books(route, on, now);
  HealthOn signal = resolve(route, on, rule, now);
  // A route that is closed already stays closed as long as it was to be.
  Duration wait{0};
  if (const Health to = row_of(before, signal).to; is_closed(to) && to != before) {
    wait = next_interval(rule, route, rng);
    if (is_deep(rule, wait)) signal = HealthOn::kDeep;
  }
  const Health after = row_of(before, signal).to;
  if (after != before) enter(route, after, rule, now, wait);
  return {before, after};
}

Duration held_time(const Route& route, Timestamp now) {
  if (!route.held_since.is_set() || now < route.held_since) return route.held;
  return route.held + (now - route.held_since);
}

Duration wait_for(const HealthRule& rule, std::uint16_t waits) {
  const Duration limit = limit_of(rule);
  Duration wait = std::clamp(rule.wait_base, Duration(0), limit);
  for (std::uint16_t doubled = 1; doubled < waits && wait > Duration(0) && wait < limit;
       ++doubled) {
    wait = std::min(wait * 2, limit);
  }
  return wait;
}

Duration next_interval(const HealthRule& rule, const Route& route, Rng& rng) {
  const auto waits = static_cast<std::uint16_t>(std::min(route.waits + 1, int{UINT16_MAX}));
  if (!rule.keeps_interval() || route.waits == 0) return wait_for(rule, waits);
  // Settings may have changed: what was stored by a rule that only doubles has no interval.
  const Duration last = route.interval > Duration(0) ? route.interval : wait_for(rule, route.waits);
  const Duration limit = limit_of(rule);
  const Duration grown = scaled(last, rule.factor_percent, 100);
  const Duration low = scaled(grown, rule.jitter_low, 1000);
  const Duration high = std::max(low, scaled(grown, rule.jitter_high, 1000));
  const Duration drawn = low == high ? low : Duration(rng.between(low.count(), high.count()));
  return std::min(drawn, limit);
}

bool probes(const Route& route) {
  return route.health == kProbe || (route.health == kCatchUp && route.failing_since.is_set());
}

}  // namespace postrider
