#include "postrider/base/entropy.h"

#include <algorithm>
#include <utility>

#include <openssl/crypto.h>
#include <openssl/evp.h>

#include "postrider/base/check.h"

namespace postrider {

void Entropy::Free::operator()(EVP_CIPHER_CTX* context) const { EVP_CIPHER_CTX_free(context); }

Entropy::Entropy(const EntropySeed& seed) : source_([seed] { return seed; }) {}
Entropy::Entropy(Source source) : source_(std::move(source)) {}
Entropy::~Entropy() = default;

// Each seed is a key of its own, so nonce and counter may begin at zero.
void Entropy::take_seed() {
  POSTRIDER_CHECK(source_ != nullptr);
  EntropySeed seed = source_();
  if (context_ == nullptr) context_.reset(EVP_CIPHER_CTX_new());
  POSTRIDER_CHECK(context_ != nullptr);
  const std::array<std::uint8_t, 16> start{};
  POSTRIDER_CHECK(
      EVP_EncryptInit_ex2(context_.get(), EVP_chacha20(), seed.data(), start.data(), nullptr) == 1);
  OPENSSL_cleanse(seed.data(), seed.size());
  seeded_ = true;
}

void Entropy::fill(std::span<std::uint8_t> out) {
  constexpr std::size_t kAtOnce = 1U << 20;  // the library counts by int
  if (!seeded_) take_seed();
  std::fill(out.begin(), out.end(), std::uint8_t{0});
  for (std::size_t at = 0; at < out.size(); at += kAtOnce) {
    const auto piece = out.subspan(at, std::min(kAtOnce, out.size() - at));
    int size = 0;
    POSTRIDER_CHECK(EVP_EncryptUpdate(context_.get(), piece.data(), &size, piece.data(),
                                      static_cast<int>(piece.size())) == 1);
    POSTRIDER_CHECK(size == static_cast<int>(piece.size()));
  }
}

}  // namespace postrider
