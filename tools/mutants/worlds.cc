// Small simulated worlds for mutants, each a test of its own: those that come by a mutant are run,
// and no others. The checkers judge; trace hashes only notice, and are counted apart. They are
// noted (POSTRIDER_REACHED) by the run that looks what is reached.
#include <cstdlib>
#include <fstream>
#include <string>

#include <gtest/gtest.h>

#include "postrider/sim/runner.h"

namespace postrider::sim {
namespace {

struct Seed {
  const char* profile;
  std::uint64_t seed;
};

SimOptions world_of(const Seed& it) {
  SimOptions options;
  options.profile = it.profile;
  options.seed = it.seed;
  const bool devices = options.profile == "device";
  options.span = devices ? 4 * 24h : 10 * 24h;
  options.destinations = 8;
  options.messages = devices ? 120 : 300;
  options.faults.set();
  return options;
}

class World : public ::testing::TestWithParam<Seed> {};

TEST_P(World, PassesAllCheckers) {
  const Report report = simulate(world_of(GetParam()));
  EXPECT_EQ(report.violations, std::vector<std::string>());
}

TEST_P(World, HasItsHash) {
  const Report report = simulate(world_of(GetParam()));
  const std::string path = std::string(std::getenv("POSTRIDER_HASHES")) + "/" + GetParam().profile +
                           "_" + std::to_string(GetParam().seed);
  if (std::getenv("POSTRIDER_REACHED") != nullptr) std::ofstream(path) << report.trace_hash;
  std::uint64_t noted = 0;
  std::ifstream(path) >> noted;
  EXPECT_EQ(report.trace_hash, noted);
}

std::vector<Seed> seeds() {
  std::vector<Seed> out;
  for (std::uint64_t seed = 1; seed <= 30; ++seed) out.push_back({"drill", seed});
  for (std::uint64_t seed = 1; seed <= 20; ++seed) out.push_back({"webhook", seed});
  for (std::uint64_t seed = 1; seed <= 10; ++seed) out.push_back({"device", seed});
  return out;
}

INSTANTIATE_TEST_SUITE_P(Of, World, ::testing::ValuesIn(seeds()),
                         [](const ::testing::TestParamInfo<Seed>& it) {
                           return it.param.profile + std::to_string(it.param.seed);
                         });

}  // namespace
}  // namespace postrider::sim
