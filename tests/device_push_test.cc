// Commands by push, told through the shard: the network server and the meter are the test.
#include "tests/support/device_rig.h"

namespace postrider {
namespace {

using DevicePush = DeviceRig;

// req: device.ack.1
TEST_F(DevicePush, ReadsACreditFromEnqueueToAnswer) {
  open_all();
  const auto command = message("READ_CREDIT");
  const MessageId id = send(command);
  ASSERT_EQ(calls("Enqueue").size(), 1U);
  EXPECT_EQ(state(id), "Sending");
  enqueued("i1");
  EXPECT_EQ(state(id), "AtServer");
  txack("i1");
  EXPECT_EQ(state(id), "OnAir");
  ack("i1", true);
  EXPECT_EQ(state(id), "HalfAck");
  uplink(frame(command));
  EXPECT_EQ(phase(id), Phase::kDelivered);
  pass(1s);
  ASSERT_EQ(bodies.size(), 2U);
  EXPECT_NE(bodies[0].find(R"("deliveryStatus":"SENT_TO_NS")"), std::string::npos);
  EXPECT_NE(bodies[1].find(R"("response":{"status":"EXECUTION_SUCCESS","data":123.45)"),
            std::string::npos)
      << bodies[1];
  EXPECT_NE(bodies[1].find(R"("outcome":"executed")"), std::string::npos) << bodies[1];
  EXPECT_NE(history(id).find("DELIVERY_SUCCESSFUL"), std::string::npos) << history(id);
}

}  // namespace
}  // namespace postrider
