#include "postrider/base/rng.h"

#include <array>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

namespace postrider {
namespace {

// The values of splitmix64 elsewhere; seeds in our files mean the same for ever.
TEST(Rng, IsSplitmix64) {
  Rng zero(0);
  EXPECT_EQ(zero.next(), 0xE220A8397B1DCDAFU);
  EXPECT_EQ(zero.next(), 0x6E789E6AA1B965F4U);
  EXPECT_EQ(zero.next(), 0x06C45D188009454FU);
  Rng other(1234567);
  EXPECT_EQ(other.next(), 0x599ED017FB08FC85U);
  EXPECT_EQ(other.next(), 0x2C73F08458540FA5U);
  EXPECT_EQ(other.next(), 0x883EBCE5A3F27C77U);
}

TEST(Rng, BelowHasTheKnownValues) {
  Rng rng(1);
  for (const std::uint64_t want : {56U, 74U, 97U, 44U, 44U, 76U, 87U, 52U})
    EXPECT_EQ(rng.below(100), want);
}

TEST(Rng, AnEmptyRangeGivesZero) { EXPECT_EQ(Rng(1).below(0), 0U); }

RC_GTEST_PROP(Rng, StaysWithinItsBounds,
              (std::uint64_t seed, std::uint64_t bound, std::int32_t a, std::int32_t b)) {
  Rng rng(seed);
  const std::int64_t low = std::min(a, b);
  const std::int64_t high = std::max(a, b);
  for (int i = 0; i < 20; ++i) {
    RC_ASSERT(bound == 0U || rng.below(bound) < bound);
    const std::int64_t value = rng.between(low, high);
    RC_ASSERT(value >= low);
    RC_ASSERT(value <= high);
  }
}

TEST(Rng, BetweenReachesBothEnds) {
  Rng rng(7);
  std::array<int, 3> seen{};
  for (int i = 0; i < 300; ++i) ++seen[static_cast<std::size_t>(rng.between(-1, 1) + 1)];
  for (const int count : seen) EXPECT_GT(count, 60);
}

TEST(Rng, BetweenTakesTheWholeRangeOfNumbers) {
  Rng rng(7);
  bool negative = false;
  bool positive = false;
  for (int i = 0; i < 64; ++i) {
    const std::int64_t value = rng.between(INT64_MIN / 2, INT64_MAX / 2);
    negative = negative || value < 0;
    positive = positive || value > 0;
  }
  EXPECT_TRUE(negative);
  EXPECT_TRUE(positive);
}

TEST(Rng, ChanceIsAboutItsFraction) {
  Rng rng(3);
  int hits = 0;
  for (int i = 0; i < 10'000; ++i) hits += rng.chance(1, 4) ? 1 : 0;
  EXPECT_NEAR(hits, 2500, 200);
  EXPECT_FALSE(rng.chance(0, 4));
  EXPECT_TRUE(rng.chance(4, 4));
}

TEST(Rng, ForksAreStreamsOfTheirOwn) {
  Rng parent(5);
  Rng twin(5);
  Rng first = parent.fork(1);
  Rng same = twin.fork(1);
  EXPECT_EQ(first.next(), same.next());
  EXPECT_EQ(parent.next(), twin.next()) << "what a fork draws does not shift its parent";
  Rng other = Rng(5).fork(2);
  EXPECT_NE(Rng(5).fork(1).next(), other.next());
}

static_assert(Rng(0).next() == 0xE220A8397B1DCDAFU, "the same at compile time");

}  // namespace
}  // namespace postrider
