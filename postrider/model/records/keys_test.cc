#include "postrider/model/records/keys.h"

#include <set>
#include <string>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

namespace postrider::keys {
namespace {

using namespace std::string_literals;

template <class T>
T any() {
  return *rc::gen::arbitrary<T>();
}
// Near each other half of the time, so that the bytes behind the first difference matter.
std::uint64_t any_number() {
  return any<bool>() ? any<std::uint64_t>() : *rc::gen::inRange<std::uint64_t>(0, 4) * 255;
}
MessageId any_id() { return {any_number(), any_number()}; }
DestinationId any_destination() { return DestinationId(any_number() % (kShards << 32)); }

// Store files outlive versions: these bytes may not change without a new format.
TEST(Keys, HaveTheDocumentedBytes) {
  const MessageId id{0x0102030405060708, 0x090A0B0C0D0E0F10};
  const std::string id_bytes = "\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0A\x0B\x0C\x0D\x0E\x0F\x10";
  EXPECT_EQ(meta(), "M");
  EXPECT_EQ(buckets(kLog), "BE");
  EXPECT_EQ(config(DestinationId(5)), "D\0\0\0\0\0\0\0\x05"s);
  EXPECT_EQ(route(DestinationId(5)), "T\0\0\0\0\0\0\0\x05"s);
  EXPECT_EQ(owed(DestinationId(5)), "O\0\0\0\0\0\0\0\x05"s);
  EXPECT_EQ(hot(Sequence(5), Part::kState), "H\0\0\0\0\0\0\0\x05\x01"s);
  EXPECT_EQ(cold(id, Part::kMessage), "C" + id_bytes + "\0"s);
  EXPECT_EQ(parked(id), "P" + id_bytes);
  EXPECT_EQ(due(Timestamp(0x0203), DueKind::kExpiry, id), "W\0\0\0\0\0\0\x02\x03\x02"s + id_bytes);
  EXPECT_EQ(ledger(7, "ab", "cde"),
            "L\0\0\0\x07\x02"
            "abcde"s);
  EXPECT_EQ(session(7, "ab", "cde"),
            "N\0\0\0\x07\x02"
            "abcde"s);
  EXPECT_EQ(log(7, Sequence(5)), "E\0\0\0\x07\0\0\0\0\0\0\0\x05"s);
  EXPECT_EQ(end(7, Sequence(5)), "R\0\0\0\x07\0\0\0\0\0\0\0\x05"s);
  EXPECT_EQ(dead(7, id), "Q\0\0\0\x07"s + id_bytes);
  EXPECT_EQ(quarantine("Hx"), "ZHx");
}

TEST(Keys, SpacesAreDistinct) {
  const std::string spaces = {kMeta, kBuckets, kConfig,  kRoute, kOwed, kHot,  kCold,      kParked,
                              kDue,  kLedger,  kSession, kLog,   kEnd,  kDead, kQuarantine};
  EXPECT_EQ(std::set<char>(spaces.begin(), spaces.end()).size(), spaces.size());
}

RC_GTEST_PROP(Keys, SortAsTheirNumbers, ()) {
  const std::uint64_t a = any_number();
  const std::uint64_t b = any_number();
  const MessageId x = any_id();
  const MessageId y = any_id();
  RC_ASSERT((hot(Sequence(a), Part::kState) < hot(Sequence(b), Part::kMessage)) == (a < b));
  RC_ASSERT((cold(x, Part::kState) < cold(y, Part::kMessage)) == (x < y));
  RC_ASSERT((parked(x) < parked(y)) == (x < y));
  RC_ASSERT((config(DestinationId(a)) < config(DestinationId(b))) == (a < b));
  const auto p = any<std::uint32_t>();
  const auto q = any<bool>() ? p : any<std::uint32_t>();
  RC_ASSERT((log(p, Sequence(a)) < log(q, Sequence(b))) == (std::tie(p, a) < std::tie(q, b)));
  RC_ASSERT((end(p, Sequence(a)) < end(q, Sequence(b))) == (std::tie(p, a) < std::tie(q, b)));
  RC_ASSERT((dead(p, x) < dead(q, y)) == (std::tie(p, x) < std::tie(q, y)));
}

RC_GTEST_PROP(Keys, DueEntriesSortByTimeThenKindThenId, ()) {
  const auto any_entry = [] {
    return std::tuple(Timestamp(*rc::gen::inRange<std::int64_t>(0, 1000)),
                      *rc::gen::element(DueKind::kAttempt, DueKind::kExpiry, DueKind::kOpening),
                      any_id());
  };
  const auto a = any_entry();
  const auto b = any_entry();
  RC_ASSERT((std::apply(due, a) < std::apply(due, b)) == (a < b));
}

RC_GTEST_PROP(Keys, AreParsedBack, ()) {
  const MessageId id = any_id();
  const std::uint64_t number = any_number();
  const auto part = any<bool>() ? Part::kState : Part::kMessage;
  const auto bucket_number = any<std::uint32_t>();
  const auto kind = *rc::gen::element(DueKind::kAttempt, DueKind::kExpiry, DueKind::kOpening);
  const Timestamp at(any<std::int64_t>());

  const auto due_key = parse_due(due(at, kind, id));
  RC_ASSERT(due_key.has_value());
  RC_ASSERT(std::tie(due_key->at, due_key->kind, due_key->id) == std::tie(at, kind, id));
  const auto hot_key = parse_hot(hot(Sequence(number), part));
  RC_ASSERT(hot_key.has_value());
  RC_ASSERT(hot_key->sequence == Sequence(number));
  RC_ASSERT(hot_key->part == part);
  const auto cold_key = parse_cold(cold(id, part));
  RC_ASSERT(cold_key.has_value());
  RC_ASSERT(cold_key->id == id);
  RC_ASSERT(cold_key->sequence == id.sequence());
  RC_ASSERT(cold_key->part == part);
  RC_ASSERT(parse_destination(owed(DestinationId(number))) == DestinationId(number));
  RC_ASSERT(parse_parked(parked(id)) == id);
  const auto page = parse_bucketed(log(bucket_number, Sequence(number)));
  RC_ASSERT(page.has_value());
  RC_ASSERT(page->bucket == bucket_number);
  RC_ASSERT(page->high == number);
  const auto letter = parse_bucketed(dead(bucket_number, id));
  RC_ASSERT(letter.has_value());
  RC_ASSERT(letter->bucket == bucket_number);
  RC_ASSERT((MessageId{letter->high, letter->low}) == id);
}

// req: engine.quarantine.2
RC_GTEST_PROP(Keys, OfAnotherLengthOrSpaceAreRefused, (const std::string& noise)) {
  const MessageId id = any_id();
  for (const std::string& key :
       {hot(Sequence(1), Part::kState), cold(id, Part::kState), parked(id),
        due(Timestamp(1), DueKind::kExpiry, id), config(DestinationId(1)), noise}) {
    // Noise of another length may be a key.
    const bool made = key != noise;
    for (const std::string& bad : made ? std::vector{key + "x", key.substr(0, key.size() / 2)}
                                       : std::vector<std::string>(1)) {
      RC_ASSERT(!parse_due(bad).has_value());
      RC_ASSERT(!parse_hot(bad).has_value());
      RC_ASSERT(!parse_cold(bad).has_value());
      RC_ASSERT(!parse_parked(bad).has_value());
    }
    if (key.empty()) continue;
    if (key[0] != kDue) RC_ASSERT(!parse_due(key).has_value());
    if (key[0] != kHot) RC_ASSERT(!parse_hot(key).has_value());
    if (key[0] != kCold) RC_ASSERT(!parse_cold(key).has_value());
    if (key[0] != kParked) RC_ASSERT(!parse_parked(key).has_value());
  }
}

// req: engine.card.1
TEST(Keys, CardsOfOneDrawerLieTogetherAndNoOthersBetweenThem) {
  const std::string one = card("rpc", "session", "key");
  const auto parsed = parse_card(one);
  ASSERT_TRUE(parsed.has_value());
  EXPECT_EQ(parsed->profile, "rpc");
  EXPECT_EQ(parsed->drawer, "session");
  EXPECT_EQ(parsed->key, "key");
  EXPECT_TRUE(one.starts_with(card_drawer("rpc", "session")));
  EXPECT_FALSE(card("rpc", "sessions", "key").starts_with(card_drawer("rpc", "session")));
  EXPECT_NE(card("a", "bc", "d"), card("ab", "c", "d"));
  EXPECT_NE(due_id_of_card(one), due_id_of_card(card("rpc", "session", "kez")));
  EXPECT_FALSE(parse_card("c\x05rp"));
  EXPECT_FALSE(parse_card(""));
}

TEST(Keys, PartsAndKindsThatDoNotExistAreRefused) {
  EXPECT_FALSE(parse_hot(hot(Sequence(1), static_cast<Part>(2))));
  EXPECT_FALSE(parse_cold(cold({1, 2}, static_cast<Part>(2))));
  EXPECT_FALSE(parse_due(due(Timestamp(1), static_cast<DueKind>(0), {1, 2})));
  EXPECT_FALSE(parse_due(due(Timestamp(1), static_cast<DueKind>(5), {1, 2})));
}

// req: engine.ledger.11
RC_GTEST_PROP(Keys, ScopesNeverMeet, (const std::string& text)) {
  const auto first = *rc::gen::inRange<std::size_t>(0, text.size() + 1);
  const auto second = *rc::gen::inRange<std::size_t>(0, text.size() + 1);
  RC_PRE(first != second);
  RC_ASSERT(ledger(1, text.substr(0, first), text.substr(first)) !=
            ledger(1, text.substr(0, second), text.substr(second)));
  RC_ASSERT(session(1, text.substr(0, first), text.substr(first)) !=
            session(1, text.substr(0, second), text.substr(second)));
}

RC_GTEST_PROP(Keys, APrefixEndsWhereAfterPrefixBegins, ()) {
  const auto letter = rc::gen::element<char>('\0', '\x01', '\x7F', '\xFE', '\xFF');
  const auto prefix = *rc::gen::nonEmpty(rc::gen::container<std::string>(letter));
  const auto other = *rc::gen::container<std::string>(letter);
  const std::string last = after_prefix(prefix);
  const std::string key = any<bool>() ? prefix + other : other;
  const bool within = key >= prefix && (last.empty() || key < last);
  RC_ASSERT(within == key.starts_with(prefix));
}

// req: engine.name.2
RC_GTEST_PROP(Keys, ALaneOnDiskIsOneRange, ()) {
  const DestinationId destination = any_destination();
  const auto lane = *rc::gen::inRange<std::uint8_t>(0, kLanes);
  const DestinationId other = any<bool>() ? destination : any_destination();
  const auto other_lane = any<bool>() ? lane : *rc::gen::inRange<std::uint8_t>(0, kLanes);
  const MessageId id =
      MessageId::make(other, other_lane, any<std::uint16_t>(), Sequence(any_number()));
  const std::string prefix = cold_lane(destination, lane);
  RC_ASSERT(cold(id, Part::kMessage).starts_with(prefix) ==
            (other == destination && other_lane == lane));
}

TEST(Keys, ABucketIsOneRange) {
  for (const std::string& key :
       {log(7, Sequence(1)), end(7, Sequence(UINT64_MAX)), dead(7, {1, 2}), ledger(7, "a", "b")}) {
    EXPECT_TRUE(key.starts_with(bucket(key[0], 7)));
    EXPECT_TRUE(key.starts_with(space(key[0])));
    EXPECT_LT(key, bucket(key[0], 8));
    EXPECT_GT(key, bucket(key[0], 6));
  }
}

// req: engine.revive.1
TEST(Keys, WhatIsParkedSaysFromWhenASuccessRevivesIt) {
  EXPECT_EQ(parse_parked_for_reach(parked_for_reach(Timestamp(0x0203))), Timestamp(0x0203));
  EXPECT_EQ(parked_for_reach(Timestamp(0x0203)).size(), 8U);
  EXPECT_FALSE(parse_parked_for_reach("")) << "an operator must look at it";
  EXPECT_FALSE(parse_parked_for_reach("1234567"));
  EXPECT_FALSE(parse_parked_for_reach("123456789"));
}

// req: engine.lane.9
TEST(Keys, WhatIsParkedOutOfTheWaySaysInWhoseOrder) {
  EXPECT_EQ(parse_parked_as_gap(parked_as_gap(0x0203)), 0x0203U);
  EXPECT_EQ(parse_parked_as_gap(parked_as_gap(0)), 0U);
  EXPECT_FALSE(parse_parked_for_reach(parked_as_gap(7))) << "no success revives it";
  EXPECT_FALSE(parse_parked_as_gap(""));
  EXPECT_FALSE(parse_parked_as_gap(parked_for_reach(Timestamp(7))));
  EXPECT_FALSE(parse_parked_as_gap("x12345678"));
  EXPECT_FALSE(parse_parked_as_gap("g123456789"));
}

// req: engine.store.14
TEST(Keys, ShortenNamesSoThatNoTwoMeet) {
  const std::string uuid = "6d1f6a5e-0000-4000-8000-00000000abcd";
  const std::vector<std::string> names = {uuid,
                                          "0102030405060708/" + uuid,
                                          "01020304050607/" + uuid,
                                          "/" + uuid,
                                          "x/" + uuid,
                                          "0102030405060708/" + uuid + "0",
                                          "6D1F6A5E-0000-4000-8000-00000000ABCD",
                                          "6d1f6a5e00004000800000000000abcd",
                                          std::string(36, 'a'),
                                          std::string(36, '-'),
                                          "task-7",
                                          "",
                                          std::string("\0", 1),
                                          std::string("\0\0", 2),
                                          std::string("\1") + std::string(16, 'x'),
                                          std::string("\2\0", 2) + std::string(16, 'x'),
                                          "\3"};
  std::set<std::string> seen;
  for (const std::string& name : names) {
    const std::string stored = keys::short_name(name);
    EXPECT_EQ(keys::long_name(stored), name);
    EXPECT_TRUE(seen.insert(stored).second) << name;
  }
  EXPECT_EQ(keys::short_name(uuid).size(), 17U);
  EXPECT_EQ(keys::short_name("0102030405060708/" + uuid).size(), 26U);
  EXPECT_EQ(keys::short_name("task-7"), "task-7");
}

}  // namespace
}  // namespace postrider::keys
