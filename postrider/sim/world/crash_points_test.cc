// Every crash point of a small world that visits every phase: die right after each store operation
// and each action, with the batch in commit kept and lost, restore, and run to the end under all
// checkers.
#include "postrider/sim/world/crash_points.h"

#include <cstdio>
#include <cstdlib>

#include <gtest/gtest.h>

namespace postrider::sim {
namespace {

class CrashPointsOf : public ::testing::TestWithParam<const char*> {};

// req: engine.restore.1, engine.crash.1, engine.crash.2
TEST_P(CrashPointsOf, AllEndWell) {
  const auto world = reference_world(GetParam());
  ASSERT_TRUE(world.has_value()) << "no small world visits everything";
  const CrashPoints all = crash_everywhere(*world, {});
  for (const Phase phase : phases_never_visited(GetParam(), all.reference))
    ADD_FAILURE() << "the reference world never visits " << name_of(phase);
  EXPECT_EQ(all.runs, 2 * all.points);
  EXPECT_GT(all.points, 300U);
  for (const CrashPoints::Failure& failure : all.failures) {
    ADD_FAILURE() << "crash after point " << failure.point
                  << (failure.kept ? ", batch kept: " : ", batch lost: ") << failure.what;
  }
  std::printf("%llu crash points of profile %s (seed %llu), each with the batch kept and lost\n",
              static_cast<unsigned long long>(all.points), GetParam(),
              static_cast<unsigned long long>(world->seed));
}

// All of them with POSTRIDER_CRASH_POINTS=all, which takes long.
TEST(DeviceCrashPoints, LoseNothingAndDoubleNothing) {  // req: device.crash.1, device.crash.2
  constexpr std::uint64_t kPoints = 10'000;
  const bool all = std::getenv("POSTRIDER_CRASH_POINTS") != nullptr;
  const std::uint64_t stride = all ? 1 : 97;
  std::uint64_t points = 0;
  std::uint64_t runs = 0;
  for (const SimOptions& world : device_worlds(kPoints)) {
    const CrashPoints some = crash_everywhere(world, {1 + world.seed % stride, stride});
    points += some.points;
    runs += some.runs;
    for (const CrashPoints::Failure& failure : some.failures) {
      ADD_FAILURE() << "seed " << world.seed << ", crash after point " << failure.point
                    << (failure.kept ? ", batch kept: " : ", batch lost: ") << failure.what;
    }
  }
  EXPECT_GE(points, kPoints);
  std::printf("%llu of %llu crash points of devices\n", static_cast<unsigned long long>(runs / 2),
              static_cast<unsigned long long>(points));
}

INSTANTIATE_TEST_SUITE_P(Profiles, CrashPointsOf, ::testing::Values("webhook", "drill"),
                         [](const ::testing::TestParamInfo<const char*>& name) {
                           return std::string(name.param);
                         });

}  // namespace
}  // namespace postrider::sim
