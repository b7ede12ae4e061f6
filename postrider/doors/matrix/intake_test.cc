// Transactions at the egress over a real engine: what becomes durable, and what a repeat adds.
#include "postrider/doors/matrix/intake.h"

#include <string>
#include <vector>

#include <boost/json.hpp>
#include <gtest/gtest.h>

#include "postrider/api/http_api_testing.h"
#include "postrider/model/attributes.h"
#include "postrider/profiles/matrix/table.h"

namespace postrider::matrix_door {
namespace {

// A profile with the real table. What leaves shows what was kept: the body, attributes as headers,
// and whether it expires.
Result<Policy> configure(const NamedTexts& /*settings*/) {
  Policy policy;
  policy.time_outs.fill(60s);
  return policy;
}
Result<Admission> admit(const Offer& /*offer*/) { return Admission{}; }
WireRequest encode(const Facts& facts, AttemptKind /*kind*/) {
  WireRequest request;
  request.owner = Blob::copy_of(facts.message.body);
  request.body = request.owner.view();
  const auto texts = decode_texts(facts.message.attributes);
  for (const auto& [name, value] : *texts) request.headers.add(name, value);
  if (facts.message.expires.is_set())
    request.headers.add("life",
                        std::to_string((facts.message.expires - facts.message.accepted).count()));
  return request;
}
Reading classify(const Facts& /*facts*/, AttemptKind /*kind*/, const WireReply& /*reply*/) {
  return {};
}
constexpr ProfileSpec kProfile = {
    .name = "matrix",
    .states = matrix::kStates,
    .methods = matrix::kMethods,
    .settings = {.configure = configure},
    .door = {.admit = admit},
    .wire = {.judge = judge_due, .encode = encode, .classify = classify},
};

class IntakeTest : public api::ApiRig {
 protected:
  IntakeTest() {
    host_options.shard.engine.profiles = profiles;
    options.profiles = profiles;
  }
  void SetUp() override {
    host_options.shard.event_queue_max = 128;
    open();
    make_server("matrix:far.example");
    make_intake();
  }
  void make_intake() {
    intake = std::make_shared<Intake>(
        IntakeOptions{.server_name = "us.example",
                      .tenant = "(matrix)",
                      .open_max = open_max,
                      .closed_delay = closed_delay,
                      .ask_closed = [this](const std::string& server,
                                           const std::function<void(bool)>& then) {
                        then(server == closed_server);
                      }},
        *host, clock);
  }
  void make_server(const std::string& name) {
    const api::Reply reply =
        put("/v1/destinations/" + name, R"({"profile":"matrix","settings":{}})");
    ASSERT_EQ(reply.status, 200) << reply.body;
  }

  static std::string event(int n) {
    return R"({"content":{},"depth":)" + std::to_string(n) +
           R"(,"room_id":"!r:us","sender":"@u:us.example","type":"m.x"})";
  }
  static std::string typing() {
    return R"({"content":{"room_id":"!r:us","typing":true,"user_id":"@u:us.example"},)"
           R"("edu_type":"m.typing"})";
  }
  static std::string body_of(const std::string& pdus, const std::string& edus = "") {
    return R"({"edus":[)" + edus + R"(],"origin":"us.example","origin_server_ts":1,"pdus":[)" +
           pdus + "]}";
  }
  // Hands a transaction over, and does not wait.
  std::shared_ptr<api::RigExchange> hand_over(const std::string& id, const std::string& body,
                                              const std::string& server = "far.example") {
    auto exchange = std::make_shared<api::RigExchange>();
    const auto target = matrix::parse_egress_target("matrix-federation://" + server +
                                                    "/_matrix/federation/v1/send/" + id);
    intake->take({.target = *target, .body = body, .exchange = exchange});
    return exchange;
  }
  HttpResponse answered(const std::string& id, const std::string& body) {
    const auto exchange = hand_over(id, body);
    settle();
    EXPECT_TRUE(exchange->response.has_value());
    return exchange->response.value_or(HttpResponse{});
  }
  // How many live.
  std::size_t living() {
    const api::Reply page = get("/v1/messages?limit=1000&destination=matrix:far.example");
    EXPECT_EQ(page.status, 200) << page.body;
    return page.json().at("messages").as_array().size();
  }
  // The request that the message with this body became.
  WireRequest kept(std::string_view body) const {
    WireRequest found;
    int times = 0;
    for (const api::RigTransport::Started& started : transport.started) {
      if (started.request.body != body) continue;
      found = started.request;
      ++times;
    }
    EXPECT_EQ(times, 1) << body;
    return found;
  }

  std::vector<const ProfileSpec*> profiles = {&kProfile};
  std::size_t open_max = 256;
  Duration closed_delay{0};
  std::string closed_server;
  std::shared_ptr<Intake> intake;
};

TEST_F(IntakeTest, AnswersWhenAllItemsAreDurable) {
  store.held = true;
  const auto exchange = hand_over("1", body_of(event(1) + "," + event(2), typing()));
  settle();
  EXPECT_FALSE(exchange->response.has_value()) << "nothing is durable yet";
  store.held = false;
  store.release();
  settle();
  ASSERT_TRUE(exchange->response.has_value());
  EXPECT_EQ(exchange->response->status, 200);
  EXPECT_EQ(exchange->response->body, R"({"pdus":{}})");
  EXPECT_EQ(intake->counts().items, 3U);
  EXPECT_EQ(living(), 3U);
}

// req: matrix.egress.3
TEST_F(IntakeTest, ARepeatIsAnsweredAndAddsNothing) {
  const std::string body = body_of(event(1) + "," + event(2));
  EXPECT_EQ(answered("1", body).status, 200);
  EXPECT_EQ(answered("1", body).status, 200);
  EXPECT_EQ(living(), 2U);
  EXPECT_EQ(answered("2", body).status, 200);
  EXPECT_EQ(living(), 4U) << "another id is another transaction";
}

// req: matrix.egress.3
TEST_F(IntakeTest, TheSameIdWithOtherContentIsRefusedAndAddsNothing) {
  EXPECT_EQ(answered("1", body_of(event(1))).status, 200);
  const HttpResponse refused = answered("1", body_of(event(1) + "," + event(2)));
  EXPECT_EQ(refused.status, 400);
  EXPECT_NE(refused.body.find("other content"), std::string::npos) << refused.body;
  EXPECT_EQ(living(), 1U);
  EXPECT_EQ(intake->counts().refused, 1U);
}

// What an interruption left out is added by the repeat, and nothing twice.
// req: matrix.egress.3
TEST_F(IntakeTest, ARepeatCompletesWhatWasCutInTheMiddle) {
  const std::string body = body_of(event(1) + "," + event(2) + "," + event(3));
  store.held = true;
  const auto exchange = hand_over("1", body);
  settle();
  store.release();  // the first item is durable
  store.next_outcome = CommitOutcome::kFailed;
  settle();
  pass(5s);
  settle();
  ASSERT_TRUE(exchange->response.has_value());
  EXPECT_EQ(exchange->response->status, 503);
  EXPECT_EQ(living(), 1U);
  EXPECT_EQ(answered("1", body).status, 200);
  EXPECT_EQ(living(), 3U);
}

// req: matrix.egress.4
TEST_F(IntakeTest, ItemsKeepTheirBytesKeysAndTimes) {
  EXPECT_EQ(answered("1", body_of(event(1), typing())).status, 200);
  EXPECT_EQ(kept(event(1)).headers.find("key"), "!r:us");
  EXPECT_EQ(kept(event(1)).headers.find("life"), "");
  EXPECT_EQ(kept(typing()).headers.find("key"), "!r:us @u:us.example");
  EXPECT_EQ(kept(typing()).headers.find("life"), "30000");
}

// req: matrix.egress.8
TEST_F(IntakeTest, WhatCannotBeSentIsKeptWithItsReasonAndNamed) {
  const HttpResponse answer = answered("1", body_of(event(1) + ",17", R"({"content":{}})"));
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.body, R"({"pdus":{"#1":{"error":"it is no object"}},)"
                         R"("edus":[{"index":0,"error":"it has no type"}]})");
  EXPECT_EQ(living(), 3U);
  EXPECT_EQ(kept("17").headers.find("fault"), "it is no object");
  EXPECT_EQ(intake->counts().faulty_items, 2U);
}

// req: matrix.egress.9
TEST_F(IntakeTest, ATransactionOfAnotherOriginAddsNothing) {
  EXPECT_EQ(answered("1", R"({"origin":"other.example","pdus":[]})").status, 403);
  EXPECT_EQ(answered("1", "{").status, 400);
  EXPECT_EQ(living(), 0U);
}

TEST_F(IntakeTest, AnEmptyTransactionIsAnsweredAtOnce) {
  EXPECT_EQ(answered("1", body_of("")).body, R"({"pdus":{}})");
}

// req: matrix.egress.7
TEST_F(IntakeTest, SaysNotNowAndKeepsNothing) {
  host->set_space(false);
  const HttpResponse full = answered("1", body_of(event(1)));
  EXPECT_EQ(full.status, 503);
  ASSERT_EQ(full.headers.size(), 1U);
  EXPECT_EQ(full.headers.front().first, "retry-after");
  host->set_space(true);
  EXPECT_EQ(living(), 0U);
  open_max = 1;
  make_intake();
  store.held = true;
  const auto first = hand_over("1", body_of(event(1)));
  EXPECT_EQ(hand_over("2", body_of(event(2)))->response->status, 503);
  store.release();
  settle();
  EXPECT_EQ(first->response->status, 200);
  EXPECT_EQ(living(), 1U);
}

// req: matrix.egress.7
TEST_F(IntakeTest, SaysNotNowWhenTheQueueOfEventsIsFull) {
  store.held = true;
  std::vector<std::shared_ptr<api::RigExchange>> open;
  for (int i = 0; i < 200; ++i)
    open.push_back(hand_over("q" + std::to_string(i), body_of(event(i))));
  std::size_t refused = 0;
  for (const auto& exchange : open) {
    if (!exchange->response) continue;
    ++refused;
    EXPECT_EQ(exchange->response->status, 503);
    EXPECT_EQ(exchange->response->headers.front().first, "retry-after");
  }
  EXPECT_GT(refused, 0U);
  EXPECT_LT(refused, 200U);
  store.held = false;
  store.release();
  for (int i = 0; i < 10; ++i) settle();
  EXPECT_EQ(living(), 200 - refused) << "of those that were refused nothing is kept";
}

// req: matrix.egress.7
TEST_F(IntakeTest, SaysNotNowWhileTheStoreIsTakenAgain) {
  store.next_outcome = CommitOutcome::kFailed;
  store.closed = true;
  const auto lost = hand_over("1", body_of(event(1)));
  settle();
  const HttpResponse refused = answered("2", body_of(event(2)));
  EXPECT_EQ(refused.status, 503);
  EXPECT_EQ(refused.headers.front().first, "retry-after");
  store.closed = false;
  pass(10s);
  settle();
  EXPECT_EQ(lost->response.value().status, 503);
  EXPECT_EQ(living(), 0U) << "nothing was kept";
  EXPECT_EQ(answered("1", body_of(event(1))).status, 200);
}

// req: matrix.egress.7
TEST_F(IntakeTest, SaysNotNowWhileItRestores) {
  EXPECT_EQ(answered("1", body_of(event(1))).status, 200);
  api.reset();
  host = std::make_unique<Host>(host_options, store, transport, clock, [] {});
  make_intake();
  ASSERT_TRUE(host->restoring());
  const auto early = hand_over("2", body_of(event(2)));
  ASSERT_TRUE(early->response.has_value());
  EXPECT_EQ(early->response->status, 503);
  EXPECT_EQ(early->response->headers.front().first, "retry-after");
  open();
  EXPECT_EQ(living(), 1U);
}

// req: matrix.edu.12
TEST_F(IntakeTest, AMessageToDevicesOfAnotherServerIsADeadLetter) {
  const std::string foreign =
      R"({"content":{"message_id":"m","messages":{"@x:else.example":{"*":{}}},)"
      R"("sender":"@u:us.example","type":"t"},"edu_type":"m.direct_to_device"})";
  const HttpResponse answer = answered("1", body_of("", foreign));
  EXPECT_EQ(answer.status, 200);
  EXPECT_NE(answer.body.find(R"("edus":[{"index":0,"error":)"), std::string::npos) << answer.body;
  EXPECT_FALSE(kept(foreign).headers.find("fault").empty());
}

// req: matrix.egress.10
TEST_F(IntakeTest, TheAnswerForAServerThatBacksOffWaits) {
  closed_delay = 1s;
  closed_server = "far.example";
  make_intake();
  make_server("matrix:open.example");
  const auto closed = hand_over("1", body_of(event(1)));
  const auto open = hand_over("1", body_of(event(1)), "open.example");
  const auto bad = hand_over("2", "{");
  settle();
  intake->look();
  EXPECT_FALSE(closed->response.has_value());
  EXPECT_EQ(living(), 1U) << "it is durable all the same";
  EXPECT_EQ(open->response.value().status, 200) << "only a server that backs off";
  EXPECT_EQ(bad->response.value().status, 400) << "what is refused does not wait";
  clock.now.boot = clock.now.boot + 999ms;
  intake->look();
  EXPECT_FALSE(closed->response.has_value());
  clock.now.boot = clock.now.boot + 1ms;
  intake->look();
  EXPECT_EQ(closed->response.value().body, R"({"pdus":{}})");
  EXPECT_EQ(intake->counts().delayed, 1U);
}

// req: matrix.egress.10
TEST_F(IntakeTest, AnAnswerThatWaitsIsGivenBeforeTheListenerEnds) {
  closed_delay = 1s;
  closed_server = "far.example";
  make_intake();
  const auto closed = hand_over("1", body_of(event(1)));
  settle();
  ASSERT_FALSE(closed->response.has_value());
  intake->answer_all();
  EXPECT_EQ(closed->response.value().status, 200);
}

// req: matrix.dest.1
TEST_F(IntakeTest, AServerThatIsMetFirstIsMadeLikeItsTemplate) {
  make_server("matrix:*");
  const auto exchange = hand_over("1", body_of(event(1) + "," + event(2)), "new.example");
  settle();
  EXPECT_EQ(exchange->response->status, 200) << exchange->response->body;
  const api::Reply made = get("/v1/destinations/matrix:new.example");
  EXPECT_EQ(made.status, 200) << made.body;
  EXPECT_EQ(made.text("like"), "matrix:*");
}

TEST_F(IntakeTest, AServerThatCannotBeMadeIsNotNow) {
  const auto exchange = hand_over("1", body_of(event(1)), "unknown.example");
  settle();
  EXPECT_EQ(exchange->response->status, 503);
  EXPECT_EQ(intake->counts().not_now, 1U);
}

}  // namespace
}  // namespace postrider::matrix_door
