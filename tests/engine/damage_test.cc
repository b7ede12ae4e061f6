// A record that cannot be read is met on many ways: by a command, a question, a page, a restart. On
// each of them it goes into quarantine, is counted and told, and everything else goes on.
#include <functional>

#include "tests/support/task_rig.h"

namespace postrider {
namespace {

class Damage : public TaskRig {
 protected:
  std::uint64_t next() { return ++questions; }
  // All records of a space are spoilt; how many there were.
  std::size_t spoil(char space) {
    const Rows rows = store.memory().scan(
        {keys::space(space), keys::after_prefix(keys::space(space)), 1'000'000});
    for (const Row& row : rows.rows) EXPECT_TRUE(store.memory().damage(row.first));
    return rows.rows.size();
  }
  // Spoils one record and meets it: it is in quarantine, and not where it was.
  void is_quarantined(char space, const std::function<void()>& meet) {
    const std::uint64_t before = stats().counters.quarantined;
    const std::size_t noted = log(LogEntry::Kind::kQuarantined).size();
    const std::size_t kept = records_in(keys::kQuarantine);
    const std::size_t count = spoil(space);
    ASSERT_GE(count, 1U);
    meet();
    turn();
    EXPECT_EQ(stats().counters.quarantined, before + count);
    EXPECT_EQ(records_in(space), 0U);
    EXPECT_EQ(records_in(keys::kQuarantine), kept + count);
    EXPECT_EQ(log(LogEntry::Kind::kQuarantined).size(), noted + count);
  }
  Answer asked(Query::What what, const std::function<void(Query&)>& change = {}) {
    const std::uint64_t ticket = next();
    Query event = ask(ticket, what);
    if (change) change(event);
    post(event);
    turn();
    return told(ticket);
  }
  Submit keyed(OperationKey key) {
    Submit event = message(next(), {{"method", "post"}});
    event.caller.key = std::move(key);
    return event;
  }
  static OperationKey numbered(std::uint64_t sequence) {
    OperationKey key;
    key.kind = OperationKey::Kind::kSequenced;
    key.key = "session";
    key.sequence = sequence;
    return key;
  }
  void open_with(const NamedTexts& settings = {}) {
    open();
    post(place(next(), "mill", settings));
  }
};

// req: engine.quarantine.1
TEST_F(Damage, OfTheLedgerMakesAKeyExpire) {
  open_with();
  post(keyed(opaque("k")));
  EXPECT_EQ(code_of(questions), AnswerCode::kAccepted);
  is_quarantined(keys::kLedger, [this] {
    post(keyed(opaque("k")));
    EXPECT_EQ(code_of(questions), AnswerCode::kKeyExpired) << "nobody can tell what it was";
  });
}

TEST_F(Damage, OfTheLedgerIsSeenByWhoAsks) {
  open_with();
  post(keyed(opaque("k")));
  is_quarantined(keys::kLedger, [this] {
    const Answer answer =
        asked(Query::What::kOperation, [](Query& event) { event.key = opaque("k"); });
    EXPECT_EQ(answer.code, AnswerCode::kKeyExpired);
  });
  EXPECT_EQ(asked(Query::What::kOperation, [](Query& event) { event.key = opaque("k"); }).code,
            AnswerCode::kNotFound);
}

// req: engine.quarantine.1
TEST_F(Damage, OfASessionIsToldAndTheNextNumberGoesOn) {
  open_with();
  OperationKey key = numbered(1);
  key.made = instant().wall;
  post(keyed(key));
  ASSERT_EQ(code_of(questions), AnswerCode::kAccepted);
  ASSERT_EQ(spoil(keys::kSession), 1U);
  key.sequence = 2;
  post(keyed(key));
  EXPECT_EQ(code_of(questions), AnswerCode::kAccepted);
  EXPECT_EQ(stats().counters.quarantined, 1U);
  EXPECT_EQ(records_in(keys::kQuarantine), 1U);
}

// req: engine.quarantine.1
TEST_F(Damage, OfANameMakesItUnknown) {
  open_with_task();
  accept_task("t1");
  restart();
  is_quarantined(keys::kName, [this] { post(news(next(), "done t1")); });
  EXPECT_EQ(phase(id), Phase::kAwaiting);
  EXPECT_EQ(stats().tallies.unknown_names, 1U);
}

// req: engine.quarantine.1
TEST_F(Damage, OfNewsThatWaits) {
  open_with_task();
  post(news(next(), "done t1"));
  is_quarantined(keys::kPendingNews, [this] { accept_task("t1"); });
  EXPECT_EQ(phase(id), Phase::kAwaiting);
}

// req: engine.quarantine.1
TEST_F(Damage, OfADestinationMakesItUnknown) {
  open_with();
  restart();
  is_quarantined(keys::kConfig, [this] {
    post(message(next(), {{"method", "post"}}));
    EXPECT_EQ(code_of(questions), AnswerCode::kNotFound);
  });
}

TEST_F(Damage, OfADestinationIsSeenByAList) {
  open_with();
  restart();
  is_quarantined(keys::kConfig, [this] {
    const Answer answer = asked(Query::What::kDestinations);
    EXPECT_TRUE(std::get<DestinationPage>(answer.view).destinations.empty());
  });
}

// One step looks at it several times, and it is counted once.
// req: engine.quarantine.1
TEST_F(Damage, OfADestinationIsSeenByItsMessages) {
  options.engine.limits.residents_max = 0;
  open_with();
  command_to<Pause>();
  post(message(next(), {{"method", "post"}}));
  const MessageId which = id_of(questions);
  is_quarantined(keys::kConfig,
                 [&] { asked(Query::What::kExplain, [&](Query& event) { event.id = which; }); });
}

// req: engine.quarantine.1
TEST_F(Damage, OfARouteMakesItNormal) {
  options.engine.limits.residents_max = 0;
  open_with();
  command_to<Pause>();
  ASSERT_EQ(spoil(keys::kRoute), 1U);
  const Answer answer =
      asked(Query::What::kDestination, [](Query& event) { event.destination = "mill"; });
  EXPECT_EQ(std::get<DestinationView>(answer.view).route.health, Health::kNormal);
  EXPECT_EQ(stats().counters.quarantined, 1U);
  EXPECT_EQ(records_in(keys::kQuarantine), 1U);
}

// A list reads the routes of those that are not in memory. req: engine.quarantine.1
TEST_F(Damage, OfARouteThatAListMeetsLeavesNobodyParked) {
  options.engine.limits.residents_max = 0;
  open_with({{"attempts", "1"}, {"strand", "1"}, {"strikes", "1000"}});
  post(message(next(), {{"method", "post"}}));
  post(ended(last_attempt(), WireEnd::kRefused));
  ASSERT_EQ(stats().in_window, 0U);
  ASSERT_EQ(spoil(keys::kRoute), 1U);
  const Answer answer = asked(Query::What::kDestinations);
  EXPECT_EQ(std::get<DestinationPage>(answer.view).destinations.size(), 1U);
  EXPECT_EQ(stats().counters.quarantined, 1U);
  EXPECT_EQ(starts().size(), 2U) << "whether somebody waited is lost, so one is tried";
}

// req: engine.quarantine.1
TEST_F(Damage, OfWhatIsOwedLosesNoMessage) {
  open_with();
  command_to<Pause>();
  for (int i = 0; i < 3; ++i) post(message(next(), {{"method", "post"}}));
  const std::size_t count = spoil(keys::kOwed);
  EXPECT_EQ(count, 1U);
  restart();
  EXPECT_EQ(stats().counters.quarantined, 1U);
  Resume resume;
  resume.caller.ticket = Ticket(next());
  resume.destination = "mill";
  post(resume);
  pass(1s);
  EXPECT_EQ(starts().size(), 3U);
}

// req: engine.quarantine.1
TEST_F(Damage, OfAPageOfTheCensusIsSaid) {
  open_with();
  command_to<Pause>();
  post(message(next(), {{"method", "post"}}));
  ASSERT_EQ(spoil(keys::kCensusPage), 1U);
  restart();
  pass(1s);
  EXPECT_EQ(stats().counters.quarantined, 1U);
  EXPECT_EQ(records_in(keys::kCensusPage), 0U);
  EXPECT_FALSE(stats().all_counted);
}

// req: engine.quarantine.1
TEST_F(Damage, OfACensusIsSaid) {
  options.engine.limits.census_pages_max = 1;
  open_with();
  post(place(next(), "barn"));
  for (const std::string name : {"mill", "barn"}) {
    command_to<Pause>(name);
    post(message(next(), {{"method", "post"}}, name));
  }
  ASSERT_EQ(spoil(keys::kCensus), 1U);
  restart();
  pass(1s);
  EXPECT_EQ(stats().counters.quarantined, 1U);
  EXPECT_FALSE(stats().all_counted);
}

// req: engine.quarantine.1
TEST_F(Damage, OfWhatIsListedIsLeftOut) {
  open_with_task({{"history", "1"}});
  post(news(next(), "done t1"));
  is_quarantined(keys::kArrival, [this] {
    EXPECT_TRUE(std::get<ArrivalPage>(asked(Query::What::kArrivals).view).arrivals.empty());
  });
  is_quarantined(keys::kAudit, [this] {
    EXPECT_TRUE(std::get<AuditPage>(asked(Query::What::kAudit).view).lines.empty());
  });
  post(message(next(), {{"method", "relay"}}));
  post(answer(last_attempt(), 400));
  is_quarantined(keys::kDead, [this] {
    EXPECT_TRUE(std::get<DeadLetters>(asked(Query::What::kDeadLetters).view).letters.empty());
  });
  EXPECT_EQ(std::get<DeadGroupList>(asked(Query::What::kDeadGroups).view).unreadable, 1U);
}

// req: engine.quarantine.1
TEST_F(Damage, OfTheLogIsLeftOut) {
  open_with();
  post(message(next(), {{"method", "post"}}));
  post(answer(last_attempt(), 200));
  const std::size_t count = spoil(keys::kLog);
  ASSERT_GE(count, 1U);
  const auto page = std::get<LogPage>(asked(Query::What::kLog).view);
  EXPECT_TRUE(page.entries.empty());
  EXPECT_EQ(stats().counters.quarantined, count);
}

// req: engine.quarantine.1
TEST_F(Damage, OfAnEndMakesItUnknown) {
  open_with();
  post(message(next(), {{"method", "post"}}));
  const MessageId which = id_of(questions);
  post(answer(last_attempt(), 200));
  is_quarantined(keys::kEnd, [&] {
    EXPECT_EQ(asked(Query::What::kExplain, [&](Query& event) { event.id = which; }).code,
              AnswerCode::kNotFound);
  });
}

// req: engine.quarantine.1
TEST_F(Damage, OfALetterMeetsWhoeverSendsItAgain) {
  for (const JobAction action : {JobAction::kRedrive, JobAction::kDrop}) {
    open_with();
    post(message(next(), {{"method", "relay"}}));
    post(answer(last_attempt(), 400));
    is_quarantined(keys::kDead, [&] {
      StartJob start;
      start.caller.ticket = Ticket(next());
      start.order.action = action;
      start.order.rate = 1000;
      post(start);
      pass(1s);
    });
    EXPECT_EQ(stats().counters.redriven + stats().counters.dropped, 0U);
  }
}

// req: engine.quarantine.1, engine.fanout.8
TEST_F(Damage, OfAGroupMakesItUnknown) {
  open_with();
  const auto put = [this](const std::string& name) {
    ChangeGroup change;
    change.caller.ticket = Ticket(next());
    change.what = ChangeGroup::What::kPut;
    change.group.name = name;
    change.group.members.push_back({"mill", {}});
    post(change);
    EXPECT_EQ(code_of(questions), AnswerCode::kDone);
  };
  put("one");
  is_quarantined(keys::kFanout, [this] {
    EXPECT_TRUE(std::get<FanoutGroupPage>(asked(Query::What::kFanoutGroups).view).groups.empty());
  });
  put("all");
  is_quarantined(keys::kFanout, [this] {
    EXPECT_EQ(asked(Query::What::kFanoutGroup, [](Query& event) { event.group = "all"; }).code,
              AnswerCode::kNotFound);
  });
}

// req: engine.quarantine.1
TEST_F(Damage, OfBooksDoesNotKeepTheEngineFromStarting) {
  open_with();
  PutHold hold;
  hold.caller.ticket = Ticket(next());
  hold.rule.name = "h";
  hold.rule.destination_prefix = "x";
  post(hold);
  StartJob start;
  start.caller.ticket = Ticket(next());
  start.order.action = JobAction::kDrop;
  start.order.rate = 1000;
  post(start);
  pass(1s);
  post(message(next(), {{"method", "relay"}}));
  post(answer(last_attempt(), 400));
  const std::size_t count = spoil(keys::kHold) + spoil(keys::kJob) + spoil(keys::kGroup);
  EXPECT_EQ(count, 3U);
  restart();
  EXPECT_EQ(stats().counters.quarantined, 3U);
  EXPECT_EQ(stats().holds, 0U);
  EXPECT_EQ(std::get<DeadGroupList>(asked(Query::What::kDeadGroups).view).others, 1U);
}

// req: engine.quarantine.1
TEST_F(Damage, OfAMessageIsExplained) {
  open_with();
  command_to<Pause>();
  post(message(next(), {{"method", "post"}}));
  const MessageId cold = id_of(questions);
  is_quarantined(keys::kCold,
                 [&] { asked(Query::What::kExplain, [&](Query& event) { event.id = cold; }); });
  const Explanation it = explained(cold);
  EXPECT_EQ(it.place, Explanation::Place::kQuarantine);
  EXPECT_EQ(it.next, Explanation::Next::kOperator);
  EXPECT_EQ(it.destination, "mill");
}

// req: engine.fanout.6, engine.quarantine.1
TEST_F(Damage, OfASharedBodyIsMetByWhoAsksForItsMessage) {
  open_with();
  command_to<Pause>();
  ChangeGroup change;
  change.caller.ticket = Ticket(next());
  change.what = ChangeGroup::What::kPut;
  change.group.name = "all";
  change.group.members.push_back({"mill", {}});
  post(change);
  FanOut event;
  event.caller.ticket = Ticket(next());
  event.group = "all";
  event.attributes = encode_texts({{"method", "post"}});
  event.body = "one body";
  post(event);
  ASSERT_EQ(code_of(questions), AnswerCode::kAccepted) << told(questions).detail;
  const MessageId which = view_of<FanoutView>(questions).members.at(0).message;
  EXPECT_EQ(phase(which), Phase::kQueued);
  ASSERT_EQ(spoil(keys::kBody), 2U);
  asked(Query::What::kExplain, [&](Query& question) { question.id = which; });
  EXPECT_GE(stats().counters.quarantined, 1U);
  EXPECT_EQ(explained(which).place, Explanation::Place::kQuarantine);
}

// req: engine.log.2
TEST_F(Damage, OfAPageOfTheLogHidesNoEntryBehindIt) {
  open_with({{"in-use", "1"}});
  for (int i = 0; i < 3; ++i) {
    post(message(next(), {{"method", "post"}}));
    post(answer(last_attempt(), 200));
  }
  const Rows pages = store.memory().scan(
      {keys::space(keys::kLog), keys::after_prefix(keys::space(keys::kLog)), 100});
  ASSERT_EQ(pages.rows.size(), 3U);
  ASSERT_TRUE(store.memory().damage(pages.rows[0].first));
  LogPosition from;
  std::size_t ends = 0;
  for (int i = 0; i < 10; ++i) {
    const auto page = std::get<LogPage>(asked(Query::What::kLog, [&](Query& event) {
                                          event.from = from;
                                          event.limit = 1;
                                        }).view);
    for (const LogEntry& entry : page.entries) ends += entry.kind == LogEntry::Kind::kEnd ? 1U : 0U;
    from = page.next;
  }
  EXPECT_EQ(ends, 2U);
}

// req: engine.log.2
TEST_F(Damage, OfAPageOfTheLogHidesNoEntryInThePageRightBehindIt) {
  open_with();
  for (int i = 0; i < 4; ++i) post(message(next(), {{"method", "post"}}));
  for (const StartAttempt& start : starts()) post(answer(start.attempt, 200));
  const Rows pages = store.memory().scan(
      {keys::space(keys::kLog), keys::after_prefix(keys::space(keys::kLog)), 100});
  ASSERT_EQ(pages.rows.size(), 4U);
  for (std::size_t i = 1; i < 4; ++i) {
    EXPECT_EQ(keys::parse_bucketed(pages.rows[i].first)->high,
              keys::parse_bucketed(pages.rows[i - 1].first)->high + 1);
  }
  ASSERT_TRUE(store.memory().damage(pages.rows[0].first));
  ASSERT_TRUE(store.memory().damage(pages.rows[2].first));
  LogPosition from;
  std::vector<MessageId> ended;
  for (int i = 0; i < 10; ++i) {
    const auto page = std::get<LogPage>(asked(Query::What::kLog, [&](Query& event) {
                                          event.from = from;
                                          event.limit = 1;
                                        }).view);
    EXPECT_LE(page.entries.size(), 1U);
    for (const LogEntry& entry : page.entries) {
      if (entry.kind == LogEntry::Kind::kEnd) ended.push_back(entry.id);
    }
    EXPECT_GE(page.next, from);
    from = page.next;
  }
  EXPECT_EQ(ended, (std::vector<MessageId>{starts()[1].message, starts()[3].message}));
}

// req: engine.quarantine.1
TEST_F(Damage, OfACensusIsMetByWhoBringsItsDestinationIntoMemory) {
  options.engine.limits.residents_max = 1;
  options.engine.limits.census_pages_max = 1;
  open_with({{"base", "7200000"}});
  post(message(next(), {{"method", "post"}}));
  const MessageId which = id_of(questions);
  post(answer(last_attempt(), 408));
  post(place(next(), "bell", {{"base", "7200000"}}));
  post(message(next(), {{"method", "post"}}, "bell"));
  post(answer(last_attempt(), 408));
  post(place(next(), "gong"));
  EXPECT_TRUE(stats().all_counted);
  is_quarantined(keys::kCensus, [&] { EXPECT_EQ(phase(which), Phase::kBackoff); });
  EXPECT_FALSE(stats().all_counted);
}

}  // namespace
}  // namespace postrider
