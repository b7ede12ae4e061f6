// What a far side with names of its own asks of the engine: attempts that are written down first,
// notes, news by name in any order, questions by schedule. Told with the drill's tasks.
#include "tests/support/task_rig.h"

namespace postrider {
namespace {

using Intents = TaskRig;
using Notes = TaskRig;
using News = TaskRig;
using Pairs = TaskRig;
using Ingress = TaskRig;
using Questions = TaskRig;

TEST_F(Intents, AreRecordedWithTheirHashBeforeTheWire) {  // req: engine.intent.1
  open();
  post(place(1, "mill"));
  store.holds_commits = true;
  post(task(2));
  EXPECT_TRUE(starts().empty());
  const WriteBatch& batch = store.held_batch();
  std::optional<StoredState> recorded;
  for (const Write& write : batch.writes()) {
    if (write.key[0] == keys::kHot && write.key.back() == 1) {
      auto state = decode_state(write.value.view());
      ASSERT_TRUE(state.has_value());
      recorded = *state;
    }
  }
  ASSERT_TRUE(recorded.has_value());
  EXPECT_EQ(recorded->state.attempts, 1);
  EXPECT_EQ(recorded->state.due, kStart + Duration(30s));
  EXPECT_EQ(recorded->intent.at, kStart);
  EXPECT_EQ(recorded->intent.wall, kStart);
  EXPECT_NE(recorded->intent.hash, 0U);
  EXPECT_TRUE(recorded->intent.open);
  release_commit();
  EXPECT_EQ(starts().size(), 1U);
}

TEST_F(Intents, AreUnknownAfterACrashAndAskedAboutFirst) {  // req: engine.intent.2, engine.probe.1
  open_with_task();
  elapsed += Duration(5s);
  restart();
  ASSERT_EQ(starts().size(), 1U);
  EXPECT_EQ(starts()[0].request.verb, "PROBE");
  EXPECT_EQ(stored(id)->state.certainty, Certainty::kUnknown);
  EXPECT_EQ(stored(id)->state.failure, FailureClass::kTimeout);
  EXPECT_EQ(stored(id)->state.attempts, 1);
}

TEST_F(Intents, AreTheSameBytesWhenSentAgain) {  // req: engine.intent.2
  open_with_task();
  const std::string first = text_of(starts()[0]);
  elapsed += Duration(5s);
  restart();
  post(answer(last_attempt(), 404));  // nobody knows it yet; it may still arrive
  pass(10s);
  ASSERT_EQ(count("SEND"), 1U);
  EXPECT_EQ(text_of(starts().back()), first);
  EXPECT_EQ(stored(id)->state.attempts, 2);
  EXPECT_EQ(stored(id)->intent.at, kStart);
  EXPECT_EQ(stats().tallies.altered_resends, 0U);
}

TEST_F(Intents, AreMadeAnewWhenTheFormerCannotArrive) {
  open_with_task();
  const std::string first = text_of(starts()[0]);
  post(ended(last_attempt(), WireEnd::kRefused));
  pass(10s);
  ASSERT_EQ(count("SEND"), 2U);
  EXPECT_NE(text_of(starts().back()), first);
  EXPECT_GT(stored(id)->intent.at, kStart);
  EXPECT_EQ(stored(id)->intent.at, stored(id)->state.since);
}

TEST_F(Intents, ThatChangedAreCountedAndTold) {  // req: engine.intent.2
  open_with_task();
  pass(30s);
  post(answer(last_attempt(), 404));
  Configure moved = place(3, "mill");
  moved.config.settings.front().second = "peer-2";
  post(moved);
  pass(10s);
  ASSERT_EQ(count("SEND"), 2U);
  EXPECT_EQ(stats().tallies.altered_resends, 1U);
  const auto told = log(LogEntry::Kind::kAltered);
  ASSERT_EQ(told.size(), 1U);
  EXPECT_EQ(told[0].id, id);
}

TEST_F(Notes, SurviveACrashAndAreThereForTheQuestion) {  // req: engine.note.1
  open_with_task();
  accept_task("t17");
  EXPECT_EQ(shown(id).notes, "task=t17");
  restart();
  EXPECT_EQ(shown(id).notes, "task=t17");
  pass(10s);
  ASSERT_EQ(count("PROBE"), 1U);
  EXPECT_EQ(starts().back().request.headers.find("drill-task"), "t17");
  post(answer(last_attempt(), 200));
  EXPECT_EQ(phase(id), Phase::kDelivered);
  EXPECT_EQ(shown(id).notes, "task=t17");
}

TEST_F(Notes, HoldUpToTheirLimitAndNoMore) {  // req: engine.note.1
  const std::string fits(kNotesMax - 5, 'x');
  for (const std::size_t more : {0U, 1U}) {
    open_with_task();
    accept_task(fits + std::string(more, 'x'));
    EXPECT_EQ(shown(id).notes.size(), more == 0 ? kNotesMax : 0U);
    // A name of that length is refused in either case.
    EXPECT_EQ(stats().tallies.refused_readings, 1U + more);
    EXPECT_EQ(phase(id), Phase::kAwaiting);
    post(answer(last_attempt(), 200));
  }
}

TEST_F(News, IsMatchedByName) {  // req: engine.receipt.1
  open_with_task();
  accept_task();
  post(news(3, "done t1"));
  EXPECT_EQ(code_of(3), AnswerCode::kDone);
  EXPECT_EQ(phase(id), Phase::kDelivered);
}

TEST_F(News, ThatCameBeforeItsNameIsAppliedWhenTheNameIsGiven) {  // req: engine.receipt.1
  open_with_task();
  post(news(3, "done t1"));
  EXPECT_EQ(phase(id), Phase::kInFlight);
  EXPECT_EQ(records_in(keys::kPendingNews), 1U);
  accept_task();
  EXPECT_EQ(phase(id), Phase::kDelivered);
  EXPECT_EQ(records_in(keys::kPendingNews), 0U);
}

TEST_F(News, ThatCameBeforeItsNameIsAppliedAfterACrash) {  // req: engine.receipt.1
  open_with_task();
  post(news(3, "done t1"));
  restart();
  accept_task();  // by the question
  EXPECT_EQ(phase(id), Phase::kDelivered);
}

TEST_F(News, IsAppliedWhenTheProcessDiedBetweenNameAndClaim) {  // req: engine.receipt.1
  open_with_task();
  post(news(3, "done t1"));
  store.holds_reads = true;  // the claim must read first
  accept_task();
  ASSERT_GT(store.reads_held(), 0U);
  shard.reset();
  store.holds_reads = false;
  while (store.reads_held() > 0) store.release_read();
  restart();
  EXPECT_EQ(phase(id), Phase::kDelivered);
}

TEST_F(News, IsMatchedInBackoffAndForOlderAttempts) {  // req: engine.receipt.1
  open_with_task();
  accept_task("t1");
  post(news(3, "lost t1"));
  EXPECT_EQ(phase(id), Phase::kBackoff);
  pass(10s);
  accept_task("t2");
  ASSERT_EQ(stored(id)->state.attempts, 2);
  post(news(4, "done t1"));
  EXPECT_EQ(phase(id), Phase::kDelivered);
}

TEST_F(News, ForAMessageThatSleepsOnDiskFindsIt) {  // req: engine.receipt.1
  options.engine.limits.hot_sleep_max = Duration(0);
  open_with_task();
  accept_task("t1");
  post(news(3, "lost t1"));
  EXPECT_EQ(records_in(keys::kCold), 2U);
  post(news(4, "done t1"));
  EXPECT_EQ(phase(id), Phase::kDelivered);
}

TEST_F(News, AboutAnEndedMessageIsNotedAndChangesNothing) {  // req: engine.receipt.1
  open_with_task();
  accept_task();
  post(news(3, "done t1"));
  post(news(4, "lost t1"));
  EXPECT_EQ(phase(id), Phase::kDelivered);
  EXPECT_EQ(stats().tallies.late_receipts, 1U);
  const auto late = log(LogEntry::Kind::kLate);
  ASSERT_EQ(late.size(), 1U);
  EXPECT_EQ(late[0].id, id);
}

TEST_F(News, WaitsInBoundedNumberForOneName) {  // req: engine.limit.1
  options.engine.limits.news_per_name_max = 2;
  open_with_task();
  post(news(3, "lost t1"));
  post(news(4, "seen t1"));
  post(news(5, "seen t1"));
  accept_task();
  // The oldest gave way.
  EXPECT_EQ(phase(id), Phase::kInFlight);
  EXPECT_EQ(explained(id).state, "polling");
}

TEST_F(News, WaitsForSoManyNamesAndTheOldestGoFirst) {  // req: engine.limit.1, engine.receipt.2
  options.engine.pending_news.count = 8;
  open();
  post(place(1, "mill"));
  for (std::uint64_t i = 0; i < 40; ++i) {
    post(news(10 + i, "done n" + std::to_string(i)));
    EXPECT_LE(records_in(keys::kPendingNews), 8U);
  }
  EXPECT_GE(records_in(keys::kPendingNews), 4U);
  EXPECT_GT(stats().counters.removed_pending_news, 0U);
  post(task(3));
  post(named(last_attempt(), "n39"));
  EXPECT_EQ(phase(id_of(3)), Phase::kDelivered);
}

struct PairCase {
  const char* name;
  bool ack_first;
  std::int64_t apart_ms;
  bool paired;
};
class PairWindow : public TaskRig,
                   public ::testing::WithParamInterface<std::tuple<PairCase, bool>> {};

TEST_P(PairWindow, IsExactToTheMillisecond) {  // req: engine.receipt.2
  const auto& [pair, crash] = GetParam();
  open_with_task({{"poll", "3600000"}});
  accept_task();
  const auto bring = [&](std::uint64_t ticket, bool ack) {
    post(news(ticket, ack ? "ack t1 k" : "pair k"));
  };
  bring(3, pair.ack_first);
  elapsed += Duration(pair.apart_ms);
  if (crash) restart();
  bring(4, !pair.ack_first);
  EXPECT_EQ(phase(id) == Phase::kDelivered, pair.paired);
}

INSTANTIATE_TEST_SUITE_P(
    Halves, PairWindow,
    ::testing::Combine(::testing::Values(PairCase{"AckFirst", true, 0, true},
                                         PairCase{"AckFirstJustInside", true, 9'999, true},
                                         PairCase{"AckFirstJustOutside", true, 10'000, false},
                                         PairCase{"PairFirst", false, 0, true},
                                         PairCase{"PairFirstJustInside", false, 9'999, true},
                                         PairCase{"PairFirstJustOutside", false, 10'000, false}),
                       ::testing::Bool()),
    [](const auto& one) {
      return std::string(std::get<0>(one.param).name) +
             (std::get<1>(one.param) ? "OverARestart" : "");
    });

TEST_F(Ingress, IsDurableBeforeItIsAcknowledged) {  // req: engine.ingress.1
  open_with_task();
  store.holds_commits = true;
  post(news(3, "done t1"));
  EXPECT_FALSE(answered(3));
  release_commit();
  EXPECT_EQ(code_of(3), AnswerCode::kDone);
  EXPECT_EQ(records_in(keys::kArrival), 1U);
}

TEST_F(Ingress, OfADuplicateIsANoOp) {  // req: engine.ingress.1
  open_with_task();
  accept_task();
  post(news(3, "lost t1", opaque("n1")));
  pass(10s);
  accept_task("t2");
  for (const std::uint64_t ticket : {4U, 5U}) {
    if (ticket == 5) restart();
    post(news(ticket, "lost t1", opaque("n1")));
    EXPECT_EQ(code_of(ticket), AnswerCode::kDone);
    EXPECT_TRUE(told(ticket).replayed);
    EXPECT_EQ(phase(id), Phase::kAwaiting);
  }
  EXPECT_EQ(records_in(keys::kArrival), 1U);
}

TEST_F(Ingress, IsKeptAsItCameAndListed) {  // req: engine.ingress.1
  open_with_task();
  post(news(3, "noise"));
  post(news(4, "done t9"));
  restart();
  Query question = ask(5, Query::What::kArrivals);
  question.limit = 1;
  post(question);
  const auto first = view_of<ArrivalPage>(5);
  ASSERT_EQ(first.arrivals.size(), 1U);
  EXPECT_EQ(first.arrivals[0].bytes, "noise");
  EXPECT_EQ(first.arrivals[0].profile, "drill");
  EXPECT_EQ(first.arrivals[0].source.origin, "peer");
  EXPECT_EQ(first.arrivals[0].at, kStart);
  question.ticket = Ticket(6);
  question.cursor = first.next;
  post(question);
  ASSERT_EQ(view_of<ArrivalPage>(6).arrivals.size(), 1U);
  EXPECT_EQ(view_of<ArrivalPage>(6).arrivals[0].bytes, "done t9");
  question.ticket = Ticket(7);
  question.cursor = "Mx";
  post(question);
  EXPECT_EQ(code_of(7), AnswerCode::kInvalid);
  pass(31h);  // its age and a quarter
  EXPECT_EQ(records_in(keys::kArrival), 0U);
  EXPECT_EQ(stats().counters.removed_arrivals, 2U);
}

TEST_F(Ingress, RefusesWhatIsTooLargeOrForNobody) {  // req: engine.ingress.1, engine.limit.1
  options.engine.limits.arrival_bytes_max = 10;
  open_with_task();
  post(news(3, std::string(10, 'x')));
  EXPECT_EQ(code_of(3), AnswerCode::kDone);
  post(news(4, std::string(11, 'x')));
  EXPECT_EQ(code_of(4), AnswerCode::kTooLarge);
  Arrived other = news(5, "x");
  other.profile = "nothing";
  post(other);
  EXPECT_EQ(code_of(5), AnswerCode::kNotFound);
  EXPECT_EQ(records_in(keys::kArrival), 1U);
}

TEST_F(Questions, FollowTheLadderByAge) {  // req: engine.probe.2, engine.probe.1
  open_with_task();
  accept_task();
  std::vector<std::int64_t> asked;
  while (elapsed < Duration(125s)) {
    const std::size_t before = count("PROBE");
    pass(1s);
    if (count("PROBE") == before) continue;
    asked.push_back(std::chrono::duration_cast<std::chrono::seconds>(elapsed).count());
    post(answer(last_attempt(), 202));
  }
  EXPECT_EQ(asked, (std::vector<std::int64_t>{10, 20, 35, 50, 70, 90, 120}));
  EXPECT_EQ(count("SEND"), 1U);
  EXPECT_EQ(stored(id)->state.attempts, 1);
}

TEST_F(Questions, ThatFailBackOffAndNeverSend) {  // req: engine.probe.1, engine.probe.2
  open_with_task({{"poll-error", "30000"}});
  accept_task();
  pass(10s);
  std::vector<Duration> waits;
  for (int i = 0; i < 7; ++i) {
    const std::size_t before = count("PROBE");
    post(answer(last_attempt(), 500));
    const Duration from = elapsed;
    while (count("PROBE") == before) pass(1s);
    waits.push_back(elapsed - from);
  }
  EXPECT_EQ(waits, (std::vector<Duration>{30s, 60s, 120s, 240s, 480s, 900s, 900s}));
  EXPECT_EQ(count("SEND"), 1U);
  post(answer(last_attempt(), 202));
  EXPECT_EQ(stored(id)->state.probes_failed, 0);
}

TEST_F(Questions, AboutAnOpenFateBackOffToo) {  // req: engine.probe.1, engine.explain.1
  open_with_task();
  pass(30s);
  ASSERT_EQ(count("PROBE"), 1U);
  post(answer(last_attempt(), 500));
  const Explanation waits = explained(id);
  EXPECT_EQ(waits.next, Explanation::Next::kAttempt);
  EXPECT_EQ(waits.next_at, kStart + Duration(35s));
  pass(4s);
  EXPECT_EQ(count("PROBE"), 1U);
  pass(1s);
  EXPECT_EQ(count("PROBE"), 2U);
  EXPECT_EQ(count("SEND"), 1U);
}

TEST_F(Questions, AreAskedAtOnceWhenThePeerIsSeen) {  // req: engine.probe.2
  open_with_task();
  accept_task();
  post(news(3, "seen t1"));
  EXPECT_EQ(count("PROBE"), 1U);
}

TEST_F(Questions, ExtendTheStageUpToTheEndOfTheMessage) {  // req: engine.probe.3
  open();
  post(place(1, "mill", {{"stage", "60000"}, {"life", "570000"}}));
  post(message(2, {{"method", "relay"}}));
  post(answer(last_attempt(), 202));
  const MessageId held = id_of(2);
  for (int minute = 1; minute < 10; ++minute) {
    pass(60s);
    ASSERT_EQ(count("PROBE"), static_cast<std::size_t>(minute));
    post(answer(last_attempt(), 202));
    EXPECT_EQ(phase(held), Phase::kAwaiting);
  }
  EXPECT_EQ(count("SEND"), 1U);
  pass(30s);
  EXPECT_EQ(phase(held), Phase::kExpired);
}

TEST_F(Questions, EndWithTheLifeOfTheMessageAlsoAfterALongStop) {  // req: engine.probe.3
  open_with_task({{"life", "600000"}});
  accept_task();
  EXPECT_EQ(explained(id).expires, kStart + Duration(600s));
  elapsed += Duration(30 * 24h);
  restart();
  EXPECT_EQ(count("SEND"), 0U);
  post(answer(last_attempt(), 202));  // the question that was due first
  EXPECT_EQ(phase(id), Phase::kExpired);
  EXPECT_EQ(stats().counters.expired, 1U);
}

}  // namespace
}  // namespace postrider
