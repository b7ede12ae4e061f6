#include "postrider/protocols/matrix/canonical_json.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "postrider/protocols/hex_testing.h"

namespace postrider::matrix {
namespace {

struct FormCase {
  const char* name;
  std::string text;
  std::string want;
};

class CanonicalForm : public ::testing::TestWithParam<FormCase> {};

// req: matrix.cj.1
TEST_P(CanonicalForm, IsTheOneOfTheTable) {
  const Result<std::string> form = canonical_of(GetParam().text, Numbers::kIntegers);
  ASSERT_TRUE(form) << form.error().detail;
  EXPECT_EQ(*form, GetParam().want);
  EXPECT_TRUE(is_canonical(*form, Numbers::kIntegers));
}

INSTANTIATE_TEST_SUITE_P(
    Forms, CanonicalForm,
    ::testing::Values(FormCase{"Empty", " { } ", "{}"}, FormCase{"EmptyArray", "[ ]", "[]"},
                      FormCase{"Sorted", R"({"b":"2","a":"1"})", R"({"a":"1","b":"2"})"},
                      FormCase{"SortedInside", R"({"a":{"d":1,"c":[{"f":1,"e":2}]}})",
                               R"({"a":{"c":[{"e":2,"f":1}],"d":1}})"},
                      FormCase{"RawCharacters", R"({"a":"\u65E5"})", "{\"a\":\"日\"}"},
                      FormCase{"SurrogatePair", R"(["\ud83d\ude00"])", "[\"😀\"]"},
                      FormCase{"SlashIsPlain", R"(["a\/b"])", R"(["a/b"])"},
                      FormCase{"ShortEscapes", R"(["\u0008\u0009\u000a\u000c\u000d"])",
                               R"(["\b\t\n\f\r"])"},
                      FormCase{"LongEscapes", R"(["\u0000\u001F"])", R"(["\u0000\u001f"])"},
                      FormCase{"EscapedName", R"({"\u0062":1,"a":2})", R"({"a":2,"b":1})"},
                      FormCase{"LargestIntegers", "[9007199254740991, -9007199254740991]",
                               "[9007199254740991,-9007199254740991]"},
                      FormCase{"Words", "[ null , true , false , 0 ]", "[null,true,false,0]"},
                      FormCase{"AloneText", "\"x\"", "\"x\""}),
    [](const auto& given) { return std::string(given.param.name); });

// req: matrix.cj.1, matrix.sig.2
TEST(CanonicalVectors, ControlsAndOthersAreThoseOfTheTable) {
  std::string out = "{\"a\":";
  append_quoted(out, "\a\x1F\t\n\"\\/\x7F\xE2\x80\xA8");
  out.append("}");
  EXPECT_EQ(to_hex(out), "7b2261223a225c75303030375c75303031665c745c6e5c225c5c2f7fe280a8227d");
  EXPECT_EQ(*canonical_of(out, Numbers::kIntegers), out);
}

// req: matrix.cj.1, matrix.sig.2
TEST(CanonicalVectors, NamesAreSortedByCodePoint) {
  const Result<std::string> form =
      canonical_of(R"({"\ud83d\ude00":1,"\ufb33":2,"\r":3})", Numbers::kIntegers);
  ASSERT_TRUE(form);
  EXPECT_EQ(to_hex(*form), "7b225c72223a332c22efacb3223a322c22f09f9880223a317d");
}

struct BadCase {
  const char* name;
  std::string text;
  ErrorCode code;
};

class CanonicalRefusal : public ::testing::TestWithParam<BadCase> {};

// req: matrix.cj.2
TEST_P(CanonicalRefusal, SaysWhatIsWrong) {
  const Result<std::string> form = canonical_of(GetParam().text, Numbers::kIntegers);
  ASSERT_FALSE(form) << *form;
  EXPECT_EQ(form.error().code, GetParam().code);
  EXPECT_FALSE(form.error().detail.empty());
  EXPECT_FALSE(is_canonical(GetParam().text, Numbers::kIntegers));
}

std::string nested(std::size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); }

INSTANTIATE_TEST_SUITE_P(
    Refusals, CanonicalRefusal,
    ::testing::Values(BadCase{"Float", "[1.5]", ErrorCode::kInvalid},
                      BadCase{"WholeFloat", "[1.0]", ErrorCode::kInvalid},
                      BadCase{"Exponent", "[1e3]", ErrorCode::kInvalid},
                      BadCase{"MinusZero", "[-0]", ErrorCode::kInvalid},
                      BadCase{"TooLarge", "[9007199254740992]", ErrorCode::kInvalid},
                      BadCase{"TooSmall", "[-9007199254740992]", ErrorCode::kInvalid},
                      BadCase{"Huge", "[99999999999999999999999]", ErrorCode::kInvalid},
                      BadCase{"NotANumber", "[NaN]", ErrorCode::kInvalid},
                      BadCase{"Infinity", "[Infinity]", ErrorCode::kInvalid},
                      BadCase{"LeadingZero", "[01]", ErrorCode::kInvalid},
                      BadCase{"NameTwice", R"({"a":1,"a":2})", ErrorCode::kConflict},
                      BadCase{"NameTwiceByEscape", R"({"a":1,"\u0061":2})", ErrorCode::kConflict},
                      BadCase{"LoneSurrogate", R"(["\ud800"])", ErrorCode::kInvalid},
                      BadCase{"LoneLowSurrogate", R"(["\udc00x"])", ErrorCode::kInvalid},
                      BadCase{"SurrogateInUtf8", "[\"\xED\xA0\x80\"]", ErrorCode::kInvalid},
                      BadCase{"InvalidUtf8", "[\"\xC3\"]", ErrorCode::kInvalid},
                      BadCase{"Overlong", "[\"\xC0\xAF\"]", ErrorCode::kInvalid},
                      BadCase{"RawControl", "[\"\n\"]", ErrorCode::kInvalid},
                      BadCase{"Nothing", "", ErrorCode::kInvalid},
                      BadCase{"TwoValues", "{} {}", ErrorCode::kInvalid},
                      BadCase{"TooDeep", nested(101), ErrorCode::kLimit}),
    [](const auto& given) { return std::string(given.param.name); });

// req: matrix.cj.3
TEST(Canonical, TakesAHundredLevels) {
  EXPECT_EQ(*canonical_of(nested(100), Numbers::kIntegers), nested(100));
}

// req: matrix.cj.2
TEST(Canonical, KeepsNumbersOfOldRoomsAsTheyAreWritten) {
  const std::string text = R"({"b": 1.0, "a": [1e100, -0, 123456789012345678901, 0.5E-3]})";
  EXPECT_EQ(*canonical_of(text, Numbers::kAsWritten),
            R"({"a":[1e100,-0,123456789012345678901,0.5E-3],"b":1.0})");
}

TEST(Canonical, FormIsToldFromOthers) {
  EXPECT_TRUE(is_canonical(R"({"a":1.5})", Numbers::kAsWritten));
  EXPECT_FALSE(is_canonical(R"({"a":1.5})", Numbers::kIntegers));
  EXPECT_FALSE(is_canonical(R"({"a": 1})", Numbers::kAsWritten));
  EXPECT_FALSE(is_canonical(R"({"b":1,"a":1})", Numbers::kAsWritten));
  EXPECT_FALSE(is_canonical(R"(["\u0041"])", Numbers::kAsWritten));
}

// Values of any shape, with blanks, escapes and any order of names.
std::string drawn_json(int depth) {
  const int kind = *rc::gen::inRange(0, depth > 0 ? 6 : 4);
  const std::string space = *rc::gen::element<std::string>("", " ", "\n\t");
  if (kind == 0) return space + *rc::gen::element<std::string>("null", "true", "false") + space;
  if (kind == 1)
    return space + std::to_string(*rc::gen::inRange<std::int64_t>(-kIntegerMax, kIntegerMax));
  if (kind <= 3) {
    std::string text = "\"";
    for (int left = *rc::gen::inRange(0, 6); left > 0; --left)
      text += *rc::gen::element<std::string>("a", "z", "é", "\\u00e9", "\\n", "\\/", "\\\"",
                                             "\\ud83d\\ude00", "😀", "\\u0001", " ");
    return text + "\"" + space;
  }
  const int count = *rc::gen::inRange(0, 5);
  std::string text = kind == 4 ? "[" : "{";
  for (int i = 0; i < count; ++i) {
    if (i > 0) text += "," + space;
    // Different in any case, in an order of their own.
    if (kind == 5) text += "\"" + std::to_string((i * 7 + 3) % 10) + "\\u0061\":" + space;
    text += drawn_json(depth - 1);
  }
  return text + (kind == 4 ? "]" : "}") + space;
}

// req: matrix.cj.3
RC_GTEST_PROP(Canonical, OfItsOwnFormIsTheSame, ()) {
  const std::string text = drawn_json(5);
  const Result<std::string> form = canonical_of(text, Numbers::kIntegers);
  RC_ASSERT(form.has_value());
  RC_ASSERT(*canonical_of(*form, Numbers::kIntegers) == *form);
  RC_ASSERT(*canonical_of(text, Numbers::kAsWritten) == *form);
}

}  // namespace
}  // namespace postrider::matrix
