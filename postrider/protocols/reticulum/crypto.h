// What OpenSSL does for us, in the words of Reticulum: X25519, Ed25519 and the token, which is its
// sealed container. Values; any thread.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "postrider/base/result.h"
#include "postrider/protocols/reticulum/bytes.h"

using EVP_PKEY = struct evp_pkey_st;

namespace postrider::reticulum {

bool equal_in_constant_time(std::string_view a, std::string_view b);
void wipe(std::span<std::uint8_t> secret);

Key x25519_public(const Key& secret);
// kInvalid: the other side's point is of low order, and the secret would be known to everybody.
Result<Key> x25519(const Key& secret, const Key& other);

// A key that signs. Copies share one immutable object of the library: making it costs a
// multiplication on the curve, which is not to be paid for every signature.
class SigningKey {
 public:
  explicit SigningKey(const Key& seed);
  const Key& public_key() const { return public_; }
  Signature sign(std::string_view bytes) const;

 private:
  std::shared_ptr<EVP_PKEY> key_;
  Key public_{};
};
bool is_signed_by(const Key& public_key, std::string_view bytes, std::string_view signature);

// A token: IV, AES-256-CBC with padding, HMAC-SHA256 over both. The first half of the key
// authenticates, the second encrypts.
using TokenKey = Bytes<64>;
using TokenIv = Bytes<16>;
inline constexpr std::size_t kTokenOverheadMin = 48 + 1;
constexpr std::size_t token_bytes(std::size_t plain) { return 48 + (plain / 16 + 1) * 16; }

std::string seal_token(const TokenKey& key, const TokenIv& iv, std::string_view plain);
// kCorrupt: of another key, damaged, or of an impossible length. Nothing is deciphered before its
// authenticity is known.
Result<std::string> open_token(const TokenKey& key, std::string_view token);

}  // namespace postrider::reticulum
