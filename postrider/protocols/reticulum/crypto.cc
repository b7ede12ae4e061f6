#include "postrider/protocols/reticulum/crypto.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>

#include "postrider/base/check.h"
#include "postrider/protocols/reticulum/sha256.h"

namespace postrider::reticulum {
namespace {

struct Free {
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
  void operator()(EVP_PKEY_CTX* context) const { EVP_PKEY_CTX_free(context); }
  void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
  void operator()(EVP_CIPHER_CTX* context) const { EVP_CIPHER_CTX_free(context); }
};
template <class T>
using Owned = std::unique_ptr<T, Free>;

Owned<EVP_PKEY> secret_key(int kind, const Key& secret) {
  Owned<EVP_PKEY> key(EVP_PKEY_new_raw_private_key(kind, nullptr, secret.data(), secret.size()));
  POSTRIDER_CHECK(key != nullptr);  // any 32 bytes are a key
  return key;
}

Key public_of(EVP_PKEY* key) {
  Key out{};
  std::size_t size = out.size();
  POSTRIDER_CHECK(EVP_PKEY_get_raw_public_key(key, out.data(), &size) == 1 && size == out.size());
  return out;
}

const unsigned char* start(std::string_view bytes) {
  return reinterpret_cast<const unsigned char*>(bytes.data());
}

constexpr std::size_t kIvBytes = 16;
constexpr std::size_t kMacBytes = 32;
constexpr std::size_t kBlockBytes = 16;
constexpr std::size_t kTokenBytesMax = std::size_t{1} << 26;

}  // namespace

bool equal_in_constant_time(std::string_view a, std::string_view b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

void wipe(std::span<std::uint8_t> secret) { OPENSSL_cleanse(secret.data(), secret.size()); }

Key x25519_public(const Key& secret) {
  return public_of(secret_key(EVP_PKEY_X25519, secret).get());
}

Result<Key> x25519(const Key& secret, const Key& other) {
  const Owned<EVP_PKEY> ours = secret_key(EVP_PKEY_X25519, secret);
  const Owned<EVP_PKEY> theirs(
      EVP_PKEY_new_raw_public_key(EVP_PKEY_X25519, nullptr, other.data(), other.size()));
  POSTRIDER_CHECK(theirs != nullptr);
  const Owned<EVP_PKEY_CTX> context(EVP_PKEY_CTX_new(ours.get(), nullptr));
  POSTRIDER_CHECK(context != nullptr && EVP_PKEY_derive_init(context.get()) == 1);
  Key shared{};
  std::size_t size = shared.size();
  if (EVP_PKEY_derive_set_peer(context.get(), theirs.get()) != 1 ||
      EVP_PKEY_derive(context.get(), shared.data(), &size) != 1)
    return fail(ErrorCode::kInvalid, "key agreement with a point of low order");
  return shared;
}

SigningKey::SigningKey(const Key& seed) : key_(secret_key(EVP_PKEY_ED25519, seed)) {
  public_ = public_of(key_.get());
}

Signature SigningKey::sign(std::string_view bytes) const {
  const Owned<EVP_MD_CTX> context(EVP_MD_CTX_new());
  Signature out{};
  std::size_t size = out.size();
  POSTRIDER_CHECK(context != nullptr &&
                  EVP_DigestSignInit(context.get(), nullptr, nullptr, nullptr, key_.get()) == 1);
  POSTRIDER_CHECK(EVP_DigestSign(context.get(), out.data(), &size, start(bytes), bytes.size()) ==
                  1);
  POSTRIDER_CHECK(size == out.size());
  return out;
}

bool is_signed_by(const Key& public_key, std::string_view bytes, std::string_view signature) {
  if (signature.size() != sizeof(Signature)) return false;
  const Owned<EVP_PKEY> key(
      EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nullptr, public_key.data(), public_key.size()));
  const Owned<EVP_MD_CTX> context(EVP_MD_CTX_new());
  POSTRIDER_CHECK(key != nullptr && context != nullptr);
  POSTRIDER_CHECK(EVP_DigestVerifyInit(context.get(), nullptr, nullptr, nullptr, key.get()) == 1);
  return EVP_DigestVerify(context.get(), start(signature), signature.size(), start(bytes),
                          bytes.size()) == 1;
}

std::string seal_token(const TokenKey& key, const TokenIv& iv, std::string_view plain) {
  POSTRIDER_CHECK(plain.size() <= kTokenBytesMax);
  std::string out(token_bytes(plain.size()), '\0');
  auto* const at = reinterpret_cast<unsigned char*>(out.data());
  std::copy(iv.begin(), iv.end(), at);
  const Owned<EVP_CIPHER_CTX> context(EVP_CIPHER_CTX_new());
  int size = 0;
  int rest = 0;
  POSTRIDER_CHECK(context != nullptr &&
                  EVP_EncryptInit_ex2(context.get(), EVP_aes_256_cbc(), key.data() + 32, iv.data(),
                                      nullptr) == 1);
  POSTRIDER_CHECK(EVP_EncryptUpdate(context.get(), at + kIvBytes, &size, start(plain),
                                    static_cast<int>(plain.size())) == 1);
  POSTRIDER_CHECK(EVP_EncryptFinal_ex(context.get(), at + kIvBytes + size, &rest) == 1);
  const std::size_t signed_bytes = out.size() - kMacBytes;
  POSTRIDER_CHECK(kIvBytes + static_cast<std::size_t>(size + rest) == signed_bytes);
  const Digest mac =
      Hmac(view(key).substr(0, 32)).of({std::string_view(out).substr(0, signed_bytes)});
  std::copy(mac.begin(), mac.end(), at + signed_bytes);
  return out;
}

Result<std::string> open_token(const TokenKey& key, std::string_view token) {
  if (token.size() < token_bytes(0) || token.size() > kTokenBytesMax ||
      (token.size() - kIvBytes - kMacBytes) % kBlockBytes != 0)
    return fail(ErrorCode::kCorrupt, "token of an impossible length");
  const std::string_view signed_bytes = token.substr(0, token.size() - kMacBytes);
  const Digest mac = Hmac(view(key).substr(0, 32)).of({signed_bytes});
  if (!equal_in_constant_time(view(mac), token.substr(signed_bytes.size())))
    return fail(ErrorCode::kCorrupt, "token is not authentic");
  const std::string_view hidden = signed_bytes.substr(kIvBytes);
  std::string out(hidden.size(), '\0');
  auto* const at = reinterpret_cast<unsigned char*>(out.data());
  const Owned<EVP_CIPHER_CTX> context(EVP_CIPHER_CTX_new());
  int size = 0;
  int rest = 0;
  POSTRIDER_CHECK(context != nullptr &&
                  EVP_DecryptInit_ex2(context.get(), EVP_aes_256_cbc(), key.data() + 32,
                                      start(token), nullptr) == 1);
  if (EVP_DecryptUpdate(context.get(), at, &size, start(hidden), static_cast<int>(hidden.size())) !=
          1 ||
      EVP_DecryptFinal_ex(context.get(), at + size, &rest) != 1)
    return fail(ErrorCode::kCorrupt, "token with damaged padding");
  out.resize(static_cast<std::size_t>(size + rest));
  return out;
}

}  // namespace postrider::reticulum
