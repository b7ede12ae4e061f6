// Which signals each method of the drill answers. A signal that no row answers is ignored as a
// whole, so a table that has lost one is still sound: only this list knows.
#include <initializer_list>
#include <set>
#include <string_view>

#include <gtest/gtest.h>

#include "postrider/sim/fields/drill/drill.h"

namespace postrider::sim {
namespace {

using Signals = std::set<std::string_view>;

Signals names(std::initializer_list<On> signals) {
  Signals out;
  for (const On signal : signals) out.insert(name_of(signal));
  return out;
}

Signals answered_by(std::string_view method) {
  Signals out;
  for (const Method& one : drill_profile().methods) {
    if (one.name != method) continue;
    for (const Transition& row : one.rows) out.insert(name_of(row.on));
  }
  return out;
}

// req: engine.sim.21
TEST(DrillSignals, ARelayAnswersWhateverARelayMaySay) {
  EXPECT_EQ(answered_by("relay"),
            names({On::kDue,       On::kNoRoute,    On::kNoLink,   On::kStaleRoute, On::kSent,
                   On::kAccepted,  On::kProgressed, On::kAcked,    On::kAnswered,   On::kConfirmed,
                   On::kStillHeld, On::kFailed,     On::kRejected, On::kTimedOut,   On::kExhausted,
                   On::kExpired,   On::kCancelled,  On::kPeerSeen, On::kPoison,     On::kSkipped}));
}

// req: engine.sim.21
TEST(DrillSignals, APostIsOverWithItsAnswerAndMayBeStranded) {
  EXPECT_EQ(answered_by("post"),
            names({On::kDue, On::kNoRoute, On::kNoLink, On::kSent, On::kAnswered, On::kConfirmed,
                   On::kFailed, On::kRejected, On::kTimedOut, On::kExhausted, On::kOutOfReach,
                   On::kExpired, On::kCancelled, On::kPoison, On::kSkipped}));
}

// req: engine.sim.21
TEST(DrillSignals, WhatMustHappenOnceIsNeverPutAside) {
  EXPECT_EQ(answered_by("once"),
            names({On::kDue, On::kNoLink, On::kFailed, On::kAnswered, On::kConfirmed, On::kRejected,
                   On::kTimedOut, On::kExhausted, On::kExpired, On::kCancelled}));
}

// req: engine.sim.21
TEST(DrillSignals, ATaskIsAskedAbout) {
  EXPECT_EQ(answered_by("task"),
            names({On::kDue, On::kAccepted, On::kAcked, On::kAnswered, On::kConfirmed,
                   On::kStillHeld, On::kFailed, On::kNoLink, On::kNoRoute, On::kRejected,
                   On::kTimedOut, On::kExhausted, On::kExpired, On::kCancelled, On::kPeerSeen}));
}

// req: engine.sim.21
TEST(DrillSignals, GatesOfEveryKindAreThere) {
  Signals gates;
  for (const DrillGate& gate : drill_gates()) gates.insert(gate.name);
  EXPECT_EQ(gates, (Signals{"narrow", "wide", "spaced", "tokens"}));
}

}  // namespace
}  // namespace postrider::sim
