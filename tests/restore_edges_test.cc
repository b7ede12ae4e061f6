// What a restart meets that it cannot read, and who hears of a released hold at once.
#include <memory>
#include <string>
#include <utility>

#include "tests/support/spec_rig.h"

namespace postrider {
namespace {

class RestoreEdges : public SpecRig {
 protected:
  // A record that a process before this one has left.
  void leave(std::string key, const std::string& value) {
    shard.reset();
    const Epoch epoch = store.memory().acquire(0).value();
    auto batch = std::make_shared<WriteBatch>();
    batch->put(std::move(key), value);
    store.memory().commit(epoch, batch, [](CommitOutcome) {});
    restart();
  }
};

// req: engine.quarantine.1, engine.census.1
TEST_F(RestoreEdges, ACountOfNobodyInMemoryThatCannotBeReadIsSaid) {
  open_mill();
  ASSERT_TRUE(stats().all_counted);
  leave(keys::census(DestinationId(77)), "no count");
  EXPECT_FALSE(stats().all_counted);
  EXPECT_EQ(stats().counters.quarantined, 1U);
  EXPECT_EQ(records_in(keys::kCensus), 0U);
  EXPECT_EQ(records_in(keys::kQuarantine), 1U);
}

// req: engine.quarantine.1
TEST_F(RestoreEdges, WhatIsDueThatCannotBeReadKeepsNothingFromItsTime) {
  open_mill({{"base", "100000"}, {"strikes", "1000"}});
  id = sent({{"method", "post"}});
  post(answer(last_attempt(), 408));
  std::string cut = keys::due(Timestamp(1), keys::DueKind::kAttempt, id);
  cut.pop_back();
  leave(cut, "");
  EXPECT_EQ(stats().counters.quarantined, 1U);
  EXPECT_EQ(records_in(keys::kQuarantine), 1U);
  pass(100s);
  EXPECT_EQ(starts().size(), 1U);
}

// req: engine.quarantine.1, engine.census.1
TEST_F(RestoreEdges, AMessageWhoseDestinationCannotBeReadStaysWhereItIs) {
  open_mill();
  id = sent({{"method", "post"}});
  ASSERT_EQ(records_in(keys::kHot), 1U);
  shard.reset();
  ASSERT_TRUE(store.memory().damage(keys::config(id.destination())));
  restart();
  EXPECT_TRUE(starts().empty());
  EXPECT_EQ(records_in(keys::kHot), 1U);
  EXPECT_FALSE(stats().all_counted) << "it is not told in which state it is";
}

// Whoever is in memory does not wait for the disk. req: engine.hold.1
TEST_F(RestoreEdges, AReleasedHoldLetsGoWhoIsInMemoryAtOnce) {
  open_mill();
  PutHold put;
  put.caller.ticket = Ticket(next());
  put.rule.name = "night";
  post(put);
  ASSERT_EQ(code_of(questions), AnswerCode::kDone);
  EXPECT_EQ(mill().route.health, Health::kPaused);
  store.holds_reads = true;
  DropHold drop;
  drop.caller.ticket = Ticket(next());
  drop.name = "night";
  post(drop);
  EXPECT_EQ(mill().route.health, Health::kNormal);
  store.holds_reads = false;
  while (store.reads_held() > 0) release_read();
}

}  // namespace
}  // namespace postrider
