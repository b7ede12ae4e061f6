#include "postrider/protocols/reticulum/crypto.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "postrider/protocols/reticulum/random_testing.h"
#include "postrider/protocols/reticulum/sha256.h"

namespace postrider::reticulum {
namespace {

constexpr std::string_view kLinkKey =
    "d4c8238d23a1810c3dbe4caec15253d5a86d7fe6afa8dfa76f915579723fd88c"
    "bcd2ab3a0cd96f5b6ffd8abec8307f05cd791dc9c4fca900f706b0313a51ab65";

TEST(Hkdf, EqualsTheCasesOfRfc5869) {
  // Case 3: no salt, no info.
  Bytes<42> out{};
  hkdf(std::string(22, '\x0b'), {}, out);
  EXPECT_EQ(hex(out),
            "8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d9d201395faa4b61a96c8");
}

TEST(Hkdf, CounterWrapsSoThatAnyLengthIsPossible) {
  std::string longer(32 * 300, '\0');
  hkdf("secret", "salt", {reinterpret_cast<std::uint8_t*>(longer.data()), longer.size()});
  const auto shorter = hkdf<64>("secret", "salt");
  EXPECT_EQ(longer.substr(0, 64), view(shorter));
  // Block 257 has the counter of block 1, but another predecessor.
  EXPECT_NE(longer.substr(32 * 256, 32), longer.substr(0, 32));
}

TEST(Sha256, CopyGoesOnFromWhatWasAddedBefore) {
  Sha256 prefix;
  prefix.add(std::string(640, 'x'));
  Sha256 a = prefix;
  Sha256 b = prefix;
  EXPECT_EQ(a.add("one").digest(), sha256(std::string(640, 'x') + "one"));
  EXPECT_EQ(b.add("two").digest(), sha256(std::string(640, 'x') + "two"));
  EXPECT_EQ(hex(sha256("abc")), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

// req: rns.wire.1, lxmf.io.1
TEST(Token, EqualsVector) {
  const auto key = bytes_of_hex<64>(kLinkKey);
  const auto iv = exactly<16>(counting(0x40, 0x50)).value();
  const std::string token = seal_token(key, iv, "hello link");
  EXPECT_EQ(to_hex(token),
            "404142434445464748494a4b4c4d4e4f7c0c3de78864c891b3a6b82e83d0f60f"
            "74c124939c2ce8c348f3752656829c4b839242e00eafd3ac4c29b77a9696d0aa");
  EXPECT_EQ(open_token(key, token), "hello link");
}

// req: rns.wire.1
TEST(Token, RefusesEveryFlippedBitAndEveryOtherLength) {
  const auto key = bytes_of_hex<64>(kLinkKey);
  const std::string token = seal_token(key, TokenIv{}, "hello link");
  for (std::size_t bit = 0; bit < token.size() * 8; ++bit) {
    std::string damaged = token;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << (bit % 8)));
    EXPECT_FALSE(open_token(key, damaged)) << bit;
  }
  for (std::size_t size = 0; size < token.size(); ++size)
    EXPECT_FALSE(open_token(key, std::string_view(token).substr(0, size))) << size;
  EXPECT_FALSE(open_token(key, token + std::string(16, 'x')));
  auto other = key;
  other[0] ^= 1;
  EXPECT_FALSE(open_token(other, token));
}

RC_GTEST_PROP(Token, OpensWhatItSealed, (const std::string& plain)) {
  const std::string token = seal_token(TokenKey{}, TokenIv{}, plain);
  RC_ASSERT(token.size() == token_bytes(plain.size()));
  RC_ASSERT(open_token(TokenKey{}, token) == plain);
}

TEST(Agreement, BothSidesGetTheSameAndALowPointIsRefused) {
  SeededRandom random(1);
  const Key a = random.bytes<32>();
  const Key b = random.bytes<32>();
  const auto ab = x25519(a, x25519_public(b));
  const auto ba = x25519(b, x25519_public(a));
  ASSERT_TRUE(ab && ba);
  EXPECT_EQ(*ab, *ba);
  EXPECT_FALSE(x25519(a, Key{}));
  Key one{};
  one[0] = 1;
  EXPECT_FALSE(x25519(a, one));
}

TEST(Signing, IsThatOfRfc8032) {
  const SigningKey key(
      bytes_of_hex<32>("4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb"));
  EXPECT_EQ(hex(key.public_key()),
            "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c");
  const Signature signature = key.sign("\x72");
  EXPECT_EQ(hex(signature),
            "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da"
            "085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00");
  EXPECT_TRUE(is_signed_by(key.public_key(), "\x72", view(signature)));
  EXPECT_FALSE(is_signed_by(key.public_key(), "\x73", view(signature)));
  EXPECT_FALSE(is_signed_by(key.public_key(), "\x72", view(signature).substr(1)));
  EXPECT_FALSE(is_signed_by(Key{}, "\x72", view(signature)));
}

}  // namespace
}  // namespace postrider::reticulum
