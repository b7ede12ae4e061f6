// BlockCipher: AES-128 of single blocks, with the key schedule prepared once. A bijection of 128
// bits that nobody without the key can continue. It hides nothing beyond that: equal blocks give
// equal blocks. Neither call allocates; one thread, for the contexts have scratch memory.
#pragma once

#include <array>
#include <cstdint>
#include <memory>

using EVP_CIPHER_CTX = struct evp_cipher_ctx_st;

namespace postrider {

class BlockCipher final {
 public:
  using Block = std::array<std::uint8_t, 16>;

  explicit BlockCipher(const Block& key);
  ~BlockCipher();
  BlockCipher(const BlockCipher&) = delete;
  BlockCipher& operator=(const BlockCipher&) = delete;

  Block encipher(const Block& plain) const;
  Block decipher(const Block& hidden) const;

 private:
  struct Free {
    void operator()(EVP_CIPHER_CTX* context) const;
  };
  using Context = std::unique_ptr<EVP_CIPHER_CTX, Free>;
  static Context make(const Block& key, bool enciphers);
  static Block apply(EVP_CIPHER_CTX* context, const Block& block);

  Context encipher_;
  Context decipher_;
};

}  // namespace postrider
