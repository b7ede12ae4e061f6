// The checkers of orders by key and of revival, shown good and bad histories.
#include <gtest/gtest.h>

#include "postrider/sim/checkers/bench_testing.h"
#include "postrider/sim/fields/drill/table.h"

namespace postrider::sim {
namespace {

Message accept_in_line(CheckerBench& bench, std::uint64_t number, const std::string& line,
                       Timestamp not_before = {}) {
  Message fields = bench.message(number);
  fields.not_before = not_before;
  fields.lasting = 1;
  fields.ordered = true;
  const Message whole = encode_message(fields, encode_texts({{"line", line}}), "{}");
  WriteBatch batch;
  batch.put_once(keys::hot(whole.id.sequence(), keys::Part::kMessage), whole.record);
  ++bench.counters.accepted;
  bench.commit(std::move(batch));
  return whole;
}

TEST(LineChecker, SeesAMessageOvertakeAnotherOfItsKey) {  // req: engine.sim.6
  CheckerBench bench(make_line_checker);
  const Message first = accept_in_line(bench, 1, "a");
  const Message second = accept_in_line(bench, 2, "a");
  bench.leave(accept_in_line(bench, 3, "b"));
  bench.leave(first);
  bench.leave(first);
  EXPECT_FALSE(bench.complained()) << bench.text();
  bench.leave(second);
  EXPECT_TRUE(bench.complained());
}

TEST(LineChecker, LetsTheNextOneGoAfterAnEnd) {  // req: engine.sim.6
  CheckerBench bench(make_line_checker);
  const Message late = accept_in_line(bench, 1, "a", bench.now + 1h);
  const Message first = accept_in_line(bench, 2, "a");
  const Message second = accept_in_line(bench, 3, "a");
  bench.leave(first);
  bench.end(first, Phase::kDead);
  bench.leave(second);
  EXPECT_FALSE(bench.complained()) << bench.text();
}

// A bench whose destination tries what is parked every hour.
struct RevivalBench : CheckerBench {
  RevivalBench()
      : CheckerBench(make_revival_checker,
                     {{"peer", "peer-0"}, {"strand", "1"}, {"wait-max", "3600000"}}) {}

  Message park(std::uint64_t number) {
    const Message message = accept(this->message(number));
    park(message);
    return message;
  }
  void park(const Message& message, std::optional<Timestamp> from = std::nullopt) {
    WriteBatch batch;
    put_state(batch, message, drill::kStranded, 3);
    batch.put(keys::parked(message.id), keys::parked_for_reach(from.value_or(now)));
    commit(std::move(batch));
  }
  void put_back(const Message& message, std::uint16_t attempts_made = 0) {
    WriteBatch batch;
    put_state(batch, message, drill::kQueued, attempts_made);
    batch.remove(keys::parked(message.id));
    commit(std::move(batch));
  }
  void put_state(WriteBatch& batch, const Message& message, StateIndex index,
                 std::uint16_t attempts_made) const {
    State state;
    state.state = index;
    state.method = message.method;
    state.attempts = attempts_made;
    state.since = now;
    batch.put(keys::hot(message.id.sequence(), keys::Part::kState), encode_state(state, ""));
  }
  // Somebody else is delivered.
  void succeed(std::uint64_t number) {
    const Message other = accept(message(number));
    outcome(leave(other), 200);
    end(other, Phase::kDelivered);
  }
  void wait(Duration time) {
    pass(time);
    commit({});
  }
};

TEST(RevivalChecker, LetsASuccessPutThemBackInOrder) {  // req: engine.sim.31
  RevivalBench bench;
  const Message first = bench.park(1);
  const Message second = bench.park(2);
  bench.wait(20min);
  bench.succeed(3);
  bench.put_back(first);
  bench.put_back(second);
  bench.wait(1h);
  EXPECT_FALSE(bench.complained()) << bench.text();
}

TEST(RevivalChecker, SeesOneThatStaysBehind) {  // req: engine.sim.31
  RevivalBench bench;
  bench.park(1);
  bench.wait(20min);
  EXPECT_FALSE(bench.complained()) << bench.text();
  bench.succeed(2);
  bench.wait(9min);
  EXPECT_FALSE(bench.complained()) << bench.text();
  bench.wait(2min);
  EXPECT_TRUE(bench.complained());
}

TEST(RevivalChecker, KnowsThatOneMayHaveToWaitLonger) {  // req: engine.sim.31
  RevivalBench bench;
  const Message message = bench.accept(bench.message(1));
  bench.park(message, bench.now + 1h);
  bench.wait(20min);
  bench.succeed(2);
  bench.wait(20min);
  EXPECT_FALSE(bench.complained()) << bench.text();
  bench.park(bench.accept(bench.message(3)), bench.now + 2h);
  EXPECT_TRUE(bench.complained()) << "but not for any time";
}

TEST(RevivalChecker, SeesAWrongOrder) {  // req: engine.sim.31
  RevivalBench bench;
  bench.park(1);
  const Message second = bench.park(2);
  bench.wait(20min);
  bench.succeed(3);
  bench.put_back(second);
  EXPECT_TRUE(bench.complained());
}

TEST(RevivalChecker, SeesAttemptsThatAreNotFresh) {  // req: engine.sim.31
  RevivalBench bench;
  const Message message = bench.park(1);
  bench.wait(20min);
  bench.succeed(2);
  bench.put_back(message, 3);
  EXPECT_TRUE(bench.complained());
}

TEST(RevivalChecker, SeesTrialsThatComeTooOften) {  // req: engine.sim.31
  RevivalBench bench;
  const Message message = bench.park(1);
  for (int i = 0; i < 3; ++i) {
    bench.wait(1h);
    bench.put_back(message);
    bench.park(message);
    EXPECT_FALSE(bench.complained()) << bench.text();
  }
  bench.wait(59min);
  bench.put_back(message);
  EXPECT_TRUE(bench.complained());
}

// A commit that takes long brings the trial together with what became of it.
TEST(RevivalChecker, CountsFromTheTrialAndNotFromItsFailure) {  // req: engine.sim.31
  RevivalBench bench;
  const Message message = bench.park(1);
  bench.wait(1h);
  WriteBatch batch;
  bench.put_state(batch, message, drill::kQueued, 0);
  batch.remove(keys::parked(message.id));
  bench.pass(1min);
  bench.put_state(batch, message, drill::kResting, 1);
  bench.commit(std::move(batch));
  bench.park(message);
  bench.wait(59min);
  bench.put_back(message);
  EXPECT_FALSE(bench.complained()) << bench.text();
  bench.park(message);
  bench.wait(59min);
  bench.put_back(message);
  EXPECT_TRUE(bench.complained());
}

}  // namespace
}  // namespace postrider::sim
