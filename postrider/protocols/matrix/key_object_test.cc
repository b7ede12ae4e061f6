#include "postrider/protocols/matrix/key_object.h"

#include <gtest/gtest.h>

#include "postrider/protocols/matrix/vectors_testing.h"

namespace postrider::matrix {
namespace {

constexpr Timestamp kWall(1'699'999'000'000);
constexpr Timestamp kUntil(1'700'000'000'000);

std::string vector_object() { return write_key_object(kVectorName, kUntil, vector_key()); }

// req: matrix.sig.2
TEST(KeyObjectVector, IsReproduced) {
  EXPECT_EQ(
      vector_object(),
      R"({"old_verify_keys":{},"server_name":"domain","signatures":{"domain":{"ed25519:1":)"
      R"("ewq/uPhfAzmWSa/3PRlr5Q0W59jG75Wtb6mzxIELuVRAxYMHOeMFue6fNXijZkIwLLembQ0+gl7DIkiUGcoUBg"}},)"
      R"("valid_until_ts":1700000000000,"verify_keys":{"ed25519:1":{"key":)"
      R"("XGX0JRS2Af3be3knz2fBiRbApjm2Dh61gXDJA8kcJNI"}}})");
}

// req: matrix.key.3
TEST(KeyObject, IsBelievedUntilItsTime) {
  const Result<ServerKeys> keys = read_key_object(vector_object(), kVectorName, kWall);
  ASSERT_TRUE(keys) << keys.error().detail;
  EXPECT_EQ(keys->server, kVectorName);
  EXPECT_EQ(keys->valid_until, kUntil);
  ASSERT_EQ(keys->keys.size(), 1U);
  EXPECT_EQ(keys->keys[0], (VerifyKey{"ed25519:1", *parse_public_key(kVectorPublicKey)}));
  EXPECT_FALSE(read_key_object(vector_object(), kVectorName, kUntil));
}

// req: matrix.key.3
TEST(KeyObject, ThatIsGoodForAYearIsKeptForAWeek) {
  const std::string object =
      write_key_object(kVectorName, kWall + Duration(365 * 24h), vector_key());
  EXPECT_EQ(read_key_object(object, kVectorName, kWall)->valid_until, kWall + kKeyLifeMax);
}

// Signed by the key of the vectors, whatever it says.
Result<ServerKeys> read_signed(std::string_view object) {
  return read_key_object(*sign_object(object, kVectorName, vector_key()), kVectorName, kWall);
}

TEST(KeyObject, MayHaveKeysOfOtherAlgorithmsAndWithoutASignature) {
  const Result<ServerKeys> keys = read_signed(
      R"({"server_name":"domain","valid_until_ts":1700000000000,"old_verify_keys":[],)"
      R"("verify_keys":{"rsa:1":5,"ed25519:1":{"key":"XGX0JRS2Af3be3knz2fBiRbApjm2Dh61gXDJA8kcJNI"},)"
      R"("ed25519:b":{"key":"XGX0JRS2Af3be3knz2fBiRbApjm2Dh61gXDJA8kcJNI="}}})");
  ASSERT_TRUE(keys) << keys.error().detail;
  EXPECT_EQ(keys->keys.size(), 2U);
}

struct BadObject {
  const char* name;
  std::string object;
};
class BadKeyObject : public ::testing::TestWithParam<BadObject> {};

// req: matrix.key.3, matrix.seen.3
TEST_P(BadKeyObject, IsNotBelieved) {
  const Result<ServerKeys> keys = read_signed(GetParam().object);
  ASSERT_FALSE(keys);
  EXPECT_FALSE(keys.error().detail.empty());
}

std::string object_with(std::string_view server, std::string_view until, std::string_view keys) {
  return "{\"server_name\":" + std::string(server) + ",\"valid_until_ts\":" + std::string(until) +
         ",\"verify_keys\":" + std::string(keys) + "}";
}
constexpr std::string_view kGoodKeys =
    R"({"ed25519:1":{"key":"XGX0JRS2Af3be3knz2fBiRbApjm2Dh61gXDJA8kcJNI"}})";

std::string many_keys() {
  std::string keys = "{";
  for (int i = 0; i < 65; ++i) {
    keys += (i > 0 ? ",\"ed25519:" : "\"ed25519:") + std::to_string(i) +
            R"(":{"key":"XGX0JRS2Af3be3knz2fBiRbApjm2Dh61gXDJA8kcJNI"})";
  }
  return keys + "}";
}

INSTANTIATE_TEST_SUITE_P(
    Bad, BadKeyObject,
    ::testing::Values(
        BadObject{"OtherName", object_with("\"other\"", "1700000000000", kGoodKeys)},
        BadObject{"NoName", object_with("5", "1700000000000", kGoodKeys)},
        BadObject{"Expired", object_with("\"domain\"", "1600000000000", kGoodKeys)},
        BadObject{"NoTime", object_with("\"domain\"", "\"soon\"", kGoodKeys)},
        BadObject{"NoKeys", object_with("\"domain\"", "1700000000000", "{}")},
        BadObject{"KeysAreAList", object_with("\"domain\"", "1700000000000", "[]")},
        BadObject{"KeyIsShort",
                  object_with("\"domain\"", "1700000000000", R"({"ed25519:1":{"key":"XGX0"}})")},
        BadObject{"KeyIsAText",
                  object_with("\"domain\"", "1700000000000", R"({"ed25519:1":"XGX0"})")},
        BadObject{"OnlyOtherAlgorithms",
                  object_with("\"domain\"", "1700000000000", R"({"rsa:1":{"key":"XGX0"}})")},
        BadObject{
            "SignedByANotListedKey",
            object_with("\"domain\"", "1700000000000",
                        R"({"ed25519:z":{"key":"XGX0JRS2Af3be3knz2fBiRbApjm2Dh61gXDJA8kcJNI"}})")},
        BadObject{
            "SignedByAnotherKey",
            object_with("\"domain\"", "1700000000000",
                        R"({"ed25519:1":{"key":"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"}})")},
        BadObject{"TooManyKeys", object_with("\"domain\"", "1700000000000", many_keys())}),
    [](const auto& given) { return std::string(given.param.name); });

TEST(KeyObject, ThatWasChangedOrIsNoneIsNotBelieved) {
  std::string object = vector_object();
  object.replace(object.find("1700000000000"), 13, "1700000000001");
  EXPECT_FALSE(read_key_object(object, kVectorName, kWall));
  for (const std::string& text :
       {std::string(), std::string("[]"), std::string("<html>"), std::string(70'000, ' '),
        vector_object() + "x",
        std::string("{\"server_name\":\"domain\",\"server_name\":\"domain\"}")})
    EXPECT_FALSE(read_key_object(text, kVectorName, kWall)) << text.substr(0, 40);
}

}  // namespace
}  // namespace postrider::matrix
