// Jobs again and again: rounds that take longer than they are apart, groups that are not counted
// for themselves, and parked messages that go back in line.
#include "tests/support/task_rig.h"

namespace postrider {
namespace {

class JobRounds : public TaskRig {
 protected:
  std::uint64_t next() { return ++questions; }
  StartJob order(JobAction action) {
    StartJob start;
    start.caller.ticket = Ticket(next());
    start.order.action = action;
    start.order.rate = 1000;
    return start;
  }
  JobId start(const StartJob& event) {
    post(event);
    EXPECT_EQ(code_of(questions), AnswerCode::kDone) << told(questions).detail;
    return JobId(id_of(questions).low);
  }
  Job job(JobId which) {
    Query event = ask(next(), Query::What::kJob);
    event.job = which;
    post(event);
    const JobList list = view_of<JobList>(questions);
    return list.jobs.empty() ? Job() : list.jobs.front();
  }
  DryRun counted(StartJob event) {
    event.dry_run = true;
    event.caller.ticket = Ticket(next());
    const std::uint64_t ticket = questions;
    post(event);
    for (int i = 0; i < 50 && !answered(ticket); ++i) advance(1ms);
    return view_of<DryRun>(ticket);
  }
  void kill(const std::string& name, int count = 1) {
    for (int i = 0; i < count; ++i) {
      post(message(next(), {{"method", "relay"}}, name));
      post(answer(last_attempt(), 400));
    }
  }
};

// req: engine.dead.5
TEST_F(JobRounds, BeginNoSoonerThanTheLeastAfterALongOne) {
  options.engine.limits.job_every_min = 1ms;
  open();
  post(place(next(), "mill"));
  kill("mill", 3);
  StartJob often = order(JobAction::kRedrive);
  often.order.every = 1ms;
  often.order.rate = 1;
  const JobId which = start(often);
  pass(2'999ms);
  EXPECT_EQ(job(which).state, JobState::kRunning);
  pass(1ms);
  EXPECT_EQ(job(which).done, 3U);
  EXPECT_EQ(job(which).state, JobState::kWaiting) << "for its next round";
  EXPECT_EQ(job(which).next_at, instant().wall + 1ms) << "the round took three seconds";
  StartJob drop = order(JobAction::kDrop);
  drop.order.every = 1ms;
  post(drop);
  EXPECT_EQ(code_of(questions), AnswerCode::kInvalid) << "only redrives have rounds";
}

// req: engine.job.2, engine.dead.8
TEST_F(JobRounds, LettersWithoutAGroupAreCountedByReadingThem) {
  options.engine.limits.dead_groups_max = 1;
  open();
  post(place(next(), "mill"));
  post(place(next(), "bell"));
  kill("mill", 2);
  kill("bell", 3);
  StartJob drop = order(JobAction::kDrop);
  drop.order.filter.destination = "bell";
  EXPECT_EQ(counted(drop).matched, 3U);
  EXPECT_EQ(counted(drop).looked, 3U);
  drop.order.filter.destination = "mill";
  EXPECT_EQ(counted(drop).matched, 2U);
  drop.order.filter.destination = "";
  EXPECT_EQ(counted(drop).matched, 5U);
}

// req: engine.job.2, engine.quarantine.1
TEST_F(JobRounds, AfterALetterWasLostOthersAreCountedByReadingThem) {
  open();
  post(place(next(), "mill"));
  kill("mill", 3);
  const Rows letters = store.memory().scan(
      {keys::space(keys::kDead), keys::after_prefix(keys::space(keys::kDead)), 10});
  ASSERT_EQ(letters.rows.size(), 3U);
  ASSERT_TRUE(store.memory().damage(letters.rows[1].first));
  post(ask(next(), Query::What::kDeadLetters));
  EXPECT_EQ(view_of<DeadLetters>(questions).letters.size(), 2U);
  EXPECT_EQ(counted(order(JobAction::kDrop)).matched, 2U);
  EXPECT_EQ(counted(order(JobAction::kDrop)).looked, 2U);
}

// A page in which nothing is done is not written down. req: engine.job.1
TEST_F(JobRounds, APageWithoutActionsWritesNothing) {
  options.engine.limits.job_rows_max = 1;
  open();
  post(place(next(), "mill"));
  std::vector<std::size_t> written;
  for (const int letters : {2, 5}) {
    kill("mill", letters);
    StartJob drop = order(JobAction::kDrop);
    drop.order.filter.reason_prefix = "none of them";
    const JobId which = start(drop);
    const std::size_t before = store.bytes_by_space().at(keys::kJob);
    pass(1s);
    EXPECT_EQ(job(which).state, JobState::kDone);
    EXPECT_GE(job(which).looked, static_cast<std::uint64_t>(letters));
    written.push_back(store.bytes_by_space().at(keys::kJob) - before);
  }
  EXPECT_EQ(written[0], written[1]) << "its end, and nothing for each page";
}

// req: engine.job.4
TEST_F(JobRounds, ParkedOnesGoBackInLineAndNotIntoTheWindow) {
  options.engine.limits.job_rows_max = 1;
  open();
  post(place(next(), "mill", {{"link", "cold"}, {"in-use", "1"}, {"window", "2"}}));
  std::vector<MessageId> parked;
  for (int i = 0; i < 4; ++i) {
    post(message(next(), {{"method", "relay"}}));
    parked.push_back(id_of(questions));
    turn();
    ASSERT_EQ(phase(parked.back()), Phase::kParked);
  }
  post(place(next(), "mill", {{"in-use", "1"}, {"window", "2"}}));
  post(message(next(), {{"method", "post"}}));
  ASSERT_EQ(starts().size(), 1U);
  const JobId which = start(order(JobAction::kRetry));
  pass(1s);
  EXPECT_EQ(job(which).done, 4U);
  EXPECT_EQ(job(which).looked, 4U);
  EXPECT_LE(stats().in_window, 3U) << "two that wait, and the one that is on its way";
  EXPECT_EQ(stats().parked, 0U);
  EXPECT_EQ(records_in(keys::kParked), 0U);
  for (const MessageId one : parked) EXPECT_EQ(phase(one), Phase::kQueued);
  for (std::size_t i = 0; i < 5; ++i) {
    ASSERT_EQ(starts().size(), i + 1);
    post(answer(last_attempt(), 200));
    turn();
  }
  EXPECT_EQ(stats().counters.delivered, 5U);
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(starts()[i + 1].message, parked[i]);
}

// req: engine.job.1
TEST_F(JobRounds, WhatWasDoneIsKnownAfterACrash) {
  open();
  post(place(next(), "mill"));
  kill("mill", 3);
  StartJob drop = order(JobAction::kDrop);
  drop.order.rate = 1;
  const JobId which = start(drop);
  pass(1s);
  EXPECT_EQ(job(which).done, 1U);
  restart();
  EXPECT_EQ(job(which).done, 1U);
  EXPECT_EQ(job(which).state, JobState::kRunning);
  pass(2s);
  EXPECT_EQ(job(which).done, 3U);
  EXPECT_EQ(job(which).state, JobState::kDone);
  restart();
  EXPECT_EQ(job(which).state, JobState::kDone);
  EXPECT_EQ(job(which).done, 3U);
}

// req: engine.job.1
TEST_F(JobRounds, OneForADestinationThatWentIsDone) {
  open();
  post(place(next(), "mill"));
  kill("mill", 3);
  StartJob drop = order(JobAction::kDrop);
  drop.order.filter.destination = "mill";
  drop.order.rate = 1;
  const JobId which = start(drop);
  pass(1s);
  Configure gone = place(next(), "mill");
  gone.config.removed = true;
  post(gone);
  ASSERT_EQ(code_of(questions), AnswerCode::kDone);
  pass(1s);
  EXPECT_EQ(job(which).state, JobState::kDone);
  EXPECT_EQ(job(which).done, 1U);
}

// req: engine.job.2
TEST_F(JobRounds, ParkedOnesAreCountedByTheirGroup) {
  open();
  post(place(next(), "mill", {{"attempts", "1"}}));
  for (int i = 0; i < 3; ++i) {
    post(message(next(), {{"method", "post"}}));
    post(answer(last_attempt(), 408));
  }
  StartJob retry = order(JobAction::kRetry);
  EXPECT_EQ(counted(retry).matched, 3U);
  EXPECT_EQ(counted(retry).looked, 0U);
  retry.order.filter.cause = FailureClass::kOther;
  EXPECT_EQ(counted(retry).matched, 3U);
  EXPECT_EQ(counted(retry).looked, 3U) << "their group does not say why";
  retry.order.filter.cause = FailureClass::kServer;
  EXPECT_EQ(counted(retry).matched, 0U);
}

}  // namespace
}  // namespace postrider
