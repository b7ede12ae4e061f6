#include "postrider/protocols/matrix/signing.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "postrider/protocols/matrix/vectors_testing.h"

namespace postrider::matrix {
namespace {

std::string signature_in(std::string_view object) {
  const std::string marker = "\"ed25519:1\":\"";
  const std::size_t at = object.find(marker);
  return std::string(object.substr(at + marker.size(), 86));
}

// req: matrix.sig.1, matrix.sig.2
TEST(SigningVectors, AreReproduced) {
  const SigningKey key = vector_key();
  EXPECT_EQ(key.id(), "ed25519:1");
  EXPECT_EQ(key.public_key(), *parse_public_key(kVectorPublicKey));
  EXPECT_EQ(
      *sign_object("{}", kVectorName, key),
      R"({"signatures":{"domain":{"ed25519:1":"K8280/U9SSy9IVtjBuVeLr+HpOB4BQFWbg+UZaADMtTdGYI7)"
      R"(Geitb76LTrr5QV/7Xg4ahLwYGYZzuHGZKM5ZAQ"}}})");
  EXPECT_EQ(signature_in(*sign_object(R"({"one":1,"two":"Two"})", kVectorName, key)),
            "KqmLSbO39/Bzb0QIYE82zqLwsA+PDzYIpIRA2sRQ4sL53+sN6/"
            "fpNSoqE7BP7vBZhG6kYdD13EIMJpvhJI+6Bw");
}

// req: matrix.sig.1, matrix.sig.2
TEST(SigningVectors, OfTheMinimalEventOfTheSpecification) {
  const std::string event =
      R"({"room_id":"!x:domain","sender":"@a:domain","origin":"domain","origin_server_ts":1000000,)"
      R"("signatures":{},"hashes":{"sha256":"5jM4wQpv6lnBo7CLIghJuHdW+s2CMBJPUOGOC89ncos"},)"
      R"("type":"X","content":{},"prev_events":[],"auth_events":[],"depth":3,)"
      R"("unsigned":{"age_ts":1000000}})";
  const Result<std::string> made = sign_object(event, kVectorName, vector_key());
  ASSERT_TRUE(made);
  EXPECT_EQ(
      signature_in(*made),
      "KxwGjPSDEtvnFgU00fwFz+l6d2pJM6XBIaMEn81SXPTRl16AqLAYqfIReFGZlHi5KLjAWbOoMszkwsQma+lYAg");
  EXPECT_NE(made->find(R"("unsigned":{"age_ts":1000000})"), std::string::npos);
}

// req: matrix.sig.1
TEST(SignObject, KeepsSignaturesThatAreThere) {
  const Result<std::string> made = sign_object(
      R"({"signatures":{"other":{"ed25519:x":"abc"},"domain":{"ed25519:old":"def"}},"unsigned":{"a":1}})",
      kVectorName, vector_key());
  ASSERT_TRUE(made);
  EXPECT_EQ(
      *made,
      R"({"signatures":{"domain":{"ed25519:1":"K8280/U9SSy9IVtjBuVeLr+HpOB4BQFWbg+UZaADMtTdGYI7)"
      R"(Geitb76LTrr5QV/7Xg4ahLwYGYZzuHGZKM5ZAQ","ed25519:old":"def"},)"
      R"("other":{"ed25519:x":"abc"}},"unsigned":{"a":1}})");
}

TEST(SignObject, RefusesWhatCannotBeSigned) {
  const SigningKey key = vector_key();
  for (const std::string_view text :
       {"[]", "1", "{\"a\":1.5}", "{", "{\"signatures\":[]}", "{\"signatures\":{\"domain\":1}}"})
    EXPECT_FALSE(sign_object(text, kVectorName, key)) << text;
}

bool verifies(std::string_view object, std::string_view name, std::string_view key_id) {
  JsonDocument document;
  return document.parse(object, kItemLimits) &&
         verify_object(document.root(), name, key_id, *parse_public_key(kVectorPublicKey));
}

// req: matrix.sig.1
TEST(VerifyObject, HoldsForTheSignedObjectOnly) {
  const std::string made = *sign_object(R"({"a":1})", kVectorName, vector_key());
  EXPECT_TRUE(verifies(made, kVectorName, "ed25519:1"));
  EXPECT_FALSE(verifies(made, "other", "ed25519:1"));
  EXPECT_FALSE(verifies(made, kVectorName, "ed25519:2"));
  std::string changed = made;
  changed.replace(changed.find("\"a\":1"), 5, "\"a\":2");
  EXPECT_FALSE(verifies(changed, kVectorName, "ed25519:1"));
  std::string more = made;
  more.insert(more.size() - 1, ",\"unsigned\":{\"x\":1}");
  EXPECT_TRUE(verifies(more, kVectorName, "ed25519:1"));
  EXPECT_FALSE(verifies("{}", kVectorName, "ed25519:1"));
  EXPECT_FALSE(
      verifies("{\"signatures\":{\"domain\":{\"ed25519:1\":5}}}", kVectorName, "ed25519:1"));
}

// req: matrix.sig.1
TEST(Verify, TakesPaddedSignatures) {
  const SigningKey key = vector_key();
  const std::string signature = key.sign("text");
  EXPECT_EQ(signature.size(), 86U);
  EXPECT_TRUE(verify(key.public_key(), "text", signature));
  EXPECT_TRUE(verify(key.public_key(), "text", signature + "=="));
  EXPECT_FALSE(verify(key.public_key(), "texts", signature));
  EXPECT_FALSE(verify(key.public_key(), "text", signature.substr(1)));
  EXPECT_FALSE(verify(key.public_key(), "text", ""));
  EXPECT_FALSE(verify(key.public_key(), "text", "not base64"));
  EXPECT_FALSE(verify(PublicKey{}, "text", signature));
}

RC_GTEST_PROP(Verify, HoldsForEverySignature, (const std::string& text)) {
  const SigningKey key = vector_key();
  RC_ASSERT(verify(key.public_key(), text, key.sign(text)));
  RC_ASSERT(!verify(key.public_key(), text + "x", key.sign(text)));
}

// req: matrix.key.4
TEST(KeyFileReader, TakesTheFormOfTheHomeserver) {
  const Result<KeyFile> file =
      parse_key_file("\n  ed25519 a_Abc1 YJDBA9Xnr2sVqXD9Vj7XVUnmFZcZrlw8Md7kMW+3XA0=\r\n\n");
  ASSERT_TRUE(file) << file.error().detail;
  EXPECT_EQ(file->key.id(), "ed25519:a_Abc1");
  EXPECT_EQ(file->key.public_key(), *parse_public_key(kVectorPublicKey));
  EXPECT_EQ(file->keys, 1U);
}

// req: matrix.key.4
TEST(KeyFileReader, SignsWithTheFirstOfSeveralKeys) {
  const Result<KeyFile> file = parse_key_file(
      std::string(kVectorKeyFile) + "ed25519 2 AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\n");
  ASSERT_TRUE(file);
  EXPECT_EQ(file->key.id(), "ed25519:1");
  EXPECT_EQ(file->keys, 2U);
}

// req: matrix.key.4
TEST(KeyFileReader, RefusesOthersWithoutTellingTheirKey) {
  const std::string secret = "YJDBA9Xnr2sVqXD9Vj7XVUnmFZcZrlw8Md7kMW+3XA1";
  for (const std::string& text :
       {std::string(), std::string("\n\n"), "ed25519 " + secret, "rsa 1 " + secret,
        "ed25519 1 " + secret + " x", "ed25519 a:b " + secret, "ed25519 1 " + secret + "AAAA",
        "ed25519 1 *" + secret.substr(1), "ed25519 1 " + secret.substr(1), "signing_key: " + secret,
        std::string(kKeyFileBytesMax + 1, ' ')}) {
    const Result<KeyFile> file = parse_key_file(text);
    ASSERT_FALSE(file) << text;
    EXPECT_FALSE(file.error().detail.empty());
    EXPECT_EQ(file.error().detail.find(secret.substr(1, 20)), std::string::npos);
  }
}

TEST(KeyId, HasAnAlgorithmAndAVersion) {
  EXPECT_TRUE(is_key_id("ed25519:a_1"));
  for (const std::string_view id : {"", "ed25519", "ed25519:", "ed25519:a-b", "rsa:1", "ED25519:1"})
    EXPECT_FALSE(is_key_id(id)) << id;
}

}  // namespace
}  // namespace postrider::matrix
