// Commands that somebody wants to send again: what may go, what must not, and how whoever knows the
// first one finds the last.
#include "postrider/profiles/device/mint.h"
#include "postrider/protocols/device/mint.h"
#include "tests/support/device_rig.h"

namespace postrider {
namespace {

class DeviceAgain : public DeviceRig {
 protected:
  void open_without_retries() {
    open_all({{"retries", "0"}, {"spacing", "0"}}, {{"retries", "0"}, {"spacing", "0"}});
  }
  // Nothing left us: it cannot have run.
  MessageId never_left(const device::DeviceMessage& command) {
    const MessageId id = send(command);
    lose(calls().back().attempt, WireEnd::kRefused);
    EXPECT_EQ(phase(id), Phase::kDead);
    EXPECT_EQ(may_have_run(id), "false");
    return id;
  }
  // The device did not acknowledge it: it may have run all the same.
  MessageId not_acknowledged(const device::DeviceMessage& command, const std::string& item) {
    const MessageId id = send(command);
    enqueued(item);
    txack(item);
    ack(item, false);
    EXPECT_EQ(phase(id), Phase::kDead);
    return id;
  }
  Answer redrive(MessageId id, bool regardless = false) {
    const std::uint64_t ticket = ++tickets;
    Redrive event;
    event.caller.ticket = Ticket(ticket);
    event.id = id;
    event.even_if_it_ran = regardless;
    post(event);
    return told(ticket);
  }
  Answer bring(const device::DeviceMessage& command, MessageId origin, bool ran,
               bool regardless = false) {
    const std::uint64_t ticket = ++tickets;
    Submit event = submission(ticket, command);
    event.origin = origin;
    event.origin_ran = ran;
    event.even_if_it_ran = regardless;
    post(event);
    return told(ticket);
  }
  std::vector<MessageId> runs(MessageId first) {
    const std::uint64_t ticket = ++tickets;
    Query question = ask(ticket, Query::What::kRuns);
    question.id = first;
    post(question);
    turn();
    std::vector<MessageId> out;
    for (const Explanation& run : view_of<MessagePage>(ticket).messages) out.push_back(run.id);
    return out;
  }
  Job run_job(JobAction action, bool regardless = false) {
    const std::uint64_t ticket = ++tickets;
    StartJob start;
    start.caller.ticket = Ticket(ticket);
    start.order.action = action;
    start.order.filter.destination_prefix = "lora.";
    start.order.even_if_it_ran = regardless;
    post(start);
    const JobId id(id_of(ticket).low);
    pass(5s);
    const std::uint64_t question = ++tickets;
    Query about = ask(question, Query::What::kJob);
    about.job = id;
    post(about);
    const JobList list = view_of<JobList>(question);
    return list.jobs.empty() ? Job() : list.jobs.front();
  }
};

// req: device.again.1
TEST_F(DeviceAgain, GoesWhenItCannotHaveRun) {
  open_without_retries();
  const MessageId id = never_left(message("TURN_OFF"));
  const std::size_t sent = calls("Enqueue").size();
  const Answer answer = redrive(id);
  EXPECT_EQ(answer.code, AnswerCode::kAccepted) << answer.detail;
  EXPECT_EQ(calls("Enqueue").size(), sent + 1);
}

// req: device.again.1
TEST_F(DeviceAgain, IsRefusedWhenItMayHaveRunUnlessSomebodyHasLooked) {
  open_without_retries();
  const MessageId id = not_acknowledged(message("TURN_OFF"), "i1");
  ASSERT_EQ(may_have_run(id), "true");
  const std::size_t sent = calls("Enqueue").size();
  const Answer refused = redrive(id);
  EXPECT_EQ(refused.code, AnswerCode::kMayHaveRun);
  EXPECT_NE(refused.detail.find("TURN_OFF may have run"), std::string::npos) << refused.detail;
  EXPECT_NE(refused.detail.find("even_if_it_ran"), std::string::npos) << refused.detail;
  pass(1min);
  EXPECT_EQ(calls("Enqueue").size(), sent);
  const Answer forced = redrive(id, true);
  EXPECT_EQ(forced.code, AnswerCode::kAccepted) << "the letter is still there: " << forced.detail;
  const std::uint64_t audit = ++tickets;
  post(ask(audit, Query::What::kAudit));
  const AuditPage page = view_of<AuditPage>(audit);
  std::vector<std::string> reasons;  // a refusal changes nothing, and is not told
  for (const AuditPage::Line& line : page.lines) {
    if (line.record.action == "redrive") reasons.push_back(line.record.reason);
  }
  EXPECT_EQ(reasons, (std::vector<std::string>{"even if it ran"}));
  EXPECT_EQ(calls("Enqueue").size(), sent + 1);
}

// req: device.again.1
TEST_F(DeviceAgain, LetsReadsGoWhateverBecameOfThem) {
  open_without_retries();
  const MessageId id = not_acknowledged(message("READ_CREDIT"), "i1");
  EXPECT_EQ(redrive(id).code, AnswerCode::kAccepted);
}

// req: device.again.1
TEST_F(DeviceAgain, IsNotKnownAnyMoreWhenTheEndIsForgottenAndItsLetterIsNot) {
  options.engine.ends.age = 1h;
  open_without_retries();
  const MessageId tried = never_left(message("TURN_OFF"));
  device::DeviceMessage late = message("TURN_ON", meter(2));
  late.expires_at = kStart + elapsed + 1min;
  add_queue("lora.network:8", push_settings());
  // Paused, so that nothing is ever tried.
  Pause pause;
  pause.caller.ticket = Ticket(++tickets);
  pause.destination = "lora.network:8";
  post(pause);
  late.network = 8;
  const MessageId untried = send(late);
  for (int i = 0; i < 8; ++i) pass(6h);
  ASSERT_EQ(redrive(tried).code, AnswerCode::kMayHaveRun) << "its end told that nothing had left";
  EXPECT_EQ(redrive(untried).code, AnswerCode::kAccepted) << "without an attempt nothing runs";
}

// req: device.again.2
TEST_F(DeviceAgain, IsKeptFromJobsToo) {
  open_without_retries();
  const MessageId safe = never_left(message("TURN_ON", meter(1)));
  const MessageId unsafe = not_acknowledged(message("TURN_OFF"), "i1");
  const Job job = run_job(JobAction::kRedrive);
  EXPECT_EQ(job.done, 1U);
  EXPECT_EQ(job.refused, 1U);
  EXPECT_NE(job.refusal.find("TURN_OFF may have run"), std::string::npos) << job.refusal;
  EXPECT_EQ(runs(safe).size(), 2U);
  EXPECT_EQ(runs(unsafe).size(), 1U);
  const Job forced = run_job(JobAction::kRedrive, true);
  EXPECT_EQ(forced.done, 1U);
  EXPECT_EQ(runs(unsafe).size(), 2U);
}

// req: device.again.3
TEST_F(DeviceAgain, IsNotBroughtFromElsewhereWhenItMayHaveRunThere) {
  open_without_retries();
  const auto command = message("TURN_OFF");
  const MessageId foreign{1234, 5678};
  EXPECT_EQ(bring(command, foreign, true).code, AnswerCode::kMayHaveRun);
  EXPECT_EQ(bring(message("READ_CREDIT"), foreign, true).code, AnswerCode::kAccepted);
  const MessageId other{1234, 5679};
  EXPECT_EQ(bring(command, other, false).code, AnswerCode::kAccepted);
  EXPECT_EQ(bring(command, foreign, true, true).code, AnswerCode::kAccepted);
}

// req: device.again.3
TEST_F(DeviceAgain, RemembersThatALetterWasBroughtInBeforeItIsSentAgain) {
  open_without_retries();
  const auto command = message("TURN_OFF");
  const MessageId id = never_left(command);
  ASSERT_EQ(bring(command, id, false).code, AnswerCode::kAccepted);
  enqueued("i2");
  const Answer second = redrive(id);
  EXPECT_EQ(second.code, AnswerCode::kMayHaveRun);
  EXPECT_NE(second.detail.find("was sent again already"), std::string::npos) << second.detail;
  restart();
  EXPECT_EQ(redrive(id).code, AnswerCode::kMayHaveRun) << "it is a record";
}

// req: device.again.3
TEST_F(DeviceAgain, IsNotMadeOfOneThatLives) {
  open_without_retries();
  const auto command = message("TURN_OFF");
  const MessageId id = send(command);
  const Answer answer = bring(command, id, false);
  EXPECT_EQ(answer.code, AnswerCode::kMayHaveRun);
  EXPECT_NE(answer.detail.find("is still under way"), std::string::npos) << answer.detail;
}

// req: device.again.4
TEST_F(DeviceAgain, IsFoundByWhoeverKnowsTheFirstRun) {
  open_without_retries();
  const auto command = message("TURN_OFF");
  const MessageId first = never_left(command);
  const MessageId second = redrive(first).id;
  lose(calls().back().attempt, WireEnd::kRefused);
  const MessageId third = redrive(second).id;
  EXPECT_EQ(runs(first), (std::vector<MessageId>{first, second, third}));
  EXPECT_EQ(runs(third), (std::vector<MessageId>{third}));
  enqueued("i3");
  txack("i3");
  ack("i3", true);
  uplink(frame(command));
  restart();
  EXPECT_EQ(runs(first), (std::vector<MessageId>{first, second, third})) << "it is a record";
  const MessageView one = shown(first);
  const MessageView two = shown(second);
  const MessageView last = shown(third);
  const std::vector<const MessageView*> all = {&one, &two, &last};
  const auto told = device::report_history({last, ids(), "queue", all});
  ASSERT_TRUE(told.has_value());
  const std::string list = told->substr(told->find("\"runs\":"));
  EXPECT_EQ(count(list, "\"acceptedAt\""), 3U) << list;
  EXPECT_EQ(count(list, "\"outcome\":\"failed\",\"mayHaveRun\":false"), 2U) << list;
  EXPECT_EQ(count(list, "\"outcome\":\"executed\",\"mayHaveRun\":true"), 1U) << list;
  EXPECT_EQ(field(*told, "outcome"), "executed");
}

// req: device.again.1
TEST_F(DeviceAgain, DoesNotMakeATokenASecondTime) {
  open_all({}, {{"vend_password", "v"}, {"life_max", "1m"}});
  device::Mint mint;
  mint.plugin = "calin";
  mint.meter = kMeter;
  mint.issued = kStart;
  mint.kwh = device::make_decimal(5, 0);
  Submit event;
  event.caller.ticket = Ticket(++tickets);
  event.destination = kPullQueue;
  event.attributes = device::mint_attributes();
  event.body = device::encode_mint(mint);
  post(event);
  const MessageId id = id_of(tickets);
  Submit again = event;
  again.caller.ticket = Ticket(++tickets);
  again.origin = id;
  post(again);
  EXPECT_EQ(code_of(tickets), AnswerCode::kMayHaveRun) << "the vendor is at it";
  lose(calls("POS_Purchase").back().attempt);
  again.caller.ticket = Ticket(++tickets);
  post(again);
  EXPECT_EQ(code_of(tickets), AnswerCode::kMayHaveRun) << told(tickets).detail;
}

// A chain of messages, each made of the one before, is told up to a bound. req: device.again.1
TEST_F(DeviceAgain, SoManyOfAChainAreTold) {
  open_without_retries();
  std::vector<MessageId> chain = {never_left(message("TURN_OFF"))};
  while (chain.size() < 35) {
    const Answer again = redrive(chain.back(), true);
    ASSERT_EQ(again.code, AnswerCode::kAccepted) << again.detail;
    chain.push_back(again.id);
    lose(calls().back().attempt, WireEnd::kRefused);
  }
  std::vector<MessageId> told = runs(chain[0]);
  EXPECT_EQ(told, std::vector<MessageId>(chain.begin(), chain.begin() + 32));
  told = runs(chain[10]);
  EXPECT_EQ(told, std::vector<MessageId>(chain.begin() + 10, chain.end()));
}

// Of one message the newest that were made of it are remembered. req: device.again.1
TEST_F(DeviceAgain, SoManyThatWereMadeOfOneAreRemembered) {
  open_without_retries();
  const MessageId first = never_left(message("TURN_OFF"));
  std::vector<MessageId> made;
  for (int i = 0; i < 34; ++i) {
    const Answer again = bring(message("TURN_OFF"), first, false, true);
    ASSERT_EQ(again.code, AnswerCode::kAccepted) << again.detail;
    made.push_back(again.id);
    lose(calls().back().attempt, WireEnd::kRefused);
  }
  std::vector<MessageId> wanted = {first};
  wanted.insert(wanted.end(), made.end() - 32, made.end());
  EXPECT_EQ(runs(first), wanted);
}

}  // namespace
}  // namespace postrider
