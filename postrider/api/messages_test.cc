// Messages over the API: submitting, looking, listing, cancelling, retrying; dead letters.
#include <set>

#include <boost/json.hpp>

#include "postrider/api/http_api_testing.h"
#include "postrider/model/attributes.h"

namespace postrider::api {
namespace {

class ApiMessages : public ApiRig {
 protected:
  void SetUp() override {
    ApiRig::SetUp();
    make_destination("shop");
  }
  // The request that delivers a message with these fields.
  const WireRequest& sent(const std::string& fields) {
    const Reply reply = post("/v1/messages", R"({"destination":"shop",)" + fields + "}");
    EXPECT_EQ(reply.status, 202) << reply.body;
    return transport.started.back().request;
  }
};

// req: api.messages.1
TEST_F(ApiMessages, AcceptsAfterTheSyncAndNotBefore) {
  store.held = true;
  const RigRequest request{"POST", "/v1/messages", R"({"destination":"shop","body":"hello"})"};
  const auto exchange = send(request);
  settle();
  EXPECT_FALSE(exchange->response.has_value());
  EXPECT_TRUE(transport.started.empty());
  store.release();
  settle();
  const Reply reply = reply_of(request, *exchange);
  EXPECT_EQ(reply.status, 202);
  EXPECT_EQ(reply.text("destination"), "shop");
  EXPECT_EQ(reply.text("durability"), "synced");
  EXPECT_EQ(reply.text("id").size(), 32U);
}

// req: api.messages.2
TEST_F(ApiMessages, SendsATextAsItIsAndOtherValuesAsCompactJson) {
  EXPECT_EQ(sent(R"("body":"a\n\u00e9")").body, "a\n\xC3\xA9");
  EXPECT_EQ(sent(R"("body":{ "a" : [1.50, "x y"] })").body, R"({"a":[1.50,"x y"]})");
  EXPECT_EQ(sent(R"("body":null)").body, "null");
  EXPECT_EQ(sent(R"("body":12)").body, "12");
  EXPECT_EQ(sent(R"("body":"")").body, "");
  EXPECT_EQ(sent(R"("body_base64":"AAH/")").body, std::string("\0\1\xFF", 3));
}

// req: api.messages.4
TEST_F(ApiMessages, TakesAttributesByTheNamesOfTheProfile) {
  const WireRequest& request =
      sent(R"("body":"x","attributes":{"content-type":"text/plain","header.x-one":"1",)"
           R"("event-id":"e-1"})");
  EXPECT_EQ(request.headers.find("content-type"), "text/plain");
  EXPECT_EQ(request.headers.find("x-one"), "1");
  EXPECT_EQ(sent(R"("body":"x","attributes":{})").body, "x");
}

TEST_F(ApiMessages, WaitsForADelayOrATime) {
  post("/v1/messages", R"({"destination":"shop","body":1,"delay":"10s"})");
  post("/v1/messages", R"({"destination":"shop","body":2,"not_before":"2027-01-15T08:00:20Z"})");
  EXPECT_TRUE(transport.started.empty());
  pass(10s);
  ASSERT_EQ(transport.started.size(), 1U);
  EXPECT_EQ(transport.started[0].request.body, "1");
  pass(10s);
  ASSERT_EQ(transport.started.size(), 2U);
}

TEST_F(ApiMessages, ExpiresInADurationOrAtATime) {
  post("/v1/destinations/shop/pause");
  const std::string a =
      post("/v1/messages", R"({"destination":"shop","body":1,"expires_in":"10s"})").text("id");
  const std::string b =
      post("/v1/messages", R"({"destination":"shop","body":1,"expires_at":"2027-01-15T08:00:10Z"})")
          .text("id");
  EXPECT_EQ(get("/v1/messages/" + a).text("expires_at"), "2027-01-15T08:00:10.000Z");
  pass(10s);
  EXPECT_EQ(get("/v1/messages/" + a).text("phase"), "expired");
  EXPECT_EQ(get("/v1/messages/" + b).text("phase"), "expired");
}

TEST_F(ApiMessages, KeepsLaneAndPriority) {
  post("/v1/destinations/shop/pause");
  const std::string id =
      post("/v1/messages", R"({"destination":"shop","body":1,"lane":15,"priority":65535})")
          .text("id");
  const Reply reply = get("/v1/messages/" + id);
  EXPECT_EQ(reply.number("lane"), 15);
  EXPECT_EQ(reply.number("priority"), 65535);
}

struct BadBody {
  std::string_view json;
  std::string_view problem;
  std::string_view field;
};

// req: api.strict.1
TEST_F(ApiMessages, RefusesBodiesThatAreNotExactlyRight) {
  for (
      const BadBody& bad : std::initializer_list<BadBody>{
          {R"({"destination":"shop","body":1)", "malformed-json", ""},
          {R"({"destination":"shop","body":1,})", "malformed-json", ""},
          {"{\"destination\":\"shop\",\"body\":\"\xFF\"}", "malformed-json", ""},
          {R"({"destination":"shop","body":1,"body":2})", "duplicate-field", ""},
          {R"({"destination":"shop","body":{"a":1,"a":2}})", "duplicate-field", ""},
          {R"({"destination":"shop","bdoy":1})", "unknown-field", "bdoy"},
          {R"({"destination":"shop","body":1,"idempotency_key":"x"})", "unknown-field",
           "idempotency_key"},
          {R"([1])", "invalid-content", ""},
          {R"({"body":1})", "missing-field", "destination"},
          {R"({"destination":"shop"})", "missing-field", "body"},
          {R"({"destination":1,"body":1})", "invalid-field", "destination"},
          {R"({"destination":"","body":1})", "invalid-field", "destination"},
          {R"({"destination":"shop","body":1,"body_base64":"AA=="})", "invalid-field",
           "body_base64"},
          {R"({"destination":"shop","body_base64":"A"})", "invalid-field", "body_base64"},
          {R"({"destination":"shop","body":1,"lane":16})", "invalid-field", "lane"},
          {R"({"destination":"shop","body":1,"lane":-1})", "invalid-field", "lane"},
          {R"({"destination":"shop","body":1,"lane":1.0})", "invalid-field", "lane"},
          {R"({"destination":"shop","body":1,"lane":"1"})", "invalid-field", "lane"},
          {R"({"destination":"shop","body":1,"priority":65536})", "invalid-field", "priority"},
          {R"({"destination":"shop","body":1,"delay":5})", "invalid-field", "delay"},
          {R"({"destination":"shop","body":1,"delay":"5"})", "invalid-field", "delay"},
          {R"({"destination":"shop","body":1,"delay":"5s","not_before":"2027-01-15T08:00:20Z"})",
           "invalid-field", "delay"},
          {R"({"destination":"shop","body":1,"not_before":"tomorrow"})", "invalid-field",
           "not_before"},
          {R"({"destination":"shop","body":1,"expires_in":"0"})", "invalid-field", "expires_in"},
          {R"({"destination":"shop","body":1,"expires_in":"5s","expires_at":"2027-01-15T08:00:20Z"})",
           "invalid-field", "expires_in"},
          {R"({"destination":"shop","body":1,"expires_at":"2020-01-01T00:00:00Z"})",
           "invalid-content", ""},
          {R"({"destination":"shop","body":1,"attributes":[]})", "invalid-field", "attributes"},
          {R"({"destination":"shop","body":1,"attributes":{"a":1}})", "invalid-field",
           "attributes.a"},
          {R"({"destination":"shop","body":1,"attributes":{"A":"1"}})", "invalid-field",
           "attributes.A"},
          {R"({"destination":"shop","body":1,"attributes":{"":"1"}})", "invalid-field",
           "attributes."},
          {R"({"destination":"shop","body":1,"attributes":{"unheard-of":"1"}})", "invalid-content",
           ""}}) {
    const Reply reply = post("/v1/messages", std::string(bad.json));
    EXPECT_EQ(reply.status, 400) << bad.json;
    EXPECT_EQ(reply.problem(), bad.problem) << bad.json << reply.body;
    EXPECT_EQ(reply.text("field"), bad.field) << bad.json << reply.body;
  }
  EXPECT_TRUE(transport.started.empty());
}

// req: api.problems.2
TEST_F(ApiMessages, SuggestsWhatWasProbablyMeant) {
  EXPECT_EQ(post("/v1/messages", R"({"destination":"shop","bdoy":1})").text("suggestion"), "body");
  EXPECT_EQ(post("/v1/messages", R"({"destination":"shop","body":1,"idempotency_key":"x"})")
                .text("suggestion"),
            "Idempotency-Key");
  EXPECT_EQ(get("/v1/mesages").text("suggestion"), "/v1/messages");
  EXPECT_EQ(get("/v1/messages/0123/explian").text("suggestion"), "/v1/messages/0123/explain");
  EXPECT_EQ(get("/v1/messages?limt=5").text("suggestion"), "limit");
}

TEST_F(ApiMessages, KnowsNoDestinationThatWasNotPut) {
  const Reply reply = post("/v1/messages", R"({"destination":"nowhere","body":1})");
  EXPECT_EQ(reply.status, 404);
  EXPECT_EQ(reply.problem(), "not-found");
}

// req: api.explain.1
TEST_F(ApiMessages, TellsWhereAMessageIsFromAcceptanceToEnd) {
  const std::string id = submit("shop");
  EXPECT_EQ(get("/v1/messages/" + id + "/explain").text("phase"), "in-flight");
  answer_last(500);
  Reply reply = get("/v1/messages/" + id + "/explain");
  EXPECT_EQ(reply.text("phase"), "backoff");
  EXPECT_EQ(reply.text("place"), "sleeping");
  EXPECT_EQ(reply.text("next"), "attempt");
  EXPECT_EQ(reply.text("next_at"), "2027-01-15T08:00:05.000Z");
  EXPECT_EQ(reply.text("last_failure"), "server");
  EXPECT_EQ(reply.text("last_outcome"), "HTTP 500");
  pass(5s);
  answer_last(200);
  reply = get("/v1/messages/" + id + "/explain");
  EXPECT_EQ(reply.text("phase"), "delivered");
  EXPECT_EQ(reply.text("place"), "ended");
  EXPECT_EQ(reply.number("attempts"), 2);
}

TEST_F(ApiMessages, ShowsTheBodyWhenAskedFor) {
  post("/v1/destinations/shop/pause");
  const std::string id = submit("shop");
  Reply reply = get("/v1/messages/" + id);
  EXPECT_FALSE(reply.has("body"));
  EXPECT_EQ(reply.text("has_body"), "true");
  EXPECT_EQ(reply.number("body_bytes"), 7);
  EXPECT_EQ(get("/v1/messages/" + id + "?body=true").text("body"), R"({"n":1})");
  const std::string raw =
      post("/v1/messages", R"({"destination":"shop","body_base64":"/w=="})").text("id");
  EXPECT_EQ(get("/v1/messages/" + raw + "?body=true").text("body_base64"), "/w==");
  EXPECT_EQ(get("/v1/messages/" + raw + "?body=yes").problem(), "invalid-parameter");
}

TEST_F(ApiMessages, KeepsNoBodyOfADeliveredMessage) {
  const std::string id = submit("shop");
  answer_last(200);
  const Reply reply = get("/v1/messages/" + id + "?body=true");
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.text("has_body"), "false");
  EXPECT_EQ(reply.text("phase"), "delivered");
}

// req: api.timeline.1
TEST_F(ApiMessages, TellsTheTimelineFromWhatIsRecorded) {
  const std::string id = submit("shop");
  pass(1s);
  answer_last(503);
  Reply reply = get("/v1/messages/" + id + "/timeline");
  EXPECT_NE(reply.body.find(R"({"at":"2027-01-15T08:00:00.000Z","what":"accepted"})"),
            std::string::npos)
      << reply.body;
  EXPECT_NE(reply.body.find(R"({"at":"2027-01-15T08:00:00.000Z","what":"attempt-failed",)"
                            R"("detail":"after 1000 ms: server: HTTP 503"})"),
            std::string::npos)
      << reply.body;
  EXPECT_NE(reply.body.find(R"("what":"waits-for-attempt")"), std::string::npos) << reply.body;
  pass(5s);
  answer_last(200);
  reply = get("/v1/messages/" + id + "/timeline");
  EXPECT_NE(reply.body.find(R"({"at":"2027-01-15T08:00:06.000Z","what":"attempt-delivered",)"
                            R"("detail":"after 0 ms"},)"
                            R"({"at":"2027-01-15T08:00:06.000Z","what":"delivered"})"),
            std::string::npos)
      << reply.body;
}

// req: engine.ask.2, api.attempts.1
TEST_F(ApiMessages, TellsTheAttemptsOneByOne) {
  const std::string id = submit("shop");
  EXPECT_FALSE(get("/v1/messages/" + id).has("last_attempts"));
  pass(1s);
  answer_last(503);
  pass(5s);
  for (const std::string& path : {"/v1/messages/" + id, "/v1/messages/" + id + "/explain"}) {
    const Reply reply = get(path);
    EXPECT_NE(reply.body.find(R"("last_attempts":[{"at":"2027-01-15T08:00:00.000Z","took_ms":1000,)"
                              R"("outcome":"failed","failure":"server","reason":"HTTP 503"},)"
                              R"({"at":"2027-01-15T08:00:06.000Z","outcome":"open"}])"),
              std::string::npos)
        << reply.body;
    EXPECT_FALSE(reply.has("earlier_attempts"));
  }
  answer_last(200);
  const Reply reply = get("/v1/messages/" + id + "/explain");
  EXPECT_EQ(reply.text("phase"), "delivered");
  EXPECT_NE(reply.body.find(R"({"at":"2027-01-15T08:00:06.000Z","took_ms":0,)"
                            R"("outcome":"delivered"}])"),
            std::string::npos)
      << reply.body;
  EXPECT_EQ(get("/v1/messages?destination=shop").body.find("last_attempts"), std::string::npos);
}

TEST_F(ApiMessages, KnowsOnlyIdsThatWereGivenOut) {
  const std::string unknown = "/v1/messages/0123456789abcdef0123456789abcdef";
  for (const std::string& path : {unknown, unknown + "/explain", unknown + "/timeline"}) {
    EXPECT_EQ(get(path).problem(), "not-found") << path;
  }
  EXPECT_EQ(get("/v1/messages/4711").problem(), "not-found");
  EXPECT_EQ(post(unknown + "/cancel").problem(), "not-found");
  EXPECT_EQ(post("/v1/messages/4711/retry").problem(), "not-found");
}

TEST_F(ApiMessages, CancelsAndRetries) {
  const std::string open = submit("shop");
  Reply reply = post("/v1/messages/" + open + "/cancel");
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.text("answer"), "pending");
  EXPECT_EQ(get("/v1/messages/" + open).text("cancel_wanted"), "true");
  answer_last(200);
  EXPECT_EQ(post("/v1/messages/" + open + "/cancel").problem(), "already-ended");

  const std::string waiting = submit("shop");
  answer_last(500);
  EXPECT_EQ(post("/v1/messages/" + waiting + "/retry").text("answer"), "done");
  EXPECT_EQ(get("/v1/messages/" + waiting).text("phase"), "in-flight");
  answer_last(500);
  EXPECT_EQ(post("/v1/messages/" + waiting + "/cancel").text("answer"), "done");
  EXPECT_EQ(get("/v1/messages/" + waiting).text("phase"), "cancelled");
  EXPECT_EQ(post("/v1/messages/" + waiting + "/retry").status, 409);
}

// req: api.list.1
TEST_F(ApiMessages, ListsAllOfThemPageByPage) {
  make_destination("other");
  post("/v1/destinations/shop/pause");
  post("/v1/destinations/other/pause");
  std::set<std::string> ids;
  for (int i = 0; i < 25; ++i) ids.insert(submit(i % 5 == 0 ? "other" : "shop"));
  for (const std::string limit : {"1", "2", "3", "7", "25", "100"}) {
    std::set<std::string> seen;
    std::string cursor;
    do {
      const Reply reply = get("/v1/messages?limit=" + limit + cursor);
      ASSERT_EQ(reply.status, 200) << reply.body;
      const auto page = reply.json();
      EXPECT_LE(page.at("messages").as_array().size(), std::stoul(limit));
      for (const auto& message : page.at("messages").as_array())
        EXPECT_TRUE(seen.insert(std::string(message.at("id").as_string())).second) << "twice";
      cursor = reply.has("next") ? "&cursor=" + reply.text("next") : "";
    } while (!cursor.empty());
    EXPECT_EQ(seen, ids) << "limit " << limit;
  }
  const Reply filtered = get("/v1/messages?destination=other");
  ASSERT_EQ(filtered.status, 200) << filtered.body;
  EXPECT_EQ(filtered.json().at("messages").as_array().size(), 5U);
  EXPECT_EQ(get("/v1/messages?destination=nowhere").problem(), "not-found");
}

TEST_F(ApiMessages, FiltersByPhaseAndAge) {
  const std::string old = submit("shop");
  answer_last(500);
  pass(2s);
  submit("shop");
  const auto count = [&](const std::string& query) {
    return get("/v1/messages?" + query).json().at("messages").as_array().size();
  };
  EXPECT_EQ(count("phase=backoff"), 1U);
  EXPECT_EQ(count("phase=in-flight"), 1U);
  EXPECT_EQ(count("phase=queued"), 0U);
  EXPECT_EQ(count("older_than=1s"), 1U);
  EXPECT_EQ(count("older_than=2s"), 1U);
  EXPECT_EQ(count("older_than=3s"), 0U);
  EXPECT_EQ(get("/v1/messages?phase=dead").problem(), "invalid-parameter");
  EXPECT_EQ(get("/v1/messages?older_than=old").problem(), "invalid-parameter");
  EXPECT_EQ(get("/v1/messages?limit=0").problem(), "invalid-parameter");
  EXPECT_EQ(get("/v1/messages?limit=1001").problem(), "invalid-parameter");
  EXPECT_EQ(get("/v1/messages?limit=1000").status, 200);
  EXPECT_EQ(get("/v1/messages?cursor=!").problem(), "invalid-parameter");
  EXPECT_EQ(get("/v1/messages?cursor=AAAA").problem(), "invalid-content") << "not one of ours";
}

// req: api.deadletters.1
TEST_F(ApiMessages, ListsShowsRedrivesAndDropsDeadLetters) {
  const std::string a = dead_letter("shop");
  const std::string b = dead_letter("shop");
  const Reply list = get("/v1/dead-letters");
  EXPECT_EQ(list.json().at("dead_letters").as_array().size(), 2U);
  const Reply first = get("/v1/dead-letters?limit=1");
  EXPECT_EQ(first.json().at("dead_letters").as_array().size(), 1U);
  ASSERT_TRUE(first.has("next"));
  EXPECT_EQ(get("/v1/dead-letters?limit=1&cursor=" + first.text("next"))
                .json()
                .at("dead_letters")
                .as_array()
                .size(),
            1U);
  EXPECT_EQ(get("/v1/dead-letters/" + a + "?body=true").text("body"), R"({"n":1})");

  const Reply redriven = post("/v1/dead-letters/" + a + "/redrive");
  EXPECT_EQ(redriven.status, 202);
  EXPECT_EQ(redriven.text("redrives"), a);
  EXPECT_NE(redriven.text("id"), a);
  EXPECT_EQ(get("/v1/messages/" + redriven.text("id")).text("redrives"), a);
  EXPECT_EQ(get("/v1/dead-letters/" + a).problem(), "not-found") << "it was taken";
  EXPECT_EQ(get("/v1/messages/" + a).text("phase"), "dead") << "an end is an end";

  EXPECT_EQ(remove("/v1/dead-letters/" + b).text("answer"), "done");
  EXPECT_EQ(remove("/v1/dead-letters/" + b).problem(), "not-found");
  EXPECT_EQ(post("/v1/dead-letters/" + b + "/redrive").problem(), "not-found");
  EXPECT_TRUE(get("/v1/dead-letters").json().at("dead_letters").as_array().empty());
}

TEST_F(ApiMessages, CallsNothingElseADeadLetter) {
  const std::string live = submit("shop");
  EXPECT_EQ(get("/v1/dead-letters/" + live).problem(), "not-found");
  EXPECT_EQ(remove("/v1/dead-letters/" + live).text("answer"), "nothing");
  answer_last(200);
  EXPECT_EQ(get("/v1/dead-letters/" + live).problem(), "not-found");
}

// req: engine.await.1
TEST_F(ApiMessages, ASubmitMayWaitForTheEnd) {
  make_destination("shop");
  const RigRequest request{
      "POST", "/v1/messages?wait=30", R"({"destination":"shop","body":1})", {}};
  const auto waiting = send(request);
  settle();
  EXPECT_FALSE(waiting->response.has_value());
  answer_last(200);
  ASSERT_TRUE(waiting->response.has_value());
  const Reply reply = reply_of(request, *waiting);
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.text("phase"), "delivered");
}

// req: engine.await.2
TEST_F(ApiMessages, WhenTheTimeIsOverTheAnswerSaysWhereItIs) {
  make_destination("shop");
  const std::string id = submit("shop");
  const RigRequest request{"GET", "/v1/messages/" + id + "?wait=5", "", {}};
  const auto waiting = send(request);
  settle();
  pass(4s);
  EXPECT_FALSE(waiting->response.has_value());
  pass(2s);
  settle();
  ASSERT_TRUE(waiting->response.has_value());
  const Reply reply = reply_of(request, *waiting);
  EXPECT_EQ(reply.status, 202);
  EXPECT_EQ(reply.text("phase"), "in-flight");
  EXPECT_EQ(get("/v1/messages/" + id + "?wait=601").problem(), "invalid-parameter");
  EXPECT_EQ(get("/v1/messages/" + std::string(32, 'a') + "?wait=5").status, 404);
}

// req: engine.await.3
TEST_F(ApiMessages, TooManyWaitersAreRefusedAndThoseWhoHaveGoneCostNothing) {
  host_options.shard.engine.limits.awaits_of_one_max = 1;
  open();
  make_destination("shop");
  const std::string id = submit("shop");
  const auto first = send({"GET", "/v1/messages/" + id + "?wait=30", "", {}});
  settle();
  EXPECT_FALSE(first->response.has_value());
  EXPECT_EQ(get("/v1/messages/" + id + "?wait=30").problem(), "too-many-waiters");
  first->closed = true;
  pass(1s);
  ASSERT_TRUE(first->response.has_value()) << "it may still read";
  EXPECT_EQ(first->response->status, 202);
  const auto second = send({"GET", "/v1/messages/" + id + "?wait=30", "", {}});
  settle();
  EXPECT_FALSE(second->response.has_value());
  second->left = true;
  pass(1s);
  const auto next = send({"GET", "/v1/messages/" + id + "?wait=30", "", {}});
  settle();
  EXPECT_FALSE(next->response.has_value());
  answer_last(200);
  EXPECT_TRUE(next->response.has_value());
}

// req: engine.await.2
TEST_F(ApiMessages, ASubmitThatWaitsIsAcceptedThoughTheDaemonStops) {
  const RigRequest request{
      "POST", "/v1/messages?wait=30", R"({"destination":"shop","body":1})", {}};
  const auto waiting = send(request);
  settle();
  EXPECT_FALSE(waiting->response.has_value());
  host->drain();
  settle();
  ASSERT_TRUE(waiting->response.has_value());
  EXPECT_EQ(reply_of(request, *waiting).status, 202);
}

// A commit that failed makes the shard anew, and whoever waited goes on waiting.
// req: engine.await.1
TEST_F(ApiMessages, AWaitGoesOnOverARestartOfTheShard) {
  make_destination("shop");
  const std::string id = submit("shop");
  const RigRequest request{"GET", "/v1/messages/" + id + "?wait=60", "", {}};
  const auto waiting = send(request);
  settle();
  store.next_outcome = CommitOutcome::kFailed;
  send({"POST", "/v1/messages", R"({"destination":"shop","body":2})", {}});
  pass(5s);
  EXPECT_FALSE(waiting->response.has_value());
  answer_last(200);
  pass(1s);
  settle();
  ASSERT_TRUE(waiting->response.has_value());
  EXPECT_EQ(reply_of(request, *waiting).text("phase"), "delivered");
}

}  // namespace
}  // namespace postrider::api
