#include "postrider/profiles/matrix/question.h"

#include <gtest/gtest.h>

#include "postrider/profiles/matrix/case_testing.h"

namespace postrider::matrix {
namespace {

struct Asking : ::testing::Test {
  Asking() { test.add_event("!r:domain", "a"); }
  Reading answered(int status, std::string body) {
    WireReply reply;
    reply.status = status;
    reply.body = std::move(body);
    return kMatrix.wire.classify(test.facts(0), AttemptKind::kFindRoute, reply);
  }
  static std::string instead(int events, std::string_view room) {
    std::string out = R"({"instead":[)";
    for (int i = 0; i < events; ++i)
      out.append(i == 0 ? "" : ",").append(event_in(room, std::to_string(i)));
    return out.append("]}");
  }
  MatrixCase test{{{"catch_up_url", "http://127.0.0.1:9/ask"}, {"catch_up_secret", "token"}}};
};

// req: matrix.host.3, matrix.cu.5
TEST_F(Asking, TellsTheHostEventRoomServerAndPosition) {
  test.secrets->put("token", "abc\n");
  test.route.position = 17;
  const WireRequest request = kMatrix.wire.encode(test.facts(0), AttemptKind::kFindRoute);
  EXPECT_EQ(request.target, "http://127.0.0.1:9/ask");
  EXPECT_EQ(request.body, R"({"event":)" + event_in("!r:domain", "a") +
                              R"(,"position":17,"room_id":"!r:domain","server":"them.example"})");
  EXPECT_EQ(request.headers.find("authorization"), "Bearer abc");
  EXPECT_EQ(test.policy.time_out(TimeOut::kProbe), 10s);
}

TEST_F(Asking, IsHeldBackWithoutItsSecret) {
  EXPECT_NE(kMatrix.wire.encode(test.facts(0), AttemptKind::kFindRoute).held_back, "");
}

// req: matrix.host.3
TEST_F(Asking, SendItIsAnAnswer) {
  EXPECT_EQ(answered(200, R"({"send":true})").signal, On::kAcked);
}

// req: matrix.host.3
TEST_F(Asking, OtherEventsOfTheRoomAreSubmittedInstead) {
  const Reading reading = answered(200, instead(10, "!r:domain"));
  EXPECT_EQ(reading.signal, On::kStaleRoute);
  ASSERT_EQ(reading.submits.size(), 10U);
  EXPECT_EQ(reading.submits[0].destination, "matrix:them.example");
  EXPECT_EQ(reading.submits[0].lane, kEventLane);
  EXPECT_EQ(reading.submits[0].body, event_in("!r:domain", "0"));
  MatrixCase next(NamedTexts{{"catch_up_url", "http://127.0.0.1:9/ask"}});
  next.route.health = Health::kCatchUp;
  next.add(kEventLane, reading.submits[0].body, *decode_texts(reading.submits[0].attributes));
  EXPECT_EQ(next.judged(0).signal, On::kDue) << "the host is not asked about its own answer";
}

// req: matrix.host.3, matrix.cu.9
TEST_F(Asking, AnyOtherAnswerMeansThatTheEventIsSent) {
  EXPECT_EQ(answered(200, instead(11, "!r:domain")).signal, On::kFailed);
  EXPECT_EQ(answered(200, instead(0, "!r:domain")).signal, On::kFailed);
  EXPECT_EQ(answered(200, instead(2, "!foreign:domain")).signal, On::kFailed);
  EXPECT_TRUE(answered(200, instead(2, "!foreign:domain")).submits.empty());
  EXPECT_TRUE(answered(200, "text").mismatched);
  EXPECT_EQ(answered(200, R"({"send":false})").signal, On::kFailed);
  EXPECT_EQ(answered(500, R"({"send":true})").signal, On::kFailed);
  EXPECT_EQ(
      kMatrix.wire.classify(test.facts(0), AttemptKind::kFindRoute, {.end = WireEnd::kRefused})
          .signal,
      On::kFailed);
}

}  // namespace
}  // namespace postrider::matrix
