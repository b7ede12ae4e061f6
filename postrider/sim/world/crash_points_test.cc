// Every crash point of a small world that visits every phase: die right after each store operation
// and each action, with the batch in commit kept and lost, restore, and run to the end under all
// checkers.
#include "postrider/sim/world/crash_points.h"

#include <cstdio>
#include <cstdlib>

#include <gtest/gtest.h>

#include "postrider/sim/fields/all.h"
#include "postrider/sim/runner.h"

namespace postrider::sim {
namespace {

class CrashPointsOf : public ::testing::TestWithParam<const Field*> {};

// req: engine.restore.1, engine.crash.1, engine.crash.2
TEST_P(CrashPointsOf, AllEndWell) {
  const Field& field = *GetParam();
  if (field.trials().crash_points > 0) GTEST_SKIP() << "a sample of several worlds, below";
  const std::string name(field.profile().name);
  const auto world = reference_world(field, equipment());
  ASSERT_TRUE(world.has_value()) << "no small world visits everything";
  const CrashPoints all = crash_everywhere(*world, {}, equipment());
  for (const Phase phase : phases_never_visited(field.profile(), all.reference))
    ADD_FAILURE() << "the reference world never visits " << name_of(phase);
  EXPECT_EQ(all.runs, 2 * all.points);
  EXPECT_GT(all.points, 300U);
  for (const CrashPoints::Failure& failure : all.failures) {
    ADD_FAILURE() << "crash after point " << failure.point
                  << (failure.kept ? ", batch kept: " : ", batch lost: ") << failure.what;
  }
  std::printf("%llu crash points of profile %s (seed %llu), each with the batch kept and lost\n",
              static_cast<unsigned long long>(all.points), name.c_str(),
              static_cast<unsigned long long>(world->seed));
}

// All of them with POSTRIDER_CRASH_POINTS=all, which takes long.
TEST_P(CrashPointsOf, LoseNothingAndDoubleNothing) {  // req: device.crash.1, device.crash.2
  const Field& field = *GetParam();
  const std::uint64_t wanted = field.trials().crash_points;
  if (wanted == 0) GTEST_SKIP() << "every point of one world, above";
  const bool all = std::getenv("POSTRIDER_CRASH_POINTS") != nullptr;
  const std::uint64_t stride = all ? 1 : 97;
  std::uint64_t points = 0;
  std::uint64_t runs = 0;
  for (const SimOptions& world : small_worlds(field, wanted, equipment())) {
    const CrashPoints some =
        crash_everywhere(world, {1 + world.seed % stride, stride}, equipment());
    points += some.points;
    runs += some.runs;
    for (const CrashPoints::Failure& failure : some.failures) {
      ADD_FAILURE() << "seed " << world.seed << ", crash after point " << failure.point
                    << (failure.kept ? ", batch kept: " : ", batch lost: ") << failure.what;
    }
  }
  EXPECT_GE(points, wanted);
  std::printf("%llu of %llu crash points\n", static_cast<unsigned long long>(runs / 2),
              static_cast<unsigned long long>(points));
}

INSTANTIATE_TEST_SUITE_P(Fields, CrashPointsOf,
                         ::testing::ValuesIn(all_fields().list().begin(),
                                             all_fields().list().end()),
                         [](const ::testing::TestParamInfo<const Field*>& field) {
                           return std::string(field.param->profile().name);
                         });

}  // namespace
}  // namespace postrider::sim
