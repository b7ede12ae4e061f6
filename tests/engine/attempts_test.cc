// What is told of the attempts at a message: each of the newest, after a restart and after its end
// too, in records that are written anyway.
#include "postrider/model/attempts.h"

#include "postrider/model/records/keys.h"
#include "postrider/model/records/records.h"
#include "tests/support/shard_rig.h"

namespace postrider {
namespace {

class Attempts : public ShardRig {
 protected:
  void open_shop(NamedTexts settings = {}) {
    settings.emplace_back("ladder", "10s,10s,10s,10s,10s,10s,10s");
    settings.emplace_back("jitter_percent", "0");
    settings.emplace_back("strikes_max", "0");
    open();
    post(configure(next(), "shop", std::move(settings)));
  }
  std::uint64_t next() { return ++ticket_; }
  MessageId send() {
    post(submit(next(), "shop"));
    return id_of(ticket_);
  }
  // Answers the open attempt after a second, and comes to the next one.
  void fail(int status = 503) {
    advance(1s);
    post(answer(last_attempt(), status));
    advance(10s);
  }
  Explanation explain(MessageId id) {
    Query event = ask(next(), Query::What::kExplain);
    event.id = id;
    post(event);
    return view_of<Explanation>(ticket_);
  }
  AttemptList told_of(MessageId id) { return explain(id).attempt_list; }
  static AttemptNote failed(Duration at, int status = 503) {
    return {kStart + at, 1s, AttemptEnd::kFailed, FailureClass::kServer,
            "HTTP " + std::to_string(status)};
  }
  static AttemptNote open_at(Duration at) { return {.at = kStart + at, .took = std::nullopt}; }

  std::uint64_t ticket_ = 0;
};

// req: engine.attempts.1, engine.ask.2
TEST_F(Attempts, AreToldOneByOneWithWhenHowLongAndHowTheyEnded) {
  open_shop();
  const MessageId id = send();
  EXPECT_TRUE(told_of(id).empty());
  fail(503);
  fail(500);
  EXPECT_EQ(told_of(id).notes,
            (std::vector<AttemptNote>{failed(0s, 503), failed(11s, 500), open_at(22s)}));
  advance(3s);
  post(answer(last_attempt(), 200));
  const Explanation ended = explain(id);
  EXPECT_EQ(ended.phase, Phase::kDelivered);
  EXPECT_EQ(ended.attempt_list.notes,
            (std::vector<AttemptNote>{
                failed(0s, 503), failed(11s, 500), {kStart + 22s, 3s, AttemptEnd::kDelivered}}));
  open();
  EXPECT_EQ(told_of(id), ended.attempt_list) << "after a restart";
}

// req: engine.attempts.1
TEST_F(Attempts, SurviveARestartButWhatACrashForgotIsMadeAgain) {
  open_shop();
  const MessageId id = send();
  fail();
  ASSERT_TRUE(told_of(id).is_open());
  open();
  advance(1s);
  const AttemptList list = told_of(id);
  ASSERT_EQ(list.notes.size(), 2U) << "the one that was open left no record";
  EXPECT_EQ(list.notes[0], failed(0s));
  EXPECT_TRUE(list.is_open());
  EXPECT_EQ(explain(id).attempts, 2);
}

// req: engine.attempts.1
TEST_F(Attempts, OfADeadLetterAreTold) {
  open_shop({{"attempts_max", "2"}});
  const MessageId id = send();
  fail(503);
  advance(1s);
  post(answer(last_attempt(), 400));
  const Explanation dead = explain(id);
  EXPECT_EQ(dead.phase, Phase::kDead);
  ASSERT_EQ(dead.attempt_list.notes.size(), 2U);
  EXPECT_EQ(dead.attempt_list.notes[1].failure, FailureClass::kRejected);
  EXPECT_EQ(dead.attempt_list.notes[1].took, 1s);
}

// req: engine.attempts.1
TEST_F(Attempts, ThatAreNotAnsweredEndByTheirTimeOut) {
  open_shop({{"time_out", "5s"}});
  const MessageId id = send();
  advance(5s);
  const AttemptList list = told_of(id);
  ASSERT_EQ(list.notes.size(), 1U);
  EXPECT_EQ(list.notes[0].took, 5s);
  EXPECT_EQ(list.notes[0].failure, FailureClass::kTimeout);
}

// req: engine.attempts.2
TEST_F(Attempts, BelowAtAndAboveTheLimit) {
  options.engine.limits.attempts_kept_max = 3;
  open_shop();
  const MessageId id = send();
  for (const std::uint32_t made : {1U, 2U, 3U, 4U}) {
    advance(1s);
    post(answer(last_attempt(), 503));
    const AttemptList list = told_of(id);
    EXPECT_EQ(list.notes.size(), std::min(made, 3U));
    EXPECT_EQ(list.earlier, made - std::min(made, 3U));
    EXPECT_EQ(list.notes.back(), failed(Duration(11s) * (made - 1)));
    advance(10s);
  }
}

// req: engine.attempts.2
TEST_F(Attempts, OfAnOlderVersionAreCounted) {
  options.engine.limits.attempts_kept_max = 0;
  open_shop();
  const MessageId id = send();
  fail();
  fail();
  EXPECT_TRUE(told_of(id).empty()) << "none are kept";
  options.engine.limits.attempts_kept_max = 16;
  open();
  fail();
  const AttemptList list = told_of(id);
  EXPECT_EQ(list.earlier, 2U);
  ASSERT_EQ(list.notes.size(), 2U);
  EXPECT_EQ(list.notes[0].took, 1s);
  EXPECT_EQ(explain(id).attempts, 4);
}

// req: engine.attempts.3
TEST_F(Attempts, CostNothingWhenTheFirstDelivers) {
  open_shop();
  send();
  store.holds_commits = true;
  advance(1s);
  post(answer(last_attempt(), 200));
  for (const Write& write : store.held_batch().writes()) {
    if (write.key[0] != keys::kEnd) continue;
    EXPECT_TRUE(decode_end(write.value.view()).value().past.empty());
  }
  store.holds_commits = false;
  release_commit();
}

// req: engine.attempts.3
TEST_F(Attempts, RideInTheRecordThatIsWrittenAnyway) {
  std::size_t records[2] = {};
  std::size_t bytes[2] = {};
  for (const std::uint32_t kept : {0U, 16U}) {
    options.engine.limits.attempts_kept_max = kept;
    open_shop();
    send();
    fail();
    store.holds_commits = true;
    advance(1s);
    post(answer(last_attempt(), 503));
    for (const Write& write : store.held_batch().writes()) {
      ++records[kept / 16];
      const bool state = write.key[0] == keys::kHot || write.key[0] == keys::kCold;
      if (state) bytes[kept / 16] += write.value.size();
    }
    store.holds_commits = false;
    release_commit();
    advance(10s);
    post(answer(last_attempt(), 200));
  }
  EXPECT_EQ(records[0], records[1]);
  EXPECT_GT(bytes[1], bytes[0]);
  EXPECT_LE(bytes[1], bytes[0] + 16) << "two attempts";
}

}  // namespace
}  // namespace postrider
