// News and names on disk: what is moved from bucket to bucket, what sleeps on while it hears
// something, and what is packed.
#include <map>

#include "tests/support/task_rig.h"

namespace postrider {
namespace {

Reading& reading() {
  static Reading says;
  return says;
}
Received& received() {
  static Received says;
  return says;
}

class NamesEdges : public TaskRig {
 protected:
  NamesEdges() : spec_(sim::drill_profile()), plain_(sim::drill_profile()) {
    plain_.name = "plain";
    reading() = {};
    reading().silent = true;
    received() = {};
    spec_.news.receive = [](const Inbound&) { return received(); };
    spec_.news.notice = [](const Facts&, const Notice&) { return reading(); };
    options.engine.profiles = profiles_;
  }
  void arrive(Subject subject, std::vector<NestedSubmit> submits = {}) {
    received() = {{std::move(subject)}, std::move(submits)};
    post(news(++questions, "x"));
    turn();
    EXPECT_EQ(code_of(questions), AnswerCode::kDone);
  }
  static Subject about(MessageId which) {
    Subject subject;
    subject.message = which;
    return subject;
  }
  static Subject about(const std::string& name) {
    Subject subject;
    subject.names = {{"s", name}};
    return subject;
  }
  MessageId sent(NamedTexts attributes) {
    post(message(++questions, std::move(attributes)));
    return id_of(questions);
  }

  ProfileSpec spec_;
  ProfileSpec plain_;
  std::array<const ProfileSpec*, 2> profiles_ = {&spec_, &plain_};
};

// req: engine.receipt.2
TEST_F(NamesEdges, NewsThatWaitsIsInOneBucketOnly) {
  options.engine.pending_news.age = 4h;
  open();
  post(place(1, "mill"));
  arrive(about("t"));
  EXPECT_EQ(records_in(keys::kPendingNews), 1U);
  pass(90min);  // its bucket is closed
  arrive(about("t"));
  EXPECT_EQ(records_in(keys::kPendingNews), 1U);
  pass(3h);
  EXPECT_EQ(records_in(keys::kPendingNews), 1U) << "kept for the newest";
  pass(3h);
  EXPECT_EQ(records_in(keys::kPendingNews), 0U);
}

// req: engine.receipt.1
TEST_F(NamesEdges, WhatDoesNotWaitIsNotKept) {
  open();
  post(place(1, "mill"));
  Subject subject = about("t");
  subject.waits = false;
  arrive(subject);
  arrive(Subject());
  Subject nameless;
  nameless.waits = false;
  arrive(nameless);
  EXPECT_EQ(records_in(keys::kPendingNews), 0U);
  EXPECT_EQ(stats().tallies.unknown_names, 1U);
}

// req: engine.note.1
TEST_F(NamesEdges, WhoSleepsOnDiskSleepsOnWhenItHearsSomething) {
  open();
  post(place(1, "mill", {{"base", "7200000"}, {"strikes", "1000"}}));
  id = sent({{"method", "task"}});
  post(answer(last_attempt(), 408));
  const Timestamp due = explained(id).next_at;
  EXPECT_EQ(records_in(keys::kDue), 1U);
  const std::size_t owed = records_in(keys::kOwed);
  reading().notes = "heard";
  arrive(about(id));
  EXPECT_EQ(stored(id)->notes, "heard");
  EXPECT_EQ(records_in(keys::kDue), 1U);
  EXPECT_EQ(records_in(keys::kOwed), owed);
  EXPECT_EQ(explained(id).next_at, due);
  restart();
  pass(1h - 1ms);
  EXPECT_EQ(starts().size(), 0U);
  pass(1ms);
  EXPECT_EQ(starts().size(), 1U);
  EXPECT_EQ(shown(id).notes, "heard");
}

// req: engine.note.1, engine.park.1
TEST_F(NamesEdges, WhoIsParkedStaysSoWhenItHearsSomething) {
  open();
  post(place(1, "mill", {{"link", "cold"}}));
  id = sent({{"method", "relay"}});
  turn();
  ASSERT_EQ(phase(id), Phase::kParked);
  const std::size_t owed = records_in(keys::kOwed);
  reading().notes = "heard";
  arrive(about(id));
  EXPECT_EQ(stored(id)->notes, "heard");
  EXPECT_EQ(phase(id), Phase::kParked);
  EXPECT_EQ(records_in(keys::kOwed), owed);
  EXPECT_EQ(records_in(keys::kParked), 1U);
  restart();
  EXPECT_EQ(phase(id), Phase::kParked);
  EXPECT_EQ(shown(id).notes, "heard");
}

constexpr auto kWords = std::to_array<std::string_view>({R"({"kind":"READ","priority":)"});
constexpr Dictionary kDictionary(9, kWords);

// What a profile submits is packed by its dictionary, wherever it goes.
// req: engine.nested.1
TEST_F(NamesEdges, WhatFollowsIsPacked) {
  spec_.dictionary = &kDictionary;
  open();
  post(place(1, "mill"));
  Configure bell = place(2, "bell");
  bell.config.profile = "plain";
  post(bell);
  const std::string body = R"({"kind":"READ","priority":1})";
  NestedSubmit submit;
  submit.destination = "bell";
  submit.body = body;
  received() = {{}, {submit}};
  post(news(++questions, "x"));
  turn();
  Submit plain = message(++questions, {{"method", "post"}});
  plain.destination = "bell";
  plain.body = body;
  post(plain);
  ASSERT_EQ(starts().size(), 2U);
  const auto record = [this](std::size_t number) {
    const auto value =
        store.memory().get(keys::hot(starts()[number].message.sequence(), keys::Part::kMessage));
    return value ? std::string(value->view()) : std::string();
  };
  for (const StartAttempt& start : starts()) EXPECT_EQ(start.request.body, body);
  EXPECT_EQ(record(0).find(body), std::string::npos);
  EXPECT_NE(record(1).find(body), std::string::npos);
}

// req: engine.receipt.1
TEST_F(NamesEdges, NewsAboutOneThatHasEndedIsNotedAsLate) {
  open();
  post(place(1, "mill"));
  id = sent({{"method", "task"}});
  post(answer(last_attempt(), 200));
  arrive(about(id));
  const auto late = log(LogEntry::Kind::kLate);
  ASSERT_EQ(late.size(), 1U);
  EXPECT_EQ(late[0].id, id);
  EXPECT_EQ(stats().tallies.unknown_names, 0U);
}

// req: engine.intent.2
TEST_F(NamesEdges, OnlyItsOwnAnswerOrPlainWordsCloseASend) {
  open();
  post(place(1, "mill"));
  id = sent({{"method", "task"}});
  reading().outcome = {Certainty::kAnswered, FailureClass::kNone, ""};
  arrive(about(id));
  EXPECT_TRUE(stored(id)->intent.open) << "it may still arrive";
  reading().silent = false;
  reading().signal = On::kStillHeld;  // ignored while it is being sent
  reading().notes = "heard";
  arrive(about(id));
  EXPECT_EQ(phase(id), Phase::kInFlight);
  EXPECT_EQ(stored(id)->notes, "heard") << "what it says is kept all the same";
  EXPECT_TRUE(stored(id)->intent.open);
}

// req: engine.receipt.2
TEST_F(NamesEdges, AWindowOfAMillisecondIsAWindow) {
  open();
  post(place(1, "mill"));
  id = sent({{"method", "task"}});
  Subject subject = about("t");
  subject.window = 1ms;
  reading().mismatched = true;
  arrive(subject);
  advance(5s);
  reading().names = {{"s", "t"}};
  arrive(about(id));
  turn();
  EXPECT_EQ(stats().tallies.mismatched, 1U) << "five seconds are too long";
}

// req: engine.gate.21, engine.receipt.1
TEST_F(NamesEdges, NewsThatIsDeclinedWithANoteWaitsForItsName) {
  open();
  post(place(1, "mill"));
  id = sent({{"method", "task"}});
  const MessageId other = sent({{"method", "task"}});
  reading() = {};
  reading().declines = true;
  reading().notes = "heard";
  Subject subject = about("t");
  subject.message = id;
  arrive(subject);
  EXPECT_EQ(stored(id)->notes, "heard");
  EXPECT_EQ(records_in(keys::kPendingNews), 1U);
  EXPECT_EQ(stats().tallies.unknown_names, 1U);
  reading() = {};
  reading().silent = reading().mismatched = true;
  reading().names = {{"s", "t"}};
  arrive(about(other));
  turn();
  EXPECT_EQ(stats().tallies.mismatched, 2U) << "once by its id, once by its name";
  EXPECT_EQ(records_in(keys::kPendingNews), 0U);
}

// req: engine.retain.1
TEST_F(NamesEdges, OneThatWaitsGoesAfterAStopAsWell) {
  options.engine.pending_news.age = 4h;
  open();
  post(place(1, "mill"));
  arrive(about("t"));
  elapsed += 100h;
  restart();
  for (int i = 0; i < 10; ++i) pass(1h);
  EXPECT_EQ(records_in(keys::kPendingNews), 0U);
}

// req: engine.supersede.1
TEST_F(NamesEdges, WhatIsParkedIsNotSuperseded) {
  open();
  post(place(1, "mill", {{"link", "cold"}}));
  id = sent({{"method", "relay"}, {"supersede", "k"}});
  turn();
  ASSERT_EQ(phase(id), Phase::kParked);
  sent({{"method", "post"}, {"supersede", "k"}});
  EXPECT_EQ(phase(id), Phase::kParked);
}

}  // namespace
}  // namespace postrider
