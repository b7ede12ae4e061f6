// Idle lives: a destination that a message made like a template goes when it is empty and was not
// used for the time that the template says, and stays for everything that speaks against it.
#include <string>

#include "postrider/model/records/keys.h"
#include "tests/support/shard_rig.h"

namespace postrider {
namespace {

class Idle : public ShardRig {
 protected:
  std::uint64_t next() { return ++ticket_; }
  Answer last() const { return told(ticket_); }
  Answer put(const std::string& name, NamedTexts settings, const std::string& profile = "webhook") {
    Configure event = configure(next(), "x", std::move(settings));
    event.config.name = name;
    event.config.profile = profile;
    if (profile != "webhook") event.config.settings.pop_back();
    post(std::move(event));
    return last();
  }
  // A template whose destinations go after an hour.
  void open_with_template() {
    open();
    ASSERT_EQ(put("hook:*", {{"idle_life", "1h"}}).code, AnswerCode::kDone);
  }
  MessageId send(const std::string& name) {
    post(submit(next(), name));
    EXPECT_EQ(last().code, AnswerCode::kAccepted);
    return last().id;
  }
  void deliver(const std::string& name) {
    send(name);
    post(answer(last_attempt(), 200));
  }
  Answer command(Configure event) {
    event.caller.ticket = Ticket(next());
    post(std::move(event));
    return last();
  }
  // Time goes by as it does in a daemon, which wakes up for its timers.
  void pass(Duration time) {
    for (Duration left = time; left > Duration(0);) {
      const Duration by = std::min<Duration>(left, 1min);
      left -= by;
      advance(by);
      turn();
      turn();
    }
  }
  bool is_there(const std::string& name) {
    Query query = ask(next(), Query::What::kDestination);
    query.destination = name;
    post(query);
    return last().code != AnswerCode::kNotFound;
  }
  std::size_t rows(char space) {
    return store.memory()
        .scan({keys::space(space), keys::after_prefix(keys::space(space)), 100'000})
        .rows.size();
  }

 private:
  std::uint64_t ticket_ = 100;
};

// req: engine.template.9
TEST_F(Idle, GoesWhenNothingCameToItForTheLifeAndNotBefore) {
  open_with_template();
  deliver("hook:a");
  pass(59min);
  EXPECT_TRUE(is_there("hook:a"));
  pass(1min + 8min);  // a walk is at most an eighth of the life away
  EXPECT_FALSE(is_there("hook:a"));
  EXPECT_EQ(rows(keys::kLike), 0U);
  EXPECT_EQ(rows(keys::kConfig), 1U) << "a tombstone, as of any that was removed";
}

// req: engine.template.9
TEST_F(Idle, CountsFromTheEndOfTheLastMessage) {
  open();
  put("hook:*", {{"idle_life", "1h"}, {"time_out", "10m"}});
  send("hook:a");
  pass(9min);
  post(answer(last_attempt(), 200));
  pass(59min);
  EXPECT_TRUE(is_there("hook:a"));
  pass(10min);
  EXPECT_FALSE(is_there("hook:a"));
}

// req: engine.template.9
TEST_F(Idle, EveryUseCountsAndFewAreWritten) {
  open_with_template();
  deliver("hook:a");
  std::size_t written = 0;
  for (int i = 0; i < 60; ++i) {
    const std::string key = keys::like("hook:*", destination_id("hook:a", "hook:a", 0));
    const auto before = store.memory().get(key);
    deliver("hook:a");
    const auto after = store.memory().get(key);
    written += before->view() == after->view() ? 0U : 1U;
    pass(2min);
  }
  EXPECT_LE(written, 16U + 1U) << "eight in an hour";
  EXPECT_GE(written, 8U);
  pass(57min);
  EXPECT_TRUE(is_there("hook:a"));
}

// req: engine.template.9
TEST_F(Idle, OfATemplateWithoutALifeStaysForEver) {
  open();
  put("hook:*", {});
  deliver("hook:a");
  pass(72h);
  EXPECT_TRUE(is_there("hook:a"));
}

// req: engine.template.10
TEST_F(Idle, StaysWhileItHasMessages) {
  open_with_template();
  send("hook:a");  // in flight, and then in back-off
  Submit later = submit(next(), "hook:b");
  later.not_before = kStart + elapsed + 5h;
  post(std::move(later));
  for (int i = 0; i < 4; ++i) {
    pass(1h);
    EXPECT_TRUE(is_there("hook:a"));
    EXPECT_TRUE(is_there("hook:b"));
  }
}

// req: engine.template.10
TEST_F(Idle, StaysWithSettingsOfItsOwnAndWhilePaused) {
  open_with_template();
  for (const char* name : {"hook:own", "hook:paused"}) deliver(name);
  Configure own;
  own.config.name = "hook:own";
  own.config.settings = {{"in_flight_max", "3"}};
  own.merge = true;
  ASSERT_EQ(command(own).code, AnswerCode::kDone);
  post(Pause{{.ticket = Ticket(next())}, "hook:paused", "maintenance"});
  pass(5h);
  EXPECT_TRUE(is_there("hook:own"));
  EXPECT_TRUE(is_there("hook:paused"));
  own.config.settings = {{"in_flight_max", ""}};
  ASSERT_EQ(command(own).code, AnswerCode::kDone);
  post(Resume{{.ticket = Ticket(next())}, "hook:paused"});
  pass(20min);
  EXPECT_TRUE(is_there("hook:own")) << "a change of its settings is a use";
  EXPECT_FALSE(is_there("hook:paused"));
  pass(1h);
  EXPECT_FALSE(is_there("hook:own"));
}

// req: engine.template.10
TEST_F(Idle, StaysWhileItHasDeadLetters) {
  open_with_template();
  const MessageId id = send("hook:a");
  post(answer(last_attempt(), 400));
  pass(3h);
  EXPECT_TRUE(is_there("hook:a"));
  post(Drop{{.ticket = Ticket(next())}, id});
  pass(20min);
  EXPECT_FALSE(is_there("hook:a"));
}

// req: engine.template.10
TEST_F(Idle, AMailboxStaysWhileAReaderWaits) {
  open();
  ASSERT_EQ(put("in:*", {{"idle_life", "5m"}}, "mailbox").code, AnswerCode::kDone);
  const MessageId id = send("in:a");
  pass(1h);
  EXPECT_TRUE(is_there("in:a")) << "its message waits";
  Confirm confirm;
  confirm.caller.ticket = Ticket(next());
  confirm.destination = "in:a";
  confirm.ids = {id};
  post(confirm);
  Await await;
  await.ticket = Ticket(next());
  await.destination = "in:a";
  await.at_most = 10min;
  post(await);
  pass(9min);
  EXPECT_TRUE(is_there("in:a"));
  pass(2min);
  EXPECT_FALSE(is_there("in:a"));
  send("in:a");
}

// req: engine.template.11
TEST_F(Idle, IsMadeAgainByItsNextMessage) {
  open_with_template();
  const DestinationId id = send("hook:a").destination();
  post(answer(last_attempt(), 200));
  pass(80min);
  ASSERT_FALSE(is_there("hook:a"));
  EXPECT_EQ(send("hook:a").destination(), id);
  EXPECT_EQ(starts().size(), 2U);
}

// req: engine.template.11
TEST_F(Idle, AMessageOfTheSameTurnKeepsItOrMakesItAgain) {
  open_with_template();
  for (const bool message_first : {true, false}) {
    deliver("hook:a");
    advance(67min);  // the timer of the walk is due with the next turn
    elapsed += 8min;
    if (message_first) {
      ASSERT_TRUE(shard->post(submit(next(), "hook:a")));
    }
    turn();
    if (!message_first) {
      ASSERT_TRUE(shard->post(submit(next(), "hook:a")));
    }
    for (int i = 0; i < 4; ++i) turn();
    EXPECT_EQ(last().code, AnswerCode::kAccepted);
    EXPECT_TRUE(is_there("hook:a"));
    post(answer(last_attempt(), 200));
    pass(80min);
    EXPECT_FALSE(is_there("hook:a"));
  }
}

// req: engine.template.11
TEST_F(Idle, GoesAfterARestartThatForgotEverythingInMemory) {
  open_with_template();
  deliver("hook:a");
  pass(30min);
  deliver("hook:b");
  pass(25min);
  open();
  pass(4min);
  EXPECT_TRUE(is_there("hook:a"));
  pass(20min);  // the mark on disk may be an eighth too early, and the walk an eighth late
  EXPECT_FALSE(is_there("hook:a"));
  EXPECT_TRUE(is_there("hook:b"));
  elapsed += 10h;  // while the daemon is off
  open();
  pass(1min);
  EXPECT_FALSE(is_there("hook:b")) << "looked for at the start";
}

// req: engine.template.11
TEST_F(Idle, DestinationsThatAreNotInMemoryGoToo) {
  options.engine.limits.residents_max = 1;
  options.engine.limits.refill_rows_max = 2;
  open_with_template();
  for (int i = 0; i < 9; ++i) deliver("hook:" + std::to_string(i));
  pass(30min);
  deliver("hook:4");
  pass(45min);
  EXPECT_EQ(rows(keys::kLike), 1U);
  EXPECT_TRUE(is_there("hook:4"));
  pass(30min);
  EXPECT_EQ(rows(keys::kLike), 0U);
}

// req: engine.template.11
TEST_F(Idle, ALifeThatIsSetLaterCountsFromThen) {
  open();
  put("hook:*", {});
  deliver("hook:a");
  pass(5h);
  put("hook:*", {{"idle_life", "1h"}});
  pass(59min);
  EXPECT_TRUE(is_there("hook:a"));
  put("hook:*", {{"idle_life", "1h"}, {"in_flight_max", "4"}});
  pass(10min);
  EXPECT_FALSE(is_there("hook:a")) << "another setting does not begin it anew";
}

// req: engine.template.11
TEST_F(Idle, ALifeThatIsTakenBackEndsIt) {
  open_with_template();
  deliver("hook:a");
  pass(50min);
  put("hook:*", {});
  pass(5h);
  EXPECT_TRUE(is_there("hook:a"));
  deliver("hook:a");
  put("hook:*", {{"idle_life", "1h"}});
  pass(59min);
  EXPECT_TRUE(is_there("hook:a"));
  pass(10min);
  EXPECT_FALSE(is_there("hook:a"));
}

// req: engine.template.11
TEST_F(Idle, AnEntryThatCannotBeReadCountsAsUsedNow) {
  options.engine.limits.residents_max = 1;
  open_with_template();
  const DestinationId id = send("hook:a").destination();
  post(answer(last_attempt(), 200));
  deliver("hook:b");
  pass(50min);
  ASSERT_TRUE(store.memory().damage(keys::like("hook:*", id)));
  open();
  pass(59min);
  EXPECT_TRUE(is_there("hook:a"));
  EXPECT_FALSE(is_there("hook:b"));
  pass(30min);
  EXPECT_FALSE(is_there("hook:a"));
}

// req: engine.template.9
TEST_F(Idle, IsToldWithItsName) {
  open_with_template();
  deliver("hook:a");
  pass(80min);
  Query query = ask(next(), Query::What::kLog);
  query.limit = 100;
  post(query);
  bool told_of = false;
  for (const LogEntry& entry : view_of<LogPage>(query.ticket.value()).entries)
    told_of = told_of || (entry.kind == LogEntry::Kind::kRemoved && entry.destination == "hook:a" &&
                          entry.reason.find("nothing to do for 1h") != std::string::npos);
  EXPECT_TRUE(told_of);
}

}  // namespace
}  // namespace postrider
