// Operations of the rpc profile on the engine: who runs, who waits, who is told what, and what a
// crash leaves.
#include <string>

#include "tests/support/operation_rig.h"

namespace postrider {
namespace {

class Operations : public OperationRig {};

// req: engine.outcome.1, rpc.rule.6, rpc.rule.19, rpc.rule.20, rpc.rule.21, rpc.rule.27
TEST_F(Operations, ARepeatWaitsForTheSameEndAndGetsTheSameBytes) {
  for (const std::string& method : all_methods()) {
    open_bank();
    const Caller caller{.key = "k-" + method};
    const Answer first = call(method, caller);
    ASSERT_EQ(first.code, AnswerCode::kAccepted);
    const std::uint64_t one = await(first.id);
    const Answer again = call(method, caller);
    EXPECT_TRUE(again.replayed);
    EXPECT_EQ(again.id, first.id);
    const std::uint64_t two = await(again.id);
    EXPECT_FALSE(answered(one));
    EXPECT_EQ(runs().size(), 1U) << method;
    answers(201, "7 coins");
    for (const std::uint64_t ticket : {one, two}) {
      EXPECT_FALSE(told(ticket).replayed);
      EXPECT_EQ(outcome_of(view_of<EndView>(ticket)),
                (rpc::SealedOutcome{false, 201, "text/plain", "7 coins"}));
    }
    EXPECT_EQ(runs().size(), 1U);
  }
}

// req: engine.outcome.1, engine.outcome.2, rpc.rule.10, rpc.rule.22, rpc.rule.30
TEST_F(Operations, AnOutcomeIsToldAgainAfterTheEndAndAfterARestart) {
  for (const std::string& method : all_methods()) {
    open_bank();
    const Caller caller{.key = "k-" + method};
    const MessageId id = call(method, caller).id;
    answers(200, "done");
    for (int restart = 0; restart < 2; ++restart) {
      const Answer again = call(method, caller);
      EXPECT_TRUE(again.replayed);
      EXPECT_EQ(again.id, id);
      const std::uint64_t ticket = await(id);
      EXPECT_TRUE(told(ticket).replayed);
      EXPECT_EQ(outcome_of(view_of<EndView>(ticket)).body, "done") << method;
      EXPECT_EQ(runs().size(), restart == 0 ? 1U : 0U);
      open();
    }
  }
}

// req: rpc.rule.28, rpc.rule.36
TEST_F(Operations, AFailureOfTheApplicationIsSealedAndToldAgain) {
  for (const std::string& method : all_methods()) {
    open_bank();
    const Caller caller{.key = "k-" + method};
    const MessageId id = call(method, caller).id;
    answers(422, "no money");
    call(method, caller);
    const rpc::SealedOutcome outcome = outcome_of(end_of(id));
    EXPECT_TRUE(outcome.failure);
    EXPECT_EQ(outcome.status, 422);
    EXPECT_EQ(outcome.body, "no money");
    advance(1h);
    EXPECT_EQ(runs().size(), 1U);
  }
}

// req: rpc.rule.15, rpc.http.3
TEST_F(Operations, NoOutcomeIsToldBeforeItIsDurable) {
  open_bank();
  const MessageId id = call(kPersist).id;
  const std::uint64_t ticket = await(id);
  store.holds_commits = true;
  answers(200, "done");
  EXPECT_FALSE(answered(ticket));
  release_commit();
  EXPECT_EQ(outcome_of(view_of<EndView>(ticket)).body, "done");
}

// A crash at each point of a persist operation, with what was not synced kept or lost.
// req: rpc.rule.14, rpc.rule.16, rpc.own.4
TEST_F(Operations, WhatWasNotDurableIsAbsentAndWhatWasRunningHasAnOpenFate) {
  for (const bool kept : {false, true}) {  // C2
    open_bank();
    store.holds_commits = true;
    post(call_of(kPersist, {.key = kept ? "kept" : "lost"}));
    EXPECT_FALSE(answered(ticket_));
    EXPECT_TRUE(runs().empty()) << "the start is durable before the handler runs";
    store.holds_commits = false;
    release_commit(CommitOutcome::kAmbiguous, kept);
    open();
    const Answer again = call(kPersist, {.key = kept ? "kept" : "lost"});
    EXPECT_EQ(again.code, AnswerCode::kAccepted);
    EXPECT_EQ(again.replayed, kept);
    // Kept with its start mark: it may have run as far as anything durable tells.
    if (kept) is_held_back();
    EXPECT_EQ(runs().size(), kept ? 0U : 1U);
    if (kept) {
      EXPECT_EQ(end_of(again.id).phase, Phase::kIndeterminate);
    }
  }
}

// req: rpc.own.4, rpc.rule.11, rpc.rule.16
TEST_F(Operations, AfterACrashTheQueuedOneRunsAndTheRunningOneIsIndeterminate) {
  open_bank({{"in_flight_max", "1"}});
  const MessageId running = call(kPersist, {.key = "a"}).id;
  const MessageId queued = call(kPersist, {.key = "b"}).id;
  ASSERT_EQ(runs().size(), 1U);
  open();  // C4 to C6
  turn();
  // The hook has the word, and there is none.
  is_held_back();
  EXPECT_EQ(end_of(running).phase, Phase::kIndeterminate);
  wait_for_start(2);
  ASSERT_EQ(runs().size(), 1U);
  EXPECT_EQ(header(runs()[0], "operation-id"), "b");
  answers(200, "b is done");
  EXPECT_EQ(outcome_of(end_of(queued)).body, "b is done");
}

// req: rpc.rule.18, rpc.rule.24, rpc.rule.26, rpc.rule.39, engine.readmit.2
TEST_F(Operations, AMethodThatIsNotIdemNeverRunsTwice) {
  for (const char* method : {kVolatile, kPersist}) {
    for (const bool crash : {false, true}) {
      open_bank();
      const Caller caller{.key = std::string(method) + (crash ? "-crash" : "-reset")};
      const MessageId id = call(method, caller).id;
      std::size_t ran = 1;
      if (crash) {
        open();
        ran = 0;  // of this process
      } else {
        breaks_off();
      }
      if (is_persist(method)) is_held_back();
      EXPECT_EQ(end_of(id).phase, Phase::kIndeterminate) << method << crash;
      const Answer again = call(method, caller);
      EXPECT_TRUE(again.replayed);
      EXPECT_EQ(again.id, id);
      advance(26h);
      EXPECT_EQ(runs().size(), ran) << method;
    }
  }
}

// req: rpc.rule.17, rpc.rule.25, rpc.own.14
TEST_F(Operations, AnIdemMethodRunsAgainByItselfWithAGreaterFence) {
  for (const char* method : {kVolatileIdem, kPersistIdem}) {
    open_bank();
    const Caller caller{.key = std::string("k-") + method};
    const MessageId id = call(method, caller).id;
    std::vector<std::string> fences = {header(runs()[0], "operation-fence")};
    EXPECT_EQ(header(runs()[0], "operation-attempt"), "1");
    breaks_off();
    if (is_persist(method)) is_held_back();
    const std::size_t before = starts().size();
    wait_for_start(before + 1);
    fences.push_back(header(runs().back(), "operation-fence"));
    EXPECT_EQ(header(runs().back(), "operation-attempt"), "2");
    open();  // while the second start runs
    turn();
    if (is_persist(method)) is_held_back();
    const std::size_t now = starts().size();
    wait_for_start(now + 1);
    fences.push_back(header(runs().back(), "operation-fence"));
    EXPECT_LT(fences[0], fences[1]);
    EXPECT_LT(fences[1], fences[2]);
    EXPECT_EQ(fences[0].size(), fences[2].size());
    EXPECT_EQ(header(runs().back(), "operation-id"), caller.key);
    answers(200, "at last");
    EXPECT_EQ(outcome_of(end_of(id)).body, "at last");
  }
}

// req: rpc.own.13
TEST_F(Operations, AHandlerThatDidNotBeginIsAskedAgainWhateverTheMethodIs) {
  for (const std::string& method : all_methods()) {
    open_bank();
    const MessageId id = call(method, {.key = "k-" + method}).id;
    answers(503);
    wait_for_start(2);
    answers(0, {}, WireEnd::kRefused);
    wait_for_start(3);
    answers(429);
    wait_for_start(4);
    answers(200, "begun");
    EXPECT_EQ(outcome_of(end_of(id)).body, "begun") << method;
  }
}

// req: rpc.rule.13, rpc.rule.32, rpc.rule.29
TEST_F(Operations, APersistOperationGoesOnWhenItIsCancelled) {
  for (const char* method : {kPersist, kPersistIdem}) {
    open_bank();
    const MessageId id = call(method, {.key = std::string("k-") + method}).id;
    EXPECT_EQ(cancel(id).code, AnswerCode::kNothing);
    EXPECT_TRUE(aborts().empty());
    answers(200, "paid");
    EXPECT_EQ(outcome_of(end_of(id)).body, "paid");
    EXPECT_EQ(cancel(id).code, AnswerCode::kEnded);
    EXPECT_EQ(outcome_of(end_of(id)).body, "paid");
  }
}

// req: rpc.rule.9, rpc.rule.31, rpc.rule.35
TEST_F(Operations, AVolatileOperationIsReleasedAndItsHandlerStopped) {
  for (const char* method : {kVolatile, kVolatileIdem}) {
    open_bank();
    const MessageId id = call(method, {.key = std::string("k-") + method}).id;
    const std::uint64_t waiting = await(id);
    const AttemptId attempt = last_attempt();
    EXPECT_EQ(cancel(id).code, AnswerCode::kDone);
    EXPECT_EQ(aborts(), std::vector<AttemptId>{attempt});
    EXPECT_EQ(view_of<EndView>(waiting).phase, Phase::kCancelled);
    answers(200, "too late");  // of the attempt that was given up
    EXPECT_EQ(end_of(id).phase, Phase::kCancelled);
  }
}

TEST_F(Operations, OnesThatTheHandlerAnswersWith500KeepNoOthersWaiting) {
  open_bank();
  for (int i = 0; i < 6; ++i) {
    call(kVolatileIdem, {.key = "bad-" + std::to_string(i)});
    answers(500, "");
  }
  call(kPersist, {.key = "good"});
  EXPECT_EQ(header(runs().back(), "operation-id"), "good");
}

// req: engine.readmit.1, rpc.rule.23
TEST_F(Operations, AReleasedIdemOperationRunsAgainWhenItIsRepeated) {
  open_bank();
  const Caller caller{.key = "k"};
  const MessageId first = call(kVolatileIdem, caller).id;
  cancel(first);
  const std::string fence = header(runs().back(), "operation-fence");
  const Answer again = call(kVolatileIdem, caller);
  EXPECT_EQ(again.code, AnswerCode::kAccepted);
  EXPECT_FALSE(again.replayed);
  EXPECT_NE(again.id, first);
  EXPECT_EQ(runs().size(), 2U);
  EXPECT_LT(fence, header(runs().back(), "operation-fence"));
  // Its key now stands for the new message, over restarts, and that lives.
  EXPECT_EQ(call(kVolatileIdem, caller).id, again.id);
  answers(200, "v");
  open();
  EXPECT_EQ(call(kVolatileIdem, caller).id, again.id);
  EXPECT_EQ(outcome_of(end_of(again.id)).body, "v");
  EXPECT_TRUE(runs().empty());
}

// A lower number that was passed over must not become new by it.
// req: engine.readmit.1, engine.ledger.9
TEST_F(Operations, ANumberThatIsAdmittedAgainLeavesTheHighestOne) {
  open_bank();
  const auto numbered = [this](std::uint64_t number) {
    Submit event = call_of(kVolatileIdem, {.key = "session"});
    event.caller.key.kind = OperationKey::Kind::kSequenced;
    event.caller.key.sequence = number;
    event.caller.key.made = shard->engine_time();
    post(event);
    return told(ticket_);
  };
  const MessageId first = numbered(1).id;
  ASSERT_EQ(numbered(3).code, AnswerCode::kAccepted);
  EXPECT_EQ(numbered(2).code, AnswerCode::kKeyExpired);
  cancel(first);
  const Answer again = numbered(1);
  EXPECT_EQ(again.code, AnswerCode::kAccepted);
  EXPECT_NE(again.id, first);
  EXPECT_EQ(numbered(2).code, AnswerCode::kKeyExpired);
  open();
  EXPECT_EQ(numbered(2).code, AnswerCode::kKeyExpired);
}

// req: engine.readmit.1, rpc.rule.25
TEST_F(Operations, AnIndeterminateIdemOperationIsAdmittedAgain) {
  open_bank({{"recover", "http://bank.example/how"}});
  const MessageId first = call(kPersistIdem).id;
  const std::string fence = header(runs().back(), "operation-fence");
  breaks_off();
  // For a day the hook says that it is to be asked later.
  for (int hour = 0; hour < 25 && explain(first).phase != Phase::kIndeterminate; ++hour) {
    AttemptEnded later = answer(last_attempt(), 202);
    later.reply.headers = {{"retry-after", "3600"}};
    post(later);
    const std::size_t asked = starts().size();
    for (int i = 0; i < 70 && starts().size() == asked; ++i) advance(1min);
  }
  ASSERT_EQ(end_of(first).phase, Phase::kIndeterminate);
  const Answer again = call(kPersistIdem);
  EXPECT_EQ(again.code, AnswerCode::kAccepted);
  EXPECT_FALSE(again.replayed);
  EXPECT_NE(again.id, first);
  EXPECT_LT(fence, header(runs().back(), "operation-fence"));
  answers(200, "v");
  EXPECT_EQ(outcome_of(end_of(again.id)).body, "v");
}

// req: engine.readmit.2, rpc.rule.24
TEST_F(Operations, AReleasedOperationThatIsNotIdemIsNotAdmittedAgain) {
  open_bank();
  const MessageId first = call(kVolatile).id;
  cancel(first);
  for (int restart = 0; restart < 2; ++restart) {
    const Answer again = call(kVolatile);
    EXPECT_TRUE(again.replayed);
    EXPECT_EQ(again.id, first);
    EXPECT_EQ(end_of(first).phase, Phase::kCancelled);
    open();
  }
  EXPECT_TRUE(runs().empty());
}

// req: rpc.rule.5, rpc.own.1, rpc.own.2
TEST_F(Operations, OtherContentIsAConflictInEveryState) {
  enum class End : std::uint8_t { kNone, kSealed, kReleased, kOpen };
  for (const std::string& method : all_methods()) {
    for (const End end : {End::kNone, End::kSealed, End::kReleased, End::kOpen}) {
      if (end == End::kReleased && is_persist(method)) continue;
      if (end == End::kOpen && is_idem(method)) continue;
      open_bank();
      const std::string key = method + std::to_string(static_cast<int>(end));
      const MessageId id = call(method, {.key = key, .body = "secret"}).id;
      if (end == End::kSealed) answers(200, "outcome");
      if (end == End::kReleased) cancel(id);
      if (end == End::kOpen) {
        breaks_off();
        if (is_persist(method)) is_held_back();
      }
      const std::size_t ran = runs().size();
      const Answer other = call(method, {.key = key, .body = "other"});
      EXPECT_EQ(other.code, AnswerCode::kConflict) << key;
      EXPECT_FALSE(other.id.is_set());
      for (const char* word : {"secret", "outcome", "bank"})
        EXPECT_EQ(other.detail.find(word), std::string::npos);
      const std::string another = method == kPersist ? kVolatile : kPersist;
      EXPECT_EQ(call(another, {.key = key, .body = "secret"}).code, AnswerCode::kConflict);
      EXPECT_EQ(runs().size(), ran);
    }
  }
}

// req: rpc.own.12
TEST_F(Operations, KeysOfTwoPrincipalsNeverMeet) {
  open_bank();
  const Answer one = call(kPersist, {.key = "k", .body = "a", .principal = "shop"});
  const Answer other = call(kPersist, {.key = "k", .body = "b", .principal = "till"});
  EXPECT_EQ(other.code, AnswerCode::kAccepted);
  EXPECT_FALSE(other.replayed);
  EXPECT_NE(one.id, other.id);
  EXPECT_EQ(runs().size(), 2U);
  EXPECT_EQ(header(runs()[1], "operation-principal"), "till");
}

// req: rpc.own.11
TEST_F(Operations, ThePolicyIsThatOfTheAdmission) {
  open_bank();
  const MessageId id = call(kPersist).id;
  Configure changed = service();
  changed.config.settings[1].second = "volatile, idem";  // pay
  post(changed);
  ASSERT_EQ(code_of(ticket_), AnswerCode::kDone);
  EXPECT_EQ(cancel(id).code, AnswerCode::kNothing);
  breaks_off();
  is_held_back();
  EXPECT_EQ(end_of(id).phase, Phase::kIndeterminate);
  EXPECT_TRUE(call(kPersist).replayed);
}

// req: rpc.rule.50
TEST_F(Operations, AnExpiredKeyIsRefused) {
  open_bank();
  Submit old = call_of(kPersist, {.key = "k"});
  old.caller.key.kind = OperationKey::Kind::kTimed;
  old.caller.key.made = kStart - 25h;
  post(old);
  EXPECT_EQ(code_of(ticket_), AnswerCode::kKeyExpired);
  EXPECT_TRUE(runs().empty());
}

// req: engine.outcome.3, rpc.own.10
TEST_F(Operations, WhereNoOutcomeHasRoomNothingIsAdmitted) {
  options.engine.limits.cards_max = 1;
  open_bank();
  call(kPersist, {.key = "a"});
  const AttemptId first = last_attempt();
  call(kPersist, {.key = "b"});
  const MessageId second = id_of(ticket_);
  answers(200, "b");
  post(answer(first, 200));
  EXPECT_EQ(outcome_of(end_of(second)).body, "b") << "what was admitted has room";
  EXPECT_EQ(call(kPersist, {.key = "c"}).code, AnswerCode::kFull);
  advance(28h);
  EXPECT_EQ(call(kPersist, {.key = "c"}).code, AnswerCode::kAccepted);
}

// req: engine.outcome.2
TEST_F(Operations, AnOutcomeIsKeptAsLongAsItsKeyAnswers) {
  open_bank();
  const MessageId id = call(kPersist).id;
  answers(200, "v");
  advance(25h);
  EXPECT_EQ(outcome_of(end_of(id)).body, "v");
  advance(3h);
  EXPECT_FALSE(end_of(id).outcome);
  EXPECT_EQ(end_of(id).phase, Phase::kDelivered);
}

TEST_F(Operations, AnOutcomeThatIsTooLargeIsAFailureOfThatName) {
  open_bank({{"outcome_bytes_max", "1024"}});
  const MessageId fits = call(kPersist, {.key = "fits"}).id;
  EXPECT_EQ(runs().back().reply_bytes, 1025U);
  answers(200, std::string(1024, 'x'));
  EXPECT_EQ(outcome_of(end_of(fits)).body.size(), 1024U);
  const MessageId large = call(kPersist, {.key = "large"}).id;
  answers(200, std::string(1025, 'x'));
  const rpc::SealedOutcome outcome = outcome_of(end_of(large));
  EXPECT_TRUE(outcome.failure);
  EXPECT_EQ(outcome.status, 502);
  EXPECT_NE(outcome.body.find("outcome-too-large"), std::string::npos);
}

// req: rpc.rule.26
TEST_F(Operations, TheHookKnowsWhatBecameOfAnOpenFate) {
  const NamedTexts hook = {{"recover", "http://bank.example/how"}};
  open_bank(hook);
  const MessageId found = call(kPersist, {.key = "found"}).id;
  breaks_off();
  ASSERT_EQ(questions().size(), 1U);
  EXPECT_EQ(questions()[0].target, "http://bank.example/how");
  EXPECT_EQ(header(questions()[0], "operation-id"), "found");
  answers(202);  // ask later
  wait_for_start(3);
  answers(500);  // no answer
  wait_for_start(4);
  answers(200, "it was paid");
  EXPECT_EQ(outcome_of(end_of(found)).body, "it was paid");
  EXPECT_EQ(runs().size(), 1U);

  open_bank(hook);
  const MessageId never = call(kPersist, {.key = "never"}).id;
  const std::string fence = header(runs().back(), "operation-fence");
  advance(31s);  // the time of the handler is over
  ASSERT_EQ(questions().size(), 1U);
  answers(404);  // it never happened
  wait_for_start(3);
  ASSERT_EQ(runs().size(), 2U);
  EXPECT_LT(fence, header(runs().back(), "operation-fence"));
  answers(200, "paid now");
  EXPECT_EQ(outcome_of(end_of(never)).body, "paid now");
}

TEST_F(Operations, AHandlerIsToldWhoAsksForWhatAndUntilWhen) {
  open_bank({{"secret", "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3"}, {"time_out", "5s"}});
  call(kPersist, {.key = "order 7", .body = "{\"sum\":1}"});
  ASSERT_EQ(runs().size(), 1U);
  const WireRequest request = runs()[0];
  EXPECT_EQ(request.target, "http://bank.example/rpc/pay");
  EXPECT_EQ(request.body, "{\"sum\":1}");
  EXPECT_TRUE(request.once);
  EXPECT_EQ(header(request, "operation-id"), "order 7");
  EXPECT_EQ(header(request, "operation-method"), "pay");
  EXPECT_EQ(header(request, "operation-principal"), "shop");
  EXPECT_EQ(header(request, "operation-deadline"), "2026-01-01T00:00:05.000Z");
  EXPECT_EQ(header(request, "webhook-id"), "order 7");
  EXPECT_TRUE(header(request, "webhook-signature").starts_with("v1,"));
}

TEST_F(Operations, AMessageThatIsNoCallIsRefused) {
  open_bank();
  Submit plain = call_of(kPersist, {});
  plain.attributes = encode_texts({});
  post(plain);
  EXPECT_EQ(code_of(ticket_), AnswerCode::kInvalid);
  EXPECT_EQ(call("pya").code, AnswerCode::kNotFound);
  EXPECT_NE(told(ticket_).detail.find("pay"), std::string::npos);
  EXPECT_TRUE(starts().empty());
}

}  // namespace
}  // namespace postrider
