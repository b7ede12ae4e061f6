// The budget of all connections: what is held for clients counts, and above it is 503.
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "gtest/gtest.h"

#include "postrider/servers/http/http_server.h"
#include "postrider/servers/http/http_server_testing.h"

namespace postrider {
namespace {

constexpr std::uint64_t kBudget = 1'000'000;

class HttpBudget : public ::testing::Test {
 protected:
  HttpBudget() {
    rig.limits.held_bytes_max = kBudget;
    rig.limits.body_bytes_max = kBudget;
    rig.limits.unsent_bytes_max = 10 * kBudget;
    rig.hold();
  }
  static std::string announcement(std::uint64_t size) {
    return "POST / HTTP/1.1\r\nhost: a\r\nexpect: 100-continue\r\ncontent-length: " +
           std::to_string(size) + "\r\n\r\n";
  }
  // A client whose body is awaited; the status says whether it was.
  std::unique_ptr<RawClient> announce(std::uint64_t size, int& status) {
    auto client = rig.connect();
    client->send(announcement(size));
    const auto reply = rig.reply(*client);
    status = reply ? reply->status : 0;
    return client;
  }
  std::uint64_t room() const { return kBudget - rig.server->held_bytes(); }
  bool falls_to_nothing() {
    return rig.pump_until([&] { return rig.server->held_bytes() == 0; });
  }

  HttpRig rig;
};

// req: daemon.http.22
TEST_F(HttpBudget, ABodyCountsFromItsHead) {
  rig.start();
  int status = 0;
  const auto first = announce(400'000, status);
  EXPECT_EQ(status, 100);
  EXPECT_GE(rig.server->held_bytes(), 400'000U);
  for (const int more : {-1, 0}) {
    auto other = announce(room() + static_cast<std::uint64_t>(more), status);
    EXPECT_EQ(status, 100) << more;
    other.reset();
    EXPECT_TRUE(rig.pump_until([&] { return rig.server->connections() == 1; }));
  }
  const auto refused = announce(room() + 1, status);
  EXPECT_EQ(status, 503) << "and no 100 Continue before it";
  EXPECT_TRUE(rig.closes(*refused));
  // What was promised is kept: the body that was begun arrives.
  first->send(std::string(400'000, 'x'));
  ASSERT_TRUE(rig.pump_until([&] { return rig.waiting.size() == 1; }));
  EXPECT_GE(rig.server->held_bytes(), 400'000U) << "the handler has it now";
  rig.waiting[0]->respond({});
  EXPECT_EQ(rig.reply(*first)->status, 200);
  EXPECT_TRUE(falls_to_nothing());
}

// req: daemon.http.22
TEST_F(HttpBudget, AChunkedBodyCountsAsItComes) {
  rig.start();
  const auto client = rig.connect();
  client->send("POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n");
  rig.pump();
  const std::string chunk = "186a0\r\n" + std::string(100'000, 'x') + "\r\n";
  for (int i = 0; i < 9; ++i) client->send(chunk);
  EXPECT_TRUE(rig.pump_until([&] { return rig.server->held_bytes() >= 900'000; }));
  int status = 0;
  const auto other = announce(100'000, status);
  EXPECT_EQ(status, 503);
  client->send(chunk);
  const auto reply = rig.reply(*client);
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->status, 503);
  EXPECT_TRUE(falls_to_nothing());
}

// req: daemon.http.22
TEST_F(HttpBudget, AHeldAnswerAtAndAboveTheBudget) {
  for (const bool above : {false, true}) {
    rig.waiting.clear();
    rig.start();
    const auto client = rig.connect();
    client->send(get("/0") + get("/1"));
    ASSERT_TRUE(rig.pump_until([&] { return rig.waiting.size() == 2; }));
    rig.waiting[1]->respond({.body = std::string(room() + (above ? 1 : 0), 'x')});
    if (!above) {
      EXPECT_GE(rig.server->held_bytes(), kBudget) << "it waits for the first";
    }
    rig.waiting[0]->respond({.body = "small"});
    EXPECT_EQ(rig.reply(*client)->status, 200);
    const auto second = rig.reply(*client);
    ASSERT_TRUE(second);
    EXPECT_EQ(second->status, above ? 503 : 200);
    EXPECT_TRUE(falls_to_nothing());
  }
}

// req: daemon.http.22
TEST_F(HttpBudget, UnreadAnswersOfManyAreBounded) {
  rig.handler.handle = [](const HttpRequest&, HttpExchangePtr exchange) {
    exchange->respond({.body = std::string(300'000, 'x')});
  };
  rig.start();
  std::vector<std::unique_ptr<RawClient>> clients;
  for (int i = 0; i < 40; ++i) {
    clients.push_back(rig.connect(4096));
    std::string many;
    for (int n = 0; n < 20; ++n) many += get("/");
    clients.back()->send(many);
    rig.pump();
  }
  EXPECT_LE(rig.server->held_bytes(), kBudget + 40 * 4096);
  clients.clear();
  EXPECT_TRUE(falls_to_nothing());
}

// A change that was made is told, though there is no room: only questions are refused.
// req: daemon.http.22
TEST_F(HttpBudget, WhatWasDoneIsTold) {
  rig.start();
  const auto client = rig.connect();
  client->send(post("/", "x"));
  ASSERT_TRUE(rig.pump_until([&] { return rig.waiting.size() == 1; }));
  int status = 0;
  const auto other = announce(room(), status);
  EXPECT_EQ(status, 100);
  rig.waiting[0]->respond({.status = 202, .body = std::string(10'000, 'x')});
  EXPECT_EQ(rig.reply(*client)->status, 202);
}

// req: daemon.http.23
TEST_F(HttpBudget, SmallRequestsAreServedWithoutRoom) {
  rig.start();
  int status = 0;
  const auto greedy = announce(room(), status);
  EXPECT_EQ(status, 100);
  const auto client = rig.connect();
  for (int i = 1; i <= 2; ++i) {
    client->send(kGet);
    ASSERT_TRUE(rig.pump_until([&] { return static_cast<int>(rig.waiting.size()) == i; }));
    rig.waiting.back()->respond({.body = "alive"});
    EXPECT_EQ(rig.reply(*client)->body, "alive");
  }
  // One at a time: the next, while an answer is owed, is refused.
  client->send(get("/0") + get("/1"));
  ASSERT_TRUE(rig.pump_until([&] { return rig.waiting.size() == 3; }));
  rig.pump();
  EXPECT_EQ(rig.waiting.size(), 3U);
  rig.waiting.back()->respond({.body = "alive"});
  EXPECT_EQ(rig.reply(*client)->body, "alive");
  EXPECT_EQ(rig.reply(*client)->status, 503);
  EXPECT_TRUE(rig.closes(*client));
}

// req: daemon.http.22
TEST_F(HttpBudget, BeginningsOfHeadsCount) {
  rig.limits.head_bytes_max = 60'000;
  rig.start();
  std::vector<std::unique_ptr<RawClient>> clients;
  int refused = 0;
  for (int i = 0; i < 40; ++i) {
    RawClient& client = *clients.emplace_back(rig.connect());
    const std::uint64_t before = rig.server->held_bytes();
    client.send("GET / HTTP/1.1\r\nx: " + std::string(50'000, 'x'));
    ASSERT_TRUE(rig.pump_until([&] {
      client.receive();
      return !client.received.empty() || rig.server->held_bytes() >= before + 50'000;
    }));
    if (client.received.starts_with("HTTP/1.1 503")) ++refused;
  }
  EXPECT_LE(rig.server->held_bytes(), kBudget);
  EXPECT_GE(refused, 20);
  EXPECT_LE(refused, 22);
}

// req: daemon.http.22
TEST_F(HttpBudget, WhatAHandlerKeepsCountsUntilItsAnswer) {
  rig.start();
  const auto client = rig.connect();
  client->send(kGet);
  ASSERT_TRUE(rig.pump_until([&] { return rig.waiting.size() == 1; }));
  HttpExchange& exchange = *rig.waiting[0];
  EXPECT_TRUE(exchange.has_room(kBudget));
  EXPECT_FALSE(exchange.has_room(kBudget + 1));
  exchange.keep(600'000);
  EXPECT_EQ(rig.server->held_bytes(), 600'000U);
  EXPECT_TRUE(exchange.has_room(400'000));
  EXPECT_FALSE(exchange.has_room(400'001));
  exchange.keep(100'000);
  EXPECT_EQ(rig.server->held_bytes(), 100'000U);
  exchange.respond({});
  EXPECT_EQ(rig.reply(*client)->status, 200);
  EXPECT_TRUE(falls_to_nothing());
}

// req: daemon.http.22
TEST_F(HttpBudget, ALargeAnswerIsGivenBackAsItIsTaken) {
  rig.limits.held_bytes_max = 100 * kBudget;
  rig.handler.handle = [](const HttpRequest&, HttpExchangePtr exchange) {
    exchange->respond({.body = std::string(40'000'000, 'x')});
  };
  rig.start();
  const auto client = rig.connect(4096);
  client->send(kGet);
  ASSERT_TRUE(rig.pump_until([&] { return rig.server->held_bytes() >= 20'000'000; }));
  std::size_t taken = 0;
  ASSERT_TRUE(rig.pump_until([&] {
    client->receive();
    taken += client->received.size();
    client->received.clear();
    return taken > 30'000'000;
  }));
  EXPECT_LE(rig.server->held_bytes(), 20'000'000U);
  ASSERT_TRUE(rig.pump_until([&] {
    client->receive();
    return rig.server->held_bytes() == 0;
  }));
}

// req: daemon.http.24
TEST_F(HttpBudget, RoomIsOfferedInTurnAndWhenTheClientHasTakenWhatItWasTold) {
  rig.limits.held_bytes_max = 100 * kBudget;
  rig.start();
  const auto client = rig.connect();
  client->send(get("/0") + get("/1"));
  ASSERT_TRUE(rig.pump_until([&] { return rig.waiting.size() == 2; }));
  std::vector<std::string> calls;
  rig.waiting[1]->when_room([&] { calls.emplace_back("second"); });
  for (int i = 0; i < 10; ++i) rig.pump();
  EXPECT_TRUE(calls.empty()) << "an earlier answer is owed";
  rig.waiting[0]->when_room([&] { calls.emplace_back("first"); });
  EXPECT_TRUE(calls.empty()) << "never from inside";
  ASSERT_TRUE(rig.pump_until([&] { return !calls.empty(); }));
  EXPECT_EQ(calls, std::vector<std::string>{"first"});
  // More than the sockets hold.
  rig.waiting[0]->begin({});
  while (rig.waiting[0]->unsent() < 200'000) {
    ASSERT_TRUE(rig.waiting[0]->write(std::string(100'000, 'x')));
    rig.pump();
  }
  rig.waiting[0]->when_room([&] { calls.emplace_back("again"); });
  for (int i = 0; i < 10; ++i) rig.pump();
  EXPECT_EQ(calls.size(), 1U) << "the client has not read";
  ASSERT_TRUE(rig.pump_until([&] {
    client->receive();
    return calls.size() == 2;
  }));
  rig.waiting[0]->end();
  ASSERT_TRUE(rig.pump_until([&] {
    client->receive();
    return calls.size() == 3;
  }));
  EXPECT_EQ(calls.back(), "second");
}

// Unlike one that never ends.
// req: daemon.http.24
TEST_F(HttpBudget, AnAnswerInPiecesReachesAClientThatHasSaidAll) {
  rig.start();
  const auto client = rig.connect();
  client->send(kGet);
  ASSERT_TRUE(rig.pump_until([&] { return rig.waiting.size() == 1; }));
  HttpExchange& exchange = *rig.waiting[0];
  int calls = 0;
  exchange.when_room([&] { ++calls; });
  ASSERT_TRUE(rig.pump_until([&] { return calls == 1; }));
  exchange.begin({});
  EXPECT_TRUE(exchange.write("one "));
  client->end_sending();
  for (int i = 0; i < 20; ++i) rig.pump();
  exchange.when_room([&] { ++calls; });
  ASSERT_TRUE(rig.pump_until([&] { return calls == 2; }));
  EXPECT_TRUE(exchange.write("two"));
  exchange.end();
  EXPECT_EQ(rig.reply(*client)->body, "one two");
  EXPECT_TRUE(rig.closes(*client));
}

// req: daemon.http.24
TEST_F(HttpBudget, NobodyIsCalledForAClientThatIsGone) {
  rig.start();
  auto client = rig.connect();
  client->send(get("/0") + get("/1"));
  ASSERT_TRUE(rig.pump_until([&] { return rig.waiting.size() == 2; }));
  const auto watched = std::make_shared<int>(0);
  rig.waiting[1]->when_room([watched] { ++*watched; });
  client->reset();
  EXPECT_TRUE(rig.pump_until([&] { return rig.server->connections() == 0; }));
  EXPECT_EQ(*watched, 0);
  EXPECT_EQ(watched.use_count(), 1) << "what it held is given back";
}

// req: daemon.http.25
TEST_F(HttpBudget, ARefusalOfTheHeadComesBeforeTheBody) {
  rig.handler.stream = [](const HttpRequest& request, HttpExchangePtr exchange) -> HttpBodySink {
    EXPECT_TRUE(request.body_waits);
    EXPECT_EQ(request.length, 500'000U);
    exchange->respond({.status = 401, .body = "who are you?"});
    return {};
  };
  rig.start();
  std::vector<std::unique_ptr<RawClient>> clients;
  for (int i = 0; i < 20; ++i) {
    clients.push_back(rig.connect());
    const std::string expect = i % 2 == 0 ? "expect: 100-continue\r\n" : "";
    clients.back()->send("POST / HTTP/1.1\r\nhost: a\r\n" + expect +
                         "content-length: 500000\r\n\r\n" +
                         (i % 2 == 0 ? "" : std::string(50'000, 'x')));
    const auto reply = rig.reply(*clients.back());
    ASSERT_TRUE(reply);
    EXPECT_EQ(reply->status, 401);
    EXPECT_EQ(reply->header("connection"), "close");
  }
  EXPECT_EQ(rig.server->held_bytes(), 0U);
  EXPECT_TRUE(rig.waiting.empty());
}

// req: daemon.http.25
TEST_F(HttpBudget, AWholeRequestIsToldFromOneWhoseBodyIsAwaited) {
  std::vector<bool> waits;
  rig.handler.stream = [&](const HttpRequest& request, HttpExchangePtr) -> HttpBodySink {
    waits.push_back(request.body_waits);
    return {};
  };
  rig.start();
  const auto client = rig.connect();
  client->send(post("/", "whole"));
  ASSERT_TRUE(rig.pump_until([&] { return rig.waiting.size() == 1; }));
  const auto other = rig.connect();
  const std::string half = post("/", "whole");
  other->send(half.substr(0, half.size() - 2));
  ASSERT_TRUE(rig.pump_until([&] { return waits.size() == 2; }));
  EXPECT_EQ(waits, (std::vector<bool>{false, true}));
}

// Whatever clients and handlers do, in whatever order: the budget holds, and in the end nothing is
// counted that nobody holds.
class HttpBudgetChaos : public HttpBudget, public ::testing::WithParamInterface<unsigned> {
 protected:
  std::uint64_t below(std::uint64_t bound) { return rng_() % bound; }

  void client_acts() {
    if (clients_.size() < 12 && below(3) == 0) clients_.push_back(rig.connect(4096));
    if (clients_.empty()) return;
    auto& client = clients_[below(clients_.size())];
    switch (below(8)) {
      case 0: client->send(get("/") + get("/") + get("/")); break;
      case 1: client->send(post("/", std::string(below(150'000), 'x'))); break;
      case 2: client->send(announcement(below(300'000))); break;
      case 3: client->send(std::string(below(50'000), 'x')); break;
      case 4:
        client->send("POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n3e8\r\n" +
                     std::string(1000, 'x') + "\r\n");
        break;
      case 5: client->send("GET / HTTP/1.1\r\nx: " + std::string(below(10'000), 'x')); break;
      case 6:
        client->receive();
        client->received.clear();
        break;
      default:
        clients_.erase(clients_.begin() + static_cast<std::ptrdiff_t>(&client - &clients_[0]));
    }
  }

  void handler_acts() {
    if (rig.waiting.empty()) return;
    const std::size_t index = below(rig.waiting.size());
    const HttpExchangePtr exchange = rig.waiting[index];
    switch (below(7)) {
      case 0: exchange->respond({.body = std::string(below(300'000), 'x')}); break;
      case 1: exchange->keep(exchange->has_room(200'000) ? below(200'000) : 0); break;
      case 2: exchange->begin({}); break;
      case 3:
        if (exchange->unsent() < 100'000) exchange->write(std::string(below(20'000), 'x'));
        break;
      case 4: exchange->end(); break;
      case 5:
        exchange->when_room([weak = std::weak_ptr(exchange)] {
          if (const auto it = weak.lock()) it->write(std::string(1000, 'x'));
        });
        break;
      default: rig.waiting.erase(rig.waiting.begin() + static_cast<std::ptrdiff_t>(index));
    }
  }

  std::vector<std::unique_ptr<RawClient>> clients_;
  std::mt19937 rng_{GetParam()};
};

// req: daemon.http.22
TEST_P(HttpBudgetChaos, NothingIsLostOrCountedTwice) {
  // Small answers, heads, and long answers that were not asked about room.
  constexpr std::uint64_t kOverdraft = 12 * (4096 + 65'536 + 120'000);
  rig.start();
  for (int step = 0; step < 1500; ++step) {
    client_acts();
    handler_acts();
    if (below(2) == 0) rig.pump();
    if (below(200) == 0) rig.pass(rig.limits.body_time_out);
    ASSERT_LE(rig.server->held_bytes(), kBudget + kOverdraft) << step;
  }
  clients_.clear();
  // A client that has said all may wait for its answer, also one whose request is still on its way.
  EXPECT_TRUE(rig.pump_until([&] {
    rig.waiting.clear();
    return rig.server->connections() == 0;
  }));
  EXPECT_EQ(rig.server->held_bytes(), 0U);
}

INSTANTIATE_TEST_SUITE_P(Seeds, HttpBudgetChaos, ::testing::Range(1U, 9U));

}  // namespace
}  // namespace postrider
