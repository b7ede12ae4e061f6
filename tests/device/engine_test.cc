// Features of the engine that the device profile is the first to use, seen through it.
#include "tests/support/device_rig.h"

namespace postrider {
namespace {

using DeviceEngine = DeviceRig;

// req: engine.start.20
TEST_F(DeviceEngine, WhatAStartSendsOnSurvivesTheCrashThatFollows) {
  deaf = true;
  open_all();
  const MessageId id = send(message("TURN_ON"));
  ASSERT_EQ(state(id), "Sending");
  restart();
  deaf = false;
  pass(1s);
  EXPECT_EQ(events_of("SENT_TO_NS"), 1U);
}

// req: engine.arrive.20
TEST_F(DeviceEngine, WhatArrivesAboutNobodySendsOnByItself) {
  deaf = true;
  open_all();
  join();
  restart();
  deaf = false;
  pass(1s);
  ASSERT_EQ(bodies.size(), 1U);
  EXPECT_NE(bodies[0].find("JOIN_NETWORK"), std::string::npos) << bodies[0];
}

// The answer to a command that ended without one comes when the next of its kind waits for its own.
// req: engine.end.20
TEST_F(DeviceEngine, ANameThatAnEndLeftIsToldWithLaterNews) {
  open_all({{"spacing", "0"}, {"life_max", "1m"}, {"air_time_out", "1h"}});
  const auto read = message("READ_CREDIT");
  const MessageId first = send(read);
  enqueued("i1");
  txack("i1");
  pass(1min);
  ASSERT_EQ(phase(first), Phase::kExpired);
  EXPECT_EQ(outcome(first), "expired");  // from the notes that the end left
  const MessageId second = send(read);
  enqueued("i2");
  txack("i2");
  ASSERT_EQ(state(second), "OnAir");
  uplink(frame(read), "late");
  EXPECT_EQ(state(second), "OnAir");
}

// req: engine.trail.1
TEST_F(DeviceEngine, ATrailIsToldAfterTheEndStepByStep) {
  open_all();
  const auto command = message("READ_CREDIT");
  const MessageId id = send(command);
  lose(calls("Enqueue").back().attempt, WireEnd::kRefused);
  pass(3s);
  enqueued("i1");
  restart();
  txack("i1");
  ack("i1", true);
  uplink(frame(command));
  ASSERT_EQ(phase(id), Phase::kDelivered);
  const std::vector<std::string> expected = {
      "QUEUED",     "SENT_TO_NS",      "TO_RETRY",       "QUEUED",
      "SENT_TO_NS", "DELIVERED_TO_NS", "SENT_TO_DEVICE", "DELIVERY_SUCCESSFUL"};
  EXPECT_EQ(statuses(id), expected);
  EXPECT_NE(history(id).find("connection refused"), std::string::npos) << history(id);
}

}  // namespace
}  // namespace postrider
