// Keys of other servers: when they are fetched, and when not.
#include "postrider/doors/matrix/key_ring.h"

#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace postrider::matrix_door {
namespace {

class StillClock final : public Clock {
 public:
  Instant read() const override { return now; }
  Instant now{Timestamp(1'000'000), Timestamp(1'800'000'000'000)};
};

matrix::SigningKey key_of(const std::string& id, std::uint8_t first) {
  matrix::Seed seed{};
  seed[0] = first;
  return matrix::SigningKey::make(id, seed);
}

class RingRig {
 public:
  explicit RingRig(KeyRingLimits limits = {})
      : ring(
            clock,
            [this](const std::string& server, KeyRing::Body then) {
              fetches.emplace_back(server, std::move(then));
            },
            limits) {}

  // Ids of what was found; "later" until then.
  std::shared_ptr<std::string> find(const std::string& server, const std::string& id) {
    auto told = std::make_shared<std::string>("later");
    ring.find(server, id, [told](std::span<const matrix::VerifyKey> keys) {
      told->clear();
      for (const matrix::VerifyKey& key : keys) told->append(key.id).append(" ");
    });
    return told;
  }
  void answer(std::size_t fetch, const std::string& id, Duration life = 1h) {
    const std::string& server = fetches[fetch].first;
    fetches[fetch].second(matrix::write_key_object(server, clock.now.wall + life, key_of(id, 7)));
  }
  void pass(Duration time) {
    clock.now.boot = clock.now.boot + time;
    clock.now.wall = clock.now.wall + time;
  }

  StillClock clock;
  std::vector<std::pair<std::string, KeyRing::Body>> fetches;
  KeyRing ring;
};

// req: matrix.key.3
TEST(KeyRing, FetchesOnceAndKeepsUntilTheTimeIsOver) {
  RingRig rig;
  const auto first = rig.find("far.example", "ed25519:a");
  const auto second = rig.find("far.example", "ed25519:a");
  ASSERT_EQ(rig.fetches.size(), 1U) << "one fetch, however many wait";
  rig.answer(0, "ed25519:a");
  EXPECT_EQ(*first, "ed25519:a ");
  EXPECT_EQ(*second, "ed25519:a ");
  rig.pass(59min);
  EXPECT_EQ(*rig.find("far.example", "ed25519:a"), "ed25519:a ");
  EXPECT_EQ(rig.fetches.size(), 1U);
  rig.pass(1min);
  EXPECT_EQ(*rig.find("far.example", "ed25519:a"), "later");
  EXPECT_EQ(rig.fetches.size(), 2U);
}

// req: matrix.key.3
TEST(KeyRing, FetchesOnceMoreForAnUnknownKey) {
  RingRig rig;
  static_cast<void>(rig.find("far.example", "ed25519:a"));
  rig.answer(0, "ed25519:a");
  EXPECT_EQ(*rig.find("far.example", "ed25519:b"), "ed25519:a ") << "fetched just now";
  rig.pass(60s);
  const auto again = rig.find("far.example", "ed25519:b");
  ASSERT_EQ(rig.fetches.size(), 2U);
  rig.answer(1, "ed25519:b");
  EXPECT_EQ(*again, "ed25519:b ");
}

struct ObjectCase {
  std::string name;
  std::string body;
};
void PrintTo(const ObjectCase& each, std::ostream* out) { *out << each.name; }

class BadKeys : public ::testing::TestWithParam<ObjectCase> {};

TEST_P(BadKeys, AreNotBelieved) {
  RingRig rig;
  const auto found = rig.find("far.example", "ed25519:a");
  rig.fetches[0].second(GetParam().body);
  EXPECT_EQ(*found, "");
  EXPECT_EQ(rig.ring.counts().failures, 1U);
  EXPECT_EQ(*rig.find("far.example", "ed25519:a"), "") << "and not asked for again at once";
  EXPECT_EQ(rig.fetches.size(), 1U);
}

std::string forged_object() {
  std::string object =
      matrix::write_key_object("far.example", Timestamp(1'900'000'000'000), key_of("ed25519:a", 7));
  const std::size_t at = object.find("1900000000000");
  object[at + 1] = '8';
  return object;
}

INSTANTIATE_TEST_SUITE_P(
    KeyRing, BadKeys,
    ::testing::Values(
        ObjectCase{"Html", "<html>"},
        ObjectCase{"Expired", matrix::write_key_object("far.example", Timestamp(1'000'000),
                                                       key_of("ed25519:a", 7))},
        ObjectCase{"OfAnotherName",
                   matrix::write_key_object("other.example", Timestamp(1'900'000'000'000),
                                            key_of("ed25519:a", 7))},
        ObjectCase{"WithAWrongSignature", forged_object()},
        ObjectCase{"Endless", std::string(matrix::kKeyObjectBytesMax + 1, ' ')}),
    [](const auto& each) { return each.param.name; });

TEST(KeyRing, KeepsWhatItHasWhenAServerDoesNotAnswer) {
  RingRig rig;
  static_cast<void>(rig.find("far.example", "ed25519:a"));
  rig.answer(0, "ed25519:a");
  rig.pass(60s);
  const auto found = rig.find("far.example", "ed25519:b");
  rig.fetches[1].second(fail(ErrorCode::kUnavailable, "no"));
  EXPECT_EQ(*found, "ed25519:a ");
}

// req: matrix.seen.2
TEST(KeyRing, BoundsFetchesInNumberAndRate) {
  RingRig rig({.fetches_max = 2, .waiting_max = 1, .fetches_per_minute = 3});
  const auto a = rig.find("a.example", "ed25519:a");
  EXPECT_EQ(*rig.find("a.example", "ed25519:a"), "") << "one may wait for a fetch";
  static_cast<void>(rig.find("b.example", "ed25519:a"));
  EXPECT_EQ(*rig.find("c.example", "ed25519:a"), "") << "two fetches are under way";
  rig.answer(0, "ed25519:a");
  static_cast<void>(rig.find("c.example", "ed25519:a"));
  ASSERT_EQ(rig.fetches.size(), 3U);
  rig.answer(1, "ed25519:a");
  rig.answer(2, "ed25519:a");
  EXPECT_EQ(*rig.find("d.example", "ed25519:a"), "") << "three fetches in this minute";
  EXPECT_EQ(rig.ring.counts().held_back, 3U);
  rig.pass(60s);
  EXPECT_EQ(*rig.find("d.example", "ed25519:a"), "later");
}

TEST(KeyRing, ForgetsTheServerThatWasFetchedLongestAgo) {
  RingRig rig({.servers_max = 2});
  for (std::size_t i = 0; i < 3; ++i) {
    static_cast<void>(
        rig.find(std::string(1, static_cast<char>('a' + i)) + ".example", "ed25519:a"));
    rig.answer(i, "ed25519:a");
    rig.pass(1s);
  }
  EXPECT_EQ(*rig.find("b.example", "ed25519:a"), "ed25519:a ");
  EXPECT_EQ(*rig.find("a.example", "ed25519:a"), "later");
}

}  // namespace
}  // namespace postrider::matrix_door
