// Ed25519 signatures as Matrix writes them: 64 bytes as base64 without padding, under a key id
// "ed25519:VERSION". The key file is the one of the homeserver. Pure; a key may be used by any
// thread, since signing does not change it.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "postrider/base/result.h"
#include "postrider/protocols/matrix/canonical_json.h"

struct evp_pkey_st;

namespace postrider::matrix {

inline constexpr std::size_t kKeyFileBytesMax = 4096;
inline constexpr std::size_t kKeyIdBytesMax = 128;

using Seed = std::array<std::uint8_t, 32>;
using PublicKey = std::array<std::uint8_t, 32>;

// Without padding; the second one with '-' and '_' and safe in URLs.
std::string unpadded_base64(std::string_view bytes);
std::string unpadded_base64_url(std::string_view bytes);
std::array<std::uint8_t, 32> sha256(std::string_view bytes);

// "ed25519:" and 1 or more of A–Z a–z 0–9 "_".
bool is_key_id(std::string_view text);

// The key never leaves it: there is no way to read the seed back.
class SigningKey {
 public:
  static SigningKey make(std::string id, const Seed& seed);
  SigningKey(SigningKey&&) noexcept;
  SigningKey& operator=(SigningKey&&) noexcept;
  ~SigningKey();

  const std::string& id() const { return id_; }  // "ed25519:a_abcd"
  const PublicKey& public_key() const { return public_key_; }
  std::string sign(std::string_view bytes) const;  // 86 characters

 private:
  SigningKey() = default;
  struct Free {
    void operator()(evp_pkey_st* key) const;
  };
  std::string id_;
  PublicKey public_key_{};
  std::unique_ptr<evp_pkey_st, Free> key_;
};

// A file of lines "ed25519 VERSION BASE64". The first key signs, as the homeserver's does; `keys`
// tells how many there are, so that the others can be warned of. Details of an Error name the line
// and never what stands in it.
struct KeyFile {
  SigningKey key;
  std::uint32_t keys = 1;
};
Result<KeyFile> parse_key_file(std::string_view text);

// 32 bytes as base64, padded or not.
Result<PublicKey> parse_public_key(std::string_view base64);
// False, too, when `signature` is no base64 of 64 bytes.
bool verify(const PublicKey& key, std::string_view bytes, std::string_view signature);

// What is signed of an object: its canonical form without `signatures` and `unsigned`.
Result<std::string> signed_form(JsonValue object);
// The object in canonical form with our signature beside those that it has; `unsigned` stays.
Result<std::string> sign_object(std::string_view object, std::string_view name,
                                const SigningKey& key);
// Whether `name` signed the object with this key.
bool verify_object(JsonValue object, std::string_view name, std::string_view key_id,
                   const PublicKey& key);

}  // namespace postrider::matrix
