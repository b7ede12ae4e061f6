#include "postrider/protocols/web/body_signature.h"

#include "postrider/base/hash.h"

namespace postrider {

std::string body_signature(std::string_view secret, std::string_view body) {
  constexpr std::string_view kHex = "0123456789abcdef";
  std::string text = "sha256=";
  for (const std::uint8_t byte : hmac_sha256(secret, body))
    text.append({kHex[byte >> 4], kHex[byte & 0x0F]});
  return text;
}

}  // namespace postrider
