// How a consumer of device events knows that one is ours: the header X-Device-Messaging-Signature.
#pragma once

#include <string>
#include <string_view>

namespace postrider::device {

inline constexpr std::string_view kEventIdHeader = "X-Device-Messaging-Event-Id";
inline constexpr std::string_view kSignatureHeader = "X-Device-Messaging-Signature";

// "sha256=" and the HMAC-SHA256 of the raw body in small hexadecimal digits.
std::string event_signature(std::string_view secret, std::string_view body);

}  // namespace postrider::device
