// Base64 with the standard alphabet (RFC 4648 §4).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace postrider {

std::string base64_encode(std::span<const std::uint8_t> bytes);

// Padding may be left out, because secrets are often copied without it; nothing else is forgiven:
// no white space, no other alphabet, no bits that encode nothing.
std::optional<std::string> base64_decode(std::string_view text);

}  // namespace postrider
