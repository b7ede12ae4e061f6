// What a process makes of what the former one left: a clock that has leapt, and attempts that were
// open. Host over the memory store, with webhooks, and a transport that only writes down.
#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "postrider/profiles/all.h"
#include "postrider/runtime/host.h"
#include "postrider/stores/memory.h"

namespace postrider {
namespace {

constexpr Timestamp kFriday(1'700'000'000'000);
constexpr Duration kYears{10 * 365 * 24h};

class KernelClock final : public Clock {
 public:
  Instant read() const override { return {boot, wall}; }
  bool synchronised() const override { return vouched; }
  void pass(Duration time) {
    boot = boot + time;
    wall = wall + time;
  }
  Timestamp boot{1'000'000};
  Timestamp wall = kFriday;
  bool vouched = true;  // by the kernel
};

class RestartTransport final : public Transport {
 public:
  void start(AttemptId attempt, WireRequest /*request*/) override { started.push_back(attempt); }
  void abort(AttemptId /*attempt*/) override {}
  std::vector<AttemptId> started;
};

class RestartTest : public ::testing::Test {
 protected:
  RestartTest() {
    start();
    Configure configure;
    configure.config = {
        .name = "shop", .profile = "webhook", .settings = {{"url", "https://shop.example/hook"}}};
    ask(std::move(configure));
  }
  void start() {
    HostOptions options;
    options.shard.engine.profiles = all_profiles();
    options.clock_in_doubt = [this](const DoubtNews& it) { news.push_back(it.kind); };
    host = std::make_unique<Host>(options, store, transport, clock, [] {});
    settle();
  }
  void restart() {
    host.reset();
    transport.started.clear();
    start();
  }
  void settle() {
    for (int i = 0; i < 10; ++i) host->turn();
  }
  // Time passes and the host is woken as it asked for.
  void pass(Duration time) {
    for (const Timestamp end = clock.boot + time; clock.boot < end;) {
      const Timestamp next = host->next_deadline().value_or(end);
      clock.pass(std::clamp(next - clock.boot, Duration(1), end - clock.boot));
      settle();
    }
  }
  Answer ask(Event event) {
    Answer out;
    out.code = AnswerCode::kUnavailable;
    EXPECT_EQ(host->post("t", std::move(event), [&out](const Answer& answer) { out = answer; }),
              Door::kOpen);
    settle();
    return out;
  }
  void pause(bool paused) {
    if (paused) ask(Pause{.caller = {}, .destination = "shop", .reason = "test"});
    if (!paused) ask(Resume{.caller = {}, .destination = "shop"});
  }
  Submit message(std::string key = {}) const {
    Submit submit;
    submit.destination = "shop";
    submit.body = "{}";
    if (key.empty()) return submit;
    submit.caller.key.kind = OperationKey::Kind::kOpaque;
    submit.caller.key.key = std::move(key);
    return submit;
  }
  MessageId send(Submit submit) {
    const Answer answer = ask(std::move(submit));
    EXPECT_EQ(answer.code, AnswerCode::kAccepted) << answer.detail;
    return answer.id;
  }
  Explanation explain(MessageId id) {
    Query question;
    question.what = Query::What::kExplain;
    question.id = id;
    const Answer answer = ask(std::move(question));
    return std::get<Explanation>(answer.view);
  }
  Phase phase(MessageId id) { return explain(id).phase; }
  // A route that was paused starts slowly: one attempt at a time.
  std::size_t answer_all(const WireReply& reply) {
    std::size_t answered = 0;
    while (!transport.started.empty()) {
      for (const AttemptId attempt : std::exchange(transport.started, {})) {
        host->attempt_ended(attempt, reply);
        ++answered;
      }
      settle();
    }
    return answered;
  }
  Duration doubt() { return std::get<Stats>(ask(Query{}).view).clock_doubt; }
  Answer cancel(MessageId id) { return ask(Cancel{.caller = {}, .id = id}); }
  void off(Duration time) { clock.pass(time); }

  KernelClock clock;
  MemoryStore store;
  RestartTransport transport;
  std::vector<DoubtNews::Kind> news;
  std::unique_ptr<Host> host;
};

using ClockInDoubt = RestartTest;
using LostAttempt = RestartTest;
using News = std::vector<DoubtNews::Kind>;

// req: engine.time.8, engine.time.9, engine.time.10
TEST_F(ClockInDoubt, IsToldAndTimesAreShownByTheWall) {
  pause(true);
  const MessageId before = send(message());
  host.reset();
  off(60h);
  clock.vouched = false;
  start();
  EXPECT_EQ(news, (News{DoubtNews::Kind::kDoubted}));
  EXPECT_EQ(doubt(), 60h - 1ms) << "engine time goes on just behind the floor";
  const MessageId meanwhile = send(message());
  EXPECT_EQ(explain(before).accepted, kFriday);
  EXPECT_EQ(explain(meanwhile).accepted, kFriday + 60h) << "engine time is still on Friday";
  ASSERT_TRUE(host->next_deadline());
  EXPECT_LE(*host->next_deadline(), clock.boot + 5s) << "somebody asks the kernel again";

  clock.vouched = true;
  settle();
  EXPECT_EQ(news, (News{DoubtNews::Kind::kDoubted, DoubtNews::Kind::kBelieved}));
  EXPECT_EQ(doubt(), 0s);
  EXPECT_EQ(explain(before).accepted, kFriday);
  EXPECT_EQ(explain(meanwhile).accepted, kFriday + 60h)
      << "its stamp is of Friday, and means Monday";
  restart();
  EXPECT_EQ(explain(meanwhile).accepted, kFriday + 60h) << "the next process knows that, too";
}

// req: engine.time.5, engine.time.9
TEST_F(ClockInDoubt, ABootWithAClockYearsAheadChangesNothing) {
  pause(true);
  const MessageId keyed = send(message("k"));
  Submit later = message();
  later.not_before = clock.wall + 1h;
  const MessageId delayed = send(later);
  Submit mortal = message();
  mortal.expires = clock.wall + 1h;
  const MessageId lives = send(mortal);
  host.reset();
  off(5s);
  clock.wall = clock.wall + kYears;
  clock.vouched = false;
  start();
  EXPECT_EQ(send(message("k")), keyed) << "no key is forgotten";
  const MessageId meanwhile = send(message());
  pass(1500ms);
  EXPECT_EQ(phase(lives), Phase::kQueued);
  clock.wall = clock.wall - kYears;
  clock.vouched = true;
  settle();
  EXPECT_EQ(news, (News{DoubtNews::Kind::kDoubted, DoubtNews::Kind::kTakenBack}));
  EXPECT_EQ(send(message("k")), keyed);
  EXPECT_EQ(explain(send(message())).accepted, clock.wall) << "and no time stays there";
  EXPECT_LE(explain(meanwhile).accepted, clock.wall);
  EXPECT_EQ(explain(lives).expires, kFriday + 1h);
  pause(false);
  EXPECT_EQ(answer_all({.status = 200}), 4U) << "all but the one that is delayed";
  pass(59min);
  EXPECT_TRUE(transport.started.empty());
  pass(55s);
  EXPECT_EQ(answer_all({.status = 200}), 1U);
  EXPECT_EQ(phase(delayed), Phase::kDelivered);
}

// req: engine.time.1, engine.time.4, engine.time.9, engine.time.10
TEST_F(ClockInDoubt, ALongStopIsBelievedWhenItHasStoodAndSparesWhatWasMadeMeanwhile) {
  pause(true);
  const MessageId keyed = send(message("k"));
  Submit mortal = message();
  mortal.expires = clock.wall + 5h;
  const MessageId old = send(mortal);
  host.reset();
  off(60h);
  clock.vouched = false;
  start();
  EXPECT_EQ(send(message("k")), keyed) << "no key is forgotten yet";
  Submit timed = message("of today");
  timed.caller.key.kind = OperationKey::Kind::kTimed;
  timed.caller.key.made = clock.wall;
  timed.expires = clock.wall + 20min;
  const MessageId young = send(timed);
  Submit later = message();
  later.not_before = clock.wall + 30min;
  const MessageId delayed = send(later);
  Submit stale = message();
  stale.expires = clock.wall - 1h;
  EXPECT_EQ(ask(stale).code, AnswerCode::kBusy) << "perhaps it is the wall that is wrong";
  pass(599s);
  EXPECT_EQ(phase(old), Phase::kQueued);
  EXPECT_EQ(explain(young).expires, timed.expires);
  pass(1s);
  EXPECT_EQ(doubt(), 0s);
  EXPECT_EQ(phase(old), Phase::kExpired) << "long ago, as is known now";
  EXPECT_NE(send(message("k")), keyed) << "it was used sixty hours ago";
  EXPECT_EQ(send(timed), young) << "and this one ten minutes ago";
  EXPECT_EQ(ask(stale).code, AnswerCode::kInvalid);
  restart();
  EXPECT_EQ(send(timed), young);
  EXPECT_EQ(explain(young).expires, timed.expires);
  pass(9min);
  EXPECT_EQ(phase(young), Phase::kQueued);
  pass(1min);
  EXPECT_EQ(phase(young), Phase::kExpired) << "twenty minutes after it came";
  pause(false);
  EXPECT_EQ(answer_all({.status = 200}), 2U) << "both with the key";
  pass(9min);
  EXPECT_TRUE(transport.started.empty());
  pass(61s);
  EXPECT_EQ(answer_all({.status = 200}), 1U);
  EXPECT_EQ(phase(delayed), Phase::kDelivered);
}

// req: engine.time.1
TEST_F(ClockInDoubt, ALongStopThatTheKernelVouchesForIsBelievedAtOnce) {
  pause(true);
  const MessageId keyed = send(message("k"));
  Submit mortal = message();
  mortal.expires = clock.wall + 5h;
  const MessageId old = send(mortal);
  host.reset();
  off(60h);
  start();
  EXPECT_TRUE(news.empty());
  EXPECT_EQ(phase(old), Phase::kExpired);
  EXPECT_NE(send(message("k")), keyed);
}

// req: engine.cancel.6 — it was asked for while the attempt was open
TEST_F(LostAttempt, ACancelThatWasPendingAtAStopSaysThatTheAttemptMayHaveArrived) {
  const MessageId id = send(message());
  EXPECT_EQ(cancel(id).code, AnswerCode::kPending);
  restart();
  EXPECT_EQ(phase(id), Phase::kCancelled);
  EXPECT_EQ(explain(id).reason, std::string(kLostAttempt) + "; stopped on request");
}

// req: engine.cancel.6 — without a record of it, on disk and with a failure in between
TEST_F(LostAttempt, ACancelAfterAStopSaysThatAnAttemptMayHaveArrived) {
  const MessageId waits = send(message());
  const MessageId fails = send(message());
  Submit mortal = message();
  mortal.expires = clock.wall + 1min;
  const MessageId ages = send(mortal);
  ASSERT_EQ(transport.started.size(), 3U);
  pause(true);
  restart();
  const MessageId fresh = send(message());
  EXPECT_EQ(cancel(fresh).code, AnswerCode::kDone);
  EXPECT_EQ(explain(fresh).reason, "stopped on request");
  EXPECT_EQ(cancel(waits).code, AnswerCode::kDone);
  EXPECT_EQ(explain(waits).reason, std::string(kLostAttempt) + "; stopped on request");
  pause(false);
  EXPECT_EQ(answer_all({.end = WireEnd::kRefused}), 2U);
  restart();
  EXPECT_EQ(cancel(fails).code, AnswerCode::kDone);
  EXPECT_TRUE(explain(fails).reason.starts_with(kLostAttempt)) << explain(fails).reason;
  pause(true);
  pass(2min);
  EXPECT_EQ(phase(ages), Phase::kExpired);
  EXPECT_TRUE(explain(ages).reason.starts_with(kLostAttempt)) << explain(ages).reason;
}

}  // namespace
}  // namespace postrider
