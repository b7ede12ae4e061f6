// What a server is sent after it was away for long.
#include "tests/support/matrix_rig.h"

namespace postrider {
namespace {

using Texts = std::vector<std::string>;

class CatchUp : public MatrixRig {
 protected:
  // A server that was reached once and is deep now.
  void go_deep(NamedTexts more = {}) {
    more.emplace_back("interval_first", "2h");
    more.emplace_back("tries", "1");
    make(std::move(more));
    send("!a", "reached");
    reply(200);
    pass(10ms);
    send("!a", "1");
    fail_until_closed();
    ASSERT_EQ(route().health, Health::kDeep);
  }
};

// req: matrix.cu.1, matrix.cu.12
TEST_F(CatchUp, BeginsWithUnitsThatMustArriveAndThenEvents) {
  go_deep();
  typing("typing");
  send_unit(matrix::kOtherLane, "m.unknown", "other");
  send("!a", "2");
  to_device("device");
  send_unit(matrix::kDeviceLane, "m.device_list_update", "list");
  until_next_start();
  EXPECT_EQ(route().health, Health::kCatchUp);
  Texts order;
  for (int round = 0; route().health == Health::kCatchUp && round < 20; ++round) {
    for (const std::string& text : units()) order.push_back(text);
    for (const std::string& text : events()) order.push_back(text);
    reply(200);
    pass(10ms);
  }
  EXPECT_EQ(order, (Texts{"device", "list", "1", "2"}));
  EXPECT_EQ(route().health, Health::kNormal);
  EXPECT_EQ(units(), Texts{"other"}) << "when the server has caught up";
}

TEST_F(CatchUp, SendsEventsAloneUnderCompatible) {  // req: matrix.cu.1
  go_deep({{"policy", "compatible"}});
  to_device("device");
  send("!b", "2");
  until_next_start();
  Texts order;
  for (int round = 0; route().health == Health::kCatchUp && round < 20; ++round) {
    EXPECT_EQ(units(), Texts{});
    for (const std::string& text : events()) order.push_back(text);
    reply(200);
    pass(10ms);
  }
  EXPECT_EQ(order, (Texts{"1", "2"}));
  EXPECT_EQ(units(), Texts{"device"});
}

TEST_F(CatchUp, FollowsAStartUnderCompatible) {  // req: matrix.cu.1
  for (const char* policy : {"compatible", "better"}) {
    const std::string name = std::string("matrix:") + policy + ".example";
    make({{"policy", policy}}, name);
    send("!a", "reached", 0, name);
    reply(200);
    pass(10ms);
    send("!a", "1", 0, name);
    send("!b", "2", 0, name);
  }
  make({{"policy", "compatible"}}, "matrix:idle.example");
  restart();
  EXPECT_EQ(route("matrix:compatible.example").health, Health::kCatchUp);
  EXPECT_EQ(route("matrix:better.example").health, Health::kNormal);
  EXPECT_EQ(route("matrix:idle.example").health, Health::kNormal) << "it is owed nothing";
}

TEST_F(CatchUp, OfAServerThatWasNeverReachedEndsAtOnce) {  // req: matrix.cu.2
  make({{"interval_first", "2h"}, {"tries", "1"}});
  send("!a", "1");
  send_unit(matrix::kOtherLane, "m.unknown", "other");
  fail_until_closed();
  ASSERT_EQ(route().health, Health::kDeep);
  until_next_start();
  EXPECT_NE(route().health, Health::kCatchUp);
  Texts got;
  for (int round = 0; stats().counters.live() != 0 && round < 10; ++round) {
    for (const std::string& text : units()) got.push_back(text);
    for (const std::string& text : events()) got.push_back(text);
    reply(200);
    pass(10ms);
  }
  EXPECT_EQ(got.size(), 2U) << "what waits is sent";
}

TEST_F(CatchUp, EndsWhenNothingIsOwedWithWhatCameMeanwhile) {  // req: matrix.cu.8
  go_deep();
  send("!a", "2");
  until_next_start();
  ASSERT_EQ(events(), Texts{"1"}) << "a deep wait is followed by a transaction of one";
  send("!a", "meanwhile");
  reply(200);
  pass(10ms);
  EXPECT_EQ(route().health, Health::kCatchUp);
  Texts got;
  for (int round = 0; route().health == Health::kCatchUp && round < 10; ++round) {
    for (const std::string& text : events()) got.push_back(text);
    reply(200);
    pass(10ms);
  }
  EXPECT_EQ(got, (Texts{"2", "meanwhile"}));
  EXPECT_EQ(route().health, Health::kNormal);
  EXPECT_EQ(stats().counters.live(), 0U);
}

TEST_F(CatchUp, SendsNothingAgainThatWasDelivered) {  // req: matrix.cu.10
  go_deep();
  send("!b", "only in b");
  until_next_start();
  Texts got;
  for (int round = 0; stats().counters.live() != 0 && round < 10; ++round) {
    for (const std::string& text : events()) got.push_back(text);
    reply(200);
    pass(10ms);
    if (round == 0) {
      restart();
      until_next_start();
    }
  }
  EXPECT_EQ(got, (Texts{"1", "only in b"})) << "each once, and 'reached' not again";
  restart();
  pass(1h);
  EXPECT_TRUE(starts().empty());
}

}  // namespace
}  // namespace postrider
