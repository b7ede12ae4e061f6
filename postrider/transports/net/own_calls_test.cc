#include "postrider/transports/net/own_calls.h"

#include <boost/asio/io_context.hpp>
#include <gtest/gtest.h>

namespace postrider {
namespace {

struct Called {
  Called()
      : own(std::make_unique<OwnCalls>(
            loop, [this] { ++sweeps; }, [this] { ++flushes; })) {}
  boost::asio::io_context loop{1};
  int sweeps = 0;
  int flushes = 0;
  std::unique_ptr<OwnCalls> own;
};

TEST(OwnCalls, FlushSoonAndOnceForAllWhoAsk) {
  Called it;
  it.own->flush_soon();
  it.own->flush_soon();
  EXPECT_EQ(it.flushes, 0) << "not from inside";
  it.loop.poll();
  EXPECT_EQ(it.flushes, 1);
  it.own->flush_soon();
  it.loop.restart();
  it.loop.poll();
  EXPECT_EQ(it.flushes, 2);
}

TEST(OwnCalls, SweepOnceForAllThatIsDue) {
  Called it;
  const Timestamp now(1'000'000);
  it.own->note_due(now, now + 500s);
  it.own->note_due(now, now + 10ms);
  it.own->note_due(now, now + 600s);
  it.loop.run();  // until there is nothing more to wait for
  EXPECT_EQ(it.sweeps, 1);
  it.own->sweep_again(now, Timestamp::never(), true);
  it.loop.restart();
  it.loop.run();
  EXPECT_EQ(it.sweeps, 2);
}

TEST(OwnCalls, NothingIsCalledAfterTheEnd) {
  for (const bool cancels : {true, false}) {
    Called it;
    const Timestamp now(1'000'000);
    it.own->note_due(now, now + 10ms);
    it.own->flush_soon();
    if (cancels) {
      it.own->cancel();
      it.own->flush_soon();
      it.own->note_due(now, now);
    } else {
      it.own.reset();
    }
    it.loop.run();
    EXPECT_EQ(it.sweeps, 0);
    EXPECT_EQ(it.flushes, 0);
  }
}

}  // namespace
}  // namespace postrider
