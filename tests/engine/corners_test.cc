// Corners of the engine where two rules meet: gates and windows, revival and the instant in which
// it is due, what is forgotten of destinations that have nothing to do.
#include <algorithm>

#include "tests/support/task_rig.h"

namespace postrider {
namespace {

class Corners : public TaskRig {
 protected:
  MessageId send(NamedTexts attributes, const std::string& name = "mill") {
    post(message(++questions, std::move(attributes), name));
    return id_of(questions);
  }
  MessageId send() { return send({{"method", "post"}}); }
  void make(const std::string& name, NamedTexts settings) {
    post(place(++questions, name, std::move(settings)));
    ASSERT_EQ(code_of(questions), AnswerCode::kDone);
  }
  std::vector<MessageId> sent() const {
    std::vector<MessageId> out;
    for (const StartAttempt& start : starts()) out.push_back(start.message);
    return out;
  }
};

// Who holds a gate to its end sleeps on disk, everybody in memory waits for it, and no more fit in.
// req: engine.queue.3
TEST_F(Corners, WhoHoldsAGateToItsEndComesPastThoseThatWaitForIt) {
  options.engine.limits.lane_waiters_max = 0;
  open();
  for (const std::string kind : {"order", "line"}) {
    make(kind, {{"window", "2"}, {"base", "100000"}});
    std::vector<MessageId> all;
    all.push_back(send({{"method", "once"}, {kind, "1"}}, kind));
    post(answer(last_attempt(), 408));
    for (int i = 0; i < 3; ++i) all.push_back(send({{"method", "once"}, {kind, "1"}}, kind));
    const std::size_t before = starts().size();
    pass(100s);
    ASSERT_EQ(starts().size(), before + 1) << kind;
    for (std::size_t i = 0; i < all.size(); ++i) {
      EXPECT_EQ(sent().back(), all[i]) << kind;
      post(answer(last_attempt(), 200));
    }
    EXPECT_EQ(stats().counters.live(), 0U);
  }
}

// req: engine.queue.1
TEST_F(Corners, NoMoreWaitAtAGateInMemoryThanMay) {
  options.engine.limits.lane_waiters_max = 2;
  open();
  make("taker", {});
  make("mill", {{"window", "1"}});
  send({{"method", "post"}, {"narrow", "yes"}}, "taker");
  for (int i = 0; i < 10; ++i) send({{"method", "post"}, {"narrow", "yes"}});
  EXPECT_EQ(stats().in_window, 1U + 1U + 2U) << "the taker's, a window, and two who wait";
  for (int i = 0; i < 11; ++i) post(answer(last_attempt(), 200));
  EXPECT_EQ(stats().counters.delivered, 11U);
}

NamedTexts stranding() { return {{"attempts", "1"}, {"strand", "1"}, {"strikes", "1000"}}; }

// req: engine.revive.2
TEST_F(Corners, ASuccessRevivesWhoWasParkedInTheSameInstant) {
  open();
  make("mill", stranding());
  const MessageId lost = send();
  send();
  post(ended(attempt(0), WireEnd::kRefused));
  EXPECT_EQ(phase(lost), Phase::kParked);
  post(answer(attempt(1), 200));
  turn();
  EXPECT_EQ(sent().back(), lost);
  EXPECT_EQ(starts().size(), 3U);
}

// One that began when another was delivered, and not before, found nobody there.
// req: engine.revive.2, engine.revive.4
TEST_F(Corners, ADeliveryInTheInstantOfItsFirstAttemptIsNotOneAfterIt) {
  open();
  make("mill", stranding());
  send();
  post(answer(last_attempt(), 200));
  const MessageId lost = send();  // its first attempt begins now
  advance(1s);
  post(ended(last_attempt(), WireEnd::kRefused));
  send();
  post(answer(last_attempt(), 200));
  turn();
  EXPECT_EQ(sent().back(), lost) << "revived by the next success";
}

// req: engine.revive.4
TEST_F(Corners, OneThatRanOutWhileOthersWentIsNotRevivedByTheNextDelivery) {
  open();
  make("mill", stranding());
  const MessageId lost = send();
  advance(1ms);
  send();
  post(answer(last_attempt(), 200));
  post(ended(attempt(0), WireEnd::kRefused));
  send();
  post(answer(last_attempt(), 200));
  turn();
  EXPECT_NE(sent().back(), lost);
  EXPECT_EQ(phase(lost), Phase::kParked);
  pass(25h);
  EXPECT_EQ(sent().back(), lost) << "after a while the clock does";
}

// req: engine.revive.3
TEST_F(Corners, AClockTriesOneWhileASuccessIsOlderThanWhoWasLost) {
  open();
  make("mill", stranding());
  send();
  post(answer(last_attempt(), 200));
  std::vector<MessageId> lost;
  advance(1s);
  for (int i = 0; i < 3; ++i) {
    lost.push_back(send());
    post(ended(last_attempt(), WireEnd::kRefused));
  }
  const std::size_t before = starts().size();
  const Timestamp due = explained(lost[0]).next_at;
  pass(due - instant().wall);
  turn();
  ASSERT_EQ(starts().size(), before + 1) << "the oldest, and nobody else";
  EXPECT_EQ(sent().back(), lost[0]);
  post(answer(last_attempt(), 200));
  turn();
  EXPECT_EQ(starts().size(), before + 3) << "it is there";
}

// While a walk reads, another is parked and the route hears of another success: nobody would come
// to it before the next one.
class Walks : public Corners {
 protected:
  void hears_twice() {
    open();
    make("mill", stranding());
    for (int i = 0; i < 4; ++i) send();
    post(ended(attempt(0), WireEnd::kRefused));
    store.holds_reads = true;
    post(answer(attempt(1), 200));
    ASSERT_GT(store.reads_held(), 0U) << "a walk is under way";
    elapsed += 1ms;
    post(ended(attempt(2), WireEnd::kRefused));
    post(answer(attempt(3), 200));
    store.holds_reads = false;
    while (store.reads_held() > 0) release_read();
    turn();
    ASSERT_EQ(starts().size(), 6U);
    EXPECT_EQ(sent()[4], sent()[0]);
    EXPECT_EQ(sent()[5], sent()[2]);
  }
};

// req: engine.revive.2
TEST_F(Walks, ASuccessDuringOneIsFollowedByAnother) { hears_twice(); }

// req: engine.revive.2
TEST_F(Walks, KeepTheirDestinationInMemory) {
  options.engine.limits.residents_max = 0;
  hears_twice();
}

// Whoever is being drained is looked at when it leaves memory; to look must not bring it back, or
// it would leave again, for ever. req: engine.configure.8
TEST_F(Corners, OneThatIsDrainedAndLeavesMemoryIsLeftInPeaceUntilItsLastMessageEnds) {
  options.engine.limits.residents_max = 0;
  open();
  make("mill", {{"fifo", "1"}});
  Submit later = message(++questions, {{"method", "post"}});
  later.not_before = instant().wall + 2h;
  post(later);
  Configure gone = place(++questions, "mill");
  gone.config.removed = gone.config.draining = true;
  post(gone);
  ASSERT_EQ(code_of(questions), AnswerCode::kPending);
  turn();
  EXPECT_EQ(stats().residents, 0U);
  const std::uint64_t reads = store.reads();
  for (int i = 0; i < 10; ++i) turn();
  EXPECT_EQ(store.reads(), reads);
  pass(2h);
  ASSERT_EQ(starts().size(), 1U);
  post(answer(last_attempt(), 200));
  turn();
  EXPECT_EQ(records_in(keys::kOwed), 0U) << "it went with its last message";
}

// The ring stands still while all places are taken; the last message ends all the same.
// req: engine.configure.8
TEST_F(Corners, OneThatIsDrainedGoesThoughAllPlacesAreTaken) {
  options.engine.limits.open_attempts_max = 1;
  open();
  make("busy", {{"attempt", "1000000000"}});
  make("mill", {});
  send({{"method", "post"}}, "busy");
  Submit last = message(++questions, {{"method", "post"}});
  last.expires = instant().wall + 1min;
  post(last);
  Configure gone = place(++questions, "mill");
  gone.config.removed = gone.config.draining = true;
  post(gone);
  ASSERT_EQ(code_of(questions), AnswerCode::kPending);
  ASSERT_EQ(starts().size(), 1U) << "the other one has the only place";
  pass(1min);
  turn();
  EXPECT_EQ(records_in(keys::kOwed), 0U) << "it went with its last message";
}

// Nobody can read it any more, but those that waited for it need not wait for ever.
// req: engine.quarantine.2
TEST_F(Corners, WhoCannotBeReadGivesItsGatesBackAndNobodyElses) {
  open();
  make("mill", {{"base", "100000"}});
  std::vector<MessageId> holders;
  std::vector<MessageId> waiters;
  for (const std::string order : {"1", "2", "3"}) {
    holders.push_back(send({{"method", "once"}, {"order", order}}));
    post(answer(last_attempt(), 408));
    waiters.push_back(send({{"method", "once"}, {"order", order}}));
  }
  ASSERT_EQ(sent(), holders);
  ASSERT_TRUE(store.memory().damage(keys::cold(holders[1], keys::Part::kMessage)));
  pass(101s);
  std::vector<MessageId> seen = sent();
  std::sort(seen.begin() + 3, seen.end());
  EXPECT_EQ(std::vector<MessageId>(seen.begin() + 3, seen.end()),
            (std::vector<MessageId>{holders[0], waiters[1], holders[2]}));
}

// req: engine.queue.9
TEST_F(Corners, WhoEndsInItsSleepIsNotWoken) {
  open();
  make("mill", {{"fifo", "1"}, {"base", "5000"}});
  const MessageId head = send();
  post(answer(last_attempt(), 408));
  Cancel cancel;
  cancel.caller.ticket = Ticket(++questions);
  cancel.id = head;
  post(cancel);
  ASSERT_EQ(stats().counters.live(), 0U);
  pass(10s);
  EXPECT_EQ(stats().tallies.stray_timers, 0U);
}

// req: engine.queue.9
TEST_F(Corners, AHeadThatSleepsForLongStaysOnDisk) {
  options.engine.limits.hot_sleep_max = 60s;
  for (const Duration left : {60'000ms, 60'001ms}) {
    open();
    const std::string name = "mill" + std::to_string(left.count());
    make(name, {{"fifo", "1"}, {"base", "100000"}});
    const MessageId head = send({{"method", "post"}}, name);
    post(answer(last_attempt(), 408));
    EXPECT_EQ(stats().in_window, 0U);
    advance(100s - left);
    restart();
    EXPECT_EQ(stats().in_window, left > 60s ? 0U : 1U);
    pass(left - 1ms);
    EXPECT_TRUE(starts().empty());
    pass(1ms);
    ASSERT_EQ(sent(), std::vector<MessageId>{head});
    post(answer(last_attempt(), 200));
  }
}

// req: engine.queue.9
TEST_F(Corners, ADestinationWhoseHeadSleepsOnDiskNeedNotBeInMemory) {
  options.engine.limits.residents_max = 1;
  open();
  for (const std::string name : {"a", "b", "c"}) {
    make(name, {{"fifo", "1"}, {"base", "100000"}});
    send({{"method", "post"}}, name);
    send({{"method", "post"}}, name);
    post(answer(last_attempt(), 408));
  }
  EXPECT_EQ(stats().residents, 1U);
  pass(100s);
  EXPECT_EQ(starts().size(), 6U) << "they come back when it is time";
}

// req: engine.queue.9
TEST_F(Corners, WhoIsForgottenIsNotLookedAtAnyMore) {
  options.engine.limits.residents_max = 1;
  open();
  make("mill", {{"spacing", "600000"}});
  send();
  post(answer(last_attempt(), 200));
  const MessageId second = send();  // waits for the spacing
  Cancel cancel;
  cancel.caller.ticket = Ticket(++questions);
  cancel.id = second;
  post(cancel);
  make("mill", {});
  for (const char* name : {"a", "b"}) make(name, {});
  EXPECT_EQ(stats().residents, 1U);
  pass(20min);
  EXPECT_EQ(stats().tallies.stray_timers, 0U);
}

// A bucket that is closed counts what came into it, not what is left.
TEST_F(Corners, NewsIsForgottenInTimeAlsoWhenAllOfABucketHasFoundItsName) {
  options.engine.pending_news.count = 1;
  open_with_task();
  post(news(++questions, "done t1"));
  accept_task("t1");
  turn();
  ASSERT_EQ(records_in(keys::kPendingNews), 0U);
  restart();
  post(news(++questions, "done t9"));
  ASSERT_EQ(records_in(keys::kPendingNews), 1U);
  pass(3h);
  EXPECT_EQ(records_in(keys::kPendingNews), 0U);
}

}  // namespace
}  // namespace postrider
