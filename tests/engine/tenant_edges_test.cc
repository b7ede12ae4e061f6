// Tenants by their weights, start by start.
#include <string>
#include <vector>

#include "tests/support/spec_rig.h"

namespace postrider {
namespace {

using TenantEdges = SpecRig;

// req: engine.fair.1
TEST_F(TenantEdges, EachHasAsManyStartsInARowAsItsWeight) {
  options.engine.limits.open_attempts_max = 1;
  open_mill();
  sent({{"method", "post"}});  // has the only place
  for (int i = 0; i < 6; ++i) {
    for (const char* tenant : {"1", "2"}) {
      const std::string name = std::string(tenant) + "-" + std::to_string(i);
      post(place(next(), name, {{"tenant", tenant}}));
      post(message(next(), {{"method", "post"}}, name));
    }
  }
  std::string order;
  for (int i = 0; i < 10; ++i) {
    post(answer(last_attempt(), 200));
    order += explained(starts().back().message).destination[0];
  }
  EXPECT_EQ(order, "1122211222") << "weights of two and three";
}

// A start costs one, and one more for every 64 KiB, up to sixteen. req: engine.fair.1
TEST_F(TenantEdges, ALargeMessageCostsNoMoreThanSixteenStarts) {
  options.engine.limits.open_attempts_max = 1;
  options.engine.limits.body_bytes_max = 2U << 20;
  open_mill();
  for (const char* tenant : {"1", "2"}) post(place(next(), tenant, {{"tenant", tenant}}));
  sent({{"method", "post"}});  // has the only place
  Submit large = message(next(), {{"method", "post"}}, "1");
  large.body = std::string(20 * 64 * 1024, 'x');
  for (int i = 0; i < 2; ++i) {
    large.caller.ticket = Ticket(next());
    post(large);
  }
  for (int i = 0; i < 40; ++i) post(message(next(), {{"method", "post"}}, "2"));
  std::string order;
  for (int i = 0; i < 27; ++i) {
    post(answer(last_attempt(), 200));
    order += explained(starts().back().message).destination;
  }
  EXPECT_EQ(order, "1" + std::string(8 * 3, '2') + "12") << "it has two of each round";
}

// Whoever was let in once and has no place again waits like the others. req: engine.fair.4
TEST_F(TenantEdges, WhoWaitsForAPlaceASecondTimeHasItsTurnAgain) {
  options.engine.limits.open_attempts_max = 8;  // seven for those that are not known to answer
  open();
  for (int i = 0; i < 14; ++i) {
    const std::string name = "d" + std::to_string(i);
    post(place(next(), name, {{"strikes", "1000"}, {"base", "10000"}, {"attempt", "1000000"}}));
    post(message(next(), {{"method", "post"}}, name));
  }
  for (std::size_t begin = 0; begin < 42; begin += 7) {
    ASSERT_EQ(starts().size(), begin + 7);
    pass(10s);  // those that had a place before wake, and wait for one
    for (std::size_t i = begin; i < begin + 7; ++i) post(answer(attempt(i), 408));
  }
}

// req: engine.queue.8
TEST_F(TenantEdges, LanesTakeTurnsAlsoWithOnePlace) {
  open_mill({{"in-use", "1"}});
  for (int i = 0; i < 8; ++i) {
    Submit event = message(next(), {{"method", "post"}});
    event.lane = static_cast<std::uint8_t>(i / 4);
    post(event);
  }
  std::string order;
  for (int i = 0; i < 8; ++i) {
    order += static_cast<char>('0' + starts().back().message.lane());
    post(answer(last_attempt(), 200));
  }
  EXPECT_EQ(order, "00101011");
}

// req: engine.queue.8
TEST_F(TenantEdges, LanesTakeTurnsInTheirOrder) {
  open_mill({{"in-use", "1"}});
  for (int i = 0; i < 12; ++i) {
    Submit event = message(next(), {{"method", "post"}});
    event.lane = static_cast<std::uint8_t>(i % 3);
    post(event);
  }
  std::string order;
  for (int i = 0; i < 12; ++i) {
    order += static_cast<char>('0' + starts().back().message.lane());
    post(answer(last_attempt(), 200));
  }
  EXPECT_EQ(order, "001201201212") << "when the first started there was no other lane";
}

}  // namespace
}  // namespace postrider
