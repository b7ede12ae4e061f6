// Streamed bodies in, long answers out.
#include <memory>
#include <string>
#include <sys/socket.h>
#include <vector>

#include "gtest/gtest.h"

#include "postrider/servers/http/http_server.h"
#include "postrider/servers/http/http_server_testing.h"

namespace postrider {
namespace {

constexpr std::string_view kStreamHead =
    "POST /stream HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n";

// A handler that streams /stream and keeps what comes.
struct Stream {
  explicit Stream(HttpRig& rig) {
    rig.handler.stream = [this](const HttpRequest& request, HttpExchangePtr asked) {
      if (request.target != "/stream") return HttpBodySink();
      exchange = std::move(asked);
      return HttpBodySink([this](std::string_view piece, bool end) {
        EXPECT_FALSE(last);
        body += piece;
        ++pieces;
        last = end;
      });
    };
  }
  HttpExchangePtr exchange;
  std::string body;
  int pieces = 0;
  bool last = false;
};

// req: daemon.http.17
TEST(HttpStream, HandsABodyOnAsItComes) {
  HttpRig rig;
  rig.limits.body_bytes_max = 4;  // does not bind what is streamed
  Stream stream(rig);
  rig.start();
  auto client = rig.connect();
  client->send(std::string(kStreamHead) + "5\r\nhello\r\n");
  ASSERT_TRUE(rig.pump_until([&] { return stream.body == "hello"; }));
  EXPECT_FALSE(stream.last);
  client->send("6\r\n world\r\n");
  ASSERT_TRUE(rig.pump_until([&] { return stream.body == "hello world"; }));
  client->send("0\r\n\r\n" + get("/next"));
  ASSERT_TRUE(rig.pump_until([&] { return stream.last; }));
  stream.exchange->respond({.body = "done"});
  EXPECT_EQ(rig.reply(*client)->body, "done");
  EXPECT_EQ(rig.reply(*client)->body, "GET /next ");
}

TEST(HttpStream, TellsTheEndOfABodyOfKnownLength) {
  HttpRig rig;
  Stream stream(rig);
  rig.start();
  auto client = rig.connect();
  client->send(post("/stream", "abc"));
  ASSERT_TRUE(rig.pump_until([&] { return stream.last; }));
  EXPECT_EQ(stream.body, "abc");
  EXPECT_EQ(stream.pieces, 1);
}

TEST(HttpStream, OtherRequestsAreCollected) {
  HttpRig rig;
  Stream stream(rig);
  rig.start();
  auto client = rig.connect();
  client->send(post("/other", "abc"));
  EXPECT_EQ(rig.reply(*client)->body, "POST /other abc");
}

// req: daemon.http.17
TEST(HttpStream, PauseStopsReadingUntilResume) {
  HttpRig rig;
  Stream stream(rig);
  rig.start();
  auto client = rig.connect();
  client->send(std::string(kStreamHead) + "1\r\na\r\n");
  ASSERT_TRUE(rig.pump_until([&] { return stream.body == "a"; }));
  stream.exchange->pause();
  rig.pump();
  // Much more than buffers of the kernel take: the client is held back.
  const std::string chunk = "10000\r\n" + std::string(0x10000, 'b') + "\r\n";
  std::size_t sent = 0;
  std::string_view rest = chunk;
  while (true) {
    const ssize_t count = ::send(client->fd, rest.data(), rest.size(), MSG_NOSIGNAL);
    if (count <= 0) break;
    sent += static_cast<std::size_t>(count);
    rest.remove_prefix(static_cast<std::size_t>(count));
    if (rest.empty()) rest = chunk;
    rig.pump();
    ASSERT_LT(sent, 100'000'000U);
  }
  rig.pass(rig.limits.body_time_out + rig.limits.idle_time_out);  // it is we who wait
  EXPECT_EQ(stream.body, "a");
  stream.exchange->resume();
  ASSERT_TRUE(rig.pump_until([&] { return stream.body.size() + 20 > sent / 2; }));
  EXPECT_EQ(rig.server->connections(), 1U);
}

// req: daemon.http.17
TEST(HttpStream, PauseInTheMiddleOfWhatHasArrived) {
  HttpRig rig;
  std::string body;
  HttpExchangePtr exchange;
  rig.handler.stream = [&](const HttpRequest&, HttpExchangePtr asked) {
    exchange = std::move(asked);
    return HttpBodySink([&](std::string_view piece, bool last) {
      body += piece;
      if (last) exchange->respond({.body = body});
      exchange->pause();
    });
  };
  rig.start();
  auto client = rig.connect();
  client->send(std::string(kStreamHead) + "1\r\na\r\n1\r\nb\r\n1\r\nc\r\n0\r\n\r\n");
  for (const std::string want : {"a", "ab", "abc"}) {
    ASSERT_TRUE(rig.pump_until([&] { return body == want; })) << body;
    rig.pump();
    EXPECT_EQ(body, want);
    exchange->resume();
  }
  EXPECT_EQ(rig.reply(*client)->body, "abc");
}

// req: daemon.http.18
TEST(HttpStream, AnEarlyAnswerEndsTheConnection) {
  HttpRig rig;
  rig.handler.stream = [&](const HttpRequest&, HttpExchangePtr exchange) {
    exchange->respond({.status = 401});
    return HttpBodySink([](std::string_view, bool) { ADD_FAILURE() << "nobody wants it"; });
  };
  rig.start();
  auto client = rig.connect();
  client->send(std::string(kStreamHead) + "1\r\na\r\n");
  const auto reply = rig.reply(*client);
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->status, 401);
  EXPECT_EQ(reply->header("connection"), "close");
  EXPECT_TRUE(rig.closes(*client));
  EXPECT_TRUE(client->send("1\r\na\r\n"));  // what is still on its way does no harm
  rig.pump();
  EXPECT_EQ(rig.server->connections(), 1U);
  rig.pass(Duration(2'000));
  EXPECT_EQ(rig.server->connections(), 0U);
}

TEST(HttpStream, AClientThatGivesUpIsGone) {
  HttpRig rig;
  Stream stream(rig);
  rig.start();
  auto client = rig.connect();
  client->send(std::string(kStreamHead) + "5\r\nhel");
  ASSERT_TRUE(rig.pump_until([&] { return stream.body == "hel"; }));
  client.reset();
  ASSERT_TRUE(rig.pump_until([&] { return stream.exchange->gone(); }));
  EXPECT_FALSE(stream.last);
  EXPECT_EQ(rig.server->connections(), 0U);
}

TEST(HttpStream, ABodyThatTurnsOutMalformedIsRefused) {
  HttpRig rig;
  Stream stream(rig);
  rig.start();
  auto client = rig.connect();
  client->send(std::string(kStreamHead) + "1\r\na\r\nx\r\n");
  EXPECT_EQ(rig.reply(*client)->status, 400);
  EXPECT_TRUE(stream.exchange->gone());
  EXPECT_TRUE(rig.closes(*client));
}

TEST(HttpStream, ASinkThatDropsItsExchangeIsAnswered500) {
  HttpRig rig;
  rig.handler.stream = [&](const HttpRequest&, HttpExchangePtr exchange) {
    return HttpBodySink([exchange](std::string_view, bool) {});
  };
  rig.start();
  auto client = rig.connect();
  client->send(post("/stream", "abc"));
  EXPECT_EQ(rig.reply(*client)->status, 500);
  EXPECT_TRUE(rig.closes(*client));
}

// req: daemon.http.19
TEST(HttpStream, ALongAnswerComesInPieces) {
  HttpRig rig;
  rig.hold();
  rig.start();
  auto client = rig.connect();
  client->send(get("/0") + get("/1"));
  ASSERT_TRUE(rig.pump_until([&] { return rig.waiting.size() == 2; }));
  rig.waiting[1]->respond({.body = "second"});
  rig.waiting[0]->begin({.content_type = "text/event-stream"});
  EXPECT_TRUE(rig.waiting[0]->write("one"));
  rig.pump();
  client->receive();
  EXPECT_NE(client->received.find("3\r\none\r\n"), std::string::npos);
  EXPECT_TRUE(rig.waiting[0]->write(""));  // would end it on the wire
  EXPECT_TRUE(rig.waiting[0]->write("two"));
  rig.waiting[0]->end();
  EXPECT_FALSE(rig.waiting[0]->write("three"));
  const auto reply = rig.reply(*client);
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->body, "onetwo");
  EXPECT_EQ(rig.reply(*client)->body, "second");
}

// req: daemon.http.19
TEST(HttpStream, ALongAnswerToOldClientsEndsWithTheConnection) {
  HttpRig rig;
  rig.handler.handle = [](const HttpRequest&, HttpExchangePtr exchange) {
    exchange->begin({});
    exchange->write("one");
    exchange->write("two");
    exchange->end();
  };
  rig.start();
  auto client = rig.connect();
  client->send("GET / HTTP/1.0\r\nconnection: keep-alive\r\n\r\n");
  ASSERT_TRUE(rig.pump_until([&] { return client->receive(), client->ended; }));
  EXPECT_TRUE(client->received.ends_with("\r\n\r\nonetwo")) << client->received;
  EXPECT_EQ(client->received.find("chunked"), std::string::npos);
}

TEST(HttpStream, ALongAnswerToHeadHasNoBody) {
  HttpRig rig;
  rig.handler.handle = [](const HttpRequest&, HttpExchangePtr exchange) {
    exchange->begin({});
    exchange->write("one");
    exchange->end();
  };
  rig.start();
  auto client = rig.connect();
  client->send("HEAD / HTTP/1.1\r\nhost: a\r\n\r\n");
  ASSERT_TRUE(rig.reply(*client, true));
  client->send(kGet);
  const auto reply = rig.reply(*client);
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->body, "one");
}

// req: daemon.http.19
TEST(HttpStream, AnswersWhileTheBodyStillComes) {
  HttpRig rig;
  HttpExchangePtr exchange;
  rig.handler.stream = [&](const HttpRequest&, HttpExchangePtr asked) {
    exchange = asked;
    exchange->begin({.content_type = "application/x-ndjson"});
    return HttpBodySink([&](std::string_view piece, bool last) {
      exchange->write("got " + std::string(piece) + ";");
      if (last) exchange->end();
    });
  };
  rig.start();
  auto client = rig.connect();
  client->send(std::string(kStreamHead) + "1\r\na\r\n");
  ASSERT_TRUE(rig.pump_until([&] {
    client->receive();
    return client->received.find("got a;") != std::string::npos;
  }));
  client->send("1\r\nb\r\n0\r\n\r\n" + get("/next"));
  EXPECT_EQ(rig.reply(*client)->body, "got a;got b;got ;");
  EXPECT_EQ(rig.reply(*client)->body, "GET /next ");
}

// req: daemon.http.7
TEST(HttpStream, ADroppedLongAnswerIsCutAndNotEnded) {
  HttpRig rig;
  rig.hold();
  rig.start();
  auto client = rig.connect();
  client->send(kGet);
  ASSERT_TRUE(rig.pump_until([&] { return rig.waiting.size() == 1; }));
  rig.waiting[0]->begin({});
  rig.waiting[0]->write("one");
  rig.pump();
  rig.waiting.clear();
  ASSERT_TRUE(rig.pump_until([&] { return client->receive(), client->ended; }));
  EXPECT_TRUE(client->received.ends_with("3\r\none\r\n"));
}

TEST(HttpStream, AReaderThatLeavesALongAnswerIsGone) {
  HttpRig rig;
  rig.hold();
  rig.start();
  auto client = rig.connect();
  client->send(kGet);
  ASSERT_TRUE(rig.pump_until([&] { return rig.waiting.size() == 1; }));
  rig.waiting[0]->begin({});
  rig.pump();
  client.reset();
  EXPECT_TRUE(rig.pump_until([&] { return rig.waiting[0]->gone(); }));
}

// req: daemon.http.14
TEST(HttpStream, ASlowReaderIsCut) {
  HttpRig rig;
  rig.hold();
  rig.start();
  auto client = rig.connect(4096);
  client->send(kGet);
  ASSERT_TRUE(rig.pump_until([&] { return rig.waiting.size() == 1; }));
  HttpExchange& exchange = *rig.waiting[0];
  exchange.begin({});
  const std::string piece(1000, 'x');
  std::size_t written = 0;
  std::size_t unsent = 0;
  while (exchange.write(piece)) {
    unsent = exchange.unsent();
    ASSERT_LE(unsent, rig.limits.unsent_bytes_max);
    written += piece.size();
    rig.pump();
    ASSERT_LT(written, 100'000'000U);
  }
  EXPECT_GT(unsent + piece.size() + 10, rig.limits.unsent_bytes_max);
  EXPECT_TRUE(exchange.gone());
  EXPECT_EQ(rig.server->connections(), 0U);
}

// An answer that waits for an earlier one is not written at all, so its bytes can be counted
// exactly.
// req: daemon.http.14
TEST(HttpStream, UnsentBytesAtAndAboveTheirLimit) {
  for (const std::size_t size : {999U, 1000U, 1001U}) {
    HttpRig rig;
    rig.limits.unsent_bytes_max = 1000;
    rig.hold();
    rig.start();
    auto client = rig.connect();
    client->send(get("/0") + get("/1"));
    ASSERT_TRUE(rig.pump_until([&] { return rig.waiting.size() == 2; }));
    HttpExchange& exchange = *rig.waiting[1];
    exchange.begin({});
    const std::size_t piece = size - exchange.unsent() - 7;  // "2..\r\n" and "\r\n" around it
    ASSERT_GE(piece, 0x100U);
    EXPECT_EQ(exchange.write(std::string(piece, 'x')), size <= 1000) << size;
    EXPECT_EQ(exchange.unsent(), size <= 1000 ? size : 0);
    EXPECT_EQ(exchange.gone(), size > 1000);
    EXPECT_EQ(rig.waiting[0]->gone(), size > 1000);
  }
}

TEST(HttpStream, ManyPiecesOfOneTurnAreNotASlowReader) {
  HttpRig rig;
  rig.hold();
  rig.start();
  auto client = rig.connect();
  client->send(kGet);
  ASSERT_TRUE(rig.pump_until([&] { return rig.waiting.size() == 1; }));
  rig.waiting[0]->begin({});
  const std::string piece(10'000, 'x');
  for (int i = 0; i < 300; ++i) {
    ASSERT_TRUE(rig.waiting[0]->write(piece));
    if (i % 10 == 0) client->receive();
  }
  rig.waiting[0]->end();
  EXPECT_EQ(rig.reply(*client)->body.size(), 3'000'000U);
}

}  // namespace
}  // namespace postrider
