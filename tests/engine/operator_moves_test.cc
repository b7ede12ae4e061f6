// What operators set going, at its edges: settings that change while a lane sleeps, messages that
// are revived, letters that cannot be sent again, jobs over restarts.
#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "tests/support/bulk_rig.h"
#include "tests/support/spec_rig.h"

namespace postrider {
namespace {

class OperatorMoves : public SpecRig {
 protected:
  Configure removal(bool draining) {
    Configure event = place(next(), "mill");
    event.config.removed = true;
    event.config.draining = draining;
    return event;
  }
  JobId redrive_all() {
    StartJob start;
    start.caller.ticket = Ticket(next());
    start.order.action = JobAction::kRedrive;
    post(start);
    EXPECT_EQ(code_of(questions), AnswerCode::kDone);
    return JobId(id_of(questions).low);
  }
  Job job(JobId which) {
    Query event = ask(next(), Query::What::kJob);
    event.job = which;
    post(event);
    return view_of<JobList>(questions).jobs.front();
  }
};

// req: engine.redrive.1
TEST_F(OperatorMoves, ALetterWhoseContentIsLostGoesIntoQuarantineWhenItIsSentAgain) {
  open_mill();
  id = sent({{"method", "once"}});
  post(answer(last_attempt(), 400));
  const auto letters = store.memory().scan(
      {keys::space(keys::kDead), keys::after_prefix(keys::space(keys::kDead)), 10});
  ASSERT_EQ(letters.rows.size(), 1U);
  ASSERT_TRUE(store.memory().damage(letters.rows[0].first));
  EXPECT_EQ(command<Redrive>(id).detail, "its content cannot be read; it is in quarantine");
  EXPECT_EQ(stats().counters.quarantined, 1U);
  EXPECT_EQ(records_in(keys::kDead), 0U);
  EXPECT_EQ(records_in(keys::kQuarantine), 1U);
}

// req: engine.configure.8
TEST_F(OperatorMoves, WhoIsNotDrainedAnyMoreIsNotLookedForAfterARestart) {
  open_mill();
  sent({{"method", "post"}});
  post(removal(true));
  ASSERT_EQ(code_of(questions), AnswerCode::kPending);
  EXPECT_EQ(records_in(keys::kOwed), 1U);
  post(place(next(), "mill"));
  ASSERT_EQ(told(questions).detail, "changed");
  EXPECT_EQ(records_in(keys::kOwed), 0U);
}

// req: engine.lane.2
TEST_F(OperatorMoves, ALaneThatIsNoOrderAnyMoreDoesNotWaitForItsFirst) {
  open_mill({{"fifo", "1"}, {"base", "7200000"}, {"strikes", "1000"}});
  id = sent({{"method", "post"}});
  post(answer(last_attempt(), 408));
  sent({{"method", "post"}});
  sent({{"method", "post"}});
  turn();
  ASSERT_EQ(starts().size(), 1U);
  post(place(next(), "mill", {{"fifo", "0"}, {"base", "7200000"}, {"strikes", "1000"}}));
  turn();
  EXPECT_EQ(starts().size(), 3U);
  EXPECT_EQ(phase(id), Phase::kBackoff);
}

// req: engine.lane.2
TEST_F(OperatorMoves, WhoIsRevivedBeforeTheFirstOfALaneDoesNotWaitForItsSleep) {
  open_mill({{"fifo", "1"}, {"base", "7200000"}, {"attempts", "2"}, {"strikes", "1000"}});
  id = sent({{"method", "post"}});
  post(answer(last_attempt(), 408));
  EXPECT_EQ(command<RetryNow>(id).detail, "due now");
  turn();
  post(answer(last_attempt(), 408));
  ASSERT_EQ(phase(id), Phase::kParked);
  const MessageId first = sent({{"method", "post"}});
  ASSERT_EQ(starts().size(), 3U);
  EXPECT_EQ(command<RetryNow>(id).detail, "revived");
  EXPECT_EQ(starts().size(), 3U) << "the first is under way";
  post(answer(last_attempt(), 408));
  turn();
  EXPECT_EQ(phase(first), Phase::kBackoff);
  ASSERT_EQ(starts().size(), 4U);
  EXPECT_EQ(starts().back().message, id);
}

// A profile may send one back to sleep that waits for its turn. req: engine.life.1
TEST_F(OperatorMoves, WhoFallsAsleepInLineIsNotInLine) {
  std::vector<Method> methods(spec_.methods.begin(), spec_.methods.end());
  std::vector<Transition> rows(methods[1].rows.begin(), methods[1].rows.end());
  const Transition fails = *find_row(rows, 2, On::kFailed);  // of one that is being sent
  for (Transition& row : rows) {
    if (row.on == On::kFailed && row.verb == Do::kIgnore) row.from &= ~in(0);
  }
  rows.push_back(fails);
  rows.back().from = in(0);
  methods[1].rows = rows;
  ASSERT_TRUE(sound(spec_.states, methods[1]));
  spec_.methods = methods;
  for (const char* fifo : {"0", "1"}) {
    open_mill({{"fifo", fifo}, {"in-use", "1"}, {"base", "10000"}, {"strikes", "1000"}});
    sent({{"method", "post"}});
    id = sent({{"method", "post"}});
    receipt(id, On::kFailed);
    EXPECT_EQ(phase(id), Phase::kBackoff);
    const std::size_t before = starts().size();
    post(answer(last_attempt(), 200));
    pass(9s);
    EXPECT_EQ(starts().size(), before) << fifo;
    pass(2s);
    ASSERT_EQ(starts().size(), before + 1) << fifo;
    post(answer(last_attempt(), 200));
    post(removal(false));
    ASSERT_EQ(code_of(questions), AnswerCode::kDone) << fifo;
  }
  shard.reset();
}

// Whether an older one of its key waits must be read before such a letter is sent again.
// req: engine.job.3
TEST_F(OperatorMoves, AJobSendsLettersAgainThatSupersedeOthers) {
  open_mill();
  std::vector<MessageId> letters;
  for (const char* key : {"a", "b", "c"}) {
    letters.push_back(sent({{"method", "once"}, {"supersede", key}}));
    post(answer(last_attempt(), 400));
  }
  restart();
  const JobId which = redrive_all();
  for (int i = 0; i < 20 && job(which).state == JobState::kRunning; ++i) advance(100ms);
  EXPECT_EQ(job(which).done, 3U);
  ASSERT_EQ(starts().size(), 3U);
  for (std::size_t i = 0; i < 3; ++i)
    EXPECT_EQ(explained(starts()[i].message).origin, letters[i]) << i;
}

// Two names with one hash have numbers that follow each other. req: engine.limit.1
TEST_F(OperatorMoves, QueuesWhoseNamesHashAlikeAreListedBoth) {
  std::map<std::uint64_t, std::string> met;
  std::vector<std::string> alike;
  for (int i = 0; alike.empty(); ++i) {
    const std::string name = "d" + std::to_string(i);
    const auto [place, is_new] = met.try_emplace(destination_id(name, name, 0).value(), name);
    if (!is_new) alike = {place->second, name};
  }
  options.engine.limits.residents_max = 1;
  open();
  for (const std::string& name : alike) {
    post(place(next(), name));
    command_to<Pause>(name);
    post(message(next(), {{"method", "post"}}, name));
  }
  post(place(next(), "another"));
  post(ask(next(), Query::What::kQueues));
  turn();
  std::vector<std::string> listed;
  for (const QueueRow& row : view_of<QueuePage>(questions).rows) listed.push_back(row.destination);
  EXPECT_EQ(listed, alike);
}

class JobMoves : public Bulk {};

// req: engine.job.3
TEST_F(JobMoves, LettersOfADestinationThatIsGoneHaveNoPrefix) {
  open_with({"shop", "ship"});
  kill("shop", 2);
  kill("ship", 1);
  Configure gone = configure(next(), "shop");
  gone.config.removed = true;
  post(gone);
  ASSERT_EQ(code_of(ticket_), AnswerCode::kDone);
  StartJob drop = order(JobAction::kDrop);
  drop.order.filter.destination_prefix = "sh";
  const JobId id = start(drop);
  for (int i = 0; i < 20 && job(id).state == JobState::kRunning; ++i) advance(100ms);
  EXPECT_EQ(job(id).done, 1U);
  EXPECT_EQ(job(id).looked, 3U);
}

// req: engine.dead.5
TEST_F(JobMoves, ARoundThatIsOverdueAfterARestartBeginsAtOnce) {
  open_with({"shop"});
  kill("shop", 1);
  StartJob often = order(JobAction::kRedrive, "shop");
  often.order.every = 1h;
  const JobId id = start(often);
  advance(1s);
  ASSERT_EQ(job(id).state, JobState::kWaiting);
  post(answer(last_attempt(), 400));
  elapsed += 3h;
  open();
  const Timestamp began = instant().wall;
  advance(1ms);
  advance(1s);
  EXPECT_EQ(job(id).done, 2U);
  EXPECT_EQ(job(id).round_at, began + 1ms);
}

// req: engine.restore.6
TEST_F(JobMoves, AJobLooksTenTimesASecondWhetherTheRestoreIsOver) {
  open_with({"shop"});
  kill("shop", 3);
  store.holds_reads = true;
  open();
  release_read();  // the books; what follows is the restore
  const JobId id = start(order(JobAction::kDrop));
  ASSERT_GT(store.reads_held(), 0U);
  store.holds_reads = false;
  while (store.reads_held() > 0) release_read();
  advance(99ms);
  EXPECT_EQ(job(id).looked, 0U);
  advance(1ms);
  EXPECT_EQ(job(id).done, 3U);
}

// What nobody in memory needs any more takes no place in the window. req: engine.fanout.6
TEST_F(JobMoves, ABodyThatAllHaveLeavesTheWindow) {
  options.engine.limits.window_bytes_max = 6000;
  open_with({"a", "b"});
  ChangeGroup group;
  group.caller.ticket = Ticket(next());
  group.what = ChangeGroup::What::kPut;
  group.group.name = "g";
  group.group.members = {{"a", {}}, {"b", {}}};
  post(group);
  for (std::size_t round = 0; round < 3; ++round) {
    FanOut event;
    event.caller.ticket = Ticket(next());
    event.group = "g";
    event.body = std::string(3000, 'x');
    post(event);
    const std::size_t hot =
        store.memory()
            .scan({keys::space(keys::kHot), keys::after_prefix(keys::space(keys::kHot)), 100})
            .rows.size();
    EXPECT_EQ(hot, 2U) << round;
    ASSERT_EQ(starts().size(), 2U * (round + 1)) << round;
    post(answer(attempt(starts().size() - 2), 200));
    post(answer(last_attempt(), 200));
  }
}

// req: engine.fair.1
TEST_F(JobMoves, ABodyOf64KiBCostsOneStartMore) {
  for (const bool large : {false, true}) {
    options.engine.limits.open_attempts_max = 1;
    open();
    post(configure(next(), "a", {{"tenant", "one"}}));
    post(configure(next(), "b", {{"tenant", "two"}}));
    for (int i = 0; i < 6; ++i) {
      Submit event = submit(next(), "a");
      event.body = std::string(large ? 64U << 10 : 60U << 10, 'x');
      post(event);
      post(submit(next(), "b"));
    }
    std::string order;
    for (int i = 0; i < 6; ++i) {
      order += starts().back().request.target.find("a.example") != std::string::npos ? 'a' : 'b';
      post(answer(last_attempt(), 200));
    }
    EXPECT_EQ(order, large ? "abbabb" : "ababab");
    for (int i = 0; i < 6; ++i) post(answer(last_attempt(), 200));
  }
}

// So much, and no more: the largest bodies would keep their tenant waiting for ever.
// req: engine.fair.1
TEST_F(JobMoves, ABodyCostsSixteenStartsAtMost) {
  options.engine.limits.open_attempts_max = 1;
  options.engine.limits.body_bytes_max = 4U << 20;
  open();
  post(configure(next(), "a", {{"tenant", "one"}}));
  post(configure(next(), "b", {{"tenant", "two"}}));
  for (int i = 0; i < 2; ++i) {
    Submit event = submit(next(), "a");
    event.body = std::string(2U << 20, 'x');
    post(event);
  }
  for (int i = 0; i < 20; ++i) post(submit(next(), "b"));
  std::string order;
  for (int i = 0; i < 18; ++i) {
    order += starts().back().request.target.find("a.example") != std::string::npos ? 'a' : 'b';
    post(answer(last_attempt(), 200));
  }
  EXPECT_EQ(order, "a" + std::string(16, 'b') + "a");
}

}  // namespace
}  // namespace postrider
