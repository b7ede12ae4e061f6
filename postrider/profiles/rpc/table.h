// The states of an operation and what follows what, for each of the four policies. The expectation
// is in docs/spec/rpc.md; a test compares. In a namespace of their own: frames have the same words.
#pragma once

#include <array>
#include <cstddef>

#include "postrider/model/lifecycle.h"
#include "postrider/protocols/rpc/method_policy.h"

namespace postrider::rpc::operation {

enum : StateIndex {
  kQueued,
  kRunning,
  kWaiting,
  kRecovering,
  kDeferred,
  kSealed,
  kFailed,
  kReleased,
  kIndeterminate,
};

// The tables are not inline: with the undefined-behaviour sanitizer g++ 12 holds the address of an
// inline variable for possibly null, and then sound() is no constant any more.
// clang-format off
constexpr auto kStates = std::to_array<StateRow>({
    {.name = "Queued",        .phase = Phase::kQueued},
    {.name = "Running",       .phase = Phase::kInFlight, .timer = TimeOut::kAttempt, .timer_signal = On::kTimedOut},
    {.name = "Waiting",       .phase = Phase::kBackoff,  .timer = TimeOut::kRetry,   .timer_signal = On::kDue},
    {.name = "Recovering",    .phase = Phase::kInFlight, .timer = TimeOut::kProbe,   .timer_signal = On::kTimedOut},
    {.name = "Deferred",      .phase = Phase::kBackoff,  .timer = TimeOut::kRetry,   .timer_signal = On::kDue},
    {.name = "Sealed",        .phase = Phase::kDelivered},
    {.name = "Failed",        .phase = Phase::kDelivered},
    {.name = "Released",      .phase = Phase::kCancelled},
    {.name = "Indeterminate", .phase = Phase::kIndeterminate},
});

inline constexpr StateMask kResting = in(kQueued) | in(kWaiting);    // the handler does not run
inline constexpr StateMask kVolatileLive = kResting | in(kRunning);
inline constexpr StateMask kAsking = in(kRecovering) | in(kDeferred);  // the hook has the word
inline constexpr StateMask kPersistLive = kVolatileLive | kAsking;

constexpr auto kVolatileRows = std::to_array<Transition>({
    // from          on              to              verb                    raise         why
    {in(kQueued),    On::kDue,       kRunning,       Do::kStartAttempt,      Raise::kNone, "its turn has come"},
    {in(kRunning),   On::kDue,       kRunning,       Do::kIgnore,            Raise::kNone, "the handler runs already"},
    {in(kWaiting),   On::kDue,       kQueued,        Do::kAwait,             Raise::kNone, "the wait is over: back in line"},

    {in(kRunning),   On::kAnswered,  kSealed,        Do::kComplete,          Raise::kOk,   "the handler returned"},
    {kResting,       On::kAnswered,  kQueued,        Do::kIgnore,            Raise::kNone, "of a start that was given up"},
    {in(kRunning),   On::kRejected,  kFailed,        Do::kComplete,          Raise::kOk,   "the application's own failure is an outcome"},
    {kResting,       On::kRejected,  kQueued,        Do::kIgnore,            Raise::kNone, "of a start that was given up"},
    {in(kRunning),   On::kFailed,    kWaiting,       Do::kRetry,             Raise::kFail, "it did not begin: no run is spent"},
    {kResting,       On::kFailed,    kQueued,        Do::kIgnore,            Raise::kNone, "of a start that was given up"},
    {in(kRunning),   On::kTimedOut,  kIndeterminate, Do::kMarkIndeterminate, Raise::kFail, "its fate is open, and it must not run twice"},
    {kResting,       On::kTimedOut,  kQueued,        Do::kIgnore,            Raise::kNone, "of a start that was given up"},

    {kVolatileLive,  On::kExhausted, kReleased,      Do::kDrop,              Raise::kNone, "it never began, and its budget is spent"},
    {kResting,       On::kExpired,   kReleased,      Do::kDrop,              Raise::kNone, "its time is over before it began"},
    {in(kRunning),   On::kExpired,   kRunning,       Do::kIgnore,            Raise::kNone, "the time of the handler bounds it"},
    {kVolatileLive,  On::kCancelled, kReleased,      Do::kDrop,              Raise::kNone, "given up on request, or its callers are gone; the handler is stopped"},
});

constexpr auto kVolatileIdemRows = std::to_array<Transition>({
    // from          on              to              verb                    raise         why
    {in(kQueued),    On::kDue,       kRunning,       Do::kStartAttempt,      Raise::kNone, "its turn has come"},
    {in(kRunning),   On::kDue,       kRunning,       Do::kIgnore,            Raise::kNone, "the handler runs already"},
    {in(kWaiting),   On::kDue,       kQueued,        Do::kAwait,             Raise::kNone, "the wait is over: back in line"},

    {in(kRunning),   On::kAnswered,  kSealed,        Do::kComplete,          Raise::kOk,   "the handler returned"},
    {kResting,       On::kAnswered,  kQueued,        Do::kIgnore,            Raise::kNone, "of a start that was given up"},
    {in(kRunning),   On::kRejected,  kFailed,        Do::kComplete,          Raise::kOk,   "the application's own failure is an outcome"},
    {kResting,       On::kRejected,  kQueued,        Do::kIgnore,            Raise::kNone, "of a start that was given up"},
    {in(kRunning),   On::kFailed,    kWaiting,       Do::kRetry,             Raise::kFail, "it did not begin: no run is spent"},
    {kResting,       On::kFailed,    kQueued,        Do::kIgnore,            Raise::kNone, "of a start that was given up"},
    {in(kRunning),   On::kTimedOut,  kWaiting,       Do::kRetry,             Raise::kFail, "its fate is open, and it may run again"},
    {kResting,       On::kTimedOut,  kQueued,        Do::kIgnore,            Raise::kNone, "of a start that was given up"},

    {kVolatileLive,  On::kExhausted, kIndeterminate, Do::kMarkIndeterminate, Raise::kNone, "a start of it may have done its work"},
    {kResting,       On::kExpired,   kReleased,      Do::kDrop,              Raise::kNone, "its time is over"},
    {in(kRunning),   On::kExpired,   kRunning,       Do::kIgnore,            Raise::kNone, "the time of the handler bounds it"},
    {kVolatileLive,  On::kCancelled, kReleased,      Do::kDrop,              Raise::kNone, "given up on request, or its callers are gone; the handler is stopped"},
});

constexpr auto kPersistRows = std::to_array<Transition>({
    // from                    on               to              verb                    raise         why
    {in(kQueued),              On::kDue,        kRunning,       Do::kStartAttempt,      Raise::kNone, "its turn has come"},
    {in(kRunning) | in(kRecovering), On::kDue,  kRunning,       Do::kIgnore,            Raise::kNone, "handler or hook has the word"},
    {in(kWaiting),             On::kDue,        kQueued,        Do::kAwait,             Raise::kNone, "the wait is over: back in line"},
    {in(kDeferred),            On::kDue,        kRecovering,    Do::kFindRoute,         Raise::kNone, "the hook is asked again"},

    {in(kRunning),             On::kAnswered,   kSealed,        Do::kComplete,          Raise::kOk,   "the handler returned"},
    {in(kRecovering),          On::kAnswered,   kSealed,        Do::kComplete,          Raise::kNone, "the hook knows the outcome"},
    {kResting | in(kDeferred), On::kAnswered,   kQueued,        Do::kIgnore,            Raise::kNone, "of a start that was given up"},
    {in(kRunning),             On::kRejected,   kFailed,        Do::kComplete,          Raise::kOk,   "the application's own failure is an outcome"},
    {in(kRecovering),          On::kRejected,   kFailed,        Do::kComplete,          Raise::kNone, "the hook knows the outcome"},
    {kResting | in(kDeferred), On::kRejected,   kQueued,        Do::kIgnore,            Raise::kNone, "of a start that was given up"},
    {in(kRunning),             On::kFailed,     kWaiting,       Do::kRetry,             Raise::kFail, "it did not begin: no run is spent"},
    {in(kRecovering),          On::kFailed,     kDeferred,      Do::kRetry,             Raise::kNone, "the hook gave no answer"},
    {kResting | in(kDeferred), On::kFailed,     kQueued,        Do::kIgnore,            Raise::kNone, "of a start that was given up"},
    {in(kRunning),             On::kTimedOut,   kRecovering,    Do::kFindRoute,         Raise::kFail, "its fate is open: the hook may know it"},
    {in(kRecovering),          On::kTimedOut,   kDeferred,      Do::kRetry,             Raise::kNone, "the hook gave no answer"},
    {kResting | in(kDeferred), On::kTimedOut,   kQueued,        Do::kIgnore,            Raise::kNone, "of a start that was given up"},

    {in(kRecovering),          On::kNoLink,     kIndeterminate, Do::kMarkIndeterminate, Raise::kNone, "there is no hook, and it must not run twice"},
    {kPersistLive & ~in(kRecovering), On::kNoLink, kQueued,     Do::kIgnore,            Raise::kNone, "the hook was not asked"},
    {in(kRecovering),          On::kStaleRoute, kQueued,        Do::kRelease,           Raise::kNone, "it never happened: it runs for the first time"},
    {kPersistLive & ~in(kRecovering), On::kStaleRoute, kQueued, Do::kIgnore,            Raise::kNone, "the hook was not asked"},
    {in(kRecovering),          On::kStillHeld,  kDeferred,      Do::kRetry,             Raise::kNone, "the hook is to be asked later"},
    {kPersistLive & ~in(kRecovering), On::kStillHeld, kQueued,  Do::kIgnore,            Raise::kNone, "the hook was not asked"},

    {kPersistLive,             On::kExhausted,  kIndeterminate, Do::kMarkIndeterminate, Raise::kNone, "nothing tells its fate, and waiting is over"},
    {kPersistLive,             On::kExpired,    kQueued,        Do::kIgnore,            Raise::kNone, "admitted: it is not given up"},
    {kPersistLive,             On::kCancelled,  kQueued,        Do::kIgnore,            Raise::kNone, "admitted: it is not given up"},
});

constexpr auto kPersistIdemRows = std::to_array<Transition>({
    // from                    on               to              verb                    raise         why
    {in(kQueued),              On::kDue,        kRunning,       Do::kStartAttempt,      Raise::kNone, "its turn has come"},
    {in(kRunning) | in(kRecovering), On::kDue,  kRunning,       Do::kIgnore,            Raise::kNone, "handler or hook has the word"},
    {in(kWaiting),             On::kDue,        kQueued,        Do::kAwait,             Raise::kNone, "the wait is over: back in line"},
    {in(kDeferred),            On::kDue,        kRecovering,    Do::kFindRoute,         Raise::kNone, "the hook is asked again"},

    {in(kRunning),             On::kAnswered,   kSealed,        Do::kComplete,          Raise::kOk,   "the handler returned"},
    {in(kRecovering),          On::kAnswered,   kSealed,        Do::kComplete,          Raise::kNone, "the hook knows the outcome"},
    {kResting | in(kDeferred), On::kAnswered,   kQueued,        Do::kIgnore,            Raise::kNone, "of a start that was given up"},
    {in(kRunning),             On::kRejected,   kFailed,        Do::kComplete,          Raise::kOk,   "the application's own failure is an outcome"},
    {in(kRecovering),          On::kRejected,   kFailed,        Do::kComplete,          Raise::kNone, "the hook knows the outcome"},
    {kResting | in(kDeferred), On::kRejected,   kQueued,        Do::kIgnore,            Raise::kNone, "of a start that was given up"},
    {in(kRunning),             On::kFailed,     kWaiting,       Do::kRetry,             Raise::kFail, "it did not begin: no run is spent"},
    {in(kRecovering),          On::kFailed,     kDeferred,      Do::kRetry,             Raise::kNone, "the hook gave no answer"},
    {kResting | in(kDeferred), On::kFailed,     kQueued,        Do::kIgnore,            Raise::kNone, "of a start that was given up"},
    {in(kRunning),             On::kTimedOut,   kRecovering,    Do::kFindRoute,         Raise::kFail, "its fate is open: the hook may know it"},
    {in(kRecovering),          On::kTimedOut,   kDeferred,      Do::kRetry,             Raise::kNone, "the hook gave no answer"},
    {kResting | in(kDeferred), On::kTimedOut,   kQueued,        Do::kIgnore,            Raise::kNone, "of a start that was given up"},

    {in(kRecovering),          On::kNoLink,     kWaiting,       Do::kRetry,             Raise::kNone, "there is no hook: it runs again"},
    {kPersistLive & ~in(kRecovering), On::kNoLink, kQueued,     Do::kIgnore,            Raise::kNone, "the hook was not asked"},
    {in(kRecovering),          On::kStaleRoute, kQueued,        Do::kRelease,           Raise::kNone, "it never happened: it runs for the first time"},
    {kPersistLive & ~in(kRecovering), On::kStaleRoute, kQueued, Do::kIgnore,            Raise::kNone, "the hook was not asked"},
    {in(kRecovering),          On::kStillHeld,  kDeferred,      Do::kRetry,             Raise::kNone, "the hook is to be asked later"},
    {kPersistLive & ~in(kRecovering), On::kStillHeld, kQueued,  Do::kIgnore,            Raise::kNone, "the hook was not asked"},

    {kPersistLive,             On::kExhausted,  kIndeterminate, Do::kMarkIndeterminate, Raise::kNone, "nothing tells its fate, and waiting is over"},
    {kPersistLive,             On::kExpired,    kQueued,        Do::kIgnore,            Raise::kNone, "admitted: it is not given up"},
    {kPersistLive,             On::kCancelled,  kQueued,        Do::kIgnore,            Raise::kNone, "admitted: it is not given up"},
});
// clang-format on

// The start of an operation is durable before its handler runs; after a crash it comes back as
// timed-out. Each start has a fence of its own, so none repeats the bytes of another. A cancel that
// the rows of a persist method ignore is forgotten.
constexpr auto kMethods = std::to_array<Method>({
    {.name = "volatile",
     .initial = kQueued,
     .durable_intent = true,
     .rows = kVolatileRows,
     .renews = true},
    {.name = "volatile-idem",
     .initial = kQueued,
     .durable_intent = true,
     .rows = kVolatileIdemRows,
     .renews = true,
     .readmits = true},
    {.name = "persist",
     .initial = kQueued,
     .durable_intent = true,
     .rows = kPersistRows,
     .cancels_later = false,
     .renews = true},
    {.name = "persist-idem",
     .initial = kQueued,
     .durable_intent = true,
     .rows = kPersistIdemRows,
     .cancels_later = false,
     .renews = true,
     .readmits = true},
});

static_assert(sound(kStates, kMethods[0]));
static_assert(sound(kStates, kMethods[1]));
static_assert(sound(kStates, kMethods[2]));
static_assert(sound(kStates, kMethods[3]));

constexpr std::size_t method_of(const MethodPolicy& policy) {
  return (policy.persist ? 2U : 0U) + (policy.idem ? 1U : 0U);
}

}  // namespace postrider::rpc::operation
