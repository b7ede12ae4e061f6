#include <rapidcheck/gtest.h>

#include "postrider/shard/stations_testing.h"

namespace postrider {
namespace {

using station::AbortExchange;
using station::CloseLine;
using station::HoldLine;
using station::OpenLine;
using station::WriteLine;

TEST_F(StationsTest, NewEpochIsTheFirstInput) {  // req: station.epoch.1
  auto other = std::make_unique<BookStation>("OTHER");
  BookStation* const heard = other.get();
  Stations stations({}, {}, wire_, door_);
  stations.add(std::move(other));
  stations.run(now_);
  EXPECT_EQ(heard->heard, Words{});
  stations.new_epoch(Epoch(7));
  stations.run(now_);
  EXPECT_EQ(heard->heard, Words{"epoch 7"});
}

TEST_F(StationsTest, OneInputOfTheWireIsOneCallAndWritesLeaveAtOnce) {  // req: station.wire.1
  const LineId line = open(1);
  book_->answer = [](const station::Happened&, std::vector<station::Wanted>& wanted) {
    wanted.emplace_back(WriteLine{LineId(1), "pong", ""});
  };
  stations_.line(now_, station::LineTook{line, "ping", ""});
  EXPECT_EQ(book_->heard, Words{"took 1 ping"});
  EXPECT_EQ(wire_.book.back(), "write " + std::to_string(line.value()) + " pong");
}

TEST_F(StationsTest, LinesOfTwoStationsNeverMeet) {  // req: station.wire.2
  auto other = std::make_unique<BookStation>("OTHER");
  BookStation* const second = other.get();
  stations_.add(std::move(other));
  const LineId ours = open(1);
  second->next.emplace_back(OpenLine{LineId(1), {.address = "tcp://y:1"}});
  second->deadline = now_.boot;
  run();
  second->deadline.reset();
  second->heard.clear();
  const LineId theirs = wire_.last;
  EXPECT_NE(ours, theirs);
  stations_.line(now_, station::LineTook{theirs, "b", ""});
  stations_.line(now_, station::LineTook{ours, "a", ""});
  EXPECT_EQ(book_->heard, Words{"took 1 a"});
  EXPECT_EQ(second->heard, Words{"took 1 b"});
}

TEST_F(StationsTest, AnAcceptedLineBelongsToTheStationOfItsListener) {  // req: station.wire.2
  want(OpenLine{LineId(4), {.address = "tcp://127.0.0.1:0", .listens = true}});
  const LineId listener = wire_.last;
  const LineId accepted(kAcceptedLine | 9);
  stations_.line(now_, station::LineOpened{accepted, listener, "peer"});
  EXPECT_EQ(book_->heard, Words{"opened 9 by 4"});
  want(WriteLine{accepted, "x", ""});
  EXPECT_EQ(wire_.book.back(), "write 9 x");
  stations_.line(now_, station::LineClosed{accepted, LineEnd::kLost, ""});
  EXPECT_EQ(book_->heard.back(), "closed 9 lost");
  want(CloseLine{LineId(4)});
  stations_.line(now_, station::LineOpened{LineId(kAcceptedLine | 10), listener, "peer"});
  EXPECT_EQ(wire_.book.back(), "close 10") << "a listener that is closed accepts nothing";
  EXPECT_TRUE(door_.misuses.empty());
}

TEST_F(StationsTest, HoldDrainAndCloseReachTheirLine) {  // req: station.wire.1
  const LineId line = open(1);
  want(HoldLine{LineId(1), true});
  EXPECT_EQ(wire_.book.back(), "hold " + std::to_string(line.value()));
  want(HoldLine{LineId(1), false});
  EXPECT_EQ(wire_.book.back(), "free " + std::to_string(line.value()));
  stations_.line(now_, station::LineDrained{line});
  EXPECT_EQ(book_->heard, Words{"drained 1"});
  want(CloseLine{LineId(1)});
  EXPECT_EQ(wire_.book.back(), "close " + std::to_string(line.value()));
  stations_.line(now_, station::LineTook{line, "late", ""});
  EXPECT_EQ(book_->heard, Words{"drained 1"}) << "nothing is told of a line that is over";
}

TEST_F(StationsTest, ALineIsNotUsedAfterItsEnd) {  // req: station.wire.3
  const LineId line = open(1);
  stations_.line(now_, station::LineClosed{line, LineEnd::kLost, ""});
  const std::size_t before = wire_.book.size();
  want_all({WriteLine{LineId(1), "x", ""}, HoldLine{LineId(1), true}, CloseLine{LineId(1)},
            OpenLine{LineId(1), {.address = "tcp://x:1"}}, WriteLine{LineId(77), "x", ""}});
  EXPECT_EQ(door_.misuses.size(), 5U);
  EXPECT_EQ(wire_.book.size(), before);
  EXPECT_EQ(stations_.figures().misuses, 5U);
}

TEST_F(StationsTest, AWriteThatCrossesTheEndOfItsLineIsDropped) {  // req: station.wire.3
  const LineId line = open(1);
  wire_.book.clear();
  book_->answer = [](const station::Happened& happened, std::vector<station::Wanted>& wanted) {
    if (std::holds_alternative<station::Started>(happened))
      wanted.emplace_back(WriteLine{LineId(1), "x", ""});
  };
  Action action = StartAttempt{AttemptId(1), {}, {.verb = "BOOK"}};
  EXPECT_TRUE(stations_.offer(action, now_));
  stations_.line(now_, station::LineClosed{line, LineEnd::kLost, ""});
  EXPECT_EQ(book_->heard, (Words{"started 1", "closed 1 lost"}));
  EXPECT_TRUE(wire_.book.empty());
  EXPECT_TRUE(door_.misuses.empty()) << "it could not know";
}

TEST_F(StationsTest, AnAnswerComesWhenTheActionIsOffered) {  // req: station.post.1
  want(arrived(5));
  EXPECT_EQ(book_->heard, Words{});
  answer(0);
  EXPECT_EQ(book_->heard, Words{"told 5 accepted"});
  answer(0);
  EXPECT_EQ(book_->heard, Words{"told 5 accepted"}) << "once";
}

TEST_F(StationsTest, AShutDoorIsTold) {  // req: station.post.2
  door_.shut = AnswerCode::kUnavailable;
  want(arrived(1));
  run();
  EXPECT_EQ(book_->heard, Words{"told 1 unavailable"});
  door_.shut = AnswerCode::kBusy;
  want(arrived(2));
  run();
  EXPECT_EQ(book_->heard.back(), "told 2 busy");
  EXPECT_EQ(stations_.figures().posts_refused, 2U);
}

TEST_F(StationsTest, APostWithoutATokenIsNotAnsweredButCounts) {  // req: station.post.1
  want(station::Post{{}, Arrived{}});
  ASSERT_EQ(door_.posted.size(), 1U);
  EXPECT_TRUE(door_.posted[0].first.is_set());
  answer(0);
  EXPECT_EQ(book_->heard, Words{});
  want(station::Post{{}, ReceiptArrived{}});
  EXPECT_FALSE(door_.posted[1].first.is_set());
  door_.shut = AnswerCode::kBusy;
  want(station::Post{{}, ReceiptArrived{}});
  EXPECT_EQ(stations_.figures().news_lost, 1U);
}

TEST_F(StationsTest, ATokenIsNeverUsedTwice) {  // req: station.token.1
  want(arrived(3));
  answer(0);
  want(arrived(3));
  want(arrived(2));
  want(station::Exchange{Token(3), {.verb = "WORK"}});
  EXPECT_EQ(door_.posted.size(), 1U);
  EXPECT_EQ(door_.exchanges.size(), 0U);
  EXPECT_EQ(door_.misuses.size(), 3U);
  want(station::Post{Token(4), ReceiptArrived{}});
  EXPECT_EQ(door_.misuses.size(), 4U) << "a receipt is not answered";
}

TEST_F(StationsTest, AStationThatAsksAgainAtOnceDoesNotKeepTheLoop) {  // req: station.post.2
  door_.shut = AnswerCode::kBusy;
  std::uint64_t token = 1;
  book_->answer = [&token](const station::Happened& happened,
                           std::vector<station::Wanted>& wanted) {
    if (std::holds_alternative<station::Told>(happened)) wanted.emplace_back(arrived(++token));
  };
  want(arrived(1));
  run();
  EXPECT_EQ(book_->heard.size(), 1U);
  EXPECT_EQ(stations_.next_deadline(), Timestamp()) << "there is more to do, soon";
}

TEST_F(StationsTest, AttemptsOfOtherVerbsAndForeignTicketsAreNotTaken) {  // req: station.attempt.1
  Action start = StartAttempt{AttemptId(1), {}, {.verb = "POST"}};
  EXPECT_FALSE(stations_.offer(start, now_));
  Action abort = AbortAttempt{AttemptId(1)};
  EXPECT_FALSE(stations_.offer(abort, now_));
  Action reply = Reply{Ticket(1), {}};
  EXPECT_FALSE(stations_.offer(reply, now_));
  WireReply wire;
  EXPECT_FALSE(stations_.exchanged(AttemptId(1), wire));
}

TEST_F(StationsTest, AStartEndsOnce) {  // req: station.attempt.1
  start(1);
  EXPECT_EQ(book_->heard, Words{"started 1"});
  want(ended(1));
  EXPECT_EQ(door_.ended[1], std::vector<WireEnd>{WireEnd::kAnswered});
  want(ended(1));
  want(ended(8));
  EXPECT_EQ(door_.ended.size(), 1U);
  EXPECT_EQ(door_.ended[1].size(), 1U);
  EXPECT_EQ(door_.misuses.size(), 2U);
}

TEST_F(StationsTest, AnAbortedStartHasNoEnd) {  // req: station.attempt.2
  start(1);
  abort(1);
  run();
  EXPECT_EQ(book_->heard, (Words{"started 1", "aborted 1"}));
  EXPECT_TRUE(door_.ended.empty());
  want(ended(1));
  EXPECT_EQ(door_.misuses.size(), 1U);
}

TEST_F(StationsTest, AnEndThatCrossesItsAbortIsForgiven) {  // req: station.attempt.2
  start(1);
  want(arrived(1));
  book_->answer = [](const station::Happened& happened, std::vector<station::Wanted>& wanted) {
    if (std::holds_alternative<station::Told>(happened)) wanted.emplace_back(ended(1));
  };
  Action reply = Reply{door_.posted[0].first, {}};
  EXPECT_TRUE(stations_.offer(reply, now_));
  abort(1);
  run();
  EXPECT_EQ(book_->heard, (Words{"started 1", "told 1 done"}));
  EXPECT_TRUE(door_.ended.empty());
  EXPECT_TRUE(door_.misuses.empty());
}

TEST_F(StationsTest, AStartThatIsOverdueIsEndedForItsStation) {  // req: station.attempt.3
  start(1, Duration(500));
  start(2, Duration(200));
  want(ended(2));
  EXPECT_EQ(stations_.next_deadline(), Timestamp(1500));
  now_.boot = Timestamp(1499);
  run();
  EXPECT_EQ(door_.ended.count(1), 0U);
  now_.boot = Timestamp(1500);
  run();
  EXPECT_EQ(door_.ended[1], std::vector<WireEnd>{WireEnd::kTimedOut});
  EXPECT_EQ(book_->heard.back(), "aborted 1");
  EXPECT_EQ(stations_.figures().attempts_overdue, 1U);
  EXPECT_EQ(stations_.next_deadline(), std::nullopt);
}

TEST_F(StationsTest, ADroppedStationLeavesNothingBehind) {  // req: station.attempt.4
  start(1);
  start(2);
  abort(2);
  const LineId line = open(1);
  want_all({arrived(1), station::Exchange{Token(2), {.verb = "WORK"}}});
  stations_.drop("BOOK");
  EXPECT_EQ(door_.ended.size(), 1U);
  EXPECT_EQ(door_.ended[1], std::vector<WireEnd>{WireEnd::kReset});
  EXPECT_EQ(wire_.book.back(), "close " + std::to_string(line.value()));
  EXPECT_EQ(door_.aborted, std::vector<AttemptId>{door_.exchanges[0].first});
  answer(0);
  WireReply reply;
  EXPECT_TRUE(stations_.exchanged(door_.exchanges[0].first, reply));
  stations_.line(now_, station::LineTook{line, "late", ""});
  run();
  EXPECT_EQ(stations_.open_attempts(), 0U);
  EXPECT_EQ(stations_.figures().lines, 0U);
  Action start = StartAttempt{AttemptId(3), {}, {.verb = "BOOK"}};
  EXPECT_FALSE(stations_.offer(start, now_));
}

TEST_F(StationsTest, ANewEpochForgetsPostsAndAttemptsAndKeepsLinesAndExchanges) {
  // req: station.epoch.2
  start(1, Duration(500));
  const LineId line = open(1);
  want_all({arrived(1), station::Exchange{Token(2), {.verb = "WORK"}}});
  stations_.interrupted();
  stations_.new_epoch(Epoch(2));
  answer(0);
  EXPECT_EQ(book_->heard, Words{"epoch 2"}) << "the old post is not answered any more";
  stations_.line(now_, station::LineTook{line, "on", ""});
  WireReply reply;
  stations_.exchanged(door_.exchanges[0].first, reply);
  now_.boot = Timestamp(9000);
  run();
  EXPECT_EQ(book_->heard, (Words{"epoch 2", "took 1 on", "exchanged 2"}));
  EXPECT_TRUE(door_.ended.empty()) << "the old attempt is nobody's";
  start(1);
  want(ended(1));
  EXPECT_EQ(door_.ended[1].size(), 1U) << "the new engine counts its attempts anew";
  EXPECT_TRUE(door_.misuses.empty());
}

TEST_F(StationsTest, ANewEpochComesBeforeWhatWaits) {  // req: station.epoch.2
  want(station::Exchange{Token(1), {.verb = "WORK"}});
  WireReply reply;
  stations_.exchanged(door_.exchanges[0].first, reply);
  Action action = StartAttempt{AttemptId(1), {}, {.verb = "BOOK"}};
  EXPECT_TRUE(stations_.offer(action, now_));
  stations_.new_epoch(Epoch(2));
  run();
  EXPECT_EQ(book_->heard, (Words{"epoch 2", "exchanged 1"}));
}

TEST_F(StationsTest, WhatTheShardDidIsHeardBeforeTheNextInputOfTheWire) {  // req: station.wire.4
  const LineId line = open(1);
  Action action = StartAttempt{AttemptId(1), {}, {.verb = "BOOK"}};
  EXPECT_TRUE(stations_.offer(action, now_));
  stations_.line(now_, station::LineTook{line, "x", ""});
  EXPECT_EQ(book_->heard, (Words{"started 1", "took 1 x"}));
}

TEST_F(StationsTest, AnExchangeThatIsAbortedIsNotHeardOf) {  // req: station.exchange.1
  want_all({station::Exchange{Token(1), {.verb = "WORK"}},
            station::Exchange{Token(2), {.verb = "WORK"}}});
  WireReply reply;
  stations_.exchanged(door_.exchanges[0].first, reply);
  book_->answer = [](const station::Happened& happened, std::vector<station::Wanted>& wanted) {
    if (std::holds_alternative<station::Exchanged>(happened))
      wanted.emplace_back(AbortExchange{Token(2)});
  };
  stations_.exchanged(door_.exchanges[1].first, reply);
  run();
  EXPECT_EQ(book_->heard, Words{"exchanged 1"});
  EXPECT_TRUE(door_.misuses.empty());
  book_->answer = nullptr;
  want(AbortExchange{Token(2)});
  EXPECT_EQ(door_.misuses.size(), 1U);
}

TEST_F(StationsTest, ADeadlineIsHeardWhenItHasCome) {  // req: station.deadline.1
  book_->deadline = Timestamp(2000);
  run();
  EXPECT_EQ(book_->heard, Words{});
  EXPECT_EQ(stations_.next_deadline(), Timestamp(2000));
  now_.boot = Timestamp(2000);
  run();
  EXPECT_EQ(book_->heard, Words{"deadline"});
}

TEST_F(StationsTest, NoTwoCallsDrawTheSame) {  // req: engine.entropy.2
  std::vector<std::string> draws;
  book_->draws = &draws;
  const LineId line = open(1);
  for (int i = 0; i < 100; ++i) stations_.line(now_, station::LineTook{line, "x", ""});
  start(1);
  start(2);
  std::sort(draws.begin(), draws.end());
  EXPECT_GE(draws.size(), 102U);
  EXPECT_EQ(std::unique(draws.begin(), draws.end()), draws.end());
}

TEST_F(StationsTest, FiguresOfAllStationsAreTold) {
  start(1);
  StationFigures figures;
  stations_.tell(figures);
  ASSERT_EQ(figures.size(), 1U);
  EXPECT_EQ(figures[0].name, "heard");
  EXPECT_EQ(figures[0].value, 1U);
}

// Whatever comes in whatever order: each start has exactly one end or abort.
RC_GTEST_PROP(StationsLaw, EachStartEndsOnce, (const std::vector<std::uint8_t>& script)) {
  // req: station.attempt.1
  BookWire wire;
  BookDoor door;
  Stations stations({}, {}, wire, door);
  auto owned = std::make_unique<BookStation>("BOOK");
  BookStation* book = owned.get();
  stations.add(std::move(owned));
  stations.new_epoch(Epoch(1));
  Instant now{Timestamp(1000), Timestamp(1000)};
  std::uint64_t last = 0;
  std::map<std::uint64_t, int> aborted;
  for (const std::uint8_t step : script) {
    now.boot = now.boot + Duration(step % 7);
    const std::uint64_t which = last == 0 ? 0 : 1 + step % last;
    if (step % 4 == 0) {
      Action action =
          StartAttempt{AttemptId(++last), {}, {.verb = "BOOK", .time_out = Duration(step)}};
      RC_ASSERT(stations.offer(action, now));
    } else if (step % 4 == 1 && which != 0) {
      Action action = AbortAttempt{AttemptId(which)};
      if (stations.offer(action, now) && door.ended.count(which) == 0) aborted[which] = 1;
    } else if (step % 4 == 2 && which != 0) {
      book->next.emplace_back(station::Post{{}, AttemptEnded{AttemptId(which), {}}});
    } else {
      stations.run(now);
    }
  }
  stations.run(now);
  stations.run(now);
  stations.drop("BOOK");
  for (std::uint64_t attempt = 1; attempt <= last; ++attempt) {
    const std::size_t ends = door.ended.count(attempt) == 0 ? 0 : door.ended[attempt].size();
    RC_ASSERT(ends + aborted.count(attempt) == 1U);
  }
}

}  // namespace
}  // namespace postrider
