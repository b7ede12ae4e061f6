// Push by way of MQTT: commands are published under names of our own; the rest is as by gRPC.
#include "tests/support/device_rig.h"

namespace postrider {
namespace {

class DeviceMqtt : public DeviceRig {
 protected:
  void open_mqtt() {
    open_all({{"way", "chirpstack-mqtt"}, {"application", "app-1"}, {"broker", "main"}});
  }
  std::vector<StartAttempt> published() const { return calls("main application/"); }
  chirpstack::QueueItem item_at(std::size_t number) const {
    const auto item = chirpstack::decode_downlink_command(published().at(number).request.body);
    EXPECT_TRUE(item.has_value());
    return item.value_or(chirpstack::QueueItem());
  }
};

// req: device.send.2, device.send.3, device.send.4
TEST_F(DeviceMqtt, PublishesUnderANameOfItsOwnByWhichNewsFindTheMessage) {
  open_mqtt();
  const auto command = message("TURN_ON");
  const MessageId id = send(command);
  ASSERT_EQ(calls().size(), 1U);
  EXPECT_EQ(calls()[0].request.verb, "PUBLISH");
  EXPECT_EQ(calls()[0].request.target,
            "main application/app-1/device/0000047003333623/command/down");
  const chirpstack::QueueItem item = item_at(0);
  EXPECT_EQ(item.id.size(), 36U);
  EXPECT_EQ(item.dev_eui, kEui);
  EXPECT_EQ(item.f_port, 1U);
  EXPECT_TRUE(item.confirmed);
  EXPECT_EQ(item.expires_at, kStart + 24h);
  reply(calls()[0].attempt, 0, "");
  EXPECT_EQ(state(id), "AtServer");
  txack(item.id);
  EXPECT_EQ(state(id), "OnAir");
  ack(item.id, true);
  uplink(frame(command));
  EXPECT_EQ(outcome(id), "executed");
}
// req: device.ack.5, device.retry.5
TEST_F(DeviceMqtt, EveryAttemptHasAnotherName) {
  open_mqtt();
  const MessageId id = send(message("TURN_ON"));
  reply(calls()[0].attempt, 0, "");
  ack(item_at(0).id, false);
  EXPECT_EQ(state(id), "ToRetry");
  pass(2s);
  ASSERT_EQ(published().size(), 2U);
  EXPECT_NE(item_at(0).id, item_at(1).id);
}
// req: device.crash.3, device.poll.9
TEST_F(DeviceMqtt, WhatWasPublishedBeforeAKillIsLookedForByGrpcAndAdopted) {
  open_mqtt();
  const MessageId id = send(message("TURN_ON"));
  const chirpstack::QueueItem item = item_at(0);
  restart();
  ASSERT_EQ(calls("GetQueue").size(), 1U);
  EXPECT_EQ(calls("GetQueue")[0].request.verb, "CALL");
  queue_holds({item});
  EXPECT_EQ(state(id), "AtServer");
  EXPECT_TRUE(published().empty());
  txack(item.id);
  EXPECT_EQ(state(id), "OnAir");
}
// req: device.ack.10
TEST_F(DeviceMqtt, AnEventThatOvertakesTheBrokersAnswerFindsItsAttempt) {
  open_mqtt();
  const MessageId id = send(message("TURN_ON"));
  txack(item_at(0).id);
  EXPECT_EQ(state(id), "OnAir");
  reply(published()[0].attempt, 0, "");
  EXPECT_EQ(state(id), "OnAir");
}
// req: device.send.10
TEST_F(DeviceMqtt, ABrokerThatCannotBeReachedIsRetriedAndALostAnswerLookedFor) {
  open_mqtt();
  const MessageId id = send(message("TURN_ON"));
  lose(published().back().attempt, WireEnd::kRefused);
  EXPECT_EQ(state(id), "ToRetry");
  pass(2s);
  lose(published().back().attempt, WireEnd::kReset);
  EXPECT_EQ(state(id), "CheckSend");
}

}  // namespace
}  // namespace postrider
