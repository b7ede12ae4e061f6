#include "postrider/runtime/reclaimer.h"

#include <atomic>
#include <cstdint>
#include <memory>
#include <semaphore>
#include <thread>

#include <gtest/gtest.h>

namespace postrider {
namespace {

class ReclaimerTest : public ::testing::Test {
 protected:
  // Lets the run that began end.
  void let_end(std::uint64_t gained) {
    gains = gained;
    go_on.release();
    while (reclaimer->is_under_way()) std::this_thread::yield();
  }
  bool look_short() { return reclaimer->look(false, now); }

  Timestamp now{1'000'000};
  std::counting_semaphore<> go_on{0};
  std::atomic<std::uint64_t> gains{0};
  std::atomic<int> runs{0};
  std::atomic<int> ends{0};
  std::unique_ptr<Reclaimer> reclaimer = std::make_unique<Reclaimer>(
      [this] {
        ++runs;
        go_on.acquire();
        return gains.load();
      },
      [this] {
        ++ends;
        go_on.release();
      });
};

constexpr Duration kBit(1);
constexpr std::uint64_t kMuch = Reclaimer::kWorthBytes;

TEST_F(ReclaimerTest, RunsWhileTheDiskIsShortOfRoomOneAtATime) {  // req: engine.disk.5
  EXPECT_FALSE(reclaimer->look(true, now));
  EXPECT_TRUE(look_short());
  for (int i = 0; i < 3; ++i) {
    now = now + Reclaimer::kPauseMax;
    EXPECT_FALSE(look_short()) << "one is under way";
  }
  let_end(kMuch);
  EXPECT_FALSE(look_short()) << "its pause begins when its end is seen";
  now = now + (Reclaimer::kPauseMin - kBit);
  EXPECT_FALSE(look_short());
  now = now + kBit;
  EXPECT_TRUE(look_short());
  let_end(kMuch);
  EXPECT_EQ(runs, 2);
}

TEST_F(ReclaimerTest, PausesGrowToTheirBoundWhileNothingIsGained) {
  Duration pause = Reclaimer::kPauseMin;
  for (int i = 0; i < 8; ++i) {
    ASSERT_TRUE(look_short()) << i;
    let_end(kMuch - 1);
    pause = std::min(pause * 2, Reclaimer::kPauseMax);
    EXPECT_FALSE(look_short());
    now = now + (pause - kBit);
    EXPECT_FALSE(look_short()) << i;
    now = now + kBit;
  }
  EXPECT_EQ(pause, Reclaimer::kPauseMax);
  // What gains something is soon followed by the next.
  ASSERT_TRUE(look_short());
  let_end(kMuch);
  EXPECT_FALSE(look_short());
  now = now + Reclaimer::kPauseMin;
  EXPECT_TRUE(look_short());
  let_end(0);
}

TEST_F(ReclaimerTest, BeginsAtOnceWhenRoomWasThereInBetween) {
  ASSERT_TRUE(look_short());
  let_end(0);
  EXPECT_FALSE(look_short());
  EXPECT_FALSE(reclaimer->look(true, now));
  EXPECT_TRUE(look_short());
  let_end(0);
}

TEST_F(ReclaimerTest, EndsARunBeforeItWaitsForIt) {
  ASSERT_TRUE(look_short());
  reclaimer.reset();  // would wait for ever
  EXPECT_EQ(ends, 1);
}

TEST_F(ReclaimerTest, HasNoThreadUntilRoomIsShort) {
  EXPECT_FALSE(reclaimer->look(true, now));
  reclaimer.reset();
  EXPECT_EQ(ends, 0);
  EXPECT_EQ(runs, 0);
}

}  // namespace
}  // namespace postrider
