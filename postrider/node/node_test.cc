// The ways out and in of one node, with real peers on loopback.
#include "postrider/node/node.h"

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>

#include <boost/asio/io_context.hpp>
#include <gtest/gtest.h>

#include "postrider/doors/device/events.h"
#include "postrider/profiles/webhook/profile.h"
#include "postrider/protocols/chirpstack/chirpstack.h"
#include "postrider/protocols/chirpstack/events.h"
#include "postrider/runtime/system_clock.h"
#include "postrider/transports/grpc/grpc_peer_testing.h"
#include "postrider/transports/http/peers_testing.h"
#include "postrider/transports/mqtt/mqtt_peer_testing.h"

namespace postrider {
namespace {

constexpr auto kPatience = std::chrono::seconds(20);

Result<LoginToken> read_token(int /*status*/, std::string_view /*type*/, std::string_view body) {
  return LoginToken{.authorization = "Bearer " + std::string(body), .expires_at = std::nullopt};
}

// A message says by its first word how it goes and by its second where to. "LOGIN" goes by POST,
// with a login at the same peer. "ASKED" is published when the peer of its second word, a CALL,
// says that it may.
WireRequest encode_as_said(const Facts& facts, AttemptKind /*kind*/) {
  const std::string_view body = facts.message.body;
  const std::size_t blank = body.find(' ');
  WireRequest request;
  request.verb = body.substr(0, blank);
  request.target = body.substr(blank + 1);
  request.owner = facts.message.record;
  request.body = "hello";
  request.time_out = 10s;
  if (request.verb == "LOGIN") {
    request.verb = "POST";
    request.login = std::make_shared<LoginCall>(LoginCall{
        .key = "k", .target = request.target, .body = "the password", .read = &read_token});
  }
  if (request.verb == "ASKED") {
    const std::size_t second = request.target.find(' ');
    WireRequest question;
    question.verb = "CALL";
    question.target = request.target.substr(0, second);
    request.verb = "PUBLISH";
    request.target.erase(0, second + 1);
    request.first = std::make_shared<const WireRequest>(std::move(question));
  }
  return request;
}

Reading read_any_answer(const Facts& facts, AttemptKind kind, const WireReply& reply) {
  WireReply as_http = reply;
  if (reply.end == WireEnd::kAnswered && reply.status == 0) as_http.status = 200;
  return kWebhook.wire.classify(facts, kind, as_http);
}

Received receive_nothing(const Inbound& /*inbound*/) { return {}; }
Reading notice_nothing(const Facts& /*facts*/, const Notice& /*notice*/) { return {}; }

// Named as the profile that brokers bring events for.
ProfileSpec spoken_profile() {
  ProfileSpec spec = kWebhook;
  spec.name = "device";
  spec.wire.encode = &encode_as_said;
  spec.wire.classify = &read_any_answer;
  spec.news.receive = &receive_nothing;
  spec.news.notice = &notice_nothing;
  return spec;
}

class NodeTest : public ::testing::Test {
 protected:
  NodeTest() {
    std::string pattern = testing::TempDir() + "postrider_node_XXXXXX";
    directory_ = mkdtemp(pattern.data());
    options.store.directory = directory_ + "/data";
    options.free_bytes_min = 0;
    options.transport.allow = {"127.0.0.0/8"};
    options.host.shard.engine.profiles = profiles_;
  }
  // A test closes the node while its peers are there; what is left then is only taken down.
  ~NodeTest() override {
    node.reset();
    std::filesystem::remove_all(directory_);
  }

  void open() {
    auto made = Node::open(options, clock_);
    ASSERT_TRUE(made) << made.error().detail;
    node = std::move(*made);
    until([&] { return node->host().state() == Host::State::kRunning; });
    Configure configure;
    configure.config.name = "anything";
    configure.config.profile = "device";
    configure.config.settings = {{"url", "http://127.0.0.1/"}};
    const AnswerCode code = ask(configure).code;
    EXPECT_TRUE(code == AnswerCode::kDone || code == AnswerCode::kNothing);  // it was there
  }
  void close() {
    node->host().give_up();
    until([&] { return node->host().state() == Host::State::kStopped; });
    EXPECT_TRUE(node->close());
    node.reset();
  }
  void until(const std::function<bool()>& so) {
    const auto give_up = std::chrono::steady_clock::now() + kPatience;
    while (!so()) {
      loop_.restart();
      loop_.poll();
      if (node) node->loop().context().run_one_for(std::chrono::milliseconds(5));
      if (std::chrono::steady_clock::now() < give_up) continue;
      ADD_FAILURE() << "waited in vain";
      return;
    }
  }
  Answer ask(Event event) {
    std::optional<Answer> out;
    const Door door =
        node->host().post("t", std::move(event), [&](Answer answer) { out = std::move(answer); });
    EXPECT_EQ(door, Door::kOpen);
    if (door == Door::kOpen) until([&] { return out.has_value(); });
    return out.value_or(Answer{});
  }
  MessageId submit(const std::string& what) {
    Submit submit;
    submit.destination = "anything";
    submit.body = what;
    const Answer answer = ask(submit);
    EXPECT_EQ(answer.code, AnswerCode::kAccepted) << answer.detail;
    return answer.id;
  }
  Stats stats() {
    Query question;
    question.what = Query::What::kStats;
    return std::get<Stats>(ask(question).view);
  }
  void until_delivered(std::uint64_t count) {
    until([&] { return stats().counters.delivered == count; });
  }
  std::string why(MessageId id) {
    Query question;
    question.what = Query::What::kExplain;
    question.id = id;
    return std::get<Explanation>(ask(question).view).reason;
  }
  static std::size_t threads() {
    std::size_t count = 0;
    for ([[maybe_unused]] const auto& task : std::filesystem::directory_iterator("/proc/self/task"))
      ++count;
    return count;
  }

  SystemClock clock_;
  ProfileSpec profile_ = spoken_profile();
  std::array<const ProfileSpec*, 1> profiles_{&profile_};
  std::string directory_;
  boost::asio::io_context loop_{1};  // of the peers
  NodeOptions options;
  std::unique_ptr<Node> node;
};

class NodeTestOnLoops : public NodeTest, public ::testing::WithParamInterface<std::uint32_t> {};
INSTANTIATE_TEST_SUITE_P(Loops, NodeTestOnLoops, ::testing::Values(0U, 1U, 2U));

// One answer for all calls, after the message was looked at.
GrpcPeer::Handler accept_calls(std::vector<std::string>& seen) {
  return [&seen](const GrpcPeer::Call& call) {
    seen.push_back(call.data);
    call.answer(good_answer("taken"));
  };
}

// req: daemon.ways.1
TEST_P(NodeTestOnLoops, CallsGoByGrpcAndPostsByHttpThroughOneNode) {
  options.transport_loops = GetParam();
  std::vector<std::string> calls;
  std::vector<std::string> posts;
  GrpcPeer grpc(loop_, accept_calls(calls));
  Peer http(loop_, [&](Link& link) -> Task {
    posts.push_back(co_await link.request());
    co_await link.write(answer(200));
    co_await link.gone();
  });
  open();
  submit("CALL " + grpc.url());
  submit("POST " + http.url());
  until_delivered(2);
  EXPECT_EQ(calls, (std::vector<std::string>{framed("hello")}));
  ASSERT_EQ(posts.size(), 1U);
  EXPECT_TRUE(posts[0].starts_with("POST /hook HTTP/1.1\r\n")) << posts[0];
  EXPECT_TRUE(posts[0].ends_with("\r\n\r\nhello")) << posts[0];
  EXPECT_EQ(grpc.accepted, 1);
  EXPECT_EQ(http.accepted, 1);
  until([&] { return node->transport().connections() == 2; });
  close();
}

// req: daemon.ways.1, daemon.login.1, device.send.6
TEST_P(NodeTestOnLoops, LogsInBeforeARequestThatNeedsIt) {
  options.transport_loops = GetParam();
  std::vector<std::string> seen;
  const std::string token(3000, 't');  // longer than an excerpt
  Peer vendor(loop_, [&](Link& link) -> Task {
    for (std::string request = co_await link.request(); !request.empty();
         request = co_await link.request()) {
      seen.push_back(request);
      const bool is_login = request.ends_with("the password");
      const bool knows_us = request.find("Bearer " + token) != std::string::npos;
      const std::string out = answer(is_login || knows_us ? 200 : 401, is_login ? token : "");
      co_await link.write(out);
    }
  });
  open();
  submit("LOGIN " + vendor.url());
  until_delivered(1);
  submit("LOGIN " + vendor.url());
  submit("POST " + vendor.url());
  until([&] { return seen.size() == 4; });
  EXPECT_TRUE(seen[0].ends_with("the password"));
  EXPECT_NE(seen[1].find("\r\nauthorization: Bearer " + token + "\r\n"), std::string::npos);
  EXPECT_TRUE(seen[1].ends_with("hello"));
  until_delivered(2);  // and the third, which needed none, was not let in
  close();
}

// req: daemon.ways.4
TEST_F(NodeTest, WhatIsNotUsedCostsNoThreadAndNoConnection) {
  open();
  const std::size_t before = threads();
  EXPECT_EQ(node->brokers(), nullptr);
  EXPECT_EQ(node->transport().connections(), 0U);
  close();
  // A transport that does nothing at all instead of the usual ones: as many threads.
  class Nothing final : public Transport {
   public:
    void start(AttemptId /*attempt*/, WireRequest /*request*/) override {}
    void abort(AttemptId /*attempt*/) override {}
  };
  options.store.directory = directory_ + "/other";
  auto made = Node::open(options, clock_,
                         [](boost::asio::io_context& /*loop*/,
                            const Node::Ended& /*ended*/) -> Result<std::unique_ptr<Transport>> {
                           return std::unique_ptr<Transport>(std::make_unique<Nothing>());
                         });
  ASSERT_TRUE(made) << made.error().detail;
  node = std::move(*made);
  until([&] { return node->host().state() == Host::State::kRunning; });
  EXPECT_EQ(threads(), before);
}

// req: daemon.ways.5
TEST(NodeOptionsShared, GrpcAndBrokersGoWhereHttpMayGo) {
  HttpTransportOptions http;
  http.allow = {"10.0.0.0/8"};
  http.name_servers = {"192.0.2.1:53"};
  http.trust_file = "/authorities";
  http.connect_time_out = 3s;
  http.exchange_time_out_max = 42s;
  http.descriptors_max = 99;
  http.names_asking_max = 7;
  http.name_stale_max = 8s;
  http.held_back_after = 900ms;
  const GrpcTransportOptions grpc = with_shared(GrpcTransportOptions{}, http);
  EXPECT_EQ(grpc.allow, http.allow);
  EXPECT_EQ(grpc.name_servers, http.name_servers);
  EXPECT_EQ(grpc.trust_file, http.trust_file);
  EXPECT_EQ(grpc.names_asking_max, 7U);
  EXPECT_EQ(grpc.name_stale_max, 8s);
  EXPECT_EQ(grpc.held_back_after, 900ms);
  EXPECT_EQ(grpc.connect_time_out, 3s);
  EXPECT_EQ(grpc.call_time_out_max, 42s);
  EXPECT_EQ(grpc.descriptors_max, 99);
  MqttTransportOptions mqtt = with_shared(MqttTransportOptions{}, http);
  EXPECT_EQ(mqtt.allow, http.allow);
  EXPECT_EQ(mqtt.name_servers, http.name_servers);
  EXPECT_EQ(mqtt.trust_file, http.trust_file);
  mqtt.trust_file = "/own";
  EXPECT_EQ(with_shared(mqtt, http).trust_file, "/own");
}

std::string event_of(std::uint32_t downlink) {
  chirpstack::Event event;
  event.kind = chirpstack::EventKind::kTxAck;
  event.dev_eui = "0000047003333623";
  event.queue_item_id = "11111111-2222-3333-4444-555555555555";
  event.downlink_id = downlink;
  return encode_event_json(event);
}

class NodeBrokerTest : public NodeTest {
 protected:
  void SetUp() override {
    if (!Broker::is_installed())
      GTEST_SKIP() << "no broker; to have it: scripts/install-deps broker";
    broker.emplace("allow_anonymous true\n");
    BrokerOptions field;
    field.name = "field";
    field.source = "lorawan";
    field.mqtt.host = "127.0.0.1";
    field.mqtt.port = broker->port();
    field.mqtt.client_id = "postrider-field";
    field.mqtt.subscriptions = {"application/+/device/+/event/+"};
    options.brokers = {field};
    options.arrival = [](const BrokerEvent& event) {
      return device_door::device_arrival(event, {{"events", "billing"}});
    };
  }
  void open_ready() {
    open();
    until([&] { return state().ready; });
  }
  BrokerState state() { return node->brokers()->states().at(0); }
  std::vector<Arrival> arrivals() {
    Query question;
    question.what = Query::What::kArrivals;
    return std::get<ArrivalPage>(ask(question).view).arrivals;
  }
  std::optional<Broker> broker;
};

class NodeBrokerTestOnLoops : public NodeBrokerTest,
                              public ::testing::WithParamInterface<std::uint32_t> {};
INSTANTIATE_TEST_SUITE_P(Loops, NodeBrokerTestOnLoops, ::testing::Values(0U, 1U));

// req: daemon.ways.1, daemon.mqtt.1
TEST_P(NodeBrokerTestOnLoops, TakesCommandsByItsName) {
  options.transport_loops = GetParam();
  MqttRig watcher(loop_);
  MqttTransportOptions watching = MqttRig::local(broker->port(), "watcher");
  watching.subscriptions = {"application/#"};
  watcher.open_ready(watching);
  open_ready();
  submit("PUBLISH field application/1/device/0000047003333623/command/down");
  until_delivered(1);
  until([&] { return watcher.events.size() == 1; });
  EXPECT_EQ(watcher.events[0].topic, "application/1/device/0000047003333623/command/down");
  EXPECT_EQ(watcher.events[0].bytes, "hello");
  EXPECT_EQ(node->transport().connections(), 1U);
  for (const char* nowhere : {"PUBLISH nobody a/b", "PUBLISH field", "PUBLISH fiel a"}) {
    const MessageId id = submit(nowhere);
    until([&] { return why(id) == "the name does not resolve"; });
  }
  close();
}

// req: daemon.ways.6
TEST_P(NodeBrokerTestOnLoops, PublishesWhatWasAskedForWhenTheAnswerIsGood) {
  options.transport_loops = GetParam();
  std::vector<std::string> calls;
  GrpcPeer grpc(loop_, accept_calls(calls));
  MqttRig watcher(loop_);
  MqttTransportOptions watching = MqttRig::local(broker->port(), "watcher");
  watching.subscriptions = {"application/#"};
  watcher.open_ready(watching);
  open_ready();
  const MessageId refused = submit("ASKED http://127.0.0.1:1/a.B/C field application/1/refused");
  until([&] { return why(refused) == "connection refused"; });
  submit("ASKED " + grpc.url() + " field application/1/asked");
  until_delivered(1);
  until([&] { return !watcher.events.empty(); });
  EXPECT_EQ(calls.size(), 1U);
  ASSERT_EQ(watcher.events.size(), 1U);
  EXPECT_EQ(watcher.events[0].topic, "application/1/asked");
  close();
}

// req: daemon.mqtt.4, daemon.mqtt.10
TEST_F(NodeBrokerTest, BringsEventsToTheEngineAsTheyCame) {
  MqttRig server(loop_);
  server.open_ready(MqttRig::local(broker->port(), "server"));
  open_ready();
  const std::string topic = "application/1/device/0000047003333623/event/txack";
  server.start(topic, event_of(1));
  server.start(topic, event_of(1));  // a double
  server.start(topic, event_of(2));
  until([&] { return state().counts.taken == 3; });
  const std::vector<Arrival> stored = arrivals();
  ASSERT_EQ(stored.size(), 2U);
  EXPECT_EQ(stored[0].profile, "device");
  EXPECT_EQ(to_string(stored[0].source), "lorawan txack json");
  EXPECT_EQ(stored[0].bytes, event_of(1));
  EXPECT_EQ(stored[1].bytes, event_of(2));
  close();
}

// req: daemon.mqtt.11
TEST_F(NodeBrokerTest, AcknowledgesAndCountsWhatIsNoEvent) {
  MqttRig server(loop_);
  server.open_ready(MqttRig::local(broker->port(), "server"));
  options.brokers[0].mqtt.subscriptions = {"#"};
  open_ready();
  const std::string device = "application/1/device/0000047003333623/event/";
  server.start("elsewhere", "x");
  server.start(device + "location", "{}");
  server.start(device + "up", "{}");
  server.start(device + "up", "\xff");
  server.start(device + "txack", event_of(1));
  until([&] { return state().counts.taken == 1; });
  EXPECT_EQ(state().counts.unknown, 2U);
  EXPECT_EQ(state().counts.malformed, 2U);
  EXPECT_EQ(arrivals().size(), 1U);
  EXPECT_TRUE(state().ready);
  close();
}

// The engine takes nothing new while it stops; the broker keeps the event for the next life.
// req: daemon.mqtt.6, daemon.mqtt.10
TEST_F(NodeBrokerTest, LeavesEventsAtTheBrokerWhileTheDoorIsShut) {
  MqttRig server(loop_);
  server.open_ready(MqttRig::local(broker->port(), "server"));
  open_ready();
  node->host().drain();
  server.start("application/1/device/0000047003333623/event/txack", event_of(7));
  until([&] { return state().counts.put_off == 1; });
  until([&] { return node->host().state() == Host::State::kStopped; });
  EXPECT_EQ(state().counts.taken, 0U);
  EXPECT_TRUE(node->close());
  node.reset();
  open_ready();
  until([&] { return state().counts.taken == 1; });
  EXPECT_EQ(arrivals().at(0).bytes, event_of(7));
  close();
}

// req: daemon.mqtt.11
TEST_F(NodeBrokerTest, SaysWhatTheEngineWillNeverTake) {
  options.host.shard.engine.limits.arrival_bytes_max = 1024;
  MqttRig server(loop_);
  server.open_ready(MqttRig::local(broker->port(), "server"));
  open_ready();
  server.start("application/1/device/0000047003333623/event/txack",
               event_of(7) + std::string(1024, ' '));
  until([&] { return state().counts.refused == 1; });
  EXPECT_EQ(state().problem, "an event was refused: at most 1024 bytes are taken");
  EXPECT_TRUE(state().ready);
  close();
}

// req: engine.limit.3
TEST_F(NodeTest, RefusesALimitOutsideItsRangeAndLeavesTheDiskAlone) {
  options.host.shard.engine.limits.open_attempts_max = 0;
  const auto made = Node::open(options, clock_);
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().detail, "open_attempts_max is 0, and must be from 1 to 65536");
  EXPECT_FALSE(std::filesystem::exists(options.store.directory));
}

TEST_F(NodeTest, NamesTheBrokerWhoseOptionsAreWrong) {
  BrokerOptions field;
  field.name = "field";
  field.mqtt.host = "127.0.0.1";
  options.brokers = {field};
  const auto made = Node::open(options, clock_);
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().detail, "broker 'field': client_id must have 1 to 64 bytes");
}

}  // namespace
}  // namespace postrider
