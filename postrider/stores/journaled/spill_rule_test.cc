#include "postrider/stores/journaled/spill_rule.h"

#include <gtest/gtest.h>

namespace postrider::journaled {
namespace {

using std::chrono::seconds;

const SteadyTime kStart = SteadyTime() + std::chrono::hours(1);

TEST(SpillRule, WaitsForAnythingToBeWritten) {  // req: engine.journal.3
  EXPECT_FALSE(spill_at({.sealed = 9, .oldest = {}, .newest = kStart}, {}, kStart));
}

TEST(SpillRule, IsDueAtFourSealedSegments) {  // req: engine.journal.3
  const JournalState four{.sealed = 4, .oldest = kStart, .newest = kStart};
  EXPECT_EQ(spill_at(four, {}, kStart), kStart);
  const JournalState three{.sealed = 3, .oldest = kStart, .newest = kStart};
  EXPECT_GT(spill_at(three, {}, kStart), kStart);
}

TEST(SpillRule, IsDueWhenNothingCameForFiveSeconds) {  // req: engine.journal.3
  const JournalState idle{.sealed = 0, .oldest = kStart, .newest = kStart + seconds(2)};
  EXPECT_EQ(spill_at(idle, {}, kStart + seconds(3)), kStart + seconds(7));
  EXPECT_EQ(spill_at(idle, {}, kStart + seconds(8)), kStart + seconds(8));
}

TEST(SpillRule, IsDueAfterThirtySecondsHoweverBusy) {  // req: engine.journal.3
  const JournalState busy{.sealed = 0, .oldest = kStart, .newest = kStart + seconds(29)};
  EXPECT_EQ(spill_at(busy, {}, kStart + seconds(29)), kStart + seconds(30));
}

TEST(SpillRule, LeavesFourSegmentsForEnds) {  // req: engine.journal.4
  EXPECT_TRUE(takes_new(12, 16));
  EXPECT_FALSE(takes_new(13, 16));
  EXPECT_TRUE(takes_new(4, 4));
}

}  // namespace
}  // namespace postrider::journaled
