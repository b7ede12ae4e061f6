#include "postrider/model/packing.h"

#include <string>

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

namespace postrider {
namespace {

constexpr std::size_t kAny = std::size_t{1} << 20;
constexpr std::string_view kCommand =
    R"({"commandType":"READ_CREDIT","priority":0,"pluginId":"lora","networkId":1234,)"
    R"("correlationId":"c123456","device":{"type":"ELECTRICITY_METER",)"
    R"("externalReference":"47003333623"}})";

// req: engine.record.10
RC_GTEST_PROP(Packing, GivesBackWhatItWasGiven, (const std::string& text)) {
  RC_ASSERT(unpack(pack(text), kAny) == text);
  RC_ASSERT(pack(text).size() <= text.size() + text.size() / 79 + 1);
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
  RC_ASSERT(unpack(pack(text), kAny) == text);
}

// req: engine.quarantine.2
RC_GTEST_PROP(Packing, TakesAnyBytesForATextOrForNone, (const std::string& bytes)) {
  const auto text = unpack(bytes, 1000);
  if (text) RC_ASSERT(unpack(pack(*text), 1000) == text);
}

TEST(Packing, MakesCommandsAQuarter) {
  EXPECT_LE(pack(kCommand).size(), 45U);
  EXPECT_EQ(unpack(pack(kCommand), kAny), kCommand);
  EXPECT_EQ(pack("6d1f6a5e-0000-4000-8000-00000000abcd").size(), 17U);
  EXPECT_EQ(pack("0000047003333623").size(), 9U);
  EXPECT_EQ(pack("executed").size(), 1U);
  EXPECT_EQ(pack(""), "");
}

// What was stored once must be read for ever: these bytes are the first table's.
TEST(Packing, KeepsItsWordsAndTheirNumbers) {  // req: engine.store.14
  EXPECT_EQ(unpack("\x70\x8a\x71\x01\x37\x78", kAny),
            R"({"commandType":"READ_CREDIT","priority":7"}})");
  EXPECT_EQ(unpack("\x51\xab\xcd\x02-x", kAny), "abcd-x");
  EXPECT_EQ(unpack(std::string("\x6e") + std::string(16, '\x12'), kAny),
            "12121212-1212-1212-1212-121212121212");
  EXPECT_EQ(unpack("\xf4", kAny), " join json ") << "the last word; add to it at the end";
}

TEST(Packing, RefusesWhatIsNotPacked) {  // req: engine.quarantine.2
  EXPECT_FALSE(unpack(std::string(1, '\0'), kAny));
  EXPECT_FALSE(unpack("\x6f", kAny));
  EXPECT_FALSE(unpack("\xff", kAny)) << "a word that nobody knows";
  EXPECT_FALSE(unpack("\x02x", kAny)) << "cut";
  EXPECT_FALSE(unpack("\x50", kAny));
  EXPECT_FALSE(unpack(std::string("\x6e") + std::string(15, 'x'), kAny));
  EXPECT_TRUE(unpack(pack(kCommand), kCommand.size()));
  EXPECT_FALSE(unpack(pack(kCommand), kCommand.size() - 1)) << "more than is wanted";
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
