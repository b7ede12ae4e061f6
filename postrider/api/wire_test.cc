// The API behind the real server, over real sockets: what only shows when both are together.
#include <algorithm>

#include <boost/json.hpp>

#include "postrider/api/wire_testing.h"

namespace postrider::api {
namespace {

class ApiWire : public WireRig<ApiRig> {
 protected:
  void SetUp() override {
    WireRig::SetUp();
    make_destination("shop");
  }
};

TEST_F(ApiWire, TakesAMessageAndTellsOfIt) {
  const auto client = wire.connect();
  const HttpReply accepted = reply_to(
      *client,
      request("POST", "/v1/messages", R"({"destination":"shop","body":"hi"})", "application/json"));
  EXPECT_EQ(accepted.status, 202);
  const std::string id(boost::json::parse(accepted.body).at("id").as_string());
  const HttpReply told =
      reply_to(*client, "GET /v1/messages/" + id + "/explain HTTP/1.1\r\nhost: localhost\r\n\r\n");
  EXPECT_EQ(told.status, 200);
  EXPECT_EQ(boost::json::parse(told.body).at("phase").as_string(), "in-flight");
  EXPECT_EQ(told.header("Cache-Control"), "no-store");
}

// Who asks for what is judged before the body is asked for, held or read.
// req: daemon.http.25
TEST_F(ApiWire, JudgesTheHeadBeforeTheBody) {
  options.tokens = {{.name = "s", .tenant = "t", .secret = "token-submit", .may_submit = true}};
  reopen();
  const std::string token = "authorization: Bearer token-submit\r\n";
  const std::string json = "content-type: application/json\r\n";
  const std::string length = "content-length: 500000\r\n";
  struct Case {
    std::string line;
    std::string headers;
    int status;
  };
  const std::vector<Case> cases = {
      {"POST /v1/messages", json + length, 401},
      {"POST /v1/messages", json + length + "authorization: Bearer wrong\r\n", 401},
      {"POST /v1/messages", json + "transfer-encoding: chunked\r\n", 401},
      {"POST /v1/jobs", json + length + token, 403},
      {"POST /v1/nowhere", json + length + token, 404},
      {"DELETE /v1/messages", json + length + token, 405},
      {"POST /v1/messages?x=1", json + length + token, 400},
      {"POST /v1/messages", json + length + token + "idempotency-key: \r\n", 400},
      {"POST /v1/messages", "content-type: text/plain\r\n" + length + token, 415},
      {"POST /v1/messages", json + length + token + "content-encoding: gzip\r\n", 415},
      {"POST /v1/messages", json + length + token + "accept: image/png\r\n", 406},
      {"GET /livez", length, 400},
      {"GET /livez", "transfer-encoding: chunked\r\n", 400},
  };
  for (const Case& one : cases) {
    const std::string head = one.line + " HTTP/1.1\r\nhost: localhost\r\n" + one.headers;
    for (const std::string expect : {"expect: 100-continue\r\n", ""}) {
      const HttpReply reply = reply_to_head(head + expect + "\r\n");
      EXPECT_EQ(reply.status, one.status) << head;
      EXPECT_EQ(reply.header("connection"), "close");
    }
  }
  const auto welcome = wire.connect();
  EXPECT_EQ(reply_to(*welcome, "POST /v1/messages HTTP/1.1\r\nhost: localhost\r\n" + json + length +
                                   token + "expect: 100-continue\r\n\r\n")
                .status,
            100);
}

// A request that is here as a whole costs nothing more, and its refusal does not end the
// connection.
// req: daemon.http.25
TEST_F(ApiWire, AWholeRequestThatIsRefusedKeepsItsConnection) {
  const auto client = wire.connect();
  EXPECT_EQ(reply_to(*client, request("POST", "/v1/nowhere", "{}", "application/json")).status,
            404);
  EXPECT_EQ(reply_to(*client, request("POST", "/v1/messages", "{}", "text/plain")).status, 415);
  EXPECT_EQ(reply_to(*client, "GET /livez HTTP/1.1\r\nhost: localhost\r\n\r\n").status, 200);
}

// req: api.strict.3
TEST_F(ApiWire, ReadsNoCompressedBody) {
  const std::string body = R"({"destination":"shop","body":"hi"})";
  for (const std::string type : {"application/json", "application/x-ndjson"}) {
    for (const std::string coding : {"gzip", "deflate", "br", "identity, gzip", "Identity", ""}) {
      const auto client = wire.connect();
      const bool plain = coding.empty() || coding == "Identity";
      const HttpReply reply = reply_to(
          *client, "POST /v1/messages HTTP/1.1\r\nhost: localhost\r\ncontent-type: " + type +
                       "\r\ncontent-encoding: " + coding +
                       "\r\ncontent-length: " + std::to_string(body.size()) + "\r\n\r\n" + body);
      const int good = type == "application/json" ? 202 : 200;
      EXPECT_EQ(reply.status, plain ? good : 415) << type << " " << coding;
    }
  }
}

TEST_F(ApiWire, AnswersHeadWithoutABody) {
  const auto client = wire.connect();
  EXPECT_EQ(reply_to(*client, "HEAD /livez HTTP/1.1\r\nhost: localhost\r\n\r\n", true).status, 200);
  EXPECT_EQ(reply_to(*client, "HEAD /v1/events HTTP/1.1\r\nhost: localhost\r\n\r\n", true).status,
            405);
  EXPECT_EQ(reply_to(*client, "GET /livez HTTP/1.1\r\nhost: localhost\r\n\r\n").status, 200);
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
  const HttpReply reply = reply_to(
      *client,
      "POST /v1/messages?x=1 HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/x-ndjson\r\n"
      "transfer-encoding: chunked\r\n\r\n5\r\nhello\r\n");
  EXPECT_EQ(reply.status, 400);
  EXPECT_TRUE(until(*client, [&] { return client->ended; }));
}

TEST_F(ApiWire, SendsEventsAsTheyHappen) {
  const auto tail = wire.connect();
  ASSERT_TRUE(tail->send("GET /v1/events HTTP/1.1\r\nhost: localhost\r\n\r\n"));
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
  EXPECT_EQ(checker->check_schema("Problem", reply.body), "") << reply.body;
  EXPECT_EQ(reply.header("content-type"), "application/problem+json");
}

}  // namespace
}  // namespace postrider::api
