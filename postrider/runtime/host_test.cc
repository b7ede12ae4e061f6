// Host over the memory store and a transport that only writes down what it was told.
#include "postrider/runtime/host.h"

#include <array>
#include <deque>
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

}  // namespace
}  // namespace postrider
