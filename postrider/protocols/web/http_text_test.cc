#include "postrider/protocols/web/http_text.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "postrider/base/durations.h"

namespace postrider {
namespace {

constexpr Timestamp kTextWall(
    784'111'777'000);  // Sun, 06 Nov 1994 08:49:37 GMT, the example of RFC 9110

TEST(HttpDate, ReadsAndWritesTheOneForm) {
  EXPECT_EQ(parse_http_date("Sun, 06 Nov 1994 08:49:37 GMT"), kTextWall);
  EXPECT_EQ(to_http_date(kTextWall), "Sun, 06 Nov 1994 08:49:37 GMT");
  EXPECT_EQ(parse_http_date("Thu, 29 Feb 2024 23:59:59 GMT"), Timestamp(1'709'251'199'000));
  EXPECT_EQ(parse_http_date("Thu, 01 Jan 1970 00:00:00 GMT"), Timestamp(0));
}

TEST(HttpDate, ReadsNothingElse) {
  for (const char* text : {"", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994",
                           "Mon, 06 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 08:49:37 UTC",
                           "Sun, 6 Nov 1994 08:49:37 GMT", "Sun, 06 nov 1994 08:49:37 GMT",
                           "Sun, 06 Nov 1994 24:49:37 GMT", "Sun, 06 Nov 1994 08:60:37 GMT",
                           "Sun, 06 Nov 1994 08:49:61 GMT", "Thu, 30 Feb 2023 08:49:37 GMT",
                           "Sun, 06 Nov 19x4 08:49:37 GMT", "Sun, 06 Nov 1994 08:49:37 GMT "}) {
    EXPECT_EQ(parse_http_date(text), std::nullopt) << text;
  }
}

RC_GTEST_PROP(HttpDate, WhatIsWrittenReadsBack, ()) {
  const Timestamp time(*rc::gen::inRange<std::int64_t>(0, 253'402'300'800) *
                       1000);  // up to the year 9999
  RC_ASSERT(parse_http_date(to_http_date(time)) == time);
}

struct RetryAfterCase {
  const char* text;
  std::optional<Duration> want;
};

// req: webhook.retry-after.2
TEST(Rfc3339, IsWrittenInUtcWithMilliseconds) {
  EXPECT_EQ(to_rfc3339(Timestamp(784111777007)), "1994-11-06T08:49:37.007Z");
  EXPECT_EQ(to_rfc3339(Timestamp(951827696000)), "2000-02-29T12:34:56.000Z");
}

TEST(RetryAfter, IsSecondsOrADate) {
  const RetryAfterCase cases[] = {{"0", 0s},
                                  {"120", 120s},
                                  {" 120\t", 120s},
                                  {"Sun, 06 Nov 1994 08:50:37 GMT", 60s},
                                  {"Sun, 06 Nov 1994 08:49:37 GMT", 0s},
                                  {"Sun, 06 Nov 1994 08:49:36 GMT", 0s},
                                  {"99999999999", kDurationMax},
                                  {"99999999999999999999999", kDurationMax},
                                  {"Fri, 31 Dec 9999 23:59:59 GMT", kDurationMax},
                                  {"", std::nullopt},
                                  {"-1", std::nullopt},
                                  {"1.5", std::nullopt},
                                  {"soon", std::nullopt},
                                  {"120 s", std::nullopt}};
  for (const RetryAfterCase& c : cases)
    EXPECT_EQ(parse_retry_after(c.text, kTextWall), c.want) << c.text;
}

TEST(HeaderText, NamesAreTokensAndValuesHaveNoLineBreaks) {
  for (const char* name : {"x", "X-Api-Key", "a1!#$%&'*+-.^_`|~"})
    EXPECT_TRUE(is_header_name(name)) << name;
  for (const char* name : {"", "a b", "a:b", "a\r\n", "é", "a/b", "a\"b"})
    EXPECT_FALSE(is_header_name(name)) << name;
  for (const char* value : {"", "x", "a b", "Bearer \"~!"})
    EXPECT_TRUE(is_header_value(value)) << value;
  for (const char* value : {" a", "a ", "a\r\nb", "a\nb", "a\tb", "\x7F", "é"})
    EXPECT_FALSE(is_header_value(value)) << value;
  EXPECT_EQ(to_lower("X-Api-KEY\xC4"), "x-api-key\xC4");
}

// req: webhook.address.1
TEST(HttpUrl, IsAbsoluteWithAHostAndNothingHidden) {
  for (const char* url : {"http://a", "https://example.com/hook?x=1", "https://example.com:8443/",
                          "http://127.0.0.1:1/a", "http://[::1]:65535/x", "https://[2001:db8::1]",
                          "https://example.com?x"}) {
    EXPECT_TRUE(check_http_url(url)) << url;
  }
  for (const char* url : {"",
                          "example.com",
                          "ftp://example.com",
                          "HTTP://example.com",
                          "http://",
                          "https:///path",
                          "http://:80/",
                          "http://a:0/",
                          "http://a:65536/",
                          "http://a:/",
                          "http://a:8x/",
                          "http://a:123456/",
                          "http://a b/",
                          "http://a/\n",
                          "http://a/#top",
                          "http://user:word@a/",
                          "http://[::1/",
                          "http://[]/",
                          "http://[::1]x/",
                          "http://é/"}) {
    EXPECT_FALSE(check_http_url(url)) << url;
  }
}

// req: webhook.reason.2
TEST(Excerpt, IsSafeToShow) {
  EXPECT_EQ(clean_excerpt("  down\r\n\tfor \x1B[31mmaintenance\x7F ", 100),
            "down for [31mmaintenance");
  EXPECT_EQ(clean_excerpt("gr\xC3\xBC\xC3\x9F", 100), "grüß");
  EXPECT_EQ(clean_excerpt("a\xFF\xC0\xAF\xED\xA0\x80z", 100), "a??????z")
      << "no bytes that are not UTF-8";
  EXPECT_EQ(clean_excerpt("\xF0\x9F\x93\xAE", 100), "\xF0\x9F\x93\xAE") << "a letter box";
  EXPECT_EQ(clean_excerpt("\xF0\x8F\xBF\xBF", 100), "????") << "a long form of three bytes";
  EXPECT_EQ(clean_excerpt("\xF4\x90\x80\x80", 100), "????") << "beyond the last character";
  EXPECT_EQ(clean_excerpt("a\xC2\x9Bz", 100), "a z") << "a control character in two bytes";
  const std::string override_bytes = {'a', '\xE2', '\x80', '\xAE', 'z'};
  EXPECT_EQ(clean_excerpt(override_bytes, 100), "a z") << "right-to-left override";
  EXPECT_EQ(clean_excerpt(std::string_view("a\0b", 3), 100), "a b");
  EXPECT_EQ(clean_excerpt("", 100), "");
  EXPECT_EQ(clean_excerpt(" \n ", 100), "");
}

// req: webhook.reason.2
TEST(Excerpt, EndsOnAWholeCharacterWithinItsLimit) {
  EXPECT_EQ(clean_excerpt("abcdef", 7), "abcdef");
  EXPECT_EQ(clean_excerpt("abcdef", 6), "abcdef");
  EXPECT_EQ(clean_excerpt("abcdef", 5), "abcde");
  EXPECT_EQ(clean_excerpt("abc\xE2\x82\xAC", 6), "abc€");
  EXPECT_EQ(clean_excerpt("abc\xE2\x82\xAC", 5), "abc");
  EXPECT_EQ(clean_excerpt("abc\xE2\x82", 100), "abc??") << "the excerpt was cut inside a character";
  EXPECT_EQ(clean_excerpt("abc d", 4), "abc");
}

RC_GTEST_PROP(Excerpt, IsShortAndCleaningTwiceChangesNothing, (const std::string& text)) {
  const auto limit = *rc::gen::inRange<std::size_t>(0, 50);
  const std::string once = clean_excerpt(text, limit);
  RC_ASSERT(once.size() <= limit);
  RC_ASSERT(clean_excerpt(once, limit) == once);
}

TEST(Rfc3339, ReadsOffsetsAndAnyNumberOfPlaces) {
  constexpr std::int64_t kAt = 1'786'545'000'000;
  const std::pair<const char*, std::int64_t> cases[] = {
      {"2026-08-12T14:30:00Z", kAt},         {"2026-08-12t14:30:00z", kAt},
      {"2026-08-12T14:30:00.5Z", kAt + 500}, {"2026-08-12T14:30:00.775023242+00:00", kAt + 775},
      {"2026-08-12T14:30:00.0009Z", kAt},    {"2026-08-12T20:00:00+05:30", kAt},
      {"2026-08-12T10:30:00-04:00", kAt},    {"9999-12-31T23:59:59.999Z", 253'402'300'799'999}};
  for (const auto& [text, ms] : cases) EXPECT_EQ(parse_rfc3339(text), Timestamp(ms)) << text;
  for (const char* text :
       {"", "2026-08-12", "2026-08-12T14:30:00", "2026-08-12 14:30:00Z", "2026-13-12T14:30:00Z",
        "2026-02-29T14:30:00Z", "2026-08-12T24:30:00Z", "2026-08-12T14:60:00Z",
        "2026-08-12T14:30:60Z", "2026-08-12T14:30:00.Z", "2026-08-12T14:30:00+0530",
        "2026-08-12T14:30:00+24:00", "2026-08-12T14:30:00Zx", "2026-8-12T14:30:00Z",
        "1969-12-31T23:59:59Z", "1970-01-01T00:00:00Z", "2026-08-12T14:30:00.12"})
    EXPECT_EQ(parse_rfc3339(text), std::nullopt) << text;
}

RC_GTEST_PROP(Rfc3339, GoesThroughTextAndBack, ()) {
  const Timestamp time(*rc::gen::inRange<std::int64_t>(1, 253'402'300'799'999));
  RC_ASSERT(parse_rfc3339(to_rfc3339(time)) == time);
}

}  // namespace
}  // namespace postrider
