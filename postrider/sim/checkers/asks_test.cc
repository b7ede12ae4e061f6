// The checkers of lists, of what is shown, of keys that are asked about and of draining must bite.
#include <gtest/gtest.h>

#include "postrider/sim/checkers/bench_testing.h"

namespace postrider::sim {
namespace {

Query question(Query::What what, std::string cursor = {}) {
  Query query;
  query.what = what;
  query.cursor = std::move(cursor);
  return query;
}

Explanation live(const Message& message) {
  Explanation seen;
  seen.id = message.id;
  seen.destination = "destination-0";
  seen.accepted = message.accepted;
  return seen;
}

Answer page_of(std::vector<Explanation> messages, std::string next = {}) {
  Answer answer;
  answer.view = MessagePage{std::move(messages), std::move(next)};
  return answer;
}

class ListingTest : public ::testing::Test {
 protected:
  ListingTest() : bench(make_listing_checker) {
    first = bench.accept(bench.message(1));
    second = bench.accept(bench.message(2));
  }
  void page(std::string cursor, const Answer& answer) {
    bench.tell(bench.ask(question(Query::What::kMessages, std::move(cursor))), answer);
  }

  CheckerBench bench;
  Message first;
  Message second;
};

TEST_F(ListingTest, LetsAWholeListPass) {  // req: engine.sim.26
  page("", page_of({live(first)}, "next"));
  page("next", page_of({live(second)}));
  EXPECT_FALSE(bench.complained()) << bench.text();
}

TEST_F(ListingTest, SeesWhatIsMissing) {  // req: engine.sim.26
  page("", page_of({live(first)}));
  EXPECT_TRUE(bench.complained());
}

TEST_F(ListingTest, SeesWhatIsListedTwice) {  // req: engine.sim.26
  page("", page_of({live(first)}, "next"));
  page("next", page_of({live(first), live(second)}));
  EXPECT_TRUE(bench.complained());
}

TEST_F(ListingTest, SeesOneThatHadEnded) {  // req: engine.sim.26
  bench.end(first, Phase::kDelivered);
  page("", page_of({live(first), live(second)}));
  EXPECT_TRUE(bench.complained());
}

TEST_F(ListingTest, AllowsWhatCameAndWentMeanwhile) {  // req: engine.sim.26
  page("", page_of({live(first)}, "next"));
  bench.end(second, Phase::kDelivered);
  bench.accept(bench.message(3));
  page("next", page_of({}));
  EXPECT_FALSE(bench.complained()) << bench.text();
}

TEST_F(ListingTest, SeesAnotherBodyThanWasSubmitted) {  // req: engine.sim.26
  for (const std::string body : {"right", "wrong"}) {
    Answer accepted;
    accepted.code = AnswerCode::kAccepted;
    accepted.id = first.id;
    Submit submit;
    submit.body = "right";
    bench.tell(bench.ask(submit), accepted);
    Query query = question(Query::What::kMessage);
    query.id = first.id;
    Answer shown;
    MessageView view;
    view.explanation = live(first);
    view.body = body;
    view.has_body = true;
    shown.view = view;
    bench.tell(bench.ask(query), shown);
    EXPECT_EQ(bench.complained(), body == "wrong") << bench.text();
  }
}

TEST_F(ListingTest, SeesADestinationThatIsMissingOrOtherwise) {  // req: engine.sim.26
  for (const bool right : {true, false}) {
    Answer answer;
    DestinationView view;
    view.id = bench.destination;
    view.config = {"destination-0", "drill", {{"peer", right ? "peer-0" : "peer-1"}}, false};
    answer.view = DestinationPage{{view}, {}};
    bench.tell(bench.ask(question(Query::What::kDestinations)), answer);
    EXPECT_EQ(bench.complained(), !right) << bench.text();
  }
  CheckerBench empty(make_listing_checker);
  Answer nothing;
  nothing.view = DestinationPage{};
  empty.tell(empty.ask(question(Query::What::kDestinations)), nothing);
  EXPECT_TRUE(empty.complained());
}

TEST(KeysChecker, SeesAQuestionAboutAKeyThatIsAnsweredOtherwise) {  // req: engine.sim.5
  for (const bool right : {true, false}) {
    CheckerBench bench(make_keys_checker);
    Submit submit;
    submit.caller.key = {OperationKey::Kind::kOpaque, "tenant", "key", {}, 0};
    Answer answer;
    answer.code = AnswerCode::kAccepted;
    answer.id = bench.message(1).id;
    bench.tell(bench.ask(submit), answer);
    Query query = question(Query::What::kOperation);
    query.key = submit.caller.key;
    answer.replayed = true;
    if (!right) answer.id = bench.message(2).id;
    bench.tell(bench.ask(query), answer);
    EXPECT_EQ(bench.complained(), !right) << bench.text();
  }
}

class DrainTest : public ::testing::Test {
 protected:
  DrainTest() : bench(make_drain_checker) {}
  void configure(bool removed, bool draining) {
    WriteBatch batch;
    DestinationConfig config{"destination-0", "drill", {{"peer", "peer-0"}}, removed};
    config.draining = draining;
    batch.put(keys::config(bench.destination), encode_config(config));
    bench.commit(std::move(batch));
  }

  CheckerBench bench;
};

TEST_F(DrainTest, LetsItGoWithItsLastMessage) {  // req: engine.sim.27
  const Message message = bench.accept(bench.message(1));
  configure(false, true);
  bench.pass(5h);
  bench.end(message, Phase::kDelivered);
  configure(true, false);
  EXPECT_FALSE(bench.complained()) << bench.text();
}

TEST_F(DrainTest, SeesAMessageThatEnters) {  // req: engine.sim.27
  bench.accept(bench.message(1));
  configure(false, true);
  bench.accept(bench.message(2));
  EXPECT_TRUE(bench.complained());
}

TEST_F(DrainTest, SeesADestinationThatGoesWithMessages) {  // req: engine.sim.27
  bench.accept(bench.message(1));
  configure(false, true);
  configure(true, false);
  EXPECT_TRUE(bench.complained());
}

TEST_F(DrainTest, SeesOneThatIsEmptyAndStays) {  // req: engine.sim.27
  const Message message = bench.accept(bench.message(1));
  configure(false, true);
  bench.end(message, Phase::kDelivered);
  bench.pass(2h);
  bench.commit({});
  EXPECT_TRUE(bench.complained());
}

}  // namespace
}  // namespace postrider::sim
