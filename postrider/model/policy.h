// Policy: everything about a destination that is a number. A profile computes it from the
// destination's settings; the core obeys it. Tables, not code.
#pragma once

#include <array>
#include <cstdint>

#include "postrider/base/time.h"
#include "postrider/model/ids.h"
#include "postrider/model/lifecycle.h"
#include "postrider/model/outcome.h"

namespace postrider {

enum class Curve : std::uint8_t { kFixed, kLinear, kExponential, kList };
enum class Jitter : std::uint8_t {
  kNone,
  kAround,  // ± percent of the delay
  kAbove,   // + [0, percent) of the delay: never earlier than the rule says
  kFull,    // [0, delay]
  kFactor,  // [low, high] per mille of the delay
};

// When the next attempt comes after failed attempt n ≥ 1.
struct RetryRule {
  static constexpr std::size_t kSteps = 12;

  Curve curve = Curve::kFixed;
  Duration base{0};  // fixed: base; linear: base·n; exponential: base·2^(n−1)
  std::array<Duration, kSteps> steps{};  // list: the n-th step, the last one for ever after
  std::uint8_t steps_used = 0;
  Duration cap{0};                // 0: none
  std::uint16_t cap_after = 0;    // n > cap_after takes the cap itself; 0: never
  Jitter jitter = Jitter::kNone;  // applied after the cap
  std::uint8_t jitter_percent = 0;
  std::uint16_t jitter_low = 1000;  // kFactor: between these, per mille
  std::uint16_t jitter_high = 1000;
  Duration tick{0};  // due times are rounded up to a multiple of it; 0: exact

  std::uint16_t attempts_max = 0;  // 0: no limit
  Duration budget{0};              // since the first attempt, held time not counted; 0: no limit
  Duration retry_after_max{0};     // the far side's wish is honoured up to this; 0: not at all
  bool holds_route = false;        // the wish closes the whole route, not this message alone
  bool strikes = false;            // counts against the route's health
  bool parks = false;  // with nothing left it is out of reach, where the table knows that, and not
                       // exhausted

  friend bool operator==(const RetryRule&, const RetryRule&) = default;
};

// A gate is a named limit; concurrency, spacing, rate and hold-off are this one thing. Zero: no
// such limit.
struct GateLimits {
  std::uint32_t in_use_max = 0;
  Duration spacing{0};  // between two starts
  std::uint32_t tokens_per_second = 0;
  std::uint32_t tokens_max = 0;  // burst
  // A shared gate closes after so many failures in a row, of these classes, by whomever; then one
  // call decides. Questions wait at it, too.
  std::uint16_t strikes_max = 0;
  std::uint16_t strikes_on = 0;  // bit n: FailureClass n
  Duration closed_base{0};       // doubled each time that the one call fails …
  Duration closed_max{0};        // … up to this; not above the base: always the base
  bool relents = false;          // any answer opens it; else only a sign of life

  friend bool operator==(const GateLimits&, const GateLimits&) = default;
};
constexpr std::uint16_t strike_on(FailureClass failure) {
  return static_cast<std::uint16_t>(1U << static_cast<unsigned>(failure));
}

struct HealthRule {
  std::uint16_t strikes_max = 0;  // this many strikes in a row close the route; 0: never
  Duration wait_base{0};          // times the factor by each failed probe …
  Duration wait_max{0};           // … up to this
  Duration disable_after{
      0};  // failing for so long without one success disables the destination; 0: never
  // Messages parked for want of reach go back in line when the route hears of a success. One of
  // them is tried this often; a message that ran out while the route delivered waits this long.
  Duration revive_every{15min};
  bool contact_clears = false;  // any answer opens a closed route, not only a delivery
  std::uint16_t factor_percent = 200;
  // The grown wait is multiplied by a number drawn between these, per mille; the next one grows
  // from what was drawn.
  std::uint16_t jitter_low = 1000;
  std::uint16_t jitter_high = 1000;
  Duration deep_after{0};      // a longer wait is deep, and is followed by a catch-up; 0: none is
  bool begins_behind = false;  // what is owed something when the process starts is in catch-up

  // Whether the next wait follows from the last one, and not from the number of waits alone.
  constexpr bool keeps_interval() const {
    return factor_percent != 200 || jitter_low != 1000 || jitter_high != 1000 ||
           deep_after > Duration(0);
  }

  friend bool operator==(const HealthRule&, const HealthRule&) = default;
};

// How often the far side is asked about what it has: the first step whose bound the message's age
// has not reached says how long to wait, the last one for ever after. Questions that failed in a
// row wait at least base·2^(n−1), at most the cap.
struct PollRule {
  static constexpr std::size_t kSteps = 6;
  struct Step {
    Duration below{0};
    Duration wait{0};
    friend bool operator==(const Step&, const Step&) = default;
  };
  std::array<Step, kSteps> steps{};
  std::uint8_t steps_used = 0;
  Duration first{0};       // from the send's answer to the first question; 0: as the steps say
  Duration error_base{0};  // 0: failed probes wait no longer than other ones
  Duration error_cap{0};

  Duration wait_at(Duration age) const {
    for (std::size_t i = 0; i + 1 < steps_used; ++i) {
      if (age < steps[i].below) return steps[i].wait;
    }
    return steps_used == 0 ? Duration(0) : steps[steps_used - 1U].wait;
  }
  Duration wait_after(std::uint16_t errors) const {
    Duration wait = errors == 0 ? Duration(0) : error_base;
    for (std::uint16_t i = 1; i < errors && wait < error_cap; ++i) wait *= 2;
    return wait < error_cap ? wait : error_cap;
  }
  friend bool operator==(const PollRule&, const PollRule&) = default;
};

enum class LaneKind : std::uint8_t { kUnordered, kFifo };

// What becomes of the head of a FIFO lane, or of an order by key, that fails again and again while
// the messages behind it wait.
enum class OnPoison : std::uint8_t {
  kBlock,  // they wait until it ends
  kPark,   // it is parked and they go on: a gap, which is marked
  kSkip,   // it ends dead and they go on
};

// When a newer message takes the place of an older one of the same key that waits in its lane.
enum class Latest : std::uint8_t {
  kNever,
  kAlways,
  kWhenBehind,  // only what a route that was away need not hear of any more
};

// What a lane does with messages that are not worth sending any more, or not worth an attempt of
// their own.
struct LaneRule {
  bool dropped_when_deep = false;  // what waits in it ends when the route becomes deep
  Latest latest = Latest::kNever;
  // kWhenBehind: messages up to this age and number stay, though newer ones of their key wait.
  Duration keep{0};
  std::uint32_t keep_max = 0;
  // Where messages leave in batches: so long, or half as long, one leaves with others only, and
  // then it may lead. 0: it may lead at once.
  Duration rides{0};

  friend bool operator==(const LaneRule&, const LaneRule&) = default;
};

// The lanes that start while a route catches up, in this order. None: all of them, in turn.
struct LaneOrder {
  std::array<std::uint8_t, kLanes> lanes{};
  std::uint8_t used = 0;

  constexpr void add(std::uint8_t lane) { lanes[used++] = lane; }
  constexpr bool any() const { return used > 0; }
  constexpr bool contains(std::uint8_t lane) const {
    for (std::size_t i = 0; i < used; ++i) {
      if (lanes[i] == lane) return true;
    }
    return false;
  }
  friend bool operator==(const LaneOrder&, const LaneOrder&) = default;
};

struct Policy {
  std::array<RetryRule, kFailureClasses> retry{};  // by FailureClass
  std::array<Duration, kTimeOuts> time_outs{};     // by TimeOut
  GateLimits route;
  bool adapts = false;  // the route learns how many attempts its far side takes, up to in_use_max
  std::uint64_t group = 0;  // destinations with the same name share these limits; 0: none
  GateLimits group_limits;
  std::uint64_t tenant = 0;         // turns go round by tenant first …
  std::uint16_t tenant_weight = 1;  // … and each has so many in a row
  HealthRule health;
  PollRule poll;
  Duration life_max{0};  // a message expires at this age; 0: only if it says so
  Duration age_step{0};  // so much waiting is worth one priority, among messages in memory; 0: none
  std::uint8_t lower_every =
      16;  // of so many starts of a lane one is for a lower priority; 0: none
  OnPoison on_poison = OnPoison::kBlock;
  std::uint16_t poison_after = 5;  // attempts
  std::uint16_t fifo_lanes = 0;    // bit n: lane n is FIFO
  std::array<LaneRule, kLanes> lanes{};
  LaneOrder catch_up_lanes;
  // How many messages may leave in one attempt, the leader included; then one attempt is open at a
  // time, and its members are written down. 0: each leaves alone.
  std::uint16_t members_max = 0;
  Duration batch_wait{0};            // a batch that is not full waits so long for more
  bool batches_begin_small = false;  // with one member after a deep wait
  std::uint32_t window_max = 64;     // messages of one lane in memory
  bool refuse_when_disabled = true;  // else new messages are held
  bool keeps_history = false;        // the content of what has ended is kept for a while
  bool pulled = false;               // a mailbox: its reader comes, and nothing is sent
  std::uint64_t kept_max = 0;        // messages in a mailbox; 0: no limit
  std::uint64_t kept_bytes_max = 0;  // of their contents; 0: no limit
  // Of a template: what is like it goes when nothing came to it or ended for so long; 0: never.
  Duration idle_life{0};

  LaneKind lane_kind(std::uint8_t lane) const {
    return ((fifo_lanes >> lane) & 1) != 0 ? LaneKind::kFifo : LaneKind::kUnordered;
  }
  const LaneRule& lane_rule(std::uint8_t lane) const { return lanes[lane]; }
  bool starts_in_catch_up(std::uint8_t lane) const {
    return !catch_up_lanes.any() || catch_up_lanes.contains(lane);
  }
  bool drops_when_deep() const {
    for (const LaneRule& lane : lanes) {
      if (lane.dropped_when_deep) return true;
    }
    return false;
  }
  bool keeps_latest() const {
    for (const LaneRule& lane : lanes) {
      if (lane.latest != Latest::kNever) return true;
    }
    return false;
  }
  const RetryRule& rule(FailureClass failure) const {
    return retry[static_cast<std::size_t>(failure)];
  }
  Duration time_out(TimeOut which) const { return time_outs[static_cast<std::size_t>(which)]; }

  friend bool operator==(const Policy&, const Policy&) = default;
};

}  // namespace postrider
