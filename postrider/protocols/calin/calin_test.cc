#include "postrider/protocols/calin/calin.h"

#include <gtest/gtest.h>

#include "postrider/protocols/web/base64.h"

namespace postrider::calin {
namespace {

std::string jwt_of(std::string_view claims) {
  std::string payload =
      base64_encode({reinterpret_cast<const std::uint8_t*>(claims.data()), claims.size()});
  for (char& c : payload) {
    if (c == '+') c = '-';
    if (c == '/') c = '_';
  }
  payload.erase(payload.find_last_not_of('=') + 1);
  return "eyJhbGciOiJIUzI1NiJ9." + payload + ".c2ln";
}

TEST(CalinLogin, ReadsWhenATokenEnds) {
  EXPECT_EQ(jwt_expiry(jwt_of(R"({"exp":1786545000})")), Timestamp(1'786'545'000'000));
  EXPECT_EQ(jwt_expiry(jwt_of(R"({"exp":1786545000.9})")), Timestamp(1'786'545'000'000));
  EXPECT_EQ(jwt_expiry(jwt_of(R"({"sub":"ÿÿ>>??","exp":"1786545000"})")),
            Timestamp(1'786'545'000'000));
  for (const char* claims : {"{}", "[]", "", R"({"exp":null})", R"({"exp":"soon"})",
                             R"({"exp":-1})", R"({"exp":1e300})", R"({"exp":0})"})
    EXPECT_EQ(jwt_expiry(jwt_of(claims)), std::nullopt) << claims;
  for (const char* jwt : {"", "a", "a.b", "a.?.c", "..", "a.e30"})
    EXPECT_EQ(jwt_expiry(jwt), std::nullopt) << jwt;
  EXPECT_EQ(jwt_expiry(jwt_of(R"({"exp":1786545000})") + std::string(kJwtBytesMax, 'x')),
            std::nullopt);
}

// req: device.send.6
TEST(CalinLogin, IsDueOneSecondBeforeItsEnd) {
  const Login login{.jwt = "x", .expires_at = Timestamp(10'000)};
  EXPECT_FALSE(is_login_due(login, Timestamp(8'999)));
  EXPECT_TRUE(is_login_due(login, Timestamp(9'000)));
  EXPECT_TRUE(is_login_due(login, Timestamp(20'000)));
  EXPECT_FALSE(is_login_due({.jwt = "x", .expires_at = std::nullopt}, Timestamp(20'000)));
  EXPECT_TRUE(is_login_due({}, Timestamp(1)));
  EXPECT_EQ(authorization(login), "Bearer x");
}

TEST(CalinLogin, IsReadFromTheAnswerAndNothingOfItIsRepeatedInErrors) {
  const std::string jwt = jwt_of(R"({"exp":1786545000})");
  const auto read = [](int status, std::string_view body) {
    return read_login_v2({.status = status, .content_type = "application/json", .body = body});
  };
  const auto login =
      read(200, R"({"code":0,"reason":"success","result":{"token":")" + jwt + "\"}}");
  ASSERT_TRUE(login);
  EXPECT_EQ(login->jwt, jwt);
  EXPECT_EQ(login->expires_at, Timestamp(1'786'545'000'000));
  EXPECT_EQ(read(200, R"({"result":{"token":"opaque"}})")->expires_at, std::nullopt);
  for (const char* body : {"", "{}", R"({"result":null})", R"({"result":{"token":""}})",
                           R"({"result":{"token":"secret\r\nX: y"}})", R"({"result":{"token":7}})",
                           R"({"result":"secret"})", "<html>secret</html>"}) {
    const auto failed = read(200, body);
    ASSERT_FALSE(failed) << body;
    EXPECT_EQ(failed.error().code, ErrorCode::kUnavailable);
    EXPECT_EQ(failed.error().detail.find("secret"), std::string::npos) << failed.error().detail;
  }
  EXPECT_FALSE(read(401, R"({"result":{"token":"x"}})"));
}

TEST(CalinAnswer, APageIsKnownByItsTypeOrItsLook) {
  EXPECT_TRUE(is_html({.status = 200, .content_type = "Text/HTML; charset=x", .body = "{}"}));
  EXPECT_TRUE(is_html({.status = 200, .content_type = "", .body = "\r\n <!DOCTYPE html>"}));
  EXPECT_FALSE(is_html({.status = 200, .content_type = "application/json", .body = "{}"}));
}

}  // namespace
}  // namespace postrider::calin
