// Host over the memory store and a transport that only writes down what it was told.
#include "postrider/runtime/host.h"

#include <array>
#include <deque>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "postrider/profiles/all.h"
#include "postrider/stores/memory.h"

namespace postrider {
namespace {

class ManualClock final : public Clock {
 public:
  Instant read() const override { return now; }
  Instant now{Timestamp(1'000'000), Timestamp(1'700'000'000'000)};
};

class NotedTransport final : public Transport {
 public:
  void start(AttemptId attempt, WireRequest /*request*/) override { started.push_back(attempt); }
  void abort(AttemptId attempt) override { aborted.push_back(attempt); }
  std::vector<AttemptId> started;
  std::vector<AttemptId> aborted;
};

// Fails when told to, and otherwise is the memory store.
class MoodyStore final : public Store {
 public:
  Result<Epoch> acquire(std::uint32_t shard) override {
    if (acquire_error) return fail(*acquire_error, "no");
    return inner.acquire(shard);
  }
  void commit(Epoch epoch, std::shared_ptr<const WriteBatch> batch, CommitDone done) override {
    if (next_outcome != CommitOutcome::kDurable)
      return done(std::exchange(next_outcome, CommitOutcome::kDurable));
    if (!held) return inner.commit(epoch, std::move(batch), std::move(done));
    late.emplace_back([this, epoch, batch = std::move(batch), done = std::move(done)] {
      inner.commit(epoch, batch, done);
    });
  }
  void read(const Reads& reads, ReadDone done) override { inner.read(reads, std::move(done)); }
  void release() {
    held = false;
    for (auto& one : std::exchange(late, {})) one();
  }

  MemoryStore inner;
  CommitOutcome next_outcome = CommitOutcome::kDurable;
  std::optional<ErrorCode> acquire_error;
  bool held = false;
  std::deque<std::function<void()>> late;
};

class HostTest : public ::testing::Test {
 protected:
  void start(HostOptions options = {}) {
    options.shard.engine.profiles = all_profiles();
    host = std::make_unique<Host>(options, store, transport, clock, [this] { ++wakes; });
    settle();
  }
  void settle() {
    for (int i = 0; i < 10; ++i) host->turn();
  }
  Door ask(const std::string& tenant, Event event) {
    return host->post(tenant, std::move(event),
                      [this](const Answer& answer) { answers.push_back(answer); });
  }
  Door submit(const std::string& tenant = "t") {
    Submit submit;
    submit.destination = "shop";
    submit.body = "{}";
    return ask(tenant, std::move(submit));
  }
  void configure() {
    Configure configure;
    configure.config = {
        .name = "shop", .profile = "webhook", .settings = {{"url", "https://shop.example/hook"}}};
    ASSERT_EQ(ask("t", std::move(configure)), Door::kOpen);
    settle();
    ASSERT_EQ(answers.back().code, AnswerCode::kDone);
    answers.clear();
  }
  Counters counters() {
    Query stats;
    EXPECT_EQ(ask("t", stats), Door::kOpen);
    settle();
    return std::get<Stats>(answers.back().view).counters;
  }

  ManualClock clock;
  MoodyStore store;
  NotedTransport transport;
  int wakes = 0;
  std::vector<Answer> answers;
  std::unique_ptr<Host> host;
};

TEST_F(HostTest, AnswersLaterAndOnce) {
  start();
  configure();
  ASSERT_EQ(submit(), Door::kOpen);
  EXPECT_TRUE(answers.empty()) << "never from inside post";
  settle();
  ASSERT_EQ(answers.size(), 1U);
  EXPECT_EQ(answers[0].code, AnswerCode::kAccepted);
  ASSERT_EQ(transport.started.size(), 1U);
  host->attempt_ended(transport.started[0], {.status = 200});
  settle();
  EXPECT_EQ(counters().delivered, 1U);
}

// req: engine.door.1
// req: device.to.7
TEST_F(HostTest, TellsOnceWhenTheWallClockWasSetByMoreThanAMinute) {
  std::vector<Duration> steps;
  HostOptions options;
  options.clock_was_set = [&](Duration by) { steps.push_back(by); };
  start(options);
  const auto set_by = [&](Duration by) {
    clock.now.boot = clock.now.boot + 1s;
    clock.now.wall = clock.now.wall + 1s + by;
    settle();
  };
  set_by(0s);
  set_by(60s);
  EXPECT_TRUE(steps.empty());
  set_by(60'001ms);
  EXPECT_EQ(steps, (std::vector<Duration>{60'001ms}));
  set_by(0s);
  set_by(-2h);
  EXPECT_EQ(steps, (std::vector<Duration>{60'001ms, -2h}));
}

TEST_F(HostTest, OneTenantsFloodDoesNotRefuseAnother) {
  HostOptions options;
  options.tenant_waiting_max = 3;
  options.waiting_max = 5;
  start(options);
  configure();
  store.held = true;
  EXPECT_EQ(submit("flood"), Door::kOpen);
  EXPECT_EQ(submit("flood"), Door::kOpen);
  EXPECT_EQ(submit("flood"), Door::kOpen);
  EXPECT_EQ(submit("flood"), Door::kTenantBusy);
  EXPECT_EQ(submit("quiet"), Door::kOpen);
  EXPECT_EQ(submit("third"), Door::kOpen);
  EXPECT_EQ(submit("fourth"), Door::kBusy) << "there is a limit for all together, too";
  store.release();
  settle();
  EXPECT_EQ(answers.size(), 5U);
  EXPECT_EQ(submit("flood"), Door::kOpen) << "the share is free again";
}

TEST_F(HostTest, RefusesNewMessagesButNotQuestionsWithoutSpace) {
  start();
  configure();
  host->set_space(false);
  EXPECT_EQ(submit(), Door::kNoSpace);
  EXPECT_EQ(ask("t", Query{}), Door::kOpen);
  host->set_space(true);
  EXPECT_EQ(submit(), Door::kOpen);
}

// req: engine.disk.2
TEST_F(HostTest, StartsNothingAfterAFailedCommitUntilTheStoreIsTakenAgain) {
  start();
  configure();
  ASSERT_EQ(submit(), Door::kOpen);
  settle();
  ASSERT_EQ(transport.started.size(), 1U);
  store.next_outcome = CommitOutcome::kAmbiguous;
  store.acquire_error = ErrorCode::kLimit;
  ASSERT_EQ(submit(), Door::kOpen);
  settle();
  EXPECT_EQ(answers.back().code, AnswerCode::kUnavailable);
  EXPECT_EQ(host->state(), Host::State::kRestarting);
  EXPECT_EQ(transport.aborted.size(), 1U);
  EXPECT_EQ(submit(), Door::kRestarting);
  clock.now.boot = clock.now.boot + Duration(1000);
  settle();
  EXPECT_EQ(host->state(), Host::State::kRestarting) << "still no room";
  EXPECT_EQ(transport.started.size(), 1U);
  store.acquire_error.reset();
  ASSERT_TRUE(host->next_deadline().has_value());
  clock.now.boot = *host->next_deadline();
  settle();
  EXPECT_EQ(host->state(), Host::State::kRunning);
  EXPECT_EQ(transport.started.size(), 2U) << "the first message is sent again";
  EXPECT_NE(transport.started[0], transport.started[1]);
  host->attempt_ended(transport.started[0], {.status = 200});  // of the life before: not ours
  settle();
  EXPECT_EQ(counters().delivered, 0U);
}

TEST_F(HostTest, StopsWhenASyncFailed) {
  start();
  configure();
  store.next_outcome = CommitOutcome::kNoSync;
  ASSERT_EQ(submit(), Door::kOpen);
  settle();
  EXPECT_EQ(host->state(), Host::State::kStopped);
  EXPECT_EQ(host->failure(), "the store failed for good");
  EXPECT_EQ(submit(), Door::kStopping);
}

// req: engine.drain.1
TEST_F(HostTest, DrainsWithoutStartingAnything) {
  start();
  configure();
  ASSERT_EQ(submit(), Door::kOpen);
  settle();
  ASSERT_EQ(transport.started.size(), 1U);
  ASSERT_EQ(submit(), Door::kOpen);
  host->drain();
  EXPECT_EQ(submit(), Door::kStopping);
  settle();
  EXPECT_EQ(answers.size(), 2U) << "what was taken is answered";
  EXPECT_EQ(transport.started.size(), 1U) << "and not started";
  EXPECT_EQ(host->state(), Host::State::kRunning) << "the open attempt is waited for";
  host->attempt_ended(transport.started[0], {.status = 200});
  settle();
  EXPECT_EQ(host->state(), Host::State::kStopped);
  EXPECT_TRUE(host->failure().empty());

  start();
  const Counters after = counters();
  EXPECT_EQ(after.accepted, 2U);
  EXPECT_EQ(after.delivered, 1U);
  EXPECT_EQ(after.live(), 1U);
}

TEST_F(HostTest, GivesUpOpenAttemptsWhenToldTo) {
  start();
  configure();
  ASSERT_EQ(submit(), Door::kOpen);
  settle();
  host->drain();
  settle();
  EXPECT_EQ(host->state(), Host::State::kRunning);
  host->give_up();
  settle();
  EXPECT_EQ(host->state(), Host::State::kStopped);
  EXPECT_EQ(transport.aborted.size(), 1U);
}

// Takes the attempts of webhooks, and writes down what it hears.
class HostStation final : public Station {
 public:
  std::string_view verb() const override { return "POST"; }
  void on(const StationNow& now, const station::Happened& happened,
          std::vector<station::Wanted>& wanted) override {
    if (const auto* epoch = std::get_if<station::NewEpoch>(&happened))
      epochs.push_back(epoch->epoch);
    if (const auto* started = std::get_if<station::Started>(&happened))
      starts.push_back(started->attempt);
    if (const auto* aborted = std::get_if<station::Aborted>(&happened))
      aborts.push_back(aborted->attempt);
    if (const auto* told = std::get_if<station::Told>(&happened)) tolds.push_back(*told);
    if (const auto* over = std::get_if<station::Exchanged>(&happened)) ends.push_back(over->token);
    if (std::holds_alternative<station::LineTook>(happened)) ++took;
    if (std::holds_alternative<station::DeadlineReached>(happened)) deadline.reset();
    std::array<std::uint8_t, 32> drawn{};
    now.entropy.fill(drawn);
    draws.insert(drawn);
    ++calls;
    for (station::Wanted& want : next) wanted.push_back(std::move(want));
    next.clear();
  }
  std::optional<Timestamp> next_deadline() const override { return deadline; }
  void tell(StationFigures& figures) const override { figures.push_back({"calls", calls}); }

  std::vector<station::Wanted> next;
  std::vector<Epoch> epochs;
  std::vector<AttemptId> starts;
  std::vector<AttemptId> aborts;
  std::vector<station::Told> tolds;
  std::vector<Token> ends;
  std::set<std::array<std::uint8_t, 32>> draws;
  std::size_t calls = 0;
  int took = 0;
  std::optional<Timestamp> deadline;
};

class HostWire final : public Wire {
 public:
  void open(LineId line, LineOrder /*order*/) override { opened.push_back(line); }
  void write(LineId /*line*/, std::string bytes, std::string_view /*to*/) override {
    written.push_back(std::move(bytes));
  }
  void hold(LineId /*line*/, bool /*held*/) override {}
  void close(LineId line) override { closed.push_back(line); }
  std::vector<LineId> opened;
  std::vector<std::string> written;
  std::vector<LineId> closed;
};

class HostStationsTest : public HostTest {
 protected:
  void start_with_station(HostOptions options = {}) {
    options.shard.engine.profiles = all_profiles();
    options.shard.seeds = [] {
      static std::uint8_t seeds = 0;
      EntropySeed seed{};
      seed[3] = ++seeds;
      return seed;
    };
    options.station_misused = [this](std::string_view /*verb*/, const std::string& what) {
      misuses.push_back(what);
    };
    host = std::make_unique<Host>(options, store, transport, clock, [this] { ++wakes; });
    auto made = std::make_unique<HostStation>();
    station = made.get();
    std::vector<std::unique_ptr<Station>> list;
    list.push_back(std::move(made));
    host->seat(std::move(list), wire);
    settle();
  }
  void want(station::Wanted wanted) {
    station->next.push_back(std::move(wanted));
    station->deadline = clock.now.boot;
    host->turn();
  }
  static Submit message() {
    Submit submit;
    submit.destination = "shop";
    submit.body = "{}";
    return submit;
  }
  HostWire wire;
  HostStation* station = nullptr;
  std::vector<std::string> misuses;
};

TEST_F(HostStationsTest, ItsAttemptsGoToTheStationAndEndThere) {  // req: station.attempt.1
  start_with_station();
  configure();
  ASSERT_EQ(submit(), Door::kOpen);
  settle();
  ASSERT_EQ(station->starts.size(), 1U);
  EXPECT_TRUE(transport.started.empty());
  want(station::Post{{}, AttemptEnded{station->starts[0], {.status = 200}}});
  settle();
  EXPECT_EQ(counters().delivered, 1U);
  EXPECT_TRUE(misuses.empty());
  StationFigures figures;
  host->tell_stations(figures);
  EXPECT_EQ(figures.size(), 1U);
}

TEST_F(HostStationsTest, ItsPostsAreToldWhenTheyAreDurable) {  // req: station.post.1
  start_with_station();
  configure();
  store.held = true;
  want(station::Post{Token(1), message()});
  settle();
  EXPECT_TRUE(station->tolds.empty()) << "not before the commit";
  store.release();
  settle();
  ASSERT_EQ(station->tolds.size(), 1U);
  EXPECT_EQ(station->tolds[0].answer.code, AnswerCode::kAccepted);
}

TEST_F(HostStationsTest, AFailedCommitIsANewEpochAndNoAnswer) {  // req: station.epoch.2
  start_with_station();
  configure();
  ASSERT_EQ(submit(), Door::kOpen);
  settle();
  const LineId line(1);
  want(station::OpenLine{line, {.address = "tcp://x:1"}});
  store.next_outcome = CommitOutcome::kFailed;
  want(station::Post{Token(1), message()});
  settle();
  EXPECT_EQ(station->epochs.size(), 2U);
  EXPECT_LT(station->epochs[0], station->epochs[1]);
  EXPECT_TRUE(station->tolds.empty());
  EXPECT_TRUE(wire.closed.empty()) << "lines stay";
  host->line(station::LineTook{wire.opened.at(0), "x", ""});
  EXPECT_EQ(station->took, 1);
  EXPECT_EQ(station->starts.size(), 2U) << "the new engine starts its message again";
  want(station::Post{Token(2), message()});
  settle();
  EXPECT_EQ(station->tolds.size(), 1U);
  EXPECT_TRUE(misuses.empty());
}

TEST_F(HostStationsTest, WhileTheStoreIsTakenAgainItsPostsAreUnavailable) {
  // req: station.post.2
  start_with_station();
  configure();
  store.next_outcome = CommitOutcome::kFailed;
  store.acquire_error = ErrorCode::kLimit;
  want(station::Post{Token(1), message()});
  settle();
  want(station::Post{Token(2), message()});
  want(station::Post{{}, PeerSeen{.destination = "shop"}});
  settle();
  ASSERT_EQ(station->tolds.size(), 1U);
  EXPECT_EQ(station->tolds[0].answer.code, AnswerCode::kUnavailable);
  EXPECT_EQ(host->station_figures().news_lost, 1U);
}

TEST_F(HostStationsTest, AFullDoorIsBusy) {  // req: station.post.2
  start_with_station({.tenant_waiting_max = 1});
  configure();
  store.held = true;
  want(station::Post{Token(1), message()});
  want(station::Post{Token(2), message()});
  settle();
  ASSERT_EQ(station->tolds.size(), 1U);
  EXPECT_EQ(station->tolds[0].token, Token(2));
  EXPECT_EQ(station->tolds[0].answer.code, AnswerCode::kBusy);
  store.release();
  settle();
  EXPECT_EQ(station->tolds.size(), 2U);
}

TEST_F(HostStationsTest, ExchangesGoThroughTheTransport) {  // req: station.exchange.1
  start_with_station();
  want(station::Exchange{Token(1), {.verb = "WORK"}});
  ASSERT_EQ(transport.started.size(), 1U);
  host->attempt_ended(transport.started[0], {});
  settle();
  EXPECT_EQ(station->ends, std::vector<Token>{Token(1)});
  want(station::Exchange{Token(2), {.verb = "WORK"}});
  want(station::AbortExchange{Token(2)});
  EXPECT_EQ(transport.aborted.size(), 1U);
}

TEST_F(HostStationsTest, AnEarlierDeadlineWakesTheLoop) {  // req: station.deadline.1
  start_with_station();
  want(station::OpenLine{LineId(1), {.address = "tcp://x:1"}});
  wakes = 0;
  host->line(station::LineTook{wire.opened.at(0), "x", ""});
  EXPECT_EQ(wakes, 0) << "nothing is due";
  station->next.emplace_back(station::Exchange{Token(1), {.verb = "WORK"}});
  station->deadline = clock.now.boot + Duration(500);
  host->line(station::LineTook{wire.opened.at(0), "x", ""});
  EXPECT_EQ(host->next_deadline(), clock.now.boot + Duration(500));
}

TEST_F(HostStationsTest, ADrainWaitsForItsAttemptsAndClosesItsLines) {  // req: station.attempt.4
  start_with_station();
  configure();
  ASSERT_EQ(submit(), Door::kOpen);
  settle();
  want(station::OpenLine{LineId(1), {.address = "tcp://x:1"}});
  host->drain();
  settle();
  EXPECT_NE(host->state(), Host::State::kStopped);
  want(station::Post{{}, AttemptEnded{station->starts.at(0), {.status = 200}}});
  settle();
  EXPECT_EQ(host->state(), Host::State::kStopped);
  EXPECT_EQ(wire.closed, wire.opened);
  EXPECT_TRUE(misuses.empty());
}

TEST_F(HostStationsTest, NoTwoCallsDrawTheSame) {  // req: engine.entropy.2
  start_with_station();
  want(station::OpenLine{LineId(1), {.address = "tcp://x:1"}});
  for (int i = 0; i < 50; ++i) host->line(station::LineTook{wire.opened.at(0), "x", ""});
  EXPECT_EQ(station->draws.size(), station->calls);
}

}  // namespace
}  // namespace postrider
