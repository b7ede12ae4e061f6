// What operators and those who bring news are answered, at the edges: settings that are merged, ids
// that look like others, instants in which something is due.
#include <map>
#include <memory>
#include <vector>

#include "tests/support/task_rig.h"

namespace postrider {
namespace {

class OperatorEdges : public TaskRig {
 protected:
  std::uint64_t next() { return ++questions; }
  template <class Command>
  Answer command(MessageId which) {
    Command event;
    event.caller.ticket = Ticket(next());
    event.id = which;
    post(std::move(event));
    turn();
    return told(questions);
  }
  NamedTexts settings(const std::string& name) {
    Query event = ask(next(), Query::What::kDestination);
    event.destination = name;
    post(event);
    return view_of<DestinationView>(questions).config.settings;
  }
  Answer merge(const std::string& name, NamedTexts changes) {
    Configure event;
    event.caller.ticket = Ticket(next());
    event.config.name = name;
    event.config.settings = std::move(changes);
    event.merge = true;
    post(event);
    turn();
    return told(questions);
  }
  MessageId sent(NamedTexts attributes = {{"method", "post"}}) {
    post(message(next(), std::move(attributes)));
    return id_of(questions);
  }
};

// req: engine.configure.3
TEST_F(OperatorEdges, SettingsAreMergedOneByOne) {
  open();
  post(place(next(), "mill", {{"in-use", "1"}, {"window", "8"}}));
  EXPECT_EQ(merge("nobody", {{"in-use", "2"}}).code, AnswerCode::kNotFound);
  EXPECT_EQ(merge("mill", {{"in-use", "2"}, {"tenant", "5"}}).code, AnswerCode::kDone);
  const NamedTexts now = settings("mill");
  EXPECT_EQ(*find_text(now, "in-use"), "2");
  EXPECT_EQ(*find_text(now, "tenant"), "5");
  EXPECT_EQ(*find_text(now, "window"), "8") << "what is not named stays";
  EXPECT_EQ(*find_text(now, "peer"), "peer-1");
  EXPECT_EQ(merge("mill", {{"tenant", ""}}).code, AnswerCode::kDone);
  EXPECT_EQ(find_text(settings("mill"), "tenant"), nullptr) << "an empty one is taken away";
  EXPECT_EQ(merge("mill", {{"in-use", "x"}}).code, AnswerCode::kInvalid);
  EXPECT_EQ(*find_text(settings("mill"), "in-use"), "2");
  for (int i = 0; i < 3; ++i) sent();
  EXPECT_EQ(starts().size(), 2U);
  post(ask(next(), Query::What::kAudit));
  std::vector<std::string> actions_told;
  for (const AuditPage::Line& line : view_of<AuditPage>(questions).lines)
    actions_told.push_back(line.record.action);
  EXPECT_EQ(actions_told, (std::vector<std::string>{"configure", "limits", "limits"}));
}

// An id says the destination, too: with that of another it is none. req: engine.redrive.3
TEST_F(OperatorEdges, AnIdWithTheNumberOfAnotherMessageIsNoMessage) {
  open();
  post(place(next(), "mill", {{"history", "1"}}));
  const MessageId dead = sent({{"method", "relay"}});
  post(answer(last_attempt(), 400));
  const MessageId done = sent();
  post(answer(last_attempt(), 200));
  ASSERT_EQ(phase(dead), Phase::kDead);
  ASSERT_EQ(phase(done), Phase::kDelivered);
  for (MessageId other : {dead, done}) {
    other.high += 1U << 20;
    EXPECT_EQ(command<Cancel>(other).code, AnswerCode::kNotFound);
    EXPECT_EQ(command<RetryNow>(other).code, AnswerCode::kNotFound);
    EXPECT_EQ(command<Redrive>(other).code, AnswerCode::kNotFound);
    EXPECT_EQ(command<Drop>(other).code, AnswerCode::kNotFound);
    for (const Query::What what : {Query::What::kExplain, Query::What::kMessage}) {
      Query event = ask(next(), what);
      event.id = other;
      post(event);
      turn();
      EXPECT_EQ(code_of(questions), AnswerCode::kNotFound);
    }
  }
  EXPECT_EQ(stats().counters.quarantined, 0U);
  EXPECT_EQ(command<Drop>(dead).code, AnswerCode::kDone);
}

// req: engine.receipt.1
TEST_F(OperatorEdges, AReceiptSaysWhyWhenItChangesSomething) {
  open();
  post(place(next(), "mill"));
  id = sent({{"method", "relay"}});
  post(ReceiptArrived{.id = id, .signal = On::kPeerSeen, .detail = "no news"});
  EXPECT_EQ(explained(id).reason, "");
  EXPECT_EQ(stats().tallies.ignored_signals, 1U);
  post(ReceiptArrived{.id = id, .signal = On::kDue, .detail = "not from outside"});
  EXPECT_EQ(stats().tallies.ignored_signals, 2U);
  post(ReceiptArrived{.id = id, .signal = On::kFailed, .detail = "the far side says no"});
  EXPECT_EQ(phase(id), Phase::kBackoff);
  EXPECT_EQ(explained(id).reason, "the far side says no");
  post(ReceiptArrived{.id = id, .signal = On::kRejected, .detail = ""});
  EXPECT_EQ(phase(id), Phase::kDead);
  EXPECT_EQ(explained(id).reason, "the far side says no") << "nothing new was said";
  post(ReceiptArrived{.id = id, .signal = On::kConfirmed, .detail = "late"});
  EXPECT_EQ(stats().tallies.late_receipts, 1U);
  EXPECT_EQ(phase(id), Phase::kDead);
}

// req: engine.retrynow.3
TEST_F(OperatorEdges, WhatIsDueInThisInstantHasNothingToWaitFor) {
  open();
  post(place(next(), "mill"));
  Submit later = message(next(), {{"method", "post"}});
  later.not_before = instant().wall + 10s;
  post(later);
  const MessageId which = id_of(questions);
  advance(9'999ms);
  EXPECT_TRUE(starts().empty());
  elapsed += 1ms;
  EXPECT_EQ(command<RetryNow>(which).code, AnswerCode::kNothing);
  EXPECT_EQ(starts().size(), 1U);
  later = message(next(), {{"method", "post"}});
  later.not_before = instant().wall + 10s;
  post(later);
  const MessageId other = id_of(questions);
  EXPECT_EQ(command<RetryNow>(other).detail, "due now");
  turn();
  EXPECT_EQ(starts().size(), 2U);
}

// req: engine.pause.4
TEST_F(OperatorEdges, AHoldThatEndsOrFitsFewerLetsThoseGoWhoAreNotInMemory) {
  options.engine.limits.residents_max = 1;
  options.engine.limits.restore_rows_max = 1;
  open();
  const std::vector<std::string> names = {"eu-a", "eu-b", "us-a", "us-b"};
  for (const std::string& name : names) post(place(next(), name));
  const auto health = [this] {
    std::map<std::string, Health> out;
    post(ask(next(), Query::What::kDestinations));
    turn();
    for (const DestinationView& view : view_of<DestinationPage>(questions).destinations)
      out[view.config.name] = view.route.health;
    return out;
  };
  const auto hold = [this](const std::string& prefix) {
    PutHold put;
    put.caller.ticket = Ticket(next());
    put.rule.name = "h";
    put.rule.destination_prefix = prefix;
    put.rule.reason = "because of " + prefix;
    post(put);
    for (int i = 0; i < 10; ++i) turn();
  };
  hold("");
  for (const std::string& name : names) post(message(next(), {{"method", "post"}}, name));
  for (int i = 0; i < 10; ++i) turn();
  EXPECT_TRUE(starts().empty());
  for (const auto& [name, is] : health()) EXPECT_EQ(is, Health::kPaused) << name;
  hold("us-");
  for (const auto& [name, is] : health())
    EXPECT_EQ(is, name.starts_with("us-") ? Health::kPaused : Health::kNormal) << name;
  EXPECT_EQ(starts().size(), 2U);
  DropHold drop;
  drop.name = "h";
  drop.caller.ticket = Ticket(next());
  post(drop);
  for (int i = 0; i < 10; ++i) turn();
  for (const auto& [name, is] : health()) EXPECT_EQ(is, Health::kNormal) << name;
  EXPECT_EQ(starts().size(), 4U);
}

// req: engine.pause.4
TEST_F(OperatorEdges, WhyItIsHeldIsWrittenWhenItChanges) {
  open();
  post(place(next(), "mill"));
  for (const char* why : {"first", "second"}) {
    PutHold put;
    put.caller.ticket = Ticket(next());
    put.rule.name = "h";
    put.rule.reason = why;
    post(put);
    restart();
    Query event = ask(next(), Query::What::kDestination);
    event.destination = "mill";
    post(event);
    EXPECT_EQ(view_of<DestinationView>(questions).route.reason, "hold 'h': " + std::string(why));
    const auto record = store.memory().get(keys::route(view_of<DestinationView>(questions).id));
    ASSERT_TRUE(record.has_value());
    EXPECT_EQ(decode_route(record->view())->reason, "hold 'h': " + std::string(why));
  }
}

// req: engine.pause.4
TEST_F(OperatorEdges, AHoldLeavesWhoIsPausedByHandAsItIs) {
  open();
  post(place(next(), "mill"));
  Pause pause;
  pause.caller.ticket = Ticket(next());
  pause.destination = "mill";
  pause.reason = "by hand";
  post(pause);
  PutHold put;
  put.caller.ticket = Ticket(next());
  put.rule.name = "h";
  post(put);
  const auto route = [this] {
    Query event = ask(next(), Query::What::kDestination);
    event.destination = "mill";
    post(event);
    return view_of<DestinationView>(questions).route;
  };
  EXPECT_EQ(route().reason, "by hand");
  DropHold drop;
  drop.name = "h";
  drop.caller.ticket = Ticket(next());
  post(drop);
  turn();
  EXPECT_EQ(route().health, Health::kPaused);
  EXPECT_EQ(route().reason, "by hand");
}

// req: engine.log.2
TEST_F(OperatorEdges, PagesOfTheLogThatFollowEachOtherAreReadToTheLastEntry) {
  open();
  post(place(next(), "mill"));
  std::vector<MessageId> ids;
  for (int i = 0; i < 5; ++i) ids.push_back(sent());
  for (const StartAttempt& start : starts()) post(answer(start.attempt, 200));
  for (const std::uint32_t limit : {1U, 2U, 3U, 100U}) {
    LogPosition from;
    std::vector<MessageId> read;
    for (int i = 0; i < 8; ++i) {
      Query event = ask(next(), Query::What::kLog);
      event.from = from;
      event.limit = limit;
      post(event);
      const auto page = view_of<LogPage>(questions);
      EXPECT_LE(page.entries.size(), limit);
      for (const LogEntry& entry : page.entries) read.push_back(entry.id);
      from = page.next;
    }
    EXPECT_EQ(read, ids) << limit;
  }
}

// req: engine.quarantine.2
TEST_F(OperatorEdges, MessagesWhoseDestinationCannotBeReadAreNotListed) {
  open();
  post(place(next(), "mill"));
  post(place(next(), "bell"));
  for (const char* name : {"mill", "bell"}) {
    Pause pause;
    pause.caller.ticket = Ticket(next());
    pause.destination = name;
    post(pause);
    post(message(next(), {{"method", "post"}}, name));
  }
  Query event = ask(next(), Query::What::kDestination);
  event.destination = "mill";
  post(event);
  const DestinationId mill = view_of<DestinationView>(questions).id;
  shard.reset();
  ASSERT_TRUE(store.memory().damage(keys::config(mill)));
  restart();
  post(ask(next(), Query::What::kMessages));
  turn();
  const auto page = view_of<MessagePage>(questions);
  ASSERT_EQ(page.messages.size(), 1U);
  EXPECT_EQ(page.messages[0].destination, "bell");
}

// req: engine.history.1, engine.quarantine.1
TEST_F(OperatorEdges, HistoryThatCannotBeReadIsNoMessage) {
  options.engine.ends.age = 1h;
  open();
  post(place(next(), "mill", {{"history", "1"}}));
  const MessageId which = sent();
  post(answer(last_attempt(), 200));
  pass(3h);  // the end is forgotten, the history is kept
  ASSERT_EQ(records_in(keys::kEnd), 0U);
  EXPECT_EQ(phase(which), Phase::kDelivered);
  EXPECT_EQ(explained(which).why, "it has ended, and its content is kept");
  for (const Row& row :
       store.memory()
           .scan({keys::space(keys::kHistory), keys::after_prefix(keys::space(keys::kHistory)), 10})
           .rows)
    ASSERT_TRUE(store.memory().damage(row.first));
  Query event = ask(next(), Query::What::kExplain);
  event.id = which;
  post(event);
  turn();
  EXPECT_EQ(code_of(questions), AnswerCode::kNotFound);
  EXPECT_EQ(stats().counters.quarantined, 1U);
}

// req: engine.pause.4
TEST_F(OperatorEdges, AHoldThatWasReleasedIsGoneForGood) {
  open();
  post(place(next(), "mill"));
  PutHold put;
  put.caller.ticket = Ticket(next());
  put.rule.name = "h";
  post(put);
  DropHold drop;
  drop.name = "h";
  drop.caller.ticket = Ticket(next());
  post(drop);
  EXPECT_EQ(code_of(questions), AnswerCode::kDone);
  restart();
  post(ask(next(), Query::What::kHolds));
  EXPECT_TRUE(view_of<HoldList>(questions).holds.empty());
  sent();
  EXPECT_EQ(starts().size(), 1U);
}

// req: engine.pause.4
TEST_F(OperatorEdges, AHoldMeetsWhoeverIsChangedToFitIt) {
  open();
  post(place(next(), "mill"));
  PutHold put;
  put.caller.ticket = Ticket(next());
  put.rule.name = "h";
  put.rule.tenant = "5";
  post(put);
  sent();
  EXPECT_EQ(starts().size(), 1U);
  EXPECT_EQ(merge("mill", {{"tenant", "5"}}).code, AnswerCode::kDone);
  sent();
  EXPECT_EQ(starts().size(), 1U) << "it is held now";
  EXPECT_EQ(merge("mill", {{"tenant", ""}}).code, AnswerCode::kDone);
  turn();
  EXPECT_EQ(starts().size(), 2U);
}

// req: engine.configure.8
TEST_F(OperatorEdges, NothingIsLeftOfADestinationThatWasDrained) {
  open();
  post(place(next(), "mill", {{"strikes", "1"}, {"base", "1000"}}));
  const MessageId which = sent();
  post(answer(last_attempt(), 500));
  Configure gone = place(next(), "mill");
  gone.config.removed = true;
  gone.config.draining = true;
  post(gone);
  EXPECT_EQ(code_of(questions), AnswerCode::kPending);
  EXPECT_GE(records_in(keys::kOwed), 1U);
  EXPECT_EQ(command<Cancel>(which).code, AnswerCode::kDone);
  for (int i = 0; i < 3; ++i) turn();
  EXPECT_EQ(records_in(keys::kOwed), 0U);
  EXPECT_EQ(records_in(keys::kRoute), 0U);
  EXPECT_EQ(records_in(keys::kDue), 0U);
  const auto removed = log(LogEntry::Kind::kRemoved);
  ASSERT_EQ(removed.size(), 1U);
  EXPECT_EQ(removed[0].reason, "destination 'mill' went with its last message");
  EXPECT_EQ(removed[0].at, instant().wall);
  post(place(next(), "mill"));
  EXPECT_EQ(told(questions).detail, "created");
}

// req: engine.log.2
TEST_F(OperatorEdges, ACursorBehindTheLastEntryOfAPageGoesOnWithTheNext) {
  open();
  post(place(next(), "mill"));
  for (int i = 0; i < 3; ++i) sent();
  for (const StartAttempt& start : starts()) post(answer(start.attempt, 200));
  post(ask(next(), Query::What::kLog));
  const auto all = view_of<LogPage>(questions);
  ASSERT_EQ(all.entries.size(), 3U);
  Query event = ask(next(), Query::What::kLog);
  event.from = all.entries[0].position;
  event.from.index = 999;
  post(event);
  const auto rest = view_of<LogPage>(questions);
  ASSERT_EQ(rest.entries.size(), 2U);
  EXPECT_EQ(rest.entries[0].id, all.entries[1].id);
  EXPECT_TRUE(rest.at_end);
}

// req: engine.explain.3
TEST_F(OperatorEdges, AListSaysWhereEachMessageIs) {
  open();
  post(place(next(), "mill", {{"in-use", "1"}, {"base", "7200000"}, {"strikes", "1000"}}));
  const MessageId asleep = sent();
  post(answer(last_attempt(), 408));
  const MessageId out = sent();
  const MessageId window = sent();
  post(place(next(), "bell"));
  Pause pause;
  pause.caller.ticket = Ticket(next());
  pause.destination = "bell";
  post(pause);
  post(message(next(), {{"method", "post"}}, "bell"));
  const MessageId disk = id_of(questions);
  std::map<MessageId, Explanation::Place> places;
  Query event = ask(0, Query::What::kMessages);
  do {
    event.ticket = Ticket(next());
    post(event);
    const auto page = view_of<MessagePage>(questions);
    for (const Explanation& one : page.messages) places[one.id] = one.place;
    event.cursor = page.next;
  } while (!event.cursor.empty());
  using Place = Explanation::Place;
  EXPECT_EQ(places, (std::map<MessageId, Place>{{asleep, Place::kSleeping},
                                                {out, Place::kOnTheWire},
                                                {window, Place::kWindow},
                                                {disk, Place::kDisk}}));
}

// req: engine.explain.1
TEST_F(OperatorEdges, ACapIsNotTakenForSpacing) {
  open();
  post(place(next(), "mill", {{"in-use", "1"}, {"spacing", "1"}}));
  sent();
  const MessageId second = sent();
  EXPECT_EQ(explained(second).why, "spacing: the last one of its queue left a moment ago");
  EXPECT_EQ(explained(second).next_at, instant().wall + 1ms);
  advance(1ms);
  EXPECT_EQ(explained(second).why, "cap: all 1 places are taken");
  EXPECT_FALSE(explained(second).next_at.is_set());
  post(place(next(), "mill", {{"in-use", "1"}, {"tokens", "1"}, {"burst", "1"}}));
  EXPECT_NE(explained(second).why, "spacing: the last one of its queue left a moment ago")
      << "tokens are no spacing";
}

// A letter whose end is forgotten and that cannot be read. req: engine.quarantine.1
TEST_F(OperatorEdges, ALetterThatCannotBeReadIsNone) {
  options.engine.ends.age = 1h;
  open();
  post(place(next(), "mill"));
  const MessageId which = sent({{"method", "relay"}});
  post(answer(last_attempt(), 400));
  pass(3h);
  ASSERT_EQ(records_in(keys::kEnd), 0U);
  EXPECT_EQ(explained(which).why, "it has ended and left a dead letter");
  for (const Row& row :
       store.memory()
           .scan({keys::space(keys::kDead), keys::after_prefix(keys::space(keys::kDead)), 10})
           .rows)
    ASSERT_TRUE(store.memory().damage(row.first));
  EXPECT_EQ(command<Drop>(which).code, AnswerCode::kNotFound);
  EXPECT_EQ(stats().counters.quarantined, 1U);
  EXPECT_EQ(stats().counters.dropped, 0U);
}

// req: engine.supersede.1
TEST_F(OperatorEdges, OneSupersedesNothingOfAnotherDestination) {
  open();
  post(place(next(), "mill", {{"in-use", "1"}}));
  post(place(next(), "bell", {{"in-use", "1"}}));
  std::vector<MessageId> ids;
  for (const char* name : {"mill", "bell"}) {
    post(message(next(), {{"method", "post"}}, name));  // in the way of the others
    post(message(next(), {{"method", "post"}, {"supersede", "k"}}, name));
    ids.push_back(id_of(questions));
  }
  EXPECT_EQ(phase(ids[0]), Phase::kQueued);
  EXPECT_EQ(phase(ids[1]), Phase::kQueued);
  post(message(next(), {{"method", "post"}, {"supersede", "k"}}));
  EXPECT_EQ(phase(ids[0]), Phase::kCancelled);
  EXPECT_EQ(explained(ids[0]).reason, "superseded");
  EXPECT_EQ(phase(ids[1]), Phase::kQueued);
}

// req: engine.nested.1, engine.quarantine.1
TEST_F(OperatorEdges, WhatFollowsAndCannotBeReadGoesIntoQuarantine) {
  open();
  post(place(next(), "mill"));
  shard.reset();
  const Epoch epoch = store.memory().acquire(0).value();
  auto batch = std::make_shared<WriteBatch>();
  batch->put(keys::nested(Sequence(7)), std::string_view("?"));
  store.memory().commit(epoch, batch, [](CommitOutcome) {});
  restart();
  for (int i = 0; i < 3; ++i) turn();
  EXPECT_EQ(records_in(keys::kNested), 0U);
  EXPECT_EQ(stats().counters.quarantined, 1U);
  EXPECT_EQ(log(LogEntry::Kind::kQuarantined).size(), 1U);
}

}  // namespace
}  // namespace postrider
