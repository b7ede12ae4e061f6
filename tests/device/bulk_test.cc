// Commands that are handed in together: all of a queue are in line before the first of them starts.
#include "tests/support/device_rig.h"

namespace postrider {
namespace {

class DeviceBulk : public DeviceRig {
 protected:
  static device::DeviceMessage urgent(device::DeviceMessage command, std::uint16_t priority) {
    command.priority = priority;
    return command;
  }
  std::vector<MessageId> order() const {
    std::vector<MessageId> out;
    for (const StartAttempt& call : calls("Enqueue")) out.push_back(call.message);
    return out;
  }
};
using BulkIds = std::vector<MessageId>;

// req: device.adm.15
TEST_F(DeviceBulk, CommandsHandedInTogetherStartWithTheHighestPriority) {
  open_all();
  std::vector<MessageId> ids;
  for (std::uint16_t i = 0; i < 5; ++i) {
    const std::uint64_t ticket = ++tickets;
    Submit one = submission(ticket, urgent(message("READ_CREDIT", meter(i)), i));
    one.more = i < 4;
    post(one);
    ids.push_back(id_of(ticket));
  }
  EXPECT_EQ(order(), BulkIds{ids[4]});
  pass(8s);
  EXPECT_EQ(order(), (BulkIds{ids[4], ids[3], ids[2], ids[1], ids[0]}));
}
// req: device.adm.15
TEST_F(DeviceBulk, CommandsWhoseLastNeverComesWaitForASecond) {
  open_all();
  const std::uint64_t ticket = ++tickets;
  Submit one = submission(ticket, message("READ_CREDIT", meter(1)));
  one.more = true;
  post(one);
  pass(999ms);
  EXPECT_TRUE(order().empty());
  pass(1ms);
  EXPECT_EQ(order(), BulkIds{id_of(ticket)});
}
// req: device.adm.15
TEST_F(DeviceBulk, ALastCommandThatIsRefusedLetsTheOthersStart) {
  open_all();
  const std::uint64_t ticket = ++tickets;
  Submit one = submission(ticket, message("READ_CREDIT", meter(1)));
  one.more = true;
  post(one);
  send_in_vain(message("READ_VERSION", meter(2)));
  EXPECT_EQ(order(), BulkIds{id_of(ticket)});
}

}  // namespace
}  // namespace postrider
