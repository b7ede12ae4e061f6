// Dead letters as a workflow, seen from outside: groups, jobs, the audit and holds.
#include "postrider/model/records/keys.h"
#include "tests/support/bulk_rig.h"

namespace postrider {
namespace {

using DeadGroups = Bulk;
using Jobs = Bulk;
using Audit = Bulk;
using Holds = Bulk;

// req: engine.dead.4
TEST_F(DeadGroups, CountByDestinationAndCauseWithAnExample) {
  open_with({"shop", "bank"});
  kill("shop", 3, 400);
  const std::vector<MessageId> gone = kill("bank", 1, 404);
  const DeadGroupList all = groups();
  ASSERT_EQ(all.groups.size(), 2U);
  EXPECT_EQ(all.letters, 4U);
  EXPECT_EQ(all.groups[0].destination, "shop");
  EXPECT_EQ(all.groups[0].count, 3U);
  EXPECT_EQ(all.groups[0].cause, FailureClass::kRejected);
  EXPECT_EQ(all.groups[0].last - all.groups[0].first, 2s);
  EXPECT_EQ(all.groups[1].example, gone[0]);
  EXPECT_NE(all.groups[1].reason.find("404"), std::string::npos);
  EXPECT_EQ(groups("bank").groups.size(), 1U);
}

// req: engine.dead.4
TEST_F(DeadGroups, AreExactAfterRedriveDropAndRestart) {
  open_with({"shop"});
  const std::vector<MessageId> ids = kill("shop", 4);
  Redrive redrive;
  redrive.caller.ticket = Ticket(next());
  redrive.id = ids[1];
  post(redrive);
  Drop drop;
  drop.caller.ticket = Ticket(next());
  drop.id = ids[2];
  post(drop);
  EXPECT_EQ(groups().letters, 2U);
  open();
  EXPECT_EQ(groups().letters, 2U);
  ASSERT_EQ(groups().groups.size(), 1U);
  EXPECT_EQ(groups().groups[0].count, 2U);
}

// req: engine.dead.4, engine.dead.8
TEST_F(DeadGroups, BeyondTheLimitAreCountedTogether) {
  options.engine.limits.dead_groups_max = 2;
  open_with({"a", "b", "c"});
  kill("a", 1);
  kill("b", 1);
  EXPECT_EQ(groups().others, 0U);
  kill("c", 2);
  EXPECT_EQ(groups().groups.size(), 2U);
  EXPECT_EQ(groups().others, 2U);
  EXPECT_EQ(groups().letters, 4U);
}

// req: engine.dead.4
TEST_F(DeadGroups, GoWithTheirBucket) {
  options.engine.dead.age = 4h;
  open_with({"shop"});
  kill("shop", 2);
  for (int i = 0; i < 20; ++i) advance(1h);
  EXPECT_EQ(counters().removed_dead, 2U);
  EXPECT_EQ(groups().letters, 0U);
}

// req: engine.job.1
TEST_F(Jobs, RedriveWhatTheFilterNamesAndTellHowFarTheyAre) {
  open_with({"shop", "bank"});
  kill("shop", 5);
  kill("bank", 2);
  const JobId id = start(order(JobAction::kRedrive, "shop"));
  EXPECT_EQ(job(id).state, JobState::kRunning);
  EXPECT_EQ(job(id).expected, 5U);
  advance(1s);
  EXPECT_EQ(job(id).state, JobState::kDone);
  EXPECT_EQ(job(id).done, 5U);
  EXPECT_EQ(job(id).actor, "ops");
  EXPECT_EQ(counters().redriven, 5U);
  EXPECT_EQ(groups().letters, 2U);
}

// req: engine.lane.10
TEST_F(Jobs, RedriveInTheOrderOfAcceptanceAcrossBuckets) {
  options.engine.dead.age = 400s;  // a bucket closes after a hundred seconds
  options.engine.limits.job_rows_max = 2;
  open_with({"shop"}, {{"time_out", "10m"}});
  post(submit(next(), "shop"));
  const AttemptId oldest = last_attempt();
  kill("shop", 3);
  advance(101s);
  kill("shop", 2);
  // It was accepted first and dies last: its letter lies in the newest bucket.
  post(answer(oldest, 400));
  EXPECT_EQ(groups().letters, 6U);
  actions.clear();
  start(order(JobAction::kRedrive, "shop"));
  advance(1s);
  EXPECT_EQ(bodies_started(),
            (std::vector<std::string>{"hello", "shop 0", "shop 1", "shop 2", "shop 0", "shop 1"}));
}

// req: engine.job.1
TEST_F(Jobs, GoAtTheirRateAndNotFaster) {
  open_with({"shop"});
  kill("shop", 30);
  StartJob slow = order(JobAction::kDrop, "shop");
  slow.order.rate = 10;
  const JobId id = start(slow);
  advance(1s);
  EXPECT_EQ(job(id).done, 10U);
  for (int i = 0; i < 10; ++i) advance(100ms);
  EXPECT_EQ(job(id).done, 20U);
  advance(950ms);
  EXPECT_EQ(job(id).state, JobState::kRunning);
  advance(50ms);
  EXPECT_EQ(job(id).state, JobState::kDone);
}

// req: engine.job.1
TEST_F(Jobs, GoOnAfterARestartWhereTheyWere) {
  open_with({"shop"});
  kill("shop", 20);
  StartJob slow = order(JobAction::kRedrive, "shop");
  slow.order.rate = 10;
  const JobId id = start(slow);
  advance(1s);
  EXPECT_EQ(job(id).done, 10U);
  elapsed += 1h;  // nobody earns credit while nobody runs
  open();
  EXPECT_EQ(job(id).state, JobState::kRunning);
  EXPECT_LE(job(id).done, 11U);
  advance(1s);
  advance(1s);
  EXPECT_EQ(job(id).state, JobState::kDone);
  EXPECT_EQ(job(id).done, 20U);
  EXPECT_EQ(counters().redriven, 20U);
}

// req: engine.job.1
TEST_F(Jobs, ThatAreCancelledStopAndKeepWhatTheyDid) {
  open_with({"shop"});
  kill("shop", 20);
  StartJob slow = order(JobAction::kDrop, "shop");
  slow.order.rate = 10;
  const JobId id = start(slow);
  advance(500ms);
  CancelJob cancel;
  cancel.caller.ticket = Ticket(next());
  cancel.job = id;
  post(cancel);
  EXPECT_EQ(code_of(ticket_), AnswerCode::kDone);
  advance(10s);
  EXPECT_EQ(job(id).state, JobState::kCancelled);
  EXPECT_EQ(job(id).done, 5U);
  EXPECT_EQ(groups().letters, 15U);
  cancel.caller.ticket = Ticket(next());
  post(cancel);
  EXPECT_EQ(code_of(ticket_), AnswerCode::kNothing);
}

// req: engine.job.3
TEST_F(Jobs, DoNotTouchWhatDiesAfterwards) {
  open_with({"shop"});
  kill("shop", 2);
  const JobId id = start(order(JobAction::kRedrive, "shop"));
  for (int i = 0; i < 20; ++i) {
    advance(1s);
    for (const StartAttempt& again : starts()) post(answer(again.attempt, 400));
  }
  EXPECT_EQ(job(id).state, JobState::kDone);
  EXPECT_EQ(job(id).done, 2U);
  EXPECT_EQ(groups().letters, 2U) << "sent again, they died again, and stay";
}

// req: engine.job.1
TEST_F(Jobs, RefuseWhatCannotBeDoneAndLeaveIt) {
  open_with({"shop"}, {{"disable_after", "1h"}});
  kill("shop", 2);
  Configure drain = configure(next(), "shop");
  post(submit(next(), "shop"));  // so that it is not empty
  drain.caller.ticket = Ticket(next());
  drain.config.removed = drain.config.draining = true;
  post(drain);
  const JobId id = start(order(JobAction::kRedrive));
  advance(1s);
  EXPECT_EQ(job(id).state, JobState::kDone);
  EXPECT_EQ(job(id).refused, 2U);
  EXPECT_NE(job(id).refusal.find("taken away"), std::string::npos);
  EXPECT_EQ(groups().letters, 2U);
}

// req: engine.job.2
TEST_F(Jobs, DryRunCountsForecastsAndChangesNothing) {
  open_with({"shop", "bank"});
  kill("shop", 5);
  kill("bank", 2);
  const auto before = store.memory().contents();
  StartJob dry = order(JobAction::kRedrive, "shop");
  dry.dry_run = true;
  dry.order.rate = 10;
  post(dry);
  DryRun run = view_of<DryRun>(ticket_);
  EXPECT_EQ(run.matched, 5U);
  EXPECT_EQ(run.looked, 0U) << "the groups know";
  EXPECT_EQ(run.forecast, 500ms);
  dry = order(JobAction::kDrop);
  dry.dry_run = true;
  dry.order.filter.destination_prefix = "b";
  post(dry);
  run = view_of<DryRun>(ticket_);
  EXPECT_EQ(run.matched, 2U);
  EXPECT_EQ(run.looked, 7U);
  EXPECT_TRUE(run.complete);
  EXPECT_TRUE(jobs().empty());
  EXPECT_EQ(store.memory().contents(), before);
}

// req: engine.job.2
TEST_F(Jobs, DryRunStopsAtItsLimitAndSaysSo) {
  options.engine.limits.dry_run_rows_max = 3;
  options.engine.limits.job_rows_max = 1;
  open_with({"shop"});
  kill("shop", 3);
  StartJob dry = order(JobAction::kDrop);
  dry.dry_run = true;
  dry.order.filter.reason_prefix = "H";
  post(dry);
  EXPECT_TRUE(view_of<DryRun>(ticket_).complete || view_of<DryRun>(ticket_).looked == 3U);
  kill("shop", 1);
  dry.caller.ticket = Ticket(next());
  post(dry);
  EXPECT_FALSE(view_of<DryRun>(ticket_).complete);
  EXPECT_EQ(view_of<DryRun>(ticket_).matched, 3U);
}

// req: engine.job.4
TEST_F(Jobs, CancelLiveMessagesAndRetryParkedOnes) {
  open_with({"shop"}, {{"when_exhausted", "park"}, {"ladder", "1s"}, {"budget", "1s"}});
  post(submit(next(), "shop"));
  const MessageId parked = id_of(ticket_);
  for (int i = 0; i < 10; ++i) {
    for (const StartAttempt& open : starts()) post(answer(open.attempt, 503));
    advance(10s);
  }
  EXPECT_EQ(groups().groups.size(), 1U);
  EXPECT_EQ(groups().groups[0].phase, Phase::kParked);
  Pause pause;  // so that nothing is under way
  pause.destination = "shop";
  post(pause);
  const JobId retry = start(order(JobAction::kRetry, "shop"));
  advance(1s);
  EXPECT_EQ(job(retry).done, 1U);
  EXPECT_EQ(groups().letters, 0U);
  post(submit(next(), "shop"));
  post(submit(next(), "shop"));
  const JobId cancel = start(order(JobAction::kCancel, "shop"));
  advance(1s);
  EXPECT_EQ(job(cancel).state, JobState::kDone);
  EXPECT_EQ(job(cancel).done, 3U);
  EXPECT_EQ(counters().live(), 0U) << ids().text(parked);
}

// req: engine.job.5
TEST_F(Jobs, AreBoundedInNumberAndRate) {
  options.engine.limits.jobs_running_max = 2;
  options.engine.limits.jobs_kept_max = 3;
  options.engine.limits.job_rate_max = 1000;
  open_with({"shop"});
  kill("shop", 5);
  StartJob slow = order(JobAction::kRedrive);
  slow.order.rate = 1;
  start(slow);
  slow.caller.ticket = Ticket(next());
  start(slow);
  slow.caller.ticket = Ticket(next());
  post(slow);
  EXPECT_EQ(code_of(ticket_), AnswerCode::kBusy);
  for (int i = 0; i < 12; ++i) advance(1s);
  for (int i = 0; i < 4; ++i) {
    start(order(JobAction::kDrop));
    advance(1s);
  }
  EXPECT_EQ(jobs().size(), 3U);
  StartJob fast = order(JobAction::kDrop);
  fast.order.rate = 1001;
  post(fast);
  EXPECT_EQ(code_of(ticket_), AnswerCode::kInvalid);
}

// req: engine.dead.5
TEST_F(Jobs, ReviveACategoryOncePerPeriod) {
  open_with({"shop"});
  kill("shop", 2);
  StartJob daily = order(JobAction::kRedrive, "shop");
  daily.order.filter.cause = FailureClass::kRejected;
  daily.order.every = 24h;
  const JobId id = start(daily);
  advance(1s);
  EXPECT_EQ(job(id).state, JobState::kWaiting);
  EXPECT_EQ(job(id).done, 2U);
  for (const StartAttempt& again : starts()) post(answer(again.attempt, 400));
  advance(23h);
  EXPECT_EQ(job(id).done, 2U);
  open();
  advance(1h);
  advance(1s);
  EXPECT_EQ(job(id).done, 4U);
  EXPECT_EQ(job(id).rounds, 2U);
}

// req: engine.job.7
TEST_F(Jobs, PagesTakeTurnsWithWhatOthersWant) {
  options.parked_max = 1;
  options.engine.limits.job_rows_max = 1;
  open_with({"shop", "bank"});
  kill("shop", 3);
  StartJob dry = order(JobAction::kDrop);
  dry.order.filter.reason_prefix = "H";
  dry.dry_run = true;
  store.holds_reads = true;
  post(dry);
  const std::uint64_t ticket = next();
  post(submit(ticket, "bank"));
  EXPECT_FALSE(answered(ticket)) << "the place for those who read is taken";
  release_read();
  EXPECT_EQ(code_of(ticket), AnswerCode::kAccepted) << "before the next page";
  for (int i = 0; i < 20 && !answered(dry.caller.ticket.value()); ++i) release_read();
  EXPECT_EQ(view_of<DryRun>(dry.caller.ticket.value()).matched, 3U);
}

// req: engine.audit.1
TEST_F(Audit, HasEachChangeWithWhoAndWhyInItsOwnCommit) {
  open_with({"shop"});
  const std::size_t before = audit().size();
  Pause pause;
  pause.caller.ticket = Ticket(next());
  pause.caller.actor = "ops";
  pause.destination = "shop";
  pause.reason = "maintenance";
  store.holds_commits = true;
  post(pause);
  bool together = false;
  for (const Write& write : store.held_batch().writes())
    together = together || write.key[0] == keys::kAudit;
  EXPECT_TRUE(together);
  store.holds_commits = false;
  release_commit();
  pause.caller.ticket = Ticket(next());
  post(pause);  // it is paused already
  const std::vector<AuditRecord> lines = audit();
  ASSERT_EQ(lines.size(), before + 1);
  EXPECT_EQ(lines.back().actor, "ops");
  EXPECT_EQ(lines.back().action, "pause");
  EXPECT_EQ(lines.back().target, "shop");
  EXPECT_EQ(lines.back().reason, "maintenance");
}

// req: engine.audit.1
TEST_F(Audit, TellsOfJobsAndForgetsByAge) {
  options.engine.audit.age = 4h;
  open_with({"shop"});
  const JobId id = start(order(JobAction::kDrop));
  EXPECT_EQ(audit().back().action, "job-start");
  EXPECT_EQ(audit().back().target, to_string(id));
  advance(10h);
  advance(10h);
  EXPECT_TRUE(audit().empty());
}

PutHold hold(std::uint64_t ticket, const std::string& name, const std::string& prefix) {
  PutHold put;
  put.caller.ticket = Ticket(ticket);
  put.rule.name = name;
  put.rule.reason = "migration";
  put.rule.destination_prefix = prefix;
  return put;
}

// req: engine.pause.4
TEST_F(Holds, StopWhatTheyFitAndExplainWhy) {
  open_with({"eu-shop", "us-shop"});
  post(hold(next(), "eu", "eu-"));
  EXPECT_EQ(code_of(ticket_), AnswerCode::kDone);
  actions.clear();
  post(submit(next(), "eu-shop"));
  const MessageId id = id_of(ticket_);
  post(submit(next(), "us-shop"));
  ASSERT_EQ(starts().size(), 1U);
  Query question = ask(next(), Query::What::kExplain);
  question.id = id;
  post(question);
  EXPECT_NE(view_of<Explanation>(ticket_).why.find("migration"), std::string::npos);
  DropHold drop;
  drop.caller.ticket = Ticket(next());
  drop.name = "eu";
  post(drop);
  advance(1s);
  EXPECT_EQ(starts().size(), 2U);
}

// req: engine.pause.4
TEST_F(Holds, MeetThoseWhoComeIntoMemoryLaterAndSurviveARestart) {
  options.engine.limits.residents_max = 1;
  open_with({"eu-a", "eu-b", "us"});
  post(hold(next(), "eu", "eu-"));
  open();
  post(submit(next(), "eu-a"));
  post(submit(next(), "eu-b"));
  post(configure(next(), "eu-new"));
  post(submit(next(), "eu-new"));
  EXPECT_TRUE(starts().empty());
  Resume resume;
  resume.caller.ticket = Ticket(next());
  resume.destination = "eu-a";
  post(resume);
  EXPECT_EQ(code_of(ticket_), AnswerCode::kNothing);
  EXPECT_TRUE(starts().empty());
  DropHold drop;
  drop.caller.ticket = Ticket(next());
  drop.name = "eu";
  post(drop);
  for (int i = 0; i < 5; ++i) advance(1s);
  EXPECT_EQ(starts().size(), 3U);
}

// req: engine.pause.4
TEST_F(Holds, LeaveAnOperatorsPauseAloneAndFitByProfileOrTenant) {
  options.engine.limits.holds_max = 2;
  open_with({"shop"});
  Pause pause;
  pause.destination = "shop";
  pause.reason = "by hand";
  post(pause);
  PutHold everything = hold(next(), "all", "");
  everything.rule.profile = "webhook";
  post(everything);
  DropHold drop;
  drop.caller.ticket = Ticket(next());
  drop.name = "all";
  post(drop);
  actions.clear();
  post(submit(next(), "shop"));
  EXPECT_TRUE(starts().empty()) << "the operator's own pause stands";
  PutHold other = hold(next(), "tenant", "");
  other.rule.tenant = "acme";
  post(other);
  EXPECT_EQ(code_of(ticket_), AnswerCode::kDone);
  post(hold(next(), "second", "x"));
  EXPECT_EQ(code_of(ticket_), AnswerCode::kDone);
  post(hold(next(), "third", "x"));
  EXPECT_EQ(code_of(ticket_), AnswerCode::kInvalid) << "beyond the limit";
}

}  // namespace
}  // namespace postrider
