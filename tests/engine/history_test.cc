// What has ended and is kept: its content, how long, and how it is sent again.
#include "postrider/model/records/keys.h"
#include "tests/support/shard_rig.h"

namespace postrider {
namespace {

class History : public ShardRig {
 protected:
  void open_with(const std::vector<std::string>& names, const NamedTexts& settings) {
    open();
    for (const std::string& name : names) post(configure(next(), name, settings));
  }
  std::uint64_t next() { return ++ticket_; }

  MessageId send(const std::string& destination, const std::string& body, int status = 200) {
    const std::uint64_t ticket = next();
    Submit event = submit(ticket, destination);
    event.body = body;
    post(std::move(event));
    post(answer(last_attempt(), status));
    advance(1s);
    return id_of(ticket);
  }
  MessageView show(MessageId id) {
    Query event = ask(next(), Query::What::kMessage);
    event.id = id;
    post(event);
    return view_of<MessageView>(ticket_);
  }
  StartJob resend(const std::string& destination = {}) {
    StartJob start;
    start.caller.ticket = Ticket(next());
    start.order.action = JobAction::kResend;
    start.order.filter.destination = destination;
    start.order.rate = 1000;
    return start;
  }
  Job run(const StartJob& event) {
    post(event);
    EXPECT_EQ(code_of(ticket_), AnswerCode::kDone);
    Query question = ask(next(), Query::What::kJob);
    question.job = JobId(id_of(ticket_ - 1).low);
    actions.clear();
    advance(2s);
    post(question);
    return view_of<JobList>(question.ticket.value()).jobs.at(0);
  }
  std::vector<std::string> bodies_started() const {
    std::vector<std::string> out;
    for (const StartAttempt& start : starts())
      out.emplace_back(start.request.body.data(), start.request.body.size());
    return out;
  }
  Stats stats() {
    post(ask(next(), Query::What::kStats));
    return view_of<Stats>(ticket_);
  }

  std::uint64_t ticket_ = 0;
};

const NamedTexts kOn = {{"history", "on"}};

// req: engine.history.1
TEST_F(History, KeepsContentOnlyWhereTheSettingSaysSo) {
  open_with({"shop"}, kOn);
  post(configure(next(), "bank", {}));
  const MessageId kept = send("shop", "hello");
  const MessageId gone = send("bank", "bye");
  EXPECT_TRUE(show(kept).has_body);
  EXPECT_EQ(show(kept).body, "hello");
  EXPECT_EQ(show(kept).explanation.phase, Phase::kDelivered);
  EXPECT_FALSE(show(gone).has_body);
  EXPECT_EQ(stats().history, 1U);
  EXPECT_GT(stats().history_bytes, 5U);
  open();
  EXPECT_EQ(show(kept).body, "hello") << "after a restart";
}

// req: engine.history.1
TEST_F(History, ContentIsWrittenInTheCommitOfTheEnd) {
  open_with({"shop"}, kOn);
  post(submit(next(), "shop"));
  store.holds_commits = true;
  post(answer(last_attempt(), 200));
  std::string spaces;
  for (const Write& write : store.held_batch().writes()) spaces += write.key[0];
  EXPECT_NE(spaces.find(keys::kHistory), std::string::npos);
  EXPECT_NE(spaces.find(keys::kEnd), std::string::npos);
  store.holds_commits = false;
  release_commit();
}

// req: engine.history.2
TEST_F(History, GoesByAgeAndOutlivesTheEndItself) {
  options.engine.ends.age = 2h;
  options.engine.history.age = 8h;
  open_with({"shop"}, kOn);
  const MessageId id = send("shop", "hello");
  advance(5h);
  EXPECT_EQ(show(id).body, "hello") << "the end is forgotten, the content is not";
  advance(20h);
  Query question = ask(next(), Query::What::kMessage);
  question.id = id;
  post(question);
  EXPECT_EQ(code_of(ticket_), AnswerCode::kNotFound);
  EXPECT_EQ(stats().history, 0U);
}

// req: engine.history.2
TEST_F(History, GoesBySize) {
  options.engine.history.bytes = 4000;
  open_with({"shop"}, kOn);
  for (int i = 0; i < 40; ++i) send("shop", std::string(200, 'x'));
  EXPECT_LE(stats().history_bytes, 4000U);
  EXPECT_GT(stats().history, 2U);
}

// req: engine.job.6
TEST_F(History, IsSentAgainInTheOrderOfAcceptanceAndStays) {
  options.engine.limits.job_rows_max = 2;
  open_with({"shop", "bank"}, kOn);
  for (const char* body : {"1", "2", "3", "4", "5"}) send("shop", body);
  send("bank", "other");
  const Job job = run(resend("shop"));
  EXPECT_EQ(job.state, JobState::kDone);
  EXPECT_EQ(job.done, 5U);
  EXPECT_EQ(bodies_started(), (std::vector<std::string>{"1", "2", "3", "4", "5"}));
  EXPECT_EQ(stats().history, 6U);
  EXPECT_EQ(stats().counters.accepted, 11U);
  EXPECT_EQ(stats().counters.redriven, 0U);
}

// req: engine.job.6
TEST_F(History, WhatAJobSentAgainIsNotMetByIt) {
  open_with({"shop"}, kOn);
  send("shop", "1");
  StartJob slow = resend("shop");
  slow.order.rate = 1;
  post(slow);
  for (int i = 0; i < 5; ++i) {
    for (const StartAttempt& start : starts()) post(answer(start.attempt, 200));
    actions.clear();
    advance(2s);
  }
  EXPECT_EQ(stats().counters.accepted, 2U);
}

// req: engine.job.6
TEST_F(History, DeliveredIsMeantUnlessAnotherEndIsNamed) {
  open_with({"shop"}, kOn);
  send("shop", "delivered");
  const std::uint64_t ticket = next();
  Submit event = submit(ticket, "shop");
  event.body = "called off";
  event.not_before = instant().wall + 1h;
  post(std::move(event));
  Cancel cancel;
  cancel.caller.ticket = Ticket(next());
  cancel.id = id_of(ticket);
  post(cancel);
  EXPECT_EQ(show(cancel.id).body, "called off");
  EXPECT_EQ(run(resend()).done, 1U);
  EXPECT_EQ(bodies_started(), std::vector<std::string>{"delivered"});
  StartJob cancelled = resend();
  cancelled.order.filter.phase = Phase::kCancelled;
  EXPECT_EQ(run(cancelled).done, 1U);
  EXPECT_EQ(bodies_started(), std::vector<std::string>{"called off"});
  StartJob dead = resend();
  dead.order.filter.phase = Phase::kDead;
  post(dead);
  EXPECT_EQ(code_of(ticket_), AnswerCode::kInvalid);
}

// req: engine.job.6
TEST_F(History, IsSentAgainSinceAndUntil) {
  open_with({"shop"}, kOn);
  send("shop", "early");
  advance(1h);
  const Timestamp from = stats().now;
  send("shop", "late");
  advance(1h);
  StartJob since = resend("shop");
  since.order.filter.since = from;
  EXPECT_EQ(run(since).done, 1U);
  EXPECT_EQ(bodies_started(), std::vector<std::string>{"late"});
  StartJob until = resend("shop");
  until.order.filter.until = from;
  EXPECT_EQ(run(until).done, 1U);
  EXPECT_EQ(bodies_started(), std::vector<std::string>{"early"});
}

// req: engine.job.2, engine.job.6
TEST_F(History, IsCountedByADryRun) {
  open_with({"shop"}, kOn);
  for (const char* body : {"1", "2", "3"}) send("shop", body);
  StartJob dry = resend("shop");
  dry.dry_run = true;
  post(dry);
  advance(1s);
  EXPECT_EQ(view_of<DryRun>(dry.caller.ticket.value()).matched, 3U);
  EXPECT_EQ(stats().counters.accepted, 3U);
}

// A dead letter is a dead letter, whatever the setting says.
// req: engine.history.1
TEST_F(History, DeadLettersAreNotInIt) {
  open_with({"shop"}, kOn);
  const MessageId id = send("shop", "no", 400);
  EXPECT_EQ(stats().history, 0U);
  EXPECT_EQ(show(id).body, "no");
  Redrive redrive;
  redrive.caller.ticket = Ticket(next());
  redrive.id = send("shop", "yes");
  post(redrive);
  EXPECT_EQ(code_of(redrive.caller.ticket.value()), AnswerCode::kEnded) << "it is not one";
}

}  // namespace
}  // namespace postrider
