// Tokens made for meters, told through the shard.
#include "postrider/profiles/device/mint.h"

#include "postrider/profiles/device/table.h"
#include "postrider/protocols/device/mint.h"
#include "tests/support/device_rig.h"

namespace postrider {
namespace {

class DeviceMints : public DeviceRig {
 protected:
  MessageId ask_for_token(std::string_view queue, std::string_view plugin) {
    device::Mint mint;
    mint.plugin = plugin;
    mint.meter = kMeter;
    mint.decoder_key = "0123456789abcdef";
    mint.issued = kStart;
    mint.kwh = device::make_decimal(5, 0);
    Submit event;
    event.caller.ticket = Ticket(++tickets);
    event.destination = queue;
    event.attributes = device::mint_attributes();
    event.body = device::encode_mint(mint);
    post(event);
    EXPECT_EQ(code_of(tickets), AnswerCode::kAccepted) << told(tickets).detail;
    return id_of(tickets);
  }
  device::Minted fate(MessageId id) { return device::minted(shown(id)); }
};

TEST_F(DeviceMints, EndWithTheTokenThatTheVendorMade) {
  open_all({}, {{"vend_password", "v"}});
  const MessageId id = ask_for_token(kPullQueue, "calin");
  ASSERT_EQ(calls("POS_Purchase").size(), 1U);
  EXPECT_EQ(fate(id).fate, device::Minted::Fate::kPending);
  reply(calls().back().attempt, 200,
        R"({"result_code":0,"reason":"OK","result":{"token":"12345678901234567890"}})",
        {{"content-type", "application/json"}});
  EXPECT_EQ(fate(id).fate, device::Minted::Fate::kMade);
  EXPECT_EQ(fate(id).token, "12345678901234567890");
  EXPECT_TRUE(events().empty());
}

TEST_F(DeviceMints, AreNeverAskedForAgainWhenTheReplyWasLost) {
  open_all({}, {{"vend_password", "v"}});
  const MessageId lost = ask_for_token(kPullQueue, "calin");
  lose(calls().back().attempt);
  EXPECT_EQ(fate(lost).fate, device::Minted::Fate::kUnknown);
  const MessageId crashed = ask_for_token(kPullQueue, "calin");
  restart();
  pass(1h);
  EXPECT_EQ(fate(crashed).fate, device::Minted::Fate::kUnknown);
  EXPECT_TRUE(calls().empty());
}

TEST_F(DeviceMints, AreTriedAgainWhenNothingWasAskedYet) {
  open_all({}, {{"vend_password", "v"}});
  const MessageId id = ask_for_token(kPullQueue, "calin");
  lose(calls().back().attempt, WireEnd::kRefused);
  pass(3s);
  ASSERT_EQ(calls("POS_Purchase").size(), 2U);
  EXPECT_EQ(fate(id).fate, device::Minted::Fate::kPending);
}

TEST_F(DeviceMints, GoToAnStsServiceWhereThereIsNoVendor) {
  open_all({{"sts_url", "http://sts"}});
  const MessageId id = ask_for_token(kPushQueue, "lora");
  ASSERT_EQ(calls("http://sts/token").size(), 1U);
  reply(calls().back().attempt, 200, R"({"token":"12345678901234567890"})",
        {{"content-type", "application/json"}});
  EXPECT_EQ(fate(id).token, "12345678901234567890");
  EXPECT_EQ(shown(id).notes.find("0123456789abcdef"), std::string::npos);
}

TEST_F(DeviceMints, HaveAMethodThatNoCommandMayName) {  // req: device.st.7
  open_all({}, {{"vend_password", "v"}});
  const MessageId id = ask_for_token(kPullQueue, "calin");
  const auto record = store.memory().get(keys::hot(id.sequence(), keys::Part::kMessage));
  ASSERT_TRUE(record.has_value());
  EXPECT_EQ(decode_message(*record)->method, device::kMintMethod);
  Submit event;
  event.caller.ticket = Ticket(++tickets);
  event.destination = kPullQueue;
  event.attributes = encode_texts({{"method", "pull-free"}});
  post(event);
  EXPECT_EQ(code_of(tickets), AnswerCode::kInvalid);
}

TEST_F(DeviceMints, AreTriedAgainWhenTheStsServiceWasNotReached) {
  open_all({{"sts_url", "http://sts"}});
  const MessageId id = ask_for_token(kPushQueue, "lora");
  lose(calls().back().attempt, WireEnd::kRefused);
  pass(3s);
  ASSERT_EQ(calls("http://sts/token").size(), 2U);
  EXPECT_EQ(fate(id).fate, device::Minted::Fate::kPending);
}

}  // namespace
}  // namespace postrider
