#include "postrider/runtime/system_entropy.h"

#include <set>

#include <gtest/gtest.h>

namespace postrider {
namespace {

TEST(SystemEntropy, GivesEachSeedOnce) {
  std::set<EntropySeed> seeds;
  for (int i = 0; i < 100; ++i) seeds.insert(system_entropy());
  EXPECT_EQ(seeds.size(), 100U);
}

}  // namespace
}  // namespace postrider
