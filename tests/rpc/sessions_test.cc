// Sessions of rpc over the real engine: attachments, operations over breaks, and what is told when.
#include <string>

#include "tests/rpc/session_rig.h"

namespace postrider {
namespace {

using rpc::AdmittedFrame;
using rpc::ByeFrame;
using rpc::ByeReason;
using rpc::CancelFrame;
using rpc::CancelMode;
using rpc::LiveState;
using rpc::Origin;
using rpc::OutcomeFrame;
using rpc::OutcomeKind;
using rpc::PingFrame;
using rpc::PongFrame;
using rpc::QueryFrame;
using rpc::WelcomeFrame;

class Sessions : public SessionRig {
 protected:
  static OutcomeFrame value(std::uint64_t number, std::string body, Origin origin) {
    return {number, OutcomeKind::kValue, origin, 200, 0, "text/plain", std::move(body)};
  }
  OutcomeFrame outcome(const Session& session) { return only<OutcomeFrame>(session.line); }
  // What a question with `watch` is answered.
  void asks(const Session& session, std::uint64_t number) {
    send(session.line, QueryFrame{number, true});
  }
};

// req: rpc.own.6
TEST_F(Sessions, AWelcomeSaysWhatWasDurableBeforeItLeft) {
  start();
  const LineId line = connect();
  store.holds_commits = true;
  send(line, rpc::HelloFrame{"shop-token", "test", {}});
  EXPECT_TRUE(heard(line).empty());
  store.holds_commits = false;
  release();
  const auto first = only<WelcomeFrame>(line);
  ASSERT_TRUE(first.attachment);
  EXPECT_FALSE(first.attachment->resumed);
  EXPECT_EQ(first.attachment->generation, 1U);
  EXPECT_EQ(first.attachment->epoch, shard->epoch().value());
  EXPECT_EQ(first.attachment->calls_max, setup.calls_max);

  // A session that is not there is made anew, and that is said, too.
  rpc::ResumeClaim unknown = Session{line, *first.attachment}.claim();
  unknown.session[0] ^= 1;
  const auto other = greet(connect(), "shop-token", unknown);
  ASSERT_TRUE(other.attachment);
  EXPECT_FALSE(other.attachment->resumed);
  EXPECT_NE(other.attachment->session, first.attachment->session);
  EXPECT_NE(other.attachment->session, unknown.session);

  // What cannot be written down is refused.
  shut = AnswerCode::kUnavailable;
  EXPECT_EQ(greet(connect()).refusal, rpc::Refusal::kUnavailable);
  shut = AnswerCode::kBusy;
  EXPECT_EQ(greet(connect()).refusal, rpc::Refusal::kBusy);
}

// req: rpc.own.8
TEST_F(Sessions, AKeyRotatesAndTheFormerOneIsGoodUntilTheFirstFrame) {
  start();
  const Session first = begin();
  const Session lost = resume(first);  // its welcome is lost
  EXPECT_EQ(lost.granted.generation, 2U);
  EXPECT_NE(lost.granted.key, first.granted.key);
  const Session second = resume(first);
  EXPECT_EQ(second.granted.generation, 3U);
  EXPECT_EQ(second.granted.session, first.granted.session);
  EXPECT_FALSE(greet(connect(), "shop-token", lost.claim()).attachment)
      << "a key between the former and the current one";
  send(second.line, PingFrame{7});  // the client has the key
  EXPECT_EQ(only<PongFrame>(second.line).nonce, 7U);
  const auto refused = greet(connect(), "shop-token", first.claim());
  EXPECT_FALSE(refused.attachment);
  EXPECT_EQ(refused.refusal, rpc::Refusal::kKey);
  start();  // the card says so after a restart, too
  EXPECT_FALSE(greet(connect(), "shop-token", first.claim()).attachment);
  EXPECT_EQ(resume(second).granted.generation, 4U);
}

// The first frame is not written down: the next one says it again.
TEST_F(Sessions, AFirstFrameThatIsNotDurableIsSaidAgain) {
  start();
  const Session first = begin();
  const Session second = resume(first);
  shut = AnswerCode::kBusy;
  send(second.line, PingFrame{1});
  shut.reset();
  send(second.line, PingFrame{2});
  EXPECT_FALSE(greet(connect(), "shop-token", first.claim()).attachment);
}

// req: rpc.own.7
TEST_F(Sessions, ANewerAttachmentFencesTheOlder) {
  start();
  const Session first = begin();
  begin_call(first, kPersist, 1);
  store.holds_commits = true;
  const LineId line = connect();
  send(line, rpc::HelloFrame{"shop-token", "test", first.claim()});
  EXPECT_FALSE(is_closed(first.line)) << "the new generation is not durable yet";
  store.holds_commits = false;
  release();
  EXPECT_EQ(only<ByeFrame>(first.line).reason, ByeReason::kFenced);
  EXPECT_TRUE(is_closed(first.line));
  const Session second{line, only<WelcomeFrame>(line).attachment.value()};

  // Nothing of the older one is heard or answered any more.
  call_by(first, kPersist, 2);
  handler_answers(200, "paid");
  EXPECT_TRUE(heard(first.line).empty());
  EXPECT_EQ(runs().size(), 1U);
  asks(second, 1);
  EXPECT_EQ(outcome(second), value(1, "paid", Origin::kReplayed));
  asks(second, 2);
  EXPECT_EQ(outcome(second).kind, OutcomeKind::kAbsent);
  EXPECT_EQ(figure("rpc attachments fenced"), 1U);
}

// req: rpc.rule.1, rpc.rule.8, rpc.rule.15
TEST_F(Sessions, ACallIsAdmittedWhenItIsDurableAndItsEndIsToldWhenThatIs) {
  start();
  const Session session = begin();
  store.holds_commits = true;
  call_by(session, kPersist, 1);
  EXPECT_TRUE(heard(session.line).empty());
  EXPECT_TRUE(runs().empty());
  store.holds_commits = false;
  release();
  EXPECT_EQ(only<AdmittedFrame>(session.line),
            (AdmittedFrame{1, LiveState::kQueued, Origin::kFirst}));
  ASSERT_EQ(runs().size(), 1U);
  EXPECT_EQ(header(runs()[0], "operation-principal"), "shop");
  EXPECT_TRUE(header(runs()[0], "operation-id").ends_with("-1"));
  store.holds_commits = true;
  handler_answers(200, "paid");
  EXPECT_TRUE(heard(session.line).empty());
  store.holds_commits = false;
  release();
  EXPECT_EQ(outcome(session), value(1, "paid", Origin::kFirst));
  EXPECT_EQ(figure("rpc calls admitted"), 1U);
}

// req: rpc.rule.4, rpc.rule.8, rpc.rule.41, rpc.rule.43, rpc.rule.44
TEST_F(Sessions, OperationsOutliveTheConnection) {
  start();
  const Session first = begin();
  begin_call(first, kPersist, 1);
  begin_call(first, kVolatileIdem, 2);
  cut(first.line);
  const Session second = resume(first);
  asks(second, 1);
  EXPECT_EQ(only<AdmittedFrame>(second.line),
            (AdmittedFrame{1, LiveState::kRunning, Origin::kAttached}));
  call_by(second, kVolatileIdem, 2);  // a repeat waits
  EXPECT_EQ(only<AdmittedFrame>(second.line),
            (AdmittedFrame{2, LiveState::kRunning, Origin::kAttached}));
  asks(second, 3);
  EXPECT_EQ(outcome(second).kind, OutcomeKind::kAbsent);
  ASSERT_EQ(runs().size(), 2U);
  handler_answers(200, "got");
  EXPECT_EQ(outcome(second), value(2, "got", Origin::kAttached));
  EXPECT_EQ(runs().size(), 2U);
}

// req: rpc.rule.4, rpc.rule.41, rpc.rule.45
TEST_F(Sessions, AfterARestartEachOperationEndsAsItsStateAndPolicySay) {
  start({{"in_flight_max", "4"}});
  Session session = begin();
  for (std::uint64_t number = 1; number <= 4; ++number)
    begin_call(session, all_methods()[number - 1], number);
  ASSERT_EQ(runs().size(), 4U);
  begin_call(session, kPersist, 5);  // waits in line
  start({{"in_flight_max", "4"}});
  session = resume(session);
  for (const std::uint64_t ended : {1U, 3U}) {
    asks(session, ended);
    EXPECT_EQ(outcome(session).kind, OutcomeKind::kIndeterminate) << ended;
  }
  for (const std::uint64_t lives : {2U, 4U, 5U}) {
    asks(session, lives);
    EXPECT_EQ(only<AdmittedFrame>(session.line).number, lives);
  }
}

// req: rpc.rule.22, rpc.own.3
TEST_F(Sessions, AnOutcomeIsToldAgainAndSaysSo) {
  start();
  const Session session = begin();
  begin_call(session, kPersist, 1);
  handler_answers(422, "no money");
  const OutcomeFrame failure{1, OutcomeKind::kFailure, Origin::kFirst, 422, 0, "text/plain",
                             "no money"};
  EXPECT_EQ(outcome(session), failure);
  OutcomeFrame again = failure;
  again.origin = Origin::kReplayed;
  call_by(session, kPersist, 1);
  EXPECT_EQ(outcome(session), again);
  send(session.line, QueryFrame{1, false});
  EXPECT_EQ(outcome(session), again);
  start();
  const Session later = resume(session);
  asks(later, 1);
  EXPECT_EQ(outcome(later), again);
  EXPECT_TRUE(runs().empty());
}

// req: rpc.rule.3, rpc.own.12
TEST_F(Sessions, NumbersOfTwoSessionsAndKeysOfTwoPrincipalsNeverMeet) {
  start();
  const Session one = begin();
  const Session two = begin();
  begin_call(one, kPersist, 1);
  handler_answers(200, "of one");
  EXPECT_EQ(outcome(one).body, "of one");
  asks(two, 1);
  EXPECT_EQ(outcome(two).kind, OutcomeKind::kAbsent);
  call_by(two, kPersist, 1, "other arguments");
  EXPECT_EQ(only<AdmittedFrame>(two.line).origin, Origin::kFirst);
  handler_answers(200, "of two");
  EXPECT_EQ(outcome(two).body, "of two");

  // Bob has the key of another's session, and gets a session of his own.
  const LineId line = connect();
  const auto welcome = greet(line, "bob-token", one.claim());
  ASSERT_TRUE(welcome.attachment);
  EXPECT_FALSE(welcome.attachment->resumed);
  EXPECT_NE(welcome.attachment->session, one.granted.session);
  const Session bob{line, *welcome.attachment};
  asks(bob, 1);
  EXPECT_EQ(outcome(bob).kind, OutcomeKind::kAbsent);
  EXPECT_FALSE(is_closed(one.line)) << "and it is not fenced by that";
}

// req: rpc.rule.31, rpc.rule.32, rpc.rule.24, rpc.rule.23
TEST_F(Sessions, ACancelReleasesAVolatileOperationAndNoOther) {
  start();
  const Session session = begin();
  begin_call(session, kPersist, 1);
  send(session.line, CancelFrame{1, CancelMode::kCancel});
  EXPECT_EQ(only<AdmittedFrame>(session.line).number, 1U);
  EXPECT_TRUE(aborts().empty());
  handler_answers(200, "paid");
  EXPECT_EQ(outcome(session), value(1, "paid", Origin::kFirst));

  begin_call(session, kVolatile, 2);
  send(session.line, CancelFrame{2, CancelMode::kCancel});
  EXPECT_EQ(outcome(session).kind, OutcomeKind::kCancelled);
  EXPECT_EQ(aborts().size(), 1U);
  call_by(session, kVolatile, 2);
  EXPECT_EQ(outcome(session).kind, OutcomeKind::kIndeterminate) << "it must not run twice";
  asks(session, 2);
  EXPECT_EQ(outcome(session).kind, OutcomeKind::kCancelled) << "a question changes nothing";

  begin_call(session, kVolatileIdem, 3);
  send(session.line, CancelFrame{3, CancelMode::kCancel});
  EXPECT_EQ(outcome(session).kind, OutcomeKind::kCancelled);
  begin_call(session, kVolatileIdem, 3);
  handler_answers(200, "at last");
  EXPECT_EQ(outcome(session), value(3, "at last", Origin::kFirst));
  send(session.line, CancelFrame{9, CancelMode::kCancel});
  EXPECT_EQ(outcome(session).kind, OutcomeKind::kAbsent);
  EXPECT_EQ(figure("rpc cancels"), 4U);
}

// req: rpc.rule.33, rpc.rule.34, rpc.rule.13
TEST_F(Sessions, AVolatileOperationIsGivenUpAfterTheGraceAndAPersistOneIsNot) {
  start({{"grace", "10s"}, {"time_out", "1h"}});
  const Session first = begin();
  begin_call(first, kVolatile, 1);
  begin_call(first, kPersist, 2);
  cut(first.line);
  pass(9s);
  EXPECT_TRUE(aborts().empty());
  const Session second = resume(first);
  asks(second, 1);  // somebody is interested again
  EXPECT_EQ(only<AdmittedFrame>(second.line).number, 1U);
  pass(14s);
  EXPECT_TRUE(aborts().empty());
  heard(second.line);
  cut(second.line);
  pass(11s);
  EXPECT_EQ(aborts().size(), 1U);
  EXPECT_EQ(figure("rpc operations given up"), 1U);
  const Session third = resume(second);
  asks(third, 1);
  EXPECT_EQ(outcome(third).kind, OutcomeKind::kCancelled);
  asks(third, 2);
  EXPECT_EQ(only<AdmittedFrame>(third.line).state, LiveState::kRunning);
}

// req: rpc.rule.33
TEST_F(Sessions, ADetachedVolatileOperationHasItsGraceAndTheEndOfTheSessionHasNone) {
  start({{"grace", "10s"}, {"time_out", "1h"}});
  const Session session = begin();
  begin_call(session, kVolatile, 1);
  begin_call(session, kVolatileIdem, 2);
  begin_call(session, kPersist, 3);
  send(session.line, CancelFrame{1, CancelMode::kDetach});
  EXPECT_TRUE(heard(session.line).empty());
  pass(11s);
  EXPECT_EQ(aborts().size(), 1U);
  heard(session.line);
  send(session.line, ByeFrame{ByeReason::kDone, ""});
  EXPECT_EQ(aborts().size(), 2U);
  EXPECT_TRUE(is_closed(session.line));
  EXPECT_FALSE(greet(connect(), "shop-token", session.claim()).attachment->resumed);
}

// A call whose connection is lost before its admission is durable.
// req: rpc.rule.33
TEST_F(Sessions, WhatIsAdmittedAfterItsCallerHasGoneHasItsGrace) {
  start({{"grace", "10s"}});
  const Session session = begin();
  store.holds_commits = true;
  call_by(session, kVolatile, 1);
  cut(session.line);
  store.holds_commits = false;
  release();
  EXPECT_EQ(runs().size(), 1U);
  pass(12s);
  EXPECT_EQ(aborts().size(), 1U);
}

// req: rpc.own.5
TEST_F(Sessions, AVolatileCallOfAnEarlierEpochIsNotBegun) {
  start();
  const Session session = begin();
  std::uint64_t number = 0;
  for (const std::string& method : all_methods()) {
    rpc::CallFrame frame = frame_of(session, method, ++number);
    frame.first_epoch = session.granted.epoch + 1;
    send(session.line, frame);
    if (method == kVolatile) {
      EXPECT_EQ(outcome(session).kind, OutcomeKind::kIndeterminate);
      EXPECT_TRUE(runs().empty());
    } else {
      EXPECT_EQ(only<AdmittedFrame>(session.line).origin, Origin::kFirst) << method;
    }
  }
  EXPECT_EQ(runs().size(), 3U);
  // One that is known is told, whatever epoch the caller names.
  begin_call(session, kVolatile, 9);
  rpc::CallFrame again = frame_of(session, kVolatile, 9);
  again.first_epoch = 1;
  send(session.line, again);
  EXPECT_EQ(only<AdmittedFrame>(session.line).origin, Origin::kAttached);
}

TEST_F(Sessions, ANewEpochSendsCallersAwayToComeAgain) {
  start();
  const Session session = begin();
  begin_call(session, kPersist, 1);
  const LineId greeting = connect();
  new_epoch();
  EXPECT_EQ(only<ByeFrame>(session.line).reason, ByeReason::kLeaving);
  EXPECT_TRUE(is_closed(session.line));
  EXPECT_TRUE(greet(greeting).attachment) << "it had not begun";
  const Session later = resume(session);
  EXPECT_EQ(later.granted.epoch, shard->epoch().value());
  EXPECT_GT(later.granted.epoch, session.granted.epoch);
}

// req: rpc.own.10
TEST_F(Sessions, MoreOperationsThanMayBeWatchedAreRefusedByName) {
  setup.calls_max = 2;
  start();
  const Session session = begin();
  begin_call(session, kPersist, 1);
  begin_call(session, kPersist, 2);
  call_by(session, kPersist, 3);
  const OutcomeFrame busy = outcome(session);
  EXPECT_EQ(busy.kind, OutcomeKind::kBusy);
  EXPECT_GT(busy.retry_ms, 0U);
  call_by(session, kPersist, 2);
  EXPECT_EQ(only<AdmittedFrame>(session.line).origin, Origin::kAttached);
  handler_answers(200, "done");
  EXPECT_EQ(outcome(session).number, 2U);
  begin_call(session, kPersist, 4);
}

// req: rpc.own.10
TEST_F(Sessions, MoreAttachmentsThanMayBeAreRefused) {
  setup.attachments_max = 2;
  start();
  const Session one = begin();
  begin();
  EXPECT_EQ(greet(connect()).refusal, rpc::Refusal::kBusy);
  resume(one);  // takes the place of its own
  cut(connect());
}

TEST_F(Sessions, CallsToTwoServicesReachTheEngineInTheOrderOfTheirNumbers) {
  start();
  Configure other = service();
  other.config.name = "shop";
  ASSERT_TRUE(shard->post(std::move(other)));
  settle();
  start();  // nothing of either is in memory
  const Session session = begin();
  store.holds_reads = true;
  std::string bytes;
  for (std::uint64_t number = 1; number <= 4; ++number) {
    rpc::CallFrame frame = frame_of(session, kPersist, number);
    frame.service = number % 2 == 1 ? "shop" : "bank";
    bytes += rpc::encode(frame);
  }
  send_bytes(session.line, bytes);
  // The newest read first, so that what may overtake does.
  for (int i = 0; i < 50 && store.reads_held() > 0; ++i) {
    release_newest_read();
    settle();
  }
  store.holds_reads = false;
  settle();
  std::set<std::uint64_t> admitted;
  for (const rpc::Frame& frame : heard(session.line)) {
    const auto* one = std::get_if<AdmittedFrame>(&frame);
    ASSERT_NE(one, nullptr);
    admitted.insert(one->number);
  }
  EXPECT_EQ(admitted, (std::set<std::uint64_t>{1, 2, 3, 4}));
}

TEST_F(Sessions, ACallerThatReadsSlowlyIsToldTheRestWhenItHasRead) {
  setup.calls_max = 100;
  start({{"outcome_bytes_max", "491520"}, {"in_flight_max", "64"}});
  const Session session = begin();
  for (std::uint64_t number = 1; number <= 10; ++number) begin_call(session, kPersist, number);
  const std::string large(400 * 1024, 'x');
  for (std::size_t i = 0; i < 10; ++i) {
    AttemptEnded end;
    end.attempt = attempt(i);
    end.reply.end = WireEnd::kAnswered;
    end.reply.status = 200;
    end.reply.body = large;
    ASSERT_TRUE(shard->post(std::move(end)));
  }
  std::set<std::uint64_t> told;
  std::uint64_t nonce = 0;
  const auto take = [&] {
    settle();
    for (const rpc::Frame& frame : heard(session.line)) {
      if (const auto* one = std::get_if<OutcomeFrame>(&frame)) told.insert(one->number);
      if (const auto* one = std::get_if<PingFrame>(&frame)) nonce = std::max(nonce, one->nonce);
    }
  };
  take();
  EXPECT_EQ(told.size(), 6U) << "2 MiB are on their way";
  pass(20s);
  take();
  EXPECT_EQ(told.size(), 6U);
  ASSERT_NE(nonce, 0U);
  send(session.line, PongFrame{nonce});
  take();
  EXPECT_EQ(told.size(), 10U);
}

TEST_F(Sessions, ManyQuestionsAtOnceAreHeldBackAndAllAnswered) {
  start();
  const Session session = begin();
  std::string bytes;
  for (std::uint64_t number = 1; number <= 2000; ++number)
    bytes += rpc::encode(QueryFrame{number, true});
  shut = AnswerCode::kBusy;  // the engine has no room for a while
  send_bytes(session.line, bytes);
  EXPECT_TRUE(is_held(session.line));
  EXPECT_TRUE(heard(session.line).empty());
  shut.reset();
  pass(1s);
  EXPECT_FALSE(is_held(session.line));
  EXPECT_EQ(heard(session.line).size(), 2000U);
}

// The store is opened again: calls wait, and go on in the order of their numbers.
TEST_F(Sessions, CallsThatCouldNotBeAskedKeepTheirOrder) {
  start();
  const Session session = begin();
  shut = AnswerCode::kUnavailable;
  std::string bytes;
  for (std::uint64_t number = 1; number <= 5; ++number)
    bytes += rpc::encode(frame_of(session, kPersist, number));
  send_bytes(session.line, bytes);
  EXPECT_TRUE(heard(session.line).empty());
  shut.reset();
  call_by(session, kPersist, 6);
  pass(1s);
  const auto all = heard(session.line);
  ASSERT_EQ(all.size(), 6U);
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto* one = std::get_if<AdmittedFrame>(&all[i]);
    ASSERT_NE(one, nullptr);
    EXPECT_EQ(one->number, i + 1);
  }
}

// The records of a session's numbers live longer than the session.
// req: rpc.rule.47
TEST_F(Sessions, ASessionWithoutCallsForADayIsOver) {
  start();
  setup.ping = Duration(0);
  start();
  const Session session = begin();
  begin_call(session, kPersist, 1);
  handler_answers(200, "paid");
  heard(session.line);
  for (int hour = 0; hour < 30; ++hour) {
    pass_at_once(1h);
    if (hour % 10 == 5) {
      begin_call(session, kPersist, static_cast<std::uint64_t>(hour) + 10);
      handler_answers(200, "again");
      heard(session.line);
    }
  }
  EXPECT_FALSE(is_closed(session.line)) << "it is used";
  pass_at_once(1h);
  cut(session.line);
  const Session later = resume(session);
  asks(later, 35);
  EXPECT_EQ(outcome(later).origin, Origin::kReplayed);
  for (int hour = 0; hour < 23; ++hour) pass_at_once(1h);
  EXPECT_EQ(only<ByeFrame>(later.line).reason, ByeReason::kIdle);
  EXPECT_FALSE(greet(connect(), "shop-token", later.claim()).attachment->resumed);
}

TEST_F(Sessions, SilenceIsAskedAboutAndThenEnded) {
  start();
  const Session session = begin();
  pass(14s);
  EXPECT_TRUE(heard(session.line).empty());
  pass(2s);
  const auto ping = only<PingFrame>(session.line);
  send(session.line, PongFrame{ping.nonce});
  pass(20s);
  only<PingFrame>(session.line);
  EXPECT_FALSE(is_closed(session.line));
  pass(20s);
  EXPECT_TRUE(is_closed(session.line));
  const LineId mute = connect();
  pass(11s);
  EXPECT_TRUE(is_closed(mute)) << "no HELLO came";
  EXPECT_EQ(figure("rpc lines silent"), 2U);
}

// Bytes come in any pieces.
TEST_F(Sessions, FramesMayBeCutAnywhere) {
  start();
  const Session session = begin();
  const std::string bytes = rpc::encode(frame_of(session, kPersist, 1)) +
                            rpc::encode(PingFrame{5}) + rpc::encode(QueryFrame{1, true});
  for (const char byte : bytes) send_bytes(session.line, {&byte, 1});
  EXPECT_EQ(heard(session.line).size(), 3U);
  EXPECT_EQ(runs().size(), 1U);
}

}  // namespace
}  // namespace postrider
