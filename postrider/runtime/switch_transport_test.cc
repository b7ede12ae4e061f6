#include "postrider/runtime/switch_transport.h"

#include <utility>

#include <gtest/gtest.h>

namespace postrider {
namespace {

struct Told {
  std::vector<std::uint64_t> started;
  std::vector<std::uint64_t> aborted;
};

class NotingWay final : public Transport {
 public:
  NotingWay(Told& told, std::size_t connections) : told_(told), connections_(connections) {}
  void start(AttemptId attempt, WireRequest /*request*/) override {
    told_.started.push_back(attempt.value());
  }
  void abort(AttemptId attempt) override { told_.aborted.push_back(attempt.value()); }
  std::size_t connections() const override { return connections_; }

 private:
  Told& told_;
  std::size_t connections_;
};

WireRequest request(std::string verb) {
  WireRequest out;
  out.verb = std::move(verb);
  return out;
}

// req: daemon.ways.1
TEST(SwitchTransport, GoesByTheVerb) {
  Told http;
  Told grpc;
  Told mqtt;
  SwitchTransport way(std::make_unique<NotingWay>(http, 1));
  way.add("CALL", std::make_unique<NotingWay>(grpc, 10));
  way.add("PUBLISH", std::make_unique<NotingWay>(mqtt, 100));
  way.start(AttemptId(1), request("POST"));
  way.start(AttemptId(2), request("CALL"));
  way.start(AttemptId(3), request("PUBLISH"));
  way.start(AttemptId(4), request("call"));
  EXPECT_EQ(http.started, (std::vector<std::uint64_t>{1, 4}));
  EXPECT_EQ(grpc.started, (std::vector<std::uint64_t>{2}));
  EXPECT_EQ(mqtt.started, (std::vector<std::uint64_t>{3}));
  way.abort(AttemptId(2));
  EXPECT_EQ(grpc.aborted, (std::vector<std::uint64_t>{2}));
  EXPECT_EQ(way.connections(), 111U);
}

// req: daemon.ways.1, daemon.login.1
TEST(SwitchTransport, GoesByTheLoginWhenOneIsNeeded) {
  Told http;
  Told grpc;
  Told login;
  SwitchTransport way(std::make_unique<NotingWay>(http, 1));
  way.add("CALL", std::make_unique<NotingWay>(grpc, 10));
  WireRequest wants = request("POST");
  wants.login = std::make_shared<LoginCall>();
  way.start(AttemptId(1), wants);  // nobody is there who could log in
  EXPECT_EQ(http.started, (std::vector<std::uint64_t>{1}));
  way.add_login(std::make_unique<NotingWay>(login, 1));
  way.start(AttemptId(2), wants);
  way.start(AttemptId(3), request("POST"));
  wants.verb = "CALL";
  way.start(AttemptId(4), wants);
  EXPECT_EQ(login.started, (std::vector<std::uint64_t>{2}));
  EXPECT_EQ(http.started, (std::vector<std::uint64_t>{1, 3}));
  EXPECT_EQ(grpc.started, (std::vector<std::uint64_t>{4}));
  way.abort(AttemptId(3));
  EXPECT_EQ(login.aborted, (std::vector<std::uint64_t>{3}));
  EXPECT_TRUE(http.aborted.empty());  // the login passes it on
  EXPECT_EQ(way.connections(), 11U);  // those of the usual one are counted once
}

TEST(SwitchTransport, GoesByTheSchemeOfTheTarget) {
  Told http;
  Told discovery;
  SwitchTransport way(std::make_unique<NotingWay>(http, 1));
  way.add_scheme("matrix://", std::make_unique<NotingWay>(discovery, 1));
  WireRequest put = request("PUT");
  put.target = "matrix://us.example/x";
  way.start(AttemptId(1), put);
  put.target = "https://us.example/x";
  way.start(AttemptId(2), put);
  EXPECT_EQ(discovery.started, (std::vector<std::uint64_t>{1}));
  EXPECT_EQ(http.started, (std::vector<std::uint64_t>{2}));
  way.abort(AttemptId(1));
  EXPECT_EQ(discovery.aborted, (std::vector<std::uint64_t>{1}));
  EXPECT_EQ(way.connections(), 1U);
}

}  // namespace
}  // namespace postrider
