// How the dashboard's files are served: without a token, compressed when it is wanted, and under a
// policy that lets nothing else in.
#include "postrider/api/assets.h"

#include <algorithm>
#include <array>

#include "postrider/api/http_api_testing.h"
#include "postrider/servers/http/http_server_testing.h"

namespace postrider::api {
namespace {

constexpr std::string_view kWhy = "nobody wanted it";

constexpr auto kAssets = std::to_array<Asset>({
    {"/", "text/html; charset=utf-8", "page", false, "<p>plain</p>", "zipped page"},
    {"/assets/a-1.js", "text/javascript; charset=utf-8", "code", true, "plain code", "zipped code"},
});

std::optional<HttpResponse> ask(std::string_view method, std::string_view target,
                                std::vector<HttpHeader> headers = {},
                                std::span<const Asset> assets = kAssets) {
  HttpRequest request;
  request.method = method;
  request.target = target;
  request.headers = std::move(headers);
  return asset_response(request, assets, kWhy);
}

std::string header(const std::optional<HttpResponse>& response, std::string_view name) {
  if (!response) return "no answer";
  for (const auto& [key, value] : response->headers) {
    if (key == name) return value;
  }
  return {};
}

// req: api.dashboard.1
TEST(HttpAssets, TakeOnlyWhatIsTheirs) {
  EXPECT_TRUE(ask("GET", "/"));
  EXPECT_TRUE(ask("HEAD", "/"));
  EXPECT_TRUE(ask("GET", "/?from=mail"));
  EXPECT_TRUE(ask("GET", "/assets/a-1.js"));
  for (const std::string_view target : {"/v1/stats", "/assets/", "/assets/a-2.js", "/assets/../",
                                        "", "*", "//", "/index.html", "/assets"})
    EXPECT_FALSE(ask("GET", target)) << target;
  EXPECT_FALSE(ask("POST", "/"));
  EXPECT_FALSE(ask("DELETE", "/assets/a-1.js"));
}

// req: api.dashboard.2
TEST(HttpAssets, AreCompressedForThoseWhoTakeIt) {
  struct Case {
    std::string_view accept;
    bool gzip;
  };
  for (const Case& one : std::initializer_list<Case>{{"", false},
                                                     {"gzip", true},
                                                     {"GZIP", true},
                                                     {"deflate, gzip;q=0.5, br", true},
                                                     {"br", false},
                                                     {"gzip;q=0", false},
                                                     {"gzip;q=0.000", false},
                                                     {"gzip ; q=0, *", false},
                                                     {"*", true},
                                                     {"*;q=0", false},
                                                     {"identity, *;q=0", false},
                                                     {",,", false}}) {
    const auto response = ask("GET", "/assets/a-1.js", {{"accept-encoding", one.accept}});
    ASSERT_TRUE(response);
    EXPECT_EQ(response->body, one.gzip ? "zipped code" : "plain code") << one.accept;
    EXPECT_EQ(header(response, "Content-Encoding"), one.gzip ? "gzip" : "") << one.accept;
    EXPECT_EQ(header(response, "Vary"), "Accept-Encoding");
    EXPECT_EQ(header(response, "ETag"), one.gzip ? "\"code-gzip\"" : "\"code\"");
  }
}

// req: api.dashboard.3
TEST(HttpAssets, AreNotSentAgainToThoseWhoHaveThem) {
  EXPECT_EQ(header(ask("GET", "/"), "Cache-Control"), "no-cache");
  EXPECT_EQ(header(ask("GET", "/assets/a-1.js"), "Cache-Control"),
            "public, max-age=31536000, immutable");
  const auto status = [](std::string_view known, std::string_view encoding) {
    const auto response =
        ask("GET", "/", {{"if-none-match", known}, {"accept-encoding", encoding}});
    EXPECT_EQ(response->body.empty(), response->status == 304);
    EXPECT_EQ(header(response, "Content-Encoding").empty(), response->body != "zipped page");
    return response->status;
  };
  EXPECT_EQ(status("\"page\"", ""), 304);
  EXPECT_EQ(status("W/\"page\"", ""), 304);
  EXPECT_EQ(status("\"other\", \"page\"", ""), 304);
  EXPECT_EQ(status("*", ""), 304);
  EXPECT_EQ(status("\"page-gzip\"", "gzip"), 304);
  EXPECT_EQ(status("\"page\"", "gzip"), 200) << "the other bytes";
  EXPECT_EQ(status("\"other\"", ""), 200);
  EXPECT_EQ(status("page", ""), 200) << "a tag has quotes";
}

// req: api.dashboard.4
TEST(HttpAssets, AreBoundByAPolicyThatLetsNothingElseIn) {
  for (const std::string_view target : {"/", "/assets/a-1.js"}) {
    const auto response = ask("GET", target);
    const std::string policy = header(response, "Content-Security-Policy");
    EXPECT_TRUE(policy.starts_with("default-src 'none'; ")) << policy;
    for (const std::string_view bad : {"unsafe", "http:", "https:", "data:", "*"})
      EXPECT_EQ(policy.find(bad), std::string::npos) << bad;
    for (const std::string_view good :
         {"script-src 'self'", "frame-ancestors 'none'", "base-uri 'none'", "form-action 'none'"})
      EXPECT_NE(policy.find(good), std::string::npos) << good;
    EXPECT_EQ(header(response, "X-Content-Type-Options"), "nosniff");
    EXPECT_EQ(header(response, "Referrer-Policy"), "no-referrer");
  }
}

// req: api.dashboard.5
TEST(HttpAssets, SayWhereTheScreenWentWhenItWasNotBuilt) {
  const auto response = ask("GET", "/", {{"accept-encoding", "gzip"}}, {});
  ASSERT_TRUE(response);
  EXPECT_EQ(response->status, 200);
  EXPECT_NE(response->body.find(kWhy), std::string::npos);
  EXPECT_NE(response->body.find("npm"), std::string::npos);
  EXPECT_EQ(response->body.find("@WHY@"), std::string::npos);
  EXPECT_EQ(header(response, "Content-Encoding"), "");
  EXPECT_EQ(header(response, "Cache-Control"), "no-store");
  EXPECT_FALSE(header(response, "Content-Security-Policy").empty());
  EXPECT_FALSE(ask("GET", "/assets/a-1.js", {}, {}));
}

// What this build really has in it.
TEST(HttpAssets, OfThisBuildAreWholeOrSayWhyNot) {
  const std::span<const Asset> assets = web_assets();
  EXPECT_EQ(assets.empty(), !missing_why().empty());
  if (assets.empty()) GTEST_SKIP() << "the dashboard was left out: " << missing_why();
  std::size_t first_view = 0;
  const Asset* page = nullptr;
  for (const Asset& asset : assets) {
    EXPECT_TRUE(asset.path == "/" || asset.path.starts_with("/assets/")) << asset.path;
    EXPECT_FALSE(asset.plain.empty());
    EXPECT_TRUE(asset.gzip.starts_with("\x1f\x8b")) << asset.path;
    EXPECT_EQ(asset.lasting, asset.path != "/");
    first_view += asset.gzip.size();
    if (asset.path == "/") page = &asset;
  }
  EXPECT_LE(first_view, 150u * 1024u);
  ASSERT_NE(page, nullptr);
  EXPECT_EQ(page->plain.find("style="), std::string_view::npos) << "the policy forbids it";
  for (const Asset& asset : assets) {
    if (!asset.lasting) continue;
    EXPECT_NE(page->plain.find(asset.path), std::string_view::npos) << asset.path;
  }
}

class DashboardApi : public ApiRig {
 protected:
  void SetUp() override {
    options.tokens = {{.name = "r", .tenant = "t", .secret = "token-read", .may_read = true}};
    open();
  }
};

// req: api.dashboard.1
TEST_F(DashboardApi, NeedsNoTokenButItsDataDoes) {
  const auto page = send({"GET", "/"});
  ASSERT_TRUE(page->response);
  EXPECT_EQ(page->response->status, 200);
  EXPECT_TRUE(page->response->content_type.starts_with("text/html"));
  EXPECT_EQ(get("/v1/stats").status, 401);
  EXPECT_EQ(get("/assets/none.js").problem(), "unknown-path");
}

TEST_F(DashboardApi, GoesThroughTheRealServer) {
  HttpRig wire;
  wire.handler = handler;
  wire.start();
  const auto client = wire.connect();
  std::optional<HttpReply> reply;
  ASSERT_TRUE(client->send("GET / HTTP/1.1\r\nhost: localhost\r\n\r\n"));
  EXPECT_TRUE(wire.pump_until([&] {
    client->receive();
    reply = take_reply(client->received);
    return reply.has_value();
  }));
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->status, 200);
  EXPECT_TRUE(reply->header("Content-Security-Policy").starts_with("default-src 'none'"));
}

}  // namespace
}  // namespace postrider::api
