#include "postrider/model/secrets.h"

#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "postrider/base/wipe.h"

namespace postrider {
namespace {

// req: engine.secret.1
TEST(Secrets, AreFoundByName) {
  Secrets secrets;
  secrets.put("a", "first");
  secrets.put("b.key", std::string("\0\1", 2));
  EXPECT_EQ(secrets.find("a"), "first");
  EXPECT_EQ(secrets.find("b.key").size(), 2U);
  EXPECT_EQ(secrets.find("c"), "");
  secrets.put("a", "second");
  EXPECT_EQ(secrets.find("a"), "second");
  EXPECT_EQ(secrets.names(), (std::vector<std::string_view>{"a", "b.key"}));
}

// req: engine.secret.4
TEST(Secrets, AreWiped) {
  std::string text = "a secret that is too long for the small string";
  const char* const bytes = text.data();
  const std::size_t size = text.size();
  wipe(text);
  EXPECT_TRUE(text.empty());
  // The memory is still the string's.
  EXPECT_EQ(std::string(text.data(), 1), std::string(1, '\0'));
  EXPECT_EQ(text.data(), bytes);
  EXPECT_GE(text.capacity(), size);
}

// req: engine.secret.5
TEST(Secrets, HaveNamesOfLettersDigitsAndMarks) {
  EXPECT_TRUE(is_secrets_name("billing-2.key_A"));
  EXPECT_TRUE(is_secrets_name(std::string(kSecretNameBytesMax - 1, 'n')));
  EXPECT_TRUE(is_secrets_name(std::string(kSecretNameBytesMax, 'n')));
  EXPECT_FALSE(is_secrets_name(std::string(kSecretNameBytesMax + 1, 'n')));
  for (const char* bad : {"", " ", "a b", "a/b", "a:b"}) EXPECT_FALSE(is_secrets_name(bad)) << bad;
}

}  // namespace
}  // namespace postrider
