#include "postrider/runtime/first_transport.h"

#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace postrider {
namespace {

struct Noted {
  std::vector<std::pair<std::uint64_t, WireRequest>> started;
  std::vector<std::uint64_t> aborted;
  std::vector<std::pair<std::uint64_t, WireReply>> ended;
};

class Noting final : public Transport {
 public:
  explicit Noting(Noted& noted) : noted_(noted) {}
  void start(AttemptId attempt, WireRequest request) override {
    noted_.started.emplace_back(attempt.value(), std::move(request));
  }
  void abort(AttemptId attempt) override { noted_.aborted.push_back(attempt.value()); }

 private:
  Noted& noted_;
};

class FirstTransportTest : public ::testing::Test {
 protected:
  FirstTransportTest()
      : way([this](AttemptId attempt, WireReply reply) {
          noted.ended.emplace_back(attempt.value(), std::move(reply));
        }) {
    way.over(std::make_unique<Noting>(noted));
  }
  static WireRequest asking() {
    WireRequest question;
    question.verb = "CALL";
    WireRequest request;
    request.verb = "PUBLISH";
    request.time_out = 20s;
    request.first = std::make_shared<const WireRequest>(std::move(question));
    return request;
  }
  void end(std::uint64_t attempt, WireEnd end, int status = 0) {
    WireReply reply;
    reply.end = end;
    reply.status = status;
    way.inner_ended(AttemptId(attempt), std::move(reply));
  }

  Noted noted;
  FirstTransport way;
};

// req: daemon.ways.9
TEST_F(FirstTransportTest, SendsTheRequestWhenTheQuestionIsAnsweredWithZero) {
  way.start(AttemptId(1), asking());
  ASSERT_EQ(noted.started.size(), 1U);
  EXPECT_EQ(noted.started[0].second.verb, "CALL");
  EXPECT_EQ(noted.started[0].second.time_out, 10s);
  end(1, WireEnd::kAnswered);
  ASSERT_EQ(noted.started.size(), 2U);
  EXPECT_EQ(noted.started[1].first, 1U);
  EXPECT_EQ(noted.started[1].second.verb, "PUBLISH");
  EXPECT_EQ(noted.started[1].second.time_out, 10s);
  EXPECT_TRUE(noted.ended.empty());
  end(1, WireEnd::kTimedOut);
  ASSERT_EQ(noted.ended.size(), 1U);
  EXPECT_EQ(noted.ended[0].second.end, WireEnd::kTimedOut);
  EXPECT_FALSE(noted.ended[0].second.of_first);
}

// req: daemon.ways.9
TEST_F(FirstTransportTest, AnyOtherEndOfTheQuestionIsTheEndAndTheRequestStays) {
  way.start(AttemptId(1), asking());
  end(1, WireEnd::kAnswered, 5);
  way.start(AttemptId(2), asking());
  end(2, WireEnd::kTimedOut);
  way.start(AttemptId(3), asking());
  end(3, WireEnd::kRefused);
  EXPECT_EQ(noted.started.size(), 3U);
  ASSERT_EQ(noted.ended.size(), 3U);
  for (const auto& [attempt, reply] : noted.ended) EXPECT_TRUE(reply.of_first) << attempt;
  EXPECT_EQ(noted.ended[0].second.status, 5);
}

// req: daemon.ways.9
TEST_F(FirstTransportTest, WhatIsAbortedDuringItsQuestionDoesNotLeave) {
  way.start(AttemptId(1), asking());
  way.abort(AttemptId(1));
  EXPECT_EQ(noted.aborted, (std::vector<std::uint64_t>{1}));
  end(1, WireEnd::kAnswered);  // it was on its way already
  EXPECT_EQ(noted.started.size(), 1U);
}

// req: daemon.ways.9
TEST_F(FirstTransportTest, WhatHasNoQuestionPasses) {
  WireRequest plain;
  plain.verb = "POST";
  plain.time_out = 20s;
  way.start(AttemptId(1), std::move(plain));
  ASSERT_EQ(noted.started.size(), 1U);
  EXPECT_EQ(noted.started[0].second.time_out, 20s);
  end(1, WireEnd::kAnswered, 200);
  ASSERT_EQ(noted.ended.size(), 1U);
  EXPECT_FALSE(noted.ended[0].second.of_first);
}

}  // namespace
}  // namespace postrider
