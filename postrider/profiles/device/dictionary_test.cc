#include "postrider/profiles/device/dictionary.h"

#include <gtest/gtest.h>

namespace postrider::device {
namespace {

constexpr std::size_t kAny = std::size_t{1} << 20;
constexpr std::string_view kCommand =
    R"({"commandType":"READ_CREDIT","priority":0,"pluginId":"lora","networkId":1234,)"
    R"("correlationId":"c123456","device":{"type":"ELECTRICITY_METER",)"
    R"("externalReference":"47003333623"}})";

TEST(DeviceDictionary, MakesCommandsAQuarter) {
  EXPECT_LE(pack(kCommand, kDictionary).size(), 45U);
  EXPECT_EQ(unpack(pack(kCommand, kDictionary), kDictionary, kAny), kCommand);
}

// What was stored once must be read for ever.
TEST(DeviceDictionary, KeepsItsNumberItsWordsAndTheirPlaces) {  // req: engine.store.14
  EXPECT_EQ(kDictionary.number(), 1U);
  EXPECT_EQ(unpack("\x70\x8a\x71\x01\x37\x78", kDictionary, kAny),
            R"({"commandType":"READ_CREDIT","priority":7"}})");
  EXPECT_EQ(kDictionary.words().back(), R"(","description":")")
      << "the last word; add to it at the end";
}

}  // namespace
}  // namespace postrider::device
