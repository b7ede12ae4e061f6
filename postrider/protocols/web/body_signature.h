// BodySignature: a signature of the body alone, for consumers that know no other.
#pragma once

#include <string>
#include <string_view>

namespace postrider {

// Where it stands unless a destination says otherwise: the header that consumers of device events
// know.
inline constexpr std::string_view kBodySignatureHeader = "X-Device-Messaging-Signature";

// "sha256=" and the HMAC-SHA256 of the raw body in small hexadecimal digits.
std::string body_signature(std::string_view secret, std::string_view body);

}  // namespace postrider
