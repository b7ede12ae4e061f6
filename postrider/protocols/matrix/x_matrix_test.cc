#include "postrider/protocols/matrix/x_matrix.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "postrider/protocols/matrix/transaction.h"
#include "postrider/protocols/matrix/vectors_testing.h"

namespace postrider::matrix {
namespace {

constexpr RequestWords kPut{.method = "PUT",
                            .uri = "/_matrix/federation/v1/send/t1",
                            .origin = "domain",
                            .destination = "them.example"};
constexpr std::string_view kTyping =
    R"({"content":{"room_id":"!r:them","typing":true,"user_id":"@u:domain"},"edu_type":"m.typing"})";
constexpr std::string_view kPutBody =
    R"({"edus":[{"content":{"room_id":"!r:them","typing":true,"user_id":"@u:domain"},"edu_type":)"
    R"("m.typing"}],"origin":"domain","origin_server_ts":1700000000000,"pdus":[]})";
constexpr std::string_view kPutSignature =
    "tvt3DoP1Aa+/NX30/fkcWDIfpX2IT8qdb+yRY3iYGsKb6zTZaSKgscWvellag1nm3GOjeWw1EvVURU3X9sioDg";

SplicedRequest vector_request() {
  return SplicedRequest::make(kPut, [](std::string& out) {
    const std::vector<std::string_view> edus = {kTyping};
    append_transaction(out, {.origin = "domain",
                             .origin_server_ts = Timestamp(1'700'000'000'000),
                             .pdus = {},
                             .edus = edus});
  });
}

// req: matrix.auth.1, matrix.auth.3, matrix.sig.2, matrix.txn.2
TEST(SplicedRequest, IsWrittenOnceForSignatureAndWire) {
  const SplicedRequest request = vector_request();
  EXPECT_EQ(request.body(), kPutBody);
  EXPECT_GE(request.body().data(), request.signed_bytes().data());
  EXPECT_LE(request.body().data() + request.body().size(),
            request.signed_bytes().data() + request.signed_bytes().size());
  EXPECT_TRUE(is_canonical(request.signed_bytes(), Numbers::kIntegers));
  EXPECT_EQ(vector_key().sign(request.signed_bytes()), kPutSignature);
}

// req: matrix.auth.1, matrix.sig.2
TEST(SplicedRequest, WithoutABodyHasNoContent) {
  const RequestWords words{
      .method = "GET",
      .uri = "/_matrix/federation/v1/make_join/%21r%3Athem/%40u%3Adomain?ver=9&ver=10&ver=11",
      .origin = "domain",
      .destination = "them.example"};
  const std::string bytes = signed_request(words, "");
  EXPECT_EQ(bytes.find("content"), std::string::npos);
  EXPECT_EQ(
      vector_key().sign(bytes),
      "Sp0tBZXmcfEnPJZvDiUFNv8qlMg/lCh2uv/PhYIlu6aJ2SvKZZt9r5kwgnPC8Vw1ITfmNX4SVXuMiTy+ZWADBw");
  EXPECT_EQ(SplicedRequest::make(words, [](std::string&) {}).body(), "");
}

TEST(SignedContent, IsTheBodyOrItsCanonicalForm) {
  std::string scratch;
  const std::string_view canonical = R"({"a":1.0,"b":2})";
  EXPECT_EQ(signed_content(canonical, scratch)->data(), canonical.data());
  EXPECT_EQ(*signed_content("{ \"b\":2, \"a\":1.0}", scratch), canonical);
  EXPECT_EQ(*signed_content("", scratch), "");
  EXPECT_FALSE(signed_content("{", scratch));
}

// req: matrix.auth.2
TEST(Authorization, HasTheFormOfTheSpecification) {
  EXPECT_EQ(authorization_of(kPut, "ed25519:1", kPutSignature),
            "X-Matrix origin=\"domain\",destination=\"them.example\",key=\"ed25519:1\",sig=\"" +
                std::string(kPutSignature) + "\"");
}

struct HeaderCase {
  const char* name;
  std::string text;
  std::optional<XMatrix> want;
};

class XMatrixHeader : public ::testing::TestWithParam<HeaderCase> {};

// req: matrix.auth.4
TEST_P(XMatrixHeader, IsReadAsTheTableSays) {
  const Result<XMatrix> header = parse_x_matrix(GetParam().text);
  ASSERT_EQ(header.has_value(), GetParam().want.has_value())
      << (header ? header->origin : header.error().detail);
  EXPECT_EQ(header.value_or(XMatrix{}), GetParam().want.value_or(XMatrix{}));
}

const XMatrix kPlain{"a.b", "c.d", "ed25519:1", "AbC"};

INSTANTIATE_TEST_SUITE_P(
    Headers, XMatrixHeader,
    ::testing::Values(
        HeaderCase{"Quoted", R"(X-Matrix origin="a.b",destination="c.d",key="ed25519:1",sig="AbC")",
                   kPlain},
        HeaderCase{"OrderOfSynapse",
                   R"(X-Matrix origin="a.b",key="ed25519:1",sig="AbC",destination="c.d")", kPlain},
        HeaderCase{"Unquoted", "X-Matrix origin=a.b,destination=c.d,key=ed25519:1,sig=AbC", kPlain},
        HeaderCase{"UnquotedPort", "X-Matrix origin=a.b:8448,key=ed25519:1,sig=AbC",
                   XMatrix{"a.b:8448", {}, "ed25519:1", "AbC"}},
        HeaderCase{"AnyCase", R"(x-mATRIX ORIGIN="a.b",Destination=c.d,KEY=ed25519:1,Sig=AbC)",
                   kPlain},
        HeaderCase{"Blanks",
                   "X-Matrix  \t origin=a.b ,\tdestination = \"c.d\" , key=ed25519:1, sig=AbC  ",
                   kPlain},
        HeaderCase{"Escapes",
                   R"(X-Matrix origin="a\.\b",destination="c.d",key="ed25519:1",sig="A\b\C")",
                   kPlain},
        HeaderCase{"EscapedQuote", R"(X-Matrix origin="a\"\\b",key=k,sig=s)",
                   XMatrix{R"(a"\b)", {}, "k", "s"}},
        HeaderCase{
            "UnknownNames",
            R"(X-Matrix foo=bar,origin="a.b",destination="c.d",x="1,2",key="ed25519:1",sig="AbC")",
            kPlain},
        HeaderCase{"CommaInQuotes", R"(X-Matrix origin="a,b",key=k,sig=s)",
                   XMatrix{"a,b", {}, "k", "s"}},
        HeaderCase{"EqualsInValue",
                   "X-Matrix origin=a,key=k,sig=AbC==", XMatrix{"a", {}, "k", "AbC=="}},
        HeaderCase{"NoDestination", "X-Matrix origin=a,key=k,sig=s", XMatrix{"a", {}, "k", "s"}},
        HeaderCase{"Nothing", "", {}}, HeaderCase{"OtherScheme", "Bearer abc", {}},
        HeaderCase{"OnlyScheme", "X-Matrix", {}}, HeaderCase{"SchemeAndBlank", "X-Matrix ", {}},
        HeaderCase{"NoOrigin", "X-Matrix key=k,sig=s", {}},
        HeaderCase{"NoKey", "X-Matrix origin=a,sig=s", {}},
        HeaderCase{"NoSignature", "X-Matrix origin=a,key=k", {}},
        HeaderCase{"Twice", "X-Matrix origin=a,origin=a,key=k,sig=s", {}},
        HeaderCase{"OpenQuote", "X-Matrix origin=\"a,key=k,sig=s", {}},
        HeaderCase{"OpenEscape", "X-Matrix origin=\"a\\", {}},
        HeaderCase{"QuoteInside", "X-Matrix origin=a\"b,key=k,sig=s", {}},
        HeaderCase{"NoValue", "X-Matrix origin=,key=k,sig=s", {}},
        HeaderCase{"NoEquals", "X-Matrix origin,key=k,sig=s", {}},
        HeaderCase{"NoComma", "X-Matrix origin=\"a\"key=k,sig=s", {}},
        HeaderCase{"LastComma", "X-Matrix origin=a,key=k,sig=s,", {}},
        HeaderCase{"TwoCommas", "X-Matrix origin=a,,key=k,sig=s", {}},
        HeaderCase{"TooLong", "X-Matrix origin=" + std::string(9000, 'a') + ",key=k,sig=s", {}}),
    [](const auto& given) { return std::string(given.param.name); });

RC_GTEST_PROP(XMatrixHeaderProperty, ReadsWhatIsWritten, ()) {
  const auto word =
      rc::gen::nonEmpty(rc::gen::container<std::string>(rc::gen::inRange<char>(32, 127)));
  const std::string origin = *word;
  const std::string destination = *word;
  const std::string signature = *word;
  const RequestWords words{
      .method = "GET", .uri = "/", .origin = origin, .destination = destination};
  const Result<XMatrix> header = parse_x_matrix(authorization_of(words, "ed25519:1", signature));
  RC_ASSERT(header.has_value());
  RC_ASSERT(*header == (XMatrix{origin, destination, "ed25519:1", signature}));
}

// req: matrix.auth.4, matrix.wake.7, matrix.seen.3
TEST(Authenticate, TellsValidFromForged) {
  const std::vector<VerifyKey> keys = {{"ed25519:1", *parse_public_key(kVectorPublicKey)}};
  const XMatrix header = *parse_x_matrix(authorization_of(kPut, "ed25519:1", kPutSignature));
  EXPECT_EQ(authenticate(header, kPut, kPutBody, keys), Authentication::kValid);
  // The same value written in another way is the same content.
  const std::string spaced = " " + std::string(kPutBody) + "\n";
  EXPECT_EQ(authenticate(header, kPut, spaced, keys), Authentication::kValid);

  EXPECT_EQ(authenticate(header, kPut, "{}", keys), Authentication::kForged);
  EXPECT_EQ(authenticate(header, kPut, "", keys), Authentication::kForged);
  EXPECT_EQ(authenticate(header, kPut, "{", keys), Authentication::kMalformed);
  RequestWords other = kPut;
  other.uri = "/_matrix/federation/v1/send/t2";
  EXPECT_EQ(authenticate(header, other, kPutBody, keys), Authentication::kForged);
  other = kPut;
  other.destination = "third.example";
  EXPECT_EQ(authenticate(header, other, kPutBody, keys), Authentication::kWrongDestination);
  XMatrix changed = header;
  changed.origin = "third.example";
  EXPECT_EQ(authenticate(changed, kPut, kPutBody, keys), Authentication::kForged);
  changed = header;
  changed.destination.reset();
  EXPECT_EQ(authenticate(changed, kPut, kPutBody, keys), Authentication::kValid);
  changed.key = "ed25519:2";
  EXPECT_EQ(authenticate(changed, kPut, kPutBody, keys), Authentication::kUnknownKey);
  EXPECT_EQ(authenticate(header, kPut, kPutBody, {}), Authentication::kUnknownKey);
}

// req: matrix.auth.4
TEST(Authenticate, HasAStatusForEachFailure) {
  EXPECT_EQ(status_of(Authentication::kValid), 200);
  EXPECT_EQ(status_of(Authentication::kMalformed), 400);
  for (const Authentication bad : {Authentication::kMissing, Authentication::kWrongDestination,
                                   Authentication::kUnknownKey, Authentication::kForged})
    EXPECT_EQ(status_of(bad), 401);
}

}  // namespace
}  // namespace postrider::matrix
