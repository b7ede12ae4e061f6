// Sha256: a running SHA-256 that can be copied, so what many inputs begin with is hashed once.
// Values; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string_view>

#include "postrider/protocols/reticulum/bytes.h"

namespace postrider::reticulum {

class Sha256 {
 public:
  Sha256();
  Sha256& add(std::string_view bytes);
  Digest digest() const;  // of what was added so far; more may be added afterwards
  Digest with(std::string_view tail) const;  // as if the tail had been added

 private:
  alignas(
      8) std::array<std::uint8_t, 112> state_;  // the library's own, whose type stays in the .cc
};

Digest sha256(std::initializer_list<std::string_view> parts);
inline Digest sha256(std::string_view bytes) { return sha256({bytes}); }
inline Address short_hash(std::initializer_list<std::string_view> parts) {
  return truncated(sha256(parts));
}

// Hmac: the same with a key, prepared once.
class Hmac {
 public:
  explicit Hmac(std::string_view key);
  Digest of(std::initializer_list<std::string_view> parts) const;

 private:
  Sha256 inner_;
  Sha256 outer_;
};

// HKDF of RFC 5869 with an empty info; the counter byte wraps around, so any length is possible.
void hkdf(std::string_view secret, std::string_view salt, std::span<std::uint8_t> out);
template <std::size_t kSize>
Bytes<kSize> hkdf(std::string_view secret, std::string_view salt) {
  Bytes<kSize> out{};
  hkdf(secret, salt, out);
  return out;
}

}  // namespace postrider::reticulum
