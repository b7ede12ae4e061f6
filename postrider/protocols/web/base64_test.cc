#include "postrider/protocols/web/base64.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace postrider {
namespace {

std::string encode(std::string_view text) {
  return base64_encode({reinterpret_cast<const std::uint8_t*>(text.data()), text.size()});
}

// The vectors of RFC 4648 §10.
TEST(Base64, KnowsTheVectorsOfItsStandard) {
  const std::pair<const char*, const char*> cases[] = {{"", ""},
                                                       {"f", "Zg=="},
                                                       {"fo", "Zm8="},
                                                       {"foo", "Zm9v"},
                                                       {"foob", "Zm9vYg=="},
                                                       {"fooba", "Zm9vYmE="},
                                                       {"foobar", "Zm9vYmFy"}};
  for (const auto& [plain, text] : cases) {
    EXPECT_EQ(encode(plain), text);
    EXPECT_EQ(base64_decode(text), plain);
  }
  EXPECT_EQ(encode("\xFB\xFF\xFE"), "+//+");
}

TEST(Base64, ForgivesMissingPaddingOnly) {
  EXPECT_EQ(base64_decode("Zg"), "f");
  EXPECT_EQ(base64_decode("Zm8"), "fo");
  for (const char* text : {"Z", "A", "Zm9vA", "Zg=", "Zm8==", "Zg===", "=",
                           "====", "Zm9v=", "Z g=", "Zm9v\n", "Zm9-", "Zm9_", "Zh==", "Zm9="}) {
    EXPECT_EQ(base64_decode(text), std::nullopt) << text;
  }
}

RC_GTEST_PROP(Base64, WhatIsEncodedDecodes, (const std::string& bytes)) {
  RC_ASSERT(base64_decode(encode(bytes)) == bytes);
}

}  // namespace
}  // namespace postrider
