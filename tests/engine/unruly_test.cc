// A profile is ours, but what it reads comes from outside: whatever it makes of that stays within
// the limits of names, notes, subjects and submits, and what is beyond them is counted.
#include <map>

#include "tests/support/task_rig.h"

namespace postrider {
namespace {

// A notice as the profile got it.
struct Heard {
  Timestamp at;
  std::uint16_t attempt = 0;
  bool by_gate = false;
  Timestamp witness;
};

// What the profile says next, whatever arrives.
struct Says {
  Received received;
  Reading reading;
  std::map<std::string, Reading, std::less<>> to;  // instead of it, by the news' detail
  std::vector<std::uint16_t> attempts;             // that the news was told to be about
  std::vector<Heard> notices;                      // without what they point to
};
Says& says() {
  static Says words;
  return words;
}

class Unruly : public TaskRig {
 protected:
  Unruly() : spec_(sim::drill_profile()) {
    says() = {};
    says().reading.signal = On::kConfirmed;
    says().reading.silent = true;
    spec_.news.receive = [](const Inbound&) { return says().received; };
    spec_.news.notice = [](const Facts&, const Notice& notice) {
      says().attempts.push_back(notice.attempt);
      says().notices.push_back({notice.at, notice.attempt, notice.by_gate, notice.witnessed()});
      const auto other = says().to.find(notice.detail);
      return other != says().to.end() ? other->second : says().reading;
    };
    options.engine.profiles = profiles_;
    options.engine.limits.key_bytes_max = 100;
    options.engine.limits.body_bytes_max = 50;
    options.engine.limits.attributes_bytes_max = 40;
    options.engine.limits.reason_bytes_max = 10;
  }

  // What was said about `subjects`; the answer's words.
  std::string arrive(std::vector<Subject> subjects, std::vector<NestedSubmit> submits = {}) {
    says().received = {std::move(subjects), std::move(submits)};
    const std::uint64_t ticket = ++questions;
    post(news(ticket, "x"));
    turn();
    EXPECT_EQ(code_of(ticket), AnswerCode::kDone);
    return told(ticket).detail;
  }
  static Subject about(std::vector<ExternalName> names, bool waits = false) {
    Subject subject;
    subject.names = std::move(names);
    subject.waits = waits;
    return subject;
  }
  Subject about(MessageId message) const {
    Subject subject;
    subject.message = message;
    subject.waits = false;
    return subject;
  }
  static NestedSubmit to_bell() {
    NestedSubmit submit;
    submit.destination = "bell";
    return submit;
  }
  std::uint64_t refused() { return stats().tallies.refused_readings; }

  ProfileSpec spec_;
  std::array<const ProfileSpec*, 1> profiles_ = {&spec_};
};

// req: engine.limit.1
TEST_F(Unruly, AnArrivalIsAboutSoManySubjectsAndNoMore) {
  open_with_task();
  EXPECT_EQ(arrive({}), "0 subjects");
  EXPECT_EQ(arrive({about(id)}), "1 subject");
  const Subject other = about(std::vector<ExternalName>{{"s", "unknown"}});
  EXPECT_EQ(arrive(std::vector<Subject>(kSubjectsMax, other)), "8 subjects");
  EXPECT_EQ(refused(), 0U);
  EXPECT_EQ(arrive(std::vector<Subject>(kSubjectsMax + 2, other)), "8 subjects");
  EXPECT_EQ(refused(), 2U);
  EXPECT_EQ(stats().tallies.arrivals, 4U);
}

TEST_F(Unruly, ASubjectFitsOrIsLeftOut) {
  open_with_task();
  Subject subject = about(id);
  subject.detail = std::string(kNotesMax, 'x');
  EXPECT_EQ(arrive({subject}), "1 subject");
  subject.detail += 'x';
  EXPECT_EQ(arrive({subject, about(id)}), "1 subject");
  EXPECT_EQ(refused(), 1U);
  const ExternalName name{"s", "n"};
  EXPECT_EQ(arrive({about(std::vector(kNamesMax, name))}), "1 subject");
  EXPECT_EQ(arrive({about(std::vector(kNamesMax + 1, name))}), "0 subjects");
  EXPECT_EQ(refused(), 2U);
  EXPECT_EQ(arrive({about({{"scope", std::string(31, 'n')}})}), "1 subject") << "36 + 64 bytes";
  EXPECT_EQ(arrive({about({{"scope", std::string(32, 'n')}})}), "0 subjects");
  EXPECT_EQ(arrive({about({name, {"scope", std::string(32, 'n')}})}), "0 subjects");
  EXPECT_EQ(refused(), 4U);
}

// req: engine.limit.1
TEST_F(Unruly, AReadingGivesSoManyNamesOfSoManyBytes) {
  open_with_task();
  for (std::size_t i = 0; i <= kNamesMax; ++i)
    says().reading.names.push_back({"s", "name" + std::to_string(i)});
  says().attempts.clear();
  arrive({about(id)});
  EXPECT_EQ(refused(), 1U);
  for (const std::uint16_t attempt : says().attempts) EXPECT_EQ(attempt, 0U) << "it has no name";
  says().reading.names.clear();
  const std::uint64_t before = stats().tallies.unknown_names;
  for (std::size_t i = 0; i <= kNamesMax; ++i) {
    arrive({about({{"s", "name" + std::to_string(i)}})});
    EXPECT_EQ(stats().tallies.unknown_names - before, i == kNamesMax ? 1U : 0U) << i;
  }
  // "drill/s" and 93 bytes are a hundred.
  says().reading.names = {{"s", std::string(93, 'n')}};
  arrive({about(id)});
  EXPECT_EQ(refused(), 1U);
  says().reading.names = {{"s", std::string(94, 'n')}};
  arrive({about(id)});
  EXPECT_EQ(refused(), 2U);
}

// req: engine.arrive.20, engine.limit.1
TEST_F(Unruly, WhatFollowsFromOneArrivalIsBounded) {
  open();
  post(place(1, "mill"));
  post(place(2, "bell"));
  const auto accepted = [this] { return stats().counters.accepted; };
  arrive({}, std::vector<NestedSubmit>(kNestedMax, to_bell()));
  EXPECT_EQ(accepted(), kNestedMax);
  EXPECT_EQ(refused(), 0U);
  arrive({}, std::vector<NestedSubmit>(kNestedMax + 2, to_bell()));
  EXPECT_EQ(accepted(), 2 * kNestedMax);
  EXPECT_EQ(refused(), 2U);
  NestedSubmit full = to_bell();
  full.lane = 15;
  full.priority = 7;
  full.body = std::string(50, 'b');
  full.attributes = encode_texts({{"note", "0123456789"}});
  ASSERT_LE(full.attributes.size(), 40U);
  while (full.attributes.size() < 40)
    full.attributes = encode_texts({{"note", std::string(40 - full.attributes.size() + 10, 'a')}});
  ASSERT_EQ(full.attributes.size(), 40U);
  arrive({}, {full});
  EXPECT_EQ(accepted(), 2 * kNestedMax + 1) << "everything at its limit";
  NestedSubmit wrong = full;
  wrong.lane = 16;
  arrive({}, {wrong});
  wrong = full;
  wrong.body += 'b';
  arrive({}, {wrong});
  wrong = full;
  wrong.attributes = encode_texts({{"note", std::string(60, 'a')}});
  arrive({}, {wrong});
  EXPECT_EQ(accepted(), 2 * kNestedMax + 1);
  EXPECT_EQ(refused(), 5U);
}

// req: engine.nested.1
TEST_F(Unruly, WhatFollowsAndIsRefusedThereIsTold) {
  open();
  post(place(1, "mill"));
  NestedSubmit submit;
  submit.destination = "nobody";
  arrive({}, {submit});
  const auto told_of = log(LogEntry::Kind::kUnsent);
  ASSERT_EQ(told_of.size(), 1U);
  EXPECT_EQ(told_of[0].reason, "there is n") << "ten bytes of it";
  EXPECT_EQ(records_in(keys::kNested), 0U);
  NestedSubmit strange;
  strange.destination = "mill";
  strange.attributes = encode_texts({{"method", "none"}});
  arrive({}, {strange});
  EXPECT_EQ(log(LogEntry::Kind::kUnsent).size(), 2U);
  EXPECT_EQ(records_in(keys::kNested), 0U);
}

TEST_F(Unruly, WhatIsOddIsCountedAndAnAlarmIsTold) {
  open_with_task();
  arrive({about(id)});
  EXPECT_EQ(stats().tallies.mismatched + stats().tallies.adopted + stats().tallies.alarms, 0U);
  says().reading.mismatched = true;
  arrive({about(id)});
  EXPECT_EQ(stats().tallies.mismatched, 1U);
  says().reading.mismatched = false;
  says().reading.adopted = true;
  arrive({about(id)});
  EXPECT_EQ(stats().tallies.adopted, 1U);
  EXPECT_EQ(stats().tallies.mismatched, 1U);
  says().reading.adopted = false;
  says().reading.alarm = true;
  says().reading.outcome.reason = "0123456789 and more";
  arrive({about(id)});
  EXPECT_EQ(stats().tallies.alarms, 1U);
  const auto alarms = log(LogEntry::Kind::kAlarm);
  ASSERT_EQ(alarms.size(), 1U);
  EXPECT_EQ(alarms[0].id, id);
  EXPECT_EQ(alarms[0].reason, "0123456789");
  EXPECT_EQ(alarms[0].attempts, 1U);
  EXPECT_EQ(alarms[0].at, instant().wall);
}

// req: engine.note.1
TEST_F(Unruly, NotesAreWrittenWhenTheyChangeAndWithinTheirLimit) {
  open_with_task();
  says().reading.notes = std::string(kNotesMax, 'n');
  arrive({about(id)});
  EXPECT_EQ(shown(id).notes.size(), kNotesMax);
  EXPECT_EQ(refused(), 0U);
  const std::size_t before = store.bytes_by_space().at(keys::kHot);
  arrive({about(id)});
  EXPECT_EQ(store.bytes_by_space().at(keys::kHot), before) << "the same again";
  says().reading.notes = std::string(kNotesMax + 1, 'm');
  arrive({about(id)});
  EXPECT_EQ(refused(), 1U);
  EXPECT_EQ(shown(id).notes, std::string(kNotesMax, 'n'));
  restart();
  EXPECT_EQ(shown(id).notes, std::string(kNotesMax, 'n'));
}

// req: engine.receipt.1
TEST_F(Unruly, NewsThatMayNotComeFromOutsideChangesNothing) {
  open_with_task();
  says().reading = {};
  for (const On signal : {On::kDue, On::kTimedOut, On::kExpired, On::kCancelled}) {
    const std::uint64_t before = stats().tallies.ignored_signals;
    says().reading.signal = signal;
    says().reading.then = {};
    arrive({about(id)});
    EXPECT_EQ(phase(id), Phase::kInFlight);
    EXPECT_EQ(stats().tallies.ignored_signals, before + 1);
    says().reading.signal = On::kConfirmed;
    says().reading.then = signal;
    arrive({about(id)});
    EXPECT_EQ(phase(id), Phase::kInFlight);
    EXPECT_EQ(stats().tallies.ignored_signals, before + 2);
  }
  says().reading.then = {};
  says().reading.signal = On::kAnswered;
  arrive({about(id)});
  EXPECT_EQ(phase(id), Phase::kDelivered);
}

// req: engine.receipt.1
TEST_F(Unruly, NewsForAnotherProfileOrForNobodyIsRefused) {
  open();
  Arrived event = news(1, "x");
  event.profile = "none";
  post(event);
  EXPECT_EQ(code_of(1), AnswerCode::kNotFound);
  options.engine.limits.arrival_bytes_max = 3;
  open();
  post(news(1, "xxx"));
  EXPECT_EQ(code_of(1), AnswerCode::kDone);
  post(news(2, "xxxx"));
  EXPECT_EQ(code_of(2), AnswerCode::kTooLarge);
  spec_.news.receive = nullptr;
  post(news(3, "x"));
  EXPECT_EQ(code_of(3), AnswerCode::kNotFound);
  spec_.news.receive = [](const Inbound&) { return says().received; };
  spec_.news.notice = nullptr;
  post(news(4, "x"));
  EXPECT_EQ(code_of(4), AnswerCode::kNotFound);
}

// req: engine.receipt.2
TEST_F(Unruly, NewsWithAWindowIsForWhoWasNamedLessThanThatAgo) {
  open_with_task();
  says().reading.names = {{"s", "t"}};
  arrive({about(id)});
  says().reading.names.clear();
  says().reading.mismatched = true;  // so that it is counted whom it finds
  Subject subject = about({{"s", "t"}});
  subject.window = 10s;
  advance(9'999ms);
  arrive({subject});
  EXPECT_EQ(stats().tallies.mismatched, 1U);
  advance(1ms);
  arrive({subject});
  EXPECT_EQ(stats().tallies.mismatched, 1U) << "ten seconds are too long";
  subject.window = 0s;
  arrive({subject});
  EXPECT_EQ(stats().tallies.mismatched, 2U) << "without a window there is no too long";
}

// News that waited for its name and the name must be less than the window apart, too.
TEST_F(Unruly, NewsThatWaitedFindsANameWithinItsWindow) {
  open_with_task();
  for (const Duration apart : {Duration(9'999), Duration(10'000)}) {
    const std::string name = "t" + std::to_string(apart.count());
    Subject subject = about({{"s", name}}, true);
    subject.window = 10s;
    says().reading.mismatched = true;
    says().reading.names.clear();
    const std::uint64_t before = stats().tallies.mismatched;
    arrive({subject});
    EXPECT_EQ(stats().tallies.mismatched, before);
    advance(apart);
    says().reading.names = {{"s", name}};
    arrive({about(id)});  // this is about it, and names it
    turn();
    const bool within = apart < 10s;
    EXPECT_EQ(stats().tallies.mismatched, before + 1 + (within ? 1 : 0)) << apart.count();
    EXPECT_EQ(records_in(keys::kPendingNews), 0U);
  }
}

TEST_F(Unruly, TheWordThatAnEndHasIsCounted) {
  spec_.after = [](const Facts&, const Moment& moment) {
    Aftermath left;
    if (moment.kind != Moment::Kind::kEnded) return left;
    left.outcome = "odd";
    left.notes = "the last word";
    return left;
  };
  open_with_task();
  post(answer(last_attempt(), 200));
  const CountedWords words = stats().tallies.outcomes;
  ASSERT_EQ(words.size(), 1U);
  EXPECT_EQ(words[0].word, "odd");
  EXPECT_EQ(words[0].times, 1U);
  EXPECT_EQ(shown(id).notes, "the last word");
}

// req: engine.receipt.1
TEST_F(Unruly, NewsOfAFailureSaysWhy) {
  open_with_task();
  accept_task();
  says().reading = {};
  says().reading.signal = On::kFailed;
  says().reading.outcome = {Certainty::kAnswered, FailureClass::kOther, "lost there"};
  says().reading.closes = true;
  arrive({about(id)});
  const Explanation it = explained(id);
  EXPECT_EQ(it.phase, Phase::kBackoff);
  EXPECT_EQ(it.reason, "lost there");
  EXPECT_EQ(it.failure, FailureClass::kOther);
}

// req: engine.receipt.1
TEST_F(Unruly, AnArrivalMayBeAboutAMessageThatItEndsItself) {
  open_with_task();
  says().reading = {};
  says().reading.signal = On::kAnswered;
  EXPECT_EQ(arrive({about(id), about(id)}), "2 subjects");
  EXPECT_EQ(phase(id), Phase::kDelivered);
  EXPECT_EQ(stats().counters.delivered, 1U);
}

// req: engine.intent.1
TEST_F(Unruly, ThatTheOpenSendCannotArriveAnyMoreIsWritten) {
  open_with_task();
  ASSERT_TRUE(stored(id).has_value());
  EXPECT_TRUE(stored(id)->intent.open);
  says().reading.closes = true;
  arrive({about(id)});
  EXPECT_FALSE(stored(id)->intent.open);
  const std::size_t before = store.bytes_by_space().at(keys::kHot);
  arrive({about(id)});
  EXPECT_EQ(store.bytes_by_space().at(keys::kHot), before) << "it is closed already";
}

// req: engine.nested.1
TEST_F(Unruly, WhatFollowsFromNewsIsSentWithItsOrigin) {
  open_with_task();
  post(place(3, "bell"));
  says().reading = {};
  says().reading.signal = On::kAnswered;
  says().reading.submits = {to_bell(), to_bell()};
  arrive({about(id)});
  EXPECT_EQ(phase(id), Phase::kDelivered);
  EXPECT_EQ(stats().counters.accepted, 3U);
  ASSERT_EQ(starts().size(), 3U);
  EXPECT_EQ(explained(starts().back().message).origin, id);
  EXPECT_EQ(explained(starts().back().message).destination, "bell");
}

// req: engine.receipt.1
TEST_F(Unruly, OnlyWhoIsFoundByAGateHearsOfTheWitness) {
  open();
  post(place(1, "mill"));
  post(task(2, {{"narrow", ""}}));
  id = id_of(2);
  says().reading.names = {{"s", "w"}};
  arrive({about(id)});
  const Timestamp given = instant().wall;
  says().reading.names.clear();
  advance(1s);
  Subject subject = about(id);
  subject.witness = {"s", "w"};
  says().notices.clear();
  arrive({subject});
  for (const Heard& notice : says().notices) {
    EXPECT_FALSE(notice.by_gate);
    EXPECT_FALSE(notice.witness.is_set());
    EXPECT_EQ(notice.attempt, 0U);
    EXPECT_EQ(notice.at, instant().wall);
  }
  subject = about(std::vector<ExternalName>());
  subject.gate = sim::drill_gate_name("narrow");
  says().notices.clear();
  arrive({subject});
  ASSERT_FALSE(says().notices.empty());
  EXPECT_TRUE(says().notices.back().by_gate);
  EXPECT_FALSE(says().notices.back().witness.is_set()) << "nobody was asked for";
  subject.witness = {"s", "w"};
  says().notices.clear();
  arrive({subject});
  for (const Heard& notice : says().notices) {
    EXPECT_TRUE(notice.by_gate);
    EXPECT_EQ(notice.witness, given);
    EXPECT_EQ(notice.attempt, 1U) << "the newest";
  }
  EXPECT_EQ(stats().tallies.unknown_names, 0U) << "it was about no name";
}

// req: engine.receipt.1
TEST_F(Unruly, NewsOfOneThatHasEndedIsNotForWhoHoldsItsGateNow) {
  open();
  post(place(1, "mill"));
  post(task(2, {{"narrow", ""}}));
  id = id_of(2);
  says().reading.names = {{"s", "first"}};
  arrive({about(id)});
  says().reading.names.clear();
  post(answer(last_attempt(), 200));
  post(task(3, {{"narrow", ""}}));
  Subject subject = about({{"s", "first"}});
  subject.gate = sim::drill_gate_name("narrow");
  says().reading.mismatched = true;  // so that it is counted whom it finds
  arrive({subject});
  EXPECT_EQ(stats().tallies.mismatched, 0U);
  const auto late = log(LogEntry::Kind::kLate);
  ASSERT_EQ(late.size(), 1U);
  EXPECT_EQ(late[0].id, id);
  EXPECT_EQ(late[0].reason, "peer");
  EXPECT_EQ(late[0].at, instant().wall);
  EXPECT_EQ(stats().tallies.late_receipts, 1U);
  // A second name of one that has ended says nothing: whoever holds the gate is meant.
  subject.names = {{"s", "nobody"}, {"s", "first"}};
  arrive({subject});
  EXPECT_EQ(stats().tallies.mismatched, 1U);
  EXPECT_EQ(log(LogEntry::Kind::kLate).size(), 1U);
  // And with nobody at the gate it is news of a name that nobody has.
  subject.gate = 0;
  arrive({subject});
  EXPECT_EQ(log(LogEntry::Kind::kLate).size(), 1U);
  EXPECT_EQ(stats().tallies.unknown_names, 1U);
}

// req: engine.receipt.2
TEST_F(Unruly, OfTwoThatWaitedForANameTheSecondComesLateWhenTheFirstEndsIt) {
  open_with_task();
  says().to["end"].signal = On::kAnswered;
  Subject subject = about({{"s", "t"}}, true);
  subject.detail = "end";
  arrive({subject});
  arrive({subject});
  EXPECT_EQ(records_in(keys::kPendingNews), 1U);
  EXPECT_EQ(phase(id), Phase::kInFlight);
  says().reading.names = {{"s", "t"}};
  arrive({about(id)});
  for (int i = 0; i < 3; ++i) turn();
  EXPECT_EQ(phase(id), Phase::kDelivered);
  const auto late = log(LogEntry::Kind::kLate);
  ASSERT_EQ(late.size(), 1U);
  EXPECT_EQ(late[0].id, id);
  EXPECT_EQ(late[0].reason, "news that ");
  EXPECT_EQ(records_in(keys::kPendingNews), 0U);
}

// req: engine.receipt.2
TEST_F(Unruly, OfTwoThatWaitedForANameTheSecondFindsItAsleep) {
  open_with_task();
  accept_task();
  Reading& lost = says().to["lost"];
  lost.signal = On::kFailed;
  lost.outcome = {Certainty::kAnswered, FailureClass::kOther, "lost"};
  Reading& odd = says().to["odd"];
  odd.silent = true;
  odd.mismatched = true;
  Subject subject = about({{"s", "t"}}, true);
  subject.detail = "lost";
  arrive({subject});
  subject.detail = "odd";
  arrive({subject});
  says().reading.names = {{"s", "t"}};
  arrive({about(id)});
  for (int i = 0; i < 3; ++i) turn();
  EXPECT_EQ(phase(id), Phase::kBackoff);
  EXPECT_EQ(stats().tallies.mismatched, 1U);
  EXPECT_EQ(records_in(keys::kPendingNews), 0U);
  EXPECT_TRUE(log(LogEntry::Kind::kLate).empty());
}

// req: engine.limit.1
TEST_F(Unruly, OfNewsThatWaitsTheNewestIsKept) {
  options.engine.limits.news_per_name_max = 2;
  open_with_task();
  for (const char* word : {"mismatched", "adopted", "alarm"}) {
    Reading& reading = says().to[word];
    reading.silent = true;
    reading.mismatched = word == std::string_view("mismatched");
    reading.adopted = word == std::string_view("adopted");
    reading.alarm = word == std::string_view("alarm");
    Subject subject = about({{"s", "t"}}, true);
    subject.detail = word;
    arrive({subject});
  }
  says().reading.names = {{"s", "t"}};
  arrive({about(id)});
  turn();
  EXPECT_EQ(stats().tallies.mismatched, 0U) << "the oldest is gone";
  EXPECT_EQ(stats().tallies.adopted, 1U);
  EXPECT_EQ(stats().tallies.alarms, 1U);
}

// req: engine.view.1
TEST_F(Unruly, AFailureWithoutAReasonLeavesNoneOfAnEarlierOne) {
  open_with_task({{"base", "1000"}});
  const auto last_error = [this] {
    Query event = ask(++questions, Query::What::kDestination);
    event.destination = "mill";
    post(event);
    const DestinationView view = view_of<DestinationView>(questions);
    return view.activity ? view.activity->last_error : std::string("nothing is known");
  };
  post(answer(last_attempt(), 503));
  EXPECT_EQ(last_error(), "status 503");
  pass(10s);
  spec_.wire.classify = [](const Facts&, AttemptKind, const WireReply&) {
    Reading out;
    out.outcome = {Certainty::kAnswered, FailureClass::kServer, ""};
    return out;
  };
  post(answer(last_attempt(), 503));
  EXPECT_EQ(last_error(), "");
  EXPECT_EQ(explained(id).reason, "");
}

TEST_F(Unruly, WhatArrivesTwiceUnderOneKeyIsCountedAsDouble) {
  open_with_task();
  arrive({about(id)});
  EXPECT_EQ(stats().tallies.repeated_arrivals, 0U);
  says().received = {{about(id)}, {}};
  for (int i = 0; i < 3; ++i) {
    post(news(++questions, "x", opaque("k")));
    EXPECT_EQ(stats().tallies.repeated_arrivals, static_cast<std::uint64_t>(i));
  }
  EXPECT_EQ(stats().tallies.arrivals, 2U);
}

// News from before a long stop is looked at once more, and then goes by its age as other news does.
// req: engine.retain.1
TEST_F(Unruly, NewsThatNobodyHasANameForGoesAfterAStop) {
  options.engine.pending_news.age = 4h;
  options.engine.names.age = 4h;
  open_with_task();
  for (const char* name : {"a", "b", "c"}) arrive({about({{"s", name}}, true)});
  EXPECT_EQ(records_in(keys::kPendingNews), 3U);
  elapsed += 100h;
  restart();
  for (int i = 0; i < 10; ++i) pass(1h);
  EXPECT_EQ(records_in(keys::kPendingNews), 0U);
}

}  // namespace
}  // namespace postrider
