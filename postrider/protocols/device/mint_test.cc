#include "postrider/protocols/device/mint.h"

#include <gtest/gtest.h>

namespace postrider::device {
namespace {

constexpr std::string_view kTopUp =
    R"({"type":"TOP_UP_KWH","pluginId":"calin","issueDateString":"2026-08-12T14:30:00.000Z",)"
    R"("device":{"externalReference":"47003333623","decoderKey":"0123456789abcdef"},)"
    R"("payload":{"kwh":12.5}})";

Mint top_up() { return *parse_mint(kTopUp); }
std::string refusal(std::string text) {
  const auto parsed = parse_mint(text);
  return parsed ? "" : parsed.error().detail;
}
calin::HttpAnswer json(std::string_view body, int status = 200) {
  return {.status = status, .content_type = "application/json", .body = body};
}

TEST(DeviceMint, IsReadAndWrittenBackTheSame) {
  EXPECT_EQ(encode_mint(top_up()), kTopUp);
  EXPECT_EQ(top_up().kwh, make_decimal(125, 1));
}

TEST(DeviceMint, RefusesWhatItDoesNotKnow) {
  EXPECT_NE(refusal(R"({"typ":"TOP_UP_KWH"})").find("did you mean 'type'"), std::string::npos);
  EXPECT_NE(refusal(R"({"type":"READ_CREDIT"})").find("type: must be"), std::string::npos);
  EXPECT_NE(refusal(R"({"type":"DELIVER_PREEXISTING_TOKEN"})").find("type"), std::string::npos);
  std::string text(kTopUp);
  text.replace(text.find("12.5"), 4, "-1.0");
  EXPECT_NE(refusal(text).find("kwh"), std::string::npos);
  text = kTopUp;
  text.replace(text.find("kwh"), 3, "powerLimit");
  EXPECT_NE(refusal(text).find("payload.kwh"), std::string::npos);
  text = kTopUp;
  text.replace(text.find("0123456789abcdef"), 16, "0123456789abcde");
  EXPECT_NE(refusal(text).find("16 hexadecimal digits"), std::string::npos);
  EXPECT_EQ(refusal(text).find("0123456789abcde"), std::string::npos) << "a secret is told";
}

TEST(DeviceMint, AsksEachVendorInItsOwnWords) {
  const VendorV1 one{{.company = "c", .user = "u", .password = "p"}, "v"};
  EXPECT_EQ(mint_call_v1(one, top_up()).path, "/POS_Purchase");
  EXPECT_EQ(mint_call_v1(one, top_up()).body,
            R"({"company_name":"c","user_name":"u","password":"p","password_vend":"v",)"
            R"("is_vend_by_unit":true,"meter_number":"47003333623","amount":12.5})");
  Mint limit = top_up();
  limit.type = Command::kSetPowerLimit;
  limit.kwh.reset();
  limit.power_limit = make_decimal(900, 0);
  EXPECT_EQ(mint_call_v1(one, limit).path, "/Maintenance_SetMaxPower");
  const VendorV2 two{
      {.user = "u", .password = "p", .company = "c", .customer = "x"}, "v", "serial"};
  EXPECT_EQ(mint_call_v2(two, top_up()).path, "/API/Token/CreditToken/Generate");
  EXPECT_EQ(mint_call_v2(two, limit).path, "/API/Token/SetMaximumPowerLimitToken/Generate");
  const auto sts = mint_call_sts(top_up(), 7);
  ASSERT_TRUE(sts);
  EXPECT_EQ(sts->body, R"({"decoderKey":"0123456789abcdef","randomNumber":7,)"
                       R"("issueDate":"2026-08-12T14:30:00.000Z","type":"TOP_UP_KWH","kwh":12.5})");
  Mint keyless = top_up();
  keyless.decoder_key.clear();
  EXPECT_FALSE(mint_call_sts(keyless, 7));
}

TEST(DeviceMint, TakesATokenOrSaysHowSureItIsThatThereIsNone) {
  const auto one = read_mint_v1(
      json(R"({"result_code":0,"reason":"OK","result":{"token":"1234 5678 9012 3456 7890"}})"));
  EXPECT_EQ(one.verdict, SendVerdict::kAccepted);
  EXPECT_EQ(one.item, "12345678901234567890");
  EXPECT_EQ(read_mint_v1(json(R"({"result_code":0,"result":"12345678901234567890"})")).item,
            "12345678901234567890");
  EXPECT_EQ(read_mint_v1(json(R"({"result_code":5,"reason":"no money"})")).verdict,
            SendVerdict::kFailed);
  EXPECT_EQ(read_mint_v2(json(R"({"code":0,"result":{"token":"12345678901234567890"}})")).verdict,
            SendVerdict::kAccepted);
  EXPECT_EQ(read_mint_v2(json(R"({"code":0,"result":{}})")).verdict, SendVerdict::kUnknown)
      << "it may have been made";
  EXPECT_EQ(read_mint_sts(json(R"({"token":"12345678901234567890"})")).verdict,
            SendVerdict::kAccepted);
  for (const std::string_view broken : {"", "[]", "<html>", R"({"token":"abc"})"})
    EXPECT_EQ(read_mint_sts(json(broken)).verdict, SendVerdict::kUnknown) << broken;
  EXPECT_EQ(read_mint_sts(json("{}", 500)).verdict, SendVerdict::kUnknown);
  EXPECT_EQ(read_mint_sts(json("{}", 400)).verdict, SendVerdict::kFailed);
}

}  // namespace
}  // namespace postrider::device
