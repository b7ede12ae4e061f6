#include "postrider/base/entropy.h"

#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace postrider {
namespace {

std::string drawn(Entropy& entropy, std::size_t bytes) {
  std::vector<std::uint8_t> out(bytes, 0xEE);
  entropy.fill(out);
  return {out.begin(), out.end()};
}

std::string hex(std::string_view bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string out;
  for (const char byte : bytes) {
    const auto value = static_cast<unsigned char>(byte);
    out.push_back(kDigits[value >> 4U]);
    out.push_back(kDigits[value & 15U]);
  }
  return out;
}

// RFC 8439, A.1, test vector 1: the key is zero, the nonce is zero, the counter is 0.
TEST(Entropy, IsTheKeyStreamOfItsSeed) {
  Entropy entropy{EntropySeed{}};
  EXPECT_EQ(hex(drawn(entropy, 64)),
            "76b8e0ada0f13d90405d6ae55386bd28bdd219b8a08ded1aa836efcc8b770dc7"
            "da41597c5157488d7724e03fb8d84a376a43b8f41518a11cc387b669b2ee6586");
}

RC_GTEST_PROP(Entropy, SaysTheSameHoweverItIsCut, (std::vector<std::uint8_t> sizes)) {
  EntropySeed seed{};
  seed[31] = 7;
  Entropy cut(seed);
  std::string pieces;
  for (const std::uint8_t size : sizes) pieces += drawn(cut, size);
  Entropy whole(seed);
  RC_ASSERT(pieces == drawn(whole, pieces.size()));
}

// req: engine.entropy.1
TEST(Entropy, EachTurnHasASeedOfItsOwn) {
  std::uint8_t asked = 0;
  Entropy entropy([&asked] {
    EntropySeed seed{};
    seed[0] = ++asked;
    return seed;
  });
  std::set<std::string> all;
  for (int turn = 0; turn < 50; ++turn) {
    entropy.renew();
    for (int draw = 0; draw < 4; ++draw) all.insert(drawn(entropy, 32));
  }
  EXPECT_EQ(all.size(), 200U);
  EXPECT_EQ(asked, 50);
}

// req: engine.entropy.1
TEST(Entropy, ATurnThatDrawsNothingTakesNoSeed) {
  int asked = 0;
  Entropy entropy([&asked] {
    ++asked;
    return EntropySeed{};
  });
  entropy.renew();
  entropy.renew();
  EXPECT_FALSE(entropy.drawn());
  EXPECT_EQ(asked, 0);
  drawn(entropy, 1);
  EXPECT_TRUE(entropy.drawn());
  EXPECT_EQ(asked, 1);
}

TEST(Entropy, FillsMoreThanTheLibraryCountsAtOnce) {
  EntropySeed seed{};
  seed[5] = 9;
  Entropy large(seed);
  const std::string bytes = drawn(large, (2U << 20) + 5);
  Entropy small(seed);
  drawn(small, 2U << 20);
  EXPECT_EQ(bytes.substr(2U << 20), drawn(small, 5));
}

TEST(EntropyDeathTest, WithoutASourceDrawingEndsTheProcess) {
  Entropy entropy(Entropy::Source{});
  std::array<std::uint8_t, 1> out{};
  EXPECT_DEATH(entropy.fill(out), "source_ != nullptr");
}

}  // namespace
}  // namespace postrider
