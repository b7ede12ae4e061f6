#include "postrider/api/queue_gauges.h"

#include <gtest/gtest.h>

namespace postrider::api {
namespace {

QueueRow row(std::uint64_t number, std::uint64_t messages, std::int64_t oldest) {
  QueueRow out;
  out.id = DestinationId(number);
  out.destination = "d" + std::to_string(number);
  out.messages = messages;
  out.oldest = Timestamp(oldest);
  out.slots = 1;
  return out;
}

std::vector<std::string> names(const QueueGauges& gauges) {
  std::vector<std::string> out;
  for (const QueueRow& told : gauges.told()) out.push_back(told.destination);
  return out;
}

// Five queues; as many as there may be rows, one more and one less.
// req: device.obs.1, api.metrics.2
TEST(QueueGauges, TheDeepestHaveRowsAndTheOthersOneTogether) {
  struct Case {
    std::size_t told_max;
    std::vector<std::string> told;
    std::uint64_t others;
    std::uint64_t messages_of_others;
    std::int64_t oldest_of_others;
  };
  for (const Case& it : {Case{6, {"d2", "d4", "d1", "d5", "d3"}, 0, 0, 0},
                         Case{5, {"d2", "d4", "d1", "d5", "d3"}, 0, 0, 0},
                         Case{4, {"d2", "d4", "d1", "d5"}, 1, 1, 300}, Case{1, {"d2"}, 4, 10, 100},
                         Case{0, {}, 5, 19, 100}}) {
    QueueGauges gauges(it.told_max);
    gauges.add(row(1, 3, 100));
    gauges.add(row(2, 9, 200));
    gauges.add(row(3, 1, 300));
    gauges.add(row(4, 4, 400));
    gauges.add(row(5, 2, 500));
    gauges.finish();
    EXPECT_EQ(names(gauges), it.told) << it.told_max;
    EXPECT_EQ(gauges.others_count(), it.others) << it.told_max;
    EXPECT_EQ(gauges.count(), 5U) << it.told_max;
    EXPECT_EQ(gauges.others().messages, it.messages_of_others) << it.told_max;
    EXPECT_EQ(gauges.others().slots, it.others) << it.told_max;
    EXPECT_EQ(gauges.others().oldest, Timestamp(it.oldest_of_others)) << it.told_max;
    EXPECT_EQ(gauges.oldest(), Timestamp(100)) << "of all of them";
  }
}

TEST(QueueGauges, OfEquallyDeepOnesTheFirstByNameAreTold) {
  QueueGauges gauges(2);
  for (const std::uint64_t number : {3U, 1U, 2U}) gauges.add(row(number, 7, 1));
  gauges.finish();
  EXPECT_EQ(names(gauges), (std::vector<std::string>{"d1", "d2"}));
}

// req: device.obs.1
TEST(QueueGauges, AQueueThatTakesTwoLooksIsOneRowWithTheOlderOfBoth) {
  QueueGauges gauges(2);
  gauges.add(row(1, 5, 100));
  gauges.add(row(1, 4, 900));
  gauges.add(row(2, 4, 700));
  gauges.add(row(2, 4, 300));
  gauges.finish();
  ASSERT_EQ(gauges.told().size(), 2U);
  EXPECT_EQ(gauges.told()[0].messages, 4U) << "the last word";
  EXPECT_EQ(gauges.told()[0].oldest, Timestamp(100));
  EXPECT_EQ(gauges.told()[1].oldest, Timestamp(300));
}

TEST(QueueGauges, OneWithoutANameIsAmongTheOthers) {
  QueueGauges gauges(2);
  QueueRow lost = row(1, 5, 100);
  lost.destination.clear();
  gauges.add(lost);
  gauges.finish();
  EXPECT_TRUE(gauges.told().empty());
  EXPECT_EQ(gauges.others().messages, 5U);
}

}  // namespace
}  // namespace postrider::api
