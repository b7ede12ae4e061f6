#include "postrider/node/descriptors.h"

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

// req: daemon.ways.8
TEST(Descriptors, AreNotTakenFromTheOtherSideByConnections) {
  const ConnectionShares wanted{.server = 4096, .http = 2048, .grpc = 256};
  EXPECT_EQ(share_connections(wanted, 6400), wanted);
  for (const std::uint64_t most : {28U, 100U, 640U, 6399U}) {
    const ConnectionShares shares = share_connections(wanted, most);
    EXPECT_LE(shares.server + shares.http + shares.grpc, most);
    EXPECT_GT(shares.http, most / 4);
    EXPECT_GE(shares.grpc, 1U);
  }
}

// req: station.seat.2
TEST(Descriptors, OfLinesAreAShareOfTheirOwn) {
  const ConnectionShares wanted{.server = 4096, .http = 2048, .grpc = 256, .lines = 4096};
  EXPECT_EQ(share_connections(wanted, 10'496), wanted);
  for (const std::uint64_t most : {64U, 640U, 6400U}) {
    const ConnectionShares shares = share_connections(wanted, most);
    EXPECT_LE(shares.server + shares.http + shares.grpc + shares.lines, most + 1);
    EXPECT_GT(shares.lines, most / 8);
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
