#include "postrider/core/rules/job_pace.h"

#include <gtest/gtest.h>

namespace postrider {
namespace {

constexpr Timestamp kPaceStart{1'000'000};

// req: engine.job.1
TEST(JobPace, EarnsItsRateAndNoMore) {
  JobPace pace(10, kPaceStart);
  EXPECT_EQ(pace.due(kPaceStart), 0U);
  EXPECT_EQ(pace.due(kPaceStart + 99ms), 0U);
  EXPECT_EQ(pace.due(kPaceStart + 100ms), 1U);
  EXPECT_EQ(pace.due(kPaceStart + 1000ms), 10U);
  pace.took(10);
  EXPECT_EQ(pace.due(kPaceStart + 1000ms), 0U);
  EXPECT_EQ(pace.when_due(1), kPaceStart + 1100ms);
  EXPECT_EQ(pace.when_due(5), kPaceStart + 1500ms);
}

TEST(JobPace, KeepsWhatItCouldNotUseForASecond) {
  JobPace pace(10, kPaceStart);
  EXPECT_EQ(pace.due(kPaceStart + 1h), 10U);
  pace.took(10);
  EXPECT_EQ(pace.due(kPaceStart + 1h), 0U);
  EXPECT_EQ(pace.due(kPaceStart + 1h + 100ms), 1U);
}

TEST(JobPace, NeitherDriftsNorOverflows) {
  JobPace pace(7, kPaceStart);
  std::uint64_t taken = 0;
  Timestamp now = kPaceStart;
  for (int i = 0; i < 100'000; ++i) {
    now = pace.when_due(1);
    const std::uint64_t due = pace.due(now);
    ASSERT_GE(due, 1U);
    pace.took(due);
    taken += due;
  }
  const auto seconds = static_cast<std::uint64_t>((now - kPaceStart).count()) / 1000;
  EXPECT_GE(taken, seconds * 7);
  EXPECT_LE(taken, (seconds + 1) * 7);
}

TEST(JobPace, TakesARateOfNothingForOne) {
  JobPace pace(0, kPaceStart);
  EXPECT_EQ(pace.when_due(1), kPaceStart + 1000ms);
}

TEST(JobPace, SavesAtMostASecondsWorth) {
  JobPace pace(10, kPaceStart);
  EXPECT_EQ(pace.due(kPaceStart + 1000ms), 10U);
  EXPECT_EQ(pace.due(kPaceStart + 1099ms), 10U);
  EXPECT_EQ(pace.due(kPaceStart + 1100ms), 10U) << "it saves no more than that";
  EXPECT_EQ(pace.due(kPaceStart + 1199ms), 10U);
  pace.took(4);
  EXPECT_EQ(pace.due(kPaceStart + 1199ms), 6U);
  EXPECT_EQ(pace.due(kPaceStart - 5ms), 0U) << "before it began nothing was earned";
}

TEST(JobPace, WhoTookMoreThanItHadWaitsForIt) {
  JobPace pace(10, kPaceStart);
  pace.took(15);
  EXPECT_EQ(pace.due(kPaceStart + 1500ms), 0U);
  EXPECT_EQ(pace.due(kPaceStart + 1600ms), 1U);
  EXPECT_EQ(pace.when_due(1), kPaceStart + 1600ms);
  JobPace third(3, kPaceStart);
  EXPECT_EQ(third.when_due(1), kPaceStart + 334ms) << "rounded up, or nothing would be due then";
}

TEST(JobPace, WhatItSavedIsCountedFromItsBeginning) {
  JobPace pace(7, kPaceStart);
  EXPECT_EQ(pace.due(kPaceStart + 1100ms), 7U);
  pace.took(7);
  EXPECT_EQ(pace.when_due(1), kPaceStart + 1143ms) << "a second and a seventh";
}

}  // namespace
}  // namespace postrider
