#include "postrider/model/trail.h"

#include <gtest/gtest.h>

namespace postrider {
namespace {

TrailStep step(int at, StateIndex state, On on = On::kDue, std::string reason = {}) {
  return {.at = Timestamp(at), .state = state, .on = on, .reason = std::move(reason)};
}

// req: engine.trail.1
TEST(Trail, CountsTwoStatesThatTakeTurns) {
  Trail trail;
  add_step(trail, step(1, 0));
  for (int i = 0; i < 1000; ++i) {
    add_step(trail, step(10 + 2 * i, 1, On::kStillHeld));
    add_step(trail, step(11 + 2 * i, 2, On::kDue));
  }
  ASSERT_EQ(trail.size(), 3U);
  EXPECT_EQ(trail[1].at, Timestamp(10));
  EXPECT_EQ(trail[1].times, 1000);
  EXPECT_EQ(trail[2].times, 1000);
  EXPECT_EQ(trail.back().state, 2);
}

// req: engine.trail.1
TEST(Trail, KeepsTheNewestStepsUpToItsBound) {
  Trail trail;
  for (std::size_t i = 0; i < kTrailStepsMax + 5; ++i)
    add_step(trail, step(static_cast<int>(i), static_cast<StateIndex>(i % 7)));
  EXPECT_EQ(trail.size(), kTrailStepsMax);
  EXPECT_EQ(trail.back().at, Timestamp(static_cast<std::int64_t>(kTrailStepsMax) + 4));
}

// req: engine.trail.1
TEST(Trail, CutsLongReasons) {
  Trail trail;
  add_step(trail, step(1, 0, On::kFailed, std::string(kStepReasonBytesMax, 'x')));
  add_step(trail, step(2, 1, On::kFailed, std::string(kStepReasonBytesMax + 1, 'x')));
  EXPECT_EQ(trail[0].reason.size(), kStepReasonBytesMax);
  EXPECT_EQ(trail[1].reason.size(), kStepReasonBytesMax);
}

TEST(Trail, IsReadAsItWasWritten) {
  Trail trail;
  add_step(trail, step(1'000'000, 3, On::kFailed, "HTTP 503"));
  add_step(trail, step(1'000'500, 0, On::kDue));
  add_step(trail, step(1'000'600, 3, On::kFailed, "HTTP 503"));
  const auto got = decode_trail(encode_trail(trail));
  ASSERT_TRUE(got);
  EXPECT_EQ(*got, trail);
  const std::string bytes = encode_trail(trail);
  for (std::size_t cut = 5; cut + 1 < bytes.size(); ++cut) {
    const auto part = decode_trail(std::string_view(bytes).substr(0, cut));
    if (part) {
      EXPECT_LT(part->size(), trail.size());
    }
  }
  EXPECT_FALSE(decode_trail(bytes + "\x01"));
}

// req: engine.store.14
TEST(Trail, OfAnotherFormIsRefused) {
  std::string other = encode_trail({{.at = Timestamp(5), .state = 1, .on = On::kDue}});
  ASSERT_TRUE(decode_trail(other));
  other[0] = '\3';
  EXPECT_FALSE(decode_trail(other));
}

}  // namespace
}  // namespace postrider
