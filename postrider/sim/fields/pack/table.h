// The states of a pack's leader and what follows what.
#pragma once

#include <array>

#include "postrider/model/lifecycle.h"

namespace postrider::sim::pack {

enum : StateIndex {
  kQueued,
  kSending,
  kPausing,
  kHeld,
  kAgain,
  kAside,
  kDelivered,
  kDead,
  kExpired,
  kCancelled,
};

// clang-format off
constexpr auto kStates = std::to_array<StateRow>({
    {.name = "queued",    .phase = Phase::kQueued},
    {.name = "sending",   .phase = Phase::kInFlight, .timer = TimeOut::kAttempt, .timer_signal = On::kTimedOut},
    {.name = "pausing",   .phase = Phase::kBackoff,  .timer = TimeOut::kRetry,   .timer_signal = On::kDue},
    {.name = "held",      .phase = Phase::kQueued},
    {.name = "again",     .phase = Phase::kQueued,   .refreshes = true},
    {.name = "aside",     .phase = Phase::kParked},
    {.name = "delivered", .phase = Phase::kDelivered},
    {.name = "dead",      .phase = Phase::kDead},
    {.name = "expired",   .phase = Phase::kExpired},
    {.name = "cancelled", .phase = Phase::kCancelled},
});

constexpr StateMask kWaits = in(kQueued) | in(kPausing) | in(kHeld) | in(kAgain) | in(kAside);
constexpr StateMask kLive = kWaits | in(kSending);

constexpr auto kRows = std::to_array<Transition>({
    {in(kQueued) | in(kHeld) | in(kAgain), On::kDue, kSending, Do::kStartAttempt, Raise::kNone, "its turn has come"},
    {in(kPausing),           On::kDue,        kHeld,      Do::kAwait,        Raise::kNone, "back in line with its members"},
    {in(kAside),             On::kDue,        kQueued,    Do::kRelease,      Raise::kNone, "revived"},
    {in(kSending),           On::kDue,        0,          Do::kIgnore,       Raise::kNone, "on its way already"},
    {kLive,                  On::kAnswered,   kDelivered, Do::kComplete,     Raise::kOk,   "done, with all members"},
    {kLive,                  On::kConfirmed,  kDelivered, Do::kComplete,     Raise::kOk,   "done, as we hear"},
    {in(kSending),           On::kNoLink,     kPausing,   Do::kRetry,        Raise::kNone, "the same members again"},
    {kWaits,                 On::kNoLink,     0,          Do::kIgnore,       Raise::kNone, "no attempt is open"},
    {in(kSending),           On::kFailed,     kPausing,   Do::kRetry,        Raise::kNone, "the same members again"},
    {kWaits,                 On::kFailed,     0,          Do::kIgnore,       Raise::kNone, "no attempt is open"},
    {in(kSending),           On::kTimedOut,   kPausing,   Do::kRetry,        Raise::kNone, "it may have arrived: the same bytes again"},
    {kWaits,                 On::kTimedOut,   0,          Do::kIgnore,       Raise::kNone, "no attempt is open"},
    {in(kSending),           On::kStaleRoute, kQueued,    Do::kRelease,      Raise::kSeen, "too much for one pack"},
    {kWaits,                 On::kStaleRoute, 0,          Do::kIgnore,       Raise::kNone, "no attempt is open"},
    {in(kSending),           On::kRejected,   kDead,      Do::kDeadLetter,   Raise::kSeen, "refused alone"},
    {kWaits,                 On::kRejected,   0,          Do::kIgnore,       Raise::kNone, "no attempt is open"},
    {in(kSending),           On::kProgressed, kAside,     Do::kPark,         Raise::kSeen, "an operator must look at it; its members go on"},
    {kWaits,                 On::kProgressed, 0,          Do::kIgnore,       Raise::kNone, "no attempt is open"},
    {kLive,                  On::kExhausted,  kAgain,     Do::kAwait,        Raise::kFail, "the round is over: now the route hears of it"},
    {kWaits,                 On::kExpired,    kExpired,   Do::kDeadLetter,   Raise::kNone, "too late"},
    {in(kSending),           On::kExpired,    0,          Do::kIgnore,       Raise::kNone, "the open attempt may still succeed"},
    {kWaits,                 On::kCancelled,  kCancelled, Do::kDrop,         Raise::kNone, "stopped in time"},
    {in(kSending),           On::kCancelled,  0,          Do::kIgnore,       Raise::kNone, "perhaps there already"},
    {in(kPausing),           On::kPeerSeen,   kHeld,      Do::kAwait,        Raise::kNone, "a sign of life ends the pause"},
    {kLive & ~in(kPausing),  On::kPeerSeen,   0,          Do::kIgnore,       Raise::kNone, "the route takes note"},
});

// Of a solo message nothing is written down before it leaves, so it is never in a pack.
constexpr auto kMethods = std::to_array<Method>({
    {.name = "pack", .initial = kQueued, .durable_intent = true, .rows = kRows, .keeps_bytes = true},
    {.name = "solo", .initial = kQueued, .durable_intent = false, .rows = kRows},
});
static_assert(sound(kStates, kMethods[0]));
static_assert(sound(kStates, kMethods[1]));
// clang-format on

}  // namespace postrider::sim::pack
