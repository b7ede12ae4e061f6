#include "postrider/runtime/reserve.h"

#include <string>
#include <sys/stat.h>
#include <unistd.h>

#include <gtest/gtest.h>

namespace postrider {
namespace {

// req: engine.disk.1
TEST(Reserve, TakesRealRoomAndGivesItBack) {
  const std::string path = ::testing::TempDir() + "reserve-" + std::to_string(::getpid());
  Reserve reserve(path, 1U << 20);
  EXPECT_FALSE(reserve.is_held());
  ASSERT_TRUE(reserve.hold());
  EXPECT_TRUE(reserve.is_held());
  struct stat status {};
  ASSERT_EQ(::stat(path.c_str(), &status), 0);
  EXPECT_GE(status.st_blocks * 512, 1 << 20) << "a sparse file keeps nothing";
  EXPECT_TRUE(reserve.hold()) << "again is nothing new";
  reserve.give();
  EXPECT_FALSE(reserve.is_held());
  EXPECT_NE(::stat(path.c_str(), &status), 0);
}

TEST(Reserve, OfNothingIsAlwaysThere) {
  Reserve reserve("/nonexistent/reserve", 0);
  EXPECT_TRUE(reserve.hold());
}

TEST(Reserve, SaysWhenItCannotBeHad) {
  Reserve reserve("/nonexistent/reserve", 4096);
  EXPECT_FALSE(reserve.hold());
}

}  // namespace
}  // namespace postrider
