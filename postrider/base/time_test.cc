#include "postrider/base/time.h"

#include <gtest/gtest.h>

#include "postrider/base/ids.h"
#include "postrider/base/result.h"

namespace postrider {
namespace {

TEST(Timestamp, IsCountedInWholeMilliseconds) {
  constexpr Timestamp kAt(1000);
  EXPECT_EQ((kAt + 2s).ms(), 3000);
  EXPECT_EQ((kAt - 1ms).ms(), 999);
  EXPECT_EQ(kAt + 1h - kAt, 3'600'000ms);
  EXPECT_LT(kAt, kAt + 1ms);
  EXPECT_LT(kAt, Timestamp::never());
}

TEST(Timestamp, ZeroIsNoTime) {
  EXPECT_FALSE(Timestamp().is_set());
  EXPECT_TRUE(Timestamp(1).is_set());
}

TEST(Id, ZeroIsNobody) {
  using Number = Id<struct NumberTag>;
  EXPECT_FALSE(Number().is_set());
  EXPECT_TRUE(Number(3).is_set());
  EXPECT_LT(Number(2), Number(3));
  EXPECT_EQ(Number(3).value(), 3U);
}

Result<int> half(int value) {
  if (value % 2 != 0) return fail(ErrorCode::kInvalid, "odd");
  return value / 2;
}
Result<int> quarter(int value) {
  POSTRIDER_TRY(once, half(value));
  POSTRIDER_TRY(twice, half(once));
  return twice;
}

TEST(Result, TryHandsTheErrorUpwards) {
  EXPECT_EQ(*quarter(12), 3);
  EXPECT_EQ(quarter(3).error().detail, "odd");
  EXPECT_EQ(quarter(6).error().code, ErrorCode::kInvalid);
}

}  // namespace
}  // namespace postrider
