// Jobs at their edges: what a filter names to the millisecond, pages of every size, rounds, and
// what is refused.
#include <algorithm>
#include <map>
#include <memory>

#include "tests/support/bulk_rig.h"

namespace postrider {
namespace {

class JobEdges : public Bulk {
 protected:
  // How many a dry run finds.
  std::uint64_t matched(const StartJob& order) {
    StartJob dry = order;
    dry.caller.ticket = Ticket(next());
    dry.dry_run = true;
    post(dry);
    for (int i = 0; i < 50 && !answered(ticket_); ++i) advance(1ms);
    const DryRun run = view_of<DryRun>(ticket_);
    looked_ = run.looked;
    EXPECT_TRUE(run.complete);
    return run.matched;
  }
  bool is_refused(const StartJob& order) {
    StartJob dry = order;
    dry.caller.ticket = Ticket(next());
    dry.dry_run = true;
    post(dry);
    for (int i = 0; i < 5 && !answered(ticket_); ++i) advance(1ms);
    return code_of(ticket_) == AnswerCode::kInvalid;
  }
  Job finished(JobId id) {
    for (int i = 0; i < 200 && job(id).state == JobState::kRunning; ++i) advance(100ms);
    return job(id);
  }

  std::uint64_t looked_ = 0;
};

class JobPages : public JobEdges, public ::testing::WithParamInterface<std::uint32_t> {};

// req: engine.job.2
TEST_F(JobEdges, AFilterIsExactToTheMillisecond) {
  open_with({"shop", "shelf"});
  const Timestamp first = instant().wall;
  kill("shop", 3);  // at 0, 1 and 2 s
  kill("shelf", 1, 404);
  Submit late = submit(next(), "shop");
  late.expires = instant().wall + 1s;
  late.not_before = late.expires;
  post(late);
  advance(2s);
  StartJob drop = order(JobAction::kDrop);
  EXPECT_EQ(matched(drop), 5U);
  EXPECT_EQ(looked_, 0U) << "the groups know";
  drop.order.filter.since = first + 1s;
  EXPECT_EQ(matched(drop), 4U);
  EXPECT_EQ(looked_, 5U);
  drop.order.filter.since = first + 1s + 1ms;
  EXPECT_EQ(matched(drop), 3U);
  drop.order.filter.since = {};
  drop.order.filter.until = first + 1s;
  EXPECT_EQ(matched(drop), 1U);
  drop.order.filter.until = first + 1s + 1ms;
  EXPECT_EQ(matched(drop), 2U);
  drop.order.filter = {};
  drop.order.filter.reason_prefix = "HTTP 404";
  EXPECT_EQ(matched(drop), 1U);
  drop.order.filter = {};
  drop.order.filter.destination_prefix = "shop";
  EXPECT_EQ(matched(drop), 4U);
  drop.order.filter.destination_prefix = "sh";
  EXPECT_EQ(matched(drop), 5U);
  drop.order.filter = {};
  drop.order.filter.phase = Phase::kExpired;
  EXPECT_EQ(matched(drop), 1U);
  EXPECT_EQ(looked_, 0U);
  drop.order.filter.reason_prefix = "";
  drop.order.filter.phase = Phase::kDead;
  drop.order.filter.cause = FailureClass::kRejected;
  EXPECT_EQ(matched(drop), 4U);
  drop.order.filter.cause = FailureClass::kServer;
  EXPECT_EQ(matched(drop), 0U);
  drop.order.filter.cause = FailureClass::kRejected;
  drop.order.filter.destination = "shop";
  EXPECT_EQ(matched(drop), 3U);
  drop.order.filter.since = first;
  EXPECT_EQ(matched(drop), 3U) << "read, and the same";
  EXPECT_EQ(looked_, 4U);
}

// req: engine.job.5
TEST_F(JobEdges, EachActionIsAboutItsOwnPhases) {
  open_with({"shop"});
  const std::map<JobAction, std::vector<Phase>> about = {
      {JobAction::kRedrive, {Phase::kDead, Phase::kExpired}},
      {JobAction::kDrop, {Phase::kDead, Phase::kExpired}},
      {JobAction::kResend, {Phase::kDelivered, Phase::kCancelled, Phase::kIndeterminate}},
      {JobAction::kRetry, {Phase::kParked}},
      {JobAction::kCancel,
       {Phase::kQueued, Phase::kInFlight, Phase::kAwaiting, Phase::kBackoff, Phase::kParked}}};
  for (const auto& [action, phases] : about) {
    for (std::size_t i = 0; i < kPhases; ++i) {
      StartJob event = order(action);
      event.order.filter.phase = static_cast<Phase>(i);
      const bool fits =
          std::find(phases.begin(), phases.end(), static_cast<Phase>(i)) != phases.end();
      EXPECT_EQ(is_refused(event), !fits) << name_of(action) << " " << i;
    }
  }
}

// req: engine.job.1, engine.job.4
TEST_P(JobPages, PagesOfAnySizeDoTheSame) {
  const std::uint32_t rows = GetParam();
  options.engine.limits.job_rows_max = rows;
  open_with({"a", "b", "c"}, {{"in_flight_max", "1"}, {"history", "on"}});
  for (const char* name : {"a", "b", "c"}) {
    kill(name, 3);
    kill(name, 2, 200);
  }
  const Job resent = finished(start(order(JobAction::kResend)));
  EXPECT_EQ(resent.state, JobState::kDone) << rows;
  EXPECT_EQ(resent.done, 6U) << rows;
  EXPECT_EQ(resent.refused, 0U) << rows;
  EXPECT_EQ(counters().live(), 6U) << rows;
  const Job cancelled = finished(start(order(JobAction::kCancel)));
  EXPECT_EQ(cancelled.done, 6U) << rows << ": one of each is told to stop when it fails";
  const Job dropped = finished(start(order(JobAction::kDrop)));
  EXPECT_EQ(dropped.done, 9U) << rows;
  EXPECT_EQ(dropped.looked, 9U) << rows;
  EXPECT_EQ(dropped.rounds, 1U) << rows;
  EXPECT_GE(dropped.finished, dropped.created) << rows;
  EXPECT_EQ(groups().letters, 0U) << rows;
}

// req: engine.job.4
TEST_P(JobPages, CancelMeetsWhatWaitsOnDiskAndInMemory) {
  const std::uint32_t rows = GetParam();
  options.engine.limits.job_rows_max = rows;
  open_with({"a", "b"}, {{"in_flight_max", "1"}, {"ladder", "1h"}, {"strikes_max", "100"}});
  for (const char* name : {"a", "b"}) {
    for (int i = 0; i < 3; ++i) {
      post(submit(next(), name));
      post(answer(last_attempt(), 500));  // sleeps on disk
    }
  }
  const Timestamp middle = instant().wall + 1s;
  advance(1s);
  for (const char* name : {"a", "b"}) {
    Pause pause;
    pause.destination = name;
    post(pause);
    for (int i = 0; i < 2; ++i) post(submit(next(), name));
  }
  StartJob cancel = order(JobAction::kCancel, "a");
  cancel.order.filter.since = middle;
  EXPECT_EQ(finished(start(cancel)).done, 2U) << rows;
  cancel = order(JobAction::kCancel, "a");
  EXPECT_EQ(finished(start(cancel)).done, 3U) << rows;
  cancel = order(JobAction::kCancel);
  cancel.order.filter.cause = FailureClass::kServer;
  EXPECT_EQ(finished(start(cancel)).done, 3U) << rows;
  EXPECT_EQ(counters().live(), 2U) << rows;
  EXPECT_EQ(counters().cancelled, 8U) << rows;
}

INSTANTIATE_TEST_SUITE_P(Rows, JobPages, ::testing::Values(1, 2, 3, 5, 7, 100));

// req: engine.job.5
TEST_F(JobEdges, TheOldestFinishedOnesAreForgottenAndTheNewestListedFirst) {
  options.engine.limits.jobs_kept_max = 3;
  open_with({"shop"});
  kill("shop", 3);
  StartJob slow = order(JobAction::kDrop);
  slow.order.rate = 1;
  slow.order.filter.reason_prefix = "H";
  const JobId running = start(slow);
  std::vector<JobId> others;
  for (int i = 0; i < 4; ++i) {
    others.push_back(start(order(JobAction::kRetry)));
    advance(100ms);
  }
  const std::vector<Job> list = jobs();
  ASSERT_EQ(list.size(), 3U);
  EXPECT_EQ(list[0].id, others[3]);
  EXPECT_EQ(list[1].id, others[2]);
  EXPECT_EQ(list[2].id, running) << "it runs";
  Query event = ask(next(), Query::What::kJobs);
  event.limit = 2;
  post(event);
  EXPECT_EQ(view_of<JobList>(ticket_).jobs.size(), 2U);
  event = ask(next(), Query::What::kJobs);
  event.limit = 0;
  post(event);
  EXPECT_EQ(view_of<JobList>(ticket_).jobs.size(), 1U);
  event = ask(next(), Query::What::kJob);
  event.job = others[0];
  post(event);
  EXPECT_EQ(code_of(ticket_), AnswerCode::kNotFound);
  open();
  EXPECT_EQ(jobs().size(), 3U) << "their records are gone as well";
}

// req: engine.dead.5
TEST_F(JobEdges, RoundsAreThatFarApartAndWaitForAPlace) {
  options.engine.limits.jobs_running_max = 1;
  options.engine.limits.job_every_min = 60s;
  open_with({"shop"});
  kill("shop", 2);
  StartJob often = order(JobAction::kRedrive, "shop");
  often.order.every = 60s;
  const Timestamp begun = instant().wall;
  const JobId id = start(often);
  advance(1s);
  const Job waiting = job(id);
  EXPECT_EQ(waiting.state, JobState::kWaiting);
  EXPECT_EQ(waiting.rounds, 1U);
  EXPECT_EQ(waiting.round_at, begun);
  EXPECT_GE(waiting.next_at, begun + 60s);
  EXPECT_LE(waiting.next_at, begun + 61s);
  for (const StartAttempt& again : starts()) post(answer(again.attempt, 400));
  // Another one takes the only place when the time has come.
  elapsed = waiting.next_at - kStart - 10ms;
  turn();
  EXPECT_EQ(job(id).rounds, 1U);
  StartJob slow = order(JobAction::kDrop, "shop");
  slow.order.rate = 1;
  const JobId other = start(slow);
  advance(10ms);
  EXPECT_EQ(job(id).state, JobState::kWaiting) << "as many run as may";
  for (int i = 0; i < 30 && job(other).state == JobState::kRunning; ++i) advance(100ms);
  EXPECT_EQ(job(other).done, 2U);
  for (int i = 0; i < 30 && job(id).rounds == 1; ++i) advance(100ms);
  EXPECT_EQ(job(id).rounds, 2U);
  EXPECT_EQ(job(id).done, 2U) << "nothing was left for it";
  CancelJob cancel;
  cancel.caller.ticket = Ticket(next());
  cancel.job = id;
  post(cancel);
  EXPECT_EQ(code_of(ticket_), AnswerCode::kDone);
  advance(10min);
  EXPECT_EQ(job(id).rounds, 2U);
  EXPECT_EQ(job(id).state, JobState::kCancelled);
}

// req: engine.job.5
TEST_F(JobEdges, SoManyDryRunsAreCountedAtATime) {
  options.engine.limits.dry_runs_max = 2;
  open_with({"shop"});
  kill("shop", 2);
  StartJob dry = order(JobAction::kDrop);
  dry.dry_run = true;
  dry.order.rate = 0;
  dry.order.filter.reason_prefix = "H";
  store.holds_reads = true;
  std::vector<std::uint64_t> tickets;
  for (int i = 0; i < 3; ++i) {
    tickets.push_back(next());
    dry.caller.ticket = Ticket(tickets.back());
    post(dry);
  }
  EXPECT_FALSE(answered(tickets[0]));
  EXPECT_FALSE(answered(tickets[1]));
  EXPECT_EQ(code_of(tickets[2]), AnswerCode::kBusy);
  store.holds_reads = false;
  while (store.reads_held() > 0) release_read();
  EXPECT_EQ(view_of<DryRun>(tickets[0]).matched, 2U);
  EXPECT_EQ(view_of<DryRun>(tickets[1]).matched, 2U);
  EXPECT_EQ(view_of<DryRun>(tickets[1]).rate, options.engine.limits.job_rate_usual);
  EXPECT_EQ(view_of<DryRun>(tickets[1]).forecast, 20ms);
}

// req: engine.job.3
TEST_F(JobEdges, WhatDiedInTheInstantOfTheOrderIsMeant) {
  open_with({"shop"});
  post(submit(next(), "shop"));
  post(answer(last_attempt(), 400));
  const JobId id = start(order(JobAction::kDrop));
  EXPECT_EQ(told(ticket_).id, (MessageId{0, id.value()}));
  EXPECT_EQ(finished(id).done, 1U);
  EXPECT_EQ(finished(id).expected, 1U);
}

// req: engine.job.1
TEST_F(JobEdges, TheLastRefusalIsTold) {
  open_with({"shop", "bank"});
  kill("shop", 1);
  kill("bank", 2);
  Configure gone = configure(next(), "bank");
  gone.config.removed = true;
  post(gone);
  ASSERT_EQ(code_of(ticket_), AnswerCode::kDone);
  const Job done = finished(start(order(JobAction::kRedrive)));
  EXPECT_EQ(done.done, 1U);
  EXPECT_EQ(done.refused, 2U);
  EXPECT_EQ(done.refusal, "its destination is gone");
  EXPECT_EQ(done.looked, 3U);
  StartJob named = order(JobAction::kRedrive, "bank");
  post(named);
  EXPECT_EQ(code_of(ticket_), AnswerCode::kNotFound);
}

// req: engine.dead.5
TEST_F(JobEdges, ARoundBeginsInItsInstant) {
  open_with({"shop"});
  kill("shop", 1);
  StartJob daily = order(JobAction::kRedrive, "shop");
  daily.order.every = 1h;
  const JobId id = start(daily);
  advance(1s);
  ASSERT_EQ(job(id).state, JobState::kWaiting);
  for (const StartAttempt& again : starts()) post(answer(again.attempt, 400));
  elapsed = job(id).next_at - kStart - 1ms;
  turn();
  EXPECT_EQ(job(id).state, JobState::kWaiting);
  advance(1ms);
  EXPECT_EQ(job(id).state, JobState::kRunning);
  EXPECT_EQ(job(id).round_at, instant().wall);
}

// req: engine.job.1
TEST_F(JobEdges, ItsPagesComeInTimeToTheMillisecond) {
  struct Case {
    std::uint32_t rate, rows;
    std::map<int, std::uint64_t> done;  // after so many milliseconds
  };
  // Twenty pages a second, of at least one and at most a page's rows.
  for (const Case& one :
       {Case{100, 100, {{50, 5}, {100, 10}, {150, 12}}},
        Case{40, 100, {{50, 2}, {100, 4}, {150, 6}, {200, 8}, {250, 10}, {300, 12}}},
        Case{20, 100, {{50, 1}, {100, 2}, {150, 3}}}, Case{10, 100, {{100, 1}, {200, 2}}},
        Case{1000, 4, {{4, 4}, {8, 8}, {12, 12}}}}) {
    options.engine.limits.job_rows_max = one.rows;
    open_with({"shop"});
    kill("shop", 12);
    StartJob event = order(JobAction::kDrop, "shop");
    event.order.rate = one.rate;
    const JobId id = start(event);
    std::map<int, std::uint64_t> done;
    for (int ms = 1; ms <= one.done.rbegin()->first; ++ms) {
      advance(1ms);
      const std::uint64_t so_far = job(id).done;
      if (so_far != (done.empty() ? 0 : done.rbegin()->second)) done[ms] = so_far;
    }
    EXPECT_EQ(done, one.done) << one.rate;
    for (int i = 0; i < 20 && job(id).state == JobState::kRunning; ++i) advance(100ms);
    EXPECT_EQ(job(id).done, 12U);
    EXPECT_EQ(job(id).finished, instant().wall) << one.rate;
  }
}

// req: engine.dead.5
TEST_F(JobEdges, ARoundThatFoundNoPlaceAsksAgainAfterASecond) {
  options.engine.limits.jobs_running_max = 1;
  open_with({"shop"});
  kill("shop", 3);
  StartJob often = order(JobAction::kRedrive, "shop");
  often.order.every = 1h;
  const JobId id = start(often);
  advance(1s);
  ASSERT_EQ(job(id).state, JobState::kWaiting);
  for (const StartAttempt& again : starts()) post(answer(again.attempt, 400));
  elapsed = job(id).next_at - kStart - 1ms;
  turn();
  StartJob slow = order(JobAction::kDrop, "shop");
  slow.order.rate = 1;
  const JobId other = start(slow);
  advance(1ms);
  EXPECT_EQ(job(id).state, JobState::kWaiting);
  CancelJob cancel;
  cancel.caller.ticket = Ticket(next());
  cancel.job = other;
  post(cancel);
  advance(999ms);
  EXPECT_EQ(job(id).state, JobState::kWaiting);
  advance(1ms);
  EXPECT_EQ(job(id).state, JobState::kRunning);
  EXPECT_EQ(job(id).round_at, instant().wall);
}

// req: engine.job.2
TEST_F(JobEdges, AForecastIsExact) {
  open_with({"shop"});
  kill("shop", 3);
  StartJob dry = order(JobAction::kDrop);
  dry.dry_run = true;
  for (const std::uint32_t rate : {1U, 2U, 3U, 7U}) {
    dry.caller.ticket = Ticket(next());
    dry.order.rate = rate;
    post(dry);
    EXPECT_EQ(view_of<DryRun>(ticket_).matched, 3U);
    EXPECT_EQ(view_of<DryRun>(ticket_).forecast, Duration(3000 / rate));
    EXPECT_EQ(view_of<DryRun>(ticket_).rate, rate);
  }
}

// req: engine.job.2
TEST_F(JobEdges, ADryRunCountsWhatWasAcceptedInItsTurn) {
  open_with({"shop"}, {{"in_flight_max", "1"}});
  StartJob dry = order(JobAction::kCancel);
  dry.dry_run = true;
  ASSERT_TRUE(shard->post(submit(next(), "shop")));
  dry.caller.ticket = Ticket(next());
  const std::uint64_t ticket = ticket_;
  ASSERT_TRUE(shard->post(dry));
  ASSERT_TRUE(shard->post(submit(next(), "shop")));
  turn();
  for (int i = 0; i < 5; ++i) advance(1ms);
  EXPECT_EQ(view_of<DryRun>(ticket).matched, 1U) << "the second came later";
}

// req: engine.job.3
TEST_F(JobEdges, WhatCameInTheSameInstantButLaterIsNotMeant) {
  open_with({"shop"}, {{"in_flight_max", "1"}});
  for (int i = 0; i < 3; ++i) post(submit(next(), "shop"));
  const JobId id = start(order(JobAction::kCancel));
  post(submit(next(), "shop"));
  const MessageId later = id_of(ticket_);
  EXPECT_EQ(finished(id).done, 3U);
  EXPECT_EQ(finished(id).looked, 4U);
  Query why = ask(next(), Query::What::kExplain);
  why.id = later;
  post(why);
  EXPECT_FALSE(is_end(view_of<Explanation>(ticket_).phase));
}

// req: engine.job.5
TEST_F(JobEdges, ARoundOfAMillisecondIsTooShort) {
  open_with({"shop"});
  StartJob often = order(JobAction::kRedrive);
  often.order.every = 1ms;
  EXPECT_TRUE(is_refused(often));
  often.order.every = 0ms;
  EXPECT_FALSE(is_refused(often));
}

// req: engine.dead.5
TEST_F(JobEdges, EveryRoundExpectsWhatIsThereThoughItsDestinationWasForgotten) {
  options.engine.limits.residents_max = 1;
  open_with({"shop", "bank", "post"});
  kill("shop", 2);
  StartJob daily = order(JobAction::kRedrive, "shop");
  daily.order.every = 1h;
  const JobId id = start(daily);
  EXPECT_EQ(job(id).expected, 2U);
  advance(1s);
  ASSERT_EQ(job(id).state, JobState::kWaiting);
  EXPECT_EQ(job(id).done, 2U);
  for (const StartAttempt& again : starts()) post(answer(again.attempt, 400));
  kill("bank", 1);
  kill("post", 1);
  elapsed = job(id).next_at - kStart;
  turn();
  EXPECT_EQ(job(id).expected, 4U) << "two were done, and two are there";
  advance(1s);
  EXPECT_EQ(job(id).done, 4U);
}

// A key that no message has must not keep a job from going on. req: engine.quarantine.2
TEST_F(JobEdges, GoesOnBehindTheLastPossibleNumberOfALane) {
  open_with({"shop"});
  const std::vector<MessageId> ids = kill("shop", 2);
  options.engine.limits.job_rows_max = 1;
  shard.reset();
  const Rows letters = store.memory().scan(
      {keys::space(keys::kDead), keys::after_prefix(keys::space(keys::kDead)), 10});
  ASSERT_EQ(letters.rows.size(), 2U);
  const auto bucket = keys::parse_bucketed(letters.rows[0].first)->bucket;
  const Epoch epoch = store.memory().acquire(0).value();
  auto batch = std::make_shared<WriteBatch>();
  for (const std::uint64_t high : {ids[0].high - 1, ids[0].high, ids[0].high + 1}) {
    auto dead = decode_dead(letters.rows[0].second.view());
    ASSERT_TRUE(dead.has_value());
    dead->letter.id = {high, UINT64_MAX};
    batch->put(keys::dead(bucket, dead->letter.id), encode_dead(dead->letter, dead->message));
  }
  store.memory().commit(epoch, batch, [](CommitOutcome) {});
  open();
  StartJob dry = order(JobAction::kDrop, "shop");
  dry.order.filter.reason_prefix = "H";
  matched(dry);
  EXPECT_EQ(looked_, 5U);
}

// req: engine.job.1
TEST_F(JobEdges, WhatIsRefusedCountsForItsPaceAndWhatIsExpected) {
  open_with({"shop"});
  kill("shop", 7);
  post(submit(next(), "shop"));
  post(answer(last_attempt(), 410));  // the destination is gone, and takes nothing
  StartJob event = order(JobAction::kRedrive, "shop");
  event.order.rate = 100;
  event.order.every = 1h;
  const Timestamp begun = instant().wall;
  const JobId id = start(event);
  EXPECT_EQ(job(id).expected, 7U);
  advance(50ms);
  EXPECT_EQ(job(id).refused, 5U);
  EXPECT_EQ(job(id).done, 0U);
  advance(50ms);
  EXPECT_EQ(job(id).refused, 7U);
  EXPECT_EQ(job(id).state, JobState::kWaiting);
  EXPECT_EQ(job(id).next_at, begun + 1h) << "from the beginning of the round";
  elapsed = begun - kStart + 1h;
  turn();
  EXPECT_EQ(job(id).state, JobState::kRunning);
  EXPECT_EQ(job(id).expected, 14U) << "seven were refused, and seven are there";
}

// req: engine.job.1
TEST_F(JobEdges, ACancelledOneDoesNotGoOnWithThePageItReads) {
  open_with({"shop"});
  kill("shop", 3);
  open();
  StartJob event = order(JobAction::kDrop);
  event.order.filter.reason_prefix = "H";
  const JobId id = start(event);
  store.holds_reads = true;
  advance(50ms);
  ASSERT_GT(store.reads_held(), 0U);
  CancelJob cancel;
  cancel.caller.ticket = Ticket(next());
  cancel.job = id;
  ASSERT_TRUE(shard->post(cancel));
  turn();
  store.holds_reads = false;
  while (store.reads_held() > 0) release_read();
  for (int i = 0; i < 5; ++i) advance(100ms);
  EXPECT_EQ(job(id).state, JobState::kCancelled);
  EXPECT_EQ(job(id).done, 0U);
  EXPECT_EQ(groups().letters, 3U);
}

}  // namespace
}  // namespace postrider
