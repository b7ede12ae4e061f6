#include "postrider/api/texts.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace postrider::api {
namespace {

TEST(ApiTexts, ReadTimesWithAnyOffset) {
  EXPECT_EQ(parse_time("1970-01-01T00:00:01Z")->ms(), 1000);
  EXPECT_EQ(parse_time("2027-01-15T08:00:00Z")->ms(), 1'800'000'000'000);
  EXPECT_EQ(parse_time("2027-01-15T09:30:00.1+01:30")->ms(), 1'800'000'000'100);
  EXPECT_EQ(parse_time("2027-01-14t23:00:00.123456789-09:00")->ms(), 1'800'000'000'123);
  EXPECT_EQ(parse_time("2028-02-29T00:00:00z").has_value(), true);
  for (const std::string_view bad :
       {"", "2027", "2027-01-15", "2027-01-15T08:00Z", "2027-01-15T08:00:00",
        "2027-13-15T08:00:00Z", "2027-02-29T08:00:00Z", "2027-01-15T24:00:00Z",
        "2027-01-15T08:60:00Z", "2027-01-15T08:00:60Z", "2027-01-15 08:00:00Z",
        "2027-01-15T08:00:00.Z", "2027-01-15T08:00:00.1234567890Z", "2027-01-15T08:00:00+24:00",
        "2027-01-15T08:00:00+0100", "2027-01-15T08:00:00Zx", "1969-12-31T23:59:59Z",
        "1970-01-01T00:00:00Z", "+027-01-15T08:00:00Z"})
    EXPECT_FALSE(parse_time(bad).has_value()) << bad;
}

RC_GTEST_PROP(ApiTexts, TimesAreReadBackAsTheyWereWritten, ()) {
  const Timestamp time(*rc::gen::inRange<std::int64_t>(1, 253'402'300'799'999));
  RC_ASSERT(*parse_time(to_text(time)) == time);
}

RC_GTEST_PROP(ApiTexts, CursorsAreReadBackAsTheyWereWritten, (const std::string& bytes)) {
  RC_PRE(!bytes.empty());
  const std::string text = encode_cursor(bytes);
  RC_ASSERT(decode_cursor(text) == bytes);
  RC_ASSERT(percent_decode(text, true) == text);
}

RC_GTEST_PROP(ApiTexts, PositionsAreReadBackAsTheyWereWritten,
              (std::uint32_t bucket, std::uint64_t page, std::uint32_t index)) {
  const LogPosition position{bucket, page, index};
  RC_ASSERT(parse_position(to_text(position)) == position);
}

TEST(ApiTexts, RefusePositionsThatAreNone) {
  for (const std::string_view bad : {"", "1", "1.2", "1.2.", ".2.3", "1.2.3.4", "1.2.x", "-1.2.3",
                                     "4294967296.1.1", "1.18446744073709551616.1", "1. 2.3"})
    EXPECT_FALSE(parse_position(bad).has_value()) << bad;
}

TEST(ApiTexts, KnowWhenAUuidOfVersion7WasMade) {
  const OperationKey timed = make_operation_key("018CC251-F400-7abc-8def-0123456789ab", "t");
  EXPECT_EQ(timed.kind, OperationKey::Kind::kTimed);
  EXPECT_EQ(timed.made.ms(), 0x018CC251F400);
  EXPECT_EQ(timed.key, "018cc251-f400-7abc-8def-0123456789ab") << "the same in any case";
  EXPECT_EQ(timed.scope, "t");
  EXPECT_EQ(make_operation_key("018cc251-f400-7abc-8def-0123456789ab#12", "t").kind,
            OperationKey::Kind::kTimed)
      << "a line of a batch";
  for (const std::string_view opaque :
       {"018cc251-f400-4abc-8def-0123456789ab", "018cc251-f400-7abc-cdef-0123456789ab",
        "018cc251f4007abc8def0123456789ab", "018cc251-f400-7abc-8def-0123456789aX", "x"})
    EXPECT_EQ(make_operation_key(opaque, "t").kind, OperationKey::Kind::kOpaque) << opaque;
}

TEST(ApiTexts, DecodePercents) {
  EXPECT_EQ(percent_decode("a%20b%2Fc+d", false), "a b/c+d");
  EXPECT_EQ(percent_decode("a+b", true), "a b");
  EXPECT_FALSE(percent_decode("a%2", false).has_value());
  EXPECT_FALSE(percent_decode("a%", false).has_value());
  EXPECT_FALSE(percent_decode("a%zz", false).has_value());
}

TEST(ApiTexts, KnowWhatIsAccepted) {
  EXPECT_TRUE(accepts("", "application/json"));
  EXPECT_TRUE(accepts("*/*", "application/json"));
  EXPECT_TRUE(accepts("text/html, application/*;q=0.5", "application/json"));
  EXPECT_TRUE(accepts("Application/JSON", "application/json"));
  EXPECT_FALSE(accepts("text/html", "application/json"));
  EXPECT_FALSE(accepts("application/json;q=0", "application/json"));
  EXPECT_FALSE(accepts("application/json;q=0.000", "application/json"));
  EXPECT_TRUE(accepts("application/json;q=0.001", "application/json"));
  EXPECT_TRUE(is_media_type("application/json; charset=utf-8", "application/json"));
  EXPECT_FALSE(is_media_type("application/jsonx", "application/json"));
  EXPECT_FALSE(is_media_type("", "application/json"));
}

}  // namespace
}  // namespace postrider::api
