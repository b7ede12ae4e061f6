// Any event in any state is legal. Random events, sensible and senseless, are fed to the engine
// itself, with the store's answers given as it asks for them; nothing may abort, and what `step`
// promises is checked at every step.
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "postrider/base/rng.h"
#include "tests/support/engine_driver.h"

namespace postrider {
namespace {

class Chaos {
 public:
  // Seeds up to 200 draw from the first seven ends, so that those that found something still do.
  explicit Chaos(std::uint64_t seed) : ends_(seed % 1000 > 200 ? 9 : 7), rng_(seed) {}

  Event draw(const EngineDriver& driver) {
    switch (rng_.below(17)) {
      case 0:
      case 1:
      case 2:
      case 3: return submit(driver);
      case 4:
      case 5:
      case 6: return AttemptEnded{attempt(driver), reply()};
      case 7: return AttemptNews{attempt(driver), signal()};
      case 8: return ReceiptArrived{message(driver), signal(), "detail"};
      case 9: return on_message(driver);
      case 10: return on_destination();
      case 11: return configure();
      case 12: return PeerSeen{.destination = destination()};
      case 13: return TimersDue{};
      case 14: return arrived();
      default: return question(driver);
    }
  }
  Event arrived() {
    constexpr std::array<std::string_view, 7> kTexts = {"",       "done t1", "lost t1", "ack t1 k",
                                                        "pair k", "seen t2", "noise"};
    Arrived event;
    event.caller = caller();
    event.profile = rng_.chance(1, 8) ? "webhook" : "drill";
    event.source.origin = "peer";
    event.bytes = kTexts[rng_.below(kTexts.size())];
    return event;
  }
  Duration time() {
    constexpr std::array<std::int64_t, 5> kSpans = {0, 0, 2'000, 60'000, 7'200'000};
    return Duration(static_cast<std::int64_t>(
        rng_.below(static_cast<std::uint64_t>(kSpans[rng_.below(5)]) + 1)));
  }

 private:
  std::string destination() {
    constexpr std::array<const char*, 6> kNames = {"hooks", "fifo", "relay", "post", "nowhere", ""};
    return kNames[rng_.below(kNames.size())];
  }
  Caller caller() {
    Caller out;
    out.ticket = Ticket(rng_.below(1000) + 1);
    out.key.kind = static_cast<OperationKey::Kind>(rng_.below(4));
    out.key.key = "key" + std::to_string(rng_.below(30));
    out.key.sequence = rng_.below(10);
    out.key.made = kDriverStart + Duration(static_cast<std::int64_t>(rng_.below(200'000'000)));
    return out;
  }
  MessageId message(const EngineDriver& driver) {
    if (driver.messages().empty() || rng_.chance(1, 10)) return {rng_.next(), rng_.next()};
    return driver.messages()[rng_.below(driver.messages().size())];
  }
  AttemptId attempt(const EngineDriver& driver) {
    const auto& all = driver.attempts();
    if (all.empty() || rng_.chance(1, 10)) return AttemptId(rng_.below(1000));
    // Mostly one of the last, which may still be open.
    return all[all.size() - 1 - rng_.below(std::min<std::uint64_t>(all.size(), 8))];
  }
  On signal() { return static_cast<On>(rng_.below(kSignals)); }
  WireReply reply() {
    WireReply out;
    constexpr std::array<int, 12> kStatuses = {200, 200, 200, 202, 204, 206,
                                               301, 404, 410, 429, 500, 503};
    out.status = kStatuses[rng_.below(kStatuses.size())];
    if (rng_.chance(1, 5)) out.end = static_cast<WireEnd>(rng_.below(ends_));
    if (rng_.chance(1, 5)) out.headers.emplace_back("retry-after", std::to_string(rng_.below(100)));
    if (rng_.chance(1, 4)) out.headers.emplace_back("task", "t" + std::to_string(rng_.below(3)));
    return out;
  }
  Event submit(const EngineDriver& driver) {
    Submit out;
    out.caller = caller();
    out.destination = destination();
    out.lane = static_cast<std::uint8_t>(rng_.below(17));
    out.priority = static_cast<std::uint16_t>(rng_.below(3));
    if (rng_.chance(1, 5)) out.not_before = driver.now() + time();
    if (rng_.chance(1, 5)) out.expires = driver.now() + time();
    out.body.assign(rng_.below(300), 'x');
    if (out.destination == "relay" || out.destination == "post") {
      constexpr std::array<const char*, 4> kMethods = {"relay", "post", "once", "task"};
      NamedTexts texts{{"method", kMethods[rng_.below(4)]}};
      if (rng_.chance(1, 4)) texts.emplace_back("order", "1");
      if (rng_.chance(1, 4)) texts.emplace_back("supersede", "k");
      if (rng_.chance(1, 8)) texts.emplace_back("then", "post");
      if (rng_.chance(1, 3)) texts.emplace_back("narrow", "yes");
      out.attributes = encode_texts(texts);
    }
    return out;
  }
  Event on_message(const EngineDriver& driver) {
    const MessageId id = message(driver);
    switch (rng_.below(4)) {
      case 0: return Cancel{caller(), id};
      case 1: return RetryNow{caller(), id};
      case 2: return Redrive{caller(), id};
      default: return Drop{caller(), id};
    }
  }
  Event on_destination() {
    switch (rng_.below(5)) {
      case 0: return Pause{caller(), destination(), "reason"};
      case 1: return Wake{caller(), destination()};
      default: return Resume{caller(), destination()};
    }
  }
  Event configure() {
    Configure out;
    out.caller = caller();
    out.config.name = destination();
    out.config.removed = rng_.chance(1, 10);
    const bool hooks = out.config.name == "hooks" || out.config.name == "fifo";
    out.config.profile = hooks ? "webhook" : "drill";
    if (hooks) {
      out.config.settings = {{"url", "https://" + out.config.name + ".example/"},
                             {"order", out.config.name == "fifo" ? "fifo" : "none"},
                             {"ladder", rng_.chance(1, 2) ? "1s,2h" : "5s"},
                             {"strikes_max", "3"}};
    } else {
      out.config.settings = {
          {"attempts", "3"}, {"fifo", "2"}, {"strikes", "3"}, {"window", "2"}, {"in-use", "3"}};
      if (rng_.chance(1, 3))
        out.config.settings.emplace_back("route", rng_.chance(1, 2) ? "ask" : "stale");
    }
    return out;
  }
  Event question(const EngineDriver& driver) {
    Query out;
    out.ticket = Ticket(rng_.below(1000) + 1);
    out.what = static_cast<Query::What>(rng_.below(5));
    out.id = message(driver);
    out.destination = destination();
    out.limit = static_cast<std::uint32_t>(rng_.below(4));
    if (rng_.chance(1, 4)) out.from = {static_cast<std::uint32_t>(rng_.below(5)), rng_.next(), 0};
    if (rng_.chance(1, 4)) out.cursor = std::string(1, static_cast<char>(rng_.below(256))) + "x";
    return out;
  }

  std::uint64_t ends_;
  Rng rng_;
};

class AnyEvent : public ::testing::TestWithParam<int> {};

// One life with a few restarts; returns what is left of it.
struct Life {
  std::map<std::string, std::string> contents;
  std::uint64_t actions = 0;
  Stats stats;
  std::uint64_t needs = 0;
};
Life live(std::uint64_t seed, int events) {
  Life life;
  MemoryStore store({.remember_once = true});
  Chaos chaos(seed);
  auto driver = std::make_unique<EngineDriver>(store, kDriverStart);
  for (int i = 0; i < events && !::testing::Test::HasFatalFailure(); ++i) {
    driver->pass(chaos.time());
    driver->event(chaos.draw(*driver));
    if (i % 400 == 399) {
      life.actions += driver->actions();
      life.needs += driver->needs();
      const Timestamp now = driver->now();
      const Counters before = driver->stats().counters;
      driver = std::make_unique<EngineDriver>(store, now);
      EXPECT_TRUE(driver->alive());
      // What followed from a message and was only written down becomes a message now.
      EXPECT_GE(driver->stats().counters.accepted, before.accepted);
    }
  }
  life.stats = driver->stats();
  life.actions += driver->actions();
  life.contents = store.contents();
  return life;
}

TEST_P(AnyEvent, IsLegalInAnyState) {  // req: engine.total.1, engine.step.2, engine.step.3
  const Life life = live(static_cast<std::uint64_t>(GetParam()), 3000);
  // The chaos must reach something to prove anything.
  EXPECT_GT(life.stats.counters.accepted, 100U);
  EXPECT_GT(life.stats.counters.delivered, 10U);
  EXPECT_GT(life.stats.counters.dead, 0U);
  EXPECT_GT(life.needs, 100U);
}

// After the chaos every destination is resumed and answers: then everything that was accepted must
// end.
void calm_down(EngineDriver& driver) {
  for (const char* name : {"hooks", "fifo", "relay", "post", "nowhere", ""}) {
    driver.event(Resume{{}, name});
  }
  for (int round = 0; round < 300 && driver.stats().counters.live() > 0; ++round) {
    driver.answer_all();
    driver.pass(1h);
    Query question;
    question.what = Query::What::kDeadLetters;
    const auto letters = std::get<DeadLetters>(driver.ask(question).view).letters;
    for (const DeadLetter& letter : letters) {
      if (letter.phase == Phase::kParked) driver.event(RetryNow{{}, letter.id});
    }
  }
  EXPECT_EQ(driver.stats().counters.live(), 0U) << "something never ends";
}

TEST_P(AnyEvent, IsFollowedByAnEndForEveryMessage) {  // req: engine.life.12
  MemoryStore store({.remember_once = true});
  Chaos chaos(static_cast<std::uint64_t>(GetParam()) + 1000);
  auto driver = std::make_unique<EngineDriver>(store, kDriverStart);
  for (int i = 0; i < 1500 && !HasFatalFailure(); ++i) {
    driver->pass(chaos.time());
    driver->event(chaos.draw(*driver));
    if (i % 500 == 250) driver = std::make_unique<EngineDriver>(store, driver->now());
  }
  calm_down(*driver);
}

TEST_P(AnyEvent, SameHistorySameDecisions) {  // req: engine.step.1
  const Life first = live(static_cast<std::uint64_t>(GetParam()), 1000);
  const Life second = live(static_cast<std::uint64_t>(GetParam()), 1000);
  EXPECT_EQ(first.contents, second.contents);
  EXPECT_EQ(first.actions, second.actions);
}

INSTANTIATE_TEST_SUITE_P(Seeds, AnyEvent, ::testing::Range(1, 31));
INSTANTIATE_TEST_SUITE_P(SeedsWithAllEnds, AnyEvent, ::testing::Range(201, 211));
// Found: a refill that never rests (40, 74), a receipt that opens a closed gate (132).
INSTANTIATE_TEST_SUITE_P(SeedsThatFoundBugs, AnyEvent, ::testing::Values(40, 74, 132));

TEST(AnyEvent, WhatMeansNothingIsCounted) {  // req: engine.total.2, engine.total.3, engine.total.4
  MemoryStore store;
  EngineDriver driver(store, kDriverStart);
  Configure configure;
  configure.config = {
      .name = "hooks", .profile = "webhook", .settings = {{"url", "https://hooks.example/"}}};
  configure.caller.ticket = Ticket(1);
  driver.event(configure);
  Submit submit;
  submit.caller.ticket = Ticket(2);
  submit.destination = "hooks";
  driver.event(submit);
  const auto before = store.contents();
  driver.event(AttemptEnded{AttemptId(77), {}});
  driver.event(ReceiptArrived{{1, 2}, On::kConfirmed, ""});
  driver.event(ReceiptArrived{driver.messages().at(0), On::kAcked, ""});
  driver.event(AttemptNews{driver.attempts().at(0), On::kExpired});
  EXPECT_EQ(store.contents(), before);
  EXPECT_EQ(driver.stats().tallies.late_outcomes, 1U);
  EXPECT_EQ(driver.stats().tallies.late_receipts, 1U);
  EXPECT_GE(driver.stats().tallies.ignored_signals, 1U);
}

TEST(AnyEvent, WorkForWhatHasGoneChangesNothing) {  // req: engine.total.5
  MemoryStore store;
  EngineDriver driver(store, kDriverStart);
  Configure configure;
  configure.caller.ticket = Ticket(1);
  configure.config = {
      .name = "hooks", .profile = "webhook", .settings = {{"url", "https://hooks.example/"}}};
  driver.event(configure);
  Submit submit;
  submit.caller.ticket = Ticket(2);
  submit.destination = "hooks";
  submit.expires = kDriverStart + 1h;
  driver.event(submit);
  driver.answer_all();
  ASSERT_EQ(driver.stats().counters.delivered, 1U);
  const auto before = store.contents();
  const MessageId id = driver.messages().at(0);
  for (const auto kind :
       {Chore::Kind::kWakeMessage, Chore::Kind::kExpire, Chore::Kind::kWakeRoute}) {
    driver.event(Chore{.kind = kind,
                       .destination = id.destination(),
                       .lane = 0,
                       .id = id,
                       .at = {},
                       .cursor = {}});
  }
  EXPECT_EQ(store.contents(), before);
  driver.pass(2h);
  EXPECT_EQ(driver.stats().counters.expired, 0U);
}

TEST(AnyEvent, ManyTimersAtOnceAreFiredInSeveralSteps) {  // req: engine.step.5
  MemoryStore store;
  EngineDriver driver(store, kDriverStart);  // fires three timers a step
  Configure configure;
  configure.config = {
      .name = "hooks",
      .profile = "webhook",
      .settings = {
          {"url", "https://hooks.example/"}, {"jitter_percent", "0"}, {"strikes_max", "0"}}};
  driver.event(configure);
  for (int i = 0; i < 10; ++i) {
    Submit submit;
    submit.destination = "hooks";
    submit.not_before = kDriverStart + 1h;
    driver.event(submit);
  }
  EXPECT_TRUE(driver.attempts().empty());
  driver.pass(1h);
  driver.pass(1ms);  // due entries of one instant that do not fit one page come a millisecond later
  driver.answer_all();
  EXPECT_EQ(driver.stats().counters.delivered, 10U);
}

// Every record of a lived-in store is damaged in turn. The engine may lose that record, and say so;
// it may not abort.
TEST(AnyRecord, MayBeUnreadable) {  // req: engine.quarantine.2
  const Life life = live(5, 800);
  std::uint64_t quarantined = 0;
  int books = 0;
  for (const auto& [damaged, value] : life.contents) {
    MemoryStore store;
    WriteBatch batch;
    for (const auto& [key, bytes] : life.contents) {
      const bool once = ((key[0] == 'H' || key[0] == 'C') && key.back() == 0) || key[0] == 'd';
      if (once) batch.put_once(key, Blob::copy_of(bytes));
      if (!once) batch.put(key, bytes);
    }
    Epoch epoch;  // later than those of that life, whose sequences are taken
    while (epoch.value() < 100) epoch = *store.acquire(0);
    store.commit(epoch, std::make_shared<const WriteBatch>(std::move(batch)), [](CommitOutcome) {});
    if (!store.damage(damaged)) continue;  // an empty value has nothing to damage
    EngineDriver driver(store, kDriverStart + 400h);
    if (!driver.alive()) {
      ++books;
      continue;
    }
    Chaos chaos(9);
    for (int i = 0; i < 60 && !HasFatalFailure(); ++i) {
      driver.event(chaos.draw(driver));
      driver.pass(chaos.time());
    }
    ASSERT_FALSE(HasFatalFailure()) << "damaged: " << damaged[0];
    quarantined += driver.stats().counters.quarantined;
  }
  EXPECT_GT(quarantined, 10U);
  // The meta record and the bucket lists: without them nothing is guessed.
  EXPECT_LE(books, 1 + static_cast<int>(kKept));
}

}  // namespace
}  // namespace postrider
