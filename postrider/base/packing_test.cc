#include "postrider/base/packing.h"

#include <array>
#include <string>

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

namespace postrider {
namespace {

constexpr std::size_t kAny = std::size_t{1} << 20;
constexpr auto kWords = std::to_array<std::string_view>(
    {R"({"kind":")", R"(","to":")", R"("}})", "TURN_ON", "TURN_ON_LATER", "executed"});
constexpr Dictionary kDictionary(7, kWords);
static_assert(kDictionary.sound());
constexpr std::string_view kCommand =
    R"({"kind":"TURN_ON","to":"6d1f6a5e-0000-4000-8000-00000000abcd"}})";

// req: engine.record.10
RC_GTEST_PROP(Packing, GivesBackWhatItWasGiven, (const std::string& text)) {
  RC_ASSERT(unpack(pack(text, kDictionary), kDictionary, kAny) == text);
  RC_ASSERT(pack(text, kDictionary).size() <= text.size() + text.size() / 79 + 1);
}

// req: engine.record.10
RC_GTEST_PROP(Packing, GivesBackDigitsAndWordsBetweenAnything, ()) {
  std::string text;
  for (int i = *rc::gen::inRange(0, 8); i > 0; --i) {
    text += *rc::gen::element<std::string>(
        "6d1f6a5e-0000-4000-8000-00000000abcd", "6d1f6a5e-0000-4000-8000-0000", "47003333623",
        "0000047003333623", "TURN_ON", R"(,"phase":")", R"("}})", "device", "-", "f",
        R"({"deduplicationId":")", std::string(61, 'a'), std::string(80, 'z'));
    text += *rc::gen::arbitrary<std::string>();
  }
  RC_ASSERT(unpack(pack(text, kDictionary), kDictionary, kAny) == text);
}

// req: engine.quarantine.2
RC_GTEST_PROP(Packing, TakesAnyBytesForATextOrForNone, (const std::string& bytes)) {
  const auto text = unpack(bytes, kDictionary, 1000);
  if (text) RC_ASSERT(unpack(pack(*text, kDictionary), kDictionary, 1000) == text);
}

TEST(Packing, MakesAWordAByteAndAUuidSeventeen) {
  EXPECT_EQ(pack(kCommand, kDictionary).size(), 4U + 17U);
  EXPECT_EQ(unpack(pack(kCommand, kDictionary), kDictionary, kAny), kCommand);
  EXPECT_EQ(pack("6d1f6a5e-0000-4000-8000-00000000abcd", kDictionary).size(), 17U);
  EXPECT_EQ(pack("0000047003333623", kDictionary).size(), 9U);
  EXPECT_EQ(pack("executed", kDictionary).size(), 1U);
  EXPECT_EQ(pack("", kDictionary), "");
}

// The longest word that fits is taken.
TEST(Packing, KnowsWordsByTheirPlaces) {
  EXPECT_EQ(unpack("\x70\x73\x71\x01\x37\x72", kDictionary, kAny),
            R"({"kind":"TURN_ON","to":"7"}})");
  EXPECT_EQ(pack("TURN_ON_LATER", kDictionary), "\x74");
  EXPECT_EQ(unpack("\x51\xab\xcd\x02-x", kDictionary, kAny), "abcd-x");
  EXPECT_EQ(unpack(std::string("\x6e") + std::string(16, '\x12'), kDictionary, kAny),
            "12121212-1212-1212-1212-121212121212");
}

TEST(Packing, RefusesWhatIsNotPacked) {  // req: engine.quarantine.2
  EXPECT_FALSE(unpack(std::string(1, '\0'), kDictionary, kAny));
  EXPECT_FALSE(unpack("\x6f", kDictionary, kAny));
  EXPECT_FALSE(unpack("\xff", kDictionary, kAny)) << "a word that nobody knows";
  EXPECT_FALSE(unpack("\x02x", kDictionary, kAny)) << "cut";
  EXPECT_FALSE(unpack("\x50", kDictionary, kAny));
  EXPECT_FALSE(unpack(std::string("\x6e") + std::string(15, 'x'), kDictionary, kAny));
  EXPECT_TRUE(unpack(pack(kCommand, kDictionary), kDictionary, kCommand.size()));
  EXPECT_FALSE(unpack(pack(kCommand, kDictionary), kDictionary, kCommand.size() - 1))
      << "more than is wanted";
}

TEST(Packing, FindsADictionaryByItsNumber) {
  const std::array<const Dictionary*, 1> all = {&kDictionary};
  EXPECT_EQ(find_dictionary(all, 7), &kDictionary);
  EXPECT_EQ(find_dictionary(all, 1), nullptr);
  EXPECT_EQ(find_dictionary({}, 7), nullptr);
}

TEST(Packing, IsSoundWithinItsBounds) {
  constexpr auto kShort = std::to_array<std::string_view>({"ab"});
  EXPECT_FALSE(Dictionary(1, kShort).sound());
  EXPECT_FALSE(Dictionary(0, kWords).sound());
}

TEST(Packing, KnowsUuids) {
  const std::string uuid = "6d1f6a5e-0000-4000-8000-00000000abcd";
  EXPECT_EQ(text_of_uuid(bytes_of_uuid(uuid)), uuid);
  for (const std::string& other :
       {std::string(), std::string(36, '-'), std::string(36, '0'), uuid + "0", uuid.substr(1),
        std::string("6d1f6a5e-0000-4000-8000-00000000abcD"),
        std::string("6d1f6a5e0-000-4000-8000-00000000abcd")})
    EXPECT_EQ(bytes_of_uuid(other), "") << other;
}

}  // namespace
}  // namespace postrider
