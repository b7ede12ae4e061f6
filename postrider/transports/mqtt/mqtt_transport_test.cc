// The MQTT transport with brokers that misbehave as they are told.
#include "postrider/transports/mqtt/mqtt_transport.h"

#include <gtest/gtest.h>

#include "postrider/transports/mqtt/mqtt_peer_testing.h"

namespace postrider {
namespace {

struct Scripted {
  explicit Scripted(Peer::Script script) : peer(loop, std::move(script)), rig(loop) {}
  void open(const std::function<void(MqttTransportOptions&)>& change = {}) {
    MqttTransportOptions options = MqttRig::local(peer.port());
    if (change) change(options);
    rig.open(options);
  }
  void open_ready() {
    open();
    rig.until([this] { return rig.transport->ready(); });
  }
  boost::asio::io_context loop{1};
  Peer peer;
  MqttRig rig;
};

// req: daemon.mqtt.2
TEST(MqttNotSent, WhileItIsNotConnected) {
  Scripted here([](Link& link) -> Task { co_await link.gone(); });
  here.open();
  EXPECT_EQ(here.rig.end_of(here.rig.start("a/b")).end, WireEnd::kRefused);
  here.rig.until([&] { return here.peer.accepted == 1; });
  here.rig.settle();
  EXPECT_EQ(here.rig.end_of(here.rig.start("a/b")).end, WireEnd::kRefused) << "no CONNACK yet";
}

// req: daemon.mqtt.2, daemon.mqtt.9
TEST(MqttNotSent, WhenItIsNoTopicOrTooLarge) {
  Scripted here([](Link& link) -> Task {
    co_await link.some(1);
    co_await link.write(mqtt_connack());
    for (std::uint16_t id = 1; id < 10; ++id) {
      co_await link.some(1);
      co_await link.write(mqtt_puback(id));
    }
    co_await link.gone();
  });
  here.open([](MqttTransportOptions& options) { options.publish_bytes_max = 10; });
  here.rig.until([&] { return here.rig.transport->ready(); });
  for (const std::string& bad :
       {std::string(), std::string("a/+"), std::string("#"), std::string("a\0b", 3),
        std::string("\xff"), std::string(65'536, 'a')})
    EXPECT_EQ(here.rig.end_of(here.rig.start(bad)).end, WireEnd::kNoName) << bad.substr(0, 10);
  EXPECT_EQ(here.rig.end_of(here.rig.start("a", std::string(10, 'x'))).end, WireEnd::kAnswered);
  EXPECT_EQ(here.rig.end_of(here.rig.start("a", std::string(11, 'x'))).end, WireEnd::kForbidden);
}

// req: daemon.mqtt.9
TEST(MqttLimits, PublishesWithoutAnAcknowledgementAreBounded) {
  Scripted here([](Link& link) -> Task {
    co_await link.some(1);
    co_await link.write(mqtt_connack());
    co_await link.gone();
  });
  here.open([](MqttTransportOptions& options) { options.publishes_max = 2; });
  here.rig.until([&] { return here.rig.transport->ready(); });
  const AttemptId first = here.rig.start("a");
  const AttemptId second = here.rig.start("a");
  EXPECT_EQ(here.rig.end_of(here.rig.start("a")).end, WireEnd::kRefused);
  EXPECT_FALSE(here.rig.has_ended(first) || here.rig.has_ended(second));
}

// req: daemon.mqtt.3
TEST(MqttUnknown, WhenTheConnectionIsLostBeforeTheAcknowledgement) {
  std::string second_life;
  Scripted here([&](Link& link) -> Task {
    co_await link.some(1);
    co_await link.write(mqtt_connack());
    if (link.number == 1) {
      co_await link.some(10);
      link.reset();
    } else {
      second_life = co_await link.some(1);
      co_await link.gone();
    }
  });
  here.open_ready();
  const AttemptId attempt = here.rig.start("a/command", "do it");
  EXPECT_EQ(here.rig.end_of(attempt).end, WireEnd::kReset);
  here.rig.advance(1s);
  here.rig.until([&] { return here.rig.transport->ready(); });
  // The library would repeat it by itself; a marker shows that it does not.
  here.rig.start("a/marker", "other");
  here.rig.until([&] { return !second_life.empty(); });
  EXPECT_EQ(second_life.find("do it"), std::string::npos) << "it was repeated";
  EXPECT_NE(second_life.find("other"), std::string::npos);
}

// req: daemon.mqtt.3
TEST(MqttUnknown, WhenTheAcknowledgementDoesNotComeInTime) {
  std::string seen;
  Scripted here([&](Link& link) -> Task {
    co_await link.some(1);
    co_await link.write(mqtt_connack());
    seen = co_await link.some(10);
    co_await link.until([&] { return seen.empty(); });
    co_await link.write(mqtt_puback(1));
    co_await link.gone();
  });
  here.open_ready();
  const AttemptId attempt = here.rig.start("a", "slow", 2s);
  here.rig.until([&] { return !seen.empty(); });
  here.rig.advance(1'999ms);
  EXPECT_FALSE(here.rig.has_ended(attempt));
  here.rig.advance(1ms);
  EXPECT_EQ(here.rig.end_of(attempt).end, WireEnd::kTimedOut);
  seen.clear();
  here.rig.until([&] { return here.rig.transport->counts().published == 1; });
  here.rig.settle();
  EXPECT_EQ(here.rig.ended[attempt.value()].size(), 1U);
}

// req: daemon.mqtt.2
TEST(MqttNotSent, WhatNeverLeftBeforeTheConnectionWasLost) {
  Scripted here([](Link& link) -> Task {
    co_await link.some(1);
    co_await link.write(mqtt_connack() + mqtt_publish("e", "held", 7));
    co_await link.gone();
  });
  here.rig.verdict.reset();
  here.open();
  here.rig.until([&] { return here.rig.events.size() == 1; });
  ASSERT_TRUE(here.rig.transport->ready());
  // While the event is not durable nothing leaves.
  const AttemptId attempt = here.rig.start("a", "stays here");
  here.rig.settle();
  here.rig.events[0].durable(false);
  EXPECT_EQ(here.rig.end_of(attempt).end, WireEnd::kRefused);
}

// req: daemon.mqtt.6
TEST(MqttEvents, AreAcknowledgedWhenDurableAndNotBefore) {
  std::string heard;
  bool ended = false;
  Scripted here([&](Link& link) -> Task {
    co_await link.some(1);
    co_await link.write(mqtt_connack() + mqtt_publish("e/1", "first", 11) +
                        mqtt_publish("e/2", "second", 12));
    while (!ended) heard += co_await link.some(1);
  });
  here.rig.verdict.reset();
  here.open();
  here.rig.until([&] { return here.rig.events.size() == 2; });
  here.rig.start("probe", "x");
  for (int i = 0; i < 20; ++i) here.rig.advance(0ms);
  here.rig.settle();
  EXPECT_EQ(heard, "") << "something left before the events were durable";
  here.rig.events[1].durable(true);
  here.rig.settle();
  EXPECT_EQ(heard, "");
  here.rig.events[0].durable(true);
  here.rig.until([&] { return heard.size() >= 8; });
  EXPECT_TRUE(heard.find(mqtt_puback(11) + mqtt_puback(12)) != std::string::npos);
  ended = true;
}

// req: daemon.mqtt.9
TEST(MqttEvents, AboveTheLimitAreAcknowledgedAndCounted) {
  std::string heard;
  Scripted here([&](Link& link) -> Task {
    co_await link.some(1);
    co_await link.write(mqtt_connack() + mqtt_publish("e", std::string(10, 'x'), 1) +
                        mqtt_publish("e", std::string(11, 'x'), 2));
    while (heard.size() < 8) heard += co_await link.some(1);
    co_await link.gone();
  });
  here.open([](MqttTransportOptions& options) { options.event_bytes_max = 10; });
  here.rig.until([&] { return heard.size() >= 8; });
  EXPECT_EQ(heard, mqtt_puback(1) + mqtt_puback(2));
  EXPECT_EQ(here.rig.events.size(), 1U);
  EXPECT_EQ(here.rig.transport->counts().oversized, 1U);
}

// req: daemon.mqtt.9
TEST(MqttEvents, ComeInRoundsOfTheirLimit) {
  std::string heard;
  Scripted here([&](Link& link) -> Task {
    co_await link.some(1);
    std::string all = mqtt_connack();
    for (std::uint16_t i = 1; i <= 5; ++i) all += mqtt_publish("e", std::to_string(i), i);
    co_await link.write(all);
    while (heard.size() < 20) heard += co_await link.some(1);
    co_await link.gone();
  });
  here.rig.verdict.reset();
  here.open([](MqttTransportOptions& options) { options.events_max = 2; });
  for (const std::size_t want : {2U, 4U, 5U}) {
    here.rig.until([&] { return here.rig.events.size() >= want; });
    here.rig.settle();
    EXPECT_EQ(here.rig.events.size(), want);
    for (const auto& event : here.rig.events) event.durable(true);
  }
  here.rig.until([&] { return heard.size() >= 20; });
}

// req: daemon.mqtt.7
TEST(MqttReconnect, WaitsLongerEachTimeUpToItsLimit) {
  Scripted here([](Link& link) -> Task {
    link.reset();
    co_return;
  });
  here.open([](MqttTransportOptions& options) { options.back_off_max = 5s; });
  int tries = 1;
  for (const Duration delay :
       {Duration(1'000), Duration(2'000), Duration(4'000), Duration(5'000), Duration(5'000)}) {
    here.rig.until([&] {
      return here.peer.accepted == tries && here.rig.transport->problem() != "not connected yet" &&
             here.peer.open == 0;
    });
    // The loss is known once a sweep no longer finds a connection.
    here.rig.settle();
    here.rig.advance(delay - 1ms);
    here.rig.settle();
    EXPECT_EQ(here.rig.transport->counts().connects, static_cast<std::uint64_t>(tries));
    here.rig.advance(1ms);
    ++tries;
    EXPECT_EQ(here.rig.transport->counts().connects, static_cast<std::uint64_t>(tries));
  }
}

// req: daemon.mqtt.7
TEST(MqttReconnect, GivesUpABrokerThatDoesNotAnswer) {
  Scripted here([](Link& link) -> Task { co_await link.gone(); });
  here.open();
  here.rig.until([&] { return here.peer.accepted == 1; });
  here.rig.advance(9'999ms);
  EXPECT_EQ(here.rig.transport->problem(), "not connected yet");
  here.rig.advance(1ms);
  EXPECT_EQ(here.rig.transport->problem(), "the broker does not answer");
}

// req: daemon.mqtt.7
TEST(MqttReconnect, SaysWhatTheBrokerRefuses) {
  Scripted here([](Link& link) -> Task {
    const std::string hello = co_await link.some(1);
    if (link.number == 1) {
      co_await link.write(mqtt_connack(5));
    } else {
      co_await link.write(mqtt_connack());
      const std::string subscribe = co_await link.some(5);
      const auto id = static_cast<std::uint16_t>(static_cast<unsigned char>(subscribe.at(3)));
      std::vector<int> granted;
      granted.push_back(1);
      granted.push_back(128);
      co_await link.write(mqtt_suback(id, granted));
    }
    co_await link.gone();
  });
  here.open([](MqttTransportOptions& options) { options.subscriptions = {"good/#", "bad/#"}; });
  here.rig.until(
      [&] { return here.rig.transport->problem().find("not auth") != std::string::npos; });
  here.rig.advance(1s);
  here.rig.until([&] {
    return here.rig.transport->problem() == "the broker refuses the subscription 'bad/#'";
  });
  EXPECT_FALSE(here.rig.transport->ready());
}

// req: daemon.mqtt.8
TEST(MqttGuard, KeepsItFromAddressesThatAreNotAllowed) {
  Scripted here([](Link& link) -> Task { co_await link.gone(); });
  here.open([](MqttTransportOptions& options) { options.allow.clear(); });
  here.rig.until(
      [&] { return here.rig.transport->problem() == "the broker's address is not allowed"; });
  EXPECT_EQ(here.peer.accepted, 0);
}

// req: daemon.mqtt.3
TEST(MqttAbort, TellsNothingMore) {
  Scripted here([](Link& link) -> Task {
    co_await link.some(1);
    co_await link.write(mqtt_connack());
    co_await link.some(10);
    link.reset();
  });
  here.open_ready();
  const AttemptId attempt = here.rig.start("a/command", "do it");
  here.rig.transport->abort(attempt);
  here.rig.until([&] { return !here.rig.transport->ready(); });
  here.rig.settle();
  EXPECT_FALSE(here.rig.has_ended(attempt));
}

// Each broker has a connection, a resolver and a bound on publishes of its own.
// req: daemon.ways.8
TEST(MqttIsolation, BrokersThatHangDoNotKeepOthersFromPublishing) {
  boost::asio::io_context loop{1};
  Peer hangs(loop, [](Link& link) -> Task { co_await link.gone(); });
  Peer keeps_waiting(loop, [](Link& link) -> Task {
    co_await link.some(1);
    co_await link.write(mqtt_connack());
    co_await link.gone();
  });
  Peer good(loop, [](Link& link) -> Task {
    co_await link.some(1);
    co_await link.write(mqtt_connack());
    for (std::uint16_t id = 1; id < 10; ++id) {
      co_await link.some(1);
      co_await link.write(mqtt_puback(id));
    }
    co_await link.gone();
  });
  NameServer names(loop);
  names.silent = true;
  MqttRig silent(loop);
  MqttTransportOptions nameless = MqttRig::local(hangs.port(), "nameless");
  nameless.host = "broker.void.example";
  nameless.name_servers = {names.address()};
  silent.open(nameless);
  MqttRig hanging(loop);
  hanging.open(MqttRig::local(hangs.port(), "hanging"));
  MqttRig full(loop);
  MqttTransportOptions few = MqttRig::local(keeps_waiting.port(), "full");
  few.publishes_max = 2;
  full.open_ready(few);
  for (int i = 0; i < 3; ++i) full.start("a");
  MqttRig rig(loop);
  rig.open_ready(MqttRig::local(good.port(), "good"));
  rig.until([&] { return hangs.accepted == 1; });
  for (int i = 0; i < 5; ++i) EXPECT_EQ(rig.end_of(rig.start("a")).end, WireEnd::kAnswered);
}

TEST(MqttOptions, NameWhatIsWrong) {
  boost::asio::io_context loop;
  const auto problem = [&](const std::function<void(MqttTransportOptions&)>& change) {
    MqttTransportOptions options = MqttRig::local(1883);
    change(options);
    const auto made = MqttTransport::make(loop, options, {}, {});
    return made ? std::string("none") : made.error().detail;
  };
  EXPECT_EQ(problem([](auto&) {}), "none");
  EXPECT_EQ(problem([](auto& o) { o.client_id = std::string(64, 'x'); }), "none");
  EXPECT_EQ(problem([](auto& o) { o.client_id = std::string(65, 'x'); }),
            "client_id must have 1 to 64 bytes");
  EXPECT_EQ(problem([](auto& o) { o.client_id = ""; }), "client_id must have 1 to 64 bytes");
  EXPECT_EQ(problem([](auto& o) { o.port = 0; }), "port must not be 0");
  EXPECT_EQ(problem([](auto& o) { o.subscriptions = {"a/#/b"}; }),
            "subscriptions: 'a/#/b' is no filter");
  EXPECT_EQ(problem([](auto& o) { o.keep_alive = 4s; }), "keep_alive must be 5 s to 65535 s");
  EXPECT_EQ(problem([](auto& o) { o.keep_alive = 5s; }), "none");
  EXPECT_EQ(problem([](auto& o) { o.events_max = 0; }), "events_max must be at least 1");
  EXPECT_EQ(problem([](auto& o) { o.publishes_max = 65'535; }), "none");
  EXPECT_EQ(problem([](auto& o) { o.publishes_max = 65'536; }),
            "publishes_max must be at most 65535");
  EXPECT_EQ(problem([](auto& o) { o.back_off_max = 999ms; }), "back_off_max is below back_off_min");
  EXPECT_EQ(problem([](auto& o) { o.host = "1.2.3.4.5"; }), "host: '1.2.3.4.5' is none");
  EXPECT_TRUE(problem([](auto& o) {
                o.tls = true;
                o.trust = "nonsense";
              }).starts_with("trust: "));
}

}  // namespace
}  // namespace postrider
