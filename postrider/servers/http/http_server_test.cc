#include "postrider/servers/http/http_server.h"

#include <algorithm>
#include <string>
#include <vector>

#include "gtest/gtest.h"

#include "postrider/protocols/web/http_text.h"
#include "postrider/servers/http/http_server_testing.h"

namespace postrider {
namespace {

std::string chunked(std::string_view target, std::string_view chunks) {
  return "POST " + std::string(target) +
         " HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n" + std::string(chunks);
}

// req: daemon.http.1
TEST(HttpServer, AnswersARequest) {
  HttpRig rig;
  rig.start();
  auto client = rig.connect();
  ASSERT_TRUE(client->send(post("/v1/messages?x=1", "hello")));
  const auto reply = rig.reply(*client);
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->status, 200);
  EXPECT_EQ(reply->version, "HTTP/1.1");
  EXPECT_EQ(reply->body, "POST /v1/messages?x=1 hello");
  EXPECT_EQ(reply->header("content-type"), "text/plain");
  EXPECT_EQ(reply->header("date"), to_http_date(rig.clock.now.wall));
  EXPECT_EQ(reply->header("server"), "");
  EXPECT_EQ(reply->header("connection"), "");
}

TEST(HttpServer, TellsWhoAsks) {
  HttpRig rig;
  std::string peer;
  std::string value;
  bool local = true;
  rig.handler.handle = [&](const HttpRequest& request, HttpExchangePtr exchange) {
    peer = request.peer;
    local = request.local;
    value = request.header("x-some-name");
    exchange->respond({});
  };
  rig.start();
  auto client = rig.connect();
  client->send("GET / HTTP/1.1\r\nHost: a\r\nX-Some-NAME:  \tone two \r\nx-some-name: b\r\n\r\n");
  ASSERT_TRUE(rig.reply(*client));
  EXPECT_EQ(peer, "127.0.0.1");
  EXPECT_FALSE(local);
  EXPECT_EQ(value, "one two");
}

TEST(HttpServer, ListensOnIpv6) {
  HttpRig rig;
  rig.start();
  const std::string bound = rig.listen({.address = "[::1]:0"});
  ASSERT_TRUE(bound.starts_with("[::1]:")) << bound;
  RawClient client(bound);
  client.send(kGet);
  EXPECT_TRUE(rig.reply(client));
}

// req: daemon.http.2
TEST(HttpServer, KeepsConnectionsAlive) {
  HttpRig rig;
  rig.start();
  auto client = rig.connect();
  for (int i = 0; i < 3; ++i) {
    client->send(get("/" + std::to_string(i)));
    const auto reply = rig.reply(*client);
    ASSERT_TRUE(reply);
    EXPECT_EQ(reply->body, "GET /" + std::to_string(i) + " ");
  }
  EXPECT_EQ(rig.server->connections(), 1U);
}

// req: daemon.http.2
TEST(HttpServer, ClosesWhenTheClientAsksForIt) {
  HttpRig rig;
  rig.start();
  auto client = rig.connect();
  client->send("GET / HTTP/1.1\r\nhost: a\r\nconnection: x, Close\r\n\r\n" + get("/never"));
  const auto reply = rig.reply(*client);
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->header("connection"), "close");
  EXPECT_TRUE(rig.closes(*client));
  EXPECT_EQ(rig.seen, std::vector<std::string>{"GET / "});
}

TEST(HttpServer, ClosesWhenTheHandlerAsksForIt) {
  HttpRig rig;
  rig.handler.handle = [](const HttpRequest&, HttpExchangePtr exchange) {
    exchange->respond({.close = true});
  };
  rig.start();
  auto client = rig.connect();
  client->send(kGet);
  const auto reply = rig.reply(*client);
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->header("connection"), "close");
  EXPECT_TRUE(rig.closes(*client));
  EXPECT_TRUE(rig.pump_until([&] { return rig.server->connections() == 0; }));
}

// req: daemon.http.2
TEST(HttpServer, SpeaksHttp10) {
  HttpRig rig;
  rig.start();
  auto client = rig.connect();
  client->send("GET / HTTP/1.0\r\nconnection: keep-alive\r\n\r\n");
  auto reply = rig.reply(*client);
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->header("connection"), "keep-alive");
  client->send("GET / HTTP/1.0\r\n\r\n");
  reply = rig.reply(*client);
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->header("connection"), "close");
  EXPECT_TRUE(rig.closes(*client));
}

TEST(HttpServer, AnswersHeadWithoutBody) {
  HttpRig rig;
  rig.start();
  auto client = rig.connect();
  client->send("HEAD /x HTTP/1.1\r\nhost: a\r\n\r\n");
  const auto reply = rig.reply(*client, true);
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->header("content-length"), "8");
  EXPECT_TRUE(client->received.empty());
  client->send(kGet);
  EXPECT_TRUE(rig.reply(*client));
}

TEST(HttpServer, SendsNoBodyWithStatusesThatHaveNone) {
  HttpRig rig;
  rig.handler.handle = [](const HttpRequest&, HttpExchangePtr exchange) {
    exchange->respond({.status = 204, .body = "must not be sent"});
  };
  rig.start();
  auto client = rig.connect();
  client->send(kGet);
  const auto reply = rig.reply(*client);
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->header("content-length"), "");
  EXPECT_TRUE(client->received.empty());
}

// req: daemon.http.10
TEST(HttpServer, LeavesOutHeadersThatWouldBreakTheAnswer) {
  HttpRig rig;
  rig.handler.handle = [](const HttpRequest&, HttpExchangePtr exchange) {
    exchange->respond(
        {.headers = {{"x-good", "1"}, {"x-bad", "1\r\nset-cookie: stolen"}, {"x bad", "1"}}});
  };
  rig.start();
  auto client = rig.connect();
  client->send(kGet);
  const auto reply = rig.reply(*client);
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->header("x-good"), "1");
  EXPECT_EQ(reply->header("set-cookie"), "");
  EXPECT_EQ(reply->header("x bad"), "");
}

// req: daemon.http.3
TEST(HttpServer, UnderstandsARequestSplitAnywhere) {
  const std::string text =
      post("/a", "0123456789") +
      chunked("/b", "3;ext=1\r\nabc\r\nA\r\n0123456789\r\n0\r\nx-t: 1\r\n\r\n") + get("/c");
  HttpRig rig;
  rig.start();
  for (std::size_t split = 1; split < text.size(); ++split) {
    rig.seen.clear();
    auto client = rig.connect();
    client->send(text.substr(0, split));
    rig.pump();
    rig.pump();
    client->send(text.substr(split));
    ASSERT_TRUE(rig.pump_until([&] { return rig.seen.size() == 3; })) << split;
    ASSERT_EQ(rig.seen,
              (std::vector<std::string>{"POST /a 0123456789", "POST /b abc0123456789", "GET /c "}))
        << split;
    for (int i = 0; i < 3; ++i) ASSERT_TRUE(rig.reply(*client)) << split;
  }
}

// req: daemon.http.3
TEST(HttpServer, UnderstandsARequestByteByByte) {
  const std::string text = chunked("/b", "3\r\nabc\r\n0\r\n\r\n") + post("/a", "0123456789");
  HttpRig rig;
  rig.start();
  auto client = rig.connect();
  for (const char c : text) {
    client->send({&c, 1});
    rig.pump();
  }
  ASSERT_TRUE(rig.reply(*client));
  ASSERT_TRUE(rig.reply(*client));
  EXPECT_EQ(rig.seen, (std::vector<std::string>{"POST /b abc", "POST /a 0123456789"}));
}

// req: daemon.http.4
TEST(HttpServer, AnswersPipelinedRequestsInTheirOrder) {
  HttpRig rig;
  rig.hold();
  rig.start();
  auto client = rig.connect();
  client->send(get("/0") + get("/1") + post("/2", "x") + get("/3"));
  ASSERT_TRUE(rig.pump_until([&] { return rig.waiting.size() == 4; }));
  for (const std::size_t i : {2U, 0U, 3U, 1U}) {
    rig.waiting[i]->respond({.body = std::to_string(i)});
    rig.waiting[i]->respond({.body = "a second answer"});
    rig.pump();
    EXPECT_TRUE(rig.waiting[i]->gone());
  }
  for (int i = 0; i < 4; ++i) {
    const auto reply = rig.reply(*client);
    ASSERT_TRUE(reply);
    EXPECT_EQ(reply->body, std::to_string(i));
  }
}

// req: daemon.http.5
TEST(HttpServer, ReadsNoMorePipelinedRequestsThanAllowed) {
  HttpRig rig;
  rig.limits.pipelined_max = 3;
  rig.hold();
  rig.start();
  auto client = rig.connect();
  std::string many;
  for (int i = 0; i < 10; ++i) many += get("/" + std::to_string(i));
  client->send(many);
  ASSERT_TRUE(rig.pump_until([&] { return rig.waiting.size() == 3; }));
  rig.pump();
  rig.pass(rig.limits.idle_time_out + rig.limits.head_time_out);  // it is we who let it wait
  EXPECT_EQ(rig.waiting.size(), 3U);
  rig.waiting[1]->respond({});
  rig.pump();
  EXPECT_EQ(rig.waiting.size(), 3U);
  rig.waiting[0]->respond({});
  ASSERT_TRUE(rig.pump_until([&] { return rig.waiting.size() == 5; }));
  for (std::size_t i = 2; i < 10; ++i) {
    ASSERT_TRUE(rig.pump_until([&] { return rig.waiting.size() > i; })) << i;
    rig.waiting[i]->respond({});
  }
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(rig.reply(*client)) << i;
  EXPECT_EQ(rig.seen.back(), "GET /9 ");
}

TEST(HttpServer, TimeOutsOfARequestThatHadToWaitCountFromItsTurn) {
  HttpRig rig;
  rig.limits.pipelined_max = 1;
  rig.hold();
  rig.start();
  auto client = rig.connect();
  client->send(get("/0") + "GET /1 HT");
  ASSERT_TRUE(rig.pump_until([&] { return rig.waiting.size() == 1; }));
  rig.pass(rig.limits.head_time_out * 2);
  rig.waiting[0]->respond({});
  ASSERT_TRUE(rig.reply(*client));
  rig.pass(rig.limits.head_time_out - Duration(1));
  client->send("TP/1.1\r\nhost: a\r\n\r\n");
  ASSERT_TRUE(rig.pump_until([&] { return rig.waiting.size() == 2; }));
  rig.waiting[1]->respond({});
  EXPECT_EQ(rig.reply(*client)->status, 200);
}

// req: daemon.http.6
TEST(HttpServer, SendsContinueWhenItWantsTheBody) {
  HttpRig rig;
  rig.start();
  auto client = rig.connect();
  client->send("POST /a HTTP/1.1\r\nhost: a\r\nexpect: 100-Continue\r\ncontent-length: 3\r\n\r\n");
  auto reply = rig.reply(*client);
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->status, 100);
  client->send("abc");
  reply = rig.reply(*client);
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->body, "POST /a abc");
}

// req: daemon.http.6
TEST(HttpServer, SendsContinueAfterEarlierAnswersOnly) {
  HttpRig rig;
  rig.hold();
  rig.start();
  auto client = rig.connect();
  client->send(get("/first") +
               "POST /a HTTP/1.1\r\nhost: a\r\nexpect: 100-continue\r\ncontent-length: 3\r\n\r\n");
  ASSERT_TRUE(rig.pump_until([&] { return rig.waiting.size() == 1; }));
  rig.pump();
  client->receive();
  EXPECT_EQ(client->received, "");
  rig.waiting[0]->respond({.body = "first"});
  EXPECT_EQ(rig.reply(*client)->body, "first");
  EXPECT_EQ(rig.reply(*client)->status, 100);
}

// req: daemon.http.6
TEST(HttpServer, AsksForNoBodyThatItRefuses) {
  HttpRig rig;
  rig.start();
  auto client = rig.connect();
  client->send("POST /a HTTP/1.1\r\nhost: a\r\nexpect: 100-continue\r\ncontent-length: " +
               std::to_string(rig.limits.body_bytes_max + 1) + "\r\n\r\n");
  const auto reply = rig.reply(*client);
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->status, 413);
  EXPECT_EQ(reply->header("connection"), "close");
  EXPECT_TRUE(rig.closes(*client));
}

// req: daemon.http.7
TEST(HttpServer, Answers500ForADroppedExchange) {
  HttpRig rig;
  rig.hold();
  rig.start();
  auto client = rig.connect();
  client->send(get("/0") + get("/1"));
  ASSERT_TRUE(rig.pump_until([&] { return rig.waiting.size() == 2; }));
  rig.waiting[1].reset();
  rig.waiting[0]->respond({});
  EXPECT_EQ(rig.reply(*client)->status, 200);
  const auto reply = rig.reply(*client);
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->status, 500);
  EXPECT_EQ(reply->header("connection"), "close");
  EXPECT_TRUE(rig.closes(*client));
}

// req: daemon.http.8
TEST(HttpServer, IgnoresAnswersToClientsThatAreGone) {
  HttpRig rig;
  rig.hold();
  rig.start();
  auto client = rig.connect();
  client->send(kGet);
  ASSERT_TRUE(rig.pump_until([&] { return rig.waiting.size() == 1; }));
  client->reset();
  ASSERT_TRUE(rig.pump_until([&] { return rig.server->connections() == 0; }));
  const HttpExchangePtr& exchange = rig.waiting[0];
  EXPECT_TRUE(exchange->gone());
  exchange->respond({});
  exchange->begin({});
  EXPECT_FALSE(exchange->write("x"));
  exchange->end();
  exchange->pause();
  exchange->resume();
  EXPECT_EQ(exchange->unsent(), 0U);
}

TEST(HttpServer, AnswersClientsThatHaveClosedTheirSide) {
  HttpRig rig;
  rig.hold();
  rig.start();
  auto client = rig.connect();
  client->send(get("/0") + get("/1"));
  client->end_sending();
  ASSERT_TRUE(rig.pump_until([&] { return rig.waiting.size() == 2; }));
  rig.pump();
  rig.waiting[0]->respond({});
  rig.waiting[1]->respond({});
  EXPECT_TRUE(rig.reply(*client));
  EXPECT_TRUE(rig.reply(*client));
  EXPECT_TRUE(rig.closes(*client));
}

// A handler that waits on behalf of a client must hear that it hung up, also when no further request
// is read.
// req: daemon.http.27
TEST(HttpServer, TellsTheHandlerThatAClientHasClosedItsSide) {
  HttpRig rig;
  rig.hold();
  rig.start();
  for (const std::string_view close : {"", "connection: close\r\n"}) {
    rig.waiting.clear();
    auto client = rig.connect();
    client->send("GET / HTTP/1.1\r\nhost: a\r\n" + std::string(close) + "\r\n");
    ASSERT_TRUE(rig.pump_until([&] { return rig.waiting.size() == 1; }));
    EXPECT_FALSE(rig.waiting[0]->parted());
    client->end_sending();
    ASSERT_TRUE(rig.pump_until([&] { return rig.waiting[0]->parted(); })) << close;
    EXPECT_FALSE(rig.waiting[0]->gone());
    rig.waiting[0]->respond({});
    EXPECT_TRUE(rig.reply(*client));
    EXPECT_TRUE(rig.waiting[0]->parted()) << "it is gone";
  }
}

TEST(HttpServer, ForgetsClientsThatGiveUpInTheMiddleOfARequest) {
  HttpRig rig;
  rig.start();
  for (const std::string_view part :
       {"", "GET / HT", "POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 9\r\n\r\nabc"}) {
    auto client = rig.connect();
    client->send(part);
    ASSERT_TRUE(rig.pump_until([&] { return rig.server->connections() == 1; }));
    client.reset();
    ASSERT_TRUE(rig.pump_until([&] { return rig.server->connections() == 0; })) << part;
  }
  EXPECT_TRUE(rig.seen.empty());
}

// req: daemon.http.8
TEST(HttpServer, OutlivedByAnExchange) {
  HttpRig rig;
  rig.hold();
  rig.start();
  auto client = rig.connect();
  client->send(kGet);
  ASSERT_TRUE(rig.pump_until([&] { return rig.waiting.size() == 1; }));
  rig.server.reset();
  rig.waiting[0]->respond({});
  EXPECT_TRUE(rig.waiting[0]->gone());
  rig.pump();
}

TEST(HttpServer, MayBeClosedByItsHandler) {
  HttpRig rig;
  rig.handler.handle = [&](const HttpRequest&, HttpExchangePtr exchange) {
    rig.server->close();
    exchange->respond({});
  };
  rig.start();
  auto client = rig.connect();
  auto other = rig.connect();
  client->send(kGet);
  other->send(kGet);
  EXPECT_TRUE(rig.closes(*client));
  EXPECT_EQ(rig.server->connections(), 0U);
}

// req: daemon.http.9
TEST(HttpServer, DrainsWhatIsUnderWay) {
  HttpRig rig;
  rig.hold();
  rig.start();
  auto idle = rig.connect();
  auto busy = rig.connect();
  auto half = rig.connect();
  busy->send(get("/0") + get("/1"));
  half->send("GET /half HTTP/1.1\r\n");
  ASSERT_TRUE(
      rig.pump_until([&] { return rig.waiting.size() == 2 && rig.server->connections() == 3; }));
  rig.pump();
  rig.server->stop_accepting();
  EXPECT_TRUE(rig.closes(*idle));
  rig.waiting[0]->respond({});
  rig.waiting[1]->respond({});
  EXPECT_EQ(rig.reply(*busy)->header("connection"), "");
  EXPECT_EQ(rig.reply(*busy)->header("connection"), "close");
  EXPECT_TRUE(rig.closes(*busy));
  half->send("host: a\r\n\r\n");
  ASSERT_TRUE(rig.pump_until([&] { return rig.waiting.size() == 3; }));
  rig.waiting[2]->respond({});
  EXPECT_EQ(rig.reply(*half)->header("connection"), "close");
  ASSERT_TRUE(rig.pump_until([&] { return rig.server->connections() == 0; }));
}

}  // namespace
}  // namespace postrider
