#include "postrider/model/destination.h"

#include <string>

#include <gtest/gtest.h>

namespace postrider {
namespace {

// req: engine.template.7
TEST(DestinationName, HasLettersDigitsAndSomeMarks) {
  for (const char* good : {"a", "7", "shop-eu", "matrix:example.org:8448", "matrix:[2001:db8::7]",
                           "a._-:@+=~[]", "A"}) {
    EXPECT_TRUE(is_destination_name(good)) << good;
    EXPECT_FALSE(is_template_name(good)) << good;
  }
  for (const char* bad : {"", " ", "a b", "a/b", "-a", "[a]", ".a", "a*", "*", "a*b", "a\n", "ä"}) {
    EXPECT_FALSE(is_destination_name(bad)) << bad;
  }
}

// req: engine.template.3
TEST(DestinationName, OfATemplateEndsInAStarBehindABeginning) {
  for (const char* good : {"a*", "hook:*", "matrix:*", "a.[*"}) {
    EXPECT_TRUE(is_template_name(good)) << good;
    EXPECT_FALSE(is_destination_name(good)) << good;
  }
  for (const char* bad : {"*", "a**", "a*b", "a*b*", ":*", "a b*", "hook"}) {
    EXPECT_FALSE(is_template_name(bad)) << bad;
  }
}

// req: engine.template.7
TEST(DestinationName, HasAtMost255Bytes) {
  const std::string most(kDestinationNameBytesMax, 'n');
  ASSERT_EQ(most.size(), 255U);
  EXPECT_TRUE(is_destination_name(most.substr(1)));
  EXPECT_TRUE(is_destination_name(most));
  EXPECT_FALSE(is_destination_name(most + "n"));
  EXPECT_TRUE(is_template_name(most.substr(1) + "*"));
  EXPECT_FALSE(is_template_name(most + "*"));
}

// req: engine.template.3
TEST(Template, FitsWhatBeginsAsItDoesAndGoesOn) {
  EXPECT_TRUE(fits_template("hook:*", "hook:a"));
  EXPECT_FALSE(fits_template("hook:*", "hook:"));
  EXPECT_FALSE(fits_template("hook:*", "hoo"));
  EXPECT_FALSE(fits_template("hook:*", "xhook:a"));
}

// req: engine.template.5
TEST(Template, SettingsOfItsOwnGoBefore) {
  const NamedTexts wide = {{"a", "1"}, {"b", "2"}};
  EXPECT_EQ(merged(wide, {}), wide);
  EXPECT_EQ(merged(wide, {{"a", "3"}}), (NamedTexts{{"b", "2"}, {"a", "3"}}));
  EXPECT_EQ(merged(wide, {{"a", ""}}), (NamedTexts{{"b", "2"}}));
}

// req: engine.template.2
TEST(DestinationRecord, OfOneThatStandsAloneIsWhatItWas) {
  const DestinationConfig config{.name = "a", .profile = "p", .settings = {{"x", "y"}}};
  const std::string record = encode_config(config);
  EXPECT_EQ(record.substr(0, record.size() - 4), std::string("\1\0\1a\1p\1x\1y", 10));
}

// req: engine.template.2
TEST(DestinationRecord, NamesTheTemplate) {
  const DestinationConfig config{.name = "hook:a", .profile = {}, .settings = {}, .like = "hook:*"};
  const auto read = decode_config(encode_config(config));
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->like, "hook:*");
  EXPECT_TRUE(read->profile.empty());
}

}  // namespace
}  // namespace postrider
