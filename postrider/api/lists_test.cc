// Messages to a list of destinations, and templates, over HTTP.
#include <boost/json.hpp>

#include "postrider/api/http_api_testing.h"

namespace postrider::api {
namespace {

class ApiLists : public ApiRig {
 protected:
  static std::string names(const Reply& reply) {
    std::string out;
    const boost::json::value answer = reply.json();
    for (const auto& member : answer.at("members").as_array())
      out += std::string(member.at("destination").as_string()) + " ";
    return out;
  }
  void make_template() {
    const Reply made = put("/v1/destinations/hook:*",
                           R"({"profile":"webhook","settings":{"url":"http://127.0.0.1/x"}})");
    ASSERT_EQ(made.status, 200) << made.body;
  }
};

// req: engine.list.1, engine.list.2
TEST_F(ApiLists, AreServedAsAWholeAndMakeWhatIsNotThere) {
  make_destination("shop");
  make_template();
  const Reply sent = post("/v1/messages", R"({"to":["shop","hook:a","hook:b"],"body":"x"})");
  ASSERT_EQ(sent.status, 202) << sent.body;
  EXPECT_EQ(names(sent), "shop hook:a hook:b ");
  EXPECT_EQ(sent.json().at("parts"), 1);
  const Reply made = get("/v1/destinations/hook:a");
  EXPECT_EQ(made.text("like"), "hook:*");
  EXPECT_EQ(made.text("profile"), "webhook");
  EXPECT_EQ(post("/v1/messages", R"({"to":["shop","nobody"],"body":"x"})").problem(), "not-found");
  const Reply skips =
      post("/v1/messages", R"({"to":["shop","nobody"],"skip_closed":true,"body":"x"})");
  EXPECT_EQ(names(skips), "shop ");
  EXPECT_EQ(skips.json().at("skipped").at(0), "nobody");
}

// req: engine.list.3
TEST_F(ApiLists, SayWhatIsWrongWithThem) {
  make_destination("shop");
  const auto bad = [&](const std::string& body) { return post("/v1/messages", body).problem(); };
  EXPECT_EQ(bad(R"({"to":[],"body":"x"})"), "invalid-field");
  EXPECT_EQ(bad(R"({"to":"shop","body":"x"})"), "invalid-field");
  EXPECT_EQ(bad(R"({"to":[1],"body":"x"})"), "invalid-field");
  EXPECT_EQ(bad(R"({"to":["a b"],"body":"x"})"), "invalid-field");
  EXPECT_EQ(bad(R"({"to":["hook:*"],"body":"x"})"), "invalid-field");
  EXPECT_EQ(bad(R"({"to":["shop","shop"],"body":"x"})"), "invalid-field");
  EXPECT_EQ(bad(R"({"to":["shop"],"destination":"shop","body":"x"})"), "invalid-field");
  EXPECT_EQ(bad(R"({"destination":"shop","skip_closed":true,"body":"x"})"), "invalid-field");
  EXPECT_EQ(bad(R"({"to":["shop"],"skip_closed":1,"body":"x"})"), "invalid-field");
  EXPECT_EQ(bad(R"({"to":["shop"]})"), "missing-field");
}

// req: engine.list.5
TEST_F(ApiLists, AreCutIntoPartsThatARepeatCompletes) {
  make_template();
  std::string many;
  for (int i = 0; i < 2001; ++i) {
    many += (i == 0 ? "\"hook:" : ",\"hook:") + std::to_string(i) + "\"";
  }
  const std::string body = R"({"body":"x","to":[)" + many + "]}";
  const Reply sent = post("/v1/messages", body, {{"idempotency-key", "k"}});
  ASSERT_EQ(sent.status, 202) << sent.body;
  EXPECT_EQ(sent.json().at("parts"), 3);
  EXPECT_EQ(sent.json().at("members").as_array().size(), 2001U);
  const Reply again = post("/v1/messages", body, {{"idempotency-key", "k"}});
  EXPECT_EQ(again.body, sent.body);
  EXPECT_EQ(again.header("Idempotency-Replayed"), "true");
  EXPECT_EQ(get("/v1/operations/k%232").status, 200);
  const std::string broken = R"({"body":"x","to":[)" + many + R"(,"nobody"]})";
  const Reply partly = post("/v1/messages", broken, {{"idempotency-key", "p"}});
  EXPECT_EQ(partly.problem(), "not-found");
  EXPECT_NE(partly.body.find("the first 2000 destinations of the list are done"), std::string::npos)
      << partly.body;
  make_destination("nobody");
  const Reply rest = post("/v1/messages", broken, {{"idempotency-key", "p"}});
  EXPECT_EQ(rest.status, 202) << rest.body;
  EXPECT_EQ(rest.json().at("members").as_array().size(), 2002U);
}

// req: engine.template.5, engine.template.6, engine.template.8
TEST_F(ApiLists, TemplatesArePutShownListedAndRemoved) {
  make_template();
  const Reply shown = get("/v1/destinations/hook:*");
  EXPECT_EQ(shown.json().at("template"), true);
  EXPECT_EQ(shown.json().as_object().contains("destination_id"), false);
  EXPECT_EQ(post("/v1/messages", R"({"destination":"hook:a","body":"x"})").status, 202);
  EXPECT_EQ(post("/v1/messages", R"({"destination":"hook:*","body":"x"})").status, 400);
  const Reply list = get("/v1/destinations");
  EXPECT_EQ(list.json().at("destinations").at(0).at("name"), "hook:*");
  EXPECT_EQ(list.json().at("destinations").at(1).at("name"), "hook:a");
  EXPECT_EQ(call({"DELETE", "/v1/destinations/hook:*"}).status, 409);
  EXPECT_EQ(put("/v1/destinations/hook:a", R"({"like":"hook:*","settings":{"rate":7}})").status,
            200);
  EXPECT_EQ(get("/v1/destinations/hook:a").json().at("settings").at("rate"), "7");
  EXPECT_EQ(put("/v1/destinations/hook:a", R"({"like":"hook"})").problem(), "invalid-field");
  EXPECT_EQ(put("/v1/destinations/hook:a", "{}").problem(), "missing-field");
}

// A door whose protocol has large and deep requests.
class LargeDoor final : public HttpDoor {
 public:
  std::span<const RouteRow> routes() const override { return kRows; }
  OpenapiPart openapi() const override { return {.paths = kPaths}; }
  void open(Desk& desk) override { desk_ = &desk; }
  void handle(std::size_t route, Call& call) override {
    const auto root = desk_->root_of(call);
    if (!root) return desk_->refuse(call.waiting, root.error());
    HttpResponse response;
    response.body = "{\"route\":" + std::to_string(route) + "}";
    desk_->finish(call.waiting, std::move(response));
  }

 private:
  static constexpr std::string_view kPaths =
      R"("/v1/large": {"put": {"operationId": "putLarge", "responses": {
           "200": {"description": "Taken", "content": {"application/json": {"schema": {"type": "object"}}}},
           "default": {"$ref": "#/components/responses/Problem"}}}},
         "/v1/usual": {"put": {"operationId": "putUsual", "responses": {
           "200": {"description": "Taken", "content": {"application/json": {"schema": {"type": "object"}}}},
           "default": {"$ref": "#/components/responses/Problem"}}}})";
  static constexpr auto kRows = std::to_array<RouteRow>(
      {{"PUT", "/v1/large", kSubmit, Takes::kJson, true, "application/json", "", Errors::kProblem,
        kLargeBodyBytesMax, kDeepJsonMax},
       {"PUT", "/v1/usual", kSubmit, Takes::kJson, true, "application/json", ""}});
  Desk* desk_ = nullptr;
};

std::string deep(std::size_t levels) {
  std::string text = R"({"a":)";
  for (std::size_t i = 1; i < levels; ++i) text += "[";
  for (std::size_t i = 1; i < levels; ++i) text += "]";
  return text + "}";
}

// req: engine.limit.large.1
TEST_F(ApiLists, ADoorMayTakeWhatIsLargerAndDeeper) {
  ASSERT_EQ(kLargeBodyBytesMax, 13'107'200U);
  options.doors.push_back(std::make_shared<LargeDoor>());
  open();
  for (const std::size_t levels : {99U, 100U})
    EXPECT_EQ(put("/v1/large", deep(levels)).status, 200) << levels;
  EXPECT_EQ(put("/v1/large", deep(101)).status, 413);
  EXPECT_EQ(put("/v1/usual", deep(32)).status, 200);
  EXPECT_EQ(put("/v1/usual", deep(33)).status, 413);
  HttpRequest request;
  request.method = "PUT";
  request.target = "/v1/large";
  EXPECT_EQ(handler.body_bytes_max(request), kLargeBodyBytesMax);
  request.target = "/v1/usual";
  EXPECT_EQ(handler.body_bytes_max(request), 0U);
  request.target = "/nowhere";
  EXPECT_EQ(handler.body_bytes_max(request), 0U);
}

}  // namespace
}  // namespace postrider::api
