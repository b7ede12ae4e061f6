#include "postrider/json/json_tree.h"

#include <memory>
#include <string>

#include <gtest/gtest.h>

namespace postrider::json {
namespace {

TEST(JsonTree, HoldsEveryKindAfterItsTextIsGone) {
  auto text = std::make_unique<std::string>(
      R"({"text":"a\u00e4\n","number":1.50,"flag":true,"none":null,"list":[1,[],{"x":"y"}]})");
  const Result<Tree> tree = parse_tree(*text, {});
  text.reset();
  ASSERT_TRUE(tree.has_value());
  EXPECT_EQ(tree->at("text"), "a\u00e4\n");
  EXPECT_EQ(tree->at("number"), "1.50") << "as it was written";
  EXPECT_EQ(tree->at("flag"), "true");
  EXPECT_EQ(tree->find("none")->kind, Tree::Kind::kNull);
  ASSERT_EQ(tree->list("list").size(), 3U);
  EXPECT_TRUE(tree->list("list")[1].is_list());
  EXPECT_EQ(tree->list("list")[2].at("x"), "y");
  EXPECT_EQ(tree->find("nothing"), nullptr);
  EXPECT_EQ(tree->at("nothing"), "");
  EXPECT_TRUE(tree->list("nothing").empty());
}

TEST(JsonTree, RefusesANameGivenTwiceUnlessItMayBe) {
  constexpr std::string_view kTwice = R"({"a":1,"b":{"c":2,"c":3},"a":4})";
  EXPECT_EQ(parse_tree(kTwice, {}).error().code, ErrorCode::kConflict);
  const Result<Tree> tree = parse_tree(kTwice, {.names_twice = true});
  ASSERT_TRUE(tree.has_value());
  EXPECT_EQ(tree->at("a"), "4");
  EXPECT_EQ(tree->find("b")->at("c"), "3");
}

TEST(JsonTree, QuotesTextsThatItReadsBack) {
  for (const std::string text :
       {"", "plain", "\"\\/\b\f\n\r\t\x01\x7f", "\u00e4\u20ac\U0001F600"}) {
    const Result<Tree> tree = parse_tree(json::quoted(text), {});
    ASSERT_TRUE(tree.has_value()) << text;
    EXPECT_EQ(tree->text, text);
  }
  EXPECT_EQ(json::quoted("\xff"), "\"\uFFFD\"") << "what is no UTF-8 is replaced";
}

}  // namespace
}  // namespace postrider::json
