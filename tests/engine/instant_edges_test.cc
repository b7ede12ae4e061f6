// What happens in one instant, and what is not written because nobody needs it.
#include <numeric>
#include <set>
#include <string>

#include "postrider/model/id_address.h"
#include "tests/support/bulk_rig.h"
#include "tests/support/spec_rig.h"

namespace postrider {
namespace {

using InstantEdges = SpecRig;

// A restart finds hot messages by their own space. req: engine.restore.1
TEST_F(InstantEdges, AHotMessageIsNotOwed) {
  open_mill();
  id = sent({{"method", "relay"}});
  EXPECT_EQ(records_in(keys::kOwed), 0U);
  post(answer(last_attempt(), 202));
  EXPECT_EQ(explained(id).state, "held");
  EXPECT_EQ(records_in(keys::kHot), 2U);
  EXPECT_EQ(records_in(keys::kOwed), 0U);
  receipt(id, On::kProgressed);
  EXPECT_EQ(records_in(keys::kOwed), 0U);
}

// The attempt was open when it expired, and fails in the same instant. req: engine.expiry.1
TEST_F(InstantEdges, WhoFailsInTheInstantOfItsExpiryHasExpired) {
  open_mill({{"strikes", "1000"}, {"base", "1000"}});
  Submit event = message(next(), {{"method", "post"}});
  event.expires = instant().wall + 10s;
  post(event);
  id = id_of(questions);
  advance(10s);
  EXPECT_EQ(phase(id), Phase::kInFlight);
  post(answer(last_attempt(), 408));
  EXPECT_EQ(phase(id), Phase::kExpired);
}

// req: engine.total.3
TEST_F(InstantEdges, AFirstQuestionIsAskedInTheInstantOfTheTimeOut) {
  open_with_task({{"strikes", "1000"}});
  ASSERT_TRUE(shard->engine().next_deadline().has_value());
  advance(30s);
  EXPECT_EQ(count("PROBE"), 1U);
  EXPECT_EQ(acted_at.back(), elapsed);
  EXPECT_EQ(explained(id).state, "asking");
}

// However a list is cut into pages, each message is told with its state. req: engine.explain.3
TEST_F(InstantEdges, NoPageOfAListCutsAMessageFromItsState) {
  open_mill({{"strikes", "1000"}, {"base", "7200000"}});
  constexpr std::size_t kMessages = 5;
  for (std::size_t i = 0; i < kMessages; ++i) {
    sent({{"method", "post"}});
    post(answer(last_attempt(), 408));
  }
  for (std::uint32_t limit = 1; limit <= kMessages + 1; ++limit) {
    std::set<std::string> met;
    std::string cursor;
    for (int pages = 0; pages < 20; ++pages) {
      Query event = ask(next(), Query::What::kMessages);
      event.limit = limit;
      event.cursor = cursor;
      post(event);
      turn();
      const auto page = view_of<MessagePage>(questions);
      for (const Explanation& one : page.messages) {
        EXPECT_EQ(one.phase, Phase::kBackoff) << limit;
        EXPECT_TRUE(met.insert(to_string(one.id)).second) << limit;
      }
      cursor = page.next;
      if (cursor.empty()) break;
    }
    EXPECT_EQ(met.size(), kMessages) << limit;
  }
}

// Nobody who looks in between is told of timers that are still to come. req: engine.timer.2
TEST_F(InstantEdges, OnlyATimerThatIsDueIsLate) {
  open_mill();
  sent({{"method", "post"}});
  const auto late = [this] {
    const auto counts = stats().tallies.timers_late.counts;
    return std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
  };
  const std::uint64_t before = late();
  advance(1s);
  advance(1s);
  EXPECT_EQ(late(), before);
  advance(28s);
  EXPECT_EQ(late(), before + 1);
}

// The wheel stands still while nothing is due, and knows a timer that is armed afterwards by the
// start of a coarse slot, which has passed already. req: engine.timer.1
TEST_F(InstantEdges, ATimerThatIsArmedAfterAnIdleTimeIsNotLate) {
  open_mill({{"base", "1000"}, {"strikes", "1000"}});
  for (int second = 0; second < 140; ++second) {
    id = sent({{"method", "post"}});
    post(answer(last_attempt(), 200));
    pass(1s);
  }
  EXPECT_EQ(stats().tallies.timers_late.sum_ms, 0U);
}

class JobInstants : public Bulk {};

// req: engine.job.3
TEST_F(JobInstants, WhatIsToBeCancelledAnywayIsNotCancelledAgain) {
  open_with({"shop"});
  post(submit(next(), "shop"));
  const MessageId pending = id_of(ticket_);
  Cancel cancel;
  cancel.caller.ticket = Ticket(next());
  cancel.id = pending;
  post(cancel);
  ASSERT_EQ(code_of(ticket_), AnswerCode::kPending);
  const JobId id = start(order(JobAction::kCancel));
  for (int i = 0; i < 20 && job(id).state == JobState::kRunning; ++i) advance(100ms);
  EXPECT_EQ(job(id).looked, 1U);
  EXPECT_EQ(job(id).done, 0U);
}

}  // namespace
}  // namespace postrider
