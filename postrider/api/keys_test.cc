// Idempotency keys: asking twice is asking once.
#include <boost/json.hpp>

#include "postrider/api/http_api_testing.h"
#include "postrider/api/texts.h"

namespace postrider::api {
namespace {

class ApiKeys : public ApiRig {
 protected:
  void SetUp() override {
    ApiRig::SetUp();
    make_destination("shop");
  }
  static RigHeaders key(const std::string& text) { return {{"idempotency-key", text}}; }
  // A UUID of version 7 made at the given wall time.
  static std::string uuid7(Timestamp at) {
    std::array<char, 48> text{};
    std::snprintf(text.data(), text.size(), "%08llx-%04llx-7abc-8def-0123456789ab",
                  static_cast<unsigned long long>(at.ms() >> 16),
                  static_cast<unsigned long long>(at.ms() & 0xFFFF));
    return text.data();
  }
  const std::string body = R"({"destination":"shop","body":"x"})";
};

// req: api.idempotency.1
TEST_F(ApiKeys, TheSameAgainHasTheSameAnswer) {
  const Reply first = post("/v1/messages", body, key("k1"));
  EXPECT_EQ(first.status, 202);
  EXPECT_EQ(first.header("Idempotency-Replayed"), "");
  const Reply second = post("/v1/messages", body, key("k1"));
  EXPECT_EQ(second.status, 202);
  EXPECT_EQ(second.body, first.body);
  EXPECT_EQ(second.header("Idempotency-Replayed"), "true");
  EXPECT_EQ(transport.started.size(), 1U);
  EXPECT_NE(post("/v1/messages", body, key("k2")).body, first.body);
  EXPECT_NE(post("/v1/messages", body).body, first.body);
}

// req: api.idempotency.2
TEST_F(ApiKeys, OtherContentIsAConflictThatTellsNothing) {
  post("/v1/messages", R"({"destination":"shop","body":"stored-4711"})", key("k"));
  everything_said.clear();
  const Reply reply = post("/v1/messages", R"({"destination":"shop","body":"other"})", key("k"));
  EXPECT_EQ(reply.status, 422);
  EXPECT_EQ(reply.problem(), "key-conflict");
  EXPECT_EQ(everything_said.find("4711"), std::string::npos);
  for (const std::string_view field :
       {R"("lane":1)", R"("priority":1)", R"("delay":"1s")", R"("expires_in":"1h")",
        R"("attributes":{"event-id":"f"})"}) {
    EXPECT_EQ(
        post("/v1/messages",
             R"({"destination":"shop","body":"stored-4711",)" + std::string(field) + "}", key("k"))
            .status,
        422)
        << field;
  }
  EXPECT_EQ(transport.started.size(), 1U);
}

// req: api.idempotency.3
TEST_F(ApiKeys, ARepeatCountsItsTimesAnewAndIsTheSame) {
  const std::string timed = R"({"destination":"shop","body":"x","delay":"10s","expires_in":"1h"})";
  const Reply first = post("/v1/messages", timed, key("k"));
  EXPECT_EQ(first.status, 202);
  clock.now.wall = clock.now.wall + 3s;
  clock.now.boot = clock.now.boot + 3s;
  const Reply second = post("/v1/messages", timed, key("k"));
  EXPECT_EQ(second.status, 202) << second.body;
  EXPECT_EQ(second.text("id"), first.text("id"));
}

// req: api.idempotency.4
TEST_F(ApiKeys, ARepeatWhileTheFirstIsUnderWayAttachesToIt) {
  store.held = true;
  const RigRequest request{"POST", "/v1/messages", body, key("k")};
  const auto one = send(request);
  const auto two = send(request);
  settle();
  EXPECT_FALSE(one->response || two->response);
  store.release();
  settle();
  const Reply first = reply_of(request, *one);
  const Reply second = reply_of(request, *two);
  EXPECT_EQ(first.status, 202);
  EXPECT_EQ(second.body, first.body);
  EXPECT_EQ(transport.started.size(), 1U);
}

TEST_F(ApiKeys, KeysOfTenantsNeverMeet) {
  options.tokens = {{.name = "a", .tenant = "a", .secret = "token-a", .may_submit = true},
                    {.name = "b", .tenant = "b", .secret = "token-b", .may_submit = true}};
  open();
  const auto send_as = [&](const std::string& token) {
    RigHeaders headers = key("k");
    headers.emplace_back("authorization", "Bearer " + token);
    return post("/v1/messages", body, headers);
  };
  EXPECT_NE(send_as("token-a").body, send_as("token-b").body);
  EXPECT_EQ(send_as("token-a").header("Idempotency-Replayed"), "true");
}

// req: api.idempotency.5
TEST_F(ApiKeys, AKeyThatKnowsItsAgeIsRefusedWhenNobodyCanTell) {
  const Timestamp now = clock.now.wall;
  EXPECT_EQ(post("/v1/messages", body, key(uuid7(now))).status, 202);
  EXPECT_EQ(post("/v1/messages", body, key(uuid7(now - 23h))).status, 202);
  const Reply old = post("/v1/messages", body, key(uuid7(now - 25h)));
  EXPECT_EQ(old.status, 410);
  EXPECT_EQ(old.problem(), "key-expired");
  EXPECT_EQ(post("/v1/messages", body, key(uuid7(now + 3h))).problem(), "invalid-content");
  EXPECT_EQ(get("/v1/operations/" + uuid7(now - 25h)).status, 410);
}

// req: api.idempotency.6
TEST_F(ApiKeys, WhatBecameOfAKeyIsToldWithoutActing) {
  EXPECT_EQ(get("/v1/operations/k").problem(), "not-found");
  const std::string id = post("/v1/messages", body, key("k")).text("id");
  const Reply reply = get("/v1/operations/k");
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.text("answer"), "accepted");
  EXPECT_EQ(reply.text("id"), id);
  EXPECT_EQ(reply.header("Idempotency-Replayed"), "");
  post("/v1/destinations/shop/pause", {}, key("p"));
  EXPECT_EQ(get("/v1/operations/p").text("answer"), "done");
  EXPECT_EQ(get("/v1/operations/%01").problem(), "invalid-key");
  EXPECT_EQ(transport.started.size(), 1U);
}

TEST_F(ApiKeys, EveryCallThatChangesSomethingTakesOne) {
  const std::string dead = dead_letter("shop");
  const std::string dropped = dead_letter("shop");
  const std::string live = submit("shop");
  answer_last(500);
  make_destination("gone");
  const std::string config =
      R"({"profile":"webhook","settings":{"url":"https://new.example/","rate":1}})";
  const std::initializer_list<RigRequest> calls = {
      {"PUT", "/v1/destinations/new", config},
      {"POST", "/v1/destinations/shop/pause", R"({"reason":"r"})"},
      {"POST", "/v1/destinations/shop/resume"},
      {"POST", "/v1/destinations/shop/wake"},
      {"PATCH", "/v1/destinations/shop/limits", R"({"rate":50})"},
      {"POST", "/v1/destinations/shop/test"},
      {"DELETE", "/v1/destinations/gone"},
      {"POST", "/v1/messages/" + live + "/retry"},
      {"POST", "/v1/messages/" + live + "/cancel"},
      {"POST", "/v1/dead-letters/" + dead + "/redrive"},
      {"DELETE", "/v1/dead-letters/" + dropped},
      {"POST", "/v1/messages", body}};
  int number = 0;
  for (RigRequest request : calls) {
    request.headers = key("each-" + std::to_string(++number));
    const Reply first = call(request);
    EXPECT_LT(first.status, 300) << request.target << first.body;
    EXPECT_EQ(first.header("Idempotency-Replayed"), "") << request.target;
    const Reply second = call(request);
    EXPECT_EQ(second.status, first.status) << request.target;
    EXPECT_EQ(second.body, first.body) << request.target;
    EXPECT_EQ(second.header("Idempotency-Replayed"), "true") << request.target;
    request.target = "/v1/destinations/shop/wake";
    request.method = "POST";
    request.body.clear();
    if (number == 4) request.target = "/v1/destinations/shop/resume";
    EXPECT_EQ(call(request).status, 422) << "another call with the key of call " << number;
  }
}

TEST_F(ApiKeys, AreReadPlainOrQuotedWithinTheirLimits) {
  const std::string plain = post("/v1/messages", body, key("a b\"c")).text("id");
  EXPECT_EQ(post("/v1/messages", body, key(R"("a b\"c")")).text("id"), plain)
      << "a quoted key is the same key";
  const std::string longest(255, 'k');
  EXPECT_EQ(post("/v1/messages", body, key(longest)).status, 202);
  for (const std::string& bad :
       {longest + "k", std::string("\"\""), std::string("\"a"), std::string("\"a\"b\""),
        std::string(R"("a\x")"), std::string("\xC3\xA9"), std::string("")}) {
    EXPECT_EQ(post("/v1/messages", body, key(bad)).problem(), "invalid-key") << bad;
  }
  EXPECT_EQ(
      post("/v1/messages", body, {{"idempotency-key", "a"}, {"idempotency-key", "b"}}).problem(),
      "invalid-key");
}

// req: api.idempotency.7
TEST_F(ApiKeys, AnInterruptedCallIsRepeatedWithItsKey) {
  const RigRequest request{"POST", "/v1/messages", body, key("k")};
  store.next_outcome = CommitOutcome::kFailed;
  const Reply reply = call(request);
  EXPECT_EQ(reply.status, 503);
  EXPECT_EQ(reply.problem(), "interrupted");
  EXPECT_EQ(reply.header("Retry-After"), "1");
  EXPECT_NE(reply.text("detail").find("same Idempotency-Key"), std::string::npos);
  pass(5s);
  EXPECT_EQ(call(request).status, 202);
}

}  // namespace
}  // namespace postrider::api
