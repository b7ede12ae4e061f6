// The states of the drill and what follows what, method by method.
#pragma once

#include <array>

#include "postrider/model/lifecycle.h"
#include "postrider/sim/fields/drill/drill.h"

namespace postrider::sim::drill {

enum : StateIndex {
  kQueued,
  kFinding,
  kSending,
  kSent,
  kHeld,
  kMoving,
  kLingering,
  kChecking,
  kResting,
  kParked,
  kStranded,
  kRouted,
  kTasked,
  kHalf,
  kAsking,
  kPolling,
  kDelivered,
  kDead,
  kExpired,
  kCancelled,
  kIndeterminate,
  kAgain,
};

// clang-format off
constexpr auto kStates = std::to_array<StateRow>({
    // name          phase                  timer              signal          keeps gates
    {"queued",        Phase::kQueued,        TimeOut::kNone,    On::kTimedOut, false},
    {"finding",       Phase::kInFlight,      TimeOut::kProbe,   On::kTimedOut, true},
    {"sending",       Phase::kInFlight,      TimeOut::kAttempt, On::kTimedOut, true},
    {"sent",          Phase::kInFlight,      TimeOut::kAttempt, On::kTimedOut, true},
    {"held",          Phase::kAwaiting,      TimeOut::kStage,   On::kTimedOut, true},
    {"moving",        Phase::kAwaiting,      TimeOut::kStage,   On::kTimedOut, false},
    {"lingering",     Phase::kAwaiting,      TimeOut::kLate,    On::kTimedOut, false},
    {"checking",      Phase::kInFlight,      TimeOut::kProbe,   On::kTimedOut, true},
    {"resting",       Phase::kBackoff,       TimeOut::kRetry,   On::kDue,      false},
    {"parked",        Phase::kParked,        TimeOut::kNone,    On::kTimedOut, false},
    {"stranded",      Phase::kParked,        TimeOut::kNone,    On::kTimedOut, false, true},
    {"routed",        Phase::kQueued,        TimeOut::kNone,    On::kTimedOut, false},
    {"tasked",        Phase::kAwaiting,      TimeOut::kPoll,    On::kDue,      true},
    {"half",          Phase::kAwaiting,      TimeOut::kPair,    On::kTimedOut, true},
    {"asking",        Phase::kInFlight,      TimeOut::kProbe,   On::kTimedOut, true},
    {"polling",       Phase::kInFlight,      TimeOut::kCall,    On::kTimedOut, true},
    {"delivered",     Phase::kDelivered,     TimeOut::kNone,    On::kTimedOut, false},
    {"dead",          Phase::kDead,          TimeOut::kNone,    On::kTimedOut, false},
    {"expired",       Phase::kExpired,       TimeOut::kNone,    On::kTimedOut, false},
    {"cancelled",     Phase::kCancelled,     TimeOut::kNone,    On::kTimedOut, false},
    {"indeterminate", Phase::kIndeterminate, TimeOut::kNone,    On::kTimedOut, false},
    {"again",         Phase::kQueued,        TimeOut::kNone,    On::kTimedOut, false, false, true},
});

constexpr StateMask kAwaits = in(kHeld) | in(kMoving) | in(kLingering);
constexpr StateMask kOut = in(kSending) | in(kSent);
constexpr StateMask kAsks = in(kFinding) | in(kChecking);
constexpr StateMask kWaits = in(kQueued) | in(kResting);
constexpr StateMask kLines = in(kQueued) | in(kRouted);
constexpr StateMask kRests = kLines | in(kResting);
constexpr StateMask kRelayLive = kRests | kAsks | kOut | kAwaits | in(kParked);

constexpr auto kRelay = std::to_array<Transition>({
    {kLines,                                  On::kDue,        kSending,       Do::kStartAttempt,      Raise::kNone, "its turn has come"},
    {in(kResting),                            On::kDue,        kQueued,        Do::kAwait,             Raise::kNone, "back in line"},
    {in(kParked),                             On::kDue,        kQueued,        Do::kRelease,           Raise::kNone, "revived"},
    {kAsks | kOut | kAwaits,                  On::kDue,        0,              Do::kIgnore,            Raise::kNone, "on its way already"},

    {in(kQueued),                             On::kNoRoute,    kFinding,       Do::kFindRoute,         Raise::kNone, "ask for the way first"},
    {in(kChecking),                           On::kNoRoute,    kQueued,        Do::kRelease,           Raise::kSeen, "the relay does not know it: send again"},
    {kOut | in(kFinding),                     On::kNoRoute,    kResting,       Do::kRetry,             Raise::kFail, "the way is lost"},
    {kAwaits | in(kParked) | in(kResting) | in(kRouted), On::kNoRoute, 0,      Do::kIgnore,            Raise::kNone, "says nothing about what the relay holds"},

    {kLines,                                  On::kNoLink,     kParked,        Do::kPark,              Raise::kNone, "an operator must connect it"},
    {kOut | kAsks,                            On::kNoLink,     kResting,       Do::kRetry,             Raise::kFail, "nobody listens"},
    {kAwaits | in(kParked) | in(kResting),    On::kNoLink,     0,              Do::kIgnore,            Raise::kNone, "says nothing about what the relay holds"},

    {kRests | kOut | kAwaits,                 On::kStaleRoute, kQueued,        Do::kNextMethod,        Raise::kSeen, "no relay any more: post it"},
    {kAsks,                                   On::kStaleRoute, kResting,       Do::kRetry,             Raise::kFail, "the way led elsewhere"},
    {in(kParked),                             On::kStaleRoute, 0,              Do::kIgnore,            Raise::kNone, "an operator has it"},

    {in(kSending),                            On::kSent,       kSent,          Do::kAwait,             Raise::kNone, "handed to the wire"},
    {kRelayLive & ~in(kSending),              On::kSent,       0,              Do::kIgnore,            Raise::kNone, "no news"},

    {kRests | kOut,                           On::kAccepted,   kHeld,          Do::kAwait,             Raise::kOk,   "the relay took it"},
    {kAsks | kAwaits | in(kParked),           On::kAccepted,   0,              Do::kIgnore,            Raise::kNone, "no news"},

    {kRests | kOut | in(kHeld) | in(kChecking), On::kProgressed, kMoving,      Do::kAwait,             Raise::kSeen, "it moved on"},
    {in(kFinding) | in(kMoving) | in(kLingering) | in(kParked), On::kProgressed, 0, Do::kIgnore,       Raise::kNone, "no news"},

    {in(kFinding),                            On::kAcked,      kRouted,        Do::kRelease,           Raise::kSeen, "the way is found: back in line"},
    {kRests | kOut | in(kHeld) | in(kMoving) | in(kChecking), On::kAcked, kLingering, Do::kAwait,      Raise::kSeen, "arrived, not yet answered"},
    {in(kLingering) | in(kParked),            On::kAcked,      0,              Do::kIgnore,            Raise::kNone, "no news"},

    {kRelayLive,                              On::kAnswered,   kDelivered,     Do::kComplete,          Raise::kOk,   "an answer may outrun our time-out"},
    {kRelayLive,                              On::kConfirmed,  kDelivered,     Do::kComplete,          Raise::kOk,   "a receipt may outrun our time-out"},

    {in(kChecking) | in(kHeld),               On::kStillHeld,  kHeld,          Do::kAwait,             Raise::kSeen, "wait on"},
    {kRelayLive & ~(in(kChecking) | in(kHeld)), On::kStillHeld, 0,             Do::kIgnore,            Raise::kNone, "no news"},

    {kOut | kAsks,                            On::kFailed,     kResting,       Do::kRetry,             Raise::kFail, "later again"},
    {kAwaits,                                 On::kFailed,     kResting,       Do::kRetry,             Raise::kNone, "the relay lost it"},
    {kRests | in(kParked),                    On::kFailed,     0,              Do::kIgnore,            Raise::kNone, "no news"},

    {kRelayLive & ~in(kParked),               On::kRejected,   kDead,          Do::kDeadLetter,        Raise::kSeen, "refused for good"},
    {in(kParked),                             On::kRejected,   0,              Do::kIgnore,            Raise::kNone, "an operator has it"},

    {kOut,                                    On::kTimedOut,   kChecking,      Do::kProbe,             Raise::kFail, "fate open: ask before repeating"},
    {in(kHeld) | in(kMoving),                 On::kTimedOut,   kChecking,      Do::kProbe,             Raise::kNone, "too long: ask"},
    {in(kLingering),                          On::kTimedOut,   kDelivered,     Do::kComplete,          Raise::kNone, "arrived is enough"},
    {kAsks,                                   On::kTimedOut,   kResting,       Do::kRetry,             Raise::kFail, "no answer to our question"},
    {kRests | in(kParked),                    On::kTimedOut,   0,              Do::kIgnore,            Raise::kNone, "no attempt is open"},

    {kRelayLive,                              On::kExhausted,  kDead,          Do::kDeadLetter,        Raise::kNone, "nothing left to try"},

    {kRests | kAwaits | in(kParked),          On::kExpired,    kExpired,       Do::kDeadLetter,        Raise::kNone, "too late"},
    {kOut | kAsks,                            On::kExpired,    0,              Do::kIgnore,            Raise::kNone, "the open attempt may still succeed"},

    {kRests | in(kFinding) | in(kParked),     On::kCancelled,  kCancelled,     Do::kDrop,              Raise::kNone, "stopped in time"},
    {in(kMoving),                             On::kCancelled,  kIndeterminate, Do::kMarkIndeterminate, Raise::kNone, "beyond our reach"},
    {kOut | in(kChecking) | in(kHeld) | in(kLingering), On::kCancelled, 0,     Do::kIgnore,            Raise::kNone, "perhaps there already"},

    {kRelayLive,                              On::kPeerSeen,   0,              Do::kIgnore,            Raise::kNone, "the route takes note"},

    {kRelayLive,                              On::kPoison,     kParked,        Do::kPark,              Raise::kNone, "out of the way of others"},
    {kRelayLive,                              On::kSkipped,    kDead,          Do::kDeadLetter,        Raise::kNone, "others go on without it"},
});

constexpr StateMask kPostLive = kWaits | in(kSending) | in(kParked) | in(kStranded);
constexpr auto kPost = std::to_array<Transition>({
    {in(kQueued),              On::kDue,        kSending,   Do::kStartAttempt, Raise::kNone, "its turn has come"},
    {in(kResting) | in(kParked) | in(kStranded), On::kDue, kQueued, Do::kRelease, Raise::kNone, "back in line"},
    {in(kSending),             On::kDue,        0,          Do::kIgnore,       Raise::kNone, "on its way already"},
    {in(kSending),             On::kNoRoute,    kParked,    Do::kPark,         Raise::kGone, "the destination exists no more"},
    {kPostLive & ~in(kSending), On::kNoRoute,   0,          Do::kIgnore,       Raise::kNone, "no attempt is open"},
    {in(kSending),             On::kNoLink,     kResting,   Do::kRetry,        Raise::kFail, "nobody listens"},
    {kPostLive & ~in(kSending), On::kNoLink,    0,          Do::kIgnore,       Raise::kNone, "no attempt is open"},
    {kPostLive,                On::kSent,       0,          Do::kIgnore,       Raise::kNone, "no news"},
    {kPostLive,                On::kAnswered,   kDelivered, Do::kComplete,     Raise::kOk,   "done"},
    {kPostLive,                On::kConfirmed,  kDelivered, Do::kComplete,     Raise::kOk,   "done, as we hear"},
    {in(kSending),             On::kFailed,     kResting,   Do::kRetry,        Raise::kFail, "later again"},
    {kPostLive & ~in(kSending), On::kFailed,    0,          Do::kIgnore,       Raise::kNone, "no attempt is open"},
    {in(kSending),             On::kRejected,   kDead,      Do::kDeadLetter,   Raise::kSeen, "refused for good"},
    {kPostLive & ~in(kSending), On::kRejected,  0,          Do::kIgnore,       Raise::kNone, "no attempt is open"},
    {in(kSending),             On::kTimedOut,   kResting,   Do::kRetry,        Raise::kFail, "no answer in time"},
    {kPostLive & ~in(kSending), On::kTimedOut,  0,          Do::kIgnore,       Raise::kNone, "no attempt is open"},
    {kPostLive,                On::kExhausted,  kParked,    Do::kPark,         Raise::kNone, "an operator may know better"},
    {kPostLive,                On::kOutOfReach, kStranded,  Do::kPark,         Raise::kNone, "until somebody is there"},
    {kPostLive & ~in(kSending), On::kExpired,   kExpired,   Do::kDeadLetter,   Raise::kNone, "too late"},
    {in(kSending),             On::kExpired,    0,          Do::kIgnore,       Raise::kNone, "the open attempt may still succeed"},
    {kPostLive & ~in(kSending), On::kCancelled, kCancelled, Do::kDrop,         Raise::kNone, "stopped in time"},
    {in(kSending),             On::kCancelled,  0,          Do::kIgnore,       Raise::kNone, "perhaps there already"},
    {kPostLive,                On::kPoison,     kParked,    Do::kPark,         Raise::kNone, "out of the way of others"},
    {kPostLive,                On::kSkipped,    kDead,      Do::kDeadLetter,   Raise::kNone, "others go on without it"},
});

// What must never happen twice. A refusal before sending, or an answer that it was not done, allows another attempt;
// anything open is indeterminate for good.
constexpr StateMask kOnceLive = kWaits | in(kSending);
constexpr auto kOnce = std::to_array<Transition>({
    {in(kQueued),   On::kDue,       kSending,       Do::kStartAttempt,      Raise::kNone, "its turn has come"},
    {in(kResting),  On::kDue,       kQueued,        Do::kAwait,             Raise::kNone, "back in line"},
    {in(kSending),  On::kDue,       0,              Do::kIgnore,            Raise::kNone, "on its way already"},
    {in(kSending),  On::kNoLink,    kResting,       Do::kRetry,             Raise::kFail, "nothing was sent"},
    {kWaits,        On::kNoLink,    0,              Do::kIgnore,            Raise::kNone, "no attempt is open"},
    {in(kSending),  On::kFailed,    kResting,       Do::kRetry,             Raise::kFail, "the answer says: not done"},
    {kWaits,        On::kFailed,    0,              Do::kIgnore,            Raise::kNone, "no attempt is open"},
    {kOnceLive,     On::kAnswered,  kDelivered,     Do::kComplete,          Raise::kOk,   "done"},
    {kOnceLive,     On::kConfirmed, kDelivered,     Do::kComplete,          Raise::kOk,   "done, as we hear"},
    {in(kSending),  On::kRejected,  kDead,          Do::kDeadLetter,        Raise::kSeen, "refused for good"},
    {kWaits,        On::kRejected,  0,              Do::kIgnore,            Raise::kNone, "no attempt is open"},
    {in(kSending),  On::kTimedOut,  kIndeterminate, Do::kMarkIndeterminate, Raise::kFail, "nobody can tell"},
    {kWaits,        On::kTimedOut,  0,              Do::kIgnore,            Raise::kNone, "no attempt is open"},
    {kOnceLive,     On::kExhausted, kDead,          Do::kDeadLetter,        Raise::kNone, "nothing left to try"},
    {kWaits,        On::kExpired,   kExpired,       Do::kDeadLetter,        Raise::kNone, "too late"},
    {in(kSending),  On::kExpired,   0,              Do::kIgnore,            Raise::kNone, "the open attempt may still succeed"},
    {kWaits,        On::kCancelled, kCancelled,     Do::kDrop,              Raise::kNone, "stopped in time"},
    {in(kSending),  On::kCancelled, 0,              Do::kIgnore,            Raise::kNone, "perhaps there already"},
});

// What the far side works at. It may arrive twice, because it has a name there; but as long as nobody
// knows whether an attempt arrived, the next one must be the same bytes.
constexpr StateMask kThere = in(kTasked) | in(kHalf);
constexpr StateMask kQuestions = in(kAsking) | in(kPolling);
constexpr StateMask kTaskLive = kWaits | in(kSending) | kThere | kQuestions;
constexpr auto kTask = std::to_array<Transition>({
    {in(kQueued),                On::kDue,       kSending,   Do::kStartAttempt, Raise::kNone, "its turn has come"},
    {in(kResting),               On::kDue,       kQueued,    Do::kAwait,        Raise::kNone, "back in line"},
    {in(kTasked),                On::kDue,       kPolling,   Do::kProbe,        Raise::kNone, "ask how far it is"},
    {in(kSending) | in(kHalf) | kQuestions, On::kDue, 0,     Do::kIgnore,       Raise::kNone, "on its way already"},
    {kWaits | in(kSending) | in(kAsking), On::kAccepted, kTasked, Do::kAwait,   Raise::kOk,   "it has a name there"},
    {kThere | in(kPolling),      On::kAccepted,  0,          Do::kIgnore,       Raise::kNone, "no news"},
    {kTaskLive & ~in(kHalf),     On::kAcked,     kHalf,      Do::kAwait,        Raise::kSeen, "one half of the answer"},
    {in(kHalf),                  On::kAcked,     0,          Do::kIgnore,       Raise::kNone, "no news"},
    {kTaskLive,                  On::kAnswered,  kDelivered, Do::kComplete,     Raise::kOk,   "an answer may outrun our time-out"},
    {kTaskLive,                  On::kConfirmed, kDelivered, Do::kComplete,     Raise::kOk,   "a receipt may outrun our time-out"},
    {kQuestions | in(kTasked),   On::kStillHeld, kTasked,    Do::kAwait,        Raise::kSeen, "ask again later"},
    {kTaskLive & ~(kQuestions | in(kTasked)), On::kStillHeld, 0, Do::kIgnore,   Raise::kNone, "no news"},
    {in(kSending) | in(kTasked), On::kFailed,    kResting,   Do::kRetry,        Raise::kFail, "later again"},
    {in(kAsking),                On::kFailed,    kAsking,    Do::kProbe,        Raise::kFail, "a question that failed says nothing: ask again"},
    {in(kPolling),               On::kFailed,    kTasked,    Do::kAwait,        Raise::kFail, "a question that failed says nothing: ask later"},
    {kWaits | in(kHalf),         On::kFailed,    0,          Do::kIgnore,       Raise::kNone, "no news"},
    {in(kSending),               On::kNoLink,    kResting,   Do::kRetry,        Raise::kFail, "nothing was sent"},
    {in(kAsking),                On::kNoLink,    kAsking,    Do::kProbe,        Raise::kFail, "ask again"},
    {in(kPolling),               On::kNoLink,    kTasked,    Do::kAwait,        Raise::kFail, "ask later"},
    {kWaits | kThere,            On::kNoLink,    0,          Do::kIgnore,       Raise::kNone, "no news"},
    {kQuestions,                 On::kNoRoute,   kResting,   Do::kRetry,        Raise::kSeen, "unknown there: send again"},
    {kTaskLive & ~kQuestions,    On::kNoRoute,   0,          Do::kIgnore,       Raise::kNone, "no news"},
    {kTaskLive,                  On::kRejected,  kDead,      Do::kDeadLetter,   Raise::kSeen, "refused for good"},
    {in(kSending),               On::kTimedOut,  kAsking,    Do::kProbe,        Raise::kFail, "fate open: ask before repeating"},
    {in(kAsking),                On::kTimedOut,  kAsking,    Do::kProbe,        Raise::kNone, "ask again"},
    {in(kPolling) | in(kHalf),   On::kTimedOut,  kTasked,    Do::kAwait,        Raise::kNone, "ask later"},
    {kWaits | in(kTasked),       On::kTimedOut,  0,          Do::kIgnore,       Raise::kNone, "no attempt is open"},
    {kTaskLive,                  On::kExhausted, kDead,      Do::kDeadLetter,   Raise::kNone, "nothing left to try"},
    {kWaits | kThere,            On::kExpired,   kExpired,   Do::kDeadLetter,   Raise::kNone, "too late"},
    {in(kSending) | kQuestions,  On::kExpired,   0,          Do::kIgnore,       Raise::kNone, "the open attempt may still succeed"},
    {kWaits,                     On::kCancelled, kCancelled, Do::kDrop,         Raise::kNone, "stopped in time"},
    {in(kSending) | kThere | kQuestions, On::kCancelled, 0,  Do::kIgnore,       Raise::kNone, "perhaps there already"},
    {in(kTasked),                On::kPeerSeen,  kPolling,   Do::kProbe,        Raise::kNone, "ask at once"},
    {kTaskLive & ~in(kTasked),   On::kPeerSeen,  0,          Do::kIgnore,       Raise::kNone, "the route takes note"},
});

// What is never given up: a few attempts make a round, and only a round that failed is a strike against
// the route; then the next round begins.
constexpr StateMask kPatientWaits = kWaits | in(kAgain) | in(kParked);
constexpr StateMask kPatientLive = kPatientWaits | in(kSending);
constexpr auto kPatient = std::to_array<Transition>({
    {in(kQueued) | in(kAgain), On::kDue,       kSending,   Do::kStartAttempt, Raise::kNone, "its turn has come"},
    {in(kResting) | in(kParked), On::kDue,     kQueued,    Do::kRelease,      Raise::kNone, "back in line"},
    {in(kSending),             On::kDue,       0,          Do::kIgnore,       Raise::kNone, "on its way already"},
    {in(kSending),             On::kNoLink,    kResting,   Do::kRetry,        Raise::kNone, "a pause within the round"},
    {kPatientWaits,            On::kNoLink,    0,          Do::kIgnore,       Raise::kNone, "no attempt is open"},
    {in(kSending),             On::kFailed,    kResting,   Do::kRetry,        Raise::kNone, "a pause within the round"},
    {kPatientWaits,            On::kFailed,    0,          Do::kIgnore,       Raise::kNone, "no attempt is open"},
    {kPatientLive,             On::kAnswered,  kDelivered, Do::kComplete,     Raise::kOk,   "done"},
    {kPatientLive,             On::kConfirmed, kDelivered, Do::kComplete,     Raise::kOk,   "done, as we hear"},
    {in(kSending),             On::kRejected,  kDead,      Do::kDeadLetter,   Raise::kSeen, "refused for good"},
    {kPatientWaits,            On::kRejected,  0,          Do::kIgnore,       Raise::kNone, "no attempt is open"},
    {in(kSending),             On::kTimedOut,  kResting,   Do::kRetry,        Raise::kNone, "a pause within the round"},
    {kPatientWaits,            On::kTimedOut,  0,          Do::kIgnore,       Raise::kNone, "no attempt is open"},
    {kPatientLive,             On::kExhausted, kAgain,     Do::kAwait,        Raise::kFail, "the round is over: now the route hears of it"},
    {kPatientWaits,            On::kExpired,   kExpired,   Do::kDeadLetter,   Raise::kNone, "too late"},
    {in(kSending),             On::kExpired,   0,          Do::kIgnore,       Raise::kNone, "the open attempt may still succeed"},
    {kPatientWaits,            On::kCancelled, kCancelled, Do::kDrop,         Raise::kNone, "stopped in time"},
    {in(kSending),             On::kCancelled, 0,          Do::kIgnore,       Raise::kNone, "perhaps there already"},
    {in(kResting),             On::kPeerSeen,  kQueued,    Do::kAwait,        Raise::kNone, "somebody is there: no need to wait"},
    {kPatientLive & ~in(kResting), On::kPeerSeen, 0,       Do::kIgnore,       Raise::kNone, "the route takes note"},
    {kPatientLive,             On::kPoison,    kParked,    Do::kPark,         Raise::kNone, "out of the way of others"},
    {kPatientLive,             On::kSkipped,   kDead,      Do::kDeadLetter,   Raise::kNone, "others go on without it"},
});

constexpr auto kMethods = std::to_array<Method>({
    {"relay", kQueued, false, kRelay},
    {"post",  kQueued, false, kPost},
    {"once",  kQueued, true,  kOnce},
    {"task",  kQueued, true,  kTask, true},
    {"patient", kQueued, false, kPatient},
});
static_assert(kMethods.size() == kDrillMethods);
static_assert(sound(kStates, kMethods[0]));
static_assert(sound(kStates, kMethods[1]));
static_assert(sound(kStates, kMethods[2]));
static_assert(sound(kStates, kMethods[3]));
static_assert(sound(kStates, kMethods[4]));
// clang-format on

}  // namespace postrider::sim::drill
