// Destinations over the API, and that no secret ever comes out again.
#include <algorithm>

#include <boost/json.hpp>

#include "postrider/api/http_api_testing.h"
#include "postrider/protocols/web/http_text.h"

namespace postrider::api {
namespace {

constexpr std::string_view kSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
constexpr std::string_view kOther = "whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";

class ApiDestinations : public ApiRig {
 protected:
  static std::string config(const std::string& settings) {
    return R"({"profile":"webhook","settings":{)" + settings + "}}";
  }
};

TEST_F(ApiDestinations, ArePutChangedAndShown) {
  const std::string path = "/v1/destinations/shop";
  Reply reply = put(path, config(R"("url":"https://shop.example/hook","in_flight_max":3)"));
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.text("detail"), "created");
  EXPECT_EQ(
      put(path, config(R"("url":"https://shop.example/hook","in_flight_max":"3")")).text("answer"),
      "nothing")
      << "a number may be written as a text";
  EXPECT_EQ(
      put(path, config(R"("url":"https://shop.example/new","headers":{"X-A":"b"})")).text("detail"),
      "changed");
  reply = get(path);
  EXPECT_EQ(reply.text("name"), "shop");
  EXPECT_EQ(reply.text("profile"), "webhook");
  EXPECT_EQ(reply.text("health"), "normal");
  EXPECT_EQ(reply.text("settings"), R"({"url":"https://shop.example/new","headers.X-A":"b"})");
  EXPECT_EQ(to_string(host->ids().parse(submit("shop"))->destination()),
            reply.text("destination_id"));
}

// req: api.strict.2
TEST_F(ApiDestinations, RefuseWrongSettingsByName) {
  struct Case {
    std::string body;
    std::string problem;
    std::string says;
  };
  for (const Case& one : std::initializer_list<Case>{
           {config(R"("url":"https://a.example/","lader":"5s")"), "invalid-content",
            "did you mean 'ladder'?"},
           {config(R"("url":"https://a.example/","in_flight_max":0)"), "invalid-content",
            "in_flight_max"},
           {config(R"("url":"https://a.example/","in_flight_max":1.5)"), "invalid-content",
            "not a whole number"},
           {config(R"("url":"ftp://a.example/")"), "invalid-content", "url"},
           {config(""), "invalid-content", "url is missing"},
           {config(R"("url":["a"])"), "invalid-field", "a setting is a text"},
           {config(R"("url":null)"), "invalid-field", "a setting is a text"},
           {config(R"("url":"https://a.example/","headers":{"a":{}})"), "invalid-field",
            "a setting is a text"},
           {R"({"profile":"webhok","settings":{}})", "invalid-content", "webhook"},
           {R"({"profile":"webhook"})", "missing-field", "settings"},
           {R"({"settings":{}})", "missing-field", "profile"},
           {R"({"profile":"webhook","settings":[]})", "invalid-field", "settings"},
           {R"({"profile":"webhook","setings":{}})", "unknown-field", "did you mean 'settings'?"},
           {R"({"profile":1,"settings":{}})", "invalid-field", "profile"}}) {
    const Reply reply = put("/v1/destinations/a", one.body);
    EXPECT_EQ(reply.problem(), one.problem) << one.body << reply.body;
    EXPECT_NE(reply.text("detail").find(one.says), std::string::npos) << reply.body;
  }
  EXPECT_EQ(get("/v1/destinations/a").status, 404);
}

TEST_F(ApiDestinations, HaveNamesThatNeedNoQuotes) {
  const std::string good = config(R"("url":"https://a.example/")");
  for (const std::string& name :
       {std::string("a"), std::string("A.b_c-d:8448@x+y=z~"), std::string(255, 'n'),
        std::string("matrix:[2001:db8::1]:8448"), std::string("matrix:*")})
    EXPECT_EQ(put("/v1/destinations/" + name, good).status, 200) << name;
  for (const std::string& name :
       {std::string("-a"), std::string("a%20b"), std::string("a%2Fb"), std::string("%C3%A9"),
        std::string(256, 'n'), std::string("*"), std::string("a*b"), std::string("a%00")})
    EXPECT_EQ(put("/v1/destinations/" + name, good).problem(), "invalid-parameter") << name;
  EXPECT_EQ(put("/v1/destinations/a%2", good).problem(), "bad-request");
  EXPECT_EQ(get("/v1/destinations/%61").text("name"), "a") << "encoded or not";
}

// req: api.secrets.1
TEST_F(ApiDestinations, NeverShowSecretsAgain) {
  const std::string two = std::string(kSecret) + " " + std::string(kOther);
  ASSERT_EQ(
      put("/v1/destinations/shop",
          config(
              R"("url":"https://shop.example/hook","secret":")" + two +
              R"(","headers":{"Authorization":"Bearer planted-7316","X-Api-Key":"planted-7317","X-Plain":"seen"})"))
          .status,
      200);
  Reply reply = get("/v1/destinations/shop");
  EXPECT_EQ(reply.json().at("settings").at("secret").as_string(), "***");
  EXPECT_EQ(reply.json().at("settings").at("headers.Authorization").as_string(), "***");
  EXPECT_EQ(reply.json().at("settings").at("headers.X-Plain").as_string(), "seen");
  EXPECT_EQ(reply.number("secrets"), 2);
  EXPECT_EQ(reply.number("hidden_settings"), 3);

  const std::string id =
      post(
          "/v1/messages",
          R"({"destination":"shop","body":"b","attributes":{"header.authorization":"planted-7318"}})")
          .text("id");
  get("/v1/messages/" + id);
  answer_last(400);
  get("/v1/dead-letters/" + id + "?body=true");
  get("/v1/dead-letters");
  get("/v1/destinations");
  get("/v1/stats");
  get("/metrics");
  get("/v1/messages/" + id + "/timeline");
  patch("/v1/destinations/shop/limits", R"({"rate":5})");
  // Broken ones, which the error must not repeat either; and a key that was used for another.
  put("/v1/destinations/shop",
      config(R"("url":"https://a.example/","secret":"whsec_planted!7319")"));
  put("/v1/destinations/shop",
      config(R"("url":"https://a.example/","headers":{"authorization":"planted-7320\n"})"));
  put("/v1/destinations/shop", config(R"("url":"https://a.example/","secret":["planted-7321"])"));
  const RigHeaders key = {{"idempotency-key", "k"}};
  put("/v1/destinations/key", config(R"("url":"https://a.example/","secret":")" + two + "\""), key);
  EXPECT_EQ(
      put("/v1/destinations/key",
          config(R"("url":"https://a.example/","secret":")" + std::string(kOther) + "\""), key)
          .problem(),
      "key-conflict");
  get("/v1/operations/k");
  for (const std::string_view planted :
       {kSecret.substr(6), kOther.substr(6), std::string_view("planted")})
    EXPECT_EQ(everything_said.find(planted), std::string::npos) << planted;
}

TEST_F(ApiDestinations, RefuseTheMaskAsASecret) {
  const Reply reply =
      put("/v1/destinations/shop", config(R"("url":"https://a.example/","secret":"***")"));
  EXPECT_EQ(reply.problem(), "invalid-field");
  EXPECT_EQ(reply.text("field"), "settings.secret");
}

TEST_F(ApiDestinations, ArePausedResumedAndWoken) {
  make_destination("shop");
  EXPECT_EQ(post("/v1/destinations/shop/pause", R"({"reason":"moving house"})").text("answer"),
            "done");
  Reply reply = get("/v1/destinations/shop");
  EXPECT_EQ(reply.text("health"), "paused");
  EXPECT_EQ(reply.text("reason"), "moving house");
  submit("shop");
  EXPECT_TRUE(transport.started.empty());
  EXPECT_EQ(post("/v1/destinations/shop/pause").text("answer"), "nothing");
  EXPECT_EQ(post("/v1/destinations/shop/resume").text("answer"), "done");
  EXPECT_EQ(transport.started.size(), 1U);
  EXPECT_EQ(post("/v1/destinations/shop/wake").text("answer"), "nothing");
  EXPECT_EQ(post("/v1/destinations/shop/seen").text("answer"), "nothing");
  for (const std::string_view verb : {"pause", "resume", "wake", "seen", "test"})
    EXPECT_EQ(post("/v1/destinations/nowhere/" + std::string(verb)).problem(), "not-found") << verb;
  EXPECT_EQ(post("/v1/destinations/shop/pause", R"({"reson":"x"})").problem(), "unknown-field");
  EXPECT_EQ(post("/v1/destinations/shop/pause", R"({"reason":"a\nb"})").problem(), "invalid-field");
  const std::string longest(200, 'x');
  EXPECT_EQ(post("/v1/destinations/shop/pause", R"({"reason":")" + longest + "\"}").status, 200);
  EXPECT_EQ(post("/v1/destinations/shop/pause", R"({"reason":")" + longest + "x\"}").problem(),
            "invalid-field");
  EXPECT_EQ(post("/v1/destinations/shop/resume", "{}").problem(), "invalid-content");
}

// req: api.limits.1
TEST_F(ApiDestinations, HaveLimitsThatAreChangedAlone) {
  make_destination("shop", R"(,"secret":")" + std::string(kSecret) + R"(","rate":7)");
  EXPECT_EQ(
      patch("/v1/destinations/shop/limits", R"({"in_flight_max":2,"rate":null})").text("detail"),
      "changed");
  Reply reply = get("/v1/destinations/shop");
  const auto settings = reply.json().at("settings").as_object();
  EXPECT_EQ(settings.at("in_flight_max").as_string(), "2");
  EXPECT_FALSE(settings.contains("rate")) << "null is the default again";
  EXPECT_EQ(settings.at("url").as_string(), "https://shop.example/hook");
  EXPECT_EQ(reply.number("secrets"), 1) << "the secret stays";
  for (int i = 0; i < 3; ++i) submit("shop");
  EXPECT_EQ(transport.started.size(), 2U) << "and holds at once";

  EXPECT_EQ(patch("/v1/destinations/shop/limits", R"({"in_flight_max":0})").problem(),
            "invalid-content");
  EXPECT_EQ(patch("/v1/destinations/shop/limits", R"({"in_flight_mx":1})").text("suggestion"),
            "in_flight_max");
  EXPECT_EQ(patch("/v1/destinations/shop/limits", R"({"secret":"x"})").problem(), "unknown-field");
  EXPECT_EQ(patch("/v1/destinations/shop/limits", R"({"rate":""})").problem(), "invalid-field");
  EXPECT_EQ(patch("/v1/destinations/shop/limits", "{}").problem(), "missing-field");
  EXPECT_EQ(patch("/v1/destinations/nowhere/limits", R"({"rate":1})").problem(), "not-found");
}

// req: api.rotate.1, api.secrets.1
TEST_F(ApiDestinations, RotateTheirSecretAndKeepTheOldOneForAWhile) {
  make_destination("shop", R"(,"secret":")" + std::string(kSecret) + R"(","rate":7)");
  const auto signatures = [&] {
    const std::string id = submit("shop");
    const std::string value(transport.started.back().request.headers.find("webhook-signature"));
    answer_last(200);
    return std::count(value.begin(), value.end(), ' ') + 1;
  };
  const std::string body = R"({"secret":")" + std::string(kOther) + R"(","overlap":"1h"})";
  const RigHeaders key = {{"idempotency-key", "k"}};
  EXPECT_EQ(signatures(), 1);
  EXPECT_FALSE(get("/v1/destinations/shop").json().as_object().contains("old_secret_until"));
  EXPECT_EQ(post("/v1/destinations/shop/rotate", body, key).text("answer"), "done");
  Reply reply = get("/v1/destinations/shop");
  EXPECT_EQ(reply.number("secrets"), 2);
  EXPECT_EQ(reply.text("old_secret_until"), to_rfc3339(clock.read().wall + 1h));
  EXPECT_EQ(reply.json().at("settings").at("rate").as_string(), "7") << "the others stay";
  EXPECT_EQ(signatures(), 2);

  // The same key: the same answer, although the secret is in use by now.
  reply = post("/v1/destinations/shop/rotate", body, key);
  EXPECT_EQ(reply.text("answer"), "done");
  EXPECT_EQ(reply.header("Idempotency-Replayed"), "true");
  EXPECT_EQ(get("/v1/destinations/shop").number("secrets"), 2);
  const RigHeaders other = {{"idempotency-key", "k2"}};
  for (const RigHeaders& headers : {RigHeaders(), other}) {
    reply = post("/v1/destinations/shop/rotate", body, headers);
    EXPECT_EQ(reply.problem(), "invalid-field") << reply.body;
    EXPECT_NE(reply.text("detail").find("in use"), std::string::npos) << reply.body;
  }

  pass(1h);
  EXPECT_EQ(signatures(), 1) << "the overlap is over";
  EXPECT_EQ(get("/v1/destinations/shop").number("secrets"), 2) << "until the next rotation";
  EXPECT_EQ(post("/v1/destinations/shop/rotate",
                 R"({"secret":"whsec_BBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBB","overlap":"0s"})")
                .text("answer"),
            "done");
  EXPECT_EQ(get("/v1/destinations/shop").number("secrets"), 1);
  EXPECT_EQ(everything_said.find(kOther.substr(6)), std::string::npos);
}

// req: api.rotate.2
TEST_F(ApiDestinations, RefuseARotationThatAnotherChangeOvertook) {
  make_destination("shop", R"(,"secret":")" + std::string(kSecret) + "\"");
  const std::string path = "/v1/destinations/shop/rotate";
  const std::string third = "whsec_BBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBB";
  const RigRequest first{"POST", path, R"({"secret":")" + std::string(kOther) + "\"}"};
  const RigRequest second{"POST", path, R"({"secret":")" + third + "\"}"};
  const auto one = send(first);
  const auto two = send(second);
  settle();
  EXPECT_EQ(reply_of(first, *one).text("answer"), "done");
  const Reply refused = reply_of(second, *two);
  EXPECT_EQ(refused.status, 409);
  EXPECT_EQ(refused.problem(), "changed-meanwhile");
  EXPECT_EQ(get("/v1/destinations/shop").number("secrets"), 2);
  EXPECT_EQ(post(path, second.body).text("answer"), "done") << "it may be asked for again";
  EXPECT_EQ(get("/v1/destinations/shop").number("secrets"), 3);

  // The settings are put again while a rotation is under way.
  const RigRequest fourth{"POST", path, R"({"secret":"whsec_CCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCC"})"};
  const auto late = send(fourth);
  make_destination("shop", R"(,"secret":")" + third + "\"");
  EXPECT_EQ(reply_of(fourth, *late).problem(), "changed-meanwhile");
  EXPECT_EQ(get("/v1/destinations/shop").number("secrets"), 1);
}

// req: api.rotate.1
TEST_F(ApiDestinations, RefuseRotationsThatMakeNoSense) {
  make_destination("shop");
  make_destination("body", R"(,"secret":"x","signature":"hmac-sha256-body")");
  const std::string good = R"({"secret":")" + std::string(kOther) + "\"}";
  struct Case {
    std::string name;
    std::string body;
    std::string problem;
  };
  for (const Case& one : std::initializer_list<Case>{
           {"nowhere", good, "not-found"},
           {"body", good, "invalid-content"},
           {"shop", "{}", "missing-field"},
           {"shop", R"({"secret":"whsec_planted!"})", "invalid-field"},
           {"shop", R"({"secret":")" + std::string(kOther) + R"(","overlap":"366d"})",
            "invalid-field"},
           {"shop", R"({"secret":")" + std::string(kOther) + R"(","overlap":"soon"})",
            "invalid-field"},
           {"shop", R"({"secert":"x"})", "unknown-field"}}) {
    const Reply reply = post("/v1/destinations/" + one.name + "/rotate", one.body);
    EXPECT_EQ(reply.problem(), one.problem) << one.name << one.body << reply.body;
  }
  EXPECT_EQ(everything_said.find("planted"), std::string::npos);
  EXPECT_EQ(post("/v1/destinations/shop/rotate", good).text("answer"), "done")
      << "the first secret";
  EXPECT_EQ(get("/v1/destinations/shop").number("secrets"), 1);
}

TEST_F(ApiDestinations, AreTestedWithASmallSignedMessage) {
  make_destination("shop", R"(,"secret":")" + std::string(kSecret) + "\"");
  const Reply reply = post("/v1/destinations/shop/test");
  EXPECT_EQ(reply.status, 202);
  ASSERT_EQ(transport.started.size(), 1U);
  const WireRequest& request = transport.started[0].request;
  EXPECT_EQ(request.body, R"({"type":"postrider.test","data":{"destination":"shop"}})");
  EXPECT_EQ(request.headers.find("webhook-id"), reply.text("id"));
  EXPECT_TRUE(request.headers.find("webhook-signature").starts_with("v1,"));
}

// req: api.list.2
TEST_F(ApiDestinations, AreListedPageByPageAndFiltered) {
  for (int i = 0; i < 12; ++i)
    make_destination((i % 3 == 0 ? "odd-" : "even-") + std::to_string(i));
  post("/v1/destinations/odd-3/pause");
  for (const int limit : {1, 5, 12, 100}) {
    std::vector<std::string> names;
    std::string cursor;
    do {
      const Reply reply = get("/v1/destinations?limit=" + std::to_string(limit) + cursor);
      const auto page = reply.json();
      for (const auto& one : page.at("destinations").as_array())
        names.emplace_back(one.at("name").as_string());
      cursor = reply.has("next") ? "&cursor=" + reply.text("next") : "";
    } while (!cursor.empty());
    std::sort(names.begin(), names.end());
    EXPECT_EQ(std::unique(names.begin(), names.end()), names.end());
    EXPECT_EQ(names.size(), 12U);
  }
  const auto count = [&](const std::string& query) {
    return get("/v1/destinations?" + query).json().at("destinations").as_array().size();
  };
  EXPECT_EQ(count("prefix=odd-"), 4U);
  EXPECT_EQ(count("health=paused"), 1U);
  EXPECT_EQ(count("health=normal&prefix=odd-"), 3U);
  EXPECT_EQ(get("/v1/destinations?health=ill").problem(), "invalid-parameter");
  EXPECT_EQ(get("/v1/destinations?cursor=AAAA").problem(), "invalid-content");
}

// req: api.remove.1
TEST_F(ApiDestinations, AreNotRemovedWhileTheyHaveMessages) {
  make_destination("shop");
  submit("shop");
  const Reply reply = remove("/v1/destinations/shop");
  EXPECT_EQ(reply.status, 409);
  EXPECT_EQ(reply.problem(), "destination-not-empty");
  EXPECT_NE(reply.text("detail").find("?drain=true"), std::string::npos);
  answer_last(200);
  EXPECT_EQ(remove("/v1/destinations/shop").text("answer"), "done");
  EXPECT_EQ(remove("/v1/destinations/shop").problem(), "not-found");
  EXPECT_EQ(remove("/v1/destinations/shop?drain=maybe").problem(), "invalid-parameter");
}

// req: api.remove.2
TEST_F(ApiDestinations, AreDrainedOnRequest) {
  make_destination("shop");
  submit("shop");
  const RigHeaders key = {{"idempotency-key", "away"}};
  Reply reply = remove("/v1/destinations/shop?drain=true", key);
  EXPECT_EQ(reply.status, 202);
  EXPECT_EQ(reply.text("answer"), "pending");
  EXPECT_EQ(get("/v1/destinations/shop").text("draining"), "true");
  EXPECT_EQ(post("/v1/messages", R"({"destination":"shop","body":1})").problem(),
            "destination-disabled");
  EXPECT_EQ(post("/v1/destinations/shop/test").problem(), "destination-disabled");
  pass(2s);
  EXPECT_EQ(get("/v1/destinations/shop").status, 200) << "its message has not ended";
  answer_last(200);
  pass(2s);
  EXPECT_EQ(get("/v1/destinations/shop").status, 404);
  reply = remove("/v1/destinations/shop?drain=true", key);
  EXPECT_EQ(reply.status, 202) << "a repeat hears what it heard then";
  EXPECT_EQ(reply.header("Idempotency-Replayed"), "true");
}

TEST_F(ApiDestinations, AreKeptWhenTheyArePutAgainWhileDraining) {
  make_destination("shop");
  submit("shop");
  EXPECT_EQ(remove("/v1/destinations/shop?drain=true").status, 202);
  make_destination("shop", R"(,"rate":9)");
  answer_last(200);
  pass(5s);
  EXPECT_EQ(get("/v1/destinations/shop").text("draining"), "false");
  EXPECT_EQ(remove("/v1/destinations/shop?drain=true").status, 200) << "nothing to wait for";
}

TEST_F(ApiDestinations, TakeNoMessagesWhileDisabled) {
  make_destination("shop");
  submit("shop");
  answer_last(410);
  EXPECT_EQ(get("/v1/destinations/shop").text("health"), "disabled");
  EXPECT_EQ(post("/v1/messages", R"({"destination":"shop","body":1})").problem(),
            "destination-disabled");
}

}  // namespace
}  // namespace postrider::api
