#include "postrider/protocols/matrix/server_name.h"

#include <gtest/gtest.h>

namespace postrider::matrix {
namespace {

struct GoodName {
  const char* name;
  std::string text;
  std::string host;
  std::optional<std::uint16_t> port;
  ServerHost kind;
};

class ServerNames : public ::testing::TestWithParam<GoodName> {};

// req: matrix.http.8
TEST_P(ServerNames, AreReadByTheGrammar) {
  const Result<ServerName> name = parse_server_name(GetParam().text);
  ASSERT_TRUE(name) << name.error().detail;
  EXPECT_EQ(name->text, GetParam().text);
  EXPECT_EQ(name->host, GetParam().host);
  EXPECT_EQ(name->port, GetParam().port);
  EXPECT_EQ(name->kind, GetParam().kind);
}

INSTANTIATE_TEST_SUITE_P(
    Good, ServerNames,
    ::testing::Values(
        GoodName{"Name", "matrix.example.org", "matrix.example.org", {}, ServerHost::kName},
        GoodName{"OneLabel", "localhost", "localhost", {}, ServerHost::kName},
        GoodName{"Port", "localhost:18448", "localhost", 18448, ServerHost::kName},
        GoodName{"LargestPort", "a.b:65535", "a.b", 65535, ServerHost::kName},
        GoodName{"UpperCase", "Example.ORG:1", "example.org", 1, ServerHost::kName},
        GoodName{"International", "xn--mnchen-3ya.de", "xn--mnchen-3ya.de", {}, ServerHost::kName},
        GoodName{"DigitsFirst", "1.2.3.com", "1.2.3.com", {}, ServerHost::kName},
        GoodName{"Ipv4", "192.0.2.1", "192.0.2.1", {}, ServerHost::kIpv4},
        GoodName{"Ipv4Port", "192.0.2.1:80", "192.0.2.1", 80, ServerHost::kIpv4},
        GoodName{"Ipv6", "[2001:DB8::1]", "[2001:db8::1]", {}, ServerHost::kIpv6},
        GoodName{"Ipv6Port", "[::1]:8448", "[::1]", 8448, ServerHost::kIpv6},
        GoodName{"Ipv6Whole", "[1:2:3:4:5:6:7:8]", "[1:2:3:4:5:6:7:8]", {}, ServerHost::kIpv6},
        GoodName{"Ipv6Mapped", "[::ffff:1.2.3.4]", "[::ffff:1.2.3.4]", {}, ServerHost::kIpv6},
        GoodName{"Longest",
                 std::string(62, 'a') + "." + std::string(62, 'b') + "." + std::string(62, 'c') +
                     "." + std::string(41, 'd'),
                 std::string(62, 'a') + "." + std::string(62, 'b') + "." + std::string(62, 'c') +
                     "." + std::string(41, 'd'),
                 {},
                 ServerHost::kName}),
    [](const auto& given) { return std::string(given.param.name); });

struct BadName {
  const char* name;
  std::string text;
};

class BadServerNames : public ::testing::TestWithParam<BadName> {};

// req: matrix.http.8, matrix.egress.9
TEST_P(BadServerNames, AreRefusedWithTheReason) {
  const Result<ServerName> name = parse_server_name(GetParam().text);
  ASSERT_FALSE(name);
  EXPECT_FALSE(name.error().detail.empty());
}

INSTANTIATE_TEST_SUITE_P(
    Bad, BadServerNames,
    ::testing::Values(
        BadName{"Empty", ""}, BadName{"OnlyPort", ":8448"}, BadName{"PortZero", "a:0"},
        BadName{"PortTooLarge", "a:65536"}, BadName{"PortLong", "a:000001"},
        BadName{"PortMissing", "a:"}, BadName{"PortWord", "a:b"}, BadName{"TwoPorts", "a:1:2"},
        BadName{"UserInformation", "user@a"}, BadName{"UserAndPassword", "user:pw@a"},
        BadName{"Idna", "münchen.de"}, BadName{"Underscore", "a_b"}, BadName{"Space", "a b"},
        BadName{"Slash", "a/b"}, BadName{"TwoDots", "a..b"}, BadName{"EndsInDot", "a.b."},
        BadName{"LongLabel", std::string(64, 'a')}, BadName{"Ipv4TooLarge", "256.1.1.1"},
        BadName{"Ipv4Short", "127.1"}, BadName{"Ipv4Number", "2130706433"},
        BadName{"Ipv4Octal", "0177.0.0.1"}, BadName{"Ipv4Five", "1.2.3.4.5"},
        BadName{"Ipv6Open", "[::1"}, BadName{"Ipv6Bare", "::1"}, BadName{"Ipv6Empty", "[]"},
        BadName{"Ipv6Zone", "[fe80::1%eth0]"}, BadName{"Ipv6TwoGaps", "[1::2::3]"},
        BadName{"Ipv6Nine", "[1:2:3:4:5:6:7:8:9]"}, BadName{"Ipv6Seven", "[1:2:3:4:5:6:7]"},
        BadName{"Ipv6GapOfNone", "[1:2:3:4::5:6:7:8]"},
        BadName{"Ipv6EndsInColon", "[1:2:3:4:5:6:7:]"}, BadName{"BracketsAroundName", "[a.b]"},
        BadName{"BehindBracket", "[::1]a"}),
    [](const auto& given) { return std::string(given.param.name); });

TEST(ServerName, Of231BytesIsTooLong) {
  std::string text;
  while (text.size() < 230) text += "a.";
  const Result<ServerName> name = parse_server_name(text + "a");
  ASSERT_FALSE(name);
  EXPECT_EQ(name.error().code, ErrorCode::kLimit);
}

TEST(ServerName, InAnotherCaseIsAnotherServer) {
  EXPECT_NE(*parse_server_name("example.org"), *parse_server_name("Example.org"));
  EXPECT_TRUE(is_user_of("@u:Example.org", "Example.org"));
  EXPECT_FALSE(is_user_of("@u:Example.org", "example.org"));
}

TEST(ServerName, IsTheLaterPartOfADestination) {
  EXPECT_EQ(destination_name("[::1]:8448"), "matrix:[::1]:8448");
  EXPECT_EQ(server_of_destination("matrix:a.b:1"), "a.b:1");
  EXPECT_EQ(server_of_destination("webhook:a"), std::nullopt);
}

TEST(ServerName, IsFoundInIds) {
  EXPECT_EQ(domain_of("@user:a.b:8448"), "a.b:8448");
  EXPECT_EQ(domain_of("!room-of-version-12"), "");
  EXPECT_FALSE(is_user_of("user:a", "a"));
  EXPECT_FALSE(is_user_of("@user", ""));
  EXPECT_FALSE(is_user_of("@" + std::string(253, 'u') + ":a", "a"));
  EXPECT_TRUE(is_user_of("@" + std::string(252, 'u') + ":a", "a"));
}

// req: matrix.egress.1
TEST(EgressTarget, IsTakenApart) {
  const Result<EgressTarget> send =
      parse_egress_target("matrix-federation://Them.example:8448/_matrix/federation/v1/send/17");
  ASSERT_TRUE(send) << send.error().detail;
  EXPECT_EQ(send->server.text, "Them.example:8448");
  EXPECT_EQ(send->uri, "/_matrix/federation/v1/send/17");
  EXPECT_EQ(send->transaction_id, "17");
  const Result<EgressTarget> other = parse_egress_target(
      "matrix-federation://[::1]/_matrix/federation/v1/make_join/%21r%3Athem?ver=9&ver=10");
  ASSERT_TRUE(other) << other.error().detail;
  EXPECT_EQ(other->uri, "/_matrix/federation/v1/make_join/%21r%3Athem?ver=9&ver=10");
  EXPECT_EQ(other->transaction_id, "");
}

TEST(EgressTarget, OfASendNeedsAnIdAndNothingBehindIt) {
  for (const std::string_view path :
       {"/_matrix/federation/v1/send/", "/_matrix/federation/v1/send",
        "/_matrix/federation/v1/send/1/2", "/_matrix/federation/v1/send/1?a=b",
        "/_matrix/federation/v1/send_join/1"}) {
    const auto target = parse_egress_target("matrix-federation://a" + std::string(path));
    ASSERT_TRUE(target) << path;
    EXPECT_EQ(target->transaction_id, "") << path;
  }
}

// req: matrix.egress.9
TEST(EgressTarget, OfAnotherFormIsRefused) {
  for (const std::string_view target :
       {"https://a/x", "/x", "a:443", "*", "matrix-federation://", "matrix-federation:///x",
        "matrix-federation://a", "matrix-federation://a?x", "matrix-federation://u@a/x",
        "matrix-federation://u:p@a/x", "matrix-federation://a:0/x", "matrix-federation://a:65536/x",
        "matrix-federation://a/x#y", "matrix-federation://a/x y", "matrix-federation://a/\r\nX:y",
        "matrix-federation://ä/x"}) {
    EXPECT_FALSE(parse_egress_target(target)) << target;
  }
}

TEST(MatrixTarget, IsWrittenAndTakenApart) {
  const std::string target = matrix_target("a.b:1", "/_matrix/key/v2/server");
  EXPECT_EQ(target, "matrix://a.b:1/_matrix/key/v2/server");
  EXPECT_TRUE(is_matrix_target(target));
  EXPECT_FALSE(is_matrix_target("https://a.b/x"));
  const Result<MatrixTarget> parts = parse_matrix_target(target);
  ASSERT_TRUE(parts);
  EXPECT_EQ(parts->server.text, "a.b:1");
  EXPECT_EQ(parts->uri, "/_matrix/key/v2/server");
  EXPECT_FALSE(parse_matrix_target("matrix://u@a.b/x"));
  EXPECT_FALSE(parse_matrix_target("matrix://a.b"));
}

// req: matrix.txn.5
TEST(TransactionId, HasFortyPlainCharactersAtMost) {
  EXPECT_TRUE(is_transaction_id("01J8ZK5V-3"));
  EXPECT_TRUE(is_transaction_id(std::string(40, 'a')));
  EXPECT_FALSE(is_transaction_id(std::string(41, 'a')));
  EXPECT_FALSE(is_transaction_id(""));
  EXPECT_FALSE(is_transaction_id("a/b"));
  EXPECT_FALSE(is_transaction_id("a_b"));
  EXPECT_EQ(send_path("t1"), "/_matrix/federation/v1/send/t1");
}

}  // namespace
}  // namespace postrider::matrix
