#include <gtest/gtest.h>

#include "postrider/base/entropy.h"
#include "postrider/protocols/reticulum/announce_gate.h"
#include "postrider/protocols/reticulum/auto_interface.h"
#include "postrider/protocols/reticulum/entropy_random.h"
#include "postrider/protocols/reticulum/random_testing.h"
#include "postrider/protocols/reticulum/sha256.h"

namespace postrider::reticulum {
namespace {

constexpr Timestamp kNoon{1'700'000'000'000};

// req: rns.if.2
TEST(AutoInterface, GroupAndBeaconFollowTheGroupId) {
  EXPECT_EQ(auto_group_address("reticulum"), "ff12:0:d70b:fb1c:16e4:5e39:485e:31e1");
  EXPECT_EQ(auto_beacon("reticulum", "fe80::1"), sha256("reticulumfe80::1"));
  EXPECT_NE(auto_group_address("other"), auto_group_address("reticulum"));
}

// req: rns.if.2
TEST(AutoInterface, PeersAreHeardAndForgotten) {
  AutoPeers peers("reticulum", 2);
  const auto hear = [&](const char* address, Timestamp now) {
    return peers.hear(address, view(auto_beacon("reticulum", address)), now);
  };
  EXPECT_EQ(hear("fe80::1", kNoon), AutoPeers::Heard::kNew);
  EXPECT_EQ(hear("fe80::1", kNoon + 1s), AutoPeers::Heard::kKnown);
  EXPECT_EQ(hear("fe80::2", kNoon + 1s), AutoPeers::Heard::kNew);
  EXPECT_EQ(hear("fe80::3", kNoon + 1s), AutoPeers::Heard::kTooMany);
  EXPECT_EQ(peers.hear("fe80::1", view(auto_beacon("other", "fe80::1")), kNoon),
            AutoPeers::Heard::kForeign);
  EXPECT_EQ(peers.hear("fe80::1", view(auto_beacon("reticulum", "fe80::2")), kNoon),
            AutoPeers::Heard::kForeign);
  EXPECT_EQ(peers.hear("fe80::1", "", kNoon), AutoPeers::Heard::kForeign);
  EXPECT_TRUE(peers.lives("fe80::2", kNoon + 5s));
  EXPECT_FALSE(peers.lives("fe80::9", kNoon + 5s));
  EXPECT_EQ(peers.next_deadline(), kNoon + 23s);
  EXPECT_TRUE(peers.forget(kNoon + 23s - 1ms).empty());
  EXPECT_EQ(peers.forget(kNoon + 23s), std::vector<std::string>{"fe80::1"});
  EXPECT_EQ(peers.size(), 1u);
}

// req: rns.if.4
TEST(AnnounceGate, HoldsAFloodBackAndLetsTheNewestOfEachThrough) {
  AnnounceGate gate;
  int at_once = 0;
  for (std::uint32_t i = 0; i < 10'000; ++i) {
    Address destination{};
    std::memcpy(destination.data(), &i, sizeof(i));
    if (gate.offer(destination, "raw", 1, kNoon + Duration(i / 10))) ++at_once;
  }
  EXPECT_EQ(at_once, 6);
  EXPECT_EQ(gate.held(), AnnounceGate::kHeldMax);
  EXPECT_EQ(gate.dropped(), 10'000 - 6 - AnnounceGate::kHeldMax);
  Address seventh{};
  seventh[0] = 6;
  EXPECT_FALSE(gate.offer(seventh, "newer", 3, kNoon + 1s));
  EXPECT_EQ(gate.held(), AnnounceGate::kHeldMax);
  const auto first = gate.release(kNoon + 1s);
  ASSERT_TRUE(first);
  EXPECT_EQ(first->raw, "newer");
  EXPECT_EQ(first->hops, 3);
  int released = 1;
  Timestamp now = kNoon + 1s;
  while (gate.held() > 0) {
    while (gate.release(now)) ++released;
    ASSERT_LE(now, kNoon + 60s);
    if (const auto next = gate.next_deadline()) now = std::max(*next, now + 1ms);
  }
  EXPECT_EQ(released, 256);
  EXPECT_GE(now, kNoon + 42s);  // six in each second
  EXPECT_FALSE(gate.next_deadline());
  EXPECT_TRUE(gate.offer(seventh, "raw", 1, now + 1s));
}

TEST(EntropyRandom, DrawsFromTheTurn) {
  Entropy a(EntropySeed{1});
  Entropy b(EntropySeed{1});
  EntropyRandom random(a);
  std::array<std::uint8_t, 40> expected{};
  b.fill(expected);
  EXPECT_EQ(random.bytes<40>(), expected);
}

}  // namespace
}  // namespace postrider::reticulum
