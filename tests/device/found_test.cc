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

// A message that late news brings back has left its gate to another one, and a restart reads both.
TEST_F(DeviceFound, AnEventIsAdoptedByTheOpenCallThoughAnotherCameBack) {  // req: engine.gate.21
  open_all({{"spacing", "0"}, {"retry_base", "1h"}});
  const MessageId first = send(message("READ_CREDIT"));
  enqueued("i1");
  ack("i1", false);
  ASSERT_EQ(state(first), "ToRetry");
  pass(1s);
  const MessageId second = send(message("TURN_ON"));
  ASSERT_EQ(state(second), "Sending");
  txack("i1");
  ASSERT_EQ(state(first), "OnAir");
  restart();
  ASSERT_EQ(state(first), "OnAir");
  ASSERT_EQ(state(second), "CheckSend");
  txack("i2");
  EXPECT_EQ(state(second), "OnAir");
  EXPECT_EQ(tallies().adopted, 1U);
}

// The message that holds the gate notes that there is a stranger, and the event waits all the same.
TEST_F(DeviceFound, AnEventOfAStrangerWaitsForItsName) {  // req: device.ack.10, engine.gate.21
  open_all({{"spacing", "0"}});
  const MessageId first = send(message("TURN_ON"));
  enqueued("i1");
  txack("i2");
  ASSERT_EQ(state(first), "AtServer");
  ack("i1", true);
  pass(10s);
  ASSERT_EQ(phase(first), Phase::kDelivered);
  const MessageId second = send(message("TURN_OFF"));
  enqueued("i2");
  EXPECT_EQ(state(second), "OnAir");
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

// The item of a lost Enqueue lives as long as its own queue said, however short the other's is.
TEST_F(DeviceFound, AnItemOfAnotherQueueIsNotAdoptedWhileItMayLive) {  // req: device.poll.14
  open_all({{"spacing", "0"}, {"retry_base", "1h"}});
  NamedTexts brief = push_settings();
  put(brief, {"expires_after", "10m"});
  add_queue("lora.network:8", brief);
  send(message("READ_CREDIT"));
  lose(calls("Enqueue").back().attempt);
  pass(30min);
  device::DeviceMessage command = message("TURN_ON");
  command.network = 8;
  const MessageId act = send(command);
  ASSERT_EQ(state(act), "Sending");
  ack("i1", false);
  EXPECT_EQ(state(act), "Sending");
  enqueued("i2");
  EXPECT_EQ(state(act), "AtServer");
}

TEST_F(DeviceFound, AnExpiryThatTheServerWasNotToldClosesNothing) {  // req: device.poll.14
  open_all({{"spacing", "0"}});
  const MessageId act = send(message("TURN_ON"));
  enqueued("i1");
  NamedTexts brief = push_settings();
  put(brief, {"expires_after", "10m"});
  add_queue(kPushQueue, brief);
  far_side = [this](const StartAttempt& call) {
    if (is_call(call, "GetQueue")) lose(call.attempt, WireEnd::kRefused);
  };
  pass(24h);
  EXPECT_FALSE(calls("GetQueue").empty());
  EXPECT_EQ(calls("Enqueue").size(), 1U) << state(act);
  pass(3min);
  EXPECT_EQ(calls("Enqueue").size(), 2U) << "60 s behind what the server was told";
}

TEST_F(DeviceFound, AnItemIsRecognisedByTheExpiryThatTheServerWasTold) {  // req: device.poll.14
  open_all({{"spacing", "0"}});
  const MessageId act = send(message("TURN_ON"));
  lose(calls("Enqueue").back().attempt);
  ASSERT_EQ(state(act), "CheckSend");
  NamedTexts brief = push_settings();
  put(brief, {"expires_after", "10m"});
  add_queue(kPushQueue, brief);
  queue_holds({sent_item(0, "i1")});
  EXPECT_EQ(state(act), "AtServer");
}

}  // namespace
}  // namespace postrider
