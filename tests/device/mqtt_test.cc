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
  // The question before the last command has ended so, and the command has not left.
  void first_ended(WireEnd end, int grpc_status) {
    AttemptEnded event;
    event.attempt = published().back().attempt;
    event.reply.end = end;
    event.reply.status = grpc_status;
    event.reply.of_first = true;
    post(event);
  }
  void answer_looks(const std::vector<chirpstack::QueueItem>& items) {
    far_side = [this, items](const StartAttempt& call) {
      if (is_call(call, "GetQueue")) answer_queue(call, items);
    };
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
  EXPECT_EQ(status(id), "DELIVERED_TO_NS");
  txack(item.id);
  EXPECT_EQ(state(id), "OnAir");
  ack(item.id, true);
  uplink(frame(command));
  EXPECT_EQ(outcome(id), "executed");
}

// req: device.send.11
TEST_F(DeviceMqtt, TheServerIsAskedForTheDeviceBeforeACommandIsPublished) {
  open_mqtt();
  send(message("READ_CREDIT"));
  ASSERT_EQ(published().size(), 1U);
  const auto first = published()[0].request.first;
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(first->verb, "CALL");
  EXPECT_EQ(first->target, "http://ns:8080/api.DeviceService/Get");
  EXPECT_EQ(first->headers.find("authorization"), "Bearer secret-key");
  EXPECT_EQ(chirpstack::decode_get_device(first->body).value_or(""), kEui);
}
// req: device.send.11
TEST_F(DeviceMqtt, ADeviceThatTheServerDoesNotKnowIsRefusedAtOnce) {
  open_mqtt();
  for (const char* command : {"READ_CREDIT", "TURN_ON"}) {
    const MessageId id =
        send(message(command, command == std::string("TURN_ON") ? kMeter : meter(1)));
    first_ended(WireEnd::kAnswered, 5);
    EXPECT_EQ(phase(id), Phase::kDead);
    EXPECT_EQ(outcome(id), "failed");
    EXPECT_EQ(may_have_run(id), "false");
    pass(10s);
  }
  EXPECT_EQ(published().size(), 2U);
}
// req: device.send.11
TEST_F(DeviceMqtt, WithoutAnAnswerAboutTheDeviceNothingHasLeftAndTheAttemptIsClosed) {
  open_mqtt();
  const MessageId id = send(message("TURN_ON"));
  struct Case {
    WireEnd end;
    int status;
  };
  const std::vector<Case> cases = {{WireEnd::kRefused, 0},
                                   {WireEnd::kTimedOut, 0},
                                   {WireEnd::kReset, 0},
                                   {WireEnd::kAnswered, 14},
                                   {WireEnd::kAnswered, 16}};
  Duration back_off = 2s;
  for (const Case& one : cases) {
    first_ended(one.end, one.status);
    EXPECT_EQ(state(id), "ToRetry") << static_cast<int>(one.end) << ' ' << one.status;
    pass(back_off);
    back_off *= 2;
  }
  EXPECT_EQ(published().size(), 6U);
  EXPECT_EQ(tallies().alarms, 1U);
  for (; back_off <= 4096s; back_off *= 2) {
    first_ended(WireEnd::kReset, 0);
    pass(back_off);
  }
  EXPECT_EQ(outcome(id), "failed");
  EXPECT_EQ(may_have_run(id), "false");
}

// req: device.poll.13
TEST_F(DeviceMqtt, AnActThatWasNeverSeenAtTheServerIsNotSentAgainForItsAbsence) {
  open_mqtt();
  const MessageId id = send(message("TURN_ON"));
  reply(published()[0].attempt, 0, "");
  answer_looks({});  // the server's session at the broker is away, its gRPC is not
  pass(23h);
  EXPECT_EQ(published().size(), 1U);
  EXPECT_EQ(status(id), "DELIVERED_TO_NS");
  txack(item_at(0).id);  // it is back
  EXPECT_EQ(state(id), "OnAir");
}
// req: device.poll.13
TEST_F(DeviceMqtt, NorIsOneWhosePublishWasCutOffByAKill) {
  open_mqtt();
  const MessageId id = send(message("TURN_ON"));
  const chirpstack::QueueItem item = item_at(0);
  restart();
  answer_looks({});
  pass(23h);
  EXPECT_TRUE(published().empty());
  EXPECT_EQ(state(id), "CheckSend");
  EXPECT_LT(calls("GetQueue").size(), 24U * 61);
  answer_looks({item});
  pass(2min);
  EXPECT_EQ(state(id), "AtServer");
}
// req: device.poll.13
TEST_F(DeviceMqtt, ItIsSentAgainWhenTheServerMustHaveForgottenIt) {
  open_mqtt();
  const MessageId id = send(message("TURN_ON"));
  reply(published()[0].attempt, 0, "");
  answer_looks({});
  pass(24h + 1min + 16min);
  EXPECT_EQ(published().size(), 2U);
  EXPECT_EQ(field(history(id), "closed"), "expired");
}
// req: device.poll.13
TEST_F(DeviceMqtt, WhatWasSeenAtTheServerIsGoneWhenItIsThereNoMore) {
  open_mqtt();
  const MessageId id = send(message("TURN_ON"));
  reply(published()[0].attempt, 0, "");
  ASSERT_EQ(calls("GetQueue").size(), 1U) << "a look while it can be seen";
  queue_holds({item_at(0)});
  EXPECT_EQ(state(id), "AtServer");
  join();
  queue_holds({});
  pass(5s);
  queue_holds({});
  EXPECT_EQ(state(id), "ToRetry");
  EXPECT_EQ(field(history(id), "closed"), "absent");
}
// req: device.poll.13
TEST_F(DeviceMqtt, WhatAnEventNamedIsGoneWhenItIsThereNoMore) {
  open_mqtt();
  const MessageId id = send(message("TURN_ON"));
  reply(published()[0].attempt, 0, "");
  txack(item_at(0).id);
  pass(12s);
  ASSERT_EQ(state(id), "CheckAir");
  queue_holds({});
  pass(5s);
  queue_holds({});
  EXPECT_EQ(state(id), "ToRetry");
}
// req: device.poll.13
TEST_F(DeviceMqtt, AnItemOfTheSameContentIsNotTakenForIt) {
  open_mqtt();
  const MessageId id = send(message("TURN_ON"));
  chirpstack::QueueItem other = item_at(0);
  other.id = "another";
  restart();
  queue_holds({other});
  EXPECT_EQ(state(id), "CheckSend");
}
// req: device.poll.11
TEST_F(DeviceMqtt, AReadIsSentAgainAfterOneLookWithoutIt) {
  open_mqtt();
  const MessageId id = send(message("READ_CREDIT"));
  reply(published()[0].attempt, 0, "");
  EXPECT_EQ(state(id), "AtServer");
  answer_looks({});
  pass(15min);
  EXPECT_EQ(state(id), "ToRetry");
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
