// The states of a message to a device and what follows what. Commands have five methods: by push (a
// network server that queues for the device) or pull (a vendor that works at a task), each for what
// may be repeated freely, only when the former attempt can no longer run, or never. The making of a
// token is a sixth: one call, whose answer ends it. The expectation is in docs/spec/device.md; a
// test compares.
#pragma once

#include <array>

#include "postrider/model/lifecycle.h"

namespace postrider::device {

enum : StateIndex {
  kQueued,
  kSending,
  kCheckSend,
  kAtServer,
  kCheckNs,
  kOnAir,
  kCheckAir,
  kHalfAck,
  kAwaitTask,
  kPolling,
  kToRetry,
  kDone,
  kAcked,
  kFailed,
  kExpired,
  kUnknown,
  kCancelled,
};

// The tables are not inline: with the undefined-behaviour sanitizer g++ 12 holds the address of an
// inline variable for possibly null, and then sound() is no constant any more.
// clang-format off
constexpr auto kStates = std::to_array<StateRow>({
    // name          phase                  timer              signal         keeps gates
    {"Queued",       Phase::kQueued,        TimeOut::kNone,    On::kTimedOut, false},
    {"Sending",      Phase::kInFlight,      TimeOut::kAttempt, On::kTimedOut, true},
    {"CheckSend",    Phase::kInFlight,      TimeOut::kProbe,   On::kTimedOut, true},
    {"AtServer",     Phase::kAwaiting,      TimeOut::kStage,   On::kTimedOut, true},
    {"CheckNs",      Phase::kInFlight,      TimeOut::kProbe,   On::kTimedOut, true},
    {"OnAir",        Phase::kAwaiting,      TimeOut::kLate,    On::kTimedOut, true},
    {"CheckAir",     Phase::kInFlight,      TimeOut::kProbe,   On::kTimedOut, true},
    {"HalfAck",      Phase::kAwaiting,      TimeOut::kPair,    On::kTimedOut, true},
    {"AwaitTask",    Phase::kAwaiting,      TimeOut::kPoll,    On::kDue,      true},
    {"Polling",      Phase::kInFlight,      TimeOut::kCall,    On::kTimedOut, true},
    {"ToRetry",      Phase::kBackoff,       TimeOut::kRetry,   On::kDue,      false},
    {"Done",         Phase::kDelivered,     TimeOut::kNone,    On::kTimedOut, false},
    {"Acked",        Phase::kDelivered,     TimeOut::kNone,    On::kTimedOut, false},
    {"Failed",       Phase::kDead,          TimeOut::kNone,    On::kTimedOut, false},
    {"Expired",      Phase::kExpired,       TimeOut::kNone,    On::kTimedOut, false},
    {"Unknown",      Phase::kIndeterminate, TimeOut::kNone,    On::kTimedOut, false},
    {"Cancelled",    Phase::kCancelled,     TimeOut::kNone,    On::kTimedOut, false},
});

inline constexpr StateMask kWaiting = in(kQueued) | in(kToRetry);
inline constexpr StateMask kChecks = in(kCheckSend) | in(kCheckAir);  // not of class free
inline constexpr StateMask kPushFreeLive = kWaiting | in(kSending) | in(kAtServer) | in(kCheckNs) | in(kOnAir) | in(kHalfAck);
inline constexpr StateMask kPushActLive = kPushFreeLive | kChecks;
inline constexpr StateMask kPullLive = kWaiting | in(kSending) | in(kAwaitTask) | in(kPolling);

constexpr auto kPushFreeRows = std::to_array<Transition>({
    // from                                   on                to          verb               raise         why
    {in(kQueued),                             On::kDue,         kSending,   Do::kStartAttempt, Raise::kNone, "admission granted"},
    {in(kToRetry),                            On::kDue,         kQueued,    Do::kAwait,        Raise::kNone, "the back-off is over"},
    {kPushFreeLive & ~kWaiting,                   On::kDue,         0,          Do::kIgnore,       Raise::kNone, "on its way already"},
    {kWaiting | in(kSending) | in(kCheckNs),  On::kAccepted,    kAtServer,  Do::kAwait,        Raise::kNone, "the server has it, under an id of its own"},
    {in(kAtServer) | in(kOnAir) | in(kHalfAck), On::kAccepted,  0,          Do::kIgnore,       Raise::kNone, "no news"},
    {kPushFreeLive & ~(in(kOnAir) | in(kHalfAck)), On::kProgressed, kOnAir,     Do::kAwait,        Raise::kNone, "a gateway sent it"},
    {in(kOnAir) | in(kHalfAck),               On::kProgressed,  0,          Do::kIgnore,       Raise::kNone, "no news"},
    {kPushFreeLive & ~in(kHalfAck),               On::kAcked,       kHalfAck,   Do::kAwait,        Raise::kNone, "the device has it; its response may follow"},
    {in(kHalfAck),                            On::kAcked,       0,          Do::kIgnore,       Raise::kNone, "no news"},
    {kPushFreeLive,                               On::kAnswered,    kDone,      Do::kComplete,     Raise::kNone, "a response may outrun everything else"},
    {in(kSending),                            On::kStillHeld,   kSending,   Do::kAwait,        Raise::kNone, "the call is still open"},
    {in(kAtServer) | in(kCheckNs),            On::kStillHeld,   kAtServer,  Do::kAwait,        Raise::kNone, "the server still holds it"},
    {kWaiting | in(kOnAir) | in(kHalfAck),    On::kStillHeld,   0,          Do::kIgnore,       Raise::kNone, "no news"},
    {in(kSending) | in(kAtServer) | in(kCheckNs) | in(kOnAir), On::kFailed, kToRetry, Do::kRetry, Raise::kNone, "closed without success"},
    {kWaiting | in(kHalfAck),                 On::kFailed,      0,          Do::kIgnore,       Raise::kNone, "no attempt that this could be about"},
    {kPushFreeLive,                               On::kRejected,    kFailed,    Do::kDeadLetter,   Raise::kNone, "refused for good"},
    {in(kSending) | in(kOnAir) | in(kHalfAck), On::kTimedOut,   kToRetry,   Do::kRetry,        Raise::kNone, "a read may be repeated"},
    {in(kAtServer) | in(kCheckNs),            On::kTimedOut,    kCheckNs,   Do::kProbe,        Raise::kNone, "ask whether the server still holds it"},
    {kWaiting,                                On::kTimedOut,    0,          Do::kIgnore,       Raise::kNone, "no attempt is open"},
    {kPushFreeLive,                               On::kExhausted,   kFailed,    Do::kDeadLetter,   Raise::kNone, "no attempt is left"},
    {kPushFreeLive,                               On::kExpired,     kExpired,   Do::kDeadLetter,   Raise::kNone, "its life is over"},
    {kWaiting,                                On::kCancelled,   kCancelled, Do::kDrop,         Raise::kNone, "stopped in time"},
    {kPushFreeLive & ~kWaiting,                   On::kCancelled,   0,          Do::kIgnore,       Raise::kNone, "beyond our reach"},
    {in(kAtServer),                           On::kPeerSeen,    kCheckNs,   Do::kProbe,        Raise::kNone, "a join flushes the server's queue: ask at once"},
    {kPushFreeLive & ~in(kAtServer),              On::kPeerSeen,    0,          Do::kIgnore,       Raise::kNone, "no news"},
});

// Acts: nothing is sent again while an earlier copy could still run. Class never differs from closed
// in one thing: where an attempt that may have run is over, nobody can tell any more.
template <bool kNever>
constexpr auto push_act_rows() {
  constexpr StateIndex kAfter = kNever ? kUnknown : kToRetry;
  constexpr Do kVerb = kNever ? Do::kMarkIndeterminate : Do::kRetry;
  return std::to_array<Transition>({
    {in(kQueued),                             On::kDue,         kSending,   Do::kStartAttempt, Raise::kNone, "admission granted"},
    {in(kToRetry),                            On::kDue,         kQueued,    Do::kAwait,        Raise::kNone, "the back-off is over"},
    {kPushActLive & ~kWaiting,                    On::kDue,         0,          Do::kIgnore,       Raise::kNone, "on its way already"},
    {kWaiting | in(kSending) | in(kCheckSend) | in(kCheckNs), On::kAccepted, kAtServer, Do::kAwait, Raise::kNone, "the server has it, under an id of its own"},
    {in(kCheckAir),                           On::kAccepted,    kOnAir,     Do::kAwait,        Raise::kNone, "it is there, and further than that"},
    {in(kAtServer) | in(kOnAir) | in(kHalfAck), On::kAccepted,  0,          Do::kIgnore,       Raise::kNone, "no news"},
    {kPushActLive & ~(in(kOnAir) | in(kHalfAck)), On::kProgressed,  kOnAir,     Do::kAwait,        Raise::kNone, "a gateway sent it"},
    {in(kOnAir) | in(kHalfAck),               On::kProgressed,  0,          Do::kIgnore,       Raise::kNone, "no news"},
    {kPushActLive & ~in(kHalfAck),                On::kAcked,       kHalfAck,   Do::kAwait,        Raise::kNone, "the device has it; its response may follow"},
    {in(kHalfAck),                            On::kAcked,       0,          Do::kIgnore,       Raise::kNone, "no news"},
    {kPushActLive,                                On::kAnswered,    kDone,      Do::kComplete,     Raise::kNone, "a response may outrun everything else"},
    {in(kSending),                            On::kStillHeld,   kSending,   Do::kAwait,        Raise::kNone, "the call is still open"},
    {in(kCheckSend) | in(kAtServer) | in(kCheckNs), On::kStillHeld, kAtServer, Do::kAwait,     Raise::kNone, "the server still holds it"},
    {in(kOnAir) | in(kCheckAir),              On::kStillHeld,   kOnAir,     Do::kAwait,        Raise::kNone, "it may still be sent"},
    {kWaiting | in(kHalfAck),                 On::kStillHeld,   0,          Do::kIgnore,       Raise::kNone, "no news"},
    {in(kSending),                            On::kFailed,      kToRetry,   Do::kRetry,        Raise::kNone, "it never left us, or was not taken"},
    {kChecks | in(kAtServer) | in(kCheckNs) | in(kOnAir), On::kFailed, kAfter, kVerb,          Raise::kNone, "closed without success"},
    {kWaiting | in(kHalfAck),                 On::kFailed,      0,          Do::kIgnore,       Raise::kNone, "no attempt that this could be about"},
    {kPushActLive,                                On::kRejected,    kFailed,    Do::kDeadLetter,   Raise::kNone, "refused for good"},
    {in(kSending) | in(kCheckSend),           On::kTimedOut,    kCheckSend, Do::kProbe,        Raise::kNone, "fate open: ask before repeating"},
    {in(kAtServer) | in(kCheckNs),            On::kTimedOut,    kCheckNs,   Do::kProbe,        Raise::kNone, "ask whether the server still holds it"},
    {in(kOnAir) | in(kCheckAir),              On::kTimedOut,    kCheckAir,  Do::kProbe,        Raise::kNone, "no acknowledgement: ask before repeating"},
    {in(kHalfAck),                            On::kTimedOut,    kAcked,     Do::kComplete,     Raise::kNone, "the device has it, and said no more"},
    {kWaiting,                                On::kTimedOut,    0,          Do::kIgnore,       Raise::kNone, "no attempt is open"},
    {kPushActLive,                                On::kExhausted,   kFailed,    Do::kDeadLetter,   Raise::kNone, "no attempt is left"},
    {kPushActLive,                                On::kExpired,     kExpired,   Do::kDeadLetter,   Raise::kNone, "its life is over"},
    {kWaiting,                                On::kCancelled,   kCancelled, Do::kDrop,         Raise::kNone, "stopped in time"},
    {kPushActLive & ~kWaiting,                    On::kCancelled,   0,          Do::kIgnore,       Raise::kNone, "beyond our reach"},
    {in(kAtServer),                           On::kPeerSeen,    kCheckNs,   Do::kProbe,        Raise::kNone, "a join flushes the server's queue: ask at once"},
    {kPushActLive & ~in(kAtServer),               On::kPeerSeen,    0,          Do::kIgnore,       Raise::kNone, "no news"},
  });
}
constexpr auto kPushClosedRows = push_act_rows<false>();
constexpr auto kPushNeverRows = push_act_rows<true>();

// A vendor cannot be asked whether a call arrived: an act of which we do not know ends as unknown.
template <bool kFree>
constexpr auto pull_rows() {
  return std::to_array<Transition>({
    {in(kQueued),                             On::kDue,         kSending,   Do::kStartAttempt, Raise::kNone, "admission granted"},
    {in(kToRetry),                            On::kDue,         kQueued,    Do::kAwait,        Raise::kNone, "the back-off is over"},
    {in(kAwaitTask),                          On::kDue,         kPolling,   Do::kProbe,        Raise::kNone, "ask how the task is"},
    {in(kSending) | in(kPolling),             On::kDue,         0,          Do::kIgnore,       Raise::kNone, "on its way already"},
    {in(kSending),                            On::kAccepted,    kAwaitTask, Do::kAwait,        Raise::kNone, "the vendor works at it"},
    {kPullLive & ~in(kSending),                   On::kAccepted,    0,          Do::kIgnore,       Raise::kNone, "no news"},
    {kPullLive & ~kWaiting,                       On::kAnswered,    kDone,      Do::kComplete,     Raise::kNone, "the response is there"},
    {kWaiting,                                On::kAnswered,    0,          Do::kIgnore,       Raise::kNone, "no task that this could be about"},
    {in(kSending),                            On::kStillHeld,   kSending,   Do::kAwait,        Raise::kNone, "the call is still open"},
    {in(kPolling),                            On::kStillHeld,   kAwaitTask, Do::kAwait,        Raise::kNone, "ask again later"},
    {kWaiting | in(kAwaitTask),               On::kStillHeld,   0,          Do::kIgnore,       Raise::kNone, "no news"},
    {in(kSending),                            On::kFailed,      kToRetry,   Do::kRetry,        Raise::kNone, "it never left us, or was not taken"},
    {in(kPolling),                            On::kFailed,      kAwaitTask, Do::kAwait,        Raise::kNone, "a question that failed says nothing about the task"},
    {kWaiting | in(kAwaitTask),               On::kFailed,      0,          Do::kIgnore,       Raise::kNone, "no news"},
    {kPullLive,                                   On::kRejected,    kFailed,    Do::kDeadLetter,   Raise::kNone, "refused for good"},
    {in(kSending),                            On::kTimedOut,    kFree ? kToRetry : kUnknown, kFree ? Do::kRetry : Do::kMarkIndeterminate, Raise::kNone, "nobody can tell whether it was taken"},
    {in(kPolling),                            On::kTimedOut,    kAwaitTask, Do::kAwait,        Raise::kNone, "a question without answer says nothing about the task"},
    {kWaiting | in(kAwaitTask),               On::kTimedOut,    0,          Do::kIgnore,       Raise::kNone, "no attempt is open"},
    {kPullLive,                                   On::kExhausted,   kFailed,    Do::kDeadLetter,   Raise::kNone, "no attempt is left"},
    {kPullLive,                                   On::kExpired,     kExpired,   Do::kDeadLetter,   Raise::kNone, "its life is over"},
    {kWaiting,                                On::kCancelled,   kCancelled, Do::kDrop,         Raise::kNone, "stopped in time"},
    {kPullLive & ~kWaiting,                       On::kCancelled,   0,          Do::kIgnore,       Raise::kNone, "beyond our reach"},
  });
}
constexpr auto kPullFreeRows = pull_rows<true>();
constexpr auto kPullClosedRows = pull_rows<false>();

// A token costs credit, so a call that may have arrived is not repeated: it ends as unknown.
inline constexpr StateMask kMintLive = kWaiting | in(kSending);
constexpr auto kMintRows = std::to_array<Transition>({
    {in(kQueued),                             On::kDue,         kSending,   Do::kStartAttempt, Raise::kNone, "admission granted"},
    {in(kToRetry),                            On::kDue,         kQueued,    Do::kAwait,        Raise::kNone, "the back-off is over"},
    {in(kSending),                            On::kDue,         0,          Do::kIgnore,       Raise::kNone, "on its way already"},
    {in(kSending),                            On::kAnswered,    kDone,      Do::kComplete,     Raise::kNone, "the token is there"},
    {kWaiting,                                On::kAnswered,    0,          Do::kIgnore,       Raise::kNone, "no call that this could be about"},
    {in(kSending),                            On::kFailed,      kToRetry,   Do::kRetry,        Raise::kNone, "it never left us, or was not taken"},
    {kWaiting,                                On::kFailed,      0,          Do::kIgnore,       Raise::kNone, "no news"},
    {kMintLive,                               On::kRejected,    kFailed,    Do::kDeadLetter,   Raise::kNone, "refused for good"},
    {in(kSending),                            On::kTimedOut,    kUnknown,   Do::kMarkIndeterminate, Raise::kNone, "it is not known whether a token was made"},
    {kWaiting,                                On::kTimedOut,    0,          Do::kIgnore,       Raise::kNone, "no attempt is open"},
    {kMintLive,                               On::kExhausted,   kFailed,    Do::kDeadLetter,   Raise::kNone, "no attempt is left"},
    {kMintLive,                               On::kExpired,     kExpired,   Do::kDeadLetter,   Raise::kNone, "its life is over"},
    {kWaiting,                                On::kCancelled,   kCancelled, Do::kDrop,         Raise::kNone, "stopped in time"},
    {in(kSending),                            On::kCancelled,   0,          Do::kIgnore,       Raise::kNone, "beyond our reach"},
});

// Every attempt is recorded before the wire: what a crash interrupted must not be sent blindly again.
// A cancel stops what waits, or nothing: the caller is told which, and may rely on it.
constexpr auto kMethods = std::to_array<Method>({
    {"push-free",   kQueued, true, kPushFreeRows, true, false},
    {"push-closed", kQueued, true, kPushClosedRows, true, false},
    {"push-never",  kQueued, true, kPushNeverRows, true, false},
    {"pull-free",   kQueued, true, kPullFreeRows, true, false},
    {"pull-closed", kQueued, true, kPullClosedRows, true, false},
    {"mint",        kQueued, true, kMintRows, true, false},
});
// clang-format on

static_assert(sound(kStates, kMethods[0]));
static_assert(sound(kStates, kMethods[1]));
static_assert(sound(kStates, kMethods[2]));
static_assert(sound(kStates, kMethods[3]));
static_assert(sound(kStates, kMethods[4]));
static_assert(sound(kStates, kMethods[5]));

inline constexpr std::uint8_t kMintMethod = 5;

}  // namespace postrider::device
