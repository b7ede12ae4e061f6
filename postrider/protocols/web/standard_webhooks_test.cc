#include "postrider/protocols/web/standard_webhooks.h"

#include <gtest/gtest.h>

#include "postrider/protocols/web/base64.h"

namespace postrider {
namespace {

constexpr std::string_view kSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
constexpr WebhookContent kContent = {.id = "msg_p5jXN8AQM9LWM0D4loKWxJek",
                                     .timestamp = "1614265330",
                                     .body = "{\"test\": 2432232314}"};
constexpr Timestamp kWall{1'614'265'330'000};
constexpr std::string_view kSignature = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=";

std::string secret_of(std::size_t bytes) {
  return "whsec_" + base64_encode(std::vector<std::uint8_t>(bytes, 7));
}

// The example that the published libraries of the standard test themselves with.
// req: webhook.signature.2
TEST(StandardWebhooks, SignsThePublishedExample) {
  const auto secrets = parse_webhook_secrets(kSecret);
  ASSERT_TRUE(secrets);
  EXPECT_EQ(webhook_signatures(*secrets, kContent, kWall), kSignature);
}

// req: webhook.signature.2
TEST(StandardWebhooks, EveryPartOfTheContentIsSigned) {
  const auto secrets = parse_webhook_secrets(kSecret);
  ASSERT_TRUE(secrets);
  for (const auto change :
       {&WebhookContent::id, &WebhookContent::timestamp, &WebhookContent::body}) {
    WebhookContent content = kContent;
    content.*change = "1";
    EXPECT_NE(webhook_signatures(*secrets, content, kWall), kSignature);
  }
}

// req: webhook.signature.3
TEST(StandardWebhooks, SignsOncePerSecretInOrder) {
  const std::string other = secret_of(32);
  const auto both = parse_webhook_secrets("  " + std::string(kSecret) + "   " + other + " ");
  const auto second = parse_webhook_secrets(other);
  ASSERT_TRUE(both);
  ASSERT_TRUE(second);
  EXPECT_EQ(webhook_signatures(*both, kContent, kWall),
            std::string(kSignature) + " " + webhook_signatures(*second, kContent, kWall));
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

// req: webhook.signature.12
TEST(StandardWebhooks, AnOldSecretHasAnEnd) {
  const std::string list = secret_of(32) + " " + std::string(kSecret) + "@2021-02-25T15:02:10Z";
  const auto secrets = parse_webhook_secrets(list);
  ASSERT_TRUE(secrets) << secrets.error().detail;
  EXPECT_FALSE((*secrets)[0].until.is_set());
  EXPECT_EQ((*secrets)[1].until, kWall);
  EXPECT_TRUE(webhook_signatures(*secrets, kContent, kWall - 1ms).ends_with(kSignature));
  EXPECT_EQ(webhook_signatures(*secrets, kContent, kWall).find(kSignature), std::string::npos);
  EXPECT_FALSE(parse_webhook_secrets(std::string(kSecret) + "@2021-02-25T15:02:10Z"))
      << "a request would leave unsigned";
  for (const std::string_view end : {"@", "@tomorrow", "@2021-02-25", "@2021-02-25T15:02:10Z@"})
    EXPECT_FALSE(parse_webhook_secrets(secret_of(32) + " " + std::string(kSecret).append(end)))
        << end;
}

// req: webhook.signature.12
TEST(StandardWebhooks, RotationKeepsOldSecretsForTheOverlap) {
  const std::string a = secret_of(24);
  const std::string b = secret_of(25);
  const std::string c = secret_of(26);
  const auto rotated = [](std::string_view text, std::string_view fresh, Duration overlap) {
    return rotate_webhook_secrets(text, {.fresh = fresh, .wall = kWall, .overlap = overlap});
  };
  EXPECT_EQ(rotated("", a, 1h), a) << "the first one";
  EXPECT_EQ(rotated(a, b, 1h), b + " " + a + "@2021-02-25T16:02:10.000Z");
  EXPECT_EQ(rotated(a, b, 0ms), b) << "nothing overlaps";
  // Twice, because the first answer was lost: the receiver's secret is still there.
  const std::string twice = *rotated(*rotated(a, b, 1h), c, 2h);
  EXPECT_EQ(twice, c + " " + b + "@2021-02-25T17:02:10.000Z " + a + "@2021-02-25T16:02:10.000Z");
  EXPECT_EQ(parse_webhook_secrets(twice)->size(), 3U);
  // No old secret is given a longer life than it had; what has ended is left out.
  EXPECT_EQ(rotated(b + " " + a + "@2021-02-25T15:02:10Z", c, 1h),
            c + " " + b + "@2021-02-25T16:02:10.000Z");
  EXPECT_EQ(rotated(twice, secret_of(27), 1min)->find("16:02:10"), std::string::npos);

  const std::string four = *rotated(twice, secret_of(27), 1h);
  EXPECT_EQ(parse_webhook_secrets(four)->size(), kWebhookSecretsMax);
  const auto fifth = rotated(four, secret_of(28), 1h);
  ASSERT_FALSE(fifth);
  EXPECT_EQ(fifth.error().code, ErrorCode::kLimit);
  EXPECT_TRUE(rotated(four, secret_of(28), 0ms)) << "which ends the old ones";
  for (const std::string& bad :
       {std::string("hunter2"), a, a + "@2031-01-01T00:00:00Z", a + " " + b})
    EXPECT_FALSE(rotated(a, bad, 1h)) << bad;
}

}  // namespace
}  // namespace postrider
