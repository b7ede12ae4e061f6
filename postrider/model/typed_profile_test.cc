#include "postrider/model/typed_profile.h"

#include <gtest/gtest.h>

namespace postrider {
namespace {

// A protocol of one state that counts letters: small enough to see each value pass.
struct Prepared {
  std::string greeting;
};
struct Letters {
  std::size_t count = 0;
};
using Typed = TypedProfile<Prepared, Letters>;

Result<Policy> configure(const NamedTexts& /*settings*/) { return Policy(); }

std::optional<Prepared> prepare(const NamedTexts& settings) {
  if (settings.empty()) return std::nullopt;
  return Prepared{settings[0].second};
}

Result<std::optional<Letters>> read(std::string_view body, std::string_view attributes) {
  if (body == "bad") return fail(ErrorCode::kInvalid, "no letters");
  if (body.empty()) return std::optional<Letters>();
  return std::optional<Letters>(Letters{body.size() + attributes.size()});
}

Result<Admission> admit(const Typed::OfferView& offer) {
  if (offer.parsed == nullptr) return fail(ErrorCode::kInvalid, "nothing was read");
  return Admission{.method = static_cast<std::uint8_t>(offer.parsed->count)};
}

std::string why_not_again(const Typed::RerunView& rerun) {
  return rerun.parsed == nullptr ? "" : std::to_string(rerun.parsed->count);
}

WireRequest encode(const Typed::FactsView& facts, AttemptKind /*kind*/) {
  WireRequest request;
  request.verb = "COUNT";
  request.target = facts.prepared == nullptr ? "" : facts.prepared->greeting;
  return request;
}

Reading classify(const Typed::FactsView& facts, AttemptKind /*kind*/, const WireReply& /*reply*/) {
  Reading reading;
  reading.outcome.reason = std::to_string(facts.parsed->count);
  return reading;
}

Aftermath after(const Typed::FactsView& facts, const Moment& moment) {
  Aftermath left;
  if (moment.kind == Moment::Kind::kEnded) left.notes = std::to_string(facts.parsed->count);
  return left;
}

constexpr Typed kTyped = {
    .name = "letters",
    .states = {},
    .methods = {},
    .settings = {.configure = configure, .prepare = prepare},
    .door = {.read = read, .admit = admit, .why_not_again = why_not_again},
    .wire = {.encode = encode, .classify = classify},
    .after = after,
};
constexpr ProfileSpec kLetters = profile_of<kTyped>();

constexpr Typed kSilentTyped = {
    .name = "silent",
    .states = {},
    .methods = {},
    .settings = {.configure = configure},
    .door = {.admit = admit},
    .wire = {.encode = encode, .classify = classify},
};
constexpr ProfileSpec kSilent = profile_of<kSilentTyped>();

struct Around {
  Facts facts(ProfileValues values) const {
    Facts out{message, state, destination, policy, Timestamp(1), Timestamp(1)};
    out.values = values;
    return out;
  }
  Message message;
  State state;
  DestinationConfig destination;
  Policy policy;
};

// req: engine.profile.1
TEST(TypedProfile, HandsEachFunctionWhatWasReadAndPrepared) {
  Around around;
  around.destination.settings = {{"greeting", "hello"}};
  const auto parsed = kLetters.door.read("abc", "de");
  ASSERT_TRUE(parsed.has_value());
  const auto prepared = kLetters.settings.prepare(around.destination.settings);
  const ProfileValues values{.prepared = prepared.get(), .parsed = parsed->get()};
  const Facts facts = around.facts(values);
  EXPECT_EQ(
      kLetters.door.admit({around.destination, around.policy, 0, "de", "abc", values})->method, 5U);
  EXPECT_EQ(kLetters.wire.judge(facts).signal, On::kDue);
  EXPECT_EQ(kLetters.wire.encode(facts, AttemptKind::kSend).target, "hello");
  EXPECT_EQ(kLetters.wire.classify(facts, AttemptKind::kSend, {}).outcome.reason, "5");
  EXPECT_EQ(kLetters.after(facts, {.kind = Moment::Kind::kEnded}).notes, "5");
  EXPECT_EQ(kLetters.door.why_not_again({.values = values}), "5");
}

// req: engine.profile.1
TEST(TypedProfile, MakesNothingOfWhatThereIsNothingToMakeOf) {
  const Around around;
  EXPECT_EQ(kLetters.settings.prepare(around.destination.settings), nullptr);
  EXPECT_EQ(*kLetters.door.read("", ""), nullptr);
  EXPECT_EQ(kLetters.door.read("bad", "").error().detail, "no letters");
  EXPECT_FALSE(kLetters.door.admit({around.destination, around.policy, 0, "", ""}));
  EXPECT_EQ(kLetters.wire.encode(around.facts({}), AttemptKind::kSend).target, "");
  EXPECT_EQ(kLetters.door.why_not_again({}), "");
}

TEST(TypedProfile, HasNullWhereItSaysNothing) {
  EXPECT_EQ(kSilent.settings.prepare, nullptr);
  EXPECT_EQ(kSilent.door.read, nullptr);
  EXPECT_EQ(kSilent.door.why_not_again, nullptr);
  EXPECT_EQ(kSilent.news.receive, nullptr);
  EXPECT_EQ(kSilent.news.notice, nullptr);
  EXPECT_EQ(kSilent.after, nullptr);
}

TEST(OpaqueDeathTest, AValueOfAnotherTypeIsABug) {
  const OpaqueOf<Letters> letters{Letters{3}};
  EXPECT_EQ(OpaqueOf<Letters>::in(&letters)->count, 3U);
  EXPECT_EQ(OpaqueOf<Prepared>::in(nullptr), nullptr);
  EXPECT_DEATH(static_cast<void>(OpaqueOf<Prepared>::in(&letters)), "");
}

}  // namespace
}  // namespace postrider
