// Standard Webhooks, version 1: how a receiver knows that a request is ours and not a replay. The
// signature is "v1," + base64(HMAC-SHA256(secret, id "." timestamp "." body)).
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "postrider/base/result.h"
#include "postrider/base/time.h"

namespace postrider {

// The standard's bounds for the decoded secret. Below them it can be guessed, above them nothing is
// gained.
inline constexpr std::size_t kWebhookSecretBytesMin = 24;
inline constexpr std::size_t kWebhookSecretBytesMax = 64;
// While a secret is rotated the old and the new one sign; nobody needs many.
inline constexpr std::size_t kWebhookSecretsMax = 4;

// "whsec_…", or several separated by spaces, newest first, to raw keys. The error never repeats a
// secret.
Result<std::vector<std::string>> parse_webhook_secrets(std::string_view text);

struct WebhookContent {
  std::string_view id;
  std::string_view timestamp;  // seconds since 1970 in decimal, as in the header
  std::string_view body;
};

// The value of the signature header: one signature per secret, separated by spaces.
std::string webhook_signatures(std::span<const std::string> secrets, const WebhookContent& content);

}  // namespace postrider
