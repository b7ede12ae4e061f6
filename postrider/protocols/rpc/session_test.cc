#include "postrider/protocols/rpc/session.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace postrider::rpc {
namespace {

ResumeKey key_of(std::uint8_t seed) {
  ResumeKey key;
  key.fill(seed);
  return key;
}

KeyHash hash_of_key(std::uint8_t seed) { return hash_of(key_of(seed)); }

ShownKey claim_of(std::uint32_t generation, std::uint8_t seed) {
  return {.generation = generation, .hash = hash_of_key(seed)};
}

SessionCard begin(std::string_view principal, std::uint8_t seed) {
  return begin_session(principal, hash_of_key(seed), Timestamp(1'000));
}

ClaimVerdict verdict(const SessionCard& card, const ShownKey& claim) {
  return judge_claim(&card, "ann", claim);
}

// req: rpc.own.8
TEST(RpcSession, KeysRotateAndTheFormerOneEndsWithTheFirstFrame) {
  const SessionCard first = begin("ann", 1);
  EXPECT_EQ(verdict(first, claim_of(1, 1)), ClaimVerdict::kResumed);

  const SessionCard second = resume_session(first, claim_of(1, 1), hash_of_key(2));
  EXPECT_EQ(second.generation, 2U);
  EXPECT_EQ(verdict(second, claim_of(2, 2)), ClaimVerdict::kResumed);
  EXPECT_EQ(verdict(second, claim_of(1, 1)), ClaimVerdict::kResumed) << "the welcome was lost";

  const SessionCard confirmed = confirm_session(second);
  EXPECT_EQ(verdict(confirmed, claim_of(2, 2)), ClaimVerdict::kResumed);
  EXPECT_EQ(verdict(confirmed, claim_of(1, 1)), ClaimVerdict::kRefused);
}

// req: rpc.own.7, rpc.own.8
TEST(RpcSession, ALostWelcomeMayBeLostAgain) {
  SessionCard card = begin("ann", 1);
  for (std::uint8_t lost = 2; lost < 10; ++lost) {
    ASSERT_EQ(verdict(card, claim_of(1, 1)), ClaimVerdict::kResumed);
    card = resume_session(card, claim_of(1, 1), hash_of_key(lost));
    EXPECT_EQ(card.generation, lost);
    if (lost > 2) {
      const auto before = static_cast<std::uint8_t>(lost - 1);
      EXPECT_EQ(verdict(card, claim_of(before, before)), ClaimVerdict::kRefused);
    }
  }
}

// Mutant M9: a server that binds without looking at the key.
// req: rpc.own.12
TEST(RpcSession, NoOtherKeyBinds) {
  const SessionCard card =
      resume_session(begin("ann", 1), claim_of(1, 1), hash_of_key(2));
  EXPECT_EQ(verdict(card, claim_of(2, 3)), ClaimVerdict::kRefused);
  EXPECT_EQ(verdict(card, claim_of(2, 1)), ClaimVerdict::kRefused);
  EXPECT_EQ(verdict(card, claim_of(1, 2)), ClaimVerdict::kRefused);
  EXPECT_EQ(verdict(card, claim_of(3, 2)), ClaimVerdict::kRefused);
  EXPECT_EQ(judge_claim(&card, "bob", claim_of(2, 2)), ClaimVerdict::kNew);
  EXPECT_EQ(judge_claim(nullptr, "ann", claim_of(2, 2)), ClaimVerdict::kNew);
  for (std::size_t bit = 0; bit < 256; ++bit) {
    ResumeKey key = key_of(2);
    key[bit / 8] = static_cast<std::uint8_t>(key[bit / 8] ^ (1 << bit % 8));
    EXPECT_EQ(verdict(card, {.generation = 2, .hash = hash_of(key)}), ClaimVerdict::kRefused)
        << bit;
  }
}

TEST(RpcSession, UsedUpGenerationsBeginAnew) {
  SessionCard card = begin("ann", 1);
  card.generation = UINT32_MAX;
  EXPECT_EQ(verdict(card, claim_of(UINT32_MAX, 1)), ClaimVerdict::kNew);
}

TEST(RpcSession, CardsAreReadAsTheyAreWrittenAndDamageIsFound) {
  SessionCard card = resume_session(begin("ann", 1), claim_of(1, 1), hash_of_key(2));
  card.used = Timestamp(2'000);
  card.highest = 77;
  for (const SessionCard& one : {card, confirm_session(card), begin("", 3)}) {
    const std::string bytes = encode_card(one);
    ASSERT_TRUE(decode_card(bytes));
    EXPECT_EQ(*decode_card(bytes), one);
    for (std::size_t size = 0; size < bytes.size(); ++size)
      EXPECT_FALSE(decode_card(bytes.substr(0, size)));
    EXPECT_FALSE(decode_card(bytes + '\0'));
  }
  std::string bytes = encode_card(card);
  bytes[0] = 2;
  EXPECT_FALSE(decode_card(bytes)) << "another version";
}

// A client that resumes, loses welcomes and speaks, beside a thief with every older key: of all
// pairs that were ever given out, at most two are good, and one of them is what the client shows.
// req: rpc.own.8
RC_GTEST_PROP(RpcSession, TheClientIsNeverLockedOutAndOldKeysAreDead, ()) {
  SessionCard card = begin("ann", 1);
  ShownKey shown = claim_of(1, 1);
  std::uint8_t seed = 1;
  const auto steps = *rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 3));
  for (const int step : steps) {
    if (seed > 200) break;
    RC_ASSERT(verdict(card, shown) == ClaimVerdict::kResumed);
    card = resume_session(card, shown, hash_of_key(++seed));
    const ShownKey given = claim_of(card.generation, seed);
    if (step >= 1) shown = given;                 // the welcome arrived
    if (step == 2) card = confirm_session(card);  // and a frame came back
    int good = 0;
    for (std::uint8_t old = 1; old <= seed; ++old)
      good += verdict(card, claim_of(old, old)) == ClaimVerdict::kResumed ? 1 : 0;
    RC_ASSERT(good == (step == 2 ? 1 : 2));
  }
}

}  // namespace
}  // namespace postrider::rpc
