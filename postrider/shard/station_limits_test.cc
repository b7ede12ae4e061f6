// How much a station may have and want at once, and what it is told beyond that.
#include "postrider/shard/stations_testing.h"

namespace postrider {
namespace {

using station::CloseLine;
using station::HoldLine;
using station::OpenLine;
using station::WriteLine;

class SmallStations : public StationsTest {
 protected:
  SmallStations()
      : StationsTest(
            {.lines = {.lines_max = 3}, .posts_max = 2, .exchanges_max = 2, .wants_max = 4}) {}
};

TEST_F(SmallStations, AsManyLinesAsMayBeAndTheNextIsRefusedByName) {  // req: station.limit.1
  open(1);
  open(2);
  EXPECT_EQ(stations_.figures().lines, 2U);
  open(3);
  EXPECT_EQ(stations_.figures().lines_refused, 0U);
  const std::size_t before = wire_.book.size();
  want(OpenLine{LineId(4), {.address = "tcp://x:1"}});
  run();
  EXPECT_EQ(book_->heard, Words{"closed 4 full"});
  EXPECT_EQ(wire_.book.size(), before);
  EXPECT_EQ(stations_.figures().lines_refused, 1U);
  want(CloseLine{LineId(2)});
  open(5);
  EXPECT_EQ(stations_.figures().lines, 3U);
  EXPECT_TRUE(door_.misuses.empty());
}

TEST_F(SmallStations, AcceptedLinesCountAmongThem) {  // req: station.limit.1
  want(OpenLine{LineId(1), {.address = "tcp://127.0.0.1:0", .listens = true}});
  const LineId listener = wire_.last;
  for (std::uint64_t i = 1; i <= 3; ++i)
    stations_.line(now_, station::LineOpened{LineId(kAcceptedLine | i), listener, "peer"});
  EXPECT_EQ(book_->heard, (Words{"opened 1 by 1", "opened 2 by 1"}));
  EXPECT_EQ(wire_.book.back(), "close 3");
  EXPECT_EQ(stations_.figures().lines_refused, 1U);
}

TEST_F(SmallStations, ALineThatWasRefusedMayBeClosedBeforeThatIsHeard) {  // req: station.limit.1
  open(1);
  open(2);
  open(3);
  want_all({OpenLine{LineId(4), {.address = "tcp://x:1"}}, WriteLine{LineId(4), "x", ""},
            CloseLine{LineId(4)}});
  run();
  EXPECT_EQ(book_->heard, Words{});
  EXPECT_TRUE(door_.misuses.empty());
}

TEST_F(SmallStations, AsManyPostsAsMayWaitAndTheNextIsToldBusy) {  // req: station.limit.3
  want(arrived(1));
  EXPECT_EQ(door_.posted.size(), 1U);
  want(arrived(2));
  EXPECT_EQ(door_.posted.size(), 2U);
  want(arrived(3));
  run();
  EXPECT_EQ(door_.posted.size(), 2U);
  EXPECT_EQ(book_->heard, Words{"told 3 busy"});
  answer(0);
  EXPECT_EQ(book_->heard.back(), "told 1 accepted");
  want(arrived(4));
  EXPECT_EQ(door_.posted.size(), 3U) << "an answer makes room";
}

TEST_F(SmallStations, AsManyExchangesAsMayBeOpenAndTheNextIsHeldBack) {  // req: station.limit.4
  for (std::uint64_t token = 1; token <= 3; ++token)
    want(station::Exchange{Token(token), {.verb = "WORK"}});
  run();
  EXPECT_EQ(door_.exchanges.size(), 2U);
  EXPECT_EQ(book_->heard, Words{"exchanged 3 held-back"});
  WireReply reply;
  EXPECT_TRUE(stations_.exchanged(door_.exchanges[0].first, reply));
  run();
  EXPECT_EQ(book_->heard.back(), "exchanged 1");
  want(station::Exchange{Token(4), {.verb = "WORK"}});
  EXPECT_EQ(door_.exchanges.size(), 3U);
}

TEST_F(SmallStations, SoManyWantsOfOneCallAreCarriedOut) {  // req: station.limit.2
  open(1);
  wire_.book.clear();
  const auto write = [](const char* text) { return WriteLine{LineId(1), text, ""}; };
  want_all({write("a"), write("b"), write("c")});
  EXPECT_EQ(wire_.book.size(), 3U);
  want_all({write("a"), write("b"), write("c"), write("d")});
  EXPECT_EQ(wire_.book.size(), 7U);
  EXPECT_EQ(stations_.figures().overflows, 0U);
  want_all({write("a"), write("b"), write("c"), write("d"), write("lost")});
  EXPECT_EQ(wire_.book.size(), 12U);
  EXPECT_EQ(wire_.book.back(), "close 1") << "a stream with a hole is no stream";
  run();
  EXPECT_EQ(book_->heard, Words{"closed 1 overflow"});
  EXPECT_EQ(stations_.figures().overflows, 1U);
}

TEST_F(SmallStations, WhatIsWantedBeyondThatIsToldAsRefused) {  // req: station.limit.2
  start(6);
  open(1);
  book_->heard.clear();
  const HoldLine hold{LineId(1), true};
  want_all({hold, hold, hold, hold, arrived(1), station::Exchange{Token(2), {.verb = "WORK"}},
            OpenLine{LineId(2), {}}, ended(6), CloseLine{LineId(1)}});
  run();
  EXPECT_EQ(book_->heard, (Words{"told 1 busy", "exchanged 2 held-back", "closed 2 full"}));
  EXPECT_EQ(door_.ended[6].size(), 1U) << "an end is never refused";
  EXPECT_EQ(wire_.book.back(), "close 1");
  EXPECT_TRUE(door_.misuses.empty());
}

TEST_F(StationsTest, TheLimitsAreThoseOfTheDesign) {  // req: station.limit.5
  const StationLimits limits;
  EXPECT_EQ(limits.lines.lines_max, 4096U);
  EXPECT_EQ(limits.lines.unsent_bytes_max, 8U << 20);
  EXPECT_EQ(limits.posts_max, 1024U);
  EXPECT_EQ(limits.wants_max, 4096U);
}

}  // namespace
}  // namespace postrider
