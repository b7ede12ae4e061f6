#include "postrider/protocols/web/standard_webhooks.h"

#include <algorithm>
#include <optional>

#include "postrider/base/hash.h"
#include "postrider/protocols/web/base64.h"
#include "postrider/protocols/web/http_text.h"

namespace postrider {
namespace {

constexpr std::string_view kPrefix = "whsec_";
constexpr char kEndMark = '@';  // no character of base64

Result<WebhookSecret> parse_secret(std::string_view text) {
  WebhookSecret secret;
  const std::size_t at = std::min(text.find(kEndMark), text.size());
  if (at < text.size()) {
    const std::optional<Timestamp> until = parse_rfc3339(text.substr(at + 1));
    if (!until)
      return fail(ErrorCode::kInvalid,
                  "what follows @ is the secret's end, a time like 2026-01-02T03:04:05Z");
    secret.until = *until;
    text = text.substr(0, at);
  }
  if (!text.starts_with(kPrefix)) return fail(ErrorCode::kInvalid, "a secret begins with whsec_");
  std::optional<std::string> key = base64_decode(text.substr(kPrefix.size()));
  if (!key) return fail(ErrorCode::kInvalid, "what follows whsec_ must be base64");
  if (key->size() < kWebhookSecretBytesMin || key->size() > kWebhookSecretBytesMax) {
    return fail(ErrorCode::kInvalid,
                "a secret has 24 to 64 bytes, this one has " + std::to_string(key->size()));
  }
  secret.key = *std::move(key);
  return secret;
}

std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> words;
  while (true) {
    const std::size_t begin = text.find_first_not_of(' ');
    if (begin == std::string_view::npos) return words;
    text.remove_prefix(begin);
    words.push_back(text.substr(0, text.find(' ')));
    text.remove_prefix(words.back().size());
  }
}

}  // namespace

Result<std::vector<WebhookSecret>> parse_webhook_secrets(std::string_view text) {
  std::vector<WebhookSecret> secrets;
  for (const std::string_view word : words_of(text)) {
    POSTRIDER_TRY(secret, parse_secret(word));
    if (secrets.size() == kWebhookSecretsMax)
      return fail(ErrorCode::kLimit, "there may be 4 secrets at most");
    secrets.push_back(std::move(secret));
  }
  if (secrets.empty()) return fail(ErrorCode::kInvalid, "there is no secret");
  if (secrets.front().until.is_set())
    return fail(ErrorCode::kInvalid, "the first secret is the newest one and has no end");
  return secrets;
}

Result<std::string> rotate_webhook_secrets(std::string_view text, const SecretRotation& rotation) {
  POSTRIDER_TRY(fresh, parse_secret(rotation.fresh));
  if (fresh.until.is_set()) return fail(ErrorCode::kInvalid, "a new secret has no end");
  std::string out(rotation.fresh);
  std::size_t count = 1;
  for (const std::string_view word : words_of(text)) {
    POSTRIDER_TRY(old, parse_secret(word));
    if (old.key == fresh.key)
      return fail(ErrorCode::kInvalid, "this secret is in use already; a new one is needed");
    Timestamp until = rotation.wall + rotation.overlap;
    if (old.until.is_set()) until = std::min(until, old.until);
    if (until <= rotation.wall) continue;
    if (++count > kWebhookSecretsMax) {
      return fail(ErrorCode::kLimit,
                  "4 secrets sign already; an overlap of 0s ends the old ones at once");
    }
    out.append(" ").append(word.substr(0, word.find(kEndMark)));
    out.append(1, kEndMark).append(to_rfc3339(until));
  }
  return out;
}

std::string webhook_signatures(std::span<const WebhookSecret> secrets,
                               const WebhookContent& content, Timestamp wall) {
  std::string signed_content;
  signed_content.reserve(content.id.size() + content.timestamp.size() + content.body.size() + 2);
  signed_content.append(content.id)
      .append(".")
      .append(content.timestamp)
      .append(".")
      .append(content.body);
  std::string signatures;
  for (const WebhookSecret& secret : secrets) {
    if (!secret.signs_at(wall)) continue;
    if (!signatures.empty()) signatures.push_back(' ');
    signatures.append("v1,").append(base64_encode(hmac_sha256(secret.key, signed_content)));
  }
  return signatures;
}

}  // namespace postrider
