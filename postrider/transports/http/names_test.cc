// Names: who is asked, how long an answer counts, and where it may lead.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "postrider/transports/http/http_transport.h"
#include "postrider/transports/http/peers_testing.h"

namespace postrider {
namespace {

// Every exchange needs a new connection, and so an address.
HttpTransportOptions keeping_nothing() {
  HttpTransportOptions options = Rig::local();
  options.idle_per_host_max = 0;
  return options;
}

std::string at(const std::string& name, const Peer& peer) {
  return "http://" + name + ":" + std::to_string(peer.port()) + "/";
}

TEST(HttpNames, AreResolvedAndSentAsTheHost) {
  Rig rig;
  std::string seen;
  Peer peer(rig.loop, [&](Link& link) -> Task {
    seen = co_await link.request();
    co_await link.write(answer(200));
  });
  rig.names.known["hook.example"] = {{"127.0.0.1"}};
  EXPECT_EQ(rig.post(at("hook.example", peer)).status, 200);
  EXPECT_NE(seen.find("\r\nhost: hook.example:" + std::to_string(peer.port()) + "\r\n"),
            std::string::npos);
}

// req: webhook.wire.4
TEST(HttpNames, AreRememberedForTheirTimeToLiveAndNoLonger) {
  Rig rig(keeping_nothing());
  Peer before(rig.loop, always(answer(200, "before")), "127.0.0.1");
  Peer after(rig.loop, always(answer(200, "after")), "127.0.0.2", nullptr, before.port());
  rig.names.known["hook.example"] = {{"127.0.0.1", 60}};
  const std::string url = at("hook.example", before);
  EXPECT_EQ(rig.post(url).body, "before");
  rig.names.known["hook.example"] = {{"127.0.0.2", 60}};
  rig.now = rig.now + 59'999ms;
  EXPECT_EQ(rig.post(url).body, "before");
  EXPECT_EQ(rig.names.questions, 1);
  rig.now = rig.now + 1ms;
  EXPECT_EQ(rig.post(url).body, "after");
  EXPECT_EQ(rig.names.questions, 2);
}

// req: webhook.wire.4
TEST(HttpNames, AreAskedForEachTimeWhenTheyMayNotBeRemembered) {
  Rig rig(keeping_nothing());
  Peer peer(rig.loop, always(answer(200)));
  rig.names.known["hook.example"] = {{"127.0.0.1", 0}};
  for (int i = 1; i <= 3; ++i) {
    EXPECT_EQ(rig.post(at("hook.example", peer)).status, 200);
    EXPECT_EQ(rig.names.questions, i);
  }
}

TEST(HttpNames, AreNotRememberedForLongerThanTheLimit) {
  HttpTransportOptions options = keeping_nothing();
  options.name_ttl_max = 10s;
  Rig rig(options);
  Peer peer(rig.loop, always(answer(200)));
  rig.names.known["hook.example"] = {{"127.0.0.1", 86'400}};
  rig.post(at("hook.example", peer));
  rig.now = rig.now + 9'999ms;
  rig.post(at("hook.example", peer));
  EXPECT_EQ(rig.names.questions, 1);
  rig.now = rig.now + 1ms;
  rig.post(at("hook.example", peer));
  EXPECT_EQ(rig.names.questions, 2);
}

// req: webhook.wire.2
TEST(HttpNames, ThatChangeToAForbiddenAddressAreRefused) {
  const char* const targets[] = {"127.0.0.1",  "::ffff:10.0.0.1", "169.254.169.254",
                                 "fd00::1",    "0.0.0.0",         "::1",
                                 "100.64.0.1", "64:ff9b::7f00:1"};
  for (const char* target : targets) {
    HttpTransportOptions options = keeping_nothing();
    options.allow = {"127.0.0.2"};
    Rig rig(options);
    Peer inner(rig.loop, always(answer(200)), "127.0.0.1");
    // The other way round a port could be taken: everybody else is on 127.0.0.1.
    Peer good(rig.loop, always(answer(200)), "127.0.0.2", nullptr, inner.port());
    rig.names.known["hook.example"] = {{"127.0.0.2", 5}};
    EXPECT_EQ(rig.post(at("hook.example", good)).status, 200);
    rig.names.known["hook.example"] = {{target, 5}};
    rig.now = rig.now + 5s;
    EXPECT_EQ(rig.post(at("hook.example", good)).end, WireEnd::kForbidden) << target;
    EXPECT_EQ(inner.accepted, 0) << target;
  }
}

// req: webhook.wire.2
TEST(HttpNames, WithAllowedAndForbiddenAddressesLeadToTheAllowedOnesOnly) {
  HttpTransportOptions options = keeping_nothing();
  options.allow = {"127.0.0.2"};
  Rig rig(options);
  Peer inner(rig.loop, always(answer(200)), "127.0.0.1");
  // The other way round a port could be taken: everybody else is on 127.0.0.1.
  Peer good(rig.loop, always(answer(200)), "127.0.0.2", nullptr, inner.port());
  rig.names.known["hook.example"] = {{"127.0.0.1"}, {"::1"}, {"127.0.0.2"}, {"fd00::1"}};
  EXPECT_EQ(rig.post(at("hook.example", good)).status, 200);
  good.stop();
  EXPECT_EQ(rig.post(at("hook.example", good)).end, WireEnd::kRefused);
  EXPECT_EQ(inner.accepted, 0);
}

TEST(HttpNames, ThatAreUnknownAreNotAskedForAgainAtOnce) {
  Rig rig;
  Peer peer(rig.loop, always(answer(200)));
  const std::string url = at("nobody.example", peer);
  EXPECT_EQ(rig.post(url).end, WireEnd::kNoName);
  const int asked = rig.names.questions;
  rig.now = rig.now + 4'999ms;
  EXPECT_EQ(rig.post(url).end, WireEnd::kNoName);
  EXPECT_EQ(rig.names.questions, asked);
  rig.names.known["nobody.example"] = {{"127.0.0.1"}};
  rig.now = rig.now + 1ms;
  EXPECT_EQ(rig.post(url).status, 200);
}

TEST(HttpNames, WithoutAnAddressAreNoNames) {
  Rig rig;
  rig.names.known["empty.example"] = {};
  EXPECT_EQ(rig.post("http://empty.example/").end, WireEnd::kNoName);
}

TEST(HttpNames, AreNoNamesWhenTheServerIsSilentForTooLong) {
  Rig rig;
  rig.names.silent = true;
  const AttemptId attempt = rig.start("http://hook.example/", "{}", 3s);
  const AttemptId aborted = rig.start("http://hook.example/", "{}", 3s);
  const AttemptId longer = rig.start("http://hook.example/", "{}", 60s);
  rig.until([&] { return rig.names.questions > 0; });
  rig.transport->abort(aborted);
  rig.advance(2'999ms);
  EXPECT_FALSE(rig.has_ended(attempt));
  rig.advance(1ms);
  EXPECT_EQ(rig.end_of(attempt).end, WireEnd::kNoName);
  EXPECT_FALSE(rig.has_ended(longer));
  EXPECT_FALSE(rig.has_ended(aborted));
}

TEST(HttpNames, AreAskedForAgainWhenAnAnswerIsLost) {
  HttpTransportOptions options = Rig::local();
  options.name_time_out = 20ms;
  Rig rig(options);
  Peer peer(rig.loop, always(answer(200)));
  rig.names.known["hook.example"] = {{"127.0.0.1"}};
  rig.names.silent = true;
  const AttemptId attempt = rig.start(at("hook.example", peer));
  rig.until([&] { return rig.names.questions == 1; });
  rig.names.silent = false;
  EXPECT_EQ(rig.end_of(attempt).status, 200);
}

TEST(HttpNames, OfManyWhoWaitAreAskedForOnce) {
  Rig rig;
  Peer peer(rig.loop, always(answer(200)));
  rig.names.known["hook.example"] = {{"127.0.0.1"}};
  for (int i = 0; i < 20; ++i) rig.start(at("hook.example", peer));
  rig.until([&] { return rig.order.size() == 20; });
  EXPECT_EQ(rig.names.questions, 1);
  for (const auto& [attempt, replies] : rig.ended) EXPECT_EQ(replies.at(0).status, 200);
}

// req: webhook.wire.17
TEST(HttpNames, AreTriedAtTheirNextAddressWhenOneFails) {
  Rig rig(keeping_nothing());
  Peer peer(rig.loop, always(answer(200)), "127.0.0.3");
  rig.names.known["hook.example"] = {{"127.0.0.1"}, {"::1"}, {"127.0.0.2"}, {"127.0.0.3"}};
  for (int i = 0; i < 3; ++i) EXPECT_EQ(rig.post(at("hook.example", peer)).status, 200);
  peer.stop();
  EXPECT_EQ(rig.post(at("hook.example", peer)).end, WireEnd::kRefused);
}

// req: webhook.wire.17
TEST(HttpNames, AreTriedAtTheirNextAddressWhenOneDoesNotAnswer) {
  Rig rig(keeping_nothing());
  Peer peer(rig.loop, always(answer(200)), "127.0.0.2");
  rig.names.known["hook.example"] = {{"127.0.0.1", 600}, {"127.0.0.2", 600}};
  EXPECT_EQ(rig.post(at("hook.example", peer)).status, 200);  // now the name is known
  const AttemptId attempt = rig.start(at("hook.example", peer));
  rig.advance(5s);  // the first address has not answered in time: the loop did not run
  EXPECT_FALSE(rig.has_ended(attempt));
  EXPECT_EQ(rig.end_of(attempt).status, 200);
}

TEST(HttpNames, HaveSoManyAddressesAndNoMore) {
  HttpTransportOptions options = keeping_nothing();
  options.addresses_max = 2;
  for (const int place : {1, 2, 3}) {
    Rig rig(options);
    const std::string address = "127.0.0." + std::to_string(place);
    Peer peer(rig.loop, always(answer(200)), address);
    rig.names.known["hook.example"] = {{"127.0.0.1"}, {"127.0.0.2"}, {"127.0.0.3"}};
    EXPECT_EQ(rig.post(at("hook.example", peer)).end,
              place <= 2 ? WireEnd::kAnswered : WireEnd::kRefused)
        << place;
  }
}

TEST(HttpNames, AreForgottenOldestFirstBeyondTheLimit) {
  HttpTransportOptions options = keeping_nothing();
  options.names_max = 2;
  Rig rig(options);
  Peer peer(rig.loop, always(answer(200)));
  const auto post = [&](const std::string& name) {
    rig.names.known[name] = {{"127.0.0.1"}};
    EXPECT_EQ(rig.post(at(name, peer)).status, 200);
  };
  post("a.example");
  post("b.example");
  post("a.example");
  post("b.example");
  EXPECT_EQ(rig.names.questions, 2);
  post("c.example");
  post("b.example");
  post("c.example");
  EXPECT_EQ(rig.names.questions, 3);
  post("a.example");
  EXPECT_EQ(rig.names.questions, 4);
}

TEST(HttpNames, WaitForTheirTurnWhenManyAreAsked) {
  HttpTransportOptions options = Rig::local();
  options.names_asking_max = 1;
  Rig rig(options);
  Peer peer(rig.loop, always(answer(200)));
  for (int i = 0; i < 10; ++i) {
    const std::string name = "h" + std::to_string(i) + ".example";
    rig.names.known[name] = {{"127.0.0.1"}};
    rig.start(at(name, peer));
  }
  rig.until([&] { return rig.order.size() == 10; });
  for (const auto& [attempt, replies] : rig.ended) EXPECT_EQ(replies.at(0).status, 200);
}

TEST(HttpNames, OfTheHostsFileNeedNoServer) {
  Rig rig;
  rig.names.silent = true;
  Peer peer(rig.loop, always(answer(200)));
  EXPECT_EQ(rig.post(at("localhost", peer)).status, 200);
  EXPECT_EQ(rig.post(at("LOCALHOST", peer)).status, 200);
}

}  // namespace
}  // namespace postrider
