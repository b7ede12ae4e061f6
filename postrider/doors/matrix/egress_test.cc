// What the egress takes, what it refuses, and with which words.
#include "postrider/doors/matrix/egress.h"

#include <ostream>
#include <string>

#include <gtest/gtest.h>

#include "postrider/doors/matrix/rig_testing.h"
#include "postrider/protocols/matrix/transaction.h"

namespace postrider::matrix_door {
namespace {

constexpr const char* kSendPath = "/_matrix/federation/v1/send/1";

std::string target(const std::string& server, const std::string& path = kSendPath) {
  return "matrix-federation://" + server + path;
}

struct SecretCase {
  std::string name;
  std::string lines;
  int status;
};
void PrintTo(const SecretCase& each, std::ostream* out) { *out << each.name; }

class EgressSecret : public ::testing::TestWithParam<SecretCase> {};

// req: matrix.egress.1
TEST_P(EgressSecret, IsAskedForWithEachRequest) {
  EgressRig rig;
  const HttpReply reply = rig.call("PUT", target("far.example"), GetParam().lines, "{}");
  EXPECT_EQ(reply.status, GetParam().status) << reply.body;
  EXPECT_EQ(reply.header("content-type"), "application/json");
  EXPECT_EQ(rig.taken.size(), reply.status == 200 ? 1U : 0U);
  if (reply.status == 200) return;
  EXPECT_TRUE(reply.body.starts_with(R"({"errcode":"M_UNAUTHORIZED","error":)")) << reply.body;
  EXPECT_EQ(rig.egress->counts().unauthorized, 1U);
}

INSTANTIATE_TEST_SUITE_P(
    Egress, EgressSecret,
    ::testing::Values(
        SecretCase{"Right", EgressRig::secret_line(), 200},
        SecretCase{"SchemeInAnyCase", "proxy-authorization: bearer a secret of sixteen\r\n", 200},
        SecretCase{"Missing", "", 401},
        SecretCase{"Wrong", "Proxy-Authorization: Bearer a secret of seventeen\r\n", 401},
        SecretCase{"Empty", "Proxy-Authorization: Bearer \r\n", 401},
        SecretCase{"Longer", "Proxy-Authorization: Bearer a secret of sixteen!\r\n", 401},
        SecretCase{"AnotherScheme", "Proxy-Authorization: Basic a secret of sixteen\r\n", 401},
        SecretCase{"InAnotherHeader", "Authorization: Bearer a secret of sixteen\r\n", 401},
        SecretCase{"Twice", EgressRig::secret_line() + EgressRig::secret_line(), 401},
        SecretCase{"Endless", "Proxy-Authorization: Bearer " + std::string(2000, 'x') + "\r\n",
                   401}),
    [](const auto& each) { return each.param.name; });

struct TargetCase {
  std::string name;
  std::string target;
  int send_status;   // of PUT
  int other_status;  // of GET
};
void PrintTo(const TargetCase& each, std::ostream* out) { *out << each.name; }

class EgressTargets : public ::testing::TestWithParam<TargetCase> {};

// A transaction with a bad name is refused for good; another request is answered like one that
// failed, because the homeserver may have other servers to ask.
// req: matrix.egress.1, matrix.egress.9
TEST_P(EgressTargets, AreTakenOrRefused) {
  const TargetCase& it = GetParam();
  EgressRig rig;
  rig.egress_options.allow_servers = {"far.example", "FAR.example", "[::1]:8448", "[::1]",
                                      "203.0.113.7:8448"};
  rig.open();
  const HttpReply put = rig.call("PUT", it.target, EgressRig::secret_line(), "{}");
  EXPECT_EQ(put.status, it.send_status) << put.body;
  EXPECT_EQ(rig.taken.size(), it.send_status == 200 ? 1U : 0U);
  EXPECT_EQ(put.body.starts_with(R"({"errcode":"M_)"), it.send_status != 200) << put.body;
  if (it.other_status == 0) return;
  const HttpReply get = rig.call("GET", it.target, EgressRig::secret_line());
  EXPECT_EQ(get.status, it.other_status) << get.body;
  EXPECT_TRUE(get.body.starts_with(R"({"errcode":"M_)")) << get.body;
  EXPECT_EQ(rig.relays->counts().begun, 0U);
}

INSTANTIATE_TEST_SUITE_P(
    Egress, EgressTargets,
    ::testing::Values(
        TargetCase{"AName", target("far.example"), 200, 0},
        TargetCase{"UpperCase", target("FAR.example"), 200, 0},
        TargetCase{"Ipv6", target("[::1]:8448"), 200, 0},
        TargetCase{"Ipv4", target("203.0.113.7:8448"), 200, 0},
        TargetCase{"AnotherScheme", "ftp://far.example/_matrix/federation/v1/send/1", 400, 400},
        TargetCase{"Http", "http://far.example/_matrix/federation/v1/send/1", 400, 400},
        TargetCase{"APath", "/_matrix/federation/v1/send/1", 400, 400},
        TargetCase{"NoServer", target(""), 400, 400},
        TargetCase{"NoPath", "matrix-federation://far.example", 502, 502},
        TargetCase{"UserInformation", target("u@far.example"), 400, 502},
        TargetCase{"PortZero", target("far.example:0"), 400, 502},
        TargetCase{"PortTooLarge", target("far.example:65536"), 400, 502},
        TargetCase{"Length", target(std::string(231, 'a')), 400, 502},
        TargetCase{"NoIpv6", target("[::1"), 400, 502},
        TargetCase{"Ourselves", target("us.example"), 400, 502},
        TargetCase{"NotAllowed", target("other.example"), 403, 502},
        TargetCase{"NoId", target("far.example", "/_matrix/federation/v1/send/"), 400, 0},
        TargetCase{"TwoIds", target("far.example", "/_matrix/federation/v1/send/1/2"), 400, 0}),
    [](const auto& each) { return each.param.name; });

// Bytes beyond ASCII are no target of HTTP at all.
// req: matrix.egress.9
TEST(Egress, RefusesInternationalNamesAsTheyAre) {
  EgressRig rig;
  const HttpReply reply = rig.call("PUT",
                                   target("b\xc3\xbc"
                                          "cher.example"),
                                   EgressRig::secret_line(), "{}");
  EXPECT_EQ(reply.status, 400);
  EXPECT_TRUE(reply.body.starts_with(R"({"errcode":"M_UNKNOWN")")) << reply.body;
  EXPECT_TRUE(rig.taken.empty());
}

TEST(Egress, HandsTransactionsOverWhole) {
  EgressRig rig;
  const std::string body(100'000, 'x');
  const HttpReply reply =
      rig.call("PUT", target("far.example:8448"), EgressRig::secret_line(), body);
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.body, R"({"pdus":{}})");
  ASSERT_EQ(rig.taken.size(), 1U);
  EXPECT_EQ(rig.taken.front(), "far.example:8448 1 " + body);
  EXPECT_EQ(rig.egress->counts().transactions, 1U);
}

// What is too large is refused by its head, and the body is not read.
TEST(Egress, RefusesATransactionOfOneByteTooMany) {
  EgressRig rig;
  rig.open();
  const std::size_t most = matrix::TransactionLimits{}.bytes_max;
  const auto client =
      rig.send("PUT", target("far.example"),
               EgressRig::secret_line() + "Content-Length: " + std::to_string(most + 1) + "\r\n");
  const HttpReply reply = rig.reply(*client);
  EXPECT_EQ(reply.status, 413);
  EXPECT_TRUE(reply.body.starts_with(R"({"errcode":"M_TOO_LARGE")")) << reply.body;
  EXPECT_TRUE(rig.taken.empty());
}

// The body of a request without the secret is not asked for.
TEST(Egress, JudgesTheHeadBeforeTheBody) {
  EgressRig rig;
  const auto client = rig.send("PUT", target("far.example"),
                               "Expect: 100-continue\r\nContent-Length: 10000000\r\n");
  EXPECT_EQ(rig.reply(*client).status, 401);
}

}  // namespace
}  // namespace postrider::matrix_door
