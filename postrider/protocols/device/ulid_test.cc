#include "postrider/protocols/device/ulid.h"

#include <gtest/gtest.h>

#include "postrider/base/rng.h"

namespace postrider::device {
namespace {

constexpr std::uint64_t kAll = ~std::uint64_t{0};

TEST(DeviceUlid, WritesTheBitsFromTheHighestToTheLowest) {
  EXPECT_EQ(to_ulid(0, 0), "00000000000000000000000000");
  EXPECT_EQ(to_ulid(0, 1), "00000000000000000000000001");
  EXPECT_EQ(to_ulid(0, 32), "00000000000000000000000010");
  EXPECT_EQ(to_ulid(1, 0), "0000000000000G000000000000");
  EXPECT_EQ(to_ulid(kAll, kAll), "7ZZZZZZZZZZZZZZZZZZZZZZZZZ");
}

TEST(DeviceUlid, GoesBothWaysAndSortsAsItsBitsDo) {
  Rng rng(7);
  Ulid last{};
  for (int i = 0; i < 1000; ++i) {
    const Ulid ulid{rng.next(), rng.next()};
    const std::string text = to_ulid(ulid.high, ulid.low);
    EXPECT_EQ(parse_ulid(text), ulid) << text;
    EXPECT_EQ(text < to_ulid(last.high, last.low), ulid < last) << text;
    last = ulid;
  }
}

TEST(DeviceUlid, IsReadInEitherCase) {
  EXPECT_EQ(parse_ulid("01arz3ndektsv4rrffq69g5fav"), parse_ulid("01ARZ3NDEKTSV4RRFFQ69G5FAV"));
  EXPECT_TRUE(parse_ulid("01ARZ3NDEKTSV4RRFFQ69G5FAV").has_value());
}

TEST(DeviceUlid, RefusesWhatIsNone) {
  for (const char* text :
       {"", "0", "0000000000000000000000000", "000000000000000000000000000",
        "80000000000000000000000000", "Z0000000000000000000000000", "0000000000000000000000000I",
        "0000000000000000000000000L", "0000000000000000000000000O", "0000000000000000000000000U",
        "0000000000000000000000000-", "0000000000000000000000000\x80"})
    EXPECT_EQ(parse_ulid(text), std::nullopt) << text;
  EXPECT_EQ(parse_ulid(std::string_view("0000000000000000000000000\0", 26)), std::nullopt);
}

}  // namespace
}  // namespace postrider::device
