#include "postrider/protocols/json_value.h"

#include <string>

#include <gtest/gtest.h>

namespace postrider::json {
namespace {

Tree read(const std::string& text) { return parse_object(text).value_or(Tree()); }

TEST(JsonOfOthers, IsReadWhatItsSizeIs) {
  for (const std::size_t count : {1U, 10U, 5000U}) {
    std::string text = "{\"list\":[";
    for (std::size_t i = 0; i < count; ++i)
      text.append(i == 0 ? "" : ",").append("{\"name\":\"the number " + std::to_string(i) + "\"}");
    text += "],\"last\":7}";
    const auto object = parse_object(text);
    ASSERT_TRUE(object.has_value()) << count;
    EXPECT_EQ(integer_of(*object, "last").value_or(0), 7);
    const auto& list = find(*object, "list")->items;
    ASSERT_EQ(list.size(), count);
    EXPECT_EQ(text_of(list.back(), "name").value_or(""), "the number " + std::to_string(count - 1));
  }
}

TEST(JsonOfOthers, IsRefusedWhenItIsNoObjectTooDeepOrTooLong) {
  for (const std::string& text : {std::string("{"), std::string("[1]"), std::string("\"x\""),
                                  std::string(kDepthMax + 1, '[')}) {
    const auto object = parse_object(text);
    ASSERT_FALSE(object.has_value()) << text;
    EXPECT_EQ(object.error().code, ErrorCode::kInvalid) << text;
  }
  EXPECT_EQ(parse_object(std::string(kBytesMax + 1, ' ')).error().code, ErrorCode::kLimit);
}

TEST(JsonOfOthers, CountsTheLastOfTwoNames) {
  EXPECT_EQ(integer_of(read(R"({"a":1,"a":2})"), "a").value_or(0), 2);
}

TEST(JsonOfOthers, HasNumbersAsNumbersOrAsTexts) {
  struct Case {
    std::string written;
    std::optional<std::int64_t> integer;
    std::optional<std::string> word;
    bool is_integer;
  };
  for (const Case& one : std::initializer_list<Case>{
           {"7", 7, "7", true},
           {"-7", -7, "-7", true},
           {"\"7\"", 7, "7", false},
           {"7.0", 7, "7", false},
           {"1e2", 100, "100", false},
           {"7.50", std::nullopt, "7.5", false},
           {"18446744073709551615", std::nullopt, "18446744073709551615", true},
           {"18446744073709551616", std::nullopt, "18446744073709551616", false},
           {"9007199254740994.0", std::nullopt, "9007199254740994", false},
           {"1e999", std::nullopt, std::nullopt, false},
           {"true", std::nullopt, std::nullopt, false},
           {"[]", std::nullopt, std::nullopt, false}}) {
    const Tree object = read("{\"a\":" + one.written + "}");
    const Tree* const value = find(object, "a");
    ASSERT_NE(value, nullptr) << one.written;
    EXPECT_EQ(integer_of(*value), one.integer) << one.written;
    EXPECT_EQ(word_of(*value), one.word) << one.written;
    EXPECT_EQ(is_integer(*value), one.is_integer) << one.written;
  }
}

TEST(JsonOfOthers, TakesNullForAbsentAndNamesAFieldOfAnotherKind) {
  const Tree object = read(R"({"none":null,"text":"x","list":[]})");
  EXPECT_EQ(find(object, "none"), nullptr);
  EXPECT_EQ(text_of(object, "none").value_or("?"), "");
  EXPECT_EQ(number_of(object, "none").value_or(1), 0);
  EXPECT_EQ(text_of(object, "list").error().detail, "list: must be a text");
  EXPECT_EQ(boolean_of(object, "text").error().detail, "text: must be true or false");
  EXPECT_EQ(number_of(object, "text").error().detail, "text: must be a number");
  EXPECT_EQ(object_of(object, "text").error().detail, "text: must be an object");
  EXPECT_EQ(u32_of(read(R"({"a":4294967296})"), "a").error().detail, "a: out of range");
}

}  // namespace
}  // namespace postrider::json
