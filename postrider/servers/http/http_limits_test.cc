// The server under its limits: sizes, times, numbers, and clients that mean no good.
#include <algorithm>
#include <fcntl.h>
#include <memory>
#include <string>
#include <sys/resource.h>
#include <unistd.h>
#include <vector>

#include "gtest/gtest.h"
#include <malloc.h>

#include "postrider/servers/http/http_server.h"
#include "postrider/servers/http/http_server_testing.h"

namespace postrider {
namespace {

// Sends, and expects this answer and then the end of the connection.
void expect_refusal(HttpRig& rig, std::string_view text, int status) {
  auto client = rig.connect();
  client->send(text);
  const auto reply = rig.reply(*client);
  ASSERT_TRUE(reply) << text;
  EXPECT_EQ(reply->status, status) << text;
  EXPECT_EQ(reply->header("connection"), "close");
  EXPECT_TRUE(rig.closes(*client)) << text;
}

// req: daemon.http.11
TEST(HttpLimits, RefusalsCloseTheConnection) {
  HttpRig rig;
  rig.start();
  const std::string never = get("/never");
  expect_refusal(rig, "GET / HTTP/1.1\r\n\r\n" + never, 400);
  expect_refusal(rig, "GET / HTTP/1.1\r\nhost: a\r\nexpect: x\r\n\r\n" + never, 417);
  expect_refusal(rig, "CONNECT a:1 HTTP/1.1\r\nhost: a\r\n\r\n" + never, 501);
  expect_refusal(rig, "GET / HTTP/3.0\r\nhost: a\r\n\r\n" + never, 505);
  EXPECT_TRUE(rig.seen.empty());
}

// req: daemon.http.4
TEST(HttpLimits, RefusalsAreAnsweredInTheirOrder) {
  HttpRig rig;
  rig.hold();
  rig.start();
  auto client = rig.connect();
  client->send(get("/0") + "bad\r\n\r\n");
  ASSERT_TRUE(rig.pump_until([&] { return rig.waiting.size() == 1; }));
  rig.pump();
  client->receive();
  EXPECT_EQ(client->received, "");
  rig.waiting[0]->respond({});
  EXPECT_EQ(rig.reply(*client)->status, 200);
  EXPECT_EQ(rig.reply(*client)->status, 400);
  EXPECT_TRUE(rig.closes(*client));
}

TEST(HttpLimits, TheHandlerWordsRefusals) {
  HttpRig rig;
  rig.handler.refuse = [](int status, std::string_view detail) {
    return HttpResponse{.status = status,
                        .content_type = "application/problem+json",
                        .body = "why: " + std::string(detail)};
  };
  rig.start();
  auto client = rig.connect();
  client->send("\x16\x03\x01");
  const auto reply = rig.reply(*client);
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->header("content-type"), "application/problem+json");
  EXPECT_EQ(reply->body, "why: this is not HTTP");
}

// req: daemon.http.12
TEST(HttpLimits, HeadBytes) {
  HttpRig rig;
  rig.limits.head_bytes_max = 1000;
  rig.start();
  const auto request = [](std::size_t size) {
    const std::string rest = "GET / HTTP/1.1\r\nhost: a\r\nx: \r\n\r\n";
    return "GET / HTTP/1.1\r\nhost: a\r\nx: " + std::string(size - rest.size(), 'y') + "\r\n\r\n";
  };
  auto client = rig.connect();
  client->send(request(999) + request(1000));
  EXPECT_EQ(rig.reply(*client)->status, 200);
  EXPECT_EQ(rig.reply(*client)->status, 200);
  expect_refusal(rig, request(1001), 431);
  expect_refusal(rig, "GET /" + std::string(5000, 'x'), 431);
}

// req: daemon.http.12
TEST(HttpLimits, BodyBytes) {
  HttpRig rig;
  rig.limits.body_bytes_max = 100'000;
  rig.start();
  auto client = rig.connect();
  for (const std::size_t size : {99'999U, 100'000U}) {
    client->send(post("/", std::string(size, 'x')));
    const auto reply = rig.reply(*client);
    ASSERT_TRUE(reply);
    EXPECT_EQ(reply->status, 200);
    EXPECT_EQ(reply->body.size(), size + 7);
  }
  expect_refusal(rig, post("/", std::string(100'001, 'x')), 413);

  const auto chunks = [](std::size_t size) {
    return "POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n1\r\nx\r\n1869f\r\n" +
           std::string(99'999, 'x') + "\r\n" + (size > 100'000 ? "1\r\nx\r\n" : "") + "0\r\n\r\n";
  };
  client->send(chunks(100'000));
  EXPECT_EQ(rig.reply(*client)->status, 200);
  expect_refusal(rig, chunks(100'001), 413);
  EXPECT_EQ(rig.seen.size(), 3U);
}

// req: daemon.http.12
TEST(HttpLimits, Connections) {
  HttpRig rig;
  rig.limits.connections_max = 2;
  rig.start();
  auto first = rig.connect();
  auto second = rig.connect();
  for (const auto& client : {first.get(), second.get()}) {
    client->send(kGet);
    EXPECT_EQ(rig.reply(*client)->status, 200);
  }
  expect_refusal(rig, kGet, 503);
  first.reset();
  ASSERT_TRUE(rig.pump_until([&] { return rig.server->connections() == 1; }));
  auto third = rig.connect();
  third->send(kGet);
  EXPECT_EQ(rig.reply(*third)->status, 200);
}

// req: daemon.http.13
TEST(HttpLimits, IdleTimeOut) {
  HttpRig rig;
  rig.start();
  auto fresh = rig.connect();
  auto used = rig.connect();
  ASSERT_TRUE(rig.pump_until([&] { return rig.server->connections() == 2; }));
  rig.pass(rig.limits.idle_time_out - Duration(1));
  used->send(kGet);
  EXPECT_TRUE(rig.reply(*used));
  EXPECT_EQ(rig.server->connections(), 2U);
  rig.pass(Duration(1));
  EXPECT_TRUE(rig.closes(*fresh));
  EXPECT_EQ(rig.server->connections(), 1U);
  rig.pass(rig.limits.idle_time_out - Duration(2));
  EXPECT_EQ(rig.server->connections(), 1U);
  rig.pass(Duration(1));
  EXPECT_TRUE(rig.closes(*used));
}

// req: daemon.http.13
TEST(HttpLimits, HeadTimeOutCountsFromTheFirstByte) {
  HttpRig rig;
  rig.start();
  auto client = rig.connect();
  rig.pass(rig.limits.head_time_out * 2);
  client->send("GET / HT");
  rig.pump();
  rig.pass(rig.limits.head_time_out - Duration(1));
  client->send("TP/1.1\r\n");  // a slow one gains nothing by sending on
  rig.pump();
  EXPECT_EQ(rig.server->connections(), 1U);
  rig.pass(Duration(1));
  EXPECT_EQ(rig.reply(*client)->status, 408);
  EXPECT_TRUE(rig.closes(*client));
}

// req: daemon.http.13
TEST(HttpLimits, BodyTimeOutCountsFromTheLastPiece) {
  HttpRig rig;
  rig.start();
  for (const std::string head :
       {"content-length: 9\r\n\r\n", "transfer-encoding: chunked\r\n\r\n9\r\n"}) {
    auto client = rig.connect();
    client->send("POST / HTTP/1.1\r\nhost: a\r\n" + head + "ab");
    for (int i = 0; i < 3; ++i) {
      rig.pump();
      rig.pass(rig.limits.body_time_out - Duration(1));
      client->send("c");
    }
    rig.pump();
    rig.pass(rig.limits.body_time_out - Duration(1));
    client->receive();
    EXPECT_EQ(client->received, "");
    rig.pass(Duration(1));
    EXPECT_EQ(rig.reply(*client)->status, 408);
    EXPECT_TRUE(rig.closes(*client));
  }
}

// req: daemon.http.13
TEST(HttpLimits, AWholeBodyHasATimeOut) {
  HttpRig rig;
  rig.limits.whole_body_time_out = 3 * rig.limits.body_time_out;
  rig.start();
  auto client = rig.connect();
  client->send("POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 99\r\n\r\na");
  Duration passed(0);
  const Duration step = rig.limits.body_time_out - Duration(1);
  for (; passed + step < rig.limits.whole_body_time_out; passed += step) {
    rig.pump();
    rig.pass(step);
    client->receive();
    EXPECT_EQ(client->received, "");
    client->send("b");
  }
  rig.pump();
  rig.pass(rig.limits.whole_body_time_out - passed);
  EXPECT_EQ(rig.reply(*client)->status, 408);
  EXPECT_TRUE(rig.closes(*client));
}

TEST(HttpLimits, WaitingForTheHandlerHasNoTimeOut) {
  HttpRig rig;
  rig.hold();
  rig.start();
  auto client = rig.connect();
  client->send(kGet);
  ASSERT_TRUE(rig.pump_until([&] { return rig.waiting.size() == 1; }));
  rig.pass(std::chrono::hours(10));
  rig.waiting[0]->respond({});
  EXPECT_EQ(rig.reply(*client)->status, 200);
}

// req: daemon.http.14
TEST(HttpLimits, AClientThatDoesNotReadItsAnswerIsCut) {
  HttpRig rig;
  rig.handler.handle = [](const HttpRequest&, HttpExchangePtr exchange) {
    exchange->respond({.body = std::string(20'000'000, 'x')});
  };
  rig.start();
  auto client = rig.connect(4096);
  client->send(kGet);
  ASSERT_TRUE(rig.pump_until([&] { return rig.server->connections() == 1; }));
  rig.pump();
  rig.pass(rig.limits.body_time_out - Duration(1));
  EXPECT_EQ(rig.server->connections(), 1U);
  rig.pass(Duration(1));
  EXPECT_EQ(rig.server->connections(), 0U);
}

TEST(HttpLimits, ALargeAnswerArrivesWhole) {
  HttpRig rig;
  rig.handler.handle = [](const HttpRequest&, HttpExchangePtr exchange) {
    exchange->respond({.body = std::string(20'000'000, 'x')});
  };
  rig.start();
  auto client = rig.connect();
  client->send(get("/") + get("/"));
  for (int i = 0; i < 2; ++i) {
    const auto reply = rig.reply(*client);
    ASSERT_TRUE(reply);
    EXPECT_EQ(reply->body.size(), 20'000'000U);
  }
}

// Who asks and does not read is not asked for more: requests behind unsent answers wait in the
// kernel.
// req: daemon.http.14
TEST(HttpLimits, PipeliningIsBoundByWhatTheClientReads) {
  HttpRig rig;
  rig.limits.pipelined_max = 1000;
  rig.limits.unsent_bytes_max = 1'000'000;
  int handled = 0;
  rig.handler.handle = [&](const HttpRequest&, HttpExchangePtr exchange) {
    ++handled;
    exchange->respond({.body = std::string(10'000'000, 'x')});
  };
  rig.start();
  auto client = rig.connect();
  for (int i = 0; i < 10; ++i) client->send(kGet);
  ASSERT_TRUE(rig.pump_until([&] { return handled == 1; }));
  rig.pump();
  EXPECT_EQ(handled, 1);
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(rig.reply(*client));
  EXPECT_EQ(handled, 10);
}

class OpenFiles {
 public:
  OpenFiles() { ::getrlimit(RLIMIT_NOFILE, &before_); }
  ~OpenFiles() { ::setrlimit(RLIMIT_NOFILE, &before_); }
  OpenFiles(const OpenFiles&) = delete;
  OpenFiles& operator=(const OpenFiles&) = delete;

  // At most `count`, as far as we may; returns what it is now.
  rlim_t limit(rlim_t count) const {
    const rlimit now{.rlim_cur = std::min(count, before_.rlim_max), .rlim_max = before_.rlim_max};
    ::setrlimit(RLIMIT_NOFILE, &now);
    return now.rlim_cur;
  }

 private:
  rlimit before_{};
};

// req: daemon.http.15
TEST(HttpLimits, ThousandsOfIdleConnectionsCostLittle) {
  const OpenFiles files;
  const rlim_t descriptors = files.limit(20'400);
  const std::size_t count = std::min<std::size_t>(10'000, (descriptors - 400) / 2);
  HttpRig rig;
  rig.start();
  std::vector<std::unique_ptr<RawClient>> clients;
  const std::size_t before = mallinfo2().uordblks;
  std::size_t clients_bytes = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t here = mallinfo2().uordblks;
    clients.push_back(rig.connect());
    clients_bytes += mallinfo2().uordblks - here;
    if (i % 50 == 49) rig.pump();
  }
  ASSERT_TRUE(rig.pump_until([&] { return rig.server->connections() == count; }));
  for (const auto& client : clients) {
    client->send(post("/", "x"));
    ASSERT_TRUE(rig.reply(*client));
  }
  const std::size_t each = (mallinfo2().uordblks - before - clients_bytes) / count;
  EXPECT_LE(each, 1024U);
  RecordProperty("bytes_per_connection", static_cast<int>(each));
}

// What cannot be read, or must not be, is not waited for: the loop rests. (pump() would never
// return.) req: daemon.http.16
TEST(HttpLimits, RestsWhileItMustNotRead) {
  HttpRig rig;
  rig.limits.pipelined_max = 1;
  rig.hold();
  rig.start();
  auto half_closed = rig.connect();
  half_closed->send(kGet);
  half_closed->end_sending();
  auto pipelined = rig.connect();
  pipelined->send(get("/0") + get("/1"));
  auto unread = rig.connect();
  unread->send(get("/2"));
  ASSERT_TRUE(rig.pump_until([&] { return rig.waiting.size() == 3; }));
  unread->send(get("/3"));
  rig.pump();
  EXPECT_LE(rig.pump(), 1U);  // a sweep may fall into it
  EXPECT_EQ(rig.waiting.size(), 3U);
}

// req: daemon.http.16
TEST(HttpLimits, ClientsGetNoDescriptorAboveTheBound) {
  HttpRig rig;
  const int next = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  ::close(next);
  rig.limits.descriptors_max = next + 60;
  rig.start();
  std::vector<std::unique_ptr<RawClient>> clients;
  for (int i = 0; i < 40; ++i) clients.push_back(rig.connect());
  const auto late = rig.reply(*clients.back());
  ASSERT_TRUE(late);
  EXPECT_EQ(late->status, 503);
  clients.front()->send(kGet);
  const auto early = rig.reply(*clients.front());
  ASSERT_TRUE(early);
  EXPECT_EQ(early->status, 200);
  clients.clear();
  ASSERT_TRUE(rig.pump_until([&] { return rig.server->connections() == 0; }));
  auto again = rig.connect();
  again->send(kGet);
  EXPECT_TRUE(rig.reply(*again));
}

// req: daemon.http.16
TEST(HttpLimits, OutOfDescriptorsItRefusesAndRecovers) {
  HttpRig rig;
  rig.start();
  auto first = rig.connect();
  first->send(kGet);
  ASSERT_TRUE(rig.reply(*first));
  const OpenFiles files;
  // The last client's own descriptor is the last one that there is.
  auto second = std::make_unique<RawClient>(rig.address);
  auto third = std::make_unique<RawClient>(rig.address);
  files.limit(static_cast<rlim_t>(third->fd) + 1);
  EXPECT_LT(::dup(0), 0);
  for (RawClient* client : {second.get(), third.get()}) {
    const auto refused = rig.reply(*client);
    ASSERT_TRUE(refused);
    EXPECT_EQ(refused->status, 503);
    EXPECT_TRUE(rig.closes(*client));
  }
  first->send(kGet);  // others are served meanwhile
  EXPECT_EQ(rig.reply(*first)->status, 200);

  files.limit(static_cast<rlim_t>(third->fd) + 10);
  auto fourth = std::make_unique<RawClient>(rig.address);
  fourth->send(kGet);
  const auto reply = rig.reply(*fourth);
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->status, 200);
}

// req: engine.limit.large.1
TEST(HttpLimits, BodyBytesWhereAHandlerTakesMore) {
  HttpRig rig;
  rig.limits.body_bytes_max = 1000;
  rig.limits.held_bytes_max = 50'000;
  rig.handler.body_bytes_max = [](const HttpRequest& request) -> std::uint64_t {
    return request.target == "/large" ? 20'000 : request.target == "/huge" ? 100'000 : 0;
  };
  rig.start();
  auto client = rig.connect();
  for (const std::size_t size : {999U, 1000U, 1001U, 19'999U, 20'000U}) {
    client->send(post("/large", std::string(size, 'x')));
    const auto reply = rig.reply(*client);
    ASSERT_TRUE(reply) << size;
    EXPECT_EQ(reply->status, 200) << size;
  }
  expect_refusal(rig, post("/large", std::string(20'001, 'x')), 413);
  expect_refusal(rig, post("/", std::string(1001, 'x')), 413);
  // The budget of all connections holds for it as for any other.
  expect_refusal(rig, post("/huge", std::string(60'000, 'x')), 503);
  const auto chunks = [](std::size_t size) {
    return "POST /large HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n4e20\r\n" +
           std::string(20'000, 'x') + "\r\n" + (size > 20'000 ? "1\r\nx\r\n" : "") + "0\r\n\r\n";
  };
  client->send(chunks(20'000));
  EXPECT_EQ(rig.reply(*client)->status, 200);
  expect_refusal(rig, chunks(20'001), 413);
}

}  // namespace
}  // namespace postrider
