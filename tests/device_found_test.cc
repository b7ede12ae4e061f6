// What the simulator found in the device profile and the engine below it, told as short stories.
#include "tests/support/device_rig.h"

namespace postrider {
namespace {

using DeviceFound = DeviceRig;

// An uplink may outrun its acknowledgement, which then comes when the next command is at work.
TEST_F(DeviceFound, NewsOfACommandThatHasEndedIsNotTakenForTheNextOnes) {  // req: engine.gate.21
  open_all({{"spacing", "0"}});
  const auto read = message("READ_CREDIT");
  const MessageId first = send(read);
  enqueued("i1");
  txack("i1");
  const MessageId second = send(message("TURN_ON"));
  EXPECT_EQ(state(second), "Queued");
  uplink(frame(read));
  EXPECT_EQ(phase(first), Phase::kDelivered);
  pass(1s);
  ASSERT_EQ(state(second), "Sending");
  ack("i1", true);
  EXPECT_EQ(state(second), "Sending");
}

}  // namespace
}  // namespace postrider
