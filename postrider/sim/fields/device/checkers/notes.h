// What the checkers of device worlds have in common: how a command stands, by the words of the
// tables. Pure functions.
#pragma once

#include <string_view>

#include "postrider/profiles/device/table.h"
#include "postrider/sim/fields/device/notes.h"

namespace postrider::sim {

// A wall clock that is wrong by more than this makes the expiry of a command prove nothing.
inline constexpr Duration kClockTrust{45'000};

inline bool is_command(const MessageNote* note) {
  return note != nullptr && command_of(*note) != nullptr && note->destination != nullptr;
}
// Its class demands that an attempt is closed before the next one starts.
inline bool is_careful(const MessageNote& note) {
  return note.destination->profile->methods[note.method].name.find("-free") ==
         std::string_view::npos;
}
// An attempt whose fate is open.
inline bool is_unresolved(StateIndex state) {
  return state != device::kQueued && state != device::kToRetry && state < device::kDone;
}

}  // namespace postrider::sim
