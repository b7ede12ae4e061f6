#include "postrider/transports/work/work_transport.h"

#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <gtest/gtest.h>

namespace postrider {
namespace {

// What the works of a test did, seen from all threads.
struct WorkBook {
  std::atomic<int> made = 0;
  std::atomic<int> gone = 0;
  std::atomic<int> slices = 0;
  std::atomic<bool> endless_may_end = false;
};
WorkBook book;  // NOLINT(cppcoreguidelines-avoid-non-const-global-variables): kinds are functions

// Counts to a number, a unit for each.
class CountWork final : public Work {
 public:
  explicit CountWork(std::uint64_t to) : to_(to) { ++book.made; }
  ~CountWork() override { ++book.gone; }
  bool go_on(std::uint64_t units) override {
    ++book.slices;
    at_ += std::min(units, to_ - at_);
    return at_ == to_;
  }
  std::string result() override { return "counted to " + std::to_string(at_); }

 private:
  std::uint64_t to_;
  std::uint64_t at_ = 0;
};

class EndlessWork final : public Work {
 public:
  EndlessWork() { ++book.made; }
  ~EndlessWork() override { ++book.gone; }
  bool go_on(std::uint64_t /*units*/) override {
    ++book.slices;
    return book.endless_may_end;
  }
  std::string result() override { return "ended"; }
};

std::unique_ptr<Work> make_count(std::string_view input) {
  if (input.empty() || input.find_first_not_of("0123456789") != std::string_view::npos)
    return nullptr;
  return std::make_unique<CountWork>(std::stoull(std::string(input)));
}
std::unique_ptr<Work> make_endless(std::string_view /*input*/) {
  return std::make_unique<EndlessWork>();
}
constexpr WorkKind kKinds[] = {{"count", make_count}, {"endless", make_endless}};

class WorkTransportTest : public ::testing::Test {
 protected:
  WorkTransportTest() {
    book.made = 0;
    book.gone = 0;
    book.slices = 0;
    book.endless_may_end = false;
    make({.threads = 2});
  }
  void make(WorkTransportOptions options) {
    transport.reset();
    options.now = [this] { return now; };
    auto made = WorkTransport::make(loop, std::move(options), kKinds,
                                    [this](AttemptId attempt, WireReply reply) {
                                      ended[attempt.value()].push_back(std::move(reply));
                                      order.push_back(attempt.value());
                                    });
    ASSERT_TRUE(made.has_value());
    transport = std::move(*made);
  }
  void until(const std::function<bool()>& so) {
    const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (!so()) {
      if (loop.stopped()) loop.restart();
      loop.run_one_for(std::chrono::milliseconds(5));
      if (std::chrono::steady_clock::now() < give_up) continue;
      ADD_FAILURE() << "waited in vain";
      return;
    }
  }
  void start(std::uint64_t attempt, std::string target, std::string body,
             Duration time_out = Duration(0)) {
    const Blob owner = Blob::copy_of(body);
    WireRequest request;
    request.verb = kWorkVerb;
    request.target = std::move(target);
    request.owner = owner;
    request.body = owner.view();
    request.time_out = time_out;
    transport->start(AttemptId(attempt), std::move(request));
    EXPECT_EQ(ended.count(attempt), 0U) << "nothing is told from inside a call";
  }
  WireReply end_of(std::uint64_t attempt) {
    until([&] { return ended.contains(attempt); });
    EXPECT_EQ(ended[attempt].size(), 1U);
    return ended[attempt].empty() ? WireReply{} : ended[attempt].front();
  }

  boost::asio::io_context loop{1};
  Timestamp now{1'000'000};
  std::map<std::uint64_t, std::vector<WireReply>> ended;
  std::vector<std::uint64_t> order;
  std::unique_ptr<WorkTransport> transport;
};

TEST_F(WorkTransportTest, WorksInSlicesAndTellsTheResultOnce) {  // req: station.work.1
  start(1, "count", "100000");
  const WireReply reply = end_of(1);
  EXPECT_EQ(reply.end, WireEnd::kAnswered);
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.body, "counted to 100000");
  EXPECT_GT(book.slices, 1);
  EXPECT_EQ(transport->open(), 0U);
}

TEST_F(WorkTransportTest, ALongOneDoesNotHoldUpShortOnes) {  // req: station.work.2
  make({.threads = 1});
  start(1, "endless", "");
  for (std::uint64_t i = 2; i <= 20; ++i) start(i, "count", "1000");
  for (std::uint64_t i = 2; i <= 20; ++i) EXPECT_EQ(end_of(i).status, 200);
  EXPECT_FALSE(ended.contains(1));
  book.endless_may_end = true;
  EXPECT_EQ(end_of(1).body, "ended");
}

TEST_F(WorkTransportTest, AnAbortCountsAfterTheSliceThatIsUnderWay) {  // req: station.work.3
  make({.threads = 1});
  start(1, "endless", "");
  until([&] { return book.slices > 3; });
  transport->abort(AttemptId(1));
  until([&] { return book.gone == 1; });
  const int slices = book.slices;
  start(2, "count", "10");
  end_of(2);
  EXPECT_LE(book.slices, slices + 1) << "only the other one was worked at";
  EXPECT_FALSE(ended.contains(1));
}

TEST(WorkPaceTest, SlicesStayFarBelowWhatAnAbortMayTake) {  // req: station.work.3
  WorkPace pace;
  const auto us_of = [](std::uint64_t units) { return units * 3; };
  std::uint64_t longest = 0;
  for (int i = 0; i < 100; ++i) {
    longest = std::max(longest, us_of(pace.units));
    pace.took(us_of(pace.units));
  }
  EXPECT_LE(longest, 8'000U);
  EXPECT_GE(us_of(pace.units), 2'000U);
  pace.units = 1;
  pace.took(1'000'000);
  EXPECT_EQ(pace.units, 1U) << "one unit is the least";
}

TEST_F(WorkTransportTest, WhatMakesNoSenseIsRefused) {  // req: station.work.4
  start(1, "count", "many");
  start(2, "unknown", "1");
  EXPECT_EQ(end_of(1).status, 400);
  EXPECT_EQ(end_of(2).status, 400);
}

TEST_F(WorkTransportTest, AsManyAsMayWaitAndTheNextIsHeldBack) {  // req: station.work.4
  make({.threads = 1, .waiting_max = 2});
  start(1, "endless", "");
  start(2, "endless", "");
  start(3, "count", "1");
  EXPECT_EQ(end_of(3).end, WireEnd::kHeldBack);
  book.endless_may_end = true;
  EXPECT_EQ(end_of(1).status, 200);
  EXPECT_EQ(end_of(2).status, 200);
}

TEST_F(WorkTransportTest, WhatTakesTooLongIsTimedOut) {  // req: station.work.4
  start(1, "endless", "", Duration(500));
  now = now + Duration(499);
  transport->sweep();
  EXPECT_FALSE(ended.contains(1));
  now = now + Duration(1);
  transport->sweep();
  EXPECT_EQ(end_of(1).end, WireEnd::kTimedOut);
  until([&] { return book.gone == 1; });
}

TEST_F(WorkTransportTest, AResultIsBounded) {  // req: station.work.4
  make({.threads = 1, .result_bytes_max = 12});
  start(1, "count", "9");
  EXPECT_EQ(end_of(1).status, 200);
  start(2, "count", "10");
  EXPECT_EQ(end_of(2).status, 413);
}

TEST_F(WorkTransportTest, NothingIsLeftWhenItGoes) {  // req: station.work.3
  start(1, "endless", "");
  start(2, "count", "5");
  until([&] { return ended.contains(2); });
  transport.reset();
  EXPECT_EQ(book.made, book.gone);
  loop.restart();
  while (loop.poll() > 0) continue;
  EXPECT_FALSE(ended.contains(1));
}

}  // namespace
}  // namespace postrider
