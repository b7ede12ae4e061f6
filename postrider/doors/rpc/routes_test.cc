// Services over HTTP: calls, repeats, waiting, outcomes and what is refused.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "postrider/api/http_api_testing.h"
#include "postrider/doors/rpc/answers.h"
#include "postrider/doors/rpc/door.h"
#include "postrider/profiles/all.h"

namespace postrider {
namespace {

class RpcDoor : public api::ApiRig {
 protected:
  RpcDoor() {
    make_doors = [this] {
      return std::vector<std::shared_ptr<api::HttpDoor>>{doors::kRpcDoor.open(config, {})};
    };
  }
  void SetUp() override {
    ApiRig::SetUp();
    make_bank();
  }
  void make_bank(const std::string& more = {}) {
    const api::Reply made =
        this->put("/v1/destinations/bank",
                  R"({"profile":"rpc","settings":{"handler":"http://bank.example/rpc",)"
                  R"("method.pay":"persist","method.put":"persist, idem",)"
                  R"("method.peek":"volatile","method.get":"volatile, idem")" +
                      more + "}}");
    ASSERT_EQ(made.status, 200) << made.body;
  }
  static api::RigRequest request(const std::string& method, const std::string& key,
                                 const std::string& body = "{}", api::RigHeaders more = {}) {
    api::RigRequest out{"POST", "/v1/services/bank/" + method, body, std::move(more)};
    if (!key.empty()) out.headers.emplace_back("idempotency-key", key);
    return out;
  }
  // Begins a call; it waits for the handler.
  std::shared_ptr<api::RigExchange> begin(const api::RigRequest& call) {
    auto exchange = send(call);
    settle();
    return exchange;
  }
  void handler_says(int status, const std::string& body, const std::string& type = "text/plain",
                    WireEnd end = WireEnd::kAnswered) {
    WireReply reply;
    reply.end = end;
    reply.status = status;
    reply.headers = {{"content-type", type}};
    reply.body = body;
    host->attempt_ended(transport.started.back().attempt, std::move(reply));
    settle();
  }
  api::Reply called(const api::RigRequest& call, int status, const std::string& body) {
    const auto exchange = begin(call);
    handler_says(status, body);
    return reply_of(call, *exchange);
  }
  Config config;
};

// req: rpc.http.1, rpc.own.3, rpc.rule.1
TEST_F(RpcDoor, ARepeatWaitsAndLaterGetsTheSameBytesReplayed) {
  const api::RigRequest call = request("pay", "order-7", R"({"sum":1})");
  const auto first = begin(call);
  const auto second = begin(call);
  ASSERT_EQ(transport.started.size(), 1U);
  const WireRequest& sent = transport.started[0].request;
  EXPECT_EQ(sent.body, R"({"sum":1})");
  EXPECT_EQ(sent.headers.find("operation-id"), "order-7");
  EXPECT_EQ(sent.headers.find("operation-principal"), "default");
  EXPECT_EQ(sent.headers.find("content-type"), "application/json");
  EXPECT_FALSE(first->response || second->response);
  handler_says(201, "paid", "text/x-receipt");
  const api::Reply one = reply_of(call, *first);
  const api::Reply two = reply_of(call, *second);
  const auto third = begin(call);
  const api::Reply three = reply_of(call, *third);
  for (const api::Reply* reply : {&one, &two, &three}) {
    EXPECT_EQ(reply->status, 201);
    EXPECT_EQ(reply->body, "paid");
    EXPECT_EQ(reply->content_type, "text/x-receipt");
    EXPECT_EQ(reply->header("operation-id"), "order-7");
  }
  EXPECT_EQ(one.header("operation-origin"), "first");
  EXPECT_EQ(two.header("operation-origin"), "attached");
  EXPECT_EQ(three.header("operation-origin"), "replayed");
  EXPECT_EQ(transport.started.size(), 1U);
}

// req: rpc.rule.28, rpc.rule.36, rpc.rule.37, rpc.rule.38
TEST_F(RpcDoor, EveryKindOfResultIsToldApart) {
  const api::Reply failure = called(request("pay", "a"), 409, "no money");
  EXPECT_EQ(failure.status, 409);
  EXPECT_EQ(failure.problem(), "") << "the application's own, and no problem of ours";
  EXPECT_EQ(failure.body, "no money");

  const auto open = begin(request("pay", "b"));
  handler_says(500, "oops");  // and there is no hook
  const api::Reply unknown = reply_of(request("pay", "b"), *open);
  EXPECT_EQ(unknown.status, 409);
  EXPECT_EQ(unknown.problem(), "indeterminate");
  EXPECT_EQ(unknown.header("operation-id"), "b");
  EXPECT_EQ(call(request("pay", "b")).problem(), "indeterminate");

  const auto given_up = begin(request("peek", "c"));
  EXPECT_EQ(remove("/v1/operations/c").status, 200);
  EXPECT_EQ(reply_of(request("peek", "c"), *given_up).problem(), "cancelled");
  EXPECT_EQ(call(request("peek", "c")).problem(), "indeterminate") << "it must not run twice";

  EXPECT_EQ(call(request("pay", "a", "other")).problem(), "key-conflict");
  EXPECT_EQ(call(request("pay", "00000000-0000-7000-8000-000000000000")).problem(), "key-expired");
  EXPECT_EQ(call(request("pya", "d")).problem(), "unknown-method");
  api::RigRequest nowhere = request("pay", "d");
  nowhere.target = "/v1/services/nowhere/pay";
  EXPECT_EQ(call(nowhere).problem(), "not-found");
  EXPECT_EQ(transport.started.size(), 3U);
}

// req: rpc.rule.32
TEST_F(RpcDoor, APersistOperationIsNotCancelled) {
  const auto exchange = begin(request("pay", "k"));
  const api::Reply cancelled = remove("/v1/operations/k");
  EXPECT_EQ(cancelled.status, 200);
  EXPECT_EQ(cancelled.text("answer"), "nothing");
  handler_says(200, "paid");
  EXPECT_EQ(reply_of(request("pay", "k"), *exchange).body, "paid");
}

TEST_F(RpcDoor, WhoDoesNotWaitIsToldWhereToAsk) {
  api::RigRequest impatient = request("pay", "order 7/a", "{}", {{"prefer", "respond-async"}});
  const auto exchange = begin(impatient);
  pass(1s);
  const api::Reply lives = reply_of(impatient, *exchange);
  EXPECT_EQ(lives.status, 202);
  EXPECT_EQ(lives.text("operation"), "order 7/a");
  const std::string where = lives.header("Location");
  EXPECT_EQ(where, "/v1/operations/order%207%2Fa/outcome");
  const auto asking = send({"GET", where, "", {}});
  pass(1s);
  EXPECT_EQ(asking->response->status, 202);
  const auto waiting = send({"GET", where + "?wait=30", "", {}});
  settle();
  EXPECT_FALSE(waiting->response);
  handler_says(200, "paid");
  ASSERT_TRUE(waiting->response);
  EXPECT_EQ(waiting->response->body, "paid");
  const api::Reply later = get(where);
  EXPECT_EQ(later.body, "paid");
  EXPECT_EQ(later.header("operation-origin"), "replayed");
  EXPECT_EQ(transport.started.size(), 1U) << "asking does nothing";
}

TEST_F(RpcDoor, APatientCallerIsToldWhenItsTimeIsOver) {
  const api::RigRequest patient = request("pay", "k", "{}", {{"prefer", "wait=5"}});
  const auto exchange = begin(patient);
  pass(4s);
  EXPECT_FALSE(exchange->response);
  pass(2s);
  ASSERT_TRUE(exchange->response);
  EXPECT_EQ(exchange->response->status, 202);
}

// req: rpc.rule.31, rpc.rule.33, rpc.rule.34, rpc.http.2
TEST_F(RpcDoor, ACallerThatHangsUpStopsAVolatileCallAfterTheGraceAndNoPersistOne) {
  make_bank(R"(,"grace":"10s","time_out":"1h")");
  const auto kept = begin(request("pay", "p"));
  const auto gone = begin(request("peek", "v"));
  const auto stays = begin(request("get", "w"));
  kept->left = gone->closed = true;
  pass(1s);
  pass(8s);
  EXPECT_EQ(get("/v1/operations/v/outcome").status, 202);  // this is interest, too
  pass(1s);
  pass(9s);
  pass(3s);
  EXPECT_EQ(call(request("peek", "v")).problem(), "indeterminate");
  EXPECT_FALSE(stays->response) << "its caller waits";
  EXPECT_EQ(get("/v1/operations/w/outcome").status, 202);
  EXPECT_EQ(get("/v1/operations/p/outcome").status, 202);
}

// req: rpc.own.12
TEST_F(RpcDoor, OperationsOfTwoTenantsNeverMeet) {
  options.tokens = {
      {.name = "a", .tenant = "a", .secret = "token-of-tenant-a", .may_submit = true},
      {.name = "b", .tenant = "b", .secret = "token-of-tenant-b", .may_submit = true}};
  open();
  const auto as = [](const std::string& tenant, const std::string& body) {
    return request("pay", "k", body, {{"authorization", "Bearer token-of-tenant-" + tenant}});
  };
  EXPECT_EQ(called(as("a", "1"), 200, "for a").body, "for a");
  EXPECT_EQ(transport.started.back().request.headers.find("operation-principal"), "a");
  EXPECT_EQ(called(as("b", "2"), 200, "for b").body, "for b");
  EXPECT_EQ(call(as("a", "1")).body, "for a");
  const api::RigHeaders b{{"authorization", "Bearer token-of-tenant-b"}};
  EXPECT_EQ(get("/v1/operations/k/outcome", b).body, "for b");
}

TEST_F(RpcDoor, KeysAreNeededForPersistAndMadeForVolatile) {
  EXPECT_EQ(call(request("pay", "")).problem(), "invalid-key");
  EXPECT_EQ(call(request("pay", std::string(256, 'k'))).problem(), "invalid-key");
  api::RigRequest twice = request("pay", "a");
  twice.headers.emplace_back("idempotency-key", "b");
  EXPECT_EQ(call(twice).problem(), "invalid-key");
  EXPECT_TRUE(transport.started.empty());
  const api::Reply made = called(request("get", ""), 200, "v");
  EXPECT_EQ(made.header("operation-id").size(), 36U);
  EXPECT_EQ(made.header("operation-id"), transport.started[0].request.headers.find("operation-id"));
  EXPECT_EQ(call(request("get", made.header("operation-id"))).body, "v");
  EXPECT_EQ(transport.started.size(), 1U);
}

TEST_F(RpcDoor, WhatIsWrongIsSaidAndChangesNothing) {
  EXPECT_EQ(call(request("pay", "k", "{}", {{"prefer", "wait=soon"}})).problem(),
            "invalid-parameter");
  EXPECT_EQ(call(request("pay", "k", std::string(256 * 1024 + 1, 'x'))).problem(), "too-large");
  EXPECT_EQ(call(request("pay", "018f0000-0000-7000-8000-000000000000")).problem(), "key-expired");
  // A caller whose clock is a day ahead.
  const std::string ahead = rpc_door::mint_key(clock.now.wall + 24h);
  EXPECT_EQ(call(request("pay", ahead)).status, 400);
  EXPECT_EQ(get("/v1/operations/k/outcome").problem(), "not-found");
  EXPECT_EQ(get("/v1/operations/k/outcome?wait=601").problem(), "invalid-parameter");
  EXPECT_EQ(remove("/v1/operations/k").problem(), "not-found");
  make_destination("hook");
  api::RigRequest no_service = request("pay", "k");
  no_service.target = "/v1/services/hook/pay";
  EXPECT_EQ(call(no_service).problem(), "not-found");
  // A call cannot be forged by a message: what a handler is told of its caller is the token's.
  EXPECT_EQ(post("/v1/messages",
                 R"({"destination":"bank","body":"{}","attributes":{"@principal":"root"}})")
                .problem(),
            "invalid-field");
  EXPECT_EQ(post("/v1/messages", R"({"destination":"bank","body":"{}"})").status, 400);
  EXPECT_TRUE(transport.started.empty());
}

TEST_F(RpcDoor, ServicesAreLookedAtAgainWhenAMethodIsNew) {
  EXPECT_EQ(call(request("fresh", "a")).problem(), "unknown-method");
  make_bank(R"(,"method.fresh":"persist")");
  EXPECT_EQ(called(request("fresh", "a"), 200, "here").body, "here");
}

TEST_F(RpcDoor, EveryRouteIsDescribedAndDocumented) {
  expect_described();
  expect_documented();
}

TEST(RpcWaits, AreReadFromThePreference) {
  const auto wait = [](std::vector<HttpHeader> headers) {
    HttpRequest request;
    request.headers = std::move(headers);
    const auto read = rpc_door::wait_of(request);
    return read ? read->count() : -1;
  };
  EXPECT_EQ(wait({}), 60'000);
  EXPECT_EQ(wait({{"prefer", "wait=7"}}), 7'000);
  EXPECT_EQ(wait({{"prefer", "handling=strict, Wait=7"}}), 7'000);
  EXPECT_EQ(wait({{"prefer", "return=minimal"}, {"prefer", "respond-async"}}), 0);
  EXPECT_EQ(wait({{"prefer", "wait=100000"}}), 600'000);
  EXPECT_EQ(wait({{"prefer", "wait="}}), -1);
  EXPECT_EQ(wait({{"prefer", "wait=-1"}}), -1);
  EXPECT_EQ(wait({{"prefer", "wait=1.5"}}), -1);
}

}  // namespace
}  // namespace postrider
