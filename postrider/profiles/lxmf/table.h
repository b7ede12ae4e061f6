// The states of a message and what follows what, by method, for the policy `durable`. The
// expectation is in docs/spec/lxmf.md; docs/profiles/lxmf.md shows the tables.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "postrider/model/lifecycle.h"

namespace postrider::lxmf {

enum : StateIndex {
  kGenerating,
  kStamping,
  kOutbound,
  kFinding,
  kSending,
  kSent,
  kSentToNode,
  kDelivered,
  kRejected,
  kFailed,
  kExpired,
  kCancelled,
};

// A message that is sent stays in flight until its proof comes or its time is over: how long a
// proof may take follows from the path, which the station knows. After a restart it goes again.
// Not inline, see profiles/matrix/table.h.
// clang-format off
constexpr auto kStates = std::to_array<StateRow>({
    {.name = "Generating", .phase = Phase::kQueued},
    {.name = "Stamping",  .phase = Phase::kInFlight, .timer = TimeOut::kCall,    .timer_signal = On::kTimedOut},
    {.name = "Outbound",  .phase = Phase::kQueued},
    {.name = "Finding",   .phase = Phase::kInFlight, .timer = TimeOut::kProbe,   .timer_signal = On::kTimedOut},
    {.name = "Sending",   .phase = Phase::kInFlight, .timer = TimeOut::kAttempt, .timer_signal = On::kTimedOut},
    {.name = "Sent",      .phase = Phase::kInFlight, .timer = TimeOut::kAttempt, .timer_signal = On::kTimedOut},
    {.name = "SentToNode", .phase = Phase::kDelivered},
    {.name = "Delivered", .phase = Phase::kDelivered},
    {.name = "Rejected",  .phase = Phase::kDead},
    {.name = "Failed",    .phase = Phase::kDead},
    {.name = "Expired",   .phase = Phase::kExpired},
    {.name = "Cancelled", .phase = Phase::kCancelled},
});

// What peers and people call the states: codes and words of the protocol.
struct PublicState {
  std::string_view word;
  std::uint8_t code = 0;
};
constexpr auto kPublicStates = std::to_array<PublicState>({
    {"GENERATING", 0x00},
    {"GENERATING", 0x00},
    {"OUTBOUND",  0x01},
    {"OUTBOUND",  0x01},
    {"SENDING",   0x02},
    {"SENT",      0x04},
    {"SENT",      0x04},
    {"DELIVERED", 0x08},
    {"REJECTED",  0xFD},
    {"FAILED",    0xFF},
    {"FAILED",    0xFF},
    {"CANCELLED", 0xFE},
});
static_assert(kPublicStates.size() == kStates.size());

inline constexpr StateMask kLinkLeaves =
    in(kGenerating) | in(kStamping) | in(kOutbound) | in(kFinding) | in(kSending);
inline constexpr StateMask kOneLeaves = kLinkLeaves | in(kSent);

constexpr auto kOpportunisticRows = std::to_array<Transition>({
    // from                             on               to          verb               raise         why
    {in(kOutbound),                     On::kDue,        kSending,   Do::kStartAttempt, Raise::kNone, "one look: transmit, or say what is missing"},
    {in(kGenerating),                   On::kDue,        kStamping,  Do::kProbe,        Raise::kNone, "one search for a stamp"},
    {kOneLeaves & ~in(kOutbound) & ~in(kGenerating), On::kDue, kOutbound, Do::kIgnore, Raise::kNone, "an attempt is open"},

    {in(kSending),                      On::kSent,       kSent,      Do::kAwait,        Raise::kNone, "one packet has left; its receipt was registered before"},
    {kOneLeaves & ~in(kSending),        On::kSent,       kOutbound,  Do::kIgnore,       Raise::kNone, "news of an attempt that we gave up"},

    {kOneLeaves,                        On::kConfirmed,  kDelivered, Do::kComplete,     Raise::kOk,   "the proof of any transmission of it"},

    {in(kSending),                      On::kNoRoute,    kFinding,   Do::kFindRoute,    Raise::kNone, "path request"},
    {in(kFinding),                      On::kNoRoute,    kOutbound,  Do::kRelease,      Raise::kFail, "the request is out: the route waits for the answer"},
    {kOneLeaves & ~in(kSending) & ~in(kFinding), On::kNoRoute,    kOutbound,  Do::kIgnore,       Raise::kNone, "no look is open"},
    {in(kSending),                      On::kStaleRoute, kFinding,   Do::kFindRoute,    Raise::kNone, "the path has proven nothing: dropped, and requested again"},
    {kOneLeaves & ~in(kSending),        On::kStaleRoute, kOutbound,  Do::kIgnore,       Raise::kNone, "no look is open"},
    {in(kFinding),                      On::kAcked,      kOutbound,  Do::kRelease,      Raise::kSeen, "the path is known"},
    {kOneLeaves & ~in(kFinding),        On::kAcked,      kOutbound,  Do::kIgnore,       Raise::kNone, "nothing is looked for"},

    {in(kSending),                      On::kStillHeld,  kGenerating, Do::kRelease,     Raise::kNone, "the recipient wants a stamp"},
    {kOneLeaves & ~in(kSending),        On::kStillHeld,  kOutbound,  Do::kIgnore,       Raise::kNone, "no look is open"},
    {in(kGenerating) | in(kStamping),   On::kAnswered,   kOutbound,  Do::kRelease,      Raise::kNone, "no stamp is missing"},
    {kOneLeaves & ~in(kGenerating) & ~in(kStamping), On::kAnswered, kOutbound, Do::kIgnore, Raise::kNone, "no stamp was looked for"},

    {in(kFinding) | in(kSending) | in(kSent), On::kFailed,   kOutbound, Do::kRelease,   Raise::kFail, "no interface, or no proof in the time that its path gives"},
    {in(kStamping),                     On::kFailed, kGenerating, Do::kRelease,     Raise::kNone, "the search is lost"},
    {in(kOutbound) | in(kGenerating),   On::kFailed, kOutbound,  Do::kIgnore,       Raise::kNone, "news of an attempt that we gave up"},
    {in(kFinding) | in(kSending) | in(kSent), On::kTimedOut, kOutbound, Do::kRelease,   Raise::kFail, "the last bound of an attempt"},
    {in(kStamping),                     On::kTimedOut, kGenerating, Do::kRelease,     Raise::kNone, "the search is lost"},
    {in(kOutbound) | in(kGenerating),   On::kTimedOut, kOutbound,  Do::kIgnore,       Raise::kNone, "a timer of an earlier attempt"},

    {kOneLeaves,                        On::kExhausted,  kFailed,    Do::kDeadLetter,   Raise::kNone, "the recipient wants more work than we do"},
    {kOneLeaves & ~in(kSent),           On::kExpired,    kExpired,   Do::kDeadLetter,   Raise::kNone, "its deadline has come"},
    {in(kSent),                         On::kExpired,    kSent,      Do::kIgnore,       Raise::kNone, "its last transmission has its time for a proof"},
    {kOneLeaves,                        On::kCancelled,  kCancelled, Do::kDrop,         Raise::kNone, "stopped on request"},
});

constexpr auto kDirectRows = std::to_array<Transition>({
    // from                             on               to          verb               raise         why
    {in(kOutbound),                     On::kDue,        kSending,   Do::kStartAttempt, Raise::kNone, "one look: send on the link, or say what is missing"},
    {in(kGenerating),                   On::kDue,        kStamping,  Do::kProbe,        Raise::kNone, "one search for a stamp"},
    {kLinkLeaves & ~in(kOutbound) & ~in(kGenerating), On::kDue, kOutbound, Do::kIgnore, Raise::kNone, "an attempt is open"},

    {kLinkLeaves,                       On::kConfirmed,  kDelivered, Do::kComplete,     Raise::kOk,   "the proof of any transmission of it"},

    {in(kSending),                      On::kNoLink,     kFinding,   Do::kFindRoute,    Raise::kNone, "open a link"},
    {in(kFinding),                      On::kNoLink,     kOutbound,  Do::kRelease,      Raise::kFail, "the link did not come up"},
    {kLinkLeaves & ~in(kSending) & ~in(kFinding), On::kNoLink,     kOutbound,  Do::kIgnore,       Raise::kNone, "no look is open"},
    {in(kSending),                      On::kNoRoute,    kFinding,   Do::kFindRoute,    Raise::kNone, "path request"},
    {in(kFinding),                      On::kNoRoute,    kOutbound,  Do::kRelease,      Raise::kFail, "the request is out: the route waits for the answer"},
    {kLinkLeaves & ~in(kSending) & ~in(kFinding), On::kNoRoute,    kOutbound,  Do::kIgnore,       Raise::kNone, "no look is open"},
    {in(kSending),                      On::kStaleRoute, kFinding,   Do::kFindRoute,    Raise::kNone, "the link was closed: forgotten, and a path request"},
    {kLinkLeaves & ~in(kSending),       On::kStaleRoute, kOutbound,  Do::kIgnore,       Raise::kNone, "no look is open"},
    {in(kFinding),                      On::kAcked,      kOutbound,  Do::kRelease,      Raise::kSeen, "the link is active"},
    {kLinkLeaves & ~in(kFinding),       On::kAcked,      kOutbound,  Do::kIgnore,       Raise::kNone, "nothing is looked for"},

    {in(kSending),                      On::kStillHeld,  kGenerating, Do::kRelease,     Raise::kNone, "the recipient wants a stamp"},
    {kLinkLeaves & ~in(kSending),        On::kStillHeld,  kOutbound,  Do::kIgnore,       Raise::kNone, "no look is open"},
    {in(kGenerating) | in(kStamping),   On::kAnswered,   kOutbound,  Do::kRelease,      Raise::kNone, "no stamp is missing"},
    {kLinkLeaves & ~in(kGenerating) & ~in(kStamping), On::kAnswered, kOutbound, Do::kIgnore, Raise::kNone, "no stamp was looked for"},

    {in(kFinding) | in(kSending),       On::kFailed,     kOutbound,  Do::kRelease,      Raise::kFail, "no interface, no proof, or the link went down"},
    {in(kStamping),                     On::kFailed, kGenerating, Do::kRelease,     Raise::kNone, "the search is lost"},
    {in(kOutbound) | in(kGenerating),   On::kFailed, kOutbound,  Do::kIgnore,       Raise::kNone, "news of an attempt that we gave up"},
    {in(kFinding) | in(kSending),       On::kTimedOut,   kOutbound,  Do::kRelease,      Raise::kFail, "the last bound of an attempt"},
    {in(kStamping),                     On::kTimedOut, kGenerating, Do::kRelease,     Raise::kNone, "the search is lost"},
    {in(kOutbound) | in(kGenerating),   On::kTimedOut, kOutbound,  Do::kIgnore,       Raise::kNone, "a timer of an earlier attempt"},

    {in(kSending),                      On::kRejected,   kRejected,  Do::kDeadLetter,   Raise::kSeen, "the receiver does not take it"},
    {kLinkLeaves & ~in(kSending),       On::kRejected,   kOutbound,  Do::kIgnore,       Raise::kNone, "news of an attempt that we gave up"},

    {kLinkLeaves,                       On::kExhausted,  kFailed,    Do::kDeadLetter,   Raise::kNone, "the recipient wants more work than we do"},
    {kLinkLeaves & ~in(kSending),       On::kExpired,    kExpired,   Do::kDeadLetter,   Raise::kNone, "its deadline has come"},
    {in(kSending),                      On::kExpired,    kSending,   Do::kIgnore,       Raise::kNone, "what is on the link has its time for a proof"},
    {kLinkLeaves,                       On::kCancelled,  kCancelled, Do::kDrop,         Raise::kNone, "stopped on request; a transfer is called off"},
});

// What goes wrong on the way to a node strikes the gate of the node, for all its messages. The
// route of the recipient hears of it only when the recipient's keys are missing.
constexpr auto kPropagatedRows = std::to_array<Transition>({
    // from                             on               to          verb               raise         why
    {in(kGenerating),                   On::kDue,        kStamping,  Do::kProbe,        Raise::kNone, "one search for a stamp"},
    {in(kOutbound),                     On::kDue,        kSending,   Do::kStartAttempt, Raise::kNone, "one look: upload, or say what is missing"},
    {kLinkLeaves & ~in(kOutbound) & ~in(kGenerating), On::kDue, kOutbound, Do::kIgnore, Raise::kNone, "an attempt is open"},

    {in(kGenerating) | in(kStamping),   On::kAnswered,   kOutbound,  Do::kRelease,      Raise::kNone, "no stamp is missing"},
    {kLinkLeaves & ~in(kGenerating) & ~in(kStamping), On::kAnswered, kOutbound, Do::kIgnore, Raise::kNone, "no stamp was looked for"},
    {in(kStamping),                     On::kProgressed, kGenerating, Do::kRelease,     Raise::kNone, "the stamp of the recipient, which comes first"},
    {kLinkLeaves & ~in(kStamping),      On::kProgressed, kOutbound,  Do::kIgnore,       Raise::kNone, "no stamp was looked for"},
    {in(kGenerating) | in(kSending),    On::kNoRoute,    kFinding,   Do::kFindRoute,    Raise::kNone, "path request for the node, which says its cost"},
    {in(kFinding),                      On::kNoRoute,    kGenerating, Do::kRelease,     Raise::kFail, "the request is out: its answer is waited for"},
    {in(kStamping) | in(kOutbound),     On::kNoRoute,    kOutbound,  Do::kIgnore,       Raise::kNone, "no look is open"},
    {in(kSending),                      On::kNoLink,     kFinding,   Do::kFindRoute,    Raise::kNone, "open the link of the node"},
    {in(kFinding),                      On::kNoLink,     kGenerating, Do::kRelease,     Raise::kNone, "the link did not come up"},
    {kLinkLeaves & ~in(kSending) & ~in(kFinding), On::kNoLink, kOutbound, Do::kIgnore,  Raise::kNone, "no look is open"},
    {in(kFinding),                      On::kAcked,      kGenerating, Do::kRelease,     Raise::kNone, "the cost is known, or the link active"},
    {kLinkLeaves & ~in(kFinding),       On::kAcked,      kOutbound,  Do::kIgnore,       Raise::kNone, "nothing is looked for"},

    {in(kSending),                      On::kAccepted,   kSentToNode, Do::kComplete,    Raise::kNone, "the node has proven that it keeps it"},
    {kLinkLeaves & ~in(kSending),       On::kAccepted,   kOutbound,  Do::kIgnore,       Raise::kNone, "news of an attempt that we gave up"},
    {in(kSending),                      On::kStaleRoute, kGenerating, Do::kRelease,     Raise::kNone, "stamp refused: ask the cost, work anew"},
    {kLinkLeaves & ~in(kSending),       On::kStaleRoute, kOutbound,  Do::kIgnore,       Raise::kNone, "no look is open"},
    {in(kSending),                      On::kRejected,   kRejected,  Do::kDeadLetter,   Raise::kNone, "the node does not take it"},
    {kLinkLeaves & ~in(kSending),       On::kRejected,   kOutbound,  Do::kIgnore,       Raise::kNone, "news of an attempt that we gave up"},
    {kLinkLeaves,                       On::kConfirmed,  kDelivered, Do::kComplete,     Raise::kOk,   "the proof of the recipient, by another method"},

    {in(kSending),                      On::kFailed,     kOutbound,  Do::kRelease,      Raise::kNone, "no proof, or the link went down"},
    {in(kFinding) | in(kStamping),      On::kFailed,     kGenerating, Do::kRelease,     Raise::kNone, "no way, or the search is lost"},
    {in(kOutbound) | in(kGenerating),   On::kFailed,     kOutbound,  Do::kIgnore,       Raise::kNone, "news of an attempt that we gave up"},
    {in(kSending),                      On::kTimedOut,   kOutbound,  Do::kRelease,      Raise::kNone, "the last bound of an attempt"},
    {in(kFinding) | in(kStamping),      On::kTimedOut,   kGenerating, Do::kRelease,     Raise::kNone, "the last bound of an attempt"},
    {in(kOutbound) | in(kGenerating),   On::kTimedOut,   kOutbound,  Do::kIgnore,       Raise::kNone, "a timer of an earlier attempt"},

    {kLinkLeaves,                       On::kExhausted,  kFailed,    Do::kDeadLetter,   Raise::kNone, "the node wants more work than we do"},
    {kLinkLeaves & ~in(kSending),       On::kExpired,    kExpired,   Do::kDeadLetter,   Raise::kNone, "its deadline has come"},
    {in(kSending),                      On::kExpired,    kSending,   Do::kIgnore,       Raise::kNone, "the upload has its time for a proof"},
    {kLinkLeaves,                       On::kCancelled,  kCancelled, Do::kDrop,         Raise::kNone, "stopped on request; a transfer is called off"},
});

// Not a message: what a node keeps for an identity is fetched. Its session is protocols/lxmf/sync.h.
constexpr auto kSyncRows = std::to_array<Transition>({
    // from                             on               to          verb               raise         why
    {in(kOutbound),                     On::kDue,        kSending,   Do::kStartAttempt, Raise::kNone, "one session with the node"},
    {in(kSending),                      On::kDue,        kOutbound,  Do::kIgnore,       Raise::kNone, "an attempt is open"},
    {in(kSending),                      On::kAccepted,   kDelivered, Do::kComplete,     Raise::kOk,   "the node has nothing new"},
    {in(kOutbound),                     On::kAccepted,   kOutbound,  Do::kIgnore,       Raise::kNone, "news of an attempt that we gave up"},
    {in(kSending),                      On::kNoRoute,    kOutbound,  Do::kRelease,      Raise::kFail, "the request is out: the route waits for the answer"},
    {in(kOutbound),                     On::kNoRoute,    kOutbound,  Do::kIgnore,       Raise::kNone, "no session is open"},
    {in(kSending),                      On::kNoLink,     kOutbound,  Do::kRelease,      Raise::kFail, "the link did not come up"},
    {in(kOutbound),                     On::kNoLink,     kOutbound,  Do::kIgnore,       Raise::kNone, "no session is open"},
    {in(kSending),                      On::kFailed,     kOutbound,  Do::kRelease,      Raise::kFail, "it went down on the way; what was stored is known the next time"},
    {in(kOutbound),                     On::kFailed,     kOutbound,  Do::kIgnore,       Raise::kNone, "news of an attempt that we gave up"},
    {in(kSending),                      On::kTimedOut,   kOutbound,  Do::kRelease,      Raise::kFail, "the last bound of an attempt"},
    {in(kOutbound),                     On::kTimedOut,   kOutbound,  Do::kIgnore,       Raise::kNone, "a timer of an earlier attempt"},
    {in(kSending),                      On::kRejected,   kRejected,  Do::kDeadLetter,   Raise::kSeen, "the node gives us nothing"},
    {in(kOutbound),                     On::kRejected,   kOutbound,  Do::kIgnore,       Raise::kNone, "news of an attempt that we gave up"},
    {in(kOutbound) | in(kSending),      On::kExhausted,  kFailed,    Do::kDeadLetter,   Raise::kNone, "never raised"},
    {in(kOutbound) | in(kSending),      On::kExpired,    kExpired,   Do::kDeadLetter,   Raise::kNone, "its deadline has come"},
    {in(kOutbound) | in(kSending),      On::kCancelled,  kCancelled, Do::kDrop,         Raise::kNone, "stopped on request"},
});

enum : std::uint8_t { kOpportunistic, kDirect, kPropagated, kSync };
constexpr auto kMethods = std::to_array<Method>({
    {.name = "OPPORTUNISTIC", .initial = kOutbound, .durable_intent = false, .rows = kOpportunisticRows},
    {.name = "DIRECT",        .initial = kOutbound, .durable_intent = false, .rows = kDirectRows},
    {.name = "PROPAGATED",    .initial = kGenerating, .durable_intent = false, .rows = kPropagatedRows},
    {.name = "SYNC",          .initial = kOutbound, .durable_intent = false, .rows = kSyncRows},
});
// clang-format on
static_assert(sound(kStates, kMethods[kOpportunistic]));
static_assert(sound(kStates, kMethods[kDirect]));
static_assert(sound(kStates, kMethods[kPropagated]));
static_assert(sound(kStates, kMethods[kSync]));

}  // namespace postrider::lxmf
