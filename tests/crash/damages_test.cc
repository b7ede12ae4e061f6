// The short form of `make damage`.
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <stdlib.h>

#include "tests/crash/damage_rounds.h"

namespace postrider::crash {
namespace {

// req: daemon.damage.1, daemon.damage.2
TEST(DamageRounds, NoDamageOfAKilledOrClosedStoreIsSilent) {
  std::string directory = std::filesystem::exists("/dev/shm")
                              ? "/dev/shm/postrider-damage-XXXXXX"
                              : testing::TempDir() + "postrider-damage-XXXXXX";
  ASSERT_NE(::mkdtemp(directory.data()), nullptr);
  DamageRounds rounds({.daemon = POSTRIDER_BINARY,
                       .directory = directory,
                       .seed = 2,
                       .damages = 40,
                       .damages_per_store = 10},
                      [](const DamageTotals&) {});
  const std::vector<std::string> findings = rounds.run();
  std::string all;
  for (const std::string& finding : findings) all.append(finding).append("\n");
  EXPECT_TRUE(findings.empty()) << all;
  EXPECT_EQ(rounds.totals().damages, 40U);
  EXPECT_GT(rounds.totals().closed, 0U);
  if (findings.empty()) std::filesystem::remove_all(directory);
}

}  // namespace
}  // namespace postrider::crash
