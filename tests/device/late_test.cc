// Answers that follow a negative acknowledgement: the server gave the attempt up before the device
// answered.
#include "tests/support/device_rig.h"

namespace postrider {
namespace {

class DeviceLate : public DeviceRig {
 protected:
  // A command that a gateway has sent. The item is i1.
  MessageId on_air(const device::DeviceMessage& command) {
    const MessageId id = send(command);
    enqueued("i1");
    txack("i1");
    return id;
  }
};

// req: device.ack.15
TEST_F(DeviceLate, AnAnswerBehindANegativeAckIsTakenWhileTheFirstRetryWaits) {
  open_all();
  const auto command = message("TURN_ON");
  const MessageId id = on_air(command);
  ack("i1", false);
  ASSERT_EQ(state(id), "ToRetry");
  pass(1s);
  uplink(frame(command));
  EXPECT_EQ(outcome(id), "executed");
  pass(1h);
  EXPECT_EQ(calls("Enqueue").size(), 1U);
}
// req: device.ack.15
TEST_F(DeviceLate, AnAnswerBehindANegativeAckIsTakenWhileTheRetryWaitsForItsSlot) {
  open_all({{"spacing", "10m"}});
  const auto command = message("TURN_ON");
  const MessageId id = on_air(command);
  ack("i1", false);
  pass(1min);
  ASSERT_EQ(state(id), "Queued");
  restart();
  uplink(frame(command, false));
  EXPECT_EQ(outcome(id), "refused");
}
// req: device.ack.15
TEST_F(DeviceLate, AnAnswerIsNotTakenLateWhenItCouldBeThatOfAnotherAttempt) {
  open_all({{"spacing", "0"}});
  const auto command = message("TURN_ON");
  const MessageId twice = on_air(command);
  ack("i1", false);
  pass(2s);
  enqueued("i2");
  ack("i2", false);
  ASSERT_EQ(state(twice), "ToRetry");
  uplink(frame(command));
  EXPECT_EQ(state(twice), "ToRetry") << "two attempts were made";
}
// req: device.ack.15
TEST_F(DeviceLate, AnAnswerIsNotTakenLateWhenAnotherMessageWasOwedOneAlike) {
  open_all({{"spacing", "0"}, {"retries", "0"}});
  const auto command = message("TURN_ON");
  on_air(command);
  ack("i1", false);  // it has failed, and may answer yet
  add_queue("lora.network:8", push_settings());
  auto second = message("TURN_OFF");
  second.network = 8;
  const MessageId id = send(second);
  enqueued("i2");
  ack("i2", false);
  ASSERT_EQ(state(id), "ToRetry");
  uplink(frame(command));
  EXPECT_EQ(state(id), "ToRetry");
}
// req: device.ack.15
TEST_F(DeviceLate, AnAnswerIsNotTakenLateWhileAnotherAttemptIsAtTheDevice) {
  open_all({{"spacing", "0"}});
  auto command = message("TURN_ON");
  command.request.phase = device::MeterPhase::kA;
  const MessageId waits = on_air(command);
  ack("i1", false);
  auto other = message("TURN_OFF");
  other.request.phase = device::MeterPhase::kB;
  const MessageId at_device = send(other);
  enqueued("i2");
  ASSERT_EQ(state(at_device), "AtServer");
  uplink(frame(command));
  EXPECT_EQ(state(waits), "ToRetry");
  EXPECT_EQ(state(at_device), "AtServer");
}

}  // namespace
}  // namespace postrider
