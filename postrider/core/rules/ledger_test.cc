#include "postrider/core/rules/ledger.h"

#include <gtest/gtest.h>

namespace postrider {
namespace {

using Kind = LedgerVerdict::Kind;

constexpr LedgerRule kLedgerRule{Duration(1000), Duration(100)};
constexpr Timestamp kLedgerNow{50'000};

Kind judge(OperationKey::Kind kind, Duration made_after, std::uint64_t sequence = 0,
           const std::optional<SessionEntry>& session = std::nullopt) {
  OperationKey key;
  key.kind = kind;
  key.key = "k";
  key.made = kLedgerNow + made_after;
  key.sequence = sequence;
  return judge_key(key, Fingerprint{}, std::nullopt, session, kLedgerRule, kLedgerNow).kind;
}

// req: engine.ledger.7
TEST(LedgerKeys, OfATimeAreNewWithinTheWindowAndWhatWeAllowAhead) {
  const auto timed = [](std::int64_t ms) {
    return judge(OperationKey::Kind::kTimed, Duration(ms));
  };
  EXPECT_EQ(timed(0), Kind::kNew);
  EXPECT_EQ(timed(100), Kind::kNew);
  EXPECT_EQ(timed(101), Kind::kTooEarly);
  EXPECT_EQ(timed(-1000), Kind::kNew);
  EXPECT_EQ(timed(-1001), Kind::kExpired);
  EXPECT_EQ(judge(OperationKey::Kind::kOpaque, Duration(-5000)), Kind::kNew);
}

// req: engine.ledger.9
TEST(LedgerKeys, OfASessionAreNewAboveItsHighest) {
  SessionEntry session;
  session.highest = 7;
  const auto numbered = [&](std::uint64_t number) {
    return judge(OperationKey::Kind::kSequenced, Duration(0), number, session);
  };
  EXPECT_EQ(numbered(6), Kind::kExpired);
  EXPECT_EQ(numbered(7), Kind::kExpired);
  EXPECT_EQ(numbered(8), Kind::kNew);
  const auto unknown = [](std::int64_t ms) {
    return judge(OperationKey::Kind::kSequenced, Duration(ms), 1);
  };
  EXPECT_EQ(unknown(-1000), Kind::kNew);
  EXPECT_EQ(unknown(-1001), Kind::kExpired);
}

// req: engine.ledger.1, engine.ledger.5, engine.ledger.6
TEST(LedgerKeys, AreRememberedForTheWindowAndWhatIsAllowedAhead) {
  OperationKey key;
  key.kind = OperationKey::Kind::kOpaque;
  key.key = "k";
  Answer done;
  done.code = AnswerCode::kDone;
  const Fingerprint print = fingerprint("x");
  const auto judged = [&](std::int64_t age, std::string answer, const Fingerprint& asked) {
    const LedgerEntry entry{print, kLedgerNow - Duration(age), std::move(answer)};
    return judge_key(key, asked, entry, std::nullopt, kLedgerRule, kLedgerNow);
  };
  EXPECT_EQ(judged(1099, encode_answer(done), print).kind, Kind::kReplay);
  EXPECT_TRUE(judged(1099, encode_answer(done), print).answer.replayed);
  EXPECT_EQ(judged(1100, encode_answer(done), print).kind, Kind::kNew);
  EXPECT_EQ(judged(1099, encode_answer(done), fingerprint("y")).kind, Kind::kConflict);
  EXPECT_EQ(judged(0, "\xFF", print).kind, Kind::kExpired) << "nobody can read the answer";
}

// What is asked for is part of the key's meaning: each field that differs is another command.
// req: engine.ledger.3
TEST(LedgerKeys, EveryFieldOfACommandCounts) {
  Submit submit;
  submit.destination = "shop";
  const std::string plain = canonical(submit);
  const auto differs = [&](auto change) {
    Submit other = submit;
    change(other);
    return canonical(other) != plain;
  };
  EXPECT_TRUE(differs([](Submit& it) { it.destination = "bank"; }));
  EXPECT_TRUE(differs([](Submit& it) { it.lane = 1; }));
  EXPECT_TRUE(differs([](Submit& it) { it.priority = 1; }));
  EXPECT_TRUE(differs([](Submit& it) { it.not_before = Timestamp(1); }));
  EXPECT_TRUE(differs([](Submit& it) { it.expires = Timestamp(1); }));
  EXPECT_TRUE(differs([](Submit& it) { it.attributes = "a"; }));
  EXPECT_TRUE(differs([](Submit& it) { it.body = "b"; }));
  EXPECT_NE(canonical("drop", MessageId{1, 2}), canonical("drop", MessageId{1, 3}));
  EXPECT_NE(canonical("drop", MessageId{1, 2}), canonical("drop", MessageId{2, 2}));
  EXPECT_NE(canonical("drop", MessageId{1, 2}), canonical("cancel", MessageId{1, 2}));
  EXPECT_NE(canonical("pause", "a", "b"), canonical("pause", "a", "c"));
  EXPECT_NE(canonical("pause", "a", "b"), canonical("pause", "c", "b"));
}

// req: engine.time.8 — a caller may go by a wall that we do not believe yet, or by the right time
TEST(Ledger, ATimedKeyMayBeByAWallThatIsInDoubt) {
  const LedgerRule rule{kLedgerRule.window, kLedgerRule.ahead, 60h};
  const auto judge = [&](Timestamp made) {
    OperationKey key;
    key.kind = OperationKey::Kind::kTimed;
    key.made = made;
    return judge_key(key, Fingerprint{}, std::nullopt, std::nullopt, rule, kLedgerNow).kind;
  };
  EXPECT_EQ(judge(kLedgerNow + 60h + rule.ahead), Kind::kNew);
  EXPECT_EQ(judge(kLedgerNow + 60h + rule.ahead + 1ms), Kind::kTooEarly);
  EXPECT_EQ(judge(kLedgerNow), Kind::kNew) << "nothing was forgotten since";
  EXPECT_EQ(judge(kLedgerNow - rule.window), Kind::kNew);
  EXPECT_EQ(judge(kLedgerNow - rule.window - 1ms), Kind::kExpired);
}

}  // namespace
}  // namespace postrider
