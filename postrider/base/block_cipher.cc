#include "postrider/base/block_cipher.h"

#include <openssl/evp.h>

#include "postrider/base/check.h"

namespace postrider {

void BlockCipher::Free::operator()(EVP_CIPHER_CTX* context) const { EVP_CIPHER_CTX_free(context); }

// One block at a time and no padding: so no state passes from one block to the next, and the
// prepared context serves for ever.
BlockCipher::Context BlockCipher::make(const Block& key, bool enciphers) {
  Context context(EVP_CIPHER_CTX_new());
  POSTRIDER_CHECK(context != nullptr);
  POSTRIDER_CHECK(EVP_CipherInit_ex2(context.get(), EVP_aes_128_ecb(), key.data(), nullptr,
                                     enciphers ? 1 : 0, nullptr) == 1);
  POSTRIDER_CHECK(EVP_CIPHER_CTX_set_padding(context.get(), 0) == 1);
  return context;
}

BlockCipher::Block BlockCipher::apply(EVP_CIPHER_CTX* context, const Block& block) {
  Block out{};
  int size = 0;
  POSTRIDER_CHECK(EVP_CipherUpdate(context, out.data(), &size, block.data(),
                                   static_cast<int>(block.size())) == 1);
  POSTRIDER_CHECK(size == static_cast<int>(out.size()));
  return out;
}

BlockCipher::BlockCipher(const Block& key)
    : encipher_(make(key, true)), decipher_(make(key, false)) {}
BlockCipher::~BlockCipher() = default;

BlockCipher::Block BlockCipher::encipher(const Block& plain) const {
  return apply(encipher_.get(), plain);
}
BlockCipher::Block BlockCipher::decipher(const Block& hidden) const {
  return apply(decipher_.get(), hidden);
}

}  // namespace postrider
