// Connections that are kept, shared, limited, cut off and timed out.
#include <chrono>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "postrider/transports/http/http_transport.h"
#include "postrider/transports/http/peers_testing.h"

namespace postrider {
namespace {

// Answers when the test says so, and counts how many wait.
struct Gate {
  int arrived = 0;
  int released = 0;
  std::vector<std::string> bodies;

  Peer::Script script() {
    return [this](Link& link) -> Task {
      std::string request = co_await link.request();
      while (!request.empty()) {
        bodies.push_back(request.substr(request.find("\r\n\r\n") + 4));
        const int mine = ++arrived;
        co_await link.until([this, mine] { return released >= mine; });
        co_await link.write(answer(200));
        request = co_await link.request();
      }
    };
  }
};

// req: webhook.wire.5
TEST(HttpPool, KeepsAConnectionAndUsesItAgain) {
  Rig rig;
  Peer peer(rig.loop, always(answer(200, "hello")));
  for (int i = 0; i < 5; ++i) EXPECT_EQ(rig.post(peer.url("/" + std::to_string(i))).status, 200);
  EXPECT_EQ(peer.accepted, 1);
  EXPECT_EQ(rig.transport->connections(), 1U);
  EXPECT_EQ(rig.transport->idle_connections(), 1U);
  EXPECT_EQ(rig.transport->counts().connects, 1U);
  EXPECT_EQ(rig.transport->counts().reuses, 4U);
}

TEST(HttpPool, DoesNotKeepWhatThePeerWantsToClose) {
  Rig rig;
  Peer peer(rig.loop, always(answer(200, "", "connection: close\r\n")));
  EXPECT_EQ(rig.post(peer.url()).status, 200);
  EXPECT_EQ(rig.transport->connections(), 0U);
}

TEST(HttpPool, NoticesWhenThePeerClosesAKeptConnection) {
  Rig rig;
  bool enough = false;
  Peer peer(rig.loop, [&](Link& link) -> Task {
    co_await link.request();
    co_await link.write(answer(200));
    co_await link.until([&] { return enough; });
    link.close();
  });
  EXPECT_EQ(rig.post(peer.url()).status, 200);
  EXPECT_EQ(rig.transport->idle_connections(), 1U);
  enough = true;
  rig.until([&] { return rig.transport->connections() == 0; });
  EXPECT_EQ(rig.transport->idle_connections(), 0U);
}

// req: webhook.wire.5
TEST(HttpPool, KeepsSoManyPerHostAndNoMore) {
  for (const std::uint32_t limit : {0U, 1U, 3U, 4U, 5U}) {
    HttpTransportOptions options = Rig::local();
    options.idle_per_host_max = limit;
    Rig rig(options);
    Gate gate;
    Peer peer(rig.loop, gate.script());
    for (int i = 0; i < 4; ++i) rig.start(peer.url());
    rig.until([&] { return gate.arrived == 4; });
    EXPECT_EQ(rig.transport->connections(), 4U);
    gate.released = 4;
    rig.until([&] { return rig.order.size() == 4; });
    EXPECT_EQ(rig.transport->idle_connections(), std::min(limit, 4U));
    EXPECT_EQ(rig.transport->connections(), std::min(limit, 4U));
  }
}

TEST(HttpPool, AsksThePeerToCloseWhenNothingIsKept) {
  HttpTransportOptions options = Rig::local();
  options.idle_per_host_max = 0;
  Rig rig(options);
  std::string seen;
  Peer peer(rig.loop, [&](Link& link) -> Task {
    seen = co_await link.request();
    co_await link.write(answer(200));
  });
  rig.post(peer.url());
  EXPECT_NE(seen.find("\r\nconnection: close\r\n"), std::string::npos);
}

// req: webhook.wire.5
TEST(HttpPool, ClosesTheLongestIdleConnectionBeyondTheLimit) {
  HttpTransportOptions options = Rig::local();
  options.idle_connections_max = 2;
  Rig rig(options);
  Peer first(rig.loop, always(answer(200)));
  Peer second(rig.loop, always(answer(200)));
  Peer third(rig.loop, always(answer(200)));
  rig.post(first.url());
  rig.post(second.url());
  EXPECT_EQ(rig.transport->idle_connections(), 2U);
  rig.post(first.url());  // now the second one is idle for longest
  rig.post(third.url());
  EXPECT_EQ(rig.transport->idle_connections(), 2U);
  rig.until([&] { return second.open == 0; });
  rig.post(first.url());
  rig.post(third.url());
  EXPECT_EQ(first.accepted, 1);
  EXPECT_EQ(third.accepted, 1);
}

TEST(HttpPool, ClosesAConnectionThatWasIdleForTooLong) {
  Rig rig;
  Peer peer(rig.loop, always(answer(200)));
  rig.post(peer.url());
  rig.advance(29'999ms);
  EXPECT_EQ(rig.transport->idle_connections(), 1U);
  rig.advance(1ms);
  EXPECT_EQ(rig.transport->connections(), 0U);
  rig.until([&] { return peer.open == 0; });
}

TEST(HttpPool, DoesNotUseAConnectionBeyondItsLife) {
  Rig rig;
  Peer peer(rig.loop, always(answer(200)));
  rig.post(peer.url());
  for (int i = 0; i < 11; ++i) {
    rig.now = rig.now + 25s;
    rig.post(peer.url());
  }
  EXPECT_EQ(peer.accepted, 1);
  rig.now = rig.now + 25s;  // 300 s
  rig.post(peer.url());
  EXPECT_EQ(rig.transport->connections(), 0U);
  rig.post(peer.url());
  EXPECT_EQ(peer.accepted, 2);
}

// req: webhook.wire.5, webhook.wire.10
TEST(HttpPool, ServesThoseWhoWaitForAConnectionInOrder) {
  HttpTransportOptions options = Rig::local();
  options.connections_max = 2;
  Rig rig(options);
  Gate gate;
  Peer peer(rig.loop, gate.script());
  for (int i = 0; i < 7; ++i) rig.start(peer.url(), std::to_string(i));
  rig.until([&] { return gate.arrived == 2; });
  EXPECT_EQ(rig.transport->connections(), 2U);
  EXPECT_EQ(rig.transport->waiting(), 5U);
  for (int i = 3; i <= 7; ++i) {
    ++gate.released;
    rig.until([&] { return gate.arrived == i; });
    EXPECT_EQ(gate.bodies.back(), std::to_string(i - 1));
  }
  gate.released = 7;
  rig.until([&] { return rig.order.size() == 7; });
  EXPECT_EQ(peer.accepted, 2);
}

TEST(HttpPool, GivesUpKeptConnectionsForHostsThatNeedOne) {
  HttpTransportOptions options = Rig::local();
  options.connections_max = 1;
  Rig rig(options);
  Peer first(rig.loop, always(answer(200)));
  Peer second(rig.loop, always(answer(200)));
  rig.start(first.url());
  rig.start(second.url());
  rig.start(first.url());
  rig.start(second.url());
  rig.until([&] { return rig.order.size() == 4; });
  EXPECT_EQ(rig.order, (std::vector<std::uint64_t>{1, 2, 3, 4}));
  EXPECT_EQ(rig.transport->connections(), 1U);
  rig.post(first.url());
  EXPECT_EQ(rig.transport->connections(), 1U);
}

// req: webhook.wire.10, daemon.ways.6
TEST(HttpPool, HoldsBackWhatHasWaitedForAQuarterOfItsTime) {
  HttpTransportOptions options = Rig::local();
  options.connections_max = 1;
  Rig rig(options);
  Gate gate;
  Peer peer(rig.loop, gate.script());
  rig.start(peer.url(), "{}", 60s);
  const AttemptId waits = rig.start(peer.url(), "{}", 5s);
  const AttemptId longer = rig.start(peer.url(), "{}", 60s);
  rig.until([&] { return gate.arrived == 1; });
  rig.advance(1'249ms);
  rig.settle();
  EXPECT_FALSE(rig.has_ended(waits));
  rig.advance(1ms);
  EXPECT_EQ(rig.end_of(waits).end, WireEnd::kHeldBack);
  rig.advance(1'749ms);
  EXPECT_FALSE(rig.has_ended(longer));
  rig.advance(1ms);
  EXPECT_EQ(rig.end_of(longer).end, WireEnd::kHeldBack);
  EXPECT_EQ(rig.transport->waiting(), 0U);
  gate.released = 1;
  rig.until([&] { return rig.order.size() == 3; });
}

// req: daemon.ways.6
TEST(HttpPool, HoldsBackWhenTooManyWait) {
  HttpTransportOptions options = Rig::local();
  options.connections_max = 1;
  options.waiting_max = 2;
  Rig rig(options);
  Gate gate;
  Peer peer(rig.loop, gate.script());
  for (int i = 0; i < 3; ++i) rig.start(peer.url());
  EXPECT_EQ(rig.transport->waiting(), 2U);
  EXPECT_EQ(rig.post(peer.url()).end, WireEnd::kHeldBack);
  gate.released = 3;
  rig.until([&] { return rig.order.size() == 4; });
}

TEST(HttpPool, ForgetsAnAbortedOneThatWaits) {
  HttpTransportOptions options = Rig::local();
  options.connections_max = 1;
  Rig rig(options);
  Gate gate;
  Peer peer(rig.loop, gate.script());
  rig.start(peer.url(), "first");
  const AttemptId aborted = rig.start(peer.url(), "aborted");
  rig.start(peer.url(), "last");
  rig.transport->abort(aborted);
  EXPECT_EQ(rig.transport->waiting(), 1U);
  gate.released = 2;
  rig.until([&] { return rig.order.size() == 2; });
  EXPECT_FALSE(rig.has_ended(aborted));
  EXPECT_EQ(gate.bodies, (std::vector<std::string>{"first", "last"}));
  EXPECT_EQ(peer.accepted, 1);
}

TEST(HttpPool, AnAbortMakesRoomForThoseWhoWait) {
  HttpTransportOptions options = Rig::local();
  options.connections_max = 1;
  Rig rig(options);
  Gate gate;
  gate.released = 2;
  Peer slow(rig.loop, [](Link& link) -> Task { co_await link.gone(); });
  Peer peer(rig.loop, gate.script());
  const AttemptId hangs = rig.start(slow.url());
  const AttemptId waits = rig.start(peer.url());
  rig.until([&] { return slow.accepted == 1; });
  rig.transport->abort(hangs);
  EXPECT_EQ(rig.end_of(waits).status, 200);
  EXPECT_FALSE(rig.has_ended(hangs));
}

// Serves one request per connection and cuts off the second before its answer: `bytes` of it come.
Peer::Script cuts_off_reuse(bool rudely, std::string bytes, int& served) {
  return [rudely, bytes = std::move(bytes), &served](Link& link) -> Task {
    co_await link.request();
    ++served;
    co_await link.write(answer(200));
    const std::string second = co_await link.request();
    if (second.empty()) co_return;
    ++served;
    if (!bytes.empty()) co_await link.write(bytes);
    rudely ? link.reset() : link.close();
  };
}

// req: webhook.wire.6, engine.life.14
TEST(HttpPool, RepeatsOnceWhenAKeptConnectionIsCutOffBeforeAnyByteOfTheAnswer) {
  for (const bool rudely : {false, true}) {
    Rig rig;
    int served = 0;
    Peer peer(rig.loop, cuts_off_reuse(rudely, "", served));
    EXPECT_EQ(rig.post(peer.url()).status, 200);
    EXPECT_EQ(rig.post(peer.url()).status, 200);
    EXPECT_EQ(peer.accepted, 2);
    EXPECT_EQ(served, 3);
    EXPECT_EQ(rig.transport->counts().repeats, 1U);
  }
}

WireRequest once(const std::string& url) {
  WireRequest request;
  request.verb = "POST";
  request.target = url;
  request.time_out = 15s;
  request.once = true;
  return request;
}

// req: daemon.ways.2
TEST(HttpPool, SendsWhatMustNotHappenTwiceOverAFreshConnection) {
  Rig rig;
  int served = 0;
  Peer peer(rig.loop, cuts_off_reuse(false, "", served));
  EXPECT_EQ(rig.post(peer.url()).status, 200);
  EXPECT_EQ(rig.transport->idle_connections(), 1U);
  EXPECT_EQ(rig.end_of(rig.start(once(peer.url()))).status, 200);
  EXPECT_EQ(peer.accepted, 2);
  EXPECT_EQ(served, 2);
  EXPECT_EQ(rig.transport->counts().reuses, 0U);
}

// With one connection for all it has to take the one that is there.
// req: daemon.ways.2
TEST(HttpPool, DoesNotRepeatWhatMustNotHappenTwice) {
  HttpTransportOptions options = Rig::local();
  options.connections_max = 1;
  Rig rig(options);
  int served = 0;
  Peer peer(rig.loop, cuts_off_reuse(false, "", served));
  const AttemptId first = rig.start(peer.url());
  const AttemptId second = rig.start(once(peer.url()));
  EXPECT_EQ(rig.end_of(first).status, 200);
  EXPECT_EQ(rig.end_of(second).end, WireEnd::kReset);
  EXPECT_EQ(peer.accepted, 1);
  EXPECT_EQ(served, 2);
  EXPECT_EQ(rig.transport->counts().repeats, 0U);
}

// req: webhook.wire.6
TEST(HttpPool, DoesNotRepeatWhenAByteOfTheAnswerHasCome) {
  for (const bool rudely : {false, true}) {
    Rig rig;
    int served = 0;
    Peer peer(rig.loop, cuts_off_reuse(rudely, "H", served));
    EXPECT_EQ(rig.post(peer.url()).status, 200);
    EXPECT_EQ(rig.post(peer.url()).end, WireEnd::kReset);
    EXPECT_EQ(peer.accepted, 1);
    EXPECT_EQ(served, 2);
  }
}

// req: webhook.wire.6
TEST(HttpPool, RepeatsOnAFreshConnectionAndNotASecondTime) {
  Rig rig;
  int served = 0;
  Gate gate;
  bool mean = false;
  Peer peer(rig.loop, [&](Link& link) -> Task {
    std::string request = co_await link.request();
    while (!request.empty()) {
      ++served;
      if (mean) {
        link.reset();
        co_return;
      }
      const int mine = served;
      co_await link.until([&gate, mine] { return gate.released >= mine; });
      co_await link.write(answer(200));
      request = co_await link.request();
    }
  });
  rig.start(peer.url());
  rig.start(peer.url());
  rig.until([&] { return served == 2; });
  gate.released = 2;
  rig.until([&] { return rig.transport->idle_connections() == 2; });
  mean = true;
  EXPECT_EQ(rig.post(peer.url()).end, WireEnd::kReset);
  EXPECT_EQ(served, 4);
  EXPECT_EQ(peer.accepted, 3);  // not the other kept one
}

// req: webhook.certainty.2, engine.life.14, webhook.wire.14
TEST(HttpPool, IsUnknownWhenTheRepetitionMeetsNobody) {
  Rig rig;
  int served = 0;
  Peer* listening = nullptr;
  Peer peer(rig.loop, [&](Link& link) -> Task {
    co_await link.request();
    co_await link.write(answer(200));
    co_await link.request();
    ++served;
    listening->stop();
    link.reset();
  });
  listening = &peer;
  EXPECT_EQ(rig.post(peer.url()).status, 200);
  EXPECT_EQ(rig.post(peer.url()).end, WireEnd::kReset) << "the first round may have arrived";
  EXPECT_EQ(served, 1);
}

// req: webhook.wire.7
TEST(HttpTimeOut, OfConnectingSaysThatNothingWasSent) {
  HttpTransportOptions options = Rig::local();
  Rig rig(options);
  Peer peer(rig.loop, always(answer(200)));
  const AttemptId attempt = rig.start(peer.url());
  rig.advance(5s);  // before the loop could tell that it is connected
  EXPECT_EQ(rig.end_of(attempt).end, WireEnd::kRefused);
  EXPECT_EQ(rig.transport->connections(), 0U);
}

// req: webhook.wire.7
TEST(HttpTimeOut, OfTlsSaysThatNothingWasSent) {
  Rig rig;
  bool hello = false;
  Peer peer(rig.loop, [&](Link& link) -> Task {
    co_await link.some(1);
    hello = true;
    co_await link.gone();
  });
  const AttemptId attempt = rig.start("https" + peer.url().substr(4));
  rig.until([&] { return hello; });
  rig.advance(4'999ms);
  rig.settle();
  EXPECT_FALSE(rig.has_ended(attempt));
  rig.advance(1ms);
  EXPECT_EQ(rig.end_of(attempt).end, WireEnd::kNoTls);
  rig.until([&] { return peer.open == 0; });
}

// req: webhook.wire.7
TEST(HttpTimeOut, OfTheFirstByteStopsWithIt) {
  HttpTransportOptions options = Rig::local();
  options.first_byte_time_out = 2s;
  Rig rig(options);
  int received = 0;
  bool begin = false;
  bool begun = false;
  Peer peer(rig.loop, [&](Link& link) -> Task {
    co_await link.request();
    ++received;
    co_await link.until([&] { return begin; });
    co_await link.write("H");
    begun = true;
    co_await link.gone();
  });
  const AttemptId silent = rig.start(peer.url());
  rig.until([&] { return received == 1; });
  rig.advance(1'999ms);
  rig.settle();
  EXPECT_FALSE(rig.has_ended(silent));
  rig.advance(1ms);
  EXPECT_EQ(rig.end_of(silent).end, WireEnd::kTimedOut);
  rig.until([&] { return rig.transport->connections() == 0; });

  begin = true;
  rig.until([&] { return peer.open == 0; });
  begun = false;
  const AttemptId talking = rig.start(peer.url());
  rig.until([&] { return begun; });
  rig.settle();  // now the byte has been read
  rig.advance(14'999ms);
  rig.settle();
  EXPECT_FALSE(rig.has_ended(talking));
  rig.advance(1ms);
  EXPECT_EQ(rig.end_of(talking).end, WireEnd::kTimedOut);
}

// req: webhook.wire.7, matrix.http.1
TEST(HttpTimeOut, OfTheWholeExchangeEndsATricklingAnswer) {
  Rig rig;
  bool trickling = false;
  Peer peer(rig.loop, [&](Link& link) -> Task {
    co_await link.request();
    co_await link.write("HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nx");
    trickling = true;
    co_await link.gone();
  });
  const AttemptId attempt = rig.start(peer.url(), "{}", 10s);
  rig.until([&] { return trickling; });
  rig.advance(9'999ms);
  rig.settle();
  EXPECT_FALSE(rig.has_ended(attempt));
  rig.advance(1ms);
  EXPECT_EQ(rig.end_of(attempt).end, WireEnd::kTimedOut);
  EXPECT_EQ(rig.transport->connections(), 0U);
  rig.until([&] { return peer.open == 0; });
}

TEST(HttpTimeOut, OfARequestThatIsSentInPartIsUnknown) {
  HttpTransportOptions options = Rig::local();
  options.request_bytes_max = 64 * 1024 * 1024;
  Rig rig(options);
  bool some = false;
  Peer peer(rig.loop, [&](Link& link) -> Task {
    co_await link.some(10);
    some = true;
    co_await link.forever();
  });
  // NOLINTNEXTLINE(bugprone-string-constructor): more than the buffers of both sockets hold
  const AttemptId attempt = rig.start(peer.url(), std::string(32'000'000, 'x'), 10s);
  rig.until([&] { return some; });
  rig.advance(10s);
  EXPECT_EQ(rig.end_of(attempt).end, WireEnd::kTimedOut);
}

TEST(HttpTimeOut, IsCappedWhenARequestNamesNoneOrALongerOne) {
  HttpTransportOptions options = Rig::local();
  options.exchange_time_out_max = 20s;
  for (const Duration wish : {0s, 19s, 20s, 21s}) {
    Rig rig(options);
    bool received = false;
    Peer peer(rig.loop, [&](Link& link) -> Task {
      co_await link.request();
      received = true;
      co_await link.gone();
    });
    const AttemptId attempt = rig.start(peer.url(), "{}", wish);
    rig.until([&] { return received; });
    const Duration due = wish.count() == 0 ? Duration(20s) : std::min(wish, Duration(20s));
    rig.advance(due - 1ms);
    rig.settle();
    EXPECT_FALSE(rig.has_ended(attempt));
    rig.advance(1ms);
    EXPECT_EQ(rig.end_of(attempt).end, WireEnd::kTimedOut);
  }
}

// With the clock of the machine and the transport's own sweep.
TEST(HttpTimeOut, ComesByItself) {
  HttpTransportOptions options = Rig::local();
  options.idle_time_out = 50ms;
  options.now = [] {
    return Timestamp(
        std::chrono::duration_cast<Duration>(std::chrono::steady_clock::now().time_since_epoch())
            .count());
  };
  Rig rig(options);
  Peer silent(rig.loop, [](Link& link) -> Task { co_await link.gone(); });
  Peer peer(rig.loop, always(answer(200)));
  EXPECT_EQ(rig.end_of(rig.start(silent.url(), "{}", 100ms)).end, WireEnd::kTimedOut);
  EXPECT_EQ(rig.post(peer.url()).status, 200);
  rig.until([&] { return rig.transport->connections() == 0; });
  rig.until([&] { return peer.open == 0 && silent.open == 0; });
}

}  // namespace
}  // namespace postrider
