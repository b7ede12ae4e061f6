// The API behind the real server, over real sockets: what only shows when both are together.
#include <algorithm>

#include <boost/json.hpp>

#include "postrider/api/http_api_testing.h"
#include "postrider/api/http_server_testing.h"

namespace postrider::api {
namespace {

class ApiWire : public ApiRig {
 protected:
  void SetUp() override {
    ApiRig::SetUp();
    make_destination("shop");
    wire.handler = handler;
    wire.start();
  }
  // Lets client, server, API and host go on until the client has seen what it waits for.
  bool until(RawClient& client, const std::function<bool()>& done) {
    return wire.pump_until([&] {
      settle();
      api->tick();
      client.receive();
      return done();
    });
  }
  HttpReply reply_to(RawClient& client, const std::string& bytes, bool to_head = false) {
    std::optional<HttpReply> found;
    EXPECT_TRUE(client.send(bytes));
    EXPECT_TRUE(until(client, [&] {
      found = take_reply(client.received, to_head);
      return found.has_value();
    }));
    return found.value_or(HttpReply());
  }
  static std::string request(const std::string& method, const std::string& target,
                             const std::string& body, const std::string& type) {
    return method + " " + target + " HTTP/1.1\r\nhost: a\r\ncontent-type: " + type +
           "\r\ncontent-length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
  }
  HttpRig wire;
};

TEST_F(ApiWire, TakesAMessageAndTellsOfIt) {
  const auto client = wire.connect();
  const HttpReply accepted = reply_to(
      *client,
      request("POST", "/v1/messages", R"({"destination":"shop","body":"hi"})", "application/json"));
  EXPECT_EQ(accepted.status, 202);
  const std::string id(boost::json::parse(accepted.body).at("id").as_string());
  const HttpReply told =
      reply_to(*client, "GET /v1/messages/" + id + "/explain HTTP/1.1\r\nhost: a\r\n\r\n");
  EXPECT_EQ(told.status, 200);
  EXPECT_EQ(boost::json::parse(told.body).at("phase").as_string(), "in-flight");
  EXPECT_EQ(told.header("Cache-Control"), "no-store");
}

// req: device.lim.1
TEST_F(ApiWire, RefusesAnEventThatNobodyWouldCollectInTheWordsOfItsRoute) {
  const auto client = wire.connect();
  const std::string head =
      "POST /ingress/lorawan?event=up HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\n";
  const HttpReply reply = reply_to(*client, head + "content-length: 10000000\r\n\r\n");
  EXPECT_EQ(reply.status, 413);
  EXPECT_EQ(reply.header("content-type"), "application/json");
  EXPECT_EQ(reply.body, R"({"error":"an event has at most 256 KiB"})");
  const auto other = wire.connect();
  const HttpReply command =
      reply_to(*other,
               "POST /message/enqueue HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\n"
               "content-length: 65537\r\n\r\n");
  EXPECT_EQ(command.status, 413);
  EXPECT_EQ(command.body, R"({"error":"the body is over 64 KiB"})");
}

TEST_F(ApiWire, AnswersHeadWithoutABody) {
  const auto client = wire.connect();
  EXPECT_EQ(reply_to(*client, "HEAD /livez HTTP/1.1\r\nhost: a\r\n\r\n", true).status, 200);
  EXPECT_EQ(reply_to(*client, "HEAD /v1/events HTTP/1.1\r\nhost: a\r\n\r\n", true).status, 405);
  EXPECT_EQ(reply_to(*client, "GET /livez HTTP/1.1\r\nhost: a\r\n\r\n").status, 200);
}

// req: api.ndjson.3
TEST_F(ApiWire, StreamsABatchThatIsLargerThanAnyBuffer) {
  constexpr int kLines = 5000;
  std::string body;
  for (int i = 0; i < kLines; ++i)
    body += R"({"destination":"shop","body":")" + std::string(300, 'x') + "\"}\n";
  const std::string bytes = request("POST", "/v1/messages", body, "application/x-ndjson");
  const auto client = wire.connect();
  std::optional<HttpReply> found;
  std::size_t sent = 0;
  EXPECT_TRUE(until(*client, [&] {
    if (sent < bytes.size()) {
      client->send(std::string_view(bytes).substr(sent, 16 * 1024));
      sent += std::min<std::size_t>(16 * 1024, bytes.size() - sent);
    }
    found = take_reply(client->received);
    return found.has_value();
  }));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->status, 200);
  EXPECT_EQ(std::count(found->body.begin(), found->body.end(), '\n'), kLines);
  EXPECT_EQ(found->body.find("problem"), std::string::npos);
  EXPECT_NE(found->body.find("{\"line\":5000,"), std::string::npos);
}

TEST_F(ApiWire, RefusesABatchBeforeItsEnd) {
  const auto client = wire.connect();
  const HttpReply reply =
      reply_to(*client,
               "POST /v1/messages?x=1 HTTP/1.1\r\nhost: a\r\ncontent-type: application/x-ndjson\r\n"
               "transfer-encoding: chunked\r\n\r\n5\r\nhello\r\n");
  EXPECT_EQ(reply.status, 400);
  EXPECT_TRUE(until(*client, [&] { return client->ended; }));
}

TEST_F(ApiWire, SendsEventsAsTheyHappen) {
  const auto tail = wire.connect();
  ASSERT_TRUE(tail->send("GET /v1/events HTTP/1.1\r\nhost: a\r\n\r\n"));
  ASSERT_TRUE(until(*tail, [&] { return tail->received.find("id: ") != std::string::npos; }));
  EXPECT_NE(tail->received.find("text/event-stream"), std::string::npos);
  const std::string id = submit("shop");
  answer_last(200);
  EXPECT_TRUE(until(*tail, [&] { return tail->received.find(id) != std::string::npos; }));
}

TEST_F(ApiWire, TellsProblemsOfTheServerInTheSameForm) {
  const auto client = wire.connect();
  const HttpReply reply = reply_to(*client, "GET / HTTP/1.1\r\nnonsense\r\n\r\n");
  EXPECT_EQ(reply.status, 400);
  EXPECT_EQ(checker.check_schema("Problem", reply.body), "") << reply.body;
  EXPECT_EQ(reply.header("content-type"), "application/problem+json");
}

}  // namespace
}  // namespace postrider::api
