#include "postrider/node/token_principals.h"

#include <gtest/gtest.h>

namespace postrider {
namespace {

constexpr std::string_view kSecret = "a-token-of-the-shop";

AccessToken token_of(std::string_view secret, bool may_submit) {
  AccessToken token;
  token.name = "tills";
  token.tenant = "shop";
  token.secret = secret;
  token.may_submit = may_submit;
  token.may_read = true;
  return token;
}

TEST(TokenPrincipals, TheTenantOfATokenThatMaySubmitIsThePrincipal) {
  TokenPrincipals principals;
  principals.set_tokens({token_of(kSecret, true), token_of("another-token-of-it", false)});
  for (const Nearness from : {Nearness::kSocket, Nearness::kMachine, Nearness::kElsewhere}) {
    const auto found = principals.find(kSecret, from);
    ASSERT_TRUE(found);
    EXPECT_EQ(found->tenant, "shop");
    EXPECT_EQ(found->actor, "tills");
    EXPECT_FALSE(principals.find("another-token-of-it", from)) << "it may only read";
    EXPECT_FALSE(principals.find("a-token-of-the-shoq", from));
    EXPECT_FALSE(principals.find(std::string(2000, 'a'), from));
  }
  principals.set_tokens({token_of("a-newer-token-of-it", true)});
  EXPECT_FALSE(principals.find(kSecret, Nearness::kMachine)) << "it was taken away";
}

TEST(TokenPrincipals, WithoutATokenOnlyASocketOrAMachineWithoutTokens) {
  TokenPrincipals principals;
  EXPECT_EQ(principals.find("", Nearness::kSocket)->tenant, "default");
  EXPECT_EQ(principals.find("", Nearness::kMachine)->tenant, "default");
  EXPECT_FALSE(principals.find("", Nearness::kElsewhere));
  principals.set_tokens({token_of(kSecret, true)});
  EXPECT_EQ(principals.find("", Nearness::kSocket)->tenant, "default");
  EXPECT_FALSE(principals.find("", Nearness::kMachine));
  EXPECT_FALSE(principals.find("", Nearness::kElsewhere));
}

}  // namespace
}  // namespace postrider
