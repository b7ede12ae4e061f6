#include "postrider/core/window/entries.h"

#include <vector>

#include <gtest/gtest.h>

namespace postrider {
namespace {

MessageId id_of(std::uint16_t priority, std::uint64_t sequence) {
  return MessageId::make(DestinationId(5), 0, priority, Sequence(sequence));
}

TEST(Slab, NumbersStayAndFreedOnesAreUsedAgain) {
  Slab<int> slab;
  std::vector<int*> places;
  for (int i = 0; i < 200; ++i) {
    const Slot slot = slab.add(i);
    EXPECT_EQ(slot, static_cast<Slot>(i));
    places.push_back(&slab[slot]);
  }
  EXPECT_EQ(slab.size(), 200U);
  EXPECT_EQ(slab.capacity(), 200U);
  for (Slot slot = 0; slot < 200; ++slot) {
    EXPECT_EQ(slab[slot], static_cast<int>(slot));
    EXPECT_EQ(&slab[slot], places[slot]) << "nobody moves when others come";
  }
  slab.remove(63);
  EXPECT_EQ(slab[63], 0) << "what was there is gone";
  EXPECT_EQ(slab.size(), 199U);
  EXPECT_EQ(slab.add(7), 63U);
  EXPECT_EQ(slab.add(8), 200U);
  EXPECT_EQ(slab.size(), 201U);
  EXPECT_EQ(slab.capacity(), 201U);
}

TEST(Pace, CountsThisMinuteAndTheRestOfTheLast) {
  Activity::MinutePace pace;
  const Timestamp minute(60'000 * 100);
  for (int i = 0; i < 120; ++i) pace.add(minute);
  EXPECT_EQ(pace.recent(minute), 120U);
  EXPECT_EQ(pace.recent(minute + 59'999ms), 120U);
  EXPECT_EQ(pace.recent(minute + 60s), 120U) << "a whole minute of the last one is left";
  EXPECT_EQ(pace.recent(minute + 90s), 60U);
  EXPECT_EQ(pace.recent(minute + 110s), 20U);
  EXPECT_EQ(pace.recent(minute + 119'800ms), 0U);
  EXPECT_EQ(pace.recent(minute + 119'700ms), 1U) << "rounded";
  EXPECT_EQ(pace.recent(minute + 120s), 0U);
  pace.add(minute + 75s);
  EXPECT_EQ(pace.recent(minute + 75s), 1U + 90U);
  EXPECT_EQ(pace.recent(minute + 120s), 1U);
  pace.add(minute + 10min);
  EXPECT_EQ(pace.recent(minute + 10min), 1U) << "nothing is left after a pause";
  EXPECT_EQ(Activity::MinutePace().recent(minute), 0U);
  Activity::MinutePace early;
  early.add(Timestamp(10));
  EXPECT_EQ(early.recent(Timestamp(20)), 1U);
}

TEST(Pace, CountsByThePeriodItIsMadeFor) {
  Activity::TenMinutePace pace;
  const Timestamp begin(600'000 * 100);
  for (int i = 0; i < 6; ++i) pace.add(begin + i * 1min);
  EXPECT_EQ(pace.recent(begin + 10min), 6U);
  EXPECT_EQ(pace.recent(begin + 15min), 3U);
  EXPECT_EQ(pace.recent(begin + 20min), 0U);
}

// req: api.destinations.busy.3
TEST(Degraded, IsAThirdOfTheAttemptsAndMoreThanOne) {
  struct Case {
    std::uint64_t delivered;
    std::uint64_t failed;
    bool want;
  };
  for (const Case& it :
       {Case{0, 0, false}, Case{0, 1, false}, Case{2, 1, false}, Case{0, 2, true}, Case{4, 2, true},
        Case{5, 2, false}, Case{200, 100, true}, Case{201, 100, false}})
    EXPECT_EQ(Activity::is_degraded(it.delivered, it.failed), it.want)
        << it.delivered << " delivered, " << it.failed << " failed";
}

TEST(Lane, GainsMoveTheCursorBackAndNeverOn) {
  Lane lane;
  lane.gains(id_of(0, 50));
  EXPECT_TRUE(lane.cold_ahead);
  EXPECT_EQ(lane.cursor, id_of(0, 50));
  lane.gains(id_of(0, 60));
  EXPECT_EQ(lane.cursor, id_of(0, 50));
  lane.gains(id_of(0, 40));
  EXPECT_EQ(lane.cursor, id_of(0, 40));
  lane.cold_ahead = false;
  lane.gains(id_of(0, 70));
  EXPECT_EQ(lane.cursor, id_of(0, 70)) << "there was nothing on disk before";
}

TEST(Lane, WhatWaitsAtGatesTakesNoPlaceUpToItsLimit) {
  Lane lane;
  lane.in_memory = 10;
  lane.at_gates = 3;
  EXPECT_EQ(lane.in_window(4), 7U);
  EXPECT_EQ(lane.in_window(3), 7U);
  EXPECT_EQ(lane.in_window(2), 8U);
  EXPECT_EQ(lane.in_window(0), 10U);
}

TEST(Lane, IsStuckWhenAllWaitForOneWhoMayBeOnDisk) {
  Lane lane;
  lane.cursor = id_of(0, 50);
  EXPECT_FALSE(lane.stuck()) << "nobody waits";
  lane.in_memory = 2;
  lane.at_gates = 1;
  lane.at_lasting = 1;
  EXPECT_FALSE(lane.stuck()) << "one could go";
  lane.at_gates = 2;
  EXPECT_TRUE(lane.stuck());
  lane.at_lasting = 0;
  EXPECT_FALSE(lane.stuck()) << "who holds their gate will give it back";
  lane.last_at_order = id_of(0, 60);
  EXPECT_FALSE(lane.stuck());
  lane.at_order = 1;
  EXPECT_TRUE(lane.stuck()) << "the holder is before them, and so is a part of the disk";
  lane.last_at_order = id_of(0, 50);
  EXPECT_FALSE(lane.stuck());
  lane.last_at_order = id_of(0, 40);
  EXPECT_FALSE(lane.stuck());
  lane.at_lasting = 1;
  EXPECT_TRUE(lane.stuck());
}

TEST(Lane, OwesWhatGoesBefore) {
  Lane lane;
  lane.cursor = id_of(5, 50);
  EXPECT_FALSE(lane.owes_before(id_of(5, 60), true)) << "there is nothing on disk";
  lane.cold_ahead = true;
  EXPECT_TRUE(lane.owes_before(id_of(5, 60), true));
  EXPECT_FALSE(lane.owes_before(id_of(5, 50), true));
  EXPECT_FALSE(lane.owes_before(id_of(5, 40), true));
  EXPECT_FALSE(lane.owes_before(id_of(5, 60), false)) << "without order only priority counts";
  EXPECT_TRUE(lane.owes_before(id_of(4, 40), false));
  EXPECT_FALSE(lane.owes_before(id_of(6, 60), false));
}

TEST(Lane, MayHaveLowerOnesOnDiskOrInItsRuns) {
  Lane lane;
  EXPECT_FALSE(lane.may_have_lower());
  lane.the_lower();
  EXPECT_FALSE(lane.may_have_lower());
  lane.the_lower().runs[7] = 1;
  EXPECT_TRUE(lane.may_have_lower());
  lane.lower.reset();
  lane.cold_ahead = true;
  EXPECT_TRUE(lane.may_have_lower());
}

// Whoever looked on disk for the next turn looks again when something better has come.
TEST(Lower, LooksAgainWhenSomethingComesBeforeItsFavourite) {
  const auto look_after = [](MessageId favourite, std::uint64_t top, MessageId came) {
    Lower lower;
    lower.look = Lower::Look::kDone;
    lower.favourite = favourite;
    lower.top = top;
    lower.hear_of(came);
    EXPECT_TRUE(lower.missed);
    return lower.look;
  };
  const MessageId favourite = id_of(3, 50);
  EXPECT_EQ(look_after(favourite, 0, id_of(3, 49)), Lower::Look::kNone);
  EXPECT_EQ(look_after(favourite, 0, id_of(3, 50)), Lower::Look::kDone);
  EXPECT_EQ(look_after(favourite, 0, id_of(3, 51)), Lower::Look::kDone);
  EXPECT_EQ(look_after(favourite, 0, id_of(4, 49)), Lower::Look::kDone) << "another priority";
  EXPECT_EQ(look_after(favourite, 0, id_of(2, 49)), Lower::Look::kDone);
  const std::uint64_t top = id_of(3, 0).high;
  EXPECT_EQ(look_after({}, top, id_of(2, 1)), Lower::Look::kNone) << "one below the top";
  EXPECT_EQ(look_after({}, top, id_of(3, 1)), Lower::Look::kDone);
  EXPECT_EQ(look_after({}, top, id_of(4, 1)), Lower::Look::kDone);
}

TEST(Lower, ALookUnderWayIsNotInterrupted) {
  Lower lower;
  lower.look = Lower::Look::kAsked;
  lower.favourite = id_of(3, 50);
  lower.hear_of(id_of(3, 40));
  EXPECT_EQ(lower.look, Lower::Look::kAsked);
  EXPECT_TRUE(lower.missed);
}

TEST(Lower, BeginsAnewWhenSomethingComesBeforeWhereItWouldGoOn) {
  Lower lower;
  lower.resume = id_of(3, 50);
  lower.hear_of(id_of(3, 51));
  EXPECT_EQ(lower.resume, id_of(3, 50));
  lower.hear_of(id_of(3, 50));
  EXPECT_EQ(lower.resume, id_of(3, 50));
  lower.hear_of(id_of(3, 49));
  EXPECT_FALSE(lower.resume.is_set());
}

TEST(Lane, TellsItsLowerOnesOfWhatItGains) {
  Lane lane;
  lane.the_lower().resume = id_of(3, 50);
  lane.gains(id_of(3, 40));
  EXPECT_FALSE(lane.the_lower().resume.is_set());
  EXPECT_TRUE(lane.the_lower().missed);
}

TEST(SharedGate, IsShutUntilItsTimeAndWhileItIsTried) {
  SharedGate gate;
  const Timestamp now(1000);
  EXPECT_FALSE(gate.shut(now));
  gate.trial = id_of(0, 1);
  EXPECT_FALSE(gate.shut(now)) << "it was never closed";
  gate.trial = {};
  gate.closed_until = Timestamp(1001);
  EXPECT_TRUE(gate.shut(now));
  gate.closed_until = now;
  EXPECT_FALSE(gate.shut(now));
  gate.trial = id_of(0, 1);
  EXPECT_TRUE(gate.shut(now));
}

TEST(Entry, HoldsGatesToItsEndFromItsFirstStart) {
  Entry entry;
  EXPECT_FALSE(entry.lasts());
  entry.state.first_attempt = Timestamp(5);
  EXPECT_FALSE(entry.lasts());
  entry.message.lasting = 1;
  EXPECT_TRUE(entry.lasts());
  entry.state.first_attempt = {};
  EXPECT_FALSE(entry.lasts());
}

TEST(Entry, HasDetailsWhenSomebodyAsksForThem) {
  Entry entry;
  EXPECT_EQ(entry.notes(), "");
  entry.more().notes = "x";
  EXPECT_EQ(&entry.more(), entry.details.get());
  EXPECT_EQ(entry.notes(), "x");
  EXPECT_EQ(entry.reason_text(), "");
}

TEST(Resident, MakesEachLaneOnce) {
  Resident resident;
  EXPECT_EQ(resident.lane(3), nullptr);
  resident.lane_or_new(3).ready = 7;
  resident.lane_or_new(4);
  EXPECT_EQ(resident.lanes.size(), 2U);
  EXPECT_EQ(resident.lane_or_new(3).ready, 7U);
  EXPECT_EQ(resident.the_lane(4).number, 4U);
  EXPECT_EQ(resident.lanes.size(), 2U);
}

// Everything begins with nothing: no place taken, nobody in line, no timer, no record.
TEST(Queue, BeginsEmpty) {
  const Resident resident;
  EXPECT_EQ(resident.in_memory + resident.open_attempts + resident.cold_messages, 0U);
  EXPECT_EQ(resident.next_lane + resident.chores + resident.look_timer + resident.strikes_stored,
            0U);
  EXPECT_FALSE(resident.recounted || resident.in_ring);
  EXPECT_FALSE(resident.held_back || resident.crowded || resident.at_group || resident.in_lru);
  EXPECT_FALSE(resident.owed_stored || resident.stranded || resident.reviving);
  EXPECT_FALSE(resident.revive_again);
  EXPECT_EQ(resident.activity.delivered + resident.activity.failed, 0U);
  const Lane lane;
  EXPECT_EQ(lane.in_memory + lane.ready + lane.at_gates + lane.at_lasting + lane.at_order, 0U);
  EXPECT_EQ(lane.number + lane.spills + lane.passed, 0U);
  EXPECT_FALSE(lane.cold_ahead || lane.asleep || lane.refilling);
  const Lower lower;
  EXPECT_EQ(lower.last_turn + lower.top + lower.pages, 0U);
  EXPECT_FALSE(lower.wrapped || lower.missed || lower.full);
  const Entry entry;
  EXPECT_EQ(entry.timer + entry.expiry_timer + entry.group + entry.recorded, 0U);
  EXPECT_FALSE(entry.hot() || entry.stored || entry.ready() || entry.holds_gates || entry.marked);
  EXPECT_FALSE(entry.visitor() || entry.dirty || entry.at_gate() || entry.leaves_gap);
  EXPECT_EQ(entry.waits, Waits::kNowhere);
  EXPECT_EQ(entry.space, Space::kCold);
  EXPECT_EQ(entry.attempt, kNoSlot);
  const SharedGate gate;
  EXPECT_EQ(gate.timer + gate.strikes + gate.closings, 0U);
  EXPECT_EQ(Details().patience, Duration(0));
  const Sleeper sleeper;
  EXPECT_EQ(sleeper.profile + sleeper.state, 0U);
}

}  // namespace
}  // namespace postrider
