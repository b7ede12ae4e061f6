#include "postrider/core/step.h"

#include <gtest/gtest.h>

namespace postrider::core {
namespace {

class StepTest : public ::testing::Test {
 protected:
  Found found_;
  Effects out_;
  Step step_{Timestamp(10), Timestamp(10), Duration(0), found_, out_};
};

TEST_F(StepTest, LacksWhatWasNotFoundAndSaysSo) {
  EXPECT_FALSE(step_.lacks());
  EXPECT_EQ(step_.get("a"), nullptr);
  EXPECT_EQ(step_.scan({"a", "b", 3}), nullptr);
  EXPECT_TRUE(step_.lacks());
  EXPECT_EQ(step_.need.keys, std::vector<std::string>{"a"});
  EXPECT_EQ(step_.need.scans.size(), 1U);
}

TEST_F(StepTest, LooksInARowAreOneLook) {
  for (const Slot slot : {3U, 3U, 5U, 3U, 5U}) step_.look_at(slot);
  EXPECT_EQ(step_.looks, (std::vector<Slot>{3, 5}));
}

TEST_F(StepTest, EveryLookIsServedInItsOrder) {
  for (Slot slot = 0; slot < 9; ++slot) step_.look_at(slot);
  step_.look_at(0);
  EXPECT_EQ(step_.looks.front(), 0U);
  EXPECT_EQ(step_.looks.size(), 10U) << "a look of long ago is made again, which changes nothing";
}

TEST_F(StepTest, RepliesOnlyToACallerThatWaits) {
  step_.reply(Ticket(), Answer());
  EXPECT_TRUE(out_.actions.empty());
  step_.reply(Ticket(7), Answer());
  EXPECT_EQ(out_.actions.size(), 1U);
}

}  // namespace
}  // namespace postrider::core
