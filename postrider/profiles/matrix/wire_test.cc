#include "postrider/profiles/matrix/wire.h"

#include <gtest/gtest.h>

#include "postrider/profiles/matrix/case_testing.h"
#include "postrider/profiles/matrix/notes.h"
#include "postrider/protocols/matrix/event.h"
#include "postrider/protocols/matrix/server_name.h"
#include "postrider/protocols/matrix/transaction.h"
#include "postrider/protocols/matrix/x_matrix.h"

namespace postrider::matrix {
namespace {

WireRequest sent(const postrider::Facts& facts) {
  return kMatrix.wire.encode(facts, AttemptKind::kSend);
}

// Whether the receiver would take it for ours.
Authentication verified(const WireRequest& request) {
  const auto target = parse_matrix_target(request.target);
  EXPECT_TRUE(target);
  const auto header = parse_x_matrix(request.headers.find("authorization"));
  EXPECT_TRUE(header);
  const std::vector<VerifyKey> keys = {{.id = "ed25519:1", .key = vector_key().public_key()}};
  return authenticate(*header,
                      {.method = request.verb,
                       .uri = target->uri,
                       .origin = kVectorName,
                       .destination = target->server.text},
                      request.body, keys);
}

// req: matrix.txn.2, matrix.auth.2
TEST(MatrixTransaction, OfOneEventHasNoUnits) {
  MatrixCase test;
  test.add_event("!r:domain", "hello");
  const WireRequest request = sent(test.leading(0, {}));
  EXPECT_EQ(request.body, R"({"origin":"domain","origin_server_ts":1700000000000,"pdus":[)" +
                              event_in("!r:domain", "hello") + "]}");
  EXPECT_EQ(request.verb, "PUT");
  EXPECT_EQ(request.headers.find("content-type"), "application/json");
  EXPECT_EQ(request.held_back, "");
  EXPECT_EQ(verified(request), Authentication::kValid);
}

// req: matrix.txn.5
TEST(MatrixTransaction, HasAnIdOfLeaderAndClaim) {
  MatrixCase test;
  test.add_event("!r:domain", "hello");
  const std::string id = transaction_id(Facts(test.leading(0, {}, 3)));
  EXPECT_EQ(id, to_string(test.facts(0).id()) + "-3");
  EXPECT_TRUE(is_transaction_id(id));
  EXPECT_TRUE(is_transaction_id(transaction_id(Facts(test.leading(0, {}, 9'999'999)))));
  EXPECT_EQ(sent(test.leading(0, {}, 3)).target,
            "matrix://them.example/_matrix/federation/v1/send/" + id);
}

// req: matrix.edu.3, matrix.edu.4, matrix.egress.4
TEST(MatrixTransaction, PutsPresenceAndReceiptsTogether) {
  MatrixCase test;
  test.add(kToDeviceLane, to_device_unit("x"));
  test.add(kPresenceLane, presence_unit("@a:domain"), {{"key", "@a:domain"}});
  test.add(kPresenceLane, presence_unit("@b:domain"), {{"key", "@b:domain"}});
  test.add(kReceiptLane, receipt_unit("!r:domain", "@a:domain"), {{"key", "1"}});
  test.add(kReceiptLane, receipt_unit("!r:domain", "@b:domain"), {{"key", "2"}});
  const WireRequest request = sent(test.leading(0, {1, 2, 3, 4}));
  const auto read = read_transaction(request.body, {});
  ASSERT_TRUE(read);
  ASSERT_EQ(read->edus.size(), 3U);
  EXPECT_EQ(read->edus[0].bytes,
            R"({"content":{"push":[{"presence":"online","user_id":"@a:domain"},)"
            R"({"presence":"online","user_id":"@b:domain"}]},"edu_type":"m.presence"})");
  EXPECT_NE(read->edus[1].bytes.find("@b:domain"), std::string_view::npos);
  EXPECT_EQ(read->edus[2].bytes, to_device_unit("x"));
  EXPECT_EQ(verified(request), Authentication::kValid);
}

// req: matrix.txn.4
TEST(MatrixTransaction, IsTheSameWhoeverLeadsAndWheneverItIsMade) {
  MatrixCase test;
  test.add_event("!r:domain", "a");
  test.add_event("!r:domain", "b");
  test.add(kPresenceLane, presence_unit("@a:domain"), {{"key", "@a:domain"}});
  const WireRequest first = sent(test.leading(0, {1, 2}));
  test.now = test.now + 5h;
  test.route.health = Health::kCatchUp;
  postrider::Facts later = test.leading(0, {2, 1});
  later.route = nullptr;
  const WireRequest again = sent(later);
  EXPECT_EQ(again.body, first.body);
  EXPECT_EQ(again.target, first.target);
  EXPECT_EQ(again.headers.text(), first.headers.text());
}

// req: matrix.cj.2, matrix.egress.4
TEST(MatrixTransaction, CarriesItemsThatAreNotCanonicalAsTheyCame) {
  MatrixCase test;
  std::string odd = event_in("!r:domain", "a");
  odd.insert(1, R"( "z": 1.50, )");
  test.add(kEventLane, odd);
  const WireRequest request = sent(test.leading(0, {}));
  EXPECT_NE(request.body.find(odd), std::string_view::npos);
  EXPECT_EQ(verified(request), Authentication::kValid);
}

// req: matrix.key.4
TEST(MatrixTransaction, IsHeldBackWithoutAKey) {
  MatrixCase test;
  test.add_event("!r:domain", "a");
  test.secrets = std::make_shared<Secrets>();
  EXPECT_EQ(sent(test.leading(0, {})).held_back, "there is no secret 'k'");
  test.secrets = std::make_shared<Secrets>();
  test.secrets->put("k", "ed25519 1 not-a-key");
  const std::string why = sent(test.leading(0, {})).held_back;
  EXPECT_NE(why.find("is no signing key"), std::string::npos);
  EXPECT_EQ(why.find("not-a-key"), std::string::npos);
  const Reading reading = kMatrix.wire.classify(test.leading(0, {}), AttemptKind::kSend,
                                                {.end = WireEnd::kHeldBack, .body = why});
  EXPECT_EQ(reading.outcome.failure, FailureClass::kHeldBack);
  EXPECT_EQ(reading.outcome.reason, why);
}

// req: matrix.txn.6
TEST(MatrixAnswer, DeliversWithAnObject) {
  MatrixCase test;
  test.add_event("!r:domain", "a");
  const Reading reading = test.reading(test.leading(0, {}), 200, R"({"pdus":{}})");
  EXPECT_EQ(reading.signal, On::kAnswered);
  EXPECT_EQ(reading.outcome.failure, FailureClass::kNone);
  EXPECT_TRUE(reading.remarks.empty());
}

// req: matrix.http.5
TEST(MatrixAnswer, OfOtherKindsFails) {
  MatrixCase test;
  test.add_event("!r:domain", "a");
  for (const std::string& body :
       {std::string(), std::string("OK"), std::string("[]"), std::string("{\"a\":NaN}"),
        "{\"a\":\"" + std::string(300'000, 'x') + "\"}"}) {
    EXPECT_EQ(test.reading(test.leading(0, {}), 200, body).signal, On::kFailed);
  }
}

// req: matrix.txn.8
TEST(MatrixAnswer, KeepsWhatItSaysOfSingleEvents) {
  MatrixCase test;
  test.add(kToDeviceLane, to_device_unit("x"));
  test.add_event("!r:domain", "a");
  test.add_event("!r:domain", "b");
  const std::string id = event_ids(test.items[2].message.body).front();
  const Reading reading = test.reading(test.leading(0, {2, 1}), 200,
                                       R"({"pdus":{"$other":{"error":"no"},")" + id +
                                           R"(":{"errcode":"M_FORBIDDEN","error":"banned"}}})");
  EXPECT_EQ(reading.signal, On::kAnswered);
  ASSERT_EQ(reading.remarks.size(), 1U);
  EXPECT_EQ(reading.remarks[0], (Remark{.member = 1, .text = "M_FORBIDDEN: banned"}));
}

// req: matrix.http.4
TEST(MatrixAnswer, ThatAsksToWaitHoldsTheTransaction) {
  MatrixCase test;
  test.add_event("!r:domain", "a");
  const auto wait_of = [&](std::string body, NamedTexts headers) {
    const Reading reading =
        test.reading(test.leading(0, {}), 429, std::move(body), std::move(headers));
    EXPECT_EQ(reading.signal, On::kStillHeld);
    EXPECT_EQ(reading.outcome.failure, FailureClass::kThrottled);
    return reading.retry_after.value_or(Duration(-1));
  };
  EXPECT_EQ(wait_of("{}", {{"retry-after", "7"}}), 7s);
  EXPECT_EQ(wait_of(R"({"retry_after_ms":1500})", {}), 1500ms);
  EXPECT_EQ(wait_of("{}", {}), 5s);
  EXPECT_EQ(wait_of("{}", {{"retry-after", "-3"}}), 5s);
  EXPECT_EQ(wait_of("{}", {{"retry-after", "31536000"}}), 1h);
  EXPECT_EQ(wait_of("{}", {{"retry-after", "Tue, 14 Nov 2023 22:13:30 GMT"}}), 10s);
  MatrixCase compatible(NamedTexts{{"policy", "compatible"}});
  compatible.add_event("!r:domain", "a");
  const Reading reading =
      compatible.reading(compatible.leading(0, {}), 429, "{}", {{"retry-after", "7"}});
  EXPECT_EQ(reading.signal, On::kFailed);
  EXPECT_FALSE(reading.retry_after);
}

// req: matrix.back.3, matrix.http.3
TEST(MatrixAnswer, ThatRefusesUsIsAnOutage) {
  MatrixCase test;
  test.add_event("!r:domain", "a");
  for (const int status : {401, 403, 404, 302}) {
    const Reading reading =
        test.reading(test.leading(0, {}), status, R"({"errcode":"M_UNAUTHORIZED","error":"who?"})");
    EXPECT_EQ(reading.signal, On::kNoRoute) << status;
    EXPECT_TRUE(test.policy.rule(reading.outcome.failure).strikes) << status;
    EXPECT_EQ(reading.outcome.reason, "HTTP " + std::to_string(status) + ": M_UNAUTHORIZED: who?");
  }
}

// req: matrix.http.10
TEST(MatrixAnswer, OfOurOwnGuardIsAnOutage) {
  MatrixCase test;
  test.add_event("!r:domain", "a");
  const Reading reading =
      kMatrix.wire.classify(test.leading(0, {}), AttemptKind::kSend, {.end = WireEnd::kForbidden});
  EXPECT_EQ(reading.signal, On::kNoRoute);
  EXPECT_EQ(reading.outcome.certainty, Certainty::kNotSent);
}

// req: matrix.txn.11
TEST(MatrixPoison, ABatchThatIsTooMuchIsSplit) {
  MatrixCase test;
  for (int i = 0; i < 4; ++i) test.add(kToDeviceLane, to_device_unit(std::to_string(i)));
  for (const int status : {400, 413}) {
    const Reading reading = test.reading(test.leading(0, {1, 2, 3}), status, "{}");
    EXPECT_EQ(reading.signal, On::kStaleRoute);
    EXPECT_TRUE(reading.splits);
  }
}

// req: matrix.txn.12
TEST(MatrixPoison, AServerErrorSplitsWhenItIsRepeatedForTheSameBytes) {
  MatrixCase test;
  for (int i = 0; i < 4; ++i) test.add(kToDeviceLane, to_device_unit(std::to_string(i)));
  const Reading first = test.reading(test.leading(0, {1, 2, 3}, 1), 500, "{}");
  EXPECT_EQ(first.signal, On::kFailed);
  ASSERT_TRUE(first.notes);
  test.items[0].notes = *first.notes;
  const Reading second = test.reading(test.leading(0, {1, 2, 3}, 1), 500, "{}");
  EXPECT_EQ(second.signal, On::kStaleRoute);
  EXPECT_TRUE(second.splits);
  EXPECT_EQ(test.reading(test.leading(0, {1}, 2), 500, "{}").signal, On::kFailed)
      << "these are other bytes";
  test.route.refused = {test.items[1].message.id};
  EXPECT_EQ(test.reading(test.leading(0, {1}, 2), 500, "{}").signal, On::kStaleRoute)
      << "an item is being looked for";
}

// req: matrix.txn.14
TEST(MatrixPoison, AnItemAloneIsSetAsideAndThenDead) {
  MatrixCase test;
  test.add(kToDeviceLane, to_device_unit("x"));
  const Reading first =
      test.reading(test.leading(0, {}), 400, R"({"errcode":"M_UNKNOWN","error":"bad"})");
  EXPECT_EQ(first.signal, On::kNoLink);
  EXPECT_FALSE(first.splits);
  ASSERT_TRUE(first.notes);
  test.items[0].notes = *first.notes;
  EXPECT_EQ(read_notes(*first.notes).aside, test.now);
  test.now = test.now + 1min;
  const Reading outage = test.reading(test.leading(0, {}), 500, "{}");
  EXPECT_EQ(outage.signal, On::kNoRoute) << "nothing was delivered since";
  ASSERT_TRUE(outage.notes);
  test.items[0].notes = *outage.notes;
  EXPECT_EQ(test.reading(test.leading(0, {}), 500, "{}").signal, On::kNoLink)
      << "what waits behind it is tried";
  test.route.delivered_at = test.now;
  const Reading again =
      test.reading(test.leading(0, {}), 500, R"({"errcode":"M_UNKNOWN","error":"bad"})");
  EXPECT_EQ(again.signal, On::kRejected);
  EXPECT_EQ(again.outcome.reason, "HTTP 500: M_UNKNOWN: bad");
}

// req: matrix.txn.14
TEST(MatrixPoison, WhileOneIsAsideAnotherRefusalIsAnOutage) {
  MatrixCase test;
  test.add(kToDeviceLane, to_device_unit("x"));
  test.route.revive_at = test.now + test.policy.health.revive_every;
  EXPECT_EQ(test.reading(test.leading(0, {}), 400, "{}").signal, On::kNoRoute);
  test.route.delivered_at = test.now + 1ms;
  EXPECT_EQ(test.reading(test.leading(0, {}), 400, "{}").signal, On::kNoLink);
}

TEST(MatrixPoison, CompatibleKnowsNone) {
  MatrixCase test(NamedTexts{{"policy", "compatible"}});
  for (int i = 0; i < 2; ++i) test.add(kToDeviceLane, to_device_unit(std::to_string(i)));
  EXPECT_EQ(test.reading(test.leading(0, {1}), 413, "{}").signal, On::kNoRoute);
  const Reading failed = test.reading(test.leading(0, {1}), 500, "{}");
  EXPECT_EQ(failed.signal, On::kFailed);
  EXPECT_FALSE(failed.notes);
  EXPECT_FALSE(failed.splits);
}

TEST(MatrixTurn, IsDueAsARule) {
  MatrixCase test;
  test.add_event("!r:domain", "a");
  for (const StateIndex state : {kQueued, kAsked, kAgain, kHeld}) {
    test.items[0].state.state = state;
    EXPECT_EQ(test.judged(0).signal, On::kDue);
  }
}

// req: matrix.egress.8
TEST(MatrixTurn, OfWhatCannotBeSentIsItsEnd) {
  MatrixCase test;
  test.add(kEventLane, "[1", {{"fault", "it is no object"}});
  EXPECT_EQ(test.judged(0).signal, On::kRejected);
  EXPECT_EQ(test.judged(0).reason, "it is no object");
}

TEST(MatrixTurn, OfAnOldTransactionReleasesIt) {
  MatrixCase test;
  test.add_event("!r:domain", "a");
  test.items[0].intent = {.at = test.now - 24h, .wall = kCaseWall, .hash = 1, .open = true};
  for (const StateIndex state : {kAgain, kHeld}) {
    test.items[0].state.state = state;
    EXPECT_EQ(test.judged(0).signal, On::kStaleRoute);
  }
  test.items[0].state.state = kQueued;
  EXPECT_EQ(test.judged(0).signal, On::kDue);
  test.items[0].state.state = kHeld;
  test.items[0].intent.at = test.now - 24h + 1ms;
  EXPECT_EQ(test.judged(0).signal, On::kDue);
}

// req: matrix.back.10
TEST(MatrixAnswer, AServerThatWasAwayForLongGetsOneTry) {
  MatrixCase test;
  test.add_event("!r:domain", "a");
  const auto signal = [](MatrixCase& one, WireEnd end) {
    WireReply reply{.end = end, .status = end == WireEnd::kAnswered ? 503 : 0};
    return kMatrix.wire.classify(one.leading(0, {}), AttemptKind::kSend, reply).signal;
  };
  test.route.interval = 1h;
  EXPECT_EQ(signal(test, WireEnd::kRefused), On::kNoRoute);
  EXPECT_EQ(signal(test, WireEnd::kTimedOut), On::kNoRoute);
  EXPECT_EQ(signal(test, WireEnd::kAnswered), On::kNoRoute);
  EXPECT_EQ(signal(test, WireEnd::kHeldBack), On::kFailed);
  test.route.interval = 1h - 1ms;
  EXPECT_EQ(signal(test, WireEnd::kRefused), On::kFailed);
  MatrixCase compatible(NamedTexts{{"policy", "compatible"}});
  compatible.add_event("!r:domain", "a");
  compatible.route.interval = 7 * 24h;
  EXPECT_EQ(signal(compatible, WireEnd::kRefused), On::kFailed);
}

// req: matrix.cu.5
TEST(MatrixTurn, InCatchUpTheHostIsAskedWhereItWantsThat) {
  MatrixCase test(NamedTexts{{"catch_up_url", "http://127.0.0.1:9/ask"}});
  test.add_event("!r:domain", "a");
  test.add(kToDeviceLane, to_device_unit("x"));
  test.add(kEventLane, event_in("!r:domain", "b"), {{"asked", "yes"}});
  EXPECT_EQ(test.judged(0).signal, On::kDue);
  test.route.health = Health::kCatchUp;
  EXPECT_EQ(test.judged(0).signal, On::kNoRoute);
  EXPECT_EQ(test.judged(1).signal, On::kDue);
  EXPECT_EQ(test.judged(2).signal, On::kDue);
  test.items[0].state.state = kAsked;
  EXPECT_EQ(test.judged(0).signal, On::kDue);
  MatrixCase without;
  without.add_event("!r:domain", "a");
  without.route.health = Health::kCatchUp;
  EXPECT_EQ(without.judged(0).signal, On::kDue);
}

// req: matrix.txn.6, matrix.cu.6
TEST(MatrixEnd, TellsThePositionOfWhatWasDelivered) {
  MatrixCase test;
  test.add(kEventLane, event_in("!r:domain", "a"), {{"position", "71"}});
  const auto position = [&](Moment moment) {
    return kMatrix.after(test.facts(0), moment).position;
  };
  EXPECT_EQ(position({.kind = Moment::Kind::kEnded, .end = kDelivered}), 71U);
  EXPECT_EQ(position({.kind = Moment::Kind::kEnded, .end = kDead}), 0U);
  EXPECT_EQ(position({.kind = Moment::Kind::kStarted}), 0U);
}

}  // namespace
}  // namespace postrider::matrix
