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

// A look that was made before somebody told the name of the item was a look for something else.
TEST_F(DeviceFound, AnItemThatIsAdoptedHasNotBeenLookedForYet) {  // req: device.poll.11
  open_all();
  const MessageId id = send(message("TURN_ON"));
  lose(calls("Enqueue").back().attempt);
  ASSERT_EQ(state(id), "CheckSend");
  queue_holds({});
  txack("i1");
  ASSERT_EQ(state(id), "OnAir");
  pass(12s);
  ASSERT_EQ(state(id), "CheckAir");
  queue_holds({});
  EXPECT_EQ(state(id), "CheckAir");
  pass(5s);
  queue_holds({});
  EXPECT_EQ(state(id), "ToRetry");
}

// A read is repeated without asking, so the server may have an item of it that nobody can name.
TEST_F(DeviceFound, AnEventIsNotAdoptedWhileAnotherNamelessItemMayBeMeant) {  // req: engine.end.21
  open_all({{"spacing", "0"}, {"retry_base", "1h"}});
  send(message("READ_CREDIT"));
  lose(calls("Enqueue").back().attempt);
  pass(1s);
  const MessageId act = send(message("TURN_ON"));
  ASSERT_EQ(state(act), "Sending");
  ack("i1", false);
  EXPECT_EQ(state(act), "Sending");
  // When it turns out to be its own, nothing is lost.
  enqueued("i1");
  EXPECT_EQ(state(act), "ToRetry");
}

// What expired leaves the server's queue, and is told, only when the device is heard again.
TEST_F(DeviceFound, ADiscardIsNotAdoptedHoweverOldAnotherNamelessItemIs) {  // req: engine.end.21
  open_all({{"spacing", "0"}, {"retry_base", "1h"}, {"expires_after", "10m"}});
  send(message("READ_CREDIT"));
  lose(calls("Enqueue").back().attempt);
  pass(30min);
  const MessageId act = send(message("TURN_ON"));
  ASSERT_EQ(state(act), "Sending");
  server_log("EXPIRED", "i1");
  EXPECT_EQ(state(act), "Sending") << "it is the other's, which is long gone";
  enqueued("i2");
  EXPECT_EQ(state(act), "AtServer");
}

}  // namespace
}  // namespace postrider
