#include "postrider/api/descriptors.h"

#include <gtest/gtest.h>

namespace postrider {
namespace {

// req: daemon.process.6
TEST(Descriptors, AreRefusedBelowTheLeastThatServes) {
  EXPECT_FALSE(share_descriptors(kDescriptorsMin - 1, 256).has_value());
  EXPECT_FALSE(share_descriptors(0, 256).has_value());
  EXPECT_TRUE(share_descriptors(kDescriptorsMin, 256).has_value());
}

// req: daemon.process.6
TEST(Descriptors, LeaveTheStoreItsPart) {
  for (const std::uint64_t limit : {64U, 65U, 128U, 1024U, 20'000U, 1'048'576U, 4'000'000'000U}) {
    for (const std::uint32_t wanted : {32U, 256U, 1'000'000U}) {
      const auto shares = share_descriptors(limit, wanted);
      ASSERT_TRUE(shares.has_value());
      EXPECT_GE(shares->store_files_max, 20U);
      EXPECT_LE(shares->store_files_max, wanted);
      EXPECT_GT(shares->network_max, 0);
      EXPECT_LE(static_cast<std::uint64_t>(shares->network_max) + shares->store_files_max, limit);
    }
  }
}

TEST(Descriptors, AreAsWantedWhenThereArePlenty) {
  const auto shares = share_descriptors(65'536, 256);
  ASSERT_TRUE(shares.has_value());
  EXPECT_EQ(shares->store_files_max, 256U);
  EXPECT_EQ(shares->network_max, 65'536 - 256 - 64);
}

}  // namespace
}  // namespace postrider
