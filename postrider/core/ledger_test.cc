#include "postrider/core/ledger.h"

#include <gtest/gtest.h>

namespace postrider {
namespace {

using Kind = LedgerVerdict::Kind;

constexpr LedgerRule kRule{Duration(1000), Duration(100)};
constexpr Timestamp kNow{50'000};

Kind judge(OperationKey::Kind kind, Duration made_after, std::uint64_t sequence = 0,
           const std::optional<SessionEntry>& session = std::nullopt) {
  OperationKey key;
  key.kind = kind;
  key.key = "k";
  key.made = kNow + made_after;
  key.sequence = sequence;
  return judge_key(key, Fingerprint{}, std::nullopt, session, kRule, kNow).kind;
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

}  // namespace
}  // namespace postrider
