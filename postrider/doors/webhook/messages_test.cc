// The fields of messages that the webhook's door adds to the API: how they are taken, refused and
// shown.
#include <boost/json.hpp>
#include <gtest/gtest.h>

#include "postrider/api/http_api_testing.h"
#include "postrider/doors/webhook/door.h"

namespace postrider::api {
namespace {

class WebhookFields : public ApiRig {
 protected:
  WebhookFields() {
    make_doors = [this] {
      return std::vector<std::shared_ptr<HttpDoor>>{doors::kWebhookDoor.open(config, {})};
    };
  }
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
  static std::string line(const std::string& more = {}) {
    return R"({"destination":"shop","body":"x")" + more + "}\n";
  }
  Config config;
};

TEST_F(WebhookFields, PassesHeadersContentTypeAndTraceOn) {
  const WireRequest& request = sent(
      R"("body":"x","content_type":"text/plain","headers":{"X-One":"1"},)"
      R"("traceparent":"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01","tracestate":"a=b")");
  EXPECT_EQ(request.headers.find("content-type"), "text/plain");
  EXPECT_EQ(request.headers.find("x-one"), "1");
  EXPECT_EQ(request.headers.find("traceparent"),
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01");
  EXPECT_EQ(request.headers.find("tracestate"), "a=b");
}

// The fields are short for attributes: both ways say the same.
// req: api.messages.4
TEST_F(WebhookFields, AreShortForAttributes) {
  const WireRequest& request =
      sent(R"("body":"x","attributes":{"content-type":"text/plain","header.x-one":"1",)"
           R"("event-id":"e-1"},"headers":{"X-Two":"2"})");
  EXPECT_EQ(request.headers.find("content-type"), "text/plain");
  EXPECT_EQ(request.headers.find("x-one"), "1");
  EXPECT_EQ(request.headers.find("x-two"), "2");
}

// req: api.messages.3
TEST_F(WebhookFields, TakesTheTraceOfTheRequestWhenTheBodyNamesNone) {
  const std::string parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
  const std::string own = "00-1af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00";
  const std::string body = R"({"destination":"shop","body":"x"})";
  post("/v1/messages", body, {{"traceparent", parent}, {"tracestate", "a=b"}});
  EXPECT_EQ(transport.started.back().request.headers.find("traceparent"), parent);
  EXPECT_EQ(transport.started.back().request.headers.find("tracestate"), "a=b");
  post("/v1/messages", R"({"destination":"shop","body":"x","traceparent":")" + own + "\"}",
       {{"traceparent", parent}, {"tracestate", "a=b"}});
  EXPECT_EQ(transport.started.back().request.headers.find("traceparent"), own);
  EXPECT_EQ(transport.started.back().request.headers.find("tracestate"), "");
  EXPECT_EQ(post("/v1/messages", body, {{"traceparent", "nonsense"}}).status, 202)
      << "a broken trace is nobody's reason to refuse a message";
  EXPECT_EQ(transport.started.back().request.headers.find("traceparent"), "");
}

// req: api.order.1, webhook.order.2
TEST_F(WebhookFields, OneAfterTheOtherWithinAKeyAndOthersBesideThem) {
  const auto hand_in = [&](const std::string& body, const std::string& key) {
    return post("/v1/messages", R"({"destination":"shop","body":")" + body + R"(","priority":9,)" +
                                    R"("order_key":")" + key + "\"}")
        .text("id");
  };
  hand_in("a1", "customer 7");
  const std::string second = hand_in("a2", "customer 7");
  hand_in("b1", "customer 8");
  ASSERT_EQ(transport.started.size(), 2U);
  EXPECT_EQ(transport.started[0].request.body, "a1");
  EXPECT_EQ(transport.started[1].request.body, "b1");
  EXPECT_EQ(transport.started[0].request.headers.find("order-key"), "") << "it is ours alone";

  EXPECT_EQ(get("/v1/messages/" + second).text("order_key"), "customer 7");
  EXPECT_EQ(get("/v1/messages/" + second).number("priority"), 0);
  const Reply why = get("/v1/messages/" + second + "/explain");
  EXPECT_EQ(why.text("order_key"), "customer 7");
  EXPECT_EQ(why.text("why"), "earlier messages of its order come first");

  answer_last(200);  // b1
  EXPECT_EQ(transport.started.size(), 2U);
  answer(transport.started[0].attempt, 503);  // a1 has not ended, and stays in front
  EXPECT_EQ(transport.started.size(), 2U);
  pass(1h);
  ASSERT_EQ(transport.started.size(), 3U);
  EXPECT_EQ(transport.started[2].request.body, "a1");
  answer_last(200);
  ASSERT_EQ(transport.started.size(), 4U);
  EXPECT_EQ(transport.started[3].request.body, "a2");
}

// req: api.order.2
TEST_F(WebhookFields, AnOrderKeyAndAnEventIdHaveOneTo128PrintableCharacters) {
  for (const std::string field : {"order_key", "event_id"}) {
    const auto with = [&](const std::string& value) {
      return post("/v1/messages",
                  R"({"destination":"shop","body":1,")" + field + "\":" + value + "}");
    };
    const auto text = [](std::size_t size) { return "\"" + std::string(size, 'k') + "\""; };
    for (const std::size_t size : {1U, 127U, 128U}) EXPECT_EQ(with(text(size)).status, 202) << size;
    EXPECT_EQ(with(R"("a b~!")").status, 202);
    for (const std::string& bad :
         {text(0), text(129), std::string("7"), std::string("null"), std::string(R"(" a")"),
          std::string(R"("a ")"), std::string(R"("a\nb")"), std::string(R"("\u00e9")")}) {
      const Reply reply = with(bad);
      EXPECT_EQ(reply.status, 400) << bad;
      EXPECT_EQ(reply.problem(), "invalid-field") << bad;
      EXPECT_EQ(reply.text("field"), field) << bad;
    }
  }
}

// req: api.order.3
TEST_F(WebhookFields, TheIdOfAnEventAndItsTypeReachTheReceiver) {
  make_destination("bus", R"(,"id_header":"X-Event","format":"cloudevents")");
  const Reply reply =
      post("/v1/messages", R"({"destination":"bus","body":1,"event_id":"e-4711",)"
                           R"("headers":{"ce-type":"order.paid","Ce-Subject":"7"}})");
  ASSERT_EQ(reply.status, 202) << reply.body;
  const WireRequest& request = transport.started.back().request;
  EXPECT_EQ(request.headers.find("x-event"), "e-4711");
  EXPECT_EQ(request.headers.find("ce-type"), "order.paid");
  EXPECT_EQ(request.headers.find("ce-subject"), "7");
  EXPECT_EQ(get("/v1/messages/" + reply.text("id")).text("event_id"), "e-4711");
}

// req: api.order.1
TEST_F(WebhookFields, LinesOfOneKeyGoOneAfterTheOther) {
  const Stream batch = stream();
  batch.sink(line(R"(,"order_key":"a")") + line(R"(,"order_key":"a")") +
                 line(R"(,"order_key":"b")") + line(R"(,"order_key":"")"),
             true);
  settle();
  const auto lines = batch.lines();
  ASSERT_EQ(lines.size(), 4U);
  EXPECT_NE(lines[3].find("problem:invalid-field"), std::string::npos) << lines[3];
  EXPECT_EQ(transport.started.size(), 2U);
  answer_last(200);
  EXPECT_EQ(transport.started.size(), 2U);
  answer(transport.started[0].attempt, 200);
  EXPECT_EQ(transport.started.size(), 3U);
}

TEST_F(WebhookFields, PutsTheTraceOfTheRequestIntoEachMessage) {
  const std::string parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
  const Stream batch = stream({{"traceparent", parent}});
  batch.sink(line(), true);
  settle();
  EXPECT_EQ(transport.started.back().request.headers.find("traceparent"), parent);
}

// req: api.order.1, api.fanout.2
TEST_F(WebhookFields, AreTakenByAGroupToo) {
  ASSERT_EQ(put("/v1/groups/customers", R"({"members":[{"destination":"shop"}]})").status, 200);
  const auto send = [&](const std::string& key) {
    return post("/v1/groups/customers/messages", R"({"body":1,"order_key":")" + key + "\"}");
  };
  ASSERT_EQ(send("a").status, 202);
  ASSERT_EQ(send("a").status, 202);
  EXPECT_EQ(transport.started.size(), 1U);
  ASSERT_EQ(send("b").status, 202);
  EXPECT_EQ(transport.started.size(), 2U);
  EXPECT_EQ(send("").text("field"), "order_key");
}

struct BadField {
  std::string_view json;
  std::string_view problem;
  std::string_view field;
};

// req: api.strict.1
TEST_F(WebhookFields, AreRefusedWhenTheyAreNotExactlyRight) {
  for (const BadField& bad : std::initializer_list<BadField>{
           {R"({"destination":"shop","body":1,"headers":[]})", "invalid-field", "headers"},
           {R"({"destination":"shop","body":1,"headers":{"a":1}})", "invalid-field", "headers.a"},
           {R"({"destination":"shop","body":1,"headers":{"a":"1","A":"2"}})", "duplicate-field",
            "headers.A"},
           {R"({"destination":"shop","body":1,"headers":{"host":"x"}})", "invalid-content", ""},
           {R"({"destination":"shop","body":1,"headers":{"a":"x\r\ny: z"}})", "invalid-content",
            ""},
           {R"({"destination":"shop","body":1,"event_id":"e","attributes":{"event-id":"e"}})",
            "duplicate-field", "attributes.event-id"},
           {R"({"destination":"shop","body":1,"traceparent":"x"})", "invalid-field", "traceparent"},
           {R"({"destination":"shop","body":1,"tracestate":""})", "invalid-field", "tracestate"}}) {
    const Reply reply = post("/v1/messages", std::string(bad.json));
    EXPECT_EQ(reply.status, 400) << bad.json;
    EXPECT_EQ(reply.problem(), bad.problem) << bad.json << reply.body;
    EXPECT_EQ(reply.text("field"), bad.field) << bad.json << reply.body;
  }
  EXPECT_TRUE(transport.started.empty());
}

// req: api.problems.2
TEST_F(WebhookFields, AreSuggestedWhenTheyWereProbablyMeant) {
  const Reply reply = post("/v1/messages", R"({"destination":"shop","body":1,"ordr_key":"a"})");
  EXPECT_EQ(reply.problem(), "unknown-field");
  EXPECT_EQ(reply.text("suggestion"), "order_key");
}

// req: api.idempotency.2
TEST_F(WebhookFields, BelongToWhatAKeyIsBoundTo) {
  const RigHeaders key = {{"idempotency-key", "k"}};
  ASSERT_EQ(post("/v1/messages", R"({"destination":"shop","body":"x"})", key).status, 202);
  for (const std::string field : {R"("content_type":"a/b")", R"("headers":{"a":"b"})",
                                  R"("order_key":"k")", R"("event_id":"e")"}) {
    EXPECT_EQ(
        post("/v1/messages", R"({"destination":"shop","body":"x",)" + field + "}", key).status, 422)
        << field;
  }
  EXPECT_EQ(transport.started.size(), 1U);
}

// req: api.idempotency.3
TEST_F(WebhookFields, ARepeatMayHaveAnotherTraceInItsHead) {
  const std::string trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b716920333";
  RigHeaders headers = {{"idempotency-key", "k"}, {"traceparent", trace + "1-01"}};
  const std::string body = R"({"destination":"shop","body":"x"})";
  const Reply first = post("/v1/messages", body, headers);
  EXPECT_EQ(first.status, 202);
  headers.back().second = trace + "2-01";
  const Reply second = post("/v1/messages", body, headers);
  EXPECT_EQ(second.status, 202) << second.body;
  EXPECT_EQ(second.text("id"), first.text("id"));
}

// req: api.secrets.1
TEST_F(WebhookFields, ShowHeadersButNoSecrets) {
  const Reply reply =
      post("/v1/messages", R"({"destination":"shop","body":"b","content_type":"a/b",)"
                           R"("headers":{"authorization":"planted-7318","x-a":"b"}})");
  const boost::json::value shown = get("/v1/messages/" + reply.text("id")).json();
  EXPECT_EQ(shown.at("content_type"), "a/b");
  EXPECT_EQ(shown.at("headers"), (boost::json::value{{"authorization", "***"}, {"x-a", "b"}}));
  answer_last(400);
  get("/v1/dead-letters/" + reply.text("id") + "?body=true");
  get("/v1/messages/" + reply.text("id") + "/timeline");
  EXPECT_EQ(everything_said.find("planted"), std::string::npos);
}

TEST_F(WebhookFields, AMessageThatTestsADestinationIsJson) {
  make_destination("texts", R"(,"content_type":"text/plain")");
  ASSERT_EQ(post("/v1/destinations/texts/test").status, 202);
  EXPECT_EQ(transport.started.back().request.headers.find("content-type"), "application/json");
}

// Without the door the API takes none of these names.
TEST_F(WebhookFields, AreUnknownToTheApiItself) {
  make_doors = nullptr;
  open();
  const Reply reply = post("/v1/messages", R"({"destination":"shop","body":1,"order_key":"a"})");
  EXPECT_EQ(reply.problem(), "unknown-field");
  EXPECT_EQ(get("/openapi.json").body.find("order_key"), std::string::npos);
}

}  // namespace
}  // namespace postrider::api
