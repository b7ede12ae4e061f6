// Two kinds of hash. `hash64` places and indexes; it is fast and may collide. `Fingerprint` decides
// whether two requests are the same one; it is SHA-256 cut to 128 bits, so that nobody can make two
// contents that count as equal.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace postrider {

std::uint64_t hash64(std::string_view bytes, std::uint64_t seed = 0);

using Fingerprint = std::array<std::uint8_t, 16>;
Fingerprint fingerprint(std::string_view bytes);

std::array<std::uint8_t, 32> hmac_sha256(std::string_view key, std::string_view bytes);

}  // namespace postrider
