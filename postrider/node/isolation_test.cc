// Hundreds of destinations whose names are never answered, on a real node with a name server of the
// test's own: healthy ones beside them are served as ever, and nobody holds it against them.
#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include <boost/asio/io_context.hpp>
#include <gtest/gtest.h>

#include "postrider/node/node.h"
#include "postrider/runtime/system_clock.h"
#include "postrider/transports/http/peers_testing.h"

namespace postrider {
namespace {

constexpr int kSilent = 400;
constexpr int kHealthy = 30;
constexpr int kRounds = 6;
constexpr auto kIsolationPatience = std::chrono::seconds(60);

class NodeIsolation : public ::testing::TestWithParam<std::uint32_t> {
 protected:
  NodeIsolation() {
    std::string pattern = testing::TempDir() + "postrider_isolation_XXXXXX";
    directory_ = mkdtemp(pattern.data());
    NodeOptions options;
    options.store.directory = directory_ + "/data";
    options.free_bytes_min = 0;
    options.transport.allow = {"127.0.0.0/8"};
    options.transport.name_servers = {names_.address()};
    options.transport.names_asking_max = 64;
    options.transport_loops = GetParam();
    auto made = Node::open(options, clock_);
    EXPECT_TRUE(made) << made.error().detail;
    node_ = std::move(*made);
    until([&] { return node_->host().state() == Host::State::kRunning; });
  }
  ~NodeIsolation() override {
    node_->host().give_up();
    until([&] { return node_->host().state() == Host::State::kStopped; });
    EXPECT_TRUE(node_->close());
    node_.reset();
    std::filesystem::remove_all(directory_);
  }

  bool until(const std::function<bool()>& so) {
    const auto give_up = std::chrono::steady_clock::now() + kIsolationPatience;
    while (!so()) {
      loop_.restart();
      loop_.poll();
      node_->loop().context().run_one_for(std::chrono::milliseconds(2));
      if (std::chrono::steady_clock::now() > give_up) return false;
    }
    return true;
  }
  // The answers come in the order of the questions, so the last one is enough.
  void post(Event event) {
    ++asked_;
    const Door door = node_->host().post("t", std::move(event), [this](const Answer& answer) {
      ++answered_;
      last_ = answer;
    });
    ASSERT_EQ(door, Door::kOpen);
  }
  Answer settle() {
    EXPECT_TRUE(until([&] { return answered_ == asked_; }));
    return last_;
  }
  void configure(const std::string& name, const std::string& host, std::uint16_t port) {
    Configure configure;
    configure.config.name = name;
    configure.config.profile = "webhook";
    configure.config.settings = {{"url", "http://" + host + ":" + std::to_string(port) + "/"}};
    post(configure);
    settle();
  }
  void submit(const std::string& name) {
    Submit submit;
    submit.destination = name;
    submit.body = "{}";
    post(submit);
  }
  std::uint64_t delivered() {
    Query question;
    question.what = Query::What::kStats;
    post(question);
    return std::get<Stats>(settle().view).counters.delivered;
  }
  Route route(const std::string& name) {
    Query question;
    question.what = Query::What::kDestination;
    question.destination = name;
    post(question);
    return std::get<DestinationView>(settle().view).route;
  }

  SystemClock clock_;
  std::string directory_;
  boost::asio::io_context loop_{1};  // of the peers
  NameServer names_{loop_};
  // Closes after each answer, so that every attempt needs an address.
  Peer peer_{loop_, [](Link& link) -> Task {
               co_await link.request();
               co_await link.write(answer(200, "", "connection: close\r\n"));
             }};
  std::unique_ptr<Node> node_;
  std::uint64_t asked_ = 0;
  std::uint64_t answered_ = 0;
  Answer last_;
};

// req: daemon.ways.6, daemon.ways.7
TEST_P(NodeIsolation, NamesThatAreNeverAnsweredDoNotStopHealthyDestinations) {
  names_.silent_below = "void.example";
  const auto healthy = [](int number) { return "h" + std::to_string(number); };
  const auto silent = [](int number) { return "s" + std::to_string(number); };
  for (int i = 0; i < kHealthy; ++i) {
    // Some must not be remembered at all, the others for a second.
    names_.known[healthy(i) + ".example"] = {{"127.0.0.1", i % 2 == 0 ? 0U : 1U}};
    configure(healthy(i), healthy(i) + ".example", peer_.port());
  }
  for (int i = 0; i < kSilent; ++i) configure(silent(i), silent(i) + ".void.example", peer_.port());
  for (int i = 0; i < kHealthy; ++i) submit(healthy(i));
  ASSERT_TRUE(until([&] { return delivered() == kHealthy; }));
  const int questions = names_.questions;
  for (int i = 0; i < kSilent; ++i) submit(silent(i));
  ASSERT_TRUE(until([&] { return names_.questions >= questions + 32; }));
  for (std::uint64_t round = 1; round <= kRounds; ++round) {
    for (int i = 0; i < kHealthy; ++i) submit(healthy(i));
    ASSERT_TRUE(until([&] { return delivered() == kHealthy * (1 + round); })) << round;
  }
  for (int i = 0; i < kHealthy; ++i) {
    const Route seen = route(healthy(i));
    EXPECT_EQ(seen.health, Health::kNormal) << i;
    EXPECT_EQ(seen.strikes, 0) << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Loops, NodeIsolation, ::testing::Values(0U, 2U));

}  // namespace
}  // namespace postrider
