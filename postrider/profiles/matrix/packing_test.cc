#include "postrider/profiles/matrix/packing.h"

#include <numeric>

#include <gtest/gtest.h>

#include "postrider/profiles/matrix/case_testing.h"
#include "postrider/profiles/matrix/notes.h"
#include "postrider/protocols/matrix/edu.h"
#include "postrider/protocols/matrix/transaction.h"

namespace postrider::matrix {
namespace {

using Places = std::vector<std::size_t>;

// Presence and receipts as the door takes them apart, with their keys.
void add_parts(MatrixCase& test, std::string_view unit) {
  const auto parts = take_apart(unit, {.origin = "domain", .destination = kCaseServer});
  ASSERT_TRUE(parts);
  for (const EduPart& part : parts->parts)
    test.add(lane_of(part.kind), part.bytes, {{"key", part.key}});
}

std::size_t count_of(const MatrixCase& test, const Places& places, std::uint8_t lane) {
  return static_cast<std::size_t>(std::count_if(
      places.begin(), places.end(),
      [&](std::size_t place) { return test.items[place].message.id.lane() == lane; }));
}

// req: matrix.txn.1, matrix.edu.1
TEST(MatrixPacking, FiftyEventsAndNinetyMessagesToDevices) {
  MatrixCase test;
  for (int i = 0; i < 120; ++i) test.add_event("!r:domain", std::to_string(i));
  for (int i = 0; i < 130; ++i) test.add(kToDeviceLane, to_device_unit(std::to_string(i)));
  const Places chosen = test.composed(0);
  EXPECT_EQ(count_of(test, chosen, kEventLane) + 1, 50U);
  EXPECT_EQ(count_of(test, chosen, kToDeviceLane), 90U);
}

// req: matrix.edu.1
TEST(MatrixPacking, DeviceListsTakeThePlacesThatMessagesLeave) {
  MatrixCase test;
  for (int i = 0; i < 95; ++i) test.add(kToDeviceLane, to_device_unit(std::to_string(i)));
  for (int i = 0; i < 20; ++i)
    test.add(kDeviceLane,
             R"({"content":{"user_id":"@u:domain"},"edu_type":"m.device_list_update"})");
  test.add(kTypingLane, typing_unit("!r:domain", "@u:domain"));
  const Places chosen = test.composed(0);
  EXPECT_EQ(count_of(test, chosen, kToDeviceLane) + 1, 90U);
  EXPECT_EQ(count_of(test, chosen, kDeviceLane), 10U);
  EXPECT_EQ(count_of(test, chosen, kTypingLane), 0U);
}

// req: matrix.edu.1, matrix.edu.3
TEST(MatrixPacking, FiftyUsersOfPresenceAreOneUnit) {
  MatrixCase test;
  for (int i = 0; i < 100; ++i)
    add_parts(test, presence_unit("@u" + std::to_string(i) + ":domain"));
  for (int i = 0; i < 100; ++i) test.add(kToDeviceLane, to_device_unit(std::to_string(i)));
  const Places chosen = test.composed(0);
  EXPECT_EQ(count_of(test, chosen, kPresenceLane) + 1, 50U);
  EXPECT_EQ(count_of(test, chosen, kToDeviceLane), 89U);
}

// req: matrix.edu.1, matrix.edu.4
TEST(MatrixPacking, ReceiptsOfThreadsNeedUnitsAndThereAreFive) {
  MatrixCase test;
  test.add_event("!r:domain", "a");
  for (int i = 0; i < 8; ++i) {
    add_parts(test, R"({"content":{"!r:domain":{"m.read":{"@u:domain":{"data":{"thread_id":"$)" +
                        std::to_string(i) + R"("},"event_ids":["$e"]}}}},"edu_type":"m.receipt"})");
  }
  for (int i = 0; i < 30; ++i)
    add_parts(test, receipt_unit("!r:domain", "@v" + std::to_string(i) + ":domain"));
  const Places chosen = test.composed(0);
  EXPECT_EQ(count_of(test, chosen, kReceiptLane), 5U + 30U);
}

// req: matrix.txn.10
TEST(MatrixPacking, ABodyHasOneMebibyteOrOneItem) {
  MatrixCase test;
  for (int i = 0; i < 40; ++i) test.add_event("!r:domain", std::string(60'000, 'x'));
  const Places chosen = test.composed(0);
  EXPECT_EQ(chosen.size() + 1, 17U);
  WireRequest request = kMatrix.wire.encode(test.leading(0, chosen), AttemptKind::kSend);
  EXPECT_LE(request.body.size(), 1U << 20);
  MatrixCase compatible(NamedTexts{{"policy", "compatible"}});
  for (int i = 0; i < 40; ++i) compatible.add_event("!r:domain", std::string(60'000, 'x'));
  EXPECT_EQ(compatible.composed(0).size() + 1, 40U);
}

// req: matrix.txn.11
TEST(MatrixPacking, TakesNoMoreMembersThanItMay) {
  MatrixCase test;
  for (int i = 0; i < 10; ++i) test.add_event("!r:domain", std::to_string(i));
  EXPECT_EQ(test.composed(0, 4), (Places{1, 2, 3}));
  EXPECT_EQ(test.composed(0, 1), Places());
}

// req: matrix.fan.7
TEST(MatrixPacking, NothingOvertakesInALaneThatGoesInOrder) {
  MatrixCase test;
  test.add(kToDeviceLane, to_device_unit("first"));
  test.add_event("!r:domain", "a");
  test.add(kEventLane, "[1", {{"fault", "no event"}});
  test.add_event("!r:domain", "b");
  EXPECT_EQ(test.composed(0), Places{1});
}

// req: matrix.txn.14
TEST(MatrixPacking, ASuspectTravelsAlone) {
  MatrixCase test;
  for (int i = 0; i < 3; ++i) test.add(kToDeviceLane, to_device_unit(std::to_string(i)));
  add_parts(test, presence_unit("@u:domain"));
  add_parts(test, presence_unit("@v:domain"));
  test.items[1].notes = to_text(ItemNotes{.aside = Timestamp(5)});
  test.items[3].notes = to_text(ItemNotes{.aside = Timestamp(5)});
  EXPECT_EQ(test.composed(0), Places{4}) << "behind the suspect of an ordered lane nothing goes";
  EXPECT_EQ(test.composed(1), Places());
}

// req: matrix.cu.1, matrix.cu.6
TEST(MatrixPacking, CatchUpTakesFromItsLanesOnly) {
  MatrixCase better;
  better.route.health = Health::kCatchUp;
  better.add_event("!a:domain", "1");
  better.add_event("!b:domain", "2");
  better.add(kToDeviceLane, to_device_unit("x"));
  add_parts(better, presence_unit("@u:domain"));
  EXPECT_EQ(better.composed(0), (Places{2, 1}));

  MatrixCase compatible(NamedTexts{{"policy", "compatible"}});
  compatible.route.health = Health::kCatchUp;
  compatible.add_event("!a:domain", "1");
  compatible.add_event("!b:domain", "2");
  compatible.add(kToDeviceLane, to_device_unit("x"));
  EXPECT_EQ(compatible.composed(0), Places()) << "each room has a transaction of its own";
  compatible.route.health = Health::kNormal;
  EXPECT_EQ(compatible.composed(0), (Places{2, 1}));
}

// req: matrix.txn.9
TEST(MatrixPacking, WhatHasExpiredStaysBehind) {
  MatrixCase test;
  test.add_event("!r:domain", "a");
  test.add(kTypingLane, typing_unit("!r:domain", "@u:domain"));
  test.add(kTypingLane, typing_unit("!r:domain", "@v:domain"));
  test.items[1].message.expires = test.now;
  test.items[2].message.expires = test.now + 1ms;
  EXPECT_EQ(test.composed(0), Places{2});
}

// req: matrix.txn.4
TEST(MatrixPacking, TheOrderFollowsFromTheMembersAlone) {
  MatrixCase test;
  for (int i = 0; i < 3; ++i) test.add_event("!r:domain", std::to_string(i));
  test.add(kToDeviceLane, to_device_unit("x"));
  const auto places_of = [](const std::vector<Member>& members) {
    Places places;
    for (const Member& member : members) places.push_back(member.facts->message.id.low);
    return places;
  };
  const Places one = places_of(members_of(Facts(test.leading(0, {2, 1, 3}))));
  EXPECT_EQ(one, (Places{4, 1, 2, 3}));
  EXPECT_EQ(places_of(members_of(Facts(test.leading(3, {0, 1, 2})))), one);
}

TEST(MatrixNotes, AreReadAsTheyAreWritten) {
  const ItemNotes notes{.aside = Timestamp(17), .failed_claim = 3};
  EXPECT_EQ(read_notes(to_text(notes)), notes);
  EXPECT_EQ(to_text(ItemNotes{}), "");
  EXPECT_EQ(read_notes(""), ItemNotes{});
  EXPECT_EQ(read_notes("something else"), ItemNotes{});
  EXPECT_EQ(read_notes(encode_texts({{"aside", "x"}})), ItemNotes{});
}

}  // namespace
}  // namespace postrider::matrix
