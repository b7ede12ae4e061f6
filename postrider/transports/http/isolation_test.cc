// What all destinations share on the way out, and that none of them, and no crowd of them, can keep
// the others from it: names, connections, handshakes.
#include <string>
#include <utility>
#include <vector>

#include <boost/asio/ssl/context.hpp>
#include <gtest/gtest.h>

#include "postrider/transports/http/http_transport.h"
#include "postrider/transports/http/peers_testing.h"

namespace postrider {
namespace {

constexpr int kHostile = 300;
constexpr int kHealthy = 40;

std::string url_of(std::string_view scheme, const std::string& name, const Peer& peer) {
  return std::string(scheme) + "://" + name + ":" + std::to_string(peer.port()) + "/";
}
std::string healthy_name(int number) { return "h" + std::to_string(number) + ".example"; }
std::string silent_name(int number) { return "s" + std::to_string(number) + ".void.example"; }

// Answers and closes, as many receivers do, so that every request needs an address again.
Peer::Script answers_and_closes() {
  return [](Link& link) -> Task {
    co_await link.request();
    co_await link.write(answer(200, "", "connection: close\r\n"));
  };
}

Peer::Script never_answers() {
  return [](Link& link) -> Task { co_await link.gone(); };
}

HttpTransportOptions few_places() {
  HttpTransportOptions options = Rig::local();
  options.names_asking_max = 16;
  options.connections_max = 64;
  return options;
}

struct NamesRig {
  explicit NamesRig(HttpTransportOptions options = few_places()) : rig(std::move(options)) {
    rig.names.silent_below = "void.example";
    for (int i = 0; i < kHealthy; ++i) rig.names.known[healthy_name(i)] = {{"127.0.0.1", 1}};
  }
  std::vector<AttemptId> start_silent() {
    std::vector<AttemptId> out;
    out.reserve(kHostile);
    for (int i = 0; i < kHostile; ++i)
      out.push_back(rig.start(url_of("http", silent_name(i), peer)));
    return out;
  }
  std::vector<AttemptId> start_healthy() {
    std::vector<AttemptId> out;
    out.reserve(kHealthy);
    for (int i = 0; i < kHealthy; ++i)
      out.push_back(rig.start(url_of("http", healthy_name(i), peer)));
    return out;
  }
  Rig rig;
  Peer peer{rig.loop, answers_and_closes()};
};

// req: daemon.ways.7
TEST(HttpIsolation, NamesThatAreNeverAnsweredDoNotStopThoseThatAnsweredLately) {
  NamesRig here;
  for (const AttemptId attempt : here.start_healthy())
    ASSERT_EQ(here.rig.end_of(attempt).status, 200);
  here.start_silent();
  here.rig.settle();
  for (int round = 0; round < 3; ++round) {
    here.rig.now = here.rig.now + 2s;  // no address may be used any more without asking
    for (const AttemptId attempt : here.start_healthy())
      ASSERT_EQ(here.rig.end_of(attempt).status, 200);
  }
}

// Those have to wait a little, but they are held back at most, and are through soon.
// req: daemon.ways.6, daemon.ways.7
TEST(HttpIsolation, NamesThatAreNeverAnsweredDoNotStopThoseThatAreAskedForTheFirstTime) {
  NamesRig here;
  here.start_silent();
  int delivered = 0;
  for (int round = 0; round < 10 && delivered < kHealthy; ++round) {
    const std::vector<AttemptId> attempts = here.start_healthy();
    for (int second = 0; second < 4; ++second) {
      here.rig.settle();
      here.rig.advance(1s);
    }
    here.rig.settle();
    delivered = 0;
    for (const AttemptId attempt : attempts) {
      const WireReply reply = here.rig.end_of(attempt);
      EXPECT_TRUE(reply.status == 200 || reply.end == WireEnd::kHeldBack);
      delivered += reply.status == 200 ? 1 : 0;
    }
  }
  EXPECT_EQ(delivered, kHealthy);
}

// req: daemon.ways.6
TEST(HttpIsolation, WhoseNameWasNotAskedForIsHeldBackInTimeAndWhoseNameWasIsNot) {
  HttpTransportOptions options = few_places();
  options.names_asking_max = 1;
  options.name_patience = 60s;
  NamesRig here(options);
  const AttemptId asked = here.rig.start(url_of("http", silent_name(0), here.peer));
  const AttemptId waits = here.rig.start(url_of("http", healthy_name(0), here.peer));
  const AttemptId hurries = here.rig.start(url_of("http", healthy_name(0), here.peer), "{}", 4s);
  here.rig.advance(999ms);
  EXPECT_FALSE(here.rig.has_ended(hurries));
  here.rig.advance(1ms);
  EXPECT_EQ(here.rig.end_of(hurries).end, WireEnd::kHeldBack);
  here.rig.advance(1'999ms);
  EXPECT_FALSE(here.rig.has_ended(waits));
  here.rig.advance(1ms);
  EXPECT_EQ(here.rig.end_of(waits).end, WireEnd::kHeldBack);
  EXPECT_FALSE(here.rig.has_ended(asked));
  here.rig.advance(12s);
  EXPECT_EQ(here.rig.end_of(asked).end, WireEnd::kNoName);
}

// req: webhook.wire.4
TEST(HttpIsolation, AnAddressThatHasExpiredIsUsedWhileItsRenewalIsSilent) {
  NamesRig here;
  const std::string url = url_of("http", healthy_name(0), here.peer);
  EXPECT_EQ(here.rig.post(url).status, 200);
  here.rig.names.silent = true;
  here.rig.now = here.rig.now + 2s;
  const AttemptId waits = here.rig.start(url);
  here.rig.settle();
  here.rig.advance(999ms);
  here.rig.settle();
  EXPECT_FALSE(here.rig.has_ended(waits)) << "the renewal has its chance";
  here.rig.advance(1ms);
  EXPECT_EQ(here.rig.end_of(waits).status, 200);
  EXPECT_EQ(here.rig.post(url).status, 200) << "the others need not wait";
  here.rig.now = here.rig.now + 300s;
  const AttemptId late = here.rig.start(url);
  here.rig.advance(15s);
  EXPECT_EQ(here.rig.end_of(late).end, WireEnd::kNoName) << "too old";
}

// req: webhook.wire.4
TEST(HttpIsolation, AnAddressIsNotUsedBeyondTheWordThatThereIsNoneOrThatItMustNotBeKept) {
  for (const bool removed : {true, false}) {
    NamesRig here;
    const std::string url = url_of("http", healthy_name(0), here.peer);
    if (!removed) here.rig.names.known[healthy_name(0)] = {{"127.0.0.1", 0}};
    EXPECT_EQ(here.rig.post(url).status, 200);
    here.rig.now = here.rig.now + 2s;
    if (removed) {
      here.rig.names.known.erase(healthy_name(0));
      EXPECT_EQ(here.rig.post(url).end, WireEnd::kNoName);
      here.rig.now = here.rig.now + 6s;
    }
    here.rig.names.silent = true;
    const AttemptId attempt = here.rig.start(url);
    here.rig.settle();
    here.rig.advance(15s);
    EXPECT_EQ(here.rig.end_of(attempt).end, WireEnd::kNoName);
  }
}

HttpTransportOptions quick_silence() {
  HttpTransportOptions options = few_places();
  options.name_time_out = 10ms;  // of the real clock: c-ares has no other
  options.name_asks_max = 1;
  return options;
}

// req: webhook.wire.18
TEST(HttpIsolation, SilenceIsRememberedForLongerEachTimeUpToALimit) {
  NamesRig here(quick_silence());
  const std::string url = url_of("http", silent_name(0), here.peer);
  EXPECT_EQ(here.rig.post(url).end, WireEnd::kNoName);
  int asked = 1;
  for (const Duration quiet : {5s, 10s, 20s, 40s, 60s, 60s}) {
    EXPECT_EQ(here.rig.names.questions, asked);
    here.rig.now = here.rig.now + quiet - 1ms;
    EXPECT_EQ(here.rig.post(url).end, WireEnd::kNoName);
    EXPECT_EQ(here.rig.names.questions, asked) << quiet.count();
    here.rig.now = here.rig.now + 1ms;
    EXPECT_EQ(here.rig.post(url).end, WireEnd::kNoName);
    ++asked;
  }
  here.rig.names.silent_below.clear();
  here.rig.names.known[silent_name(0)] = {{"127.0.0.1", 1}};
  here.rig.now = here.rig.now + 60s;
  EXPECT_EQ(here.rig.post(url).status, 200);
}

// req: daemon.ways.7
TEST(HttpIsolation, ACrowdOfSilentNamesIsForgottenBeforeThoseThatAnswer) {
  HttpTransportOptions options = quick_silence();
  options.names_max = 16;
  NamesRig here(options);
  constexpr int kKnown = 12;
  for (int i = 0; i < kKnown; ++i) here.rig.names.known[healthy_name(i)] = {{"127.0.0.1", 600}};
  for (int i = 0; i < kKnown; ++i)
    EXPECT_EQ(here.rig.post(url_of("http", healthy_name(i), here.peer)).status, 200);
  for (int i = 0; i < 40; ++i)
    EXPECT_EQ(here.rig.post(url_of("http", silent_name(i), here.peer)).end, WireEnd::kNoName);
  const int asked = here.rig.names.questions;
  for (int i = 0; i < kKnown; ++i)
    EXPECT_EQ(here.rig.post(url_of("http", healthy_name(i), here.peer)).status, 200);
  EXPECT_EQ(here.rig.names.questions, asked);
}

// Sixteen connections; hosts that connect and then hang, in the answer or in the handshake.
class HttpIsolationOf : public ::testing::TestWithParam<bool> {
 protected:
  static HttpTransportOptions sixteen() {
    HttpTransportOptions options = Rig::local();
    options.connections_max = 16;
    return options;
  }
  WireRequest request(const std::string& name, const Peer& peer) const {
    WireRequest out;
    out.verb = "POST";
    out.target = url_of(GetParam() ? "https" : "http", name, peer);
    out.time_out = 15s;
    if (GetParam()) out.trust = authority.pem();
    return out;
  }
  void know(const std::string& name) { rig.names.known[name] = {{"127.0.0.1", 3600}}; }
  std::string hostile(int number) {
    std::string name = "hang" + std::to_string(number) + ".example";
    know(name);
    return name;
  }
  bool tls = GetParam();
  Certificate authority = make_certificate({.authority = true});
  Certificate certificate = make_certificate({.name = "DNS:good.example"}, &authority);
  std::unique_ptr<boost::asio::ssl::context> context = server_context(certificate);
  Rig rig{sixteen()};
  Peer hangs{rig.loop, never_answers()};  // with TLS it never says hello
  Peer good{rig.loop, answers_and_closes(), "127.0.0.1", tls ? context.get() : nullptr};
};

// req: daemon.ways.8
TEST_P(HttpIsolationOf, ManyHostsThatHangLeaveAPlaceForOneThatAnswers) {
  know("good.example");
  EXPECT_EQ(rig.end_of(rig.start(request("good.example", good))).status, 200);
  for (int i = 0; i < 50; ++i) rig.start(request(hostile(i), hangs));
  rig.until([&] { return rig.transport->waiting() == 35; });
  EXPECT_EQ(rig.transport->connections(), 15U);
  for (int i = 0; i < 5; ++i)
    ASSERT_EQ(rig.end_of(rig.start(request("good.example", good))).status, 200);
  EXPECT_EQ(rig.order.size(), 6U);
}

// req: daemon.ways.8
TEST_P(HttpIsolationOf, OneHostThatHangsLeavesPlacesForHostsThatAreNew) {
  const std::string name = hostile(0);
  for (int i = 0; i < 50; ++i) rig.start(request(name, hangs));
  rig.until([&] { return rig.transport->waiting() == 36; });
  EXPECT_EQ(rig.transport->connections(), 14U);
  know("good.example");
  for (int i = 0; i < 5; ++i)
    ASSERT_EQ(rig.end_of(rig.start(request("good.example", good))).status, 200);
}

// req: daemon.ways.8
TEST_P(HttpIsolationOf, HostsThatWaitTakeTurns) {
  const std::string name = hostile(0);
  for (int i = 0; i < 14; ++i) rig.start(request(name, hangs));
  rig.until([&] { return rig.transport->connections() == 14; });
  for (int i = 1; i < 3; ++i) rig.start(request(hostile(i), hangs));
  rig.until([&] { return rig.transport->connections() == 15; });
  for (int i = 0; i < 20; ++i) rig.start(request(name, hangs));
  know("good.example");
  const AttemptId waits = rig.start(request("good.example", good));
  rig.until([&] { return rig.transport->waiting() == 22; });
  // Two that hang make room: the first for the host that waits for longest, the second for ours.
  rig.transport->abort(AttemptId(1));
  rig.transport->abort(AttemptId(2));
  EXPECT_EQ(rig.end_of(waits).status, 200);
}

// req: daemon.ways.8
TEST(HttpIsolation, ExchangesThatWaitForOneHostLeaveRoomForOthers) {
  HttpTransportOptions options = Rig::local();
  options.connections_max = 1;
  options.waiting_max = 16;
  Rig rig(options);
  Peer hangs(rig.loop, never_answers());
  Peer good(rig.loop, answers_and_closes());
  for (int i = 0; i < 20; ++i) rig.start(hangs.url());
  EXPECT_EQ(rig.transport->waiting(), 14U);
  const AttemptId waits = rig.start(good.url());
  EXPECT_EQ(rig.transport->waiting(), 15U);
  rig.settle();
  EXPECT_FALSE(rig.has_ended(waits));
  rig.transport->abort(AttemptId(1));  // hosts take turns
  EXPECT_EQ(rig.end_of(waits).status, 200);
}

INSTANTIATE_TEST_SUITE_P(, HttpIsolationOf, ::testing::Bool(), [](const auto& tested) {
  return std::string(tested.param ? "Tls" : "Plain");
});

}  // namespace
}  // namespace postrider
