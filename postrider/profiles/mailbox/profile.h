// The mailbox profile: a destination whose application comes for its messages. Nothing is sent; a
// message ends as delivered when its reader has confirmed it.
#pragma once

#include <array>

#include "postrider/model/profile.h"

namespace postrider {
namespace mailbox {

enum : StateIndex { kWaiting, kConfirmed, kDead, kExpired, kCancelled };

// clang-format off
inline constexpr auto kStates = std::to_array<StateRow>({
    {.name = "Waiting",   .phase = Phase::kQueued},
    {.name = "Confirmed", .phase = Phase::kDelivered},
    {.name = "Dead",      .phase = Phase::kDead},
    {.name = "Expired",   .phase = Phase::kExpired},
    {.name = "Cancelled", .phase = Phase::kCancelled},
});

inline constexpr auto kRows = std::to_array<Transition>({
    // from         on              to          verb             raise         why
    {in(kWaiting),  On::kDue,       kWaiting,   Do::kAwait,      Raise::kNone, "nothing is sent: its reader comes for it"},
    {in(kWaiting),  On::kConfirmed, kConfirmed, Do::kComplete,   Raise::kNone, "its reader has it"},
    {in(kWaiting),  On::kExhausted, kDead,      Do::kDeadLetter, Raise::kNone, "never raised: nothing is tried"},
    {in(kWaiting),  On::kExpired,   kExpired,   Do::kDeadLetter, Raise::kNone, "it was not confirmed in time"},
    {in(kWaiting),  On::kCancelled, kCancelled, Do::kDrop,       Raise::kNone, "stopped on request"},
});
// clang-format on

inline constexpr auto kMethods = std::to_array<Method>(
    {{.name = "keep", .initial = kWaiting, .durable_intent = false, .rows = kRows}});
static_assert(sound(kStates, kMethods[0]));

}  // namespace mailbox

extern const ProfileSpec kMailbox;

}  // namespace postrider
