#include "postrider/json/json_reader.h"

#include <boost/json.hpp>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "postrider/json/json_writer.h"

namespace postrider::json {
namespace {

bool reads(std::string_view text, JsonLimits limits = {}) {
  JsonDocument document;
  return document.parse(text, limits).has_value();
}

ErrorCode code_of(std::string_view text, JsonLimits limits = {}) {
  JsonDocument document;
  const auto good = document.parse(text, limits);
  EXPECT_FALSE(good.has_value()) << text;
  return good ? ErrorCode::kNotFound : good.error().code;
}

std::string text_of(std::string_view json) {
  JsonDocument document;
  EXPECT_TRUE(document.parse(json, {}).has_value()) << json;
  return document.root().text();
}

TEST(JsonReader, ReadsEveryKindOfValue) {
  for (const std::string_view text :
       {"null", "true", "false", "0", "-0", "12", "-1.5e+10", "1E5", "0.5", "\"\"", "\"a\"", "[]",
        "{}", " [ 1 , 2 ] ", "{\"a\":{\"b\":[1,{}]}}", "\t\r\n 1 \n"}) {
    EXPECT_TRUE(reads(text)) << text;
  }
}

TEST(JsonReader, RefusesWhatIsNotJson) {
  for (const std::string_view text : {"",
                                      " ",
                                      "nul",
                                      "tru",
                                      "nulll",
                                      "01",
                                      "-",
                                      "+1",
                                      "1.",
                                      ".5",
                                      "1e",
                                      "1e+",
                                      "0x1",
                                      "NaN",
                                      "Infinity",
                                      "'a'",
                                      "\"",
                                      "\"a",
                                      "\"\\",
                                      "\"\\x\"",
                                      "\"\\u12\"",
                                      "\"\t\"",
                                      "[",
                                      "]",
                                      "[1",
                                      "[1,",
                                      "[1,]",
                                      "[,1]",
                                      "[1 2]",
                                      "{",
                                      "}",
                                      "{\"a\"",
                                      "{\"a\":",
                                      "{\"a\":1",
                                      "{\"a\":1,}",
                                      "{a:1}",
                                      "{1:1}",
                                      "{\"a\" 1}",
                                      "{\"a\":1 \"b\":2}",
                                      "1 2",
                                      "{} {}",
                                      "[1]]",
                                      "// a\n1",
                                      "\xEF\xBB\xBF{}"}) {
    EXPECT_FALSE(reads(text)) << text;
  }
  EXPECT_FALSE(reads(std::string_view("1\0", 2)));
}

// req: api.json.1
TEST(JsonReader, RefusesBytesThatAreNotUtf8) {
  for (const std::string_view bytes :
       {"\x80", "\xC3", "\xC0\xAF", "\xC1\xBF", "\xE0\x80\xAF", "\xE2\x82", "\xED\xA0\x80",
        "\xED\xBF\xBF", "\xF0\x80\x80\xAF", "\xF4\x90\x80\x80", "\xF5\x80\x80\x80", "\xFF",
        "aaaaaaaa\xFE", "\xE2\x28\xA1"}) {
    EXPECT_FALSE(reads("\"" + std::string(bytes) + "\""));
    EXPECT_FALSE(is_utf8(bytes));
  }
  for (const std::string_view bytes :
       {"\xC2\x80", "\xDF\xBF", "\xE0\xA0\x80", "\xED\x9F\xBF", "\xEE\x80\x80", "\xEF\xBF\xBF",
        "\xF0\x90\x80\x80", "\xF4\x8F\xBF\xBF"}) {
    EXPECT_EQ(text_of("\"" + std::string(bytes) + "\""), bytes);
    EXPECT_TRUE(is_utf8(bytes));
  }
}

TEST(JsonReader, Unescapes) {
  EXPECT_EQ(text_of(R"("a\"\\\/\b\f\n\r\tz")"), "a\"\\/\b\f\n\r\tz");
  EXPECT_EQ(text_of(R"("\u0041\u00e9\u20AC\ud83d\ude00")"),
            "A\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80");
  EXPECT_EQ(text_of(R"("\u0000")"), std::string(1, '\0'));
  for (const std::string_view alone :
       {R"("\ud83d")", R"("\ude00")", R"("\ud83d\u0041")", R"("\ud83dx")", R"("\ud83d\ud83d")"}) {
    EXPECT_FALSE(reads(alone)) << alone;
  }
}

// req: api.json.2
TEST(JsonReader, RefusesANameGivenTwice) {
  EXPECT_EQ(code_of(R"({"a":1,"b":2,"a":3})"), ErrorCode::kConflict);
  EXPECT_EQ(code_of(R"({"x":[{"a":1,"a":1}]})"), ErrorCode::kConflict) << "however deep";
  EXPECT_EQ(code_of(R"({"a":1,"\u0061":2})"), ErrorCode::kConflict) << "however it is written";
  EXPECT_TRUE(reads(R"({"a":{"a":1},"b":{"a":1}})"));
  std::string many = "{";
  for (int i = 0; i < 100; ++i) many += "\"k" + std::to_string(i) + "\":0,";
  EXPECT_TRUE(reads(many + "\"z\":0}"));
  EXPECT_EQ(code_of(many + "\"k7\":0}"), ErrorCode::kConflict);
  EXPECT_EQ(code_of(many + "\"\\u006b7\":0}"), ErrorCode::kConflict);
}

// req: api.json.3
TEST(JsonReader, BoundsDepthAndCount) {
  const JsonLimits limits{.depth_max = 3, .values_max = 5};
  EXPECT_TRUE(reads("[[1]]", limits));
  EXPECT_TRUE(reads("[[[1]]]", limits));
  EXPECT_EQ(code_of("[[[[1]]]]", limits), ErrorCode::kLimit);
  EXPECT_TRUE(reads("[1,2,3]", limits));
  EXPECT_TRUE(reads("[1,2,3,4]", limits));
  EXPECT_EQ(code_of("[1,2,3,4,5]", limits), ErrorCode::kLimit);
  EXPECT_TRUE(reads("{\"a\":1,\"b\":2}", limits)) << "names count";
  EXPECT_EQ(code_of("{\"a\":1,\"b\":2,\"c\":3}", limits), ErrorCode::kLimit);
  EXPECT_EQ(code_of(std::string(1'000'000, '['), {}), ErrorCode::kLimit) << "and needs no stack";
}

TEST(JsonReader, SaysWhere) {
  JsonDocument document;
  const auto bad = document.parse("{\"a\":tru}", {});
  ASSERT_FALSE(bad.has_value());
  EXPECT_EQ(bad.error().detail, "at byte 5: this begins no value");
}

TEST(JsonReader, MakesCompactTextWithoutChangingAnything) {
  JsonDocument document;
  ASSERT_TRUE(document.parse(" { \"a b\" : [ 1.50 , -0 , \" x \\\" y \" ] , \"c\" : { } } ", {}));
  std::string out;
  document.root().append_compact(out);
  EXPECT_EQ(out, R"({"a b":[1.50,-0," x \" y "],"c":{}})");
}

TEST(JsonReader, WalksMembersInOrder) {
  JsonDocument document;
  ASSERT_TRUE(document.parse(R"({"a":{"x":[1,2]},"b":[{}],"c":3})", {}));
  std::string seen;
  document.root().for_members([&](const JsonValue& name, const JsonValue& value) {
    seen += name.text() + "=" + std::string(value.raw()) + ";";
    return true;
  });
  EXPECT_EQ(seen, R"(a={"x":[1,2]};b=[{}];c=3;)");
}

// Two readers by two people agree on what JSON is; except for names given twice, which the other
// lets pass.
RC_GTEST_PROP(JsonReader, AgreesWithBoostOnRandomTexts, ()) {
  static constexpr std::string_view kPieces[] = {
      "{",    "}",        "[",    "]",       ",",
      ":",    "\"",       "\\",   "\\u0041", "\\ud83d\\ude00",
      "a",    "1",        "-",    ".",       "e5",
      "0",    "true",     "null", " ",       "\n",
      "\x01", "\xC3\xA9", "\xFF", "\"a\":",  "\"b\":",
      "\"x\""};
  std::string text;
  const auto picks = *rc::gen::container<std::vector<std::size_t>>(
      rc::gen::inRange<std::size_t>(0, std::size(kPieces)));
  for (const std::size_t pick : picks) text += kPieces[pick];
  boost::system::error_code bad;
  const auto theirs = boost::json::parse(text, bad);
  JsonDocument document;
  const auto ours = document.parse(text, {});
  if (!ours && ours.error().code == ErrorCode::kConflict) return;
  RC_ASSERT(ours.has_value() == !bad.failed());
}

// Any text that is written is read back as it was.
RC_GTEST_PROP(JsonReader, ReadsWhatTheWriterWrote, (const std::string& bytes)) {
  std::string json;
  JsonWriter(json).text(bytes);
  JsonDocument document;
  RC_ASSERT(document.parse(json, {}).has_value());
  if (is_utf8(bytes)) RC_ASSERT(document.root().text() == bytes);
  boost::system::error_code bad;
  const auto theirs = boost::json::parse(json, bad);
  RC_ASSERT(!bad.failed());
}

TEST(JsonWriter, WritesNestedValues) {
  std::string out;
  JsonWriter json(out);
  json.open_object().field("a", "x\"y").count("b", 7).flag("c", true).name("d").open_array();
  json.number(1).text("z").open_object().close_object().close_array().text_name("e\n").raw("null");
  json.close_object();
  EXPECT_EQ(out, R"({"a":"x\"y","b":7,"c":true,"d":[1,"z",{}],"e\n":null})");
}

TEST(JsonWriter, WritesUtf8WhateverItIsGiven) {
  std::string out;
  JsonWriter(out).text("a\xFF\xC3\xA9\x01\x7F");
  EXPECT_EQ(out, "\"a\xEF\xBF\xBD\xC3\xA9\\u0001\\u007f\"");
}

}  // namespace
}  // namespace postrider::json
