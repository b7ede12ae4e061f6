// Waiting that is worth priority.
#include "tests/support/device_rig.h"

namespace postrider {
namespace {

class DeviceAgeing : public DeviceRig {
 protected:
  MessageId send_at(std::uint16_t priority, const std::string& meter) {
    auto command = message("READ_CREDIT", meter);
    command.priority = priority;
    return send(command);
  }
  // The meters in the order in which their commands left.
  std::vector<std::string> order() const {
    std::vector<std::string> out;
    for (const StartAttempt& start : calls("Enqueue")) {
      const auto sent = chirpstack::decode_enqueue(start.request.body);
      out.push_back(chirpstack::reference_of(sent->item.dev_eui).value_or(""));
    }
    return out;
  }
};

// req: device.adm.13
TEST_F(DeviceAgeing, LetsAnOldCommandPassNewerOnesOfHigherPriority) {
  open_all({{"age_step", "10s"}, {"spacing", "1m"}, {"call_time_out", "1h"}});
  send_at(9, "47000000001");  // takes the first slot
  send_at(1, "47000000002");
  pass(59s + 999ms);
  send_at(6, "47000000003");  // 1 + 5 full steps is 6 as well: the older goes first
  pass(1s);
  EXPECT_EQ(order(), (std::vector<std::string>{"47000000001", "47000000002"}));
}

// req: device.adm.13
TEST_F(DeviceAgeing, CountsFullStepsOnly) {
  open_all({{"age_step", "10s"}, {"spacing", "1m"}, {"call_time_out", "1h"}});
  send_at(9, "47000000001");
  pass(1ms);
  send_at(1, "47000000002");  // 59.999 s before the next slot: 5 steps
  send_at(7, "47000000003");  // and 7 + 5
  pass(40s);
  send_at(8, "47000000004");  // at the slot after that 8 + 7, against 1 + 11
  pass(2min);
  EXPECT_EQ(order(), (std::vector<std::string>{"47000000001", "47000000003", "47000000004"}));
}

// req: device.adm.13, device.adm.2
TEST_F(DeviceAgeing, IsOffUnlessSet) {
  open_all({{"spacing", "1m"}, {"call_time_out", "1h"}});
  send_at(9, "47000000001");
  send_at(1, "47000000002");
  pass(59s);
  send_at(2, "47000000003");
  pass(2s);
  EXPECT_EQ(order().back(), "47000000003");
}

}  // namespace
}  // namespace postrider
