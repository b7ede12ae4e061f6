#include "postrider/protocols/matrix/discovery.h"

#include <map>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "postrider/protocols/web/http_text.h"

namespace postrider::matrix {
namespace {

using Asks = Discovery::Asks;
constexpr Timestamp kDiscoveryWall(1'700'000'000'000);

ServerName named(std::string_view text) { return *parse_server_name(text); }

ServerRoute route_to(std::string authority, std::string host, std::vector<Endpoint> endpoints) {
  return {.authority = std::move(authority),
          .host = std::move(host),
          .endpoints = std::move(endpoints)};
}

// req: matrix.http.8
TEST(DiscoverySteps, OfAnAddressOrAPortAskNothing) {
  const auto route = [](std::string_view name) {
    const Discovery discovery(named(name));
    EXPECT_EQ(discovery.asks(), Asks::kNothing);
    return discovery.route().value_or(ServerRoute{});
  };
  EXPECT_EQ(route("192.0.2.1"), route_to("192.0.2.1", "192.0.2.1", {{"192.0.2.1", 8448}}));
  EXPECT_EQ(route("192.0.2.1:99"), route_to("192.0.2.1:99", "192.0.2.1", {{"192.0.2.1", 99}}));
  EXPECT_EQ(route("[::1]"), route_to("[::1]", "[::1]", {{"[::1]", 8448}}));
  EXPECT_EQ(route("[::1]:99"), route_to("[::1]:99", "[::1]", {{"[::1]", 99}}));
  EXPECT_EQ(route("Localhost:18448"),
            route_to("localhost:18448", "localhost", {{"localhost", 18448}}));
}

// req: matrix.http.8
TEST(DiscoverySteps, OfADelegationFollowTheNameThatItGives) {
  const auto delegated = [](std::string_view to) {
    Discovery discovery(named("us.example"));
    EXPECT_EQ(discovery.asks(), Asks::kWellKnown);
    EXPECT_EQ(discovery.question(), "us.example");
    discovery.well_known(named(to));
    return discovery;
  };
  EXPECT_EQ(delegated("192.0.2.1").route(),
            route_to("192.0.2.1", "192.0.2.1", {{"192.0.2.1", 8448}}));
  EXPECT_EQ(delegated("m.example:443").route(),
            route_to("m.example:443", "m.example", {{"m.example", 443}}));
  Discovery srv = delegated("m.example");
  EXPECT_EQ(srv.asks(), Asks::kSrv);
  EXPECT_EQ(srv.question(), "_matrix-fed._tcp.m.example");
  Rng rng(1);
  srv.srv({{.target = "Host1.example", .port = 7, .priority = 1, .weight = 0}}, rng);
  EXPECT_EQ(srv.route(), route_to("m.example", "m.example", {{"host1.example", 7}}));
}

// req: matrix.http.8
TEST(DiscoverySteps, WithoutADelegationAskBothSrvNamesAndTakeThePort) {
  Rng rng(1);
  Discovery discovery(named("Us.example"));
  EXPECT_EQ(discovery.question(), "us.example");
  discovery.well_known(std::nullopt);
  EXPECT_EQ(discovery.question(), "_matrix-fed._tcp.us.example");
  discovery.srv({}, rng);
  EXPECT_EQ(discovery.asks(), Asks::kSrv);
  EXPECT_EQ(discovery.question(), "_matrix._tcp.us.example");
  Discovery with_old = discovery;
  with_old.srv({{.target = "old.example", .port = 9, .priority = 0, .weight = 0}}, rng);
  EXPECT_EQ(with_old.route(), route_to("us.example", "us.example", {{"old.example", 9}}));
  discovery.srv({}, rng);
  EXPECT_EQ(discovery.asks(), Asks::kNothing);
  EXPECT_EQ(discovery.route(), route_to("us.example", "us.example", {{"us.example", 8448}}));
}

// req: matrix.http.8
TEST(DiscoverySteps, EndWithoutARouteWhenDnsIsSilentOrSaysNo) {
  Rng rng(1);
  Discovery silent(named("us.example"));
  silent.well_known(std::nullopt);
  silent.srv_failed();
  EXPECT_EQ(silent.asks(), Asks::kNothing);
  EXPECT_FALSE(silent.route());
  EXPECT_FALSE(silent.problem().empty());
  Discovery no(named("us.example"));
  no.well_known(std::nullopt);
  no.srv({{.target = ".", .port = 1, .priority = 0, .weight = 0}}, rng);
  EXPECT_FALSE(no.route());
  EXPECT_FALSE(no.problem().empty());
}

// req: matrix.http.8
TEST(SrvOrder, GoesByPriorityFirst) {
  Rng rng(7);
  for (int i = 0; i < 50; ++i) {
    const auto ordered = order_srv({{"c", 3, 30, 65535}, {"a", 1, 10, 0}, {"b", 2, 20, 5}}, rng);
    ASSERT_EQ(ordered.size(), 3U);
    EXPECT_EQ(ordered[0].target, "a");
    EXPECT_EQ(ordered[1].target, "b");
    EXPECT_EQ(ordered[2].target, "c");
  }
}

// req: matrix.http.8
TEST(SrvOrder, SharesByWeightAmongEqualPriorities) {
  Rng rng(7);
  std::map<std::string, int> firsts;
  for (int i = 0; i < 10'000; ++i)
    ++firsts[order_srv({{"heavy", 1, 5, 90}, {"light", 1, 5, 10}, {"none", 1, 5, 0}}, rng)[0]
                 .target];
  EXPECT_NEAR(firsts["heavy"], 8900, 300);
  EXPECT_NEAR(firsts["light"], 1000, 200);
  EXPECT_GT(firsts["none"], 0);
}

TEST(SrvOrder, LeavesOutWhatCannotBeConnectedTo) {
  Rng rng(1);
  std::vector<SrvRecord> records = {{".", 1, 0, 0},           {"", 1, 0, 0},    {"a.b", 0, 0, 0},
                                    {"127.0.0.1", 1, 0, 0},   {"a b", 1, 0, 0}, {"[::1]", 1, 0, 0},
                                    {"good.example", 1, 0, 0}};
  EXPECT_EQ(order_srv(records, rng), (std::vector<SrvRecord>{{"good.example", 1, 0, 0}}));
  for (std::uint16_t i = 1; i < 100; ++i) records.push_back({"a.b", i, 0, 0});
  EXPECT_EQ(order_srv(records, rng).size(), kSrvTargetsMax);
}

RC_GTEST_PROP(SrvOrder, KeepsEachRecordOnce, (std::uint64_t seed)) {
  std::vector<SrvRecord> records;
  for (int left = *rc::gen::inRange(0, 12); left > 0; --left)
    records.push_back({"h" + std::to_string(left), 1,
                       static_cast<std::uint16_t>(*rc::gen::inRange(0, 3)),
                       static_cast<std::uint16_t>(*rc::gen::inRange(0, 100))});
  Rng rng(seed);
  std::vector<SrvRecord> ordered = order_srv(records, rng);
  RC_ASSERT(std::is_sorted(ordered.begin(), ordered.end(),
                           [](const auto& a, const auto& b) { return a.priority < b.priority; }));
  const auto by_name = [](const SrvRecord& a, const SrvRecord& b) { return a.target < b.target; };
  std::sort(ordered.begin(), ordered.end(), by_name);
  std::sort(records.begin(), records.end(), by_name);
  RC_ASSERT(ordered == records);
}

// req: matrix.http.9
TEST(WellKnown, NamesTheServer) {
  EXPECT_EQ(read_well_known(R"({"m.server":"m.example:443","x":1})"), named("m.example:443"));
  for (const std::string& body :
       {std::string(), std::string("<html>"), std::string("[]"), std::string("{}"),
        std::string(R"({"m.server":5})"), std::string(R"({"m.server":""})"),
        std::string(R"({"m.server":"https://m.example"})"),
        std::string(R"({"m.server":"m.example:0"})"), std::string(R"({"m.server":"m.example/x"})")})
    EXPECT_FALSE(read_well_known(body)) << body;
  std::string large = R"({"m.server":"m.example"})";
  large.append(kWellKnownBytesMax - large.size(), ' ');
  EXPECT_TRUE(read_well_known(large));
  large.push_back(' ');
  ASSERT_FALSE(read_well_known(large));
  EXPECT_EQ(read_well_known(large).error().code, ErrorCode::kLimit);
}

// req: matrix.http.9
TEST(WellKnownRedirect, IsResolvedAgainstTheAskedAddress) {
  const std::string asked = "https://a.example/.well-known/matrix/server";
  const auto to = [&](std::string_view location) {
    return redirect_of(asked, location).value_or("-");
  };
  EXPECT_EQ(to("https://b.example/x"), "https://b.example/x");
  EXPECT_EQ(to(" HTTPS://b.example:8443/x#y "), "https://b.example:8443/x");
  EXPECT_EQ(to("//b.example/x"), "https://b.example/x");
  EXPECT_EQ(to("/x?y=1"), "https://a.example/x?y=1");
  EXPECT_EQ(to("other"), "https://a.example/.well-known/matrix/other");
  EXPECT_EQ(*redirect_of("https://a.example", "x"), "https://a.example/x");
  EXPECT_EQ(*redirect_of("https://a.example?q=/a/b", "x"), "https://a.example/x");
  for (const std::string_view bad :
       {"", "http://b.example/x", "ftp://b.example/x", "https://", "https://u:p@b.example/",
        "https://b.example:0/", "/a b", "/\r\nX: y", "//"})
    EXPECT_EQ(to(bad), "-") << bad;
  EXPECT_EQ(to("/" + std::string(3000, 'x')), "-");
}

struct LifeCase {
  const char* name;
  std::string cache_control;
  std::string expires;
  Duration low;
  Duration high;
};
class WellKnownLife : public ::testing::TestWithParam<LifeCase> {};

// req: matrix.http.9
TEST_P(WellKnownLife, IsWithinTheBoundsOfTheTable) {
  Rng rng(3);
  for (int i = 0; i < 100; ++i) {
    const Duration life =
        life_of({.cache_control = GetParam().cache_control, .expires = GetParam().expires}, {},
                kDiscoveryWall, rng);
    EXPECT_GE(life, GetParam().low);
    EXPECT_LE(life, GetParam().high);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Lives, WellKnownLife,
    ::testing::Values(LifeCase{"NoWord", "", "", 21h + 36min, 26h + 24min},
                      LifeCase{"Age", "public, Max-Age=7200", "", 2h, 2h},
                      LifeCase{"QuotedAge", "max-age=\"7200\"", "", 2h, 2h},
                      LifeCase{"ShortAge", "max-age=1", "", 5min, 5min},
                      LifeCase{"LongAge", "max-age=31536000", "", 48h, 48h},
                      LifeCase{"EndlessAge", "max-age=99999999999999999999999", "", 48h, 48h},
                      LifeCase{"NoStore", "no-store", "", 5min, 5min},
                      LifeCase{"NoStoreAndAge", "max-age=7200, no-store", "", 5min, 5min},
                      LifeCase{"BadAge", "max-age=x", "", 21h + 36min, 26h + 24min},
                      LifeCase{"NegativeAge", "max-age=-5", "", 21h + 36min, 26h + 24min},
                      LifeCase{"Expires", "", to_http_date(kDiscoveryWall + Duration(3h)), 3h, 3h},
                      LifeCase{"AgeGoesFirst", "max-age=7200",
                               to_http_date(kDiscoveryWall + Duration(3h)), 2h, 2h},
                      LifeCase{"Expired", "", to_http_date(kDiscoveryWall - Duration(3h)), 5min,
                               5min},
                      LifeCase{"ExpiresZero", "", "0", 5min, 5min}),
    [](const auto& given) { return std::string(given.param.name); });

// req: matrix.http.9
TEST(WellKnownFailure, IsRememberedForAnHourOrShortlyAfterASuccess) {
  Rng rng(3);
  for (int i = 0; i < 100; ++i) {
    const Duration never = failure_life(Timestamp(), {}, kDiscoveryWall, rng);
    EXPECT_GE(never, 54min);
    EXPECT_LE(never, 66min);
    const Duration recent = failure_life(kDiscoveryWall - Duration(1h), {}, kDiscoveryWall, rng);
    EXPECT_GE(recent, 108s);
    EXPECT_LE(recent, 132s);
    EXPECT_GE(failure_life(kDiscoveryWall - Duration(3h), {}, kDiscoveryWall, rng), 54min);
  }
}

}  // namespace
}  // namespace postrider::matrix
