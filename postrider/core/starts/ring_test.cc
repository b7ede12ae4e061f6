#include "postrider/core/starts/ring.h"

#include <map>
#include <vector>

#include <gtest/gtest.h>
#include <malloc.h>

namespace postrider {
namespace {

// Takes `count` turns; each start costs one, and whoever had its turn stands in line again.
std::vector<Slot> turns(Ring& ring, const std::map<Slot, std::uint64_t>& tenants, int count,
                        std::uint32_t weight = 1) {
  std::vector<Slot> out;
  for (int i = 0; i < count; ++i) {
    out.push_back(ring.next());
    ring.add(out.back(), tenants.at(out.back()), weight);
    ring.charge(tenants.at(out.back()), 1);
  }
  return out;
}

// req: engine.fair.1
TEST(Ring, DestinationsOfOneTenantTakeTurns) {
  Ring ring;
  for (const Slot slot : {1U, 2U, 3U}) ring.add(slot, 7, 1);
  EXPECT_EQ(turns(ring, {{1, 7}, {2, 7}, {3, 7}}, 6), (std::vector<Slot>{1, 2, 3, 1, 2, 3}));
  EXPECT_EQ(ring.size(), 3U);
}

// req: engine.fair.1
TEST(Ring, TenantsTakeTurnsHoweverManyDestinationsEachHas) {
  Ring ring;
  for (const Slot slot : {1U, 2U, 3U}) ring.add(slot, 7, 1);
  ring.add(9, 8, 1);
  const std::map<Slot, std::uint64_t> tenants = {{1, 7}, {2, 7}, {3, 7}, {9, 8}};
  EXPECT_EQ(turns(ring, tenants, 8), (std::vector<Slot>{1, 9, 2, 9, 3, 9, 1, 9}));
}

// req: engine.fair.1
TEST(Ring, WeightsSayHowManyStartsATenantHasInARow) {
  Ring ring;
  ring.add(1, 7, 3);
  ring.add(9, 8, 1);
  std::vector<Slot> seen;
  for (int i = 0; i < 8; ++i) {
    seen.push_back(ring.next());
    const bool heavy = seen.back() == 1;
    ring.add(seen.back(), heavy ? 7 : 8, heavy ? 3 : 1);
    ring.charge(heavy ? 7 : 8, 1);
  }
  EXPECT_EQ(seen, (std::vector<Slot>{1, 1, 1, 9, 1, 1, 1, 9}));
}

// req: engine.fair.1
TEST(Ring, WhoSpentMoreThanItsShareWaitsForIt) {
  Ring ring;
  ring.add(1, 7, 1);
  ring.add(9, 8, 1);
  EXPECT_EQ(ring.next(), 1U);
  ring.add(1, 7, 1);
  ring.charge(7, 4);  // a large message
  std::vector<Slot> seen;
  for (int i = 0; i < 5; ++i) {
    seen.push_back(ring.next());
    ring.add(seen.back(), seen.back() == 1 ? 7 : 8, 1);
    ring.charge(seen.back() == 1 ? 7 : 8, 1);
  }
  EXPECT_EQ(seen, (std::vector<Slot>{9, 9, 9, 9, 1}));
}

TEST(Ring, WhatATenantSavedIsGoneWhenItHasNothingToDo) {
  Ring ring;
  ring.add(1, 7, 5);
  EXPECT_EQ(ring.next(), 1U);
  EXPECT_TRUE(ring.empty());
  ring.add(9, 8, 1);
  EXPECT_EQ(ring.next(), 9U);
  ring.add(9, 8, 1);
  ring.add(1, 7, 1);
  ring.charge(8, 1);
  EXPECT_EQ(ring.next(), 1U);
}

TEST(Ring, TakesOutWhoIsForgotten) {
  Ring ring;
  ring.add(1, 7, 1);
  ring.add(2, 7, 1);
  ring.remove(1, 7);
  EXPECT_EQ(ring.size(), 1U);
  EXPECT_EQ(ring.next(), 2U);
}

TEST(Ring, KeepsFewTenantsThatHaveNothingToDo) {
  Ring ring;
  for (std::uint64_t tenant = 1; tenant <= 10'000; ++tenant) {
    ring.add(1, tenant, 1);
    EXPECT_EQ(ring.next(), 1U);
  }
  EXPECT_TRUE(ring.empty());
}

// A tenant that comes once and never again must not stay: by the hour that would be all memory.
TEST(Ring, ForgetsTenantsThatDoNotComeBack) {
  Ring ring;
  const auto visit = [&ring](std::uint64_t from, std::uint64_t count) {
    for (std::uint64_t tenant = from; tenant < from + count; ++tenant) {
      ring.add(1, tenant, 1);
      EXPECT_EQ(ring.next(), 1U);
    }
  };
  visit(1, 1'000);
  const std::size_t before = mallinfo2().uordblks;
  visit(1'001, 10'000);
  EXPECT_LT(mallinfo2().uordblks, before + 10'000);  // a byte for each
}

// Whoever was asked for last may be the one that is forgotten, and comes back as somebody new.
TEST(Ring, KnowsATenantAnewThatItForgot) {
  Ring ring;
  for (std::uint64_t tenant = 100; tenant < 200; ++tenant) ring.add(1, tenant, 1);
  while (!ring.empty()) ring.next();
  ring.add(1, 7, 1);
  while (!ring.empty()) ring.next();
  ring.add(2, 8, 1);
  ring.charge(7, 1);
  EXPECT_EQ(ring.next(), 2U);
  ring.add(3, 7, 1);
  ring.add(5, 7, 1);
  ring.add(9, 8, 1);
  ring.add(4, 7, 1);
  ring.charge(8, 1);
  EXPECT_EQ(ring.size(), 4U);
  std::vector<Slot> seen;
  while (!ring.empty()) {
    seen.push_back(ring.next());
    ring.charge(seen.back() == 9 ? 8 : 7, 1);
  }
  EXPECT_EQ(seen, (std::vector<Slot>{3, 9, 5, 4}));
}

}  // namespace
}  // namespace postrider
