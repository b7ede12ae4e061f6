// The window in which an acknowledgement and the uplink with the answer belong together is the
// plugin's to say.
#include "tests/support/device_rig.h"

namespace postrider {
namespace {

struct Apart {
  const char* name;
  bool uplink_first;
  Duration apart;
  bool pairs;
};

class DevicePairing : public DeviceRig, public ::testing::WithParamInterface<Apart> {
 protected:
  void bring(const chirpstack::Event& event) {
    chirpstack::Event whole = event;
    whole.dev_eui = kEui;
    Arrived arrived;
    arrived.caller.ticket = Ticket(++tickets);
    arrived.profile = "device";
    arrived.source = {
        .origin = "lora", .kind = std::string(chirpstack::name_of(event.kind)), .format = "json"};
    arrived.settings = {{"events", "hear"}, {"pair_window", "3s"}};
    arrived.bytes = chirpstack::encode_event_json(whole);
    post(arrived);
  }
  void say(bool up, const device::DeviceMessage& command) {
    chirpstack::Event event;
    event.kind = up ? chirpstack::EventKind::kUp : chirpstack::EventKind::kAck;
    event.deduplication_id = "d1";
    if (up) event.data = frame(command);
    if (!up) event.queue_item_id = "i1";
    event.acknowledged = !up;
    bring(event);
  }
};

// req: device.ack.3
TEST_P(DevicePairing, HasTheWindowThatThePluginSays) {
  open_all({{"pair_window", "3s"}});
  const auto command = message("READ_CREDIT");
  const MessageId id = send(command);
  enqueued("i1");
  say(GetParam().uplink_first, command);
  pass(GetParam().apart);
  say(!GetParam().uplink_first, command);
  EXPECT_EQ(phase(id) == Phase::kDelivered, GetParam().pairs) << state(id);
}

INSTANTIATE_TEST_SUITE_P(Window, DevicePairing,
                         ::testing::Values(Apart{"AckThenUplink2999", false, 2'999ms, true},
                                           Apart{"AckThenUplink3000", false, 3'000ms, false},
                                           Apart{"UplinkThenAck2999", true, 2'999ms, true},
                                           Apart{"UplinkThenAck3000", true, 3'000ms, false}),
                         [](const auto& one) { return std::string(one.param.name); });

// The acknowledgement and the uplink have one id, so it is known whose answer this was, even when
// it is too late to pair them and everything else about the first command is forgotten. req:
// device.ack.3
TEST_F(DevicePairing, AnAnswerThatCameTooLateIsNotTakenForTheNextCommand) {
  open_all({{"pair_window", "3s"}, {"expires_after", "1m"}});
  const auto command = message("TURN_OFF");
  const MessageId first = send(command);
  enqueued("i1");
  say(false, command);
  pass(3s);
  ASSERT_EQ(phase(first), Phase::kDelivered) << "acknowledged, and nobody knows more";
  pass(10min);
  const MessageId second = send(command);
  enqueued("i2");
  chirpstack::Event radiated;
  radiated.kind = chirpstack::EventKind::kTxAck;
  radiated.queue_item_id = "i2";
  bring(radiated);
  ASSERT_EQ(state(second), "OnAir");
  say(true, command);
  EXPECT_EQ(state(second), "OnAir");
}

// req: device.ack.3
TEST_F(DevicePairing, TakesWindowsOfATenthOfASecondToTenMinutes) {
  open();
  const auto code = [&](std::string_view window) {
    NamedTexts settings = push_settings();
    settings.emplace_back("pair_window", window);
    const std::uint64_t ticket = ++tickets;
    post(queue(ticket, "lora.network:" + std::to_string(ticket), settings));
    return code_of(ticket);
  };
  EXPECT_EQ(code("99ms"), AnswerCode::kInvalid);
  EXPECT_EQ(code("100ms"), AnswerCode::kDone);
  EXPECT_EQ(code("10m"), AnswerCode::kDone);
  EXPECT_EQ(code("600001ms"), AnswerCode::kInvalid);
}

}  // namespace
}  // namespace postrider
