#include "postrider/protocols/json_value.h"

#include <string>

#include <gtest/gtest.h>

namespace postrider::json {
namespace {

TEST(JsonDocument, ReadsAnObjectThatFitsAndOneThatNeedsMoreMemory) {
  for (const std::size_t count : {1U, 10U, 5000U}) {
    std::string text = "{\"list\":[";
    for (std::size_t i = 0; i < count; ++i)
      text.append(i == 0 ? "" : ",").append("{\"name\":\"the number " + std::to_string(i) + "\"}");
    text += "],\"last\":7}";
    Document document;
    const auto object = document.parse_object(text);
    ASSERT_TRUE(object.has_value()) << count;
    EXPECT_EQ(integer_of(**object, "last").value_or(0), 7);
    const auto& list = find(**object, "list")->get_array();
    ASSERT_EQ(list.size(), count);
    EXPECT_EQ(text_of(list.back().get_object(), "name").value_or(""),
              "the number " + std::to_string(count - 1));
  }
}

TEST(JsonDocument, SaysWhatIsWrongAsTheOtherParserDoes) {
  for (const std::string& text :
       {std::string("{"), std::string("[1]"), std::string("\"x\""), std::string(kDepthMax + 1, '['),
        std::string(kBytesMax + 1, ' ')}) {
    Document document;
    const auto object = document.parse_object(text);
    const auto plain = parse_object(text);
    ASSERT_FALSE(object.has_value());
    ASSERT_FALSE(plain.has_value());
    EXPECT_EQ(object.error().code, plain.error().code);
    EXPECT_EQ(object.error().detail, plain.error().detail);
  }
}

}  // namespace
}  // namespace postrider::json
