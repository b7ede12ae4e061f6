// How long a server is left alone after failures, and when it is tried again.
#include "tests/support/matrix_rig.h"

namespace postrider {
namespace {

class BackOff : public MatrixRig {
 protected:
  // The wait grows to its longest; what was drawn on the way, one after the other.
  std::vector<Duration> intervals(std::size_t count) {
    std::vector<Duration> out;
    send("!a", "1");
    while (out.size() < count) {
      fail_until_closed();
      out.push_back(route().interval);
      until_next_start();
    }
    return out;
  }
};

TEST_F(BackOff, KeepsItsTimesAndLetsNothingLeaveBefore) {  // req: matrix.back.1, matrix.wake.1
  make();
  send("!a", "1");
  pass(3s);
  fail_until_closed();
  const Route closed = route();
  EXPECT_EQ(closed.failing_since, kStart + elapsed);
  EXPECT_EQ(closed.health_since, kStart + elapsed);
  EXPECT_EQ(closed.interval, 5s);
  EXPECT_EQ(closed.closed_until, closed.health_since + closed.interval);
  const std::size_t tried = starts().size();
  pass(closed.interval - 1ms);
  EXPECT_EQ(starts().size(), tried) << "no request leaves before the interval is over";
  pass(1ms);
  EXPECT_EQ(starts().size(), tried + 1) << "and one leaves then, without anything new";
}

// req: matrix.back.1, matrix.back.5
TEST_F(BackOff, KeepsTheTimeOfTheFirstFailureAndTheLargerInterval) {
  make();
  send("!a", "1");
  fail_until_closed();
  const Timestamp since = route().failing_since;
  EXPECT_TRUE(since.is_set());
  Duration last = route().interval;
  for (int round = 0; round < 5; ++round) {
    until_next_start();
    fail_until_closed();
    EXPECT_EQ(route().failing_since, since);
    EXPECT_GT(route().interval, last);
    last = route().interval;
  }
}

TEST_F(BackOff, DoublesWithChanceUpToAWeek) {  // req: matrix.back.2, matrix.back.10
  make();
  const std::vector<Duration> waits = intervals(30);
  const Duration longest = 7 * 24h;
  EXPECT_EQ(waits.front(), 5s);
  for (std::size_t i = 1; i < waits.size(); ++i) {
    EXPECT_LE(waits[i], longest);
    EXPECT_LE(waits[i].count(), waits[i - 1].count() * 28 / 10);
    EXPECT_GE(waits[i], std::min(longest, Duration(waits[i - 1].count() * 16 / 10 - 1)));
  }
  EXPECT_EQ(waits[waits.size() - 1], longest);
  EXPECT_EQ(waits[waits.size() - 2], longest) << "there it stays";
}

// One world more, beside that of the test.
class SeededWorld : public BackOff {
 public:
  static std::vector<Duration> drawn(std::uint64_t seed) {
    SeededWorld world;
    world.options.engine.seed = seed;
    world.make();
    return world.intervals(8);
  }

 private:
  void TestBody() override {}
};

TEST(BackOffChance, IsDrawnFromASeed) {  // req: matrix.back.9
  EXPECT_EQ(SeededWorld::drawn(7), SeededWorld::drawn(7));
  EXPECT_NE(SeededWorld::drawn(7), SeededWorld::drawn(8));
}

TEST_F(BackOff, IsNotShortenedByNewItems) {  // req: matrix.back.6
  make();
  send("!a", "1");
  fail_until_closed();
  const Timestamp until = route().closed_until;
  const std::size_t tried = starts().size();
  for (int i = 0; i < 20; ++i) {
    pass(200ms);
    send("!a", "more");
    to_device("more");
  }
  EXPECT_EQ(starts().size(), tried);
  EXPECT_EQ(route().closed_until, until);
}

TEST_F(BackOff, IsClearedByASuccess) {  // req: matrix.back.4, matrix.txn.6
  make();
  send("!a", "1", 7);
  fail_until_closed();
  until_next_start();
  know_server();
  store.holds_commits = true;
  reply(200);
  ASSERT_EQ(store.commits_held(), 1U) << "members, position and back-off go by one commit";
  const auto written = route_in(store.held_batch());
  ASSERT_TRUE(written.has_value());
  EXPECT_EQ(written->health, Health::kNormal);
  EXPECT_FALSE(written->failing_since.is_set());
  EXPECT_FALSE(written->closed_until.is_set());
  EXPECT_EQ(written->interval, 0s);
  EXPECT_EQ(written->position, 7U);
  EXPECT_FALSE(written->batch.is_open());
  store.holds_commits = false;
  store.release_commit();
  turn();
  EXPECT_EQ(stats().counters.live(), 0U);
  EXPECT_EQ(stats().counters.delivered, 1U);
}

TEST_F(BackOff, ThatIsNotThereIsNotCleared) {  // req: matrix.back.4
  make();
  send("!a", "1");
  reply(200);
  pass(10ms);
  const std::uint64_t commits = store.commits();
  post(PeerSeen{.ticket = Ticket(++questions), .destination = kFar});
  pass(1s);
  EXPECT_EQ(store.commits(), commits) << "there was nothing to clear";
}

TEST_F(BackOff, OfMoreThanAnHourIsDeep) {  // req: matrix.back.8
  make({{"interval_first", "3601s"}});
  send("!a", "1");
  reply(200);
  pass(10ms);
  know_server();
  for (int i = 0; i < 5; ++i) send("!a", "more");
  for (int tries = 1; tries < 3; ++tries) {
    refuse();
    until_next_start();
  }
  store.holds_commits = true;
  refuse();
  ASSERT_EQ(store.commits_held(), 1U);
  const auto written = route_in(store.held_batch());
  ASSERT_TRUE(written.has_value());
  EXPECT_EQ(written->health, Health::kDeep) << "health and release go by one commit";
  EXPECT_FALSE(written->batch.is_open());
  store.holds_commits = false;
  store.release_commit();
  turn();
  EXPECT_EQ(server().in_window, 0U);
  EXPECT_TRUE(server().owed) << "the disk keeps them";
  EXPECT_EQ(stats().counters.live(), 5U);
  until_next_start();
  take_all();
  EXPECT_EQ(stats().counters.live(), 0U);
}

TEST_F(BackOff, OfExactlyAnHourIsNotDeep) {  // req: matrix.back.8
  make({{"interval_first", "3600s"}});
  send("!a", "1");
  fail_until_closed();
  EXPECT_EQ(route().health, Health::kWait);
  EXPECT_TRUE(route().batch.is_open());
}

TEST_F(BackOff, OfAnHourOrMoreEndsAfterOneTry) {  // req: matrix.back.10
  make({{"interval_first", "30m"}});
  send("!a", "1");
  EXPECT_EQ(fail_until_closed(), 3);
  ASSERT_LT(route().interval, 1h);
  until_next_start();
  EXPECT_EQ(fail_until_closed(), 3);
  for (int weeks = 0; weeks < 20; ++weeks) {
    ASSERT_GE(route().interval, Duration(30min) * 16 / 10);
    const bool single = route().interval >= 1h;
    const Duration interval = route().interval;
    EXPECT_LE(until_next_start(), interval);
    EXPECT_EQ(fail_until_closed(), single ? 1 : 3);
  }
  EXPECT_EQ(route().interval, Duration(7 * 24h));
  EXPECT_EQ(stats().counters.live(), 1U) << "no server is given up";
}

TEST_F(BackOff, SurvivesARestart) {  // req: matrix.re.3, matrix.back.1
  make();
  send("!a", "1");
  fail_until_closed();
  const Route before = route();
  pass(2s);
  restart();
  EXPECT_EQ(route(), before);
  pass(2s);
  send("!a", "2");
  EXPECT_TRUE(starts().empty()) << "a restart contacts no server early";
  pass(1s);
  EXPECT_EQ(starts().size(), 1U);
}

class CompatibleTries : public MatrixRig, public ::testing::WithParamInterface<int> {};

// F3. Below 0 is an end without an answer, by its number.
// req: matrix.http.2, matrix.txn.4
TEST_P(CompatibleTries, AreElevenWithOneIdAndOneBody) {
  make({{"policy", "compatible"}});
  send("!a", "1");
  const std::string first = starts().back().request.target;
  const std::string body(starts().back().request.body);
  std::int64_t base = 4'000;
  for (int n = 1; n <= 11; ++n) {
    ASSERT_EQ(starts().size(), static_cast<std::size_t>(n));
    EXPECT_EQ(starts().back().request.target, first);
    EXPECT_EQ(starts().back().request.body, body);
    if (GetParam() < 0) {
      post(ended(last_attempt(), static_cast<WireEnd>(-GetParam())));
    } else {
      reply(GetParam(), "{}");
    }
    if (n == 11) break;
    const std::int64_t waited = until_next_start().count();
    EXPECT_GE(waited, base * 8 / 10) << n;
    EXPECT_LE(waited, base * 14 / 10 + 1) << n;
    base = std::min<std::int64_t>(base * 4, 60'000);
  }
  EXPECT_EQ(route().interval, Duration(600s));
  EXPECT_EQ(until_next_start(), Duration(600s)) << "silence";
}

INSTANTIATE_TEST_SUITE_P(
    Failures, CompatibleTries,
    ::testing::Values(500, 503, 599, 429, -static_cast<int>(WireEnd::kRefused),
                      -static_cast<int>(WireEnd::kNoName), -static_cast<int>(WireEnd::kNoTls),
                      -static_cast<int>(WireEnd::kTimedOut),
                      -static_cast<int>(WireEnd::kReset)));

}  // namespace
}  // namespace postrider
