#include "postrider/core/window/check.h"

#include <gtest/gtest.h>

namespace postrider::core {
namespace {

StateRow in(Phase phase) {
  StateRow row{};
  row.name = "state";
  row.phase = phase;
  return row;
}

Entry waiting(Waits waits) {
  Entry entry;
  entry.waits = waits;
  return entry;
}

TEST(EntryCheck, AQueuedEntryWaitsForItsTurnAtOnePlace) {
  for (const Waits place :
       {Waits::kInLane, Waits::kAtGate, Waits::kAtLastingGate, Waits::kBehindOrder}) {
    EXPECT_EQ(check(waiting(place), in(Phase::kQueued)), "");
    EXPECT_NE(check(waiting(place), in(Phase::kBackoff)), "");
    EXPECT_NE(check(waiting(place), in(Phase::kAwaiting)), "");
  }
  EXPECT_NE(check(waiting(Waits::kNowhere), in(Phase::kQueued)), "");
  EXPECT_EQ(check(waiting(Waits::kNowhere), in(Phase::kBackoff)), "");
  EXPECT_NE(check(waiting(Waits::kVisiting), in(Phase::kQueued)), "");
}

TEST(EntryCheck, AnEntryInFlightHasAnAttemptOrWaitsForItsProbe) {
  Entry entry = waiting(Waits::kNowhere);
  EXPECT_NE(check(entry, in(Phase::kInFlight)), "");
  entry.attempt = 7;
  EXPECT_EQ(check(entry, in(Phase::kInFlight)), "");
  EXPECT_NE(check(entry, in(Phase::kAwaiting)), "");
  entry.waits = Waits::kForProbe;
  EXPECT_NE(check(entry, in(Phase::kInFlight)), "");
  entry.attempt = kNoSlot;
  EXPECT_EQ(check(entry, in(Phase::kInFlight)), "");
  EXPECT_NE(check(entry, in(Phase::kQueued)), "");
}

TEST(EntryCheck, OnlyWhatIsUnderWayHoldsGates) {
  Entry entry = waiting(Waits::kInLane);
  entry.holds_gates = true;
  EXPECT_NE(check(entry, in(Phase::kQueued)), "");
  entry.waits = Waits::kNowhere;
  EXPECT_EQ(check(entry, in(Phase::kAwaiting)), "");
}

TEST(EntryCheck, WhatIsHotHasNoRecordsOfTheColdSpace) {
  Entry entry = waiting(Waits::kInLane);
  entry.space = Space::kHot;
  EXPECT_EQ(check(entry, in(Phase::kQueued)), "");
  entry.marked = true;
  EXPECT_NE(check(entry, in(Phase::kQueued)), "");
  entry.marked = false;
  entry.due_entry = Timestamp(1);
  EXPECT_NE(check(entry, in(Phase::kQueued)), "");
  entry.space = Space::kCold;
  EXPECT_EQ(check(entry, in(Phase::kQueued)), "");
}

TEST(EntryCheck, NothingThatHasEndedOrIsParkedIsInMemory) {
  EXPECT_NE(check(waiting(Waits::kNowhere), in(Phase::kDelivered)), "");
  EXPECT_NE(check(waiting(Waits::kNowhere), in(Phase::kParked)), "");
}

TEST(LaneCheck, CountsAreThoseOfTheEntries) {
  LaneCounts counted;
  counted.add(waiting(Waits::kInLane));
  counted.add(waiting(Waits::kBehindOrder));
  Lane lane;
  EXPECT_NE(check(lane, counted), "");
  lane.in_memory = 2;
  lane.ready = 1;
  lane.first = 3;
  lane.at_gates = 1;
  lane.at_order = 1;
  lane.cold = {MessageId{1, 1}, MessageId{1, 2}};
  EXPECT_EQ(check(lane, counted), "");
  lane.first = kNoSlot;
  EXPECT_NE(check(lane, counted), "");
}

}  // namespace
}  // namespace postrider::core
