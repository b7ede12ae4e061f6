#include "postrider/protocols/device/reply.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace postrider::device {
namespace {

TEST(Decimal, IsWrittenAsItWasRead) {
  const std::pair<const char*, const char*> cases[] = {
      {"123.45", "123.45"}, {"0", "0"},     {"0.05", "0.05"},     {"-0.50", "-0.5"},
      {"+7", "7"},          {"100", "100"}, {"0230.10", "230.1"}, {"5.00", "5"},
      {"000", "0"},         {"-12", "-12"}, {"-0", "0"}};
  for (const auto& [text, want] : cases) {
    const std::optional<Decimal> value = parse_decimal(text);
    ASSERT_TRUE(value) << text;
    EXPECT_EQ(to_text(*value), want) << text;
  }
}

TEST(Decimal, RefusesWhatIsNoNumber) {
  for (const char* text : {"", "-", ".", ".5", "5.", "1.2.3", "1e5", "0x1", "1,5", " 1", "1 ",
                           "--1", "NaN", "1234567890123456789"})
    EXPECT_EQ(parse_decimal(text), std::nullopt) << text;
  EXPECT_TRUE(parse_decimal("123456789012345678"));
}

RC_GTEST_PROP(Decimal, GoesThroughTextAndBack, ()) {
  const auto units = *rc::gen::inRange<std::int64_t>(-999'999'999'999LL, 999'999'999'999LL);
  const auto scale = *rc::gen::inRange<std::uint8_t>(0, 6);
  const Decimal value = make_decimal(units, scale);
  RC_ASSERT(parse_decimal(to_text(value)) == value);
}

TEST(DeviceReply, VerdictsHaveNames) {
  EXPECT_EQ(name_of(SendVerdict::kAccepted), "accepted");
  EXPECT_EQ(name_of(SendVerdict::kUnknown), "unknown");
  EXPECT_EQ(name_of(PollVerdict::kPending), "pending");
  EXPECT_EQ(name_of(PollVerdict::kLoginNeeded), "login-needed");
}

}  // namespace
}  // namespace postrider::device
