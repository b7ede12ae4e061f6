// What happens inside one lane: lower priorities have their turns, waiting is worth priority, and a
// message that fails again and again gets out of the way of those behind it, if the rule says so.
#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "postrider/base/rng.h"
#include "tests/support/shard_rig.h"

namespace postrider {
namespace {

class LaneRig : public ShardRig {
 protected:
  void make(NamedTexts settings = {}) {
    settings.emplace_back("adapt", "off");
    post(configure(++ticket_, "mill", std::move(settings)));
    ASSERT_EQ(code_of(ticket_), AnswerCode::kDone);
  }
  MessageId send(std::uint16_t priority = 0, const std::string& key = {}) {
    Submit event = submit(++ticket_, "mill");
    event.priority = priority;
    if (!key.empty()) event.attributes = encode_texts({{"order-key", key}});
    post(event);
    return id_of(ticket_);
  }
  std::vector<MessageId> sent() const {
    std::vector<MessageId> out;
    for (const StartAttempt& start : starts()) out.push_back(start.message);
    return out;
  }
  std::vector<std::uint16_t> priorities() const {
    std::vector<std::uint16_t> out;
    for (const MessageId id : sent()) out.push_back(id.priority());
    return out;
  }
  // The far side answers the oldest open attempts.
  void serve(int count = 1, int status = 200) {
    for (int i = 0; i < count && served_ < starts().size(); ++i)
      post(answer(attempt(served_++), status));
  }
  void restart() {
    open();
    served_ = 0;
  }
  Explanation explain(MessageId id) {
    Query question = ask(++ticket_, Query::What::kExplain);
    question.id = id;
    post(question);
    return view_of<Explanation>(ticket_);
  }
  std::vector<LogEntry> log(LogEntry::Kind kind) {
    Query question = ask(++ticket_, Query::What::kLog);
    question.limit = 1000;
    post(question);
    std::vector<LogEntry> out = view_of<LogPage>(ticket_).entries;
    std::erase_if(out, [kind](const LogEntry& entry) { return entry.kind != kind; });
    return out;
  }
  void retry(MessageId id) {
    RetryNow event;
    event.caller.ticket = Ticket(++ticket_);
    event.id = id;
    post(event);
    ASSERT_EQ(code_of(ticket_), AnswerCode::kDone);
  }
  Tallies tallies() {
    post(ask(++ticket_, Query::What::kStats));
    return view_of<Stats>(ticket_).tallies;
  }

  std::uint64_t ticket_ = 0;
  std::size_t served_ = 0;
};

class Priorities : public LaneRig {};

std::size_t place_of(const std::vector<MessageId>& all, MessageId id) {
  return static_cast<std::size_t>(std::find(all.begin(), all.end(), id) - all.begin());
}

// req: engine.lane.8
TEST_F(Priorities, OfSixteenStartsOneIsForALowerOne) {
  open();
  make({{"in_flight_max", "1"}});
  send(5);  // has the only place
  const MessageId low = send(1);
  for (int i = 0; i < 50; ++i) send(5);
  serve(15);
  EXPECT_EQ(sent().size(), 16U);
  EXPECT_EQ(place_of(sent(), low), 16U) << "fifteen of the others come first";
  serve(1);
  EXPECT_EQ(sent().back(), low);
  EXPECT_EQ(tallies().lower_turns, 1U);
}

// req: engine.lane.8
TEST_F(Priorities, TheSettingSaysOfHowMany) {
  open();
  make({{"in_flight_max", "1"}, {"lower_priority_every", "2"}});
  send(5);
  for (int i = 0; i < 4; ++i) send(0);
  for (int i = 0; i < 10; ++i) send(5);
  serve(8);
  EXPECT_EQ(priorities(), (std::vector<std::uint16_t>{5, 5, 0, 5, 0, 5, 0, 5, 0}));
}

// req: engine.lane.8
TEST_F(Priorities, SeveralLowerOnesGoByTurns) {
  open();
  make({{"in_flight_max", "1"}, {"lower_priority_every", "2"}});
  send(9);
  for (const std::uint16_t priority : std::array<std::uint16_t, 6>{3, 2, 1, 3, 2, 1})
    send(priority);
  for (int i = 0; i < 10; ++i) send(9);
  serve(12);
  EXPECT_EQ(priorities(), (std::vector<std::uint16_t>{9, 9, 3, 9, 2, 9, 1, 9, 3, 9, 2, 9, 1}));
}

// req: engine.lane.8
TEST_F(Priorities, WithNothingLowerNothingChanges) {
  open();
  make({{"in_flight_max", "1"}, {"lower_priority_every", "2"}});
  for (int i = 0; i < 6; ++i) send(5);
  send(7);
  serve(6);
  EXPECT_EQ(priorities(), (std::vector<std::uint16_t>{5, 7, 5, 5, 5, 5, 5}));
  EXPECT_EQ(tallies().lower_turns, 0U);
}

// req: engine.lane.8
TEST_F(Priorities, ALowerOneOnDiskBehindAFullWindowHasItsTurn) {
  open();
  make({{"in_flight_max", "1"}});
  for (int i = 0; i < 100; ++i) send(5);  // 64 fit into the window
  const MessageId low = send(1);
  const MessageId lowest = send(0);
  for (int i = 0; i < 31; ++i) {
    serve(1);
    send(5);  // higher ones keep coming
  }
  EXPECT_LE(place_of(sent(), low), 16U);
  serve(1);
  EXPECT_LE(place_of(sent(), lowest), 32U);
}

// req: engine.lane.8
TEST_F(Priorities, TheOldestOfALowerOneGoesAndTheOthersAreNotForgotten) {
  open();
  make({{"in_flight_max", "1"}, {"lower_priority_every", "3"}});
  for (int i = 0; i < 80; ++i) send(5);
  std::vector<MessageId> lows;
  for (int i = 0; i < 20; ++i) lows.push_back(send(1));
  serve(200);
  std::vector<MessageId> seen = sent();
  EXPECT_EQ(seen.size(), 100U);
  std::erase_if(seen, [](MessageId id) { return id.priority() == 5; });
  EXPECT_EQ(seen, lows);
  EXPECT_EQ(priorities()[99], 5) << "the lower ones had their turns, and were through first";
}

// req: engine.lane.8
TEST_F(Priorities, AStopDoesNotPostponeTheTurn) {
  open();
  make({{"in_flight_max", "1"}});
  send(5);
  const MessageId low = send(1);
  for (int i = 0; i < 100; ++i) send(5);
  serve(10);
  ASSERT_EQ(place_of(sent(), low), sent().size());
  restart();  // what was passed before is forgotten, and taken for all that may be
  EXPECT_EQ(sent().front(), low);
}

// req: engine.lane.8
TEST_F(Priorities, SleepersAmongTheLowerOnesAreStepped) {
  options.engine.limits.refill_rows_max = 3;
  open();
  make({{"in_flight_max", "1"}, {"lower_priority_every", "4"}});
  for (int i = 0; i < 80; ++i) send(5);
  for (int i = 0; i < 100; ++i) {  // more than one look takes in
    Submit later = submit(++ticket_, "mill");
    later.priority = 1;
    later.not_before = kStart + Duration(48h);
    post(later);
  }
  const MessageId low = send(1);
  serve(60);
  EXPECT_LE(place_of(sent(), low), 40U);
}

// req: engine.lane.8
TEST_F(Priorities, WaitingIsWorthPriorityIfTheSettingSaysSo) {
  open();
  make({{"in_flight_max", "1"}, {"priority_ageing", "10s"}, {"time_out", "10m"}});
  send(9);
  const MessageId old = send(1);
  advance(49s + 999ms);
  const MessageId equal = send(6);
  advance(1ms);
  const MessageId younger = send(5);
  ASSERT_EQ(sent().size(), 1U);
  serve(1);  // 1 + 5 steps is 6 as well, and it is older
  EXPECT_EQ(sent().back(), old);
  serve(2);
  EXPECT_EQ(sent(), (std::vector<MessageId>{sent()[0], old, equal, younger}));
}

// req: engine.lane.8
TEST_F(Priorities, WaitingIsWorthNothingUnlessItSays) {
  open();
  make({{"in_flight_max", "1"}, {"time_out", "10m"}});
  send(9);
  const MessageId old = send(1);
  advance(9min);
  ASSERT_EQ(sent().size(), 1U);
  const MessageId young = send(2);
  serve(2);
  EXPECT_EQ(sent(), (std::vector<MessageId>{sent()[0], young, old}));
}

// req: engine.lane.8
TEST_F(Priorities, ExplainTellsOfTheTurns) {
  open();
  make({{"in_flight_max", "2"}, {"rate", "1"}});
  send(5);
  for (int i = 0; i < 3; ++i) send(5);
  const MessageId low = send(1);
  EXPECT_NE(explain(low).why.find("of 16 starts one is for lower ones"), std::string::npos)
      << explain(low).why;
}

// req: engine.lane.8
TEST_F(Priorities, TurnsGoOnWhereTheyWereWhenTheDestinationWasOutOfMemory) {
  options.engine.limits.residents_max = 1;
  open();
  make({{"in_flight_max", "1"}, {"lower_priority_every", "2"}, {"strikes_max", "1"}});
  std::map<std::uint16_t, MessageId> of;
  for (const std::uint16_t priority : std::array<std::uint16_t, 4>{3, 2, 1, 0})
    of[priority] = send(priority);
  std::set<std::uint16_t> tried;
  for (int i = 0; i < 10; ++i) {
    serve(1, 500);  // the route closes, and everything goes to disk
    for (int other = 0; other < 3; ++other)
      post(configure(++ticket_, "other-" + std::to_string(other)));
    advance(20min);
    if (!sent().empty()) tried.insert(sent().back().priority());
  }
  EXPECT_EQ(tried, (std::set<std::uint16_t>{0, 1, 2, 3}));
}

// req: engine.lane.8
TEST_F(Priorities, WhoeverWaitsForAPlaceIsNotPassedAnew) {
  open();
  make({{"in_flight_max", "1"}, {"lower_priority_every", "3"}});
  send(5);
  const MessageId low = send(1);
  send(5);
  send(5);
  serve(2);  // both of them passed it, and now it is the only one that is ready
  const MessageId later = send(1);
  for (int i = 0; i < 4; ++i) send(5);
  serve(1);
  EXPECT_EQ(sent().back(), low);
  serve(3);
  EXPECT_EQ(sent().back(), later);
}

// req: engine.lane.8
TEST_F(Priorities, WhoeverWaitsForItsTimeIsNotPassedAnew) {
  open();
  make({{"in_flight_max", "8"}, {"lower_priority_every", "2"}, {"rate", "1"}, {"burst", "1"}});
  send(5);
  const MessageId low = send(1);
  send(0);
  const MessageId passes = send(5);
  advance(1s);
  ASSERT_EQ(sent().back(), passes);
  for (int i = 0; i < 3; ++i) {
    turn();  // the highest of those that wait, and it has to
    send(5);
  }
  advance(1s);
  EXPECT_EQ(sent().back(), low);
}

// Reads come back in any order; what a look for a lower priority found may be old by then.
class PrioritiesAndReads : public LaneRig, public ::testing::WithParamInterface<int> {};

// req: engine.lane.7, engine.lane.8
TEST_P(PrioritiesAndReads, ByKeyTheOrderHoldsWhicheverComesFirst) {
  Rng rng(static_cast<std::uint64_t>(GetParam()));
  open();
  make({{"in_flight_max", "2"}, {"lower_priority_every", "2"}, {"jitter_percent", "0"}});
  std::map<std::string, std::vector<MessageId>> wanted;
  for (int i = 0; i < 70; ++i) send(5);
  for (int i = 0; i < 150; ++i) {
    const std::string key = "key-" + std::to_string(rng.below(4));
    wanted[key].push_back(send(key.back() < '2' ? 1 : 0, key));
  }
  store.holds_reads = true;
  for (int i = 0; i < 600; ++i) {
    if (rng.chance(1, 2)) serve(1);
    if (rng.chance(1, 5)) {
      Submit high = submit(++ticket_, "mill");
      high.priority = 5;
      post(high);
    }
    if (store.reads_held() == 0) continue;
    if (rng.chance(1, 2)) release_read();
    if (store.reads_held() > 0 && rng.chance(1, 3)) release_newest_read();
  }
  std::map<std::string, std::vector<MessageId>> seen;
  for (const MessageId id : sent()) {
    for (const auto& [key, all] : wanted) {
      if (std::find(all.begin(), all.end(), id) != all.end()) seen[key].push_back(id);
    }
  }
  std::size_t count = 0;
  for (const auto& [key, all] : seen) {
    count += all.size();
    EXPECT_TRUE(std::is_sorted(all.begin(), all.end())) << key;
  }
  EXPECT_GE(count, 20U);
}

INSTANTIATE_TEST_SUITE_P(Seeds, PrioritiesAndReads, ::testing::Range(0, 24));

class Poison : public LaneRig {
 protected:
  // Fails what is open with this status, and waits until its back-off is over.
  void fail_once(int status = 500) {
    serve(1, status);
    advance(20s);
  }
  static NamedTexts rule(const std::string& what, const std::string& after) {
    return {{"order", "fifo"},      {"on_poison", what},       {"poison_after", after},
            {"ladder", "10s"},      {"strikes_max", "0"},      {"jitter_percent", "0"},
            {"in_flight_max", "4"}, {"when_exhausted", "dead"}};
  }
};

// req: engine.lane.9
TEST_F(Poison, IsParkedAfterSoManyAttemptsAndTheOthersGoOn) {
  open();
  make(rule("park", "3"));
  const MessageId poison = send();
  const MessageId next = send();
  fail_once();
  fail_once();
  EXPECT_EQ(sent(), (std::vector<MessageId>{poison, poison, poison})) << "two are not enough";
  serve(1, 500);
  EXPECT_EQ(explain(poison).phase, Phase::kParked);
  EXPECT_EQ(explain(poison).attempts, 3);
  EXPECT_EQ(sent().back(), next);
  EXPECT_EQ(sent().size(), 4U);
}

// req: engine.lane.9
TEST_F(Poison, OneAttemptMayBeEnough) {
  open();
  make(rule("park", "1"));
  const MessageId poison = send();
  const MessageId next = send();
  serve(1, 500);
  EXPECT_EQ(explain(poison).phase, Phase::kParked);
  EXPECT_EQ(sent().back(), next);
}

// req: engine.lane.9
TEST_F(Poison, LeavesAGapThatIsMarked) {
  open();
  make(rule("park", "1"));
  const MessageId poison = send();
  const MessageId next = send();
  const MessageId last = send();
  EXPECT_FALSE(explain(next).gap.is_set());
  serve(1, 500);
  const std::string words = "a gap: " + ids().text(poison) + " was parked before it";
  const auto expect_told = [&] {
    for (const MessageId id : {next, last}) {
      EXPECT_EQ(explain(id).gap, poison);
      EXPECT_NE(explain(id).why.find(words), std::string::npos) << explain(id).why;
    }
    const auto gaps = log(LogEntry::Kind::kGap);
    ASSERT_EQ(gaps.size(), 1U);
    EXPECT_EQ(gaps[0].id, poison);
    EXPECT_EQ(gaps[0].phase, Phase::kParked);
    EXPECT_EQ(gaps[0].attempts, 1);
  };
  expect_told();
  EXPECT_FALSE(explain(poison).gap.is_set()) << "it is the gap, not behind it";
  restart();
  expect_told();
}

// req: engine.lane.9
TEST_F(Poison, TheMarkIsInTheCommitThatLetsTheOthersGo) {
  open();
  make(rule("park", "1"));
  const MessageId poison = send();
  const MessageId next = send();
  store.holds_commits = true;
  serve(1, 500);
  EXPECT_EQ(sent().back(), poison) << "nobody goes on before the gap is durable";
  ASSERT_EQ(store.commits_held(), 1U);
  store.holds_commits = false;
  release_commit();
  EXPECT_EQ(sent().back(), next);
  restart();
  EXPECT_EQ(explain(next).gap, poison);
  EXPECT_EQ(log(LogEntry::Kind::kGap).size(), 1U);
}

// req: engine.lane.9
TEST_F(Poison, SentAgainItGoesBeforeThoseThatStillWait) {
  open();
  make(rule("park", "2"));
  const MessageId poison = send();
  const MessageId second = send();
  const MessageId third = send();
  fail_once();
  serve(1, 500);
  ASSERT_EQ(sent().back(), second);
  retry(poison);
  EXPECT_EQ(sent().back(), second) << "one at a time, as ever";
  EXPECT_FALSE(explain(third).gap.is_set()) << "the gap is closed";
  serve(1);
  EXPECT_EQ(sent().back(), poison);
  serve(1, 500);  // it has had its attempts: out of the way at once
  EXPECT_EQ(sent().back(), third);
  EXPECT_EQ(explain(third).gap, poison);
  EXPECT_EQ(log(LogEntry::Kind::kGap).size(), 2U);
  retry(poison);
  serve(1);
  serve(1);
  EXPECT_EQ(explain(poison).phase, Phase::kDelivered);
}

// req: engine.lane.9
TEST_F(Poison, IsSkippedIfTheRuleSaysSo) {
  open();
  make(rule("skip", "2"));
  const MessageId poison = send();
  const MessageId next = send();
  fail_once();
  EXPECT_EQ(sent().back(), poison);
  serve(1, 500);
  EXPECT_EQ(explain(poison).phase, Phase::kDead);
  EXPECT_EQ(explain(poison).reason, "in the way of others after 2 attempts: HTTP 500");
  EXPECT_EQ(sent().back(), next);
  const auto gaps = log(LogEntry::Kind::kGap);
  ASSERT_EQ(gaps.size(), 1U);
  EXPECT_EQ(gaps[0].id, poison);
  EXPECT_EQ(gaps[0].phase, Phase::kDead);
  post(ask(++ticket_, Query::What::kDeadLetters));
  EXPECT_EQ(view_of<DeadLetters>(ticket_).letters.size(), 1U);
}

// req: engine.lane.9
TEST_F(Poison, BlocksUnlessTheRuleSaysOtherwise) {
  open();
  make({{"order", "fifo"}, {"ladder", "10s"}, {"strikes_max", "0"}, {"poison_after", "1"}});
  const MessageId poison = send();
  send();
  for (int i = 0; i < 7; ++i) fail_once();
  EXPECT_EQ(sent(), std::vector<MessageId>(8, poison));
  EXPECT_TRUE(log(LogEntry::Kind::kGap).empty());
}

// req: engine.lane.9
TEST_F(Poison, WhoWasNotSentOrIsToComeLaterIsNotPoison) {
  open();
  make(rule("park", "2"));
  const MessageId first = send();
  send();
  for (int i = 0; i < 3; ++i) {
    AttemptEnded refused;
    refused.attempt = attempt(served_++);
    refused.reply.end = WireEnd::kRefused;
    post(refused);
    advance(20s);
  }
  fail_once(429);
  EXPECT_EQ(sent(), std::vector<MessageId>(5, first));
  serve(1, 500);
  EXPECT_EQ(explain(first).phase, Phase::kParked) << "an answer decides, by all attempts";
}

// req: engine.lane.9
TEST_F(Poison, InALaneWithoutOrderNobodyIsInTheWay) {
  open();
  NamedTexts settings = rule("park", "1");
  settings[0].second = "none";
  make(settings);
  const MessageId failing = send();
  fail_once();
  EXPECT_EQ(explain(failing).phase, Phase::kInFlight);
}

// req: engine.lane.9
TEST_F(Poison, OfAKeyMakesWayForItsKey) {
  open();
  NamedTexts settings = rule("park", "2");
  settings[0].second = "none";
  make(settings);
  const MessageId poison = send(0, "a");
  const MessageId other = send(0, "b");
  const MessageId second = send(0, "a");
  const MessageId third = send(0, "a");
  ASSERT_EQ(sent(), (std::vector<MessageId>{poison, other}));
  post(answer(attempt(1), 200));
  post(answer(attempt(0), 500));
  advance(20s);
  ASSERT_EQ(sent().back(), poison);
  post(answer(attempt(2), 500));
  ASSERT_EQ(sent().back(), second);
  EXPECT_EQ(explain(third).gap, poison);
  const MessageId elsewhere = send(0, "b");
  EXPECT_FALSE(explain(elsewhere).gap.is_set()) << "another key has no gap";
  retry(poison);
  EXPECT_NE(sent().back(), poison) << "the second of its key is under way";
  post(answer(attempt(3), 200));
  EXPECT_EQ(sent().back(), poison) << "before the third";
  post(answer(last_attempt(), 200));
  EXPECT_EQ(sent().back(), third);
}

// req: engine.lane.9
TEST_F(Poison, OfAKeyStaysOutOfTheWayAfterAStop) {
  open();
  NamedTexts settings = rule("park", "1");
  settings[0].second = "none";
  make(settings);
  const MessageId poison = send(0, "a");
  const MessageId second = send(0, "a");
  serve(1, 500);
  restart();
  ASSERT_EQ(sent(), std::vector<MessageId>{second});
  EXPECT_EQ(explain(second).gap, poison);
  const MessageId third = send(0, "a");
  retry(poison);
  serve(1);
  EXPECT_EQ(sent().back(), poison);
  serve(1);
  EXPECT_EQ(sent().back(), third);
}

}  // namespace
}  // namespace postrider
