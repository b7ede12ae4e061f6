#include "postrider/protocols/web/standard_webhooks.h"

#include <gtest/gtest.h>

#include "postrider/protocols/web/base64.h"

namespace postrider {
namespace {

constexpr std::string_view kSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
constexpr WebhookContent kContent = {.id = "msg_p5jXN8AQM9LWM0D4loKWxJek",
                                     .timestamp = "1614265330",
                                     .body = "{\"test\": 2432232314}"};
constexpr std::string_view kSignature = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=";

std::string secret_of(std::size_t bytes) {
  return "whsec_" + base64_encode(std::vector<std::uint8_t>(bytes, 7));
}

// The example that the published libraries of the standard test themselves with.
// req: webhook.signature.2
TEST(StandardWebhooks, SignsThePublishedExample) {
  const auto secrets = parse_webhook_secrets(kSecret);
  ASSERT_TRUE(secrets);
  EXPECT_EQ(webhook_signatures(*secrets, kContent), kSignature);
}

// req: webhook.signature.2
TEST(StandardWebhooks, EveryPartOfTheContentIsSigned) {
  const auto secrets = parse_webhook_secrets(kSecret);
  ASSERT_TRUE(secrets);
  for (const auto change :
       {&WebhookContent::id, &WebhookContent::timestamp, &WebhookContent::body}) {
    WebhookContent content = kContent;
    content.*change = "1";
    EXPECT_NE(webhook_signatures(*secrets, content), kSignature);
  }
}

// req: webhook.signature.3
TEST(StandardWebhooks, SignsOncePerSecretInOrder) {
  const std::string other = secret_of(32);
  const auto both = parse_webhook_secrets("  " + std::string(kSecret) + "   " + other + " ");
  const auto second = parse_webhook_secrets(other);
  ASSERT_TRUE(both);
  ASSERT_TRUE(second);
  EXPECT_EQ(webhook_signatures(*both, kContent),
            std::string(kSignature) + " " + webhook_signatures(*second, kContent));
}

// req: webhook.signature.4
TEST(StandardWebhooks, SecretsAreBounded) {
  EXPECT_FALSE(parse_webhook_secrets(secret_of(kWebhookSecretBytesMin - 1)));
  EXPECT_TRUE(parse_webhook_secrets(secret_of(kWebhookSecretBytesMin)));
  EXPECT_TRUE(parse_webhook_secrets(secret_of(kWebhookSecretBytesMax)));
  EXPECT_FALSE(parse_webhook_secrets(secret_of(kWebhookSecretBytesMax + 1)));

  std::string four;
  for (int i = 0; i < 4; ++i) four += secret_of(24) + " ";
  ASSERT_TRUE(parse_webhook_secrets(four));
  EXPECT_EQ(parse_webhook_secrets(four)->size(), kWebhookSecretsMax);
  EXPECT_FALSE(parse_webhook_secrets(four + secret_of(24)));
}

// req: webhook.signature.4
TEST(StandardWebhooks, ABadSecretIsRefusedAndNotRepeated) {
  for (const std::string& text :
       {std::string(), std::string("  "), std::string("hunter2hunter2hunter2"),
        "WHSEC_" + secret_of(24).substr(6), std::string("whsec_hunter2!"), secret_of(8)}) {
    const auto got = parse_webhook_secrets(text);
    ASSERT_FALSE(got) << text;
    EXPECT_EQ(got.error().detail.find("hunter2"), std::string::npos);
    EXPECT_EQ(got.error().detail.find("BwcH"), std::string::npos);
  }
}

}  // namespace
}  // namespace postrider
