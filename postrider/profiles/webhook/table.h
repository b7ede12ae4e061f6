// The states of a webhook message and what follows what. The expectation is in
// docs/spec/webhook.md; a test compares.
#pragma once

#include <array>

#include "postrider/model/lifecycle.h"

namespace postrider::webhook {

enum : StateIndex {
  kQueued,
  kSending,
  kWaiting,
  kParked,
  kDelivered,
  kDead,
  kExpired,
  kCancelled,
  kAside,
  kAgain,
};

// The tables are not inline: with the undefined-behaviour sanitizer g++ 12 holds the address of an
// inline variable for possibly null, and then sound() is no constant any more.
// clang-format off
constexpr auto kStates = std::to_array<StateRow>({
    {.name = "Queued",    .phase = Phase::kQueued},
    {.name = "Sending",   .phase = Phase::kInFlight, .timer = TimeOut::kAttempt, .timer_signal = On::kTimedOut},
    {.name = "Waiting",   .phase = Phase::kBackoff,  .timer = TimeOut::kRetry,   .timer_signal = On::kDue},
    {.name = "Parked",    .phase = Phase::kParked,   .revives = true},
    {.name = "Delivered", .phase = Phase::kDelivered},
    {.name = "Dead",      .phase = Phase::kDead},
    {.name = "Expired",   .phase = Phase::kExpired},
    {.name = "Cancelled", .phase = Phase::kCancelled},
    {.name = "Aside",     .phase = Phase::kParked},
    {.name = "Again",     .phase = Phase::kQueued},
});

inline constexpr StateMask kAnyLive =
    in(kQueued) | in(kSending) | in(kWaiting) | in(kParked) | in(kAside);
inline constexpr StateMask kResting = kAnyLive & ~in(kSending);  // no attempt is open

constexpr auto kPostRows = std::to_array<Transition>({
    // from        on              to          verb               raise          why
    {in(kQueued),  On::kDue,       kSending,   Do::kStartAttempt, Raise::kNone,  "its turn has come"},
    {in(kSending), On::kDue,       kSending,   Do::kIgnore,       Raise::kNone,  "an attempt is already open"},
    {in(kWaiting), On::kDue,       kQueued,    Do::kAwait,        Raise::kNone,  "the wait is over: back in line"},

    {in(kParked),  On::kDue,       kQueued,    Do::kRelease,      Raise::kNone,  "the destination answers again, or somebody thinks so"},

    {in(kSending), On::kNoRoute,   kQueued,    Do::kRelease,      Raise::kGone,  "410: the destination is disabled, the message is held"},
    {kResting,     On::kNoRoute,   kQueued,    Do::kIgnore,       Raise::kNone,  "no attempt is open that could have met it"},

    {kAnyLive,     On::kAnswered,  kDelivered, Do::kComplete,     Raise::kOk,    "2xx; an answer may outrun our time-out"},
    {kAnyLive,     On::kConfirmed, kDelivered, Do::kComplete,     Raise::kSeen,  "a receipt, however late; it may be about an attempt long ago"},

    {in(kSending), On::kFailed,    kWaiting,   Do::kRetry,        Raise::kFail,  "tried again by the rule of its class"},
    {kResting,     On::kFailed,    kQueued,    Do::kIgnore,       Raise::kNone,  "news of an attempt that we gave up"},
    {in(kSending), On::kRejected,  kDead,      Do::kDeadLetter,   Raise::kSeen,  "4xx: repeating will not help, but somebody answered"},
    {kResting,     On::kRejected,  kQueued,    Do::kIgnore,       Raise::kNone,  "news of an attempt that we gave up"},
    {in(kSending), On::kTimedOut,  kWaiting,   Do::kRetry,        Raise::kFail,  "no answer in time; receivers recognise a repeat by its id"},
    {kResting,     On::kTimedOut,  kQueued,    Do::kIgnore,       Raise::kNone,  "news of an attempt that we gave up"},

    {kAnyLive,     On::kExhausted, kDead,      Do::kDeadLetter,   Raise::kNone,  "the budget is spent; the failure itself has struck the route"},

    {kAnyLive,     On::kOutOfReach, kParked,   Do::kPark,         Raise::kNone,  "nothing left, but it may only be an outage: wait for the destination"},

    {in(kAside),   On::kDue,       kQueued,    Do::kRelease,      Raise::kNone,  "an operator sends it after all, before those of its order that still wait"},

    {kResting,     On::kExpired,   kExpired,   Do::kDeadLetter,   Raise::kNone,  "nobody wants it any more"},
    {in(kSending), On::kExpired,   kSending,   Do::kIgnore,       Raise::kNone,  "the open attempt may yet deliver; raised again after it"},
    {kResting,     On::kCancelled, kCancelled, Do::kDrop,         Raise::kNone,  "stopped on request"},
    {in(kSending), On::kCancelled, kSending,   Do::kIgnore,       Raise::kNone,  "the open attempt may yet deliver; raised again after it"},

    {kAnyLive,     On::kPoison,    kAside,     Do::kPark,         Raise::kNone,  "it fails and others of its order wait: out of their way, with a gap"},
    {kAnyLive,     On::kSkipped,   kDead,      Do::kDeadLetter,   Raise::kNone,  "it fails and others of its order wait: they go on without it"},
});

// The leader of a batch. From its first attempt until its end or its release its members are fixed.
inline constexpr StateMask kLeads = in(kSending) | in(kWaiting) | in(kAgain);
inline constexpr StateMask kLeadsNone = in(kQueued) | in(kParked) | in(kAside);
inline constexpr StateMask kAnyLeader = kLeads | kLeadsNone;
inline constexpr StateMask kIdle = kAnyLeader & ~in(kSending);

constexpr auto kBatchRows = std::to_array<Transition>({
    // from                     on               to          verb               raise          why
    {in(kQueued) | in(kAgain),  On::kDue,        kSending,   Do::kStartAttempt, Raise::kNone,  "its turn has come, with its members"},
    {in(kSending),              On::kDue,        kSending,   Do::kIgnore,       Raise::kNone,  "an attempt is already open"},
    {in(kWaiting),              On::kDue,        kAgain,     Do::kAwait,        Raise::kNone,  "the wait is over: back in line with its members"},
    {in(kParked),               On::kDue,        kQueued,    Do::kRelease,      Raise::kNone,  "the destination answers again, or somebody thinks so"},
    {in(kAside),                On::kDue,        kQueued,    Do::kRelease,      Raise::kNone,  "an operator sends it after all, before those of its order that still wait"},

    {in(kSending),              On::kNoRoute,    kQueued,    Do::kRelease,      Raise::kGone,  "410: the destination is disabled, all members are held"},
    {kIdle,                     On::kNoRoute,    kQueued,    Do::kIgnore,       Raise::kNone,  "no attempt is open that could have met it"},

    {kLeads,                    On::kAnswered,   kDelivered, Do::kComplete,     Raise::kOk,    "2xx: all members are delivered; an answer may outrun our time-out"},
    {kLeadsNone,                On::kAnswered,   kQueued,    Do::kIgnore,       Raise::kNone,  "an answer is about a batch, and none is open"},
    {kLeadsNone,                On::kConfirmed,  kDelivered, Do::kComplete,     Raise::kSeen,  "a receipt, however late; it may be about an attempt long ago"},
    {kLeads,                    On::kConfirmed,  kDelivered, Do::kIgnore,       Raise::kSeen,  "a receipt says nothing about the other members: the answer decides"},

    {in(kSending),              On::kStaleRoute, kQueued,    Do::kRelease,      Raise::kFail,  "too much for the far side, or one of them is: smaller batches follow"},
    {kIdle,                     On::kStaleRoute, kQueued,    Do::kIgnore,       Raise::kNone,  "news of an attempt that we gave up"},

    {in(kSending),              On::kFailed,     kWaiting,   Do::kRetry,        Raise::kFail,  "tried again by the rule of its class, the same members"},
    {kIdle,                     On::kFailed,     kQueued,    Do::kIgnore,       Raise::kNone,  "news of an attempt that we gave up"},
    {in(kSending),              On::kRejected,   kDead,      Do::kDeadLetter,   Raise::kSeen,  "4xx to it alone: repeating will not help, but somebody answered"},
    {kIdle,                     On::kRejected,   kQueued,    Do::kIgnore,       Raise::kNone,  "news of an attempt that we gave up"},
    {in(kSending),              On::kTimedOut,   kWaiting,   Do::kRetry,        Raise::kFail,  "no answer in time, or a crash; receivers recognise a repeat by its id"},
    {kIdle,                     On::kTimedOut,   kQueued,    Do::kIgnore,       Raise::kNone,  "news of an attempt that we gave up"},

    {kAnyLeader,                On::kExhausted,  kDead,      Do::kDeadLetter,   Raise::kNone,  "the budget is spent; the others go on without it"},
    {kAnyLeader,                On::kOutOfReach, kParked,    Do::kPark,         Raise::kNone,  "nothing left, but it may only be an outage: wait for the destination"},

    {kIdle,                     On::kExpired,    kExpired,   Do::kDeadLetter,   Raise::kNone,  "nobody wants it any more"},
    {in(kSending),              On::kExpired,    kSending,   Do::kIgnore,       Raise::kNone,  "the open attempt may yet deliver; raised again after it"},
    {kIdle,                     On::kCancelled,  kCancelled, Do::kDrop,         Raise::kNone,  "stopped on request"},
    {in(kSending),              On::kCancelled,  kSending,   Do::kIgnore,       Raise::kNone,  "the open attempt may yet deliver; raised again after it"},

    {kAnyLeader,                On::kPoison,     kAside,     Do::kPark,         Raise::kNone,  "it fails and others of its order wait: out of their way, with a gap"},
    {kAnyLeader,                On::kSkipped,    kDead,      Do::kDeadLetter,   Raise::kNone,  "it fails and others of its order wait: they go on without it"},
});
// clang-format on

inline constexpr std::uint8_t kPostMethod = 0;
inline constexpr std::uint8_t kBatchMethod = 1;

// A crash during an attempt repeats it: webhooks are delivered at least once, and the id lets the
// receiver tell. The members of a batch are written down before it leaves, so that id and members
// stay together; its stamp and signature are made anew for each attempt, because receivers refuse
// old ones.
constexpr auto kMethods = std::to_array<Method>({
    {.name = "post", .initial = kQueued, .durable_intent = false, .rows = kPostRows},
    {.name = "batch",
     .initial = kQueued,
     .durable_intent = true,
     .rows = kBatchRows,
     .renews = true},
});

static_assert(sound(kStates, kMethods[kPostMethod]));
static_assert(sound(kStates, kMethods[kBatchMethod]));

}  // namespace postrider::webhook
