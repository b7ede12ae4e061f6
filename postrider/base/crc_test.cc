#include "postrider/base/crc.h"

#include <string>

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include "postrider/base/running_crc.h"

namespace postrider {
namespace {

// Test values of RFC 3720, appendix B.4.
TEST(Crc32c, HasTheKnownValues) {
  std::string ascending;
  std::string descending;
  for (int i = 0; i < 32; ++i) {
    ascending.push_back(static_cast<char>(i));
    descending.push_back(static_cast<char>(31 - i));
  }
  EXPECT_EQ(crc32c(""), 0U);
  EXPECT_EQ(crc32c("123456789"), 0xE3069283U);
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8A9136AAU);
  EXPECT_EQ(crc32c(std::string(32, '\xFF')), 0x62A8AB43U);
  EXPECT_EQ(crc32c(ascending), 0x46DD794EU);
  EXPECT_EQ(crc32c(descending), 0x113FDB5CU);
}

std::uint32_t bit_by_bit(std::string_view bytes) {
  std::uint32_t crc = ~0U;
  for (const char byte : bytes) {
    crc ^= static_cast<unsigned char>(byte);
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0x82F63B78U : 0U);
  }
  return ~crc;
}

// Whichever way this machine computes it: a store may be read on another one.
RC_GTEST_PROP(Crc32c, IsTheSameAsBitByBit, (const std::string& bytes)) {
  const auto skipped = *rc::gen::inRange<std::size_t>(0, bytes.size() + 1);
  const std::string_view tail = std::string_view(bytes).substr(skipped);
  RC_ASSERT(crc32c(tail) == bit_by_bit(tail));
}

RC_GTEST_PROP(RunningCrc, IsThatOfTheWhole, (const std::string& bytes)) {
  const auto cut = *rc::gen::inRange<std::size_t>(0, bytes.size() + 1);
  RunningCrc crc;
  crc.add(std::string_view(bytes).substr(0, cut));
  crc.add(std::string_view(bytes).substr(cut));
  RC_ASSERT(crc.value() == crc32c(bytes));
}

}  // namespace
}  // namespace postrider
