// Messages and addresses as texts.
#include "postrider/protocols/lxmf/text_form.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "postrider/protocols/reticulum/random_testing.h"

namespace postrider::lxmf {
namespace {

TEST(Addresses, Are32Digits) {
  const std::string digits = "9695d17f22fa6e45d2b0cd3439a7ca7e";
  ASSERT_TRUE(address_of(digits));
  EXPECT_EQ(hex_of(reticulum::view(*address_of(digits))), digits);
  for (const std::string_view wrong :
       {"", "9695d17f22fa6e45d2b0cd3439a7ca7", "9695d17f22fa6e45d2b0cd3439a7ca7e0",
        "9695d17f22fa6e45d2b0cd3439a7ca7g", "+695d17f22fa6e45d2b0cd3439a7ca7e"})
    EXPECT_FALSE(address_of(wrong)) << wrong;
}

TEST(MessageText, HasBase64ForWhatIsNoText) {
  LxmfMessage message;
  message.time = 1.5;
  message.title = "a \"title\"";
  message.content = "\xff\x00\x01";
  message.fields = fields_of_json("{\"5\":\"kQE=\"}").value();
  auto received = unpack(pack(message, reticulum::alice().signing())->bytes);
  ASSERT_TRUE(received);
  const std::string text =
      message_as_json(*received, Carriage::kDirect, SignatureVerdict::kUnknownSource);
  EXPECT_NE(text.find("\"title\":\"a \\\"title\\\"\""), std::string::npos) << text;
  EXPECT_NE(text.find("\"content_base64\":\"/w==\""), std::string::npos) << text;
  EXPECT_NE(text.find("\"fields\":{\"5\":\"kQE=\"}"), std::string::npos) << text;
  EXPECT_NE(text.find("\"signature\":\"source unknown\""), std::string::npos) << text;
}

TEST(FieldsText, IsAnObjectOfNumbersAndMsgpack) {
  EXPECT_EQ(hex_of(*fields_of_json("")), "80");
  EXPECT_EQ(hex_of(*fields_of_json("{}")), "80");
  EXPECT_EQ(hex_of(*fields_of_json("{\"1\":\"AQ==\",\"255\":\"wA==\"}")), "820101ccffc0");
  for (const std::string_view wrong :
       {"[]", "1", "{", "{\"x\":\"AQ==\"}", "{\"256\":\"AQ==\"}", "{\"1\":1}", "{\"1\":\"\"}",
        "{\"1\":\"AQE=\"}", "{\"1\":\"#\"}", "{\"-1\":\"AQ==\"}", "{\"1\":\"kQ==\"}"})
    EXPECT_FALSE(fields_of_json(wrong)) << wrong;
}

RC_GTEST_PROP(FieldsText, IsReadOrRefused, (const std::string& text)) {
  const auto fields = fields_of_json(text);
  if (fields) RC_ASSERT(!fields->empty());
}

}  // namespace
}  // namespace postrider::lxmf
