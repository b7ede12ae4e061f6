// Every crash point of a small world that visits every phase: die right after each store operation
// and each action, with the batch in commit kept and lost, restore, and run to the end under all
// checkers.
#include <cstdio>

#include <gtest/gtest.h>

#include "postrider/sim/world.h"

namespace postrider::sim {
namespace {

SimOptions reference(std::string_view profile) {
  SimOptions options;
  options.profile = profile;
  options.seed = 7;
  options.span = Duration(2 * 24h);
  options.destinations = 4;
  options.messages = 24;
  options.faults =
      *parse_faults("request-lost,reply-lost,peer-flaky,peer-throttles,peer-rejects,peer-gone");
  options.twins = false;
  return options;
}

class CrashPoints : public ::testing::TestWithParam<const char*> {};

// req: engine.restore.1, engine.crash.1
TEST_P(CrashPoints, AllEndWell) {
  const SimOptions calm = reference(GetParam());
  const Report whole = simulate(calm);
  ASSERT_TRUE(whole.violations.empty()) << whole.violations.front();
  ASSERT_GT(whole.points, 100U);
  std::uint64_t runs = 0;
  for (std::uint64_t after = 1; after <= whole.points; ++after) {
    for (const bool keep : {false, true}) {
      SimOptions options = calm;
      options.crash_point = SimOptions::CrashPoint{after, keep};
      const Report report = simulate(options);
      ++runs;
      ASSERT_TRUE(report.violations.empty())
          << "crash after point " << after << (keep ? ", batch kept: " : ", batch lost: ")
          << report.violations.front();
    }
  }
  std::printf("%llu crash points of profile %s, all well\n", static_cast<unsigned long long>(runs),
              GetParam());
}

INSTANTIATE_TEST_SUITE_P(Profiles, CrashPoints, ::testing::Values("webhook", "drill"),
                         [](const ::testing::TestParamInfo<const char*>& name) {
                           return std::string(name.param);
                         });

}  // namespace
}  // namespace postrider::sim
