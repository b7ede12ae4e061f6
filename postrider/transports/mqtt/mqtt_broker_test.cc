// The MQTT transport with the real broker of Debian.
#include <boost/asio/ssl/context.hpp>
#include <gtest/gtest.h>
#include <openssl/pem.h>

#include "postrider/transports/mqtt/mqtt_peer_testing.h"
#include "postrider/transports/mqtt/mqtt_transport.h"

namespace postrider {
namespace {

class MqttBroker : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!Broker::is_installed())
      GTEST_SKIP() << "no broker; to have it: scripts/install-deps broker";
  }
  boost::asio::io_context loop{1};
};

constexpr const char* kAnybody = "allow_anonymous true\n";

std::string key_pem(const Certificate& certificate) {
  const std::unique_ptr<BIO, decltype(&BIO_free)> bio(BIO_new(BIO_s_mem()), &BIO_free);
  PEM_write_bio_PrivateKey(bio.get(), certificate.key.get(), nullptr, nullptr, 0, nullptr, nullptr);
  char* data = nullptr;
  const auto size = BIO_get_mem_data(bio.get(), &data);
  return {data, static_cast<std::size_t>(size)};
}

MqttTransportOptions subscriber(const Broker& broker, const std::string& id = "subscriber") {
  MqttTransportOptions options = MqttRig::local(broker.port(), id);
  options.subscriptions = {"application/+/device/+/event/+", "other/#"};
  return options;
}

// req: daemon.mqtt.1, daemon.mqtt.4
TEST_F(MqttBroker, TakesCommandsAndBringsEvents) {
  Broker broker(kAnybody);
  MqttRig commands(loop);
  MqttRig events(loop);
  events.open_ready(subscriber(broker));
  commands.open_ready(MqttRig::local(broker.port()));
  const WireReply reply =
      commands.end_of(commands.start("application/1/device/2/event/up", "{\"n\":1}"));
  EXPECT_EQ(reply.end, WireEnd::kAnswered);
  EXPECT_EQ(reply.status, 0);
  EXPECT_EQ(commands.end_of(commands.start("other/x/y", std::string("\0bytes\xff", 7))).end,
            WireEnd::kAnswered);
  EXPECT_EQ(commands.end_of(commands.start("nobody/listens", "")).end, WireEnd::kAnswered);
  events.until([&] { return events.events.size() == 2; });
  EXPECT_EQ(events.events[0].topic, "application/1/device/2/event/up");
  EXPECT_EQ(events.events[0].bytes, "{\"n\":1}");
  EXPECT_EQ(events.events[1].bytes, std::string("\0bytes\xff", 7));
  EXPECT_EQ(commands.transport->counts().published, 3U);
}

// req: daemon.mqtt.1, daemon.mqtt.4
TEST_F(MqttBroker, CarriesManyInOrder) {
  Broker broker(kAnybody);
  MqttRig commands(loop);
  MqttRig events(loop);
  events.open_ready(subscriber(broker));
  commands.open_ready(MqttRig::local(broker.port()));
  std::vector<AttemptId> all;
  for (int i = 0; i < 500; ++i) all.push_back(commands.start("other/many", std::to_string(i)));
  for (const AttemptId attempt : all) EXPECT_EQ(commands.end_of(attempt).end, WireEnd::kAnswered);
  events.until([&] { return events.events.size() == 500; });
  for (std::size_t i = 0; i < 500; ++i) EXPECT_EQ(events.events[i].bytes, std::to_string(i));
}

// req: daemon.mqtt.5
TEST_F(MqttBroker, KeepsEventsForUsWhileWeAreAway) {
  Broker broker(kAnybody);
  MqttRig commands(loop);
  commands.open_ready(MqttRig::local(broker.port()));
  {
    MqttRig events(loop);
    events.open_ready(subscriber(broker));
  }
  EXPECT_EQ(commands.end_of(commands.start("other/while/away", "kept")).end, WireEnd::kAnswered);
  MqttRig events(loop);
  events.open_ready(subscriber(broker));
  events.until([&] { return events.events.size() == 1; });
  EXPECT_EQ(events.events[0].bytes, "kept");
}

// req: daemon.mqtt.6
TEST_F(MqttBroker, SendsAgainWhatWasNotDurable) {
  Broker broker(kAnybody);
  MqttRig commands(loop);
  MqttRig events(loop);
  events.verdict = false;
  events.open_ready(subscriber(broker));
  commands.open_ready(MqttRig::local(broker.port()));
  commands.end_of(commands.start("other/1", "again"));
  events.until([&] { return !events.transport->ready(); });
  EXPECT_EQ(events.transport->problem(), "an event could not be stored");
  EXPECT_EQ(events.events.size(), 1U);
  events.verdict = true;
  events.advance(1s);
  events.until([&] { return events.events.size() == 2; });
  EXPECT_EQ(events.events[1].bytes, "again");
  // Durable now: it does not come a third time.
  events.until([&] { return events.transport->ready(); });
  commands.end_of(commands.start("other/2", "next"));
  events.until([&] { return events.events.size() == 3; });
  events.transport->close();
  MqttRig later(loop);
  later.open_ready(subscriber(broker));
  commands.end_of(commands.start("other/3", "last"));
  later.until([&] { return !later.events.empty(); });
  EXPECT_EQ(later.events[0].bytes, "last");
}

// req: daemon.mqtt.6
TEST_F(MqttBroker, SendsAgainWhenWeDieBeforeItIsDurable) {
  Broker broker(kAnybody);
  MqttRig commands(loop);
  commands.open_ready(MqttRig::local(broker.port()));
  {
    MqttRig events(loop);
    events.verdict.reset();  // never says
    events.open_ready(subscriber(broker));
    commands.end_of(commands.start("other/1", "precious"));
    events.until([&] { return events.events.size() == 1; });
  }
  MqttRig events(loop);
  events.open_ready(subscriber(broker));
  events.until([&] { return events.events.size() == 1; });
  EXPECT_EQ(events.events[0].bytes, "precious");
}

// req: daemon.mqtt.6
TEST_F(MqttBroker, EventsMayBecomeDurableLaterAndInAnyOrder) {
  Broker broker(kAnybody);
  MqttRig commands(loop);
  MqttRig events(loop);
  events.verdict.reset();
  events.open_ready(subscriber(broker));
  commands.open_ready(MqttRig::local(broker.port()));
  for (int i = 0; i < 100; ++i) commands.start("other/x", std::to_string(i));
  std::size_t done = 0;
  while (done < 100) {
    events.until([&] { return events.events.size() > done; });
    for (std::size_t i = events.events.size(); i > done; --i) events.events[i - 1].durable(true);
    done = events.events.size();
  }
  for (std::size_t i = 0; i < 100; ++i) EXPECT_EQ(events.events[i].bytes, std::to_string(i));
  EXPECT_TRUE(events.transport->ready());
}

// req: daemon.mqtt.7
TEST_F(MqttBroker, IsFoundAgainAfterARestart) {
  Broker broker(kAnybody);
  MqttRig commands(loop);
  commands.open_ready(MqttRig::local(broker.port()));
  broker.stop();
  commands.until([&] { return !commands.transport->ready(); });
  EXPECT_EQ(commands.end_of(commands.start("a/b")).end, WireEnd::kRefused);
  commands.advance(1s);
  commands.until([&] { return commands.transport->counts().connects == 2; });
  commands.until([&] { return !commands.transport->problem().empty(); });
  broker.restart();
  commands.advance(1s);
  commands.settle();
  commands.advance(4s);
  commands.until([&] { return commands.transport->ready(); });
  EXPECT_EQ(commands.end_of(commands.start("a/b")).end, WireEnd::kAnswered);
}

// req: daemon.mqtt.8
TEST_F(MqttBroker, WantsTheRightPassword) {
  // As mosquitto_passwd writes it, for "secret".
  const std::string line =
      "meter:$7$101$yKpUaOzuksP2pkej$2fcjGQAL1EfBgOouA8uhtSEzQzhZ2"
      "94lvbQDUmegNIBEWdTq0CPHcYRsRGUtOapZGPOUm5Lalu+0VQ0j1CW/+w==";
  Broker broker("allow_anonymous false\npassword_file $DIR/passwords\n",
                {{"passwords", line + "\n"}});
  MqttTransportOptions options = MqttRig::local(broker.port());
  options.user = "meter";
  options.password = "wrong";
  MqttRig wrong(loop);
  wrong.open(options);
  wrong.until([&] { return wrong.transport->problem().find("not auth") != std::string::npos; });
  EXPECT_FALSE(wrong.transport->ready());
  EXPECT_EQ(wrong.transport->problem().find("wrong"), std::string::npos);
  options.password = "secret";
  MqttRig right(loop);
  right.open_ready(options);
  EXPECT_EQ(right.end_of(right.start("a/b")).end, WireEnd::kAnswered);
}

// req: daemon.mqtt.8
TEST_F(MqttBroker, IsTalkedToOverTlsOnlyWhenItIsTrusted) {
  const Certificate authority = make_certificate({.name = "", .authority = true});
  const Certificate own = make_certificate({.name = "DNS:broker.example"}, &authority);
  const Certificate other = make_certificate({.name = "", .authority = true});
  Broker broker("allow_anonymous true\ncertfile $DIR/certificate\nkeyfile $DIR/key\n",
                {{"certificate", own.pem()}, {"key", key_pem(own)}});
  NameServer names(loop);
  names.known["broker.example"] = {{"127.0.0.1"}};
  names.known["other.example"] = {{"127.0.0.1"}};
  struct Case {
    const char* host;
    std::string trust;
    bool good;
  };
  for (const Case& c :
       {Case{"broker.example", authority.pem(), true},
        Case{"other.example", authority.pem(), false}, Case{"127.0.0.1", authority.pem(), false},
        Case{"broker.example", other.pem(), false}}) {
    MqttTransportOptions options = subscriber(broker, "tls");
    options.host = c.host;
    options.tls = true;
    options.trust = c.trust;
    options.name_servers = {names.address()};
    MqttRig rig(loop);
    rig.open(options);
    if (!c.good) {
      const std::string before = rig.transport->problem();
      rig.until([&] { return rig.transport->problem() != before; });
      EXPECT_FALSE(rig.transport->ready()) << c.host;
      continue;
    }
    rig.until([&] { return rig.transport->ready(); });
    std::vector<AttemptId> all;
    for (int i = 0; i < 20; ++i) all.push_back(rig.start("other/tls", std::string(50'000, 'x')));
    for (const AttemptId attempt : all) EXPECT_EQ(rig.end_of(attempt).end, WireEnd::kAnswered);
    rig.until([&] { return rig.events.size() == 20; });
  }
}

}  // namespace
}  // namespace postrider
