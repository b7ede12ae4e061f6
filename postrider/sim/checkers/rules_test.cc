// The second half of the checkers: keys, order, expiry, limits, health, retries, the write budget,
// explanations.
#include <gtest/gtest.h>

#include "postrider/sim/checkers/bench_testing.h"
#include "postrider/sim/fields/drill/drill.h"

namespace postrider::sim {
namespace {

// States of the drill, as its table numbers them.
constexpr StateIndex kHeld = 4;
constexpr StateIndex kResting = 8;

Submit keyed_submit(std::string key, std::string body) {
  Submit submit;
  submit.caller.key.kind = OperationKey::Kind::kOpaque;
  submit.caller.key.scope = "tenant";
  submit.caller.key.key = std::move(key);
  submit.destination = "destination-0";
  submit.body = std::move(body);
  return submit;
}

Answer answer_of(AnswerCode code, MessageId id = {}) {
  Answer answer;
  answer.code = code;
  answer.id = id;
  return answer;
}

TEST(KeysChecker, LetsAReplayPass) {  // req: engine.sim.5
  CheckerBench bench(make_keys_checker);
  const MessageId id = bench.message(1).id;
  bench.tell(bench.ask(keyed_submit("a", "x")), answer_of(AnswerCode::kAccepted, id));
  bench.tell(bench.ask(keyed_submit("a", "x")), answer_of(AnswerCode::kAccepted, id));
  bench.tell(bench.ask(keyed_submit("a", "y")), answer_of(AnswerCode::kConflict));
  bench.pass(60h);
  bench.tell(bench.ask(keyed_submit("a", "y")),
             answer_of(AnswerCode::kAccepted, bench.message(2).id));
  EXPECT_FALSE(bench.complained()) << bench.text();
}

TEST(KeysChecker, SeesAnotherAnswerForTheSameKey) {  // req: engine.sim.5
  CheckerBench bench(make_keys_checker);
  bench.tell(bench.ask(keyed_submit("a", "x")),
             answer_of(AnswerCode::kAccepted, bench.message(1).id));
  bench.pass(23h);
  bench.tell(bench.ask(keyed_submit("a", "x")),
             answer_of(AnswerCode::kAccepted, bench.message(2).id));
  EXPECT_TRUE(bench.complained());
}

// The first question was decided, and a crash kept its answer from the client.
TEST(KeysChecker, CountsTheAgeOfAReplayFromTheQuestionThatWasNotAnswered) {  // req: engine.sim.5
  for (const Duration apart : {Duration(20h), Duration(1h)}) {
    CheckerBench bench(make_keys_checker);
    Answer first = answer_of(AnswerCode::kAccepted, bench.message(1).id);
    first.replayed = true;
    bench.ask(keyed_submit("a", "x"));
    bench.pass(apart);
    bench.tell(bench.ask(keyed_submit("a", "x")), first);
    bench.pass(20h);
    bench.tell(bench.ask(keyed_submit("a", "x")),
               answer_of(AnswerCode::kAccepted, bench.message(2).id));
    EXPECT_EQ(bench.complained(), apart == 1h) << bench.text();
  }
}

TEST(KeysChecker, SeesAnAnswerForOtherContent) {  // req: engine.sim.5
  CheckerBench bench(make_keys_checker);
  const MessageId id = bench.message(1).id;
  bench.tell(bench.ask(keyed_submit("a", "x")), answer_of(AnswerCode::kAccepted, id));
  bench.tell(bench.ask(keyed_submit("a", "y")), answer_of(AnswerCode::kAccepted, id));
  EXPECT_TRUE(bench.complained());
}

TEST(KeysChecker, SeesAConflictWithoutOtherContent) {  // req: engine.sim.5
  CheckerBench bench(make_keys_checker);
  bench.tell(bench.ask(keyed_submit("a", "x")), answer_of(AnswerCode::kConflict));
  EXPECT_TRUE(bench.complained());
}

TEST(KeysChecker, SeesAnOpaqueKeyCalledExpired) {  // req: engine.sim.5
  CheckerBench bench(make_keys_checker);
  bench.tell(bench.ask(keyed_submit("a", "x")), answer_of(AnswerCode::kKeyExpired));
  EXPECT_TRUE(bench.complained());
}

TEST(KeysChecker, SeesAKeyThatIsRememberedForEver) {  // req: engine.sim.5
  CheckerBench bench(make_keys_checker);
  const MessageId id = bench.message(1).id;
  bench.tell(bench.ask(keyed_submit("a", "x")), answer_of(AnswerCode::kAccepted, id));
  bench.pass(100h);
  Answer again = answer_of(AnswerCode::kAccepted, id);
  again.replayed = true;
  bench.tell(bench.ask(keyed_submit("a", "x")), again);
  EXPECT_TRUE(bench.complained());
}

TEST(KeysChecker, SeesOneWishAcceptedTwice) {  // req: engine.sim.5
  CheckerBench bench(make_keys_checker);
  bench.accept(bench.message(1), 77);
  bench.accept(bench.message(2), 78);
  EXPECT_FALSE(bench.complained()) << bench.text();
  bench.accept(bench.message(3), 77);
  EXPECT_TRUE(bench.complained());
}

TEST(OrderChecker, SeesAMessageOvertakeAnother) {  // req: engine.sim.6
  CheckerBench bench(make_order_checker, {{"peer", "peer-0"}, {"fifo", "1"}});
  const Message first = bench.accept(bench.message(1));
  const Message second = bench.accept(bench.message(2));
  const Message other_lane = bench.accept(bench.message(3, 1, 1));
  bench.leave(first);
  bench.leave(other_lane);
  EXPECT_FALSE(bench.complained()) << bench.text();
  bench.leave(second);
  EXPECT_TRUE(bench.complained());
}

TEST(OrderChecker, LetsTheNextOneGoAfterAnEnd) {  // req: engine.sim.6
  CheckerBench bench(make_order_checker, {{"peer", "peer-0"}, {"fifo", "1"}});
  const Message first = bench.accept(bench.message(1));
  const Message second = bench.accept(bench.message(2));
  bench.end(first, Phase::kDead);
  bench.leave(second);
  EXPECT_FALSE(bench.complained()) << bench.text();
}

TEST(ExpiryChecker, SeesAnExpiredMessageSent) {  // req: engine.sim.7
  CheckerBench bench(make_expiry_checker);
  Message fields = bench.message(1);
  fields.expires = bench.now + Duration(1min);
  const Message message = bench.accept(fields);
  bench.leave(message);
  EXPECT_FALSE(bench.complained()) << bench.text();
  bench.pass(1min);
  bench.leave(message);
  EXPECT_TRUE(bench.complained());
}

TEST(ExpiryChecker, SeesAMessageExpireTooEarly) {  // req: engine.sim.7
  CheckerBench bench(make_expiry_checker);
  Message fields = bench.message(1);
  fields.expires = bench.now + Duration(1min);
  const Message message = bench.accept(fields);
  bench.end(message, Phase::kExpired);
  EXPECT_TRUE(bench.complained());
}

TEST(LimitsChecker, SeesMoreAttemptsThanSlots) {  // req: engine.sim.8
  CheckerBench bench(make_limits_checker, {{"peer", "peer-0"}, {"in-use", "1"}});
  const Message first = bench.accept(bench.message(1));
  const Message second = bench.accept(bench.message(2));
  bench.outcome(bench.leave(first), 200);
  const AttemptId open = bench.leave(second);
  EXPECT_FALSE(bench.complained()) << bench.text();
  bench.leave(first);
  EXPECT_TRUE(bench.complained());
  static_cast<void>(open);
}

TEST(LimitsChecker, CountsSlotsThatAStateKeeps) {  // req: engine.sim.8
  CheckerBench bench(make_limits_checker, {{"peer", "peer-0"}, {"in-use", "1"}});
  const Message first = bench.accept(bench.message(1, 0));
  const Message second = bench.accept(bench.message(2));
  bench.outcome(bench.leave(first), 202);
  State state;
  state.state = kHeld;
  bench.store_state(first, state);
  bench.leave(second);
  EXPECT_TRUE(bench.complained());
}

// Limits bind starts: what comes back into such a state by a receipt took no slot.
TEST(LimitsChecker, ForgetsSlotsThatWereGivenBack) {  // req: engine.sim.8
  CheckerBench bench(make_limits_checker, {{"peer", "peer-0"}, {"in-use", "1"}});
  const Message first = bench.accept(bench.message(1, 0));
  const Message second = bench.accept(bench.message(2));
  bench.outcome(bench.leave(first), 202);
  State state;
  for (const StateIndex next : {kHeld, kResting, kHeld}) {
    state.state = next;
    bench.store_state(first, state);
  }
  bench.leave(second);
  EXPECT_FALSE(bench.complained()) << bench.text();
}

TEST(LimitsChecker, SeesASecondAttemptOfOneMessage) {  // req: engine.sim.8
  CheckerBench bench(make_limits_checker);
  const Message message = bench.accept(bench.message(1));
  bench.leave(message);
  bench.leave(message);
  EXPECT_TRUE(bench.complained());
}

TEST(LimitsChecker, SeesStartsTooCloseToEachOther) {  // req: engine.sim.8
  CheckerBench bench(make_limits_checker, {{"peer", "peer-0"}, {"spacing", "1000"}});
  bench.leave(bench.accept(bench.message(1)));
  bench.pass(1s);
  bench.leave(bench.accept(bench.message(2)));
  EXPECT_FALSE(bench.complained()) << bench.text();
  bench.pass(999ms);
  bench.leave(bench.accept(bench.message(3)));
  EXPECT_TRUE(bench.complained());
}

TEST(LimitsChecker, SeesAStartWithoutAToken) {  // req: engine.sim.8
  CheckerBench bench(make_limits_checker, {{"peer", "peer-0"}, {"tokens", "1"}, {"burst", "2"}});
  bench.leave(bench.accept(bench.message(1)));
  bench.leave(bench.accept(bench.message(2)));
  bench.pass(1s);
  bench.leave(bench.accept(bench.message(3)));
  EXPECT_FALSE(bench.complained()) << bench.text();
  bench.leave(bench.accept(bench.message(4)));
  EXPECT_TRUE(bench.complained());
}

// The second process does not know how late the first one had it.
TEST(LimitsChecker, ComparesTwoProcessesInTrueTime) {  // req: engine.sim.8
  CheckerBench bench(make_limits_checker, {{"peer", "peer-0"}, {"spacing", "1000"}});
  const Message first = bench.accept(bench.message(1));
  const Message second = bench.accept(bench.message(2));
  const Message third = bench.accept(bench.message(3));
  bench.leave(first);
  bench.pass(2s);
  bench.behind = 1h;
  bench.begin(2);
  bench.leave(second);
  EXPECT_FALSE(bench.complained()) << bench.text();
  bench.pass(500ms);
  bench.behind = 0h;
  bench.begin(3);
  bench.leave(third);
  EXPECT_TRUE(bench.complained());
}

TEST(LimitsChecker, SeesASharedGateExceeded) {  // req: engine.sim.8
  CheckerBench bench(make_limits_checker);
  Message fields = bench.message(1);
  fields.gates[0] = drill_gate_name("narrow");
  bench.leave(bench.accept(fields));
  fields.id = bench.message(2).id;
  EXPECT_FALSE(bench.complained()) << bench.text();
  bench.leave(bench.accept(fields));
  EXPECT_TRUE(bench.complained());
}

TEST(LimitsChecker, SeesTheWholeEngineExceeded) {  // req: engine.sim.8
  CheckerBench bench(make_limits_checker);
  bench.shard.engine.limits.open_attempts_max = 1;
  bench.checker = make_limits_checker(*bench.context, bench.notebook);
  bench.begin(1);
  bench.leave(bench.accept(bench.message(1)));
  EXPECT_FALSE(bench.complained()) << bench.text();
  bench.leave(bench.accept(bench.message(2)));
  EXPECT_TRUE(bench.complained());
}

void put_route(CheckerBench& bench, const Route& route) {
  WriteBatch batch;
  batch.put(keys::route(bench.destination), encode_route(route));
  bench.commit(std::move(batch));
}

TEST(HealthChecker, SeesAnAttemptOnAClosedRoute) {  // req: engine.sim.8
  for (const Health health : {Health::kWait, Health::kPaused, Health::kDisabled}) {
    CheckerBench bench(make_health_checker);
    const Message message = bench.accept(bench.message(1));
    Route route;
    route.health = health;
    route.waits = 1;
    route.health_since = bench.now;
    route.closed_until = bench.now + Duration(1h);
    put_route(bench, route);
    bench.leave(message);
    EXPECT_FALSE(bench.complained()) << "it was decided before the route closed";
    bench.pass(1s);
    bench.leave(message);
    EXPECT_TRUE(bench.complained()) << name_of(health);
  }
}

TEST(HealthChecker, SeesASecondProbe) {  // req: engine.sim.8
  CheckerBench bench(make_health_checker);
  Route route;
  route.health = Health::kProbe;
  route.health_since = bench.now;
  put_route(bench, route);
  bench.pass(1s);
  bench.leave(bench.accept(bench.message(1)));
  EXPECT_FALSE(bench.complained()) << bench.text();
  bench.leave(bench.accept(bench.message(2)));
  EXPECT_TRUE(bench.complained());
}

TEST(HealthChecker, SeesARouteClearedByMereContact) {  // req: engine.sim.8
  for (const bool delivered : {true, false}) {
    CheckerBench bench(make_health_checker);
    Route route;
    route.health = Health::kWait;
    route.waits = 1;
    route.health_since = bench.now;
    route.closed_until = bench.now + Duration(1h);
    put_route(bench, route);
    bench.pass(2h);
    route.health = Health::kProbe;
    route.health_since = bench.now;
    route.closed_until = Timestamp();
    put_route(bench, route);
    bench.pass(1s);
    const AttemptId attempt = bench.leave(bench.accept(bench.message(1)));
    bench.outcome(attempt, delivered ? 200 : 404);
    route.health = Health::kNormal;
    put_route(bench, route);
    EXPECT_EQ(bench.complained(), !delivered) << bench.text();
  }
}

TEST(HealthChecker, SeesARouteClosedForTooShort) {  // req: engine.sim.8
  CheckerBench bench(make_health_checker, {{"peer", "peer-0"}, {"strikes", "1"}, {"wait", "5000"}});
  Route route;
  route.health = Health::kWait;
  route.waits = 3;
  route.health_since = bench.now;
  route.closed_until = bench.now + Duration(20s);
  put_route(bench, route);
  EXPECT_FALSE(bench.complained()) << bench.text();
  route.health = Health::kNormal;
  bench.ask(Resume{{}, "destination-0"});
  put_route(bench, route);
  route.health = Health::kWait;
  route.closed_until = bench.now + Duration(19s);
  put_route(bench, route);
  EXPECT_TRUE(bench.complained());
}

// A sleep after the first attempt, of the class that goes by a fixed base of 5 s without jitter.
State sleep_of(const CheckerBench& bench, Duration delay) {
  State state;
  state.state = kResting;
  state.method = 1;
  state.attempts = 1;
  state.since = bench.now;
  state.due = bench.now + delay;
  state.first_attempt = bench.now;
  state.failure = FailureClass::kOther;
  state.certainty = Certainty::kAnswered;
  return state;
}

State throttled(const CheckerBench& bench, Duration delay) {
  State state = sleep_of(bench, delay);
  state.attempts = 2;
  state.failure = FailureClass::kThrottled;
  return state;
}

class RetryCheckerTest : public ::testing::Test {
 protected:
  void prepare(NamedTexts settings) {
    bench.configure(std::move(settings));
    message = bench.accept(bench.message(1));
    bench.outcome(bench.leave(message), 408);
  }
  CheckerBench bench{make_retry_checker};
  Message message;
};

TEST_F(RetryCheckerTest, LetsTheRuleBeObeyed) {  // req: engine.sim.9
  prepare({{"peer", "peer-0"}});
  bench.store_state(message, sleep_of(bench, 5s));
  EXPECT_FALSE(bench.complained()) << bench.text();
  bench.pass(5s);
  bench.leave(message);
  EXPECT_FALSE(bench.complained()) << bench.text();
}

TEST_F(RetryCheckerTest, SeesAWaitThatTheRuleDoesNotAllow) {  // req: engine.sim.9
  prepare({{"peer", "peer-0"}});
  bench.store_state(message, sleep_of(bench, 5001ms));
  EXPECT_TRUE(bench.complained());
}

TEST_F(RetryCheckerTest, SeesAnAttemptBeforeItsTime) {  // req: engine.sim.9
  prepare({{"peer", "peer-0"}});
  bench.store_state(message, sleep_of(bench, 5s));
  bench.pass(4999ms);
  bench.leave(message);
  EXPECT_TRUE(bench.complained());
}

TEST_F(RetryCheckerTest, LetsAnOperatorHurry) {  // req: engine.sim.9
  prepare({{"peer", "peer-0"}});
  bench.store_state(message, sleep_of(bench, 5s));
  bench.pass(1s);
  bench.ask(RetryNow{{}, message.id});
  bench.leave(message);
  EXPECT_FALSE(bench.complained()) << bench.text();
}

TEST_F(RetryCheckerTest, SeesARetryBehindTheLastAttempt) {  // req: engine.sim.9
  prepare({{"peer", "peer-0"}, {"attempts", "1"}});
  bench.store_state(message, sleep_of(bench, 5s));
  EXPECT_TRUE(bench.complained());
}

TEST_F(RetryCheckerTest, SeesARetryBehindTheBudget) {  // req: engine.sim.9
  prepare({{"peer", "peer-0"}, {"budget", "60000"}});
  State state = sleep_of(bench, 5s);
  state.first_attempt = bench.now - Duration(56s);
  bench.store_state(message, state);
  EXPECT_TRUE(bench.complained());
}

TEST_F(RetryCheckerTest, SeesMiscountedAttempts) {  // req: engine.sim.9
  prepare({{"peer", "peer-0"}});
  State state = sleep_of(bench, 5s);
  state.attempts = 0;
  bench.store_state(message, state);
  EXPECT_TRUE(bench.complained());
}

TEST_F(RetryCheckerTest, SeesAnAttemptThatNeverLeft) {  // req: engine.sim.9
  prepare({{"peer", "peer-0"}});
  State state = sleep_of(bench, 5s);
  state.attempts = 2;
  bench.store_state(message, state);
  EXPECT_FALSE(bench.complained()) << bench.text();
  bench.accept(bench.message(2));
  EXPECT_TRUE(bench.complained());
}

TEST_F(RetryCheckerTest, SeesAWishThatIsNotHonoured) {  // req: engine.sim.9
  prepare({{"peer", "peer-0"}});
  bench.outcome(bench.leave(message), 429, {{"retry-after", "600"}});
  bench.store_state(message, throttled(bench, 30s));  // the second step of the list
  EXPECT_TRUE(bench.complained());
}

// After the wish was followed, a receipt may say that it failed: then the list counts again.
TEST_F(RetryCheckerTest, AppliesAWishToOneSleepOnly) {  // req: engine.sim.9
  prepare({{"peer", "peer-0"}});
  bench.outcome(bench.leave(message), 429, {{"retry-after", "600"}});
  bench.store_state(message, throttled(bench, 600s));
  bench.pass(60s);
  bench.store_state(message, throttled(bench, 30s));
  EXPECT_FALSE(bench.complained()) << bench.text();
  bench.pass(30s);
  bench.store_state(message, throttled(bench, 600s));
  EXPECT_TRUE(bench.complained());
}

TEST_F(RetryCheckerTest, LetsAReceiptBeTheReasonOfASleep) {  // req: engine.sim.9
  prepare({{"peer", "peer-0"}});
  bench.outcome(bench.leave(message), 429, {{"retry-after", "600"}});
  bench.checker->receipt({bench.moment(), message.id, On::kFailed});
  bench.store_state(message, throttled(bench, 30s));
  EXPECT_FALSE(bench.complained()) << bench.text();
}

TEST_F(RetryCheckerTest, SeesSomethingGivenUpTooEarly) {  // req: engine.sim.9
  prepare({{"peer", "peer-0"}, {"budget", "3600000"}});
  State state = sleep_of(bench, 10s);
  state.failure = FailureClass::kTimeout;
  bench.store_state(message, state);
  bench.pass(20s);
  WriteBatch batch;
  EndRecord end = bench.end_of(message, Phase::kDead);
  end.cause = FailureClass::kTimeout;
  bench.put_end(batch, end);
  bench.commit(std::move(batch));
  EXPECT_TRUE(bench.complained());
}

TEST(BudgetChecker, LetsTheUsualCostPass) {  // req: engine.sim.14
  CheckerBench bench(make_budget_checker);
  const Message message = bench.accept(bench.message(1));
  bench.leave(message);
  bench.end(message, Phase::kDelivered);
  EXPECT_FALSE(bench.complained()) << bench.text();
}

TEST(BudgetChecker, SeesOneRecordTooMany) {  // req: engine.sim.14
  CheckerBench bench(make_budget_checker);
  const Message message = bench.accept(bench.message(1));
  bench.leave(message);
  bench.store_state(message, {});
  bench.end(message, Phase::kDelivered);
  EXPECT_TRUE(bench.complained());
}

TEST(BudgetChecker, SeesTwoPagesInOneCommit) {  // req: engine.sim.14
  CheckerBench bench(make_budget_checker);
  WriteBatch batch;
  batch.put(keys::log(1, Sequence(1)), encode_log({LogEntry{}}));
  batch.put(keys::log(1, Sequence(2)), encode_log({LogEntry{}}));
  bench.commit(std::move(batch));
  EXPECT_TRUE(bench.complained());
}

TEST(BudgetChecker, SeesALedgerEntryWithoutAKey) {  // req: engine.sim.14
  CheckerBench bench(make_budget_checker);
  WriteBatch batch;
  batch.put(keys::ledger(1, "tenant", "key"), encode_ledger({}));
  bench.commit(std::move(batch));
  EXPECT_TRUE(bench.complained());
}

TEST(BudgetChecker, SeesALargeStateRecord) {  // req: engine.sim.14
  CheckerBench bench(make_budget_checker);
  const Message message = bench.accept(bench.message(1));
  WriteBatch batch;
  batch.put(keys::hot(message.id.sequence(), keys::Part::kState),
            encode_state({}, std::string(400, 'x')));
  bench.commit(std::move(batch));
  EXPECT_TRUE(bench.complained());
}

class ExplainCheckerTest : public ::testing::Test {
 protected:
  void explain(Explanation::Next next, Timestamp at) {
    Query query;
    query.what = Query::What::kExplain;
    query.id = message.id;
    Explanation explanation;
    explanation.id = message.id;
    explanation.next = next;
    explanation.next_at = at;
    Answer answer;
    answer.view = explanation;
    bench.tell(bench.ask(query), answer);
  }
  CheckerBench bench{make_explain_checker};
  Message message = bench.accept(bench.message(1));
};

TEST_F(ExplainCheckerTest, SeesAnAttemptBeforeTheTimeThatWasTold) {  // req: engine.sim.15
  explain(Explanation::Next::kAttempt, bench.now + Duration(1h));
  bench.pass(1h);
  bench.leave(message);
  EXPECT_FALSE(bench.complained()) << bench.text();
  explain(Explanation::Next::kAttempt, bench.now + Duration(1h));
  bench.pass(59min);
  bench.leave(message);
  EXPECT_TRUE(bench.complained());
}

TEST_F(ExplainCheckerTest, SeesAnAttemptWhereOnlyAnOperatorWasToHelp) {  // req: engine.sim.15
  explain(Explanation::Next::kOperator, {});
  bench.pass(1h);
  bench.leave(message);
  EXPECT_TRUE(bench.complained());
}

TEST_F(ExplainCheckerTest, LetsAnOperatorChangeWhatComesNext) {  // req: engine.sim.15
  explain(Explanation::Next::kOperator, {});
  bench.ask(Resume{{}, "destination-0"});
  bench.pass(1h);
  bench.leave(message);
  EXPECT_FALSE(bench.complained()) << bench.text();
}

TEST_F(ExplainCheckerTest, SeesAnAttemptThatDoesNotCome) {  // req: engine.sim.15
  explain(Explanation::Next::kAttempt, bench.now + Duration(1h));
  for (int i = 0; i < 6; ++i) {
    bench.pass(20min);
    WriteBatch batch;
    batch.put(keys::ledger(1, "tenant", "key"), encode_ledger({}));
    bench.commit(std::move(batch));
  }
  EXPECT_TRUE(bench.complained());
}

}  // namespace
}  // namespace postrider::sim
