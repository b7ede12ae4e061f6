// Riders: messages that leave with others at once, and alone only after a time.
#include <set>

#include "postrider/core/rules/lane_rules.h"
#include "postrider/model/id_address.h"
#include "tests/support/pack_rig.h"

namespace postrider {
namespace {

using Ids = std::vector<MessageId>;

class RideTest : public PackRig {
 protected:
  void make_riders(NamedTexts settings = {}) {
    settings.emplace_back("riders", "2");  // lane 1
    settings.emplace_back("rides", "10000");
    make(std::move(settings));
  }
};

TEST_F(RideTest, LeavesWithAnotherAtOnce) {  // req: engine.ride.1
  make_riders();
  const Ids riders = {send(1), send(1)};
  EXPECT_TRUE(starts().empty());
  const MessageId leader = send(0);
  ASSERT_EQ(starts().size(), 1U);
  EXPECT_EQ(members(), (Ids{leader, riders[0], riders[1]}));
}

TEST_F(RideTest, LeadsAfterItsTime) {  // req: engine.ride.2
  make_riders();
  const Ids riders = {send(1), send(1)};
  pass(5s - 1ms);
  EXPECT_TRUE(starts().empty());
  pass(5s + 1ms);
  ASSERT_EQ(starts().size(), 1U);
  EXPECT_EQ(members(), riders);
}

TEST_F(RideTest, KeepsItsTimeOverARestart) {  // req: engine.ride.2
  make_riders();
  const MessageId rider = send(1);
  pass(4s);
  restart();
  EXPECT_TRUE(starts().empty());
  pass(6s);
  ASSERT_EQ(starts().size(), 1U);
  EXPECT_EQ(members(), Ids{rider});
}

TEST_F(RideTest, LeadsAtATimeOfItsDestinationAndLane) {  // req: engine.ride.2
  const LaneRule rule{.rides = 10s};
  std::set<Duration> times;
  for (std::uint64_t number = 1; number <= 100; ++number) {
    const DestinationId destination(number * 7919);
    const Duration ride = ride_of(rule, MessageId::make(destination, 1, 0, Sequence(number)));
    EXPECT_GE(ride, 5s);
    EXPECT_LE(ride, 10s);
    times.insert(ride);
  }
  EXPECT_GT(times.size(), 90U) << "they are spread";
}

TEST_F(RideTest, HoldsUpNoOtherLane) {  // req: engine.ride.3
  make_riders({{"members", "1"}});
  const MessageId rider = send(1);
  const Ids others = {send(0), send(2)};
  EXPECT_EQ(members(), Ids{others[0]});
  reply(200);
  EXPECT_EQ(members(), Ids{others[1]});
  reply(200);
  EXPECT_EQ(starts().size(), 2U) << "alone in a batch, it rides on";
  pass(10s);
  ASSERT_EQ(starts().size(), 3U);
  EXPECT_EQ(members(), Ids{rider});
}

TEST_F(RideTest, IsForWhatLeavesWithOthers) {  // req: engine.ride.4
  make_riders();
  const MessageId solo = send(1, {{"solo", ""}});
  ASSERT_EQ(starts().size(), 1U);
  EXPECT_EQ(starts().back().message, solo);
}

}  // namespace
}  // namespace postrider
