// The checkers of priorities and of gaps, shown good and bad histories.
#include <gtest/gtest.h>

#include "postrider/sim/checkers/bench_testing.h"
#include "postrider/sim/fields/drill/table.h"

namespace postrider::sim {
namespace {

struct PriorityBench : CheckerBench {
  PriorityBench() : CheckerBench(make_priorities_checker, {{"peer", "peer-0"}, {"lower", "3"}}) {}

  Message accept_at(std::uint64_t number, std::uint16_t priority) {
    Message fields = message(number);
    fields.id = MessageId::make(destination, 0, priority, fields.id.sequence());
    return accept(fields);
  }
  // So many of the higher priority are sent.
  void pass_by(std::uint64_t from, std::uint64_t count) {
    for (std::uint64_t i = 0; i < count; ++i) {
      const Message high = accept_at(from + i, 5);
      pass(1s);
      leave(high);
    }
  }
};

TEST(PrioritiesChecker, SeesALowerOneThatHasNoTurn) {  // req: engine.sim.54
  PriorityBench bench;
  bench.accept_at(1, 1);
  bench.pass(1s);
  bench.pass_by(10, 3);
  EXPECT_FALSE(bench.complained()) << bench.text();
  bench.pass_by(20, 1);
  EXPECT_TRUE(bench.complained());
}

TEST(PrioritiesChecker, CountsAnewAfterATurn) {  // req: engine.sim.54
  PriorityBench bench;
  const Message low = bench.accept_at(1, 1);
  bench.accept_at(2, 1);
  bench.pass(1s);
  bench.pass_by(10, 3);
  bench.leave(low);
  bench.pass_by(20, 3);
  EXPECT_FALSE(bench.complained()) << bench.text();
}

TEST(PrioritiesChecker, GivesEachOfSeveralItsTurns) {  // req: engine.sim.54
  PriorityBench bench;
  bench.accept_at(1, 1);
  bench.accept_at(2, 2);
  bench.pass(1s);
  bench.pass_by(10, 6);
  EXPECT_FALSE(bench.complained()) << bench.text();
  bench.pass_by(20, 1);
  EXPECT_TRUE(bench.complained());
}

struct GapBench : CheckerBench {
  explicit GapBench(const char* poison)
      : CheckerBench(
            make_gaps_checker,
            {{"peer", "peer-0"}, {"fifo", "1"}, {"poison", poison}, {"poison-after", "3"}}) {}

  void put_gap(WriteBatch& batch, const Message& of, Phase phase, std::uint16_t tries) {
    LogEntry entry;
    entry.kind = LogEntry::Kind::kGap;
    entry.at = now;
    entry.id = of.id;
    entry.phase = phase;
    entry.attempts = tries;
    batch.put(keys::log(1, Sequence(++pages)), encode_log({entry}));
  }
  void park(const Message& of, std::uint16_t tries, bool marked = true, bool told = true) {
    WriteBatch batch;
    batch.put(keys::parked(of.id), marked ? keys::parked_as_gap(0) : std::string());
    if (told) put_gap(batch, of, Phase::kParked, tries);
    commit(std::move(batch));
  }
  void rest(const Message& of, std::uint16_t tries, Certainty certainty) {
    State state;
    state.state = drill::kResting;
    state.method = of.method;
    state.attempts = tries;
    state.since = now;
    state.due = now + 1min;
    state.failure = FailureClass::kServer;
    state.certainty = certainty;
    store_state(of, state);
  }
  void explain(const Message& of, MessageId gap) {
    Query question;
    question.what = Query::What::kExplain;
    question.id = of.id;
    const Ticket ticket = ask(question);
    Explanation explanation;
    explanation.id = of.id;
    explanation.gap = gap;
    Answer answer;
    answer.view = explanation;
    tell(ticket, answer);
  }
};

TEST(GapsChecker, WantsTheMarkAndTheLogInOneCommit) {  // req: engine.sim.55
  GapBench good("1");
  good.park(good.accept(good.message(1)), 3);
  EXPECT_FALSE(good.complained()) << good.text();
  GapBench unmarked("1");
  unmarked.park(unmarked.accept(unmarked.message(1)), 3, false);
  EXPECT_TRUE(unmarked.complained());
  GapBench untold("1");
  untold.park(untold.accept(untold.message(1)), 3, true, false);
  EXPECT_TRUE(untold.complained());
}

TEST(GapsChecker, SeesWhoMakesWayTooEarlyOrByAnotherRule) {  // req: engine.sim.55
  GapBench early("1");
  early.park(early.accept(early.message(1)), 2);
  EXPECT_TRUE(early.complained());
  GapBench other("2");
  other.park(other.accept(other.message(1)), 3);
  EXPECT_TRUE(other.complained());
}

TEST(GapsChecker, SeesWhoIsTriedOnceTooOften) {  // req: engine.sim.55
  GapBench bench("1");
  const Message message = bench.accept(bench.message(1));
  bench.rest(message, 2, Certainty::kAnswered);
  bench.pass(1min);
  bench.rest(message, 3, Certainty::kNotSent);
  EXPECT_FALSE(bench.complained()) << bench.text();
  bench.pass(1min);
  bench.rest(message, 4, Certainty::kUnknown);
  EXPECT_TRUE(bench.complained());
}

TEST(GapsChecker, WantsASkippedOneToEnd) {  // req: engine.sim.55
  GapBench bench("2");
  const Message message = bench.accept(bench.message(1));
  WriteBatch good;
  bench.put_gap(good, message, Phase::kDead, 3);
  bench.put_end(good, bench.end_of(message, Phase::kDead));
  bench.commit(std::move(good));
  EXPECT_EQ(bench.text().find("checker 36"), std::string::npos) << bench.text();
  const Message left = bench.accept(bench.message(2));
  WriteBatch bad;
  bench.put_gap(bad, left, Phase::kDead, 3);
  bench.commit(std::move(bad));
  EXPECT_NE(bench.verdicts.list().back().find("did not end"), std::string::npos);
}

TEST(GapsChecker, WantsThoseBehindToBeTold) {  // req: engine.sim.55
  GapBench bench("1");
  const Message first = bench.accept(bench.message(1));
  const Message second = bench.accept(bench.message(2));
  bench.explain(second, {});
  bench.park(first, 3);
  bench.pass(1s);
  bench.explain(second, first.id);
  EXPECT_FALSE(bench.complained()) << bench.text();
  bench.explain(second, {});
  EXPECT_TRUE(bench.complained());
}

}  // namespace
}  // namespace postrider::sim
