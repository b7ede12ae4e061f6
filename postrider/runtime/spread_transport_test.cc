#include "postrider/runtime/spread_transport.h"

#include <condition_variable>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <utility>

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <gtest/gtest.h>

namespace postrider {
namespace {

// Answers with the number of its loop; what is for "silent" it keeps until it is aborted.
class Echo final : public Transport {
 public:
  Echo(boost::asio::io_context& loop, SpreadTransport::Ended ended, int number)
      : loop_(loop), ended_(std::move(ended)), number_(number) {}

  void start(AttemptId attempt, WireRequest request) override {
    EXPECT_TRUE(loop_.get_executor().running_in_this_thread());
    ++open_;
    if (request.target == "silent") return;
    boost::asio::post(loop_, [this, attempt] { end(attempt, number_); });
  }
  void abort(AttemptId attempt) override {
    EXPECT_TRUE(loop_.get_executor().running_in_this_thread());
    end(attempt, -1);
  }
  std::size_t connections() const override { return open_; }

 private:
  void end(AttemptId attempt, int status) {
    --open_;
    WireReply reply;
    reply.status = status;
    ended_(attempt, std::move(reply));
  }

  boost::asio::io_context& loop_;
  SpreadTransport::Ended ended_;
  int number_;
  std::size_t open_ = 0;
};

class SpreadTransportTest : public ::testing::Test {
 protected:
  void open(std::uint32_t loops) {
    auto made = SpreadTransport::make(
        loops,
        [this](boost::asio::io_context& loop, SpreadTransport::Ended ended) {
          return Result<std::unique_ptr<Transport>>(
              std::make_unique<Echo>(loop, std::move(ended), made_++));
        },
        [this](AttemptId attempt, const WireReply& reply) {
          EXPECT_EQ(std::this_thread::get_id(), thread_);
          ++ends_[attempt.value()];
          last_ = reply.status;
        },
        [this] {
          const std::lock_guard lock(mutex_);
          woken_ = true;
          changed_.notify_one();
        });
    ASSERT_TRUE(made.has_value());
    spread_ = std::move(*made);
  }
  void start(std::uint64_t attempt, std::string target) {
    WireRequest request;
    request.target = std::move(target);
    spread_->start(AttemptId(attempt), std::move(request));
  }
  // Waits to be woken as a loop does, until so many have ended.
  void wait_for(std::size_t count) {
    while (ends_.size() < count) {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return woken_; });
      woken_ = false;
      lock.unlock();
      spread_->poll();
    }
  }

  std::thread::id thread_ = std::this_thread::get_id();
  int made_ = 0;
  int last_ = 0;
  std::map<std::uint64_t, int> ends_;  // how often each was told
  std::mutex mutex_;
  std::condition_variable changed_;
  bool woken_ = false;
  std::unique_ptr<SpreadTransport> spread_;
};

// req: daemon.loops.1
TEST_F(SpreadTransportTest, TellsEachEndOnceOnTheCallersThread) {
  open(3);
  for (std::uint64_t i = 1; i <= 5000; ++i) start(i, "http://h" + std::to_string(i % 50) + "/");
  wait_for(5000);
  for (const auto& [attempt, times] : ends_) EXPECT_EQ(times, 1) << attempt;
  EXPECT_EQ(spread_->poll(), 0U);
}

// req: daemon.loops.1
TEST_F(SpreadTransportTest, KeepsAPeerOnOneLoopAndUsesAll) {
  open(4);
  EXPECT_EQ(made_, 4);
  std::map<std::string, std::set<int>> loops_of;
  std::set<int> loops;
  std::uint64_t attempt = 0;
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < 40; ++i) {
      const std::string peer = "http://host" + std::to_string(i);
      start(++attempt, peer + "/path" + std::to_string(round));
      wait_for(attempt);
      loops_of[peer].insert(last_);
      loops.insert(last_);
    }
  }
  for (const auto& [peer, used] : loops_of) EXPECT_EQ(used.size(), 1U) << peer;
  EXPECT_EQ(loops.size(), 4U);
}

// req: daemon.loops.1
TEST_F(SpreadTransportTest, TakesAnAttemptBack) {
  open(2);
  start(1, "silent");
  start(2, "silent");
  spread_->abort(AttemptId(1));
  spread_->abort(AttemptId(77));  // nobody has it
  wait_for(1);
  EXPECT_EQ(ends_.count(1), 1U);
  EXPECT_EQ(last_, -1);
  EXPECT_EQ(spread_->connections(), 1U);
}

TEST_F(SpreadTransportTest, CanGoWhileAttemptsAreOpen) {
  open(2);
  for (std::uint64_t i = 1; i <= 100; ++i) start(i, i % 2 == 0 ? "silent" : "http://a/");
  spread_.reset();
  EXPECT_TRUE(ends_.empty());
}

TEST(PeerOf, IsSchemeHostAndPort) {
  EXPECT_EQ(peer_of("https://shop.example:8443/hook?x=1"), "https://shop.example:8443");
  EXPECT_EQ(peer_of("http://a?x"), "http://a");
  EXPECT_EQ(peer_of("http://[::1]:80"), "http://[::1]:80");
  EXPECT_EQ(peer_of("opaque"), "opaque");
}

TEST(SpreadTransport, NeedsALoop) {
  EXPECT_FALSE(SpreadTransport::make(0, {}, {}, [] {}).has_value());
}

}  // namespace
}  // namespace postrider
