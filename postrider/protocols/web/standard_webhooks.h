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

struct WebhookSecret {
  std::string key;  // raw
  Timestamp until;  // signs no request from then on; unset: no end

  bool signs_at(Timestamp wall) const { return !until.is_set() || wall < until; }
};

// "whsec_…", or several separated by spaces, newest first. An old one may have its end behind it:
// "whsec_NEW whsec_OLD@2026-01-02T03:04:05Z". The first has none, so that no request leaves
// unsigned. The error never repeats a secret.
Result<std::vector<WebhookSecret>> parse_webhook_secrets(std::string_view text);

struct SecretRotation {
  std::string_view fresh;  // one secret without an end
  Timestamp wall;
  Duration overlap{0};  // how long the old ones still sign
};
// The new text for a list of secrets: `fresh` in front, the others with an end. No old secret signs
// longer than it was to, and those that sign no longer are left out. An empty list is fine.
Result<std::string> rotate_webhook_secrets(std::string_view text, const SecretRotation& rotation);

struct WebhookContent {
  std::string_view id;
  std::string_view timestamp;  // seconds since 1970 in decimal, as in the header
  std::string_view body;
};

// The value of the signature header: one signature per secret that signs at `wall`, separated by
// spaces.
std::string webhook_signatures(std::span<const WebhookSecret> secrets,
                               const WebhookContent& content, Timestamp wall);

}  // namespace postrider
