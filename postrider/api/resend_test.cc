// Resend: the content of a message once more, as a new message.
#include "postrider/api/http_api_testing.h"

namespace postrider::api {
namespace {

using ApiResend = ApiRig;

// req: api.resend.1
TEST_F(ApiResend, SendsTheSameContentAsANewMessage) {
  make_destination("shop");
  post("/v1/destinations/shop/pause");
  const std::string first =
      post(
          "/v1/messages",
          R"({"destination":"shop","body":{"order":1},"attributes":{"header.x-token":"t0p"},"lane":2,)"
          R"("priority":7,"expires_in":"2h"})")
          .text("id");
  pass(30min);
  const Reply reply = post("/v1/messages/" + first + "/resend");
  EXPECT_EQ(reply.status, 202) << reply.body;
  EXPECT_EQ(reply.text("resends"), first);
  const std::string second = reply.text("id");
  EXPECT_NE(second, first);
  const Reply old = get("/v1/messages/" + first + "?body=true");
  const Reply made = get("/v1/messages/" + second + "?body=true");
  for (const char* field : {"destination", "body", "lane", "priority"})
    EXPECT_EQ(made.text(field), old.text(field)) << field;
  EXPECT_EQ(old.text("phase"), "queued") << "the old one stays";
  EXPECT_GT(made.text("expires_at"), old.text("expires_at")) << "as long a life, from now on";
  post("/v1/destinations/shop/resume");
  settle();
  ASSERT_GE(transport.started.size(), 1U);
  EXPECT_EQ(transport.started.back().request.body, R"({"order":1})");
  EXPECT_EQ(transport.started.back().request.headers.find("x-token"), "t0p");
}

// req: api.resend.1
TEST_F(ApiResend, TakesDeadLettersAndLeavesThem) {
  make_destination("shop");
  const std::string dead = dead_letter("shop");
  const Reply reply = post("/v1/messages/" + dead + "/resend");
  EXPECT_EQ(reply.status, 202) << reply.body;
  EXPECT_EQ(get("/v1/dead-letters/" + dead).status, 200);
  EXPECT_EQ(get("/v1/messages/" + reply.text("id")).status, 200);
}

// req: api.resend.1, engine.job.6
TEST_F(ApiResend, TakesWhatIsKeptAsHistory) {
  make_destination("shop", R"(,"history":"on")");
  const std::string first = submit("shop");
  answer_last(200);
  settle();
  EXPECT_EQ(get("/v1/messages/" + first).text("phase"), "delivered");
  EXPECT_EQ(get("/v1/stats").json().at("history").at("messages"), 1);
  EXPECT_NE(get("/metrics").body.find("postrider_history_messages 1"), std::string::npos);
  const Reply reply = post("/v1/messages/" + first + "/resend");
  EXPECT_EQ(reply.status, 202) << reply.body;
  EXPECT_EQ(transport.started.size(), 2U);
  const Reply job = post("/v1/jobs", R"({"action":"resend","filter":{"destination":"shop"}})");
  EXPECT_EQ(job.status, 202) << job.body;
  pass(1s);
  EXPECT_EQ(get("/v1/jobs/" + job.text("id")).number("done"), 1) << "the other is under way";
}

// req: api.resend.2
TEST_F(ApiResend, IsRepeatedSafelyAndRefusedWhenTheContentIsGone) {
  make_destination("shop");
  const std::string first = submit("shop");
  const std::string path = "/v1/messages/" + first + "/resend";
  const RigHeaders key{{"idempotency-key", "again-1"}};
  const std::string second = post(path, "", key).text("id");
  EXPECT_EQ(post(path, "", key).text("id"), second);
  settle();
  while (!transport.started.empty()) {
    answer_last(200);
    settle();
    transport.started.pop_back();
  }
  ASSERT_EQ(get("/v1/messages/" + first).text("phase"), "delivered");
  const Reply repeated = post(path, "", key);
  EXPECT_EQ(repeated.status, 202) << repeated.body;
  EXPECT_EQ(repeated.text("id"), second);
  EXPECT_EQ(repeated.header("Idempotency-Replayed"), "true");
  EXPECT_EQ(post(path).problem(), "already-ended");
  EXPECT_EQ(post(path, "", {{"idempotency-key", "again-2"}}).problem(), "already-ended");
  const std::string other = submit("shop");
  EXPECT_EQ(post("/v1/messages/" + other + "/resend", "", key).problem(), "key-conflict");
  EXPECT_EQ(post("/v1/messages/zzz/resend").problem(), "not-found");
  EXPECT_EQ(post("/v1/messages/" + std::string(32, '1') + "/resend").problem(), "not-found");
}

}  // namespace
}  // namespace postrider::api
