// The far sides of the device profile as real processes would meet them: over sockets.
#include <chrono>
#include <functional>
#include <map>
#include <thread>

#include <boost/asio/io_context.hpp>
#include <boost/json.hpp>
#include <gtest/gtest.h>

#include "postrider/protocols/calin/calin.h"
#include "postrider/protocols/meter/frame.h"
#include "postrider/sinks/common/sink_listener.h"
#include "postrider/sinks/device/calin_sink.h"
#include "postrider/sinks/device/chirpstack_sink.h"
#include "postrider/transports/grpc/grpc_transport.h"
#include "postrider/transports/http/http_transport.h"
#include "postrider/transports/mqtt/mqtt_peer_testing.h"

namespace postrider {
namespace {

using device::Command;

constexpr auto kPatience = std::chrono::seconds(20);

std::string command_frame(Command command, std::string_view meter) {
  device::Request request;
  request.command = command;
  request.meter = meter;
  return device::encode_request(request).value();
}

// A sink with a thread of its own.
class Running {
 public:
  explicit Running(Result<std::unique_ptr<FarSide>> opened) {
    EXPECT_TRUE(opened.has_value()) << opened.error().detail;
    sink = std::move(*opened);
    thread_ = std::thread([this] { sink->run(false); });
  }
  ~Running() {
    sink->stop();
    thread_.join();
  }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;

  std::unique_ptr<FarSide> sink;

 private:
  std::thread thread_;
};

// Our own transports as clients, and a listener for events, on one loop.
class DeviceClient {
 public:
  DeviceClient() {
    HttpTransportOptions http;
    http.allow = {"127.0.0.0/8"};
    http.reply_bytes_max = 1 << 20;
    http.excerpt_bytes_max = 1 << 20;
    const auto ended = [this](AttemptId attempt, WireReply reply) {
      ended_[attempt.value()] = std::move(reply);
    };
    http_ = HttpTransport::make(loop_, http, ended).value();
    GrpcTransportOptions grpc;
    grpc.allow = http.allow;
    grpc_ = GrpcTransport::make(loop_, grpc, ended).value();
    const auto heard = [this](const SinkRequest& request, const SinkResponder& responder) {
      events.emplace_back(request.path, request.body);
      secrets.emplace_back(request.authorization);
      responder.answer({204, "text/plain", ""});
    };
    listener_ = SinkListener::open(loop_, "0", heard).value();
  }

  std::string events_url() const { return "http://" + listener_->address() + "/ingress/lorawan"; }

  std::uint64_t start(Transport& transport, std::string verb, std::string url,
                      std::string_view body, std::string_view authorization = "",
                      Duration time_out = 10s) {
    const Blob owner = Blob::copy_of(body);
    WireRequest request{.verb = std::move(verb),
                        .target = std::move(url),
                        .owner = owner,
                        .body = owner.view(),
                        .time_out = time_out};
    if (!authorization.empty()) request.headers.add("authorization", authorization);
    transport.start(AttemptId(++last_), std::move(request));
    return last_;
  }
  WireReply end_of(std::uint64_t attempt) {
    until([&] { return ended_.contains(attempt); });
    return ended_[attempt];
  }
  WireReply ask(const std::string& verb, const std::string& url, std::string_view body = "",
                std::string_view authorization = "") {
    return end_of(start(*http_, verb, url, body, authorization));
  }
  WireReply call(const std::string& address, std::string_view path, std::string_view message,
                 std::string_view authorization = "", Duration time_out = 10s) {
    return end_of(start(*grpc_, "CALL", "http://" + address + std::string(path), message,
                        authorization, time_out));
  }
  WireReply enqueue(const std::string& address, Command command,
                    std::string_view meter = "47003333623") {
    return call(address, chirpstack::kEnqueuePath,
                chirpstack::encode_enqueue(chirpstack::make_command(
                    *chirpstack::dev_eui_of(meter), command_frame(command, meter), {})));
  }
  boost::json::object get(const std::string& address, const std::string& path) {
    const WireReply reply = ask("GET", "http://" + address + path);
    EXPECT_EQ(reply.status, 200);
    return boost::json::parse(reply.body).as_object();
  }
  void until(const std::function<bool()>& so) {
    const auto give_up = std::chrono::steady_clock::now() + kPatience;
    while (!so()) {
      if (loop_.stopped()) loop_.restart();
      loop_.run_one_for(std::chrono::milliseconds(50));
      if (std::chrono::steady_clock::now() < give_up) continue;
      ADD_FAILURE() << "waited in vain";
      return;
    }
  }
  std::size_t heard(std::string_view event) const {
    std::size_t count = 0;
    for (const auto& [path, body] : events)
      count += path == "/ingress/lorawan?event=" + std::string(event) ? 1U : 0U;
    return count;
  }

  std::vector<std::pair<std::string, std::string>> events;  // path, body
  std::vector<std::string> secrets;

 private:
  boost::asio::io_context loop_{1};
  std::unique_ptr<HttpTransport> http_;
  std::unique_ptr<GrpcTransport> grpc_;
  std::unique_ptr<SinkListener> listener_;
  std::map<std::uint64_t, WireReply> ended_;
  std::uint64_t last_ = 0;
};

ChirpstackSinkOptions hasty(const DeviceClient& client) {
  ChirpstackSinkOptions options;
  options.events = {client.events_url()};
  options.server.radio_percent = 1;
  options.server.scheduler_period = 5ms;
  return options;
}

TEST(ChirpstackSink, TakesACommandOverGrpcAndTellsItsEvents) {
  DeviceClient client;
  ChirpstackSinkOptions options = hasty(client);
  options.header_name = "authorization";
  options.header_value = "shared secret";
  Running running(open_chirpstack_sink(options));
  const WireReply reply = client.enqueue(running.sink->address(), Command::kTurnOff);
  ASSERT_EQ(reply.end, WireEnd::kAnswered);
  client.until([&] { return client.events.size() >= 3; });
  EXPECT_EQ(client.heard("txack"), 1U);
  EXPECT_EQ(client.heard("ack"), 1U);
  EXPECT_EQ(client.heard("up"), 1U);
  EXPECT_EQ(client.secrets.front(), "shared secret");
  const boost::json::object ledger = client.get(running.sink->control_address(), "/ledger");
  const boost::json::object copy = ledger.at("copies").at(0).as_object();
  EXPECT_EQ(copy.at("meter"), "47003333623");
  EXPECT_EQ(copy.at("what"), "TURN_OFF");
  EXPECT_EQ(copy.at("ran"), 1);
  EXPECT_EQ(copy.at("end"), "acked");
  EXPECT_NE(reply.body.find(std::string(copy.at("name").as_string())), std::string::npos);
  EXPECT_TRUE(ledger.at("doubled").as_array().empty());
  EXPECT_TRUE(client.get(running.sink->control_address(), "/ledger?meter=1")
                  .at("copies")
                  .as_array()
                  .empty());
}

TEST(ChirpstackSink, AnswersQuestionsAndRefusals) {
  DeviceClient client;
  ChirpstackSinkOptions options = hasty(client);
  options.server.api_key = "key";
  options.server.is_class_a = true;
  Running running(open_chirpstack_sink(options));
  const std::string address = running.sink->address();
  const std::string eui = *chirpstack::dev_eui_of("47003333623");
  const std::string command = chirpstack::encode_enqueue(
      chirpstack::make_command(eui, command_frame(Command::kTurnOn, "47003333623"), {}));
  EXPECT_EQ(client.call(address, chirpstack::kEnqueuePath, command).status, 16);
  EXPECT_EQ(client.call(address, chirpstack::kEnqueuePath, "", "Bearer key").status, 3);
  EXPECT_EQ(client.call(address, "/api.DeviceService/Other", "", "Bearer key").status, 12);
  EXPECT_EQ(client.call(address, chirpstack::kEnqueuePath, command, "Bearer key").end,
            WireEnd::kAnswered);
  const WireReply look = client.call(address, chirpstack::kGetQueuePath,
                                     chirpstack::encode_get_queue(eui), "Bearer key");
  EXPECT_NE(look.body.find(eui), std::string::npos);
}

TEST(ChirpstackSink, CutsHangsAndChangesItsFaultsWhileItRuns) {
  DeviceClient client;
  ChirpstackSinkOptions options = hasty(client);
  options.faults.lose_replies = 100;
  Running running(open_chirpstack_sink(options));
  const std::string address = running.sink->address();
  const std::string control = "http://" + running.sink->control_address();
  EXPECT_EQ(client.enqueue(address, Command::kTurnOn).end, WireEnd::kReset);
  EXPECT_EQ(client.ask("POST", control + "/faults", R"({"lose-replies":0,"hang":100})").status,
            200);
  const std::string message = chirpstack::encode_enqueue(chirpstack::make_command(
      *chirpstack::dev_eui_of("2"), command_frame(Command::kTurnOn, "2"), {}));
  EXPECT_EQ(client.call(address, chirpstack::kEnqueuePath, message, "", 300ms).end,
            WireEnd::kTimedOut);
  EXPECT_EQ(client.ask("DELETE", control + "/faults").status, 200);
  EXPECT_EQ(client.enqueue(address, Command::kTurnOn, "3").end, WireEnd::kAnswered);
  // What was taken without an answer runs all the same.
  client.until([&] { return client.heard("ack") == 3; });
  EXPECT_EQ(client.get(running.sink->control_address(), "/counts").at("taken"), 3);
  EXPECT_EQ(client.ask("POST", control + "/faults", R"({"lose-replies":101})").status, 400);
  EXPECT_EQ(client.ask("POST", control + "/faults", R"({"hang":1,"no":1})").status, 400);
  EXPECT_EQ(client.get(running.sink->control_address(), "/faults").at("hang"), 0);
  EXPECT_EQ(client.ask("PUT", control + "/ledger").status, 405);
  EXPECT_EQ(client.ask("GET", control + "/nothing").status, 404);
  EXPECT_EQ(client.ask("POST", control + "/devices", R"({"meter":"5","join":true})").status, 200);
  client.until([&] { return client.heard("join") == 1; });
  EXPECT_EQ(client.ask("POST", control + "/devices", R"({"join":true})").status, 400);
}

TEST(ChirpstackSink, TakesCommandsAndTellsEventsOverMqtt) {
  if (!Broker::is_installed()) GTEST_SKIP() << "no broker; to have it: scripts/install-deps broker";
  DeviceClient client;
  const Broker broker("allow_anonymous true\n");
  ChirpstackSinkOptions options = hasty(client);
  options.events.clear();
  options.mqtt_host = "127.0.0.1";
  options.mqtt_port = broker.port();
  Running running(open_chirpstack_sink(options));
  boost::asio::io_context loop(1);
  MqttRig rig(loop);
  MqttTransportOptions ours = MqttRig::local(broker.port());
  ours.subscriptions = {chirpstack::event_filter(options.server.application)};
  rig.open_ready(ours);
  client.until([&] {
    return client.get(running.sink->control_address(), "/counts").at("mqtt_ready") == true;
  });
  const std::string eui = *chirpstack::dev_eui_of("47003333623");
  chirpstack::QueueItem item =
      chirpstack::make_command(eui, command_frame(Command::kTurnOff, "47003333623"), {});
  item.id = "0c9f1e9e-0000-4000-8000-000000000042";
  rig.end_of(rig.start(chirpstack::command_topic({options.server.application, eui}),
                       chirpstack::encode_downlink_command(item)));
  rig.until([&] { return rig.events.size() >= 3; });
  std::map<std::string, int> told;
  for (const MqttRig::Event& event : rig.events)
    ++told[chirpstack::parse_event_topic(event.topic)->event];
  EXPECT_EQ(told, (std::map<std::string, int>{{"ack", 1}, {"txack", 1}, {"up", 1}}));
  const boost::json::object ledger = client.get(running.sink->control_address(), "/ledger");
  EXPECT_EQ(ledger.at("copies").at(0).at("name"), boost::json::string(item.id));
  EXPECT_EQ(ledger.at("copies").at(0).at("ran"), 1);
}

TEST(ChirpstackSink, GoesOnWhenNobodyHearsItsEvents) {
  DeviceClient client;
  ChirpstackSinkOptions options = hasty(client);
  options.events = {"http://127.0.0.1:1/"};
  Running running(open_chirpstack_sink(options));
  EXPECT_EQ(client.enqueue(running.sink->address(), Command::kTurnOn).end, WireEnd::kAnswered);
  client.until([&] {
    return client.get(running.sink->control_address(), "/counts").at("events_unheard") == 3;
  });
}

TEST(ChirpstackSink, SaysWhatIsWrongWithItsOptions) {
  const auto complaint = [](const std::function<void(ChirpstackSinkOptions&)>& change) {
    ChirpstackSinkOptions options;
    change(options);
    const auto opened = open_chirpstack_sink(options);
    return opened ? "" : opened.error().detail;
  };
  EXPECT_NE(complaint([](auto& options) { options.grpc = "nonsense"; }), "");
  EXPECT_NE(complaint([](auto& options) { options.grpc = "70000"; }), "");
  EXPECT_NE(complaint([](auto& options) { options.events = {"ftp://x"}; }), "");
  EXPECT_NE(complaint([](auto& options) { options.header_name = "a b"; }), "");
  EXPECT_EQ(complaint([](auto&) {}), "");
}

TEST(CalinSink, CreatesAndRunsATaskInVersion1) {
  DeviceClient client;
  CalinSinkOptions options;
  options.faults.task_ms = 20;
  Running running(open_calin_sink(options));
  const std::string base = "http://" + running.sink->address();
  device::Request request;
  request.command = Command::kTurnOff;
  request.meter = "47003333623";
  const calin::CredentialsV1 who{"acme", "u", "p"};
  const calin::Call create = calin::create_call_v1(who, request).value();
  const WireReply created = client.ask("POST", base + create.path, create.body);
  const device::SendReply sent =
      calin::read_create_v1(request, {created.status, "application/json", created.body});
  ASSERT_EQ(sent.verdict, device::SendVerdict::kAccepted);
  const calin::Call poll = calin::poll_call_v1(who, request, sent.item).value();
  client.until([&] {
    const WireReply reply = client.ask("POST", base + poll.path, poll.body);
    return calin::read_poll_v1(request, sent.item, {reply.status, "application/json", reply.body})
               .verdict == device::PollVerdict::kAnswered;
  });
  const boost::json::object ledger = client.get(running.sink->address(), "/ledger");
  EXPECT_EQ(ledger.at("runs").as_array().size(), 1U);
  EXPECT_EQ(ledger.at("copies").at(0).at("name"), boost::json::string(sent.item));
  EXPECT_EQ(client.ask("GET", base + "/elsewhere").status, 405);
}

TEST(CalinSink, WantsALoginInVersion2) {
  DeviceClient client;
  CalinSinkOptions options;
  options.vendor.version = 2;
  options.vendor.user = "u";
  Running running(open_calin_sink(options));
  const std::string base = "http://" + running.sink->address();
  device::Request request;
  request.command = Command::kReadCredit;
  request.meter = "47003333623";
  const calin::CredentialsV2 who{"u", "p", "acme", "c"};
  const calin::Call create = calin::create_call_v2(who, request).value();
  EXPECT_EQ(client.ask("POST", base + create.path, create.body).status, 401);
  const calin::Call login = calin::login_call_v2(who);
  const WireReply answer = client.ask("POST", base + login.path, login.body);
  const Result<calin::Login> in =
      calin::read_login_v2({answer.status, "application/json", answer.body});
  ASSERT_TRUE(in.has_value());
  const WireReply created =
      client.ask("POST", base + create.path, create.body, calin::authorization(*in));
  EXPECT_EQ(calin::read_create_v2({created.status, "application/json", created.body}).verdict,
            device::SendVerdict::kAccepted);
}

TEST(CalinSink, CutsPagesAndAnswersTwice) {
  DeviceClient client;
  CalinSinkOptions options;
  options.faults.lose_replies = 100;
  Running running(open_calin_sink(options));
  const std::string base = "http://" + running.sink->address();
  device::Request request;
  request.command = Command::kTurnOn;
  request.meter = "47003333623";
  const calin::Call create = calin::create_call_v1({"a", "u", "p"}, request).value();
  EXPECT_EQ(client.ask("POST", base + create.path, create.body).end, WireEnd::kReset);
  client.ask("POST", base + "/faults", R"({"lose-replies":0,"html":100})");
  const WireReply page = client.ask("POST", base + create.path, create.body);
  EXPECT_EQ(page.body.substr(0, 6), "<html>");
  client.ask("POST", base + "/faults", R"({"html":0,"twice":100})");
  for (int i = 0; i < 3; ++i) {
    const WireReply reply = client.ask("POST", base + create.path, create.body);
    EXPECT_EQ(
        calin::read_create_v1(request, {reply.status, "application/json", reply.body}).verdict,
        device::SendVerdict::kAccepted);
  }
  EXPECT_EQ(client.get(running.sink->address(), "/counts").at("taken"), 5);
}

}  // namespace
}  // namespace postrider
