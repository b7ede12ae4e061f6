#include "postrider/core/rules/throttle.h"

#include <gtest/gtest.h>

namespace postrider {
namespace {

Throttle begun(std::uint32_t most) {
  Throttle throttle;
  throttle.begin(most);
  return throttle;
}

// req: engine.fair.3
TEST(Throttle, BeginsWithAllPlaces) {
  Throttle throttle = begun(8);
  EXPECT_EQ(throttle.places(), 8U);
  throttle.succeeded(8);
  EXPECT_EQ(throttle.places(), 8U);
}

// req: engine.fair.3
TEST(Throttle, AFailureHalvesThePlacesOncePerRound) {
  Throttle throttle = begun(8);
  throttle.failed();
  EXPECT_EQ(throttle.places(), 4U);
  for (int i = 0; i < 7; ++i) throttle.failed();  // they were open at the same time
  EXPECT_EQ(throttle.places(), 4U);
  throttle.failed();
  EXPECT_EQ(throttle.places(), 2U);
}

// req: engine.fair.3
TEST(Throttle, IsNeverBelowOne) {
  Throttle throttle = begun(8);
  for (int i = 0; i < 100; ++i) throttle.failed();
  EXPECT_EQ(throttle.places(), 1U);
}

// req: engine.fair.3
TEST(Throttle, GrowsByOnePlacePerRoundOfSuccesses) {
  Throttle throttle = begun(8);
  throttle.failed();
  int successes = 0;
  for (; throttle.places() == 4; ++successes) throttle.succeeded(8);
  EXPECT_GE(successes, 4);
  EXPECT_LE(successes, 6);
  EXPECT_EQ(throttle.places(), 5U);
}

// req: engine.fair.3
TEST(Throttle, GrowsByNoMoreThanOnePlacePerRoundHoweverManyItHas) {
  for (const std::uint32_t most : {30U, 100U, 1000U}) {
    Throttle throttle = begun(most);
    throttle.failed();
    const std::uint32_t half = most / 2;
    std::uint32_t successes = 0;
    for (; throttle.places() == half; ++successes) throttle.succeeded(most);
    EXPECT_EQ(throttle.places(), half + 1);
    // In steps of a 256th of a place, and at least one of those.
    const std::uint32_t least = std::min(half, 256U);
    EXPECT_GE(successes, least);
    EXPECT_LE(successes, least + least / 4 + 1);
  }
}

// req: engine.health.14
TEST(Throttle, AfterAClosingItDoublesUntilHalfOfWhatItHad) {
  Throttle throttle = begun(16);
  throttle.begin_slowly();
  EXPECT_EQ(throttle.places(), 1U);
  for (std::uint32_t places = 2; places <= 8; ++places) {
    throttle.succeeded(16);
    EXPECT_EQ(throttle.places(), places);  // one more by each, so a round of them doubles it
  }
  throttle.succeeded(16);
  EXPECT_EQ(throttle.places(), 8U);  // from here on slowly
}

TEST(Throttle, StaysWithinABoundThatWasLowered) {
  Throttle throttle = begun(16);
  throttle.succeeded(4);
  EXPECT_EQ(throttle.places(), 4U);
}

// req: engine.fair.3
TEST(Throttle, CountsEachOutcomeOfTheRoundInWhichItFailed) {
  Throttle throttle = begun(8);
  throttle.failed();  // four places; three others are taken to have been open
  throttle.succeeded(8);
  throttle.succeeded(8);
  for (int i = 0; i < 5; ++i) throttle.failed();
  EXPECT_EQ(throttle.places(), 4U) << "those were open then";
  throttle.failed();
  EXPECT_EQ(throttle.places(), 2U);
}

TEST(Throttle, AfterAClosingEveryFailureCounts) {
  Throttle throttle = begun(16);
  throttle.failed();
  throttle.begin_slowly();
  throttle.failed();  // so it grows slowly from the first place on
  throttle.succeeded(16);
  EXPECT_EQ(throttle.places(), 2U);
  throttle.succeeded(16);
  EXPECT_EQ(throttle.places(), 2U);
}

}  // namespace
}  // namespace postrider
