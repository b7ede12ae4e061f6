// The states of the leader of a transaction and what follows what. The expectation is in
// docs/spec/matrix.md; a test compares.
#pragma once

#include <array>

#include "postrider/model/lifecycle.h"

namespace postrider::matrix {

enum : StateIndex {
  kQueued,
  kAsking,
  kAsked,
  kSending,
  kPausing,
  kAgain,
  kHeld,
  kAside,
  kDelivered,
  kDead,
  kExpired,
  kSuperseded,
};

// The tables are not inline: with the undefined-behaviour sanitizer g++ 12 holds the address of an
// inline variable for possibly null, and then sound() is no constant any more.
// clang-format off
constexpr auto kStates = std::to_array<StateRow>({
    {.name = "Queued",     .phase = Phase::kQueued,   .refreshes = true},
    {.name = "Asking",     .phase = Phase::kInFlight, .timer = TimeOut::kProbe,   .timer_signal = On::kTimedOut},
    {.name = "Asked",      .phase = Phase::kQueued,   .refreshes = true},
    {.name = "Sending",    .phase = Phase::kInFlight, .timer = TimeOut::kAttempt, .timer_signal = On::kTimedOut},
    {.name = "Pausing",    .phase = Phase::kBackoff,  .timer = TimeOut::kRetry,   .timer_signal = On::kDue},
    {.name = "Again",      .phase = Phase::kQueued},
    {.name = "Held",       .phase = Phase::kQueued,   .refreshes = true},
    {.name = "Aside",      .phase = Phase::kParked,   .revives = true},
    {.name = "Delivered",  .phase = Phase::kDelivered},
    {.name = "Dead",       .phase = Phase::kDead},
    {.name = "Expired",    .phase = Phase::kExpired},
    {.name = "Superseded", .phase = Phase::kCancelled},
});

inline constexpr StateMask kAnyLive = in(kQueued) | in(kAsking) | in(kAsked) | in(kSending) |
                                      in(kPausing) | in(kAgain) | in(kHeld) | in(kAside);
// Its bytes are fixed.
inline constexpr StateMask kClaimed = in(kSending) | in(kPausing) | in(kAgain) | in(kHeld);
inline constexpr StateMask kNotSending = kAnyLive & ~in(kSending);
inline constexpr StateMask kNotTrying = kNotSending & ~in(kAsking);

constexpr auto kSendRows = std::to_array<Transition>({
    // from                          on               to           verb               raise          why
    {in(kQueued) | in(kAsked),       On::kDue,        kSending,    Do::kStartAttempt, Raise::kNone,  "its turn has come"},
    {in(kAgain) | in(kHeld),         On::kDue,        kSending,    Do::kStartAttempt, Raise::kNone,  "once more with the same id and bytes"},
    {in(kPausing),                   On::kDue,        kAgain,      Do::kAwait,        Raise::kNone,  "the pause is over: back in line, tries are counted on"},
    {in(kAside),                     On::kDue,        kQueued,     Do::kRelease,      Raise::kNone,  "another transaction was delivered: it is tried once more, alone"},
    {in(kAsking) | in(kSending),     On::kDue,        kSending,    Do::kIgnore,       Raise::kNone,  "an attempt is already open"},

    {kClaimed,                       On::kAnswered,   kDelivered,  Do::kComplete,     Raise::kOk,    "200 with an object; an answer may outrun our time-out"},
    {kAnyLive & ~kClaimed,           On::kAnswered,   kQueued,     Do::kIgnore,       Raise::kNone,  "nothing of it was sent under this claim"},

    {in(kAsking),                    On::kAcked,      kAsked,      Do::kRelease,      Raise::kNone,  "the host says: send it"},
    {kAnyLive & ~in(kAsking),        On::kAcked,      kQueued,     Do::kIgnore,       Raise::kNone,  "no question is open"},

    {in(kAsking),                    On::kFailed,     kAsked,      Do::kRelease,      Raise::kNone,  "the host gave no answer: the event is sent"},
    {in(kSending),                   On::kFailed,     kPausing,    Do::kRetry,        Raise::kNone,  "tried again after a pause; only when tries are spent the route hears of it"},
    {kNotTrying,                     On::kFailed,     kQueued,     Do::kIgnore,       Raise::kNone,  "news of a try that we gave up"},
    {in(kAsking),                    On::kTimedOut,   kAsked,      Do::kRelease,      Raise::kNone,  "the host gave no answer: the event is sent"},
    {in(kSending),                   On::kTimedOut,   kPausing,    Do::kRetry,        Raise::kNone,  "it may have arrived: the same id and bytes again"},
    {kNotTrying,                     On::kTimedOut,   kQueued,     Do::kIgnore,       Raise::kNone,  "news of a try that we gave up"},

    {in(kSending),                   On::kStillHeld,  kHeld,       Do::kAwait,        Raise::kNone,  "429: held as long as the receiver says, without a strike"},
    {kNotSending,                    On::kStillHeld,  kQueued,     Do::kIgnore,       Raise::kNone,  "news of a try that we gave up"},

    {in(kQueued),                    On::kNoRoute,    kAsking,     Do::kFindRoute,    Raise::kNone,  "in catch-up the host is asked first"},
    {in(kAsking),                    On::kNoRoute,    kAsked,      Do::kRelease,      Raise::kNone,  "the host gave no answer: the event is sent"},
    {in(kSending),                   On::kNoRoute,    kHeld,       Do::kAwait,        Raise::kFail,  "the server takes nothing from us now: it backs off"},
    {kAnyLive & ~(in(kQueued) | in(kAsking) | in(kSending)), On::kNoRoute, kQueued, Do::kIgnore, Raise::kNone, "no attempt is open that could have met it"},

    {in(kSending),                   On::kNoLink,     kAside,      Do::kPark,         Raise::kNone,  "refused alone for the first time: aside, and what goes next is the control"},
    {kNotSending,                    On::kNoLink,     kQueued,     Do::kIgnore,       Raise::kNone,  "news of a try that we gave up"},

    {in(kAsking),                    On::kStaleRoute, kSuperseded, Do::kDrop,         Raise::kNone,  "the host gave other events to send instead"},
    {in(kAsked) | kClaimed,          On::kStaleRoute, kQueued,     Do::kRelease,      Raise::kNone,  "members return to their lanes: refused as a batch, too old, or the server is deep"},
    {in(kQueued) | in(kAside),       On::kStaleRoute, kQueued,     Do::kIgnore,       Raise::kNone,  "it has claimed nothing"},

    {in(kQueued) | in(kAsked),       On::kRejected,   kDead,       Do::kDeadLetter,   Raise::kNone,  "it cannot be sent: no receiver would take it"},
    {in(kSending),                   On::kRejected,   kDead,       Do::kDeadLetter,   Raise::kNone,  "refused alone again, after another transaction was delivered"},
    {kNotSending & ~(in(kQueued) | in(kAsked)), On::kRejected, kQueued, Do::kIgnore,  Raise::kNone,  "news of a try that we gave up"},

    {in(kQueued),                    On::kExhausted,  kQueued,     Do::kAwait,        Raise::kNone,  "nothing is given up: it waits for its turn"},
    {in(kAsking),                    On::kExhausted,  kAsked,      Do::kRelease,      Raise::kNone,  "the host gave no answer: the event is sent"},
    {in(kAsked),                     On::kExhausted,  kAsked,      Do::kAwait,        Raise::kNone,  "nothing is given up: it waits for its turn"},
    {in(kSending),                   On::kExhausted,  kHeld,       Do::kAwait,        Raise::kFail,  "all tries are spent: the server backs off, id and bytes are kept"},
    {in(kPausing) | in(kAgain) | in(kHeld), On::kExhausted, kHeld,       Do::kAwait,        Raise::kNone,  "the failure itself has struck the route"},
    {in(kAside),                     On::kExhausted,  kAside,      Do::kPark,         Raise::kNone,  "it waits for a control"},

    {in(kQueued) | in(kAsked) | in(kAside), On::kExpired, kExpired, Do::kDeadLetter,  Raise::kNone,  "it is of no use any more"},
    {in(kAsking) | kClaimed,         On::kExpired,    kQueued,     Do::kIgnore,       Raise::kNone,  "an open transaction may yet deliver; raised again after it"},
    {in(kQueued) | in(kAsked) | in(kAgain) | in(kHeld) | in(kAside), On::kCancelled, kSuperseded, Do::kDrop, Raise::kNone, "stopped on request, or a newer value took its place"},
    {in(kAsking) | in(kSending) | in(kPausing), On::kCancelled, kQueued, Do::kIgnore, Raise::kNone,  "an open try may yet deliver; raised again after it"},

    {in(kPausing),                   On::kPeerSeen,   kHeld,       Do::kAwait,        Raise::kNone,  "a sign of life ends the pause, and tries are counted anew"},
    {kAnyLive & ~in(kPausing),       On::kPeerSeen,   kQueued,     Do::kIgnore,       Raise::kNone,  "the route has heard of it"},
});
// clang-format on

// A crash during an attempt comes back as timed-out: id, members and bytes were written down.
constexpr auto kMethods = std::to_array<Method>({
    {.name = "send",
     .initial = kQueued,
     .durable_intent = true,
     .rows = kSendRows,
     .keeps_bytes = true},
});

static_assert(sound(kStates, kMethods[0]));

}  // namespace postrider::matrix
