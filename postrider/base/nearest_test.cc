#include "postrider/base/nearest.h"

#include <array>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace postrider {
namespace {

constexpr std::array<std::string_view, 4> kNames = {"ladder", "budget", "secret", "url"};

TEST(Nearest, CountsEdits) {
  EXPECT_EQ(edit_distance("ladder", "ladder"), 0U);
  EXPECT_EQ(edit_distance("lader", "ladder"), 1U);
  EXPECT_EQ(edit_distance("laddder", "ladder"), 1U);
  EXPECT_EQ(edit_distance("laxder", "ladder"), 1U);
  EXPECT_EQ(edit_distance("alddre", "ladder"), 2U) << "two swaps of neighbours";
  EXPECT_EQ(edit_distance("", "url"), 3U);
  EXPECT_EQ(edit_distance("url", ""), 3U);
}

TEST(Nearest, FindsWhatWasMeant) {
  EXPECT_EQ(nearest("lader", kNames), "ladder");
  EXPECT_EQ(nearest("bugdet", kNames), "budget");
  EXPECT_EQ(nearest("ulr", kNames), "url");
  EXPECT_EQ(nearest("ur", kNames), "url");
}

TEST(Nearest, TakesABeginningForTheWhole) {
  constexpr std::array<std::string_view, 3> kLong = {"wait_base", "in_flight_max", "in_flight_min"};
  EXPECT_EQ(nearest("in_flight", kLong), "in_flight_max");
  EXPECT_EQ(nearest("wai", kLong), "wait_base");
  EXPECT_EQ(nearest("wa", kLong), std::nullopt);
  EXPECT_EQ(nearest("in_flight_mix", kLong), "in_flight_max") << "a small mistake goes first";
}

TEST(Nearest, IsSilentWhenNothingIsNear) {
  EXPECT_EQ(nearest("colour", kNames), std::nullopt);
  EXPECT_EQ(nearest("", kNames), std::nullopt);
  EXPECT_EQ(nearest("xy", kNames), std::nullopt);
  EXPECT_EQ(nearest(std::string(1000, 'l'), kNames), std::nullopt);
  EXPECT_EQ(did_you_mean("colour", kNames), "");
  EXPECT_EQ(did_you_mean("lader", kNames), ", did you mean 'ladder'?");
}

RC_GTEST_PROP(Nearest, DistanceIsSymmetric, (const std::string& a, const std::string& b)) {
  RC_ASSERT(edit_distance(a, b) == edit_distance(b, a));
  RC_ASSERT((edit_distance(a, b) == 0) == (a == b));
}

}  // namespace
}  // namespace postrider
