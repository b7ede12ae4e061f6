#include "postrider/runtime/system_clock.h"

#include <sys/timex.h>

#include <gtest/gtest.h>

namespace postrider {
namespace {

// req: engine.time.9
TEST(SystemClock, SaysWhatTheKernelSaysOfItsClock) {
  timex state{};
  const int clock = ::adjtimex(&state);
  const bool synchronised = clock >= 0 && clock != TIME_ERROR && (state.status & STA_UNSYNC) == 0;
  EXPECT_EQ(SystemClock().synchronised(), synchronised);
}

}  // namespace
}  // namespace postrider
