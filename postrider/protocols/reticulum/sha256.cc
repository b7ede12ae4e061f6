// unity: alone, for the macro below must come before any header of the library.
//
// The library calls this interface old, but only it has a state that is a plain value: one trial
// for a stamp then costs one compression and no allocation.
#define OPENSSL_SUPPRESS_DEPRECATED

#include "postrider/protocols/reticulum/sha256.h"

#include <cstring>

#include <openssl/crypto.h>
#include <openssl/sha.h>

#include "postrider/base/check.h"

namespace postrider::reticulum {
namespace {

SHA256_CTX load(const std::array<std::uint8_t, 112>& from) {
  SHA256_CTX state;
  static_assert(sizeof(state) == sizeof(from));
  std::memcpy(&state, from.data(), sizeof(state));
  return state;
}

}  // namespace

Sha256::Sha256() {
  SHA256_CTX state;
  POSTRIDER_CHECK(SHA256_Init(&state) == 1);
  std::memcpy(state_.data(), &state, sizeof(state));
}

Sha256& Sha256::add(std::string_view bytes) {
  SHA256_CTX state = load(state_);
  POSTRIDER_CHECK(SHA256_Update(&state, bytes.data(), bytes.size()) == 1);
  std::memcpy(state_.data(), &state, sizeof(state));
  return *this;
}

Digest Sha256::digest() const { return with({}); }

Digest Sha256::with(std::string_view tail) const {
  SHA256_CTX state = load(state_);
  POSTRIDER_CHECK(SHA256_Update(&state, tail.data(), tail.size()) == 1);
  Digest out{};
  POSTRIDER_CHECK(SHA256_Final(out.data(), &state) == 1);
  return out;
}

Digest sha256(std::initializer_list<std::string_view> parts) {
  Sha256 hash;
  for (const std::string_view part : parts) hash.add(part);
  return hash.digest();
}

Hmac::Hmac(std::string_view key) {
  constexpr std::size_t kBlock = 64;
  Bytes<kBlock> block{};
  if (key.size() > kBlock) {
    const Digest shorter = sha256(key);
    std::copy(shorter.begin(), shorter.end(), block.begin());
  } else {
    std::copy(key.begin(), key.end(), block.begin());
  }
  for (std::uint8_t& byte : block) byte ^= 0x36;
  inner_.add(view(block));
  for (std::uint8_t& byte : block) byte ^= 0x36 ^ 0x5C;
  outer_.add(view(block));
  OPENSSL_cleanse(block.data(), block.size());
}

Digest Hmac::of(std::initializer_list<std::string_view> parts) const {
  Sha256 inner = inner_;
  for (const std::string_view part : parts) inner.add(part);
  Sha256 outer = outer_;
  return outer.add(view(inner.digest())).digest();
}

void hkdf(std::string_view secret, std::string_view salt, std::span<std::uint8_t> out) {
  const Bytes<32> no_salt{};
  const Digest extracted = Hmac(salt.empty() ? view(no_salt) : salt).of({secret});
  const Hmac expand(view(extracted));
  Digest block{};
  std::string_view before;
  std::uint8_t counter = 0;
  while (!out.empty()) {
    const Bytes<1> count{++counter};
    block = expand.of({before, view(count)});
    before = view(block);
    const std::size_t size = std::min(out.size(), block.size());
    std::copy_n(block.begin(), size, out.begin());
    out = out.subspan(size);
  }
}

}  // namespace postrider::reticulum
