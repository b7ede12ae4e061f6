#include "postrider/base/durations.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace postrider {
namespace {

struct DurationCase {
  const char* text;
  Duration want;
};

TEST(Durations, ReadsANumberAndAUnit) {
  const DurationCase cases[] = {
      {"0", 0ms},   {"0s", 0ms},  {"250ms", 250ms},        {"5s", 5s},  {"2m", 2min},
      {"12h", 12h}, {"5d", 120h}, {"3650d", kDurationMax}, {"007s", 7s}};
  for (const DurationCase& c : cases) {
    const Result<Duration> got = parse_duration(c.text);
    ASSERT_TRUE(got) << c.text;
    EXPECT_EQ(*got, c.want) << c.text;
  }
}

TEST(Durations, RefusesEverythingElseAndSaysWhatItMayBe) {
  for (const char* text :
       {"", "s", "5", "-5s", "+5s", "5 s", " 5s", "5s ", "1.5h", "5S", "5sec", "1h30m", "5s,"}) {
    const Result<Duration> got = parse_duration(text);
    ASSERT_FALSE(got) << text;
    EXPECT_EQ(got.error().code, ErrorCode::kInvalid);
    EXPECT_NE(got.error().detail.find("ms, s, m, h, d"), std::string::npos) << got.error().detail;
  }
}

TEST(Durations, EndsAtTenYears) {
  for (const char* text :
       {"3651d", "87601h", "315360000001ms", "18446744073709551615d", "99999999999999999999s"}) {
    const Result<Duration> got = parse_duration(text);
    ASSERT_FALSE(got) << text;
    EXPECT_NE(got.error().detail.find("ten years"), std::string::npos) << got.error().detail;
  }
}

TEST(Durations, ReadsLists) {
  const auto got = parse_durations("5s, 30s,2m", 3);
  ASSERT_TRUE(got);
  EXPECT_EQ(*got, (std::vector<Duration>{5s, 30s, 2min}));
  EXPECT_FALSE(parse_durations("5s,30s,2m", 2));
  EXPECT_FALSE(parse_durations("", 3));
  EXPECT_FALSE(parse_durations("5s,", 3));
  EXPECT_FALSE(parse_durations("5s;30s", 3));
}

TEST(Durations, AreWrittenInTheLargestUnitThatDivides) {
  EXPECT_EQ(to_string(Duration(0)), "0");
  EXPECT_EQ(to_string(Duration(1500ms)), "1500ms");
  EXPECT_EQ(to_string(Duration(90s)), "90s");
  EXPECT_EQ(to_string(Duration(15min)), "15m");
  EXPECT_EQ(to_string(Duration(12h)), "12h");
  EXPECT_EQ(to_string(Duration(72h)), "3d");
}

RC_GTEST_PROP(Durations, WhatIsWrittenReadsBack, ()) {
  const Duration duration(*rc::gen::inRange<std::int64_t>(0, kDurationMax.count() + 1));
  RC_ASSERT(*parse_duration(to_string(duration)) == duration);
}

}  // namespace
}  // namespace postrider
