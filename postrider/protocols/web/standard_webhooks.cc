#include "postrider/protocols/web/standard_webhooks.h"

#include <optional>

#include "postrider/base/hash.h"
#include "postrider/protocols/web/base64.h"

namespace postrider {
namespace {

constexpr std::string_view kPrefix = "whsec_";

Result<std::string> parse_secret(std::string_view text) {
  if (!text.starts_with(kPrefix)) return fail(ErrorCode::kInvalid, "a secret begins with whsec_");
  std::optional<std::string> key = base64_decode(text.substr(kPrefix.size()));
  if (!key) return fail(ErrorCode::kInvalid, "what follows whsec_ must be base64");
  if (key->size() < kWebhookSecretBytesMin || key->size() > kWebhookSecretBytesMax) {
    return fail(ErrorCode::kInvalid,
                "a secret has 24 to 64 bytes, this one has " + std::to_string(key->size()));
  }
  return *std::move(key);
}

}  // namespace

Result<std::vector<std::string>> parse_webhook_secrets(std::string_view text) {
  std::vector<std::string> keys;
  while (true) {
    const std::size_t begin = text.find_first_not_of(' ');
    if (begin == std::string_view::npos) break;
    text.remove_prefix(begin);
    const std::string_view word = text.substr(0, text.find(' '));
    text.remove_prefix(word.size());
    POSTRIDER_TRY(key, parse_secret(word));
    if (keys.size() == kWebhookSecretsMax)
      return fail(ErrorCode::kLimit, "there may be 4 secrets at most");
    keys.push_back(std::move(key));
  }
  if (keys.empty()) return fail(ErrorCode::kInvalid, "there is no secret");
  return keys;
}

std::string webhook_signatures(std::span<const std::string> secrets,
                               const WebhookContent& content) {
  std::string signed_content;
  signed_content.reserve(content.id.size() + content.timestamp.size() + content.body.size() + 2);
  signed_content.append(content.id)
      .append(".")
      .append(content.timestamp)
      .append(".")
      .append(content.body);
  std::string signatures;
  for (const std::string& secret : secrets) {
    if (!signatures.empty()) signatures.push_back(' ');
    signatures.append("v1,").append(base64_encode(hmac_sha256(secret, signed_content)));
  }
  return signatures;
}

}  // namespace postrider
