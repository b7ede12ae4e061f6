#include "postrider/base/hash.h"

#include <algorithm>

#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <xxhash.h>

#include "postrider/base/check.h"

namespace postrider {

std::uint64_t hash64(std::string_view bytes, std::uint64_t seed) {
  return XXH3_64bits_withSeed(bytes.data(), bytes.size(), seed);
}

Fingerprint fingerprint(std::string_view bytes) {
  std::array<std::uint8_t, 32> digest{};
  unsigned int size = 0;
  POSTRIDER_CHECK(
      EVP_Digest(bytes.data(), bytes.size(), digest.data(), &size, EVP_sha256(), nullptr) == 1);
  Fingerprint cut{};
  std::copy_n(digest.begin(), cut.size(), cut.begin());
  return cut;
}

std::array<std::uint8_t, 32> hmac_sha256(std::string_view key, std::string_view bytes) {
  std::array<std::uint8_t, 32> mac{};
  unsigned int size = 0;
  POSTRIDER_CHECK(key.size() <= INT32_MAX);
  POSTRIDER_CHECK(HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()),
                       reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(),
                       mac.data(), &size) != nullptr);
  return mac;
}

}  // namespace postrider
