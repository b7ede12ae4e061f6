// Why a command has not been sent yet.
#include "tests/support/device_rig.h"

namespace postrider {
namespace {

class DeviceExplain : public DeviceRig {
 protected:
  std::string why(MessageId id) { return shown(id).explanation.why; }
  bool begins(MessageId id, std::string_view word) { return why(id).starts_with(word); }
};

// req: device.obs.3
TEST_F(DeviceExplain, SaysSpacingWithTheNextSlot) {
  open_all();
  send(message("READ_CREDIT", "47000000001"));
  const MessageId second = send(message("READ_CREDIT", "47000000002"));
  EXPECT_TRUE(begins(second, "spacing")) << why(second);
  EXPECT_EQ(shown(second).explanation.next_at, kStart + Duration(2s));
}

// req: device.obs.3
TEST_F(DeviceExplain, SaysCapWhenTheGatewayIsFull) {
  open_all();
  for (int i = 0; i < 5; ++i) send(pulled("READ_CREDIT", std::to_string(47'000'000'000 + i)));
  const MessageId sixth = send(pulled("READ_CREDIT", "47000000009"));
  EXPECT_TRUE(begins(sixth, "cap: all 5 places")) << why(sixth);
}

// req: device.obs.3
TEST_F(DeviceExplain, SaysThatTheDeviceIsBusy) {
  open_all({{"spacing", "0"}});
  send(message("READ_CREDIT"));
  const MessageId second = send(message("READ_DATE"));
  EXPECT_TRUE(begins(second, "device busy")) << why(second);
}

// req: device.obs.3
TEST_F(DeviceExplain, SaysThatItWaitsForItsNextAttempt) {
  open_all();
  const MessageId id = send(message("READ_CREDIT"));
  lose(calls().back().attempt, WireEnd::kRefused);
  EXPECT_EQ(phase(id), Phase::kBackoff);
  EXPECT_EQ(shown(id).explanation.next_at, kStart + Duration(2s));
}

// req: device.obs.3
TEST_F(DeviceExplain, SaysHoldOffForADeviceThatStaysSilent) {
  open_all({{"spacing", "0"}, {"strikes_max", "3"}});
  const MessageId id = send(message("READ_CREDIT"));
  for (int i = 1; i <= 3; ++i) {
    const std::string item = "i" + std::to_string(i);
    enqueued(item);
    ack(item, false);
    if (i < 3) pass(20s);
  }
  pass(30s);
  EXPECT_EQ(state(id), "Queued");
  EXPECT_TRUE(begins(id, "hold-off")) << why(id);
}

// req: device.obs.3
TEST_F(DeviceExplain, SaysBreakerForAVendorThatCannotBeReached) {
  open_all();
  for (int i = 0; i < 5; ++i) {
    send(pulled("READ_CREDIT", std::to_string(47'000'000'000 + i)));
    lose(calls().back().attempt, WireEnd::kRefused);
  }
  const MessageId id = send(pulled("READ_CREDIT", "47000000009"));
  EXPECT_TRUE(begins(id, "breaker")) << why(id);
  EXPECT_EQ(shown(id).explanation.next_at, kStart + Duration(60s));
}

// req: device.obs.3
TEST_F(DeviceExplain, SaysUnservedWhereThePluginIsGone) {
  open_all();
  Pause pause;
  pause.caller.ticket = Ticket(90);
  pause.destination = kPushQueue;
  pause.reason = "unserved: the plugin 'lora' is not configured";
  post(pause);
  const MessageId id = send(message("READ_CREDIT"));
  EXPECT_NE(why(id).find("unserved"), std::string::npos) << why(id);
}

}  // namespace
}  // namespace postrider
