#include "postrider/base/hash.h"

#include <string>

#include <gtest/gtest.h>

namespace postrider {
namespace {

template <class Bytes>
std::string hex(const Bytes& bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (const std::uint8_t byte : bytes) text.append({kDigits[byte >> 4], kDigits[byte & 15]});
  return text;
}

// Destination numbers are made of it, and they are part of every id that was given out.
TEST(Hash64, IsXxh3ForEver) {
  EXPECT_EQ(hash64(""), 0x2D06800538D394C2U);
  EXPECT_EQ(hash64("abc"), 0x78AF5F94892F3950U);
  EXPECT_EQ(hash64("abc", 1), 0x6B4467B443C76228U);
}

// FIPS 180-2, appendix B.1, cut to 128 bits.
TEST(Fingerprint, IsTheFirstHalfOfSha256) {
  EXPECT_EQ(hex(fingerprint("abc")), "ba7816bf8f01cfea414140de5dae2223");
  EXPECT_EQ(hex(fingerprint("")), "e3b0c44298fc1c149afbf4c8996fb924");
}

struct HmacCase {
  std::string name;
  std::string key;
  std::string data;
  std::string want;
};

class HmacTest : public ::testing::TestWithParam<HmacCase> {};

TEST_P(HmacTest, IsTheOneOfTheStandard) {
  EXPECT_EQ(hex(hmac_sha256(GetParam().key, GetParam().data)), GetParam().want);
}

std::string ascending_key() {
  std::string key;
  for (char c = 1; c <= 25; ++c) key.push_back(c);
  return key;
}

// RFC 4231, section 4; case 5 shows a truncated value only.
INSTANTIATE_TEST_SUITE_P(
    Rfc4231, HmacTest,
    ::testing::Values(HmacCase{"Case1", std::string(20, '\x0b'), "Hi There",
                               "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"},
                      HmacCase{"Case2", "Jefe", "what do ya want for nothing?",
                               "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"},
                      HmacCase{"Case3", std::string(20, '\xaa'), std::string(50, '\xdd'),
                               "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe"},
                      HmacCase{"Case4", ascending_key(), std::string(50, '\xcd'),
                               "82558a389a443c0ea4cc819899f2083a85f0faa3e578f8077a2e3ff46729665b"},
                      HmacCase{"Case6", std::string(131, '\xaa'),
                               "Test Using Larger Than Block-Size Key - Hash Key First",
                               "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"},
                      HmacCase{"Case7", std::string(131, '\xaa'),
                               "This is a test using a larger than block-size key and a larger "
                               "than block-size data. The key "
                               "needs to be hashed before being used by the HMAC algorithm.",
                               "9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2"}),
    [](const auto& one) { return one.param.name; });

TEST(Hmac, TakesAnEmptyKeyAndNoData) {
  EXPECT_EQ(hex(hmac_sha256("", "")),
            "b613679a0814d9ec772f95d778c35fc5ff1697c493715653c6c712144292c5ad");
}

}  // namespace
}  // namespace postrider
