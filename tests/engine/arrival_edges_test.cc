// News at its edges: about one message twice, about who holds a gate, and about who holds it no
// more.
#include <string>
#include <utility>

#include "tests/support/spec_rig.h"

namespace postrider {
namespace {

class ArrivalEdges : public SpecRig {
 protected:
  // Holds the gate of its order until its end, and sleeps on disk.
  MessageId sleeping_holder() {
    const MessageId out = sent({{"method", "task"}, {"order", "1"}});
    post(answer(last_attempt(), 408));
    EXPECT_EQ(phase(out), Phase::kBackoff);
    EXPECT_EQ(stats().in_window, 0U);
    return out;
  }
};

// The second time is refused, and no news waits for a name. req: engine.receipt.2, engine.profile.2
TEST_F(ArrivalEdges, NewsThatSaysItTwiceLeavesNothing) {
  spec_.news.receive = [](const Inbound& inbound) {
    Received out = sim::drill_profile().news.receive(inbound);
    const Subject first = out.subjects.at(0);
    out.subjects.push_back(first);
    return out;
  };
  open_mill();
  id = sent({{"method", "task"}});
  accept_task();
  post(news(next(), "done t1"));
  EXPECT_EQ(phase(id), Phase::kDelivered);
  EXPECT_EQ(stats().tallies.refused_readings, 1U);
  EXPECT_EQ(records_in(keys::kPendingNews), 0U);
}

// req: engine.receipt.2, engine.restore.1
TEST_F(ArrivalEdges, ARestartKnowsWhoHoldsAGateFromTheDisk) {
  open_mill({{"base", "100000"}, {"strikes", "1000"}});
  id = sleeping_holder();
  restart();
  EXPECT_EQ(shown(id).notes, "");
  post(news(next(), "nudge 1"));
  EXPECT_NE(shown(id).notes, "");
}

// Whoever cannot be read is not known to have ended. req: engine.receipt.2
TEST_F(ArrivalEdges, NewsOfAHolderThatCannotBeReadIsNotLate) {
  open_mill({{"base", "100000"}, {"strikes", "1000"}});
  id = sleeping_holder();
  ASSERT_TRUE(store.memory().damage(keys::cold(id, keys::Part::kMessage)));
  post(news(next(), "nudge 1"));
  EXPECT_EQ(code_of(questions), AnswerCode::kDone);
  EXPECT_EQ(stats().counters.quarantined, 1U);
  EXPECT_TRUE(log(LogEntry::Kind::kLate).empty());
}

}  // namespace
}  // namespace postrider
