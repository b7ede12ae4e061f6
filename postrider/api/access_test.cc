// Who may do what: each route with each scope, and that tokens stay secret.
#include "postrider/api/access.h"

#include <algorithm>
#include <array>

#include <boost/json.hpp>

#include "postrider/api/http_api_testing.h"
#include "postrider/api/router.h"

namespace postrider::api {
namespace {

class ApiAccess : public ApiRig {
 protected:
  void SetUp() override {
    options.tokens = rig_tokens();
    open();
  }
  static RigHeaders bearer(const std::string& token) {
    return {{"authorization", "Bearer " + token}};
  }
};

// What the contract says, apart from the table that runs.
std::string scopes_wanted(const RouteRow& row) {
  const std::string_view pattern = row.pattern;
  if (pattern == "/livez" || pattern == "/readyz") return "open";
  if (pattern == "/openapi.json" || pattern.starts_with("/v1/profiles")) return "any";
  if (pattern == "/v1/whoami") return "any";
  if (pattern == "/v1/operations/{key}")
    return row.method == "GET" ? "submit read" : "submit operate";
  if (pattern == "/v1/groups/{name}/messages") return "submit";
  if (row.method == "POST" && pattern == "/v1/messages") return "submit";
  return row.method == "GET" ? "read" : "operate";
}

// req: api.auth.1
TEST_F(ApiAccess, EachRouteNeedsItsScope) {
  expect_scopes(scopes_wanted, [](const RouteRow&) { return 200; });
}

// req: api.auth.2
TEST_F(ApiAccess, SaysWhichScopeIsMissingAndNeverTheToken) {
  Reply reply = get("/v1/stats");
  EXPECT_EQ(reply.problem(), "unauthorized");
  EXPECT_TRUE(reply.header("WWW-Authenticate").starts_with("Bearer"));
  EXPECT_EQ(get("/v1/stats", bearer("token-wrong")).problem(), "unauthorized");
  reply = get("/v1/stats", bearer("token-submit"));
  EXPECT_EQ(reply.problem(), "forbidden");
  EXPECT_NE(reply.text("detail").find("read"), std::string::npos);
  EXPECT_EQ(everything_said.find("token-"), std::string::npos);
}

// req: api.auth.4
TEST_F(ApiAccess, TellsWhoeverAsksWhatHeMayDo) {
  const auto scopes = [&](const Reply& reply) {
    EXPECT_EQ(reply.status, 200);
    return boost::json::serialize(reply.json().at("scopes"));
  };
  EXPECT_EQ(scopes(get("/v1/whoami", bearer("token-submit"))), R"(["submit"])");
  EXPECT_EQ(scopes(get("/v1/whoami", bearer("token-read"))), R"(["read"])");
  EXPECT_EQ(scopes(get("/v1/whoami", bearer("token-operate"))), R"(["operate"])");
  EXPECT_EQ(get("/v1/whoami", bearer("token-read")).text("tenant"), "t");
  EXPECT_NE(get("/v1/whoami", bearer("token-read")).text("tenant_is").find("no wall"),
            std::string::npos);
  EXPECT_EQ(get("/v1/whoami", bearer("token-nothing")).status, 403);
  EXPECT_EQ(get("/v1/whoami").status, 401);
  constexpr std::string_view kAll = R"(["submit","read","operate","receive"])";
  EXPECT_EQ(scopes(call({"GET", "/v1/whoami", "", {}, true})), kAll);
  options.tokens.clear();
  open();
  EXPECT_EQ(scopes(get("/v1/whoami")), kAll);
}

TEST_F(ApiAccess, ReadsTheHeaderAsItMayBeWritten) {
  EXPECT_EQ(get("/v1/stats", {{"authorization", "bearer token-read"}}).status, 200);
  EXPECT_EQ(get("/v1/stats", {{"authorization", "BEARER token-read"}}).status, 200);
  for (const std::string_view bad :
       {"token-read", "Basic token-read", "Bearer", "Bearer ", "Bearer token-read ",
        "Bearertoken-read", "Bearer  token-read"})
    EXPECT_EQ(get("/v1/stats", {{"authorization", std::string(bad)}}).status, 401) << bad;
  EXPECT_EQ(get("/v1/stats", bearer(std::string(100'000, 'x'))).status, 401);
}

TEST_F(ApiAccess, NewTokensHoldAtOnceAndCutThoseWhoFollow) {
  const auto tail = send({"GET", "/v1/events", "", bearer("token-read")});
  settle();
  EXPECT_TRUE(tail->begun && !tail->ended);
  api->set_tokens({{.name = "x", .tenant = "t", .secret = "token-new", .may_read = true}});
  EXPECT_TRUE(tail->ended);
  EXPECT_EQ(get("/v1/stats", bearer("token-read")).status, 401);
  EXPECT_EQ(get("/v1/stats", bearer("token-new")).status, 200);
}

TEST_F(ApiAccess, WithoutTokensEverybodyMayDoEverything) {
  options.tokens.clear();
  open();
  EXPECT_EQ(get("/v1/stats").status, 200);
  EXPECT_EQ(get("/v1/stats", bearer("whatever")).status, 200);
}

// req: api.auth.5
TEST_F(ApiAccess, WithoutTokensPagesOfOthersChangeNothing) {
  options.tokens.clear();
  open();
  make_destination("shop");
  const auto pause = [&](RigHeaders headers, bool local = false) {
    const RigRequest request{"POST", "/v1/destinations/shop/pause", "", std::move(headers), local};
    return call(request).status;
  };
  EXPECT_EQ(pause({{"sec-fetch-site", "cross-site"}}), 403);
  EXPECT_EQ(pause({{"sec-fetch-site", "same-site"}}), 403);
  EXPECT_EQ(pause({{"host", "127.0.0.1:8460"}, {"origin", "http://evil.example"}}), 403);
  EXPECT_EQ(pause({{"host", "127.0.0.1:8460"}, {"origin", "http://127.0.0.1:3000"}}), 403);
  EXPECT_EQ(pause({{"host", "127.0.0.1:8460"}, {"origin", "null"}}), 403);
  EXPECT_EQ(get("/v1/destinations/shop").text("health"), "normal");
  EXPECT_EQ(pause({{"sec-fetch-site", "same-origin"}, {"origin", "https://proxy.example"}}), 200);
  EXPECT_EQ(pause({{"host", "127.0.0.1:8460"}, {"origin", "http://127.0.0.1:8460"}}), 200);
  EXPECT_EQ(pause({{"sec-fetch-site", "none"}}), 200);
  EXPECT_EQ(pause({}), 200) << "not a browser";
  EXPECT_EQ(pause({{"origin", "http://evil.example"}}, true), 200);
  EXPECT_EQ(get("/v1/stats", {{"sec-fetch-site", "cross-site"}}).status, 200);
}

// req: api.auth.6
TEST_F(ApiAccess, WithoutTokensOnlyNamesOfThisMachineAreServed) {
  options.tokens.clear();
  options.names = {"Postrider.example"};
  open();
  const auto status = [&](const std::string& target, const std::string& name) {
    const auto exchange = send({"GET", target, "", {{"host", name}}});
    settle();
    return exchange->response ? exchange->response->status : 0;
  };
  for (const std::string target : {"/", "/v1/stats", "/livez", "/nowhere"}) {
    const int served = target == "/nowhere" ? 404 : 200;
    for (const std::string name :
         {"localhost", "LocalHost:8460", "localhost.", "127.0.0.1", "127.0.0.1:8460",
          "127.255.0.9:1", "[::1]", "[::1]:8460", "postrider.example", "POSTRIDER.example:8460"})
      EXPECT_EQ(status(target, name), served) << target << " " << name;
    for (const std::string name :
         {"evil.example", "evil.example:8460", "localhost.evil.example", "127.0.0.1.evil.example",
          "0.0.0.0:8460", "192.168.1.7", "[::2]:8460", "[::]", "x.postrider.example", "127", ":"})
      EXPECT_EQ(status(target, name), 421) << target << " " << name;
  }
  const Reply refused = get("/v1/stats", {{"host", "evil.example"}});
  EXPECT_EQ(refused.problem(), "wrong-host");
  EXPECT_NE(refused.text("detail").find("server.names"), std::string::npos);
  EXPECT_EQ(get("/v1/stats").status, 200) << "HTTP/1.0 may have none";
  EXPECT_EQ(call({"GET", "/v1/stats", "", {{"host", "evil.example"}}, true}).status, 200)
      << "the Unix socket";
}

// A token cannot be sent by accident, whatever the name.
// req: api.auth.6
TEST_F(ApiAccess, WithTokensEveryNameIsServed) {
  RigHeaders headers = bearer("token-read");
  headers.emplace_back("host", "postrider.example");
  EXPECT_EQ(get("/v1/stats", headers).status, 200);
}

// req: api.auth.7
TEST_F(ApiAccess, PagesOfOthersDoNotFollowTheEvents) {
  const auto status = [&](RigHeaders headers, bool token, bool local = false) {
    if (token) headers.emplace_back("authorization", "Bearer token-read");
    const auto exchange = send({"GET", "/v1/events", "", headers, local});
    settle();
    return exchange->response ? exchange->response->status : 0;
  };
  for (const bool token : {true, false}) {
    const int without = token ? 200 : 401;
    EXPECT_EQ(status({{"sec-fetch-site", "cross-site"}}, token), 403);
    EXPECT_EQ(status({{"sec-fetch-site", "same-site"}}, token), 403);
    EXPECT_EQ(status({{"host", "localhost"}, {"origin", "http://evil.example"}}, token), 403);
    EXPECT_EQ(status({{"sec-fetch-site", "same-origin"}}, token), without);
    EXPECT_EQ(status({{"sec-fetch-site", "none"}}, token), without);
    EXPECT_EQ(status({}, token), without);
  }
  EXPECT_EQ(status({{"sec-fetch-site", "cross-site"}}, false, true), 200) << "the Unix socket";
  options.tokens.clear();
  open();
  EXPECT_EQ(status({{"sec-fetch-site", "cross-site"}}, false), 403);
  EXPECT_EQ(status({{"sec-fetch-site", "same-origin"}}, false), 200);
}

TEST_F(ApiAccess, TellsNothingAboutOtherOrigins) {
  const Reply reply =
      call({"OPTIONS", "/v1/messages", "", {{"origin", "https://evil.example"}}, true});
  EXPECT_EQ(reply.status, 405);
  EXPECT_EQ(everything_said.find("Access-Control"), std::string::npos);
}

// req: api.auth.3
TEST_F(ApiAccess, OneTenantsFloodRefusesHimAlone) {
  options.tokens = {{.name = "a", .tenant = "a", .secret = "token-a", .may_submit = true},
                    {.name = "b", .tenant = "b", .secret = "token-b", .may_submit = true}};
  host_options.tenant_waiting_max = 2;
  open();
  ASSERT_EQ(call({"PUT",
                  "/v1/destinations/shop",
                  R"({"profile":"webhook","settings":{"url":"https://shop.example/"}})",
                  {},
                  true})
                .status,
            200);
  store.held = true;
  const auto submit_as = [&](const std::string& token) {
    const RigRequest request{"POST", "/v1/messages", R"({"destination":"shop","body":1})",
                             bearer(token)};
    const auto exchange = send(request);
    return exchange->response ? reply_of(request, *exchange) : Reply();
  };
  EXPECT_EQ(submit_as("token-a").status, 0);
  EXPECT_EQ(submit_as("token-a").status, 0);
  const Reply refused = submit_as("token-a");
  EXPECT_EQ(refused.status, 429);
  EXPECT_EQ(refused.problem(), "tenant-busy");
  EXPECT_EQ(refused.header("Retry-After"), "1");
  EXPECT_EQ(submit_as("token-b").status, 0) << "accepted, and waits for the sync";
}

}  // namespace
}  // namespace postrider::api
