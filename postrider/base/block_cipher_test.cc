#include "postrider/base/block_cipher.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

namespace postrider {
namespace {

BlockCipher::Block counted(std::uint8_t first, std::uint8_t step) {
  BlockCipher::Block out{};
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<std::uint8_t>(first + step * i);
  return out;
}

// FIPS 197, appendix C.1: stored ids must mean the same with every build and library.
TEST(BlockCipher, IsAes128) {
  const BlockCipher cipher(counted(0x00, 0x01));
  const BlockCipher::Block hidden = {0x69, 0xC4, 0xE0, 0xD8, 0x6A, 0x7B, 0x04, 0x30,
                                     0xD8, 0xCD, 0xB7, 0x80, 0x70, 0xB4, 0xC5, 0x5A};
  EXPECT_EQ(cipher.encipher(counted(0x00, 0x11)), hidden);
  EXPECT_EQ(cipher.decipher(hidden), counted(0x00, 0x11));
}

// No state passes from one block to the next, in either direction.
RC_GTEST_PROP(BlockCipher, DeciphersWhatItEnciphered, (const BlockCipher::Block& key)) {
  const BlockCipher cipher(key);
  for (int i = 0; i < 3; ++i) {
    const auto plain = *rc::gen::arbitrary<BlockCipher::Block>();
    const BlockCipher::Block hidden = cipher.encipher(plain);
    RC_ASSERT(hidden == cipher.encipher(plain));
    RC_ASSERT(cipher.decipher(hidden) == plain);
    RC_ASSERT(cipher.encipher(cipher.decipher(plain)) == plain);
  }
}

}  // namespace
}  // namespace postrider
