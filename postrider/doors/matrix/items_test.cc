// Transactions as messages: what becomes of each PDU and EDU.
#include "postrider/doors/matrix/items.h"

#include <ostream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace postrider::matrix_door {
namespace {

constexpr ItemNames kNames{.origin = "us.example", .destination = "far.example"};

std::string event(const std::string& room, const std::string& more = {}) {
  return R"({"type":"m.room.message","room_id":")" + room +
         R"(","sender":"@u:us.example","depth":3,"content":{})" + more + "}";
}

std::string unit(const std::string& type, const std::string& content) {
  return R"({"edu_type":")" + type + R"(","content":)" + content + "}";
}

std::string list(const std::vector<std::string>& items) {
  std::string out = "[";
  for (const std::string& item : items) out.append(out.size() > 1 ? "," : "").append(item);
  return out + "]";
}

std::string transaction(const std::vector<std::string>& pdus, const std::vector<std::string>& edus,
                        const std::string& origin = "us.example") {
  return R"({"origin":")" + origin + R"(","origin_server_ts":1,"pdus":)" + list(pdus) +
         R"(,"edus":)" + list(edus) + "}";
}

std::vector<Item> taken(const std::string& body) {
  auto items = items_of(body, kNames);
  EXPECT_TRUE(items) << items.error().detail;
  return items ? std::move(*items) : std::vector<Item>();
}

// The one item of a transaction with this one unit.
Item one(const std::string& edu) {
  const std::vector<Item> items = taken(transaction({}, {edu}));
  EXPECT_EQ(items.size(), 1U) << edu;
  return items.empty() ? Item{} : items.front();
}

ErrorCode refused(const std::string& body, std::string* why = nullptr) {
  const auto items = items_of(body, kNames);
  EXPECT_FALSE(items);
  if (items) return ErrorCode::kNotFound;
  if (why != nullptr) *why = items.error().detail;
  return items.error().code;
}

// Old room versions have numbers that no canonical form has; nothing of an event is written anew.
// req: matrix.egress.4
TEST(Items, EventsAreCarriedByteForByteInTheirOrder) {
  const std::string odd =
      event("!b:far", R"( , "x":[1.50, 1e3, 123456789012345678901234567890, "\u00e9\/"])");
  const std::vector<Item> items = taken(transaction({event("!a:us"), odd, event("!a:us")}, {}));
  ASSERT_EQ(items.size(), 3U);
  EXPECT_EQ(items[0].key, "!a:us");
  EXPECT_EQ(items[1].key, "!b:far");
  EXPECT_EQ(items[1].body, odd);
  for (std::size_t i = 0; i < items.size(); ++i) {
    EXPECT_EQ(items[i].lane, matrix::kEventLane);
    EXPECT_EQ(items[i].index, i);
    EXPECT_TRUE(items[i].is_event);
    EXPECT_EQ(items[i].fault, "");
    EXPECT_EQ(items[i].life, Duration(0));
  }
}

// req: matrix.edu.2, matrix.egress.4
TEST(Items, TypingHasAKeyOfRoomAndUserAndExpires) {
  const std::string typing =
      unit("m.typing", R"({"room_id":"!r:far","user_id":"@u:us.example","typing":true})");
  const Item item = one(typing);
  EXPECT_EQ(item.lane, matrix::kTypingLane);
  EXPECT_EQ(item.key, "!r:far @u:us.example");
  EXPECT_EQ(item.life, 30s);
  EXPECT_EQ(item.body, typing);
}

// req: matrix.edu.5, matrix.egress.4
TEST(Items, MessagesToDevicesHaveNoKey) {
  const std::string message = unit(
      "m.direct_to_device",
      R"({"sender":"@u:us.example","type":"m.x","message_id":"1","messages":{"@v:far.example":{"*":{}}}})");
  const Item item = one(message);
  EXPECT_EQ(item.lane, matrix::kToDeviceLane);
  EXPECT_EQ(item.key, "");
  EXPECT_EQ(item.body, message);
}

// req: matrix.edu.6, matrix.edu.7
TEST(Items, DeviceListsGoInOrderAndSigningKeysByUser) {
  const Item devices =
      one(unit("m.device_list_update", R"({"user_id":"@u:us.example","device_id":"D"})"));
  EXPECT_EQ(devices.lane, matrix::kDeviceLane);
  EXPECT_EQ(devices.key, "");
  const Item keys = one(unit("m.signing_key_update", R"({"user_id":"@u:us.example"})"));
  EXPECT_EQ(keys.lane, matrix::kDeviceLane);
  EXPECT_EQ(keys.key, "m.signing_key_update @u:us.example");
}

// req: matrix.edu.3, matrix.egress.4
TEST(Items, PresenceIsTakenApartByUser) {
  const std::vector<Item> items = taken(transaction(
      {}, {unit("m.presence", R"({"push":[{"user_id":"@a:us.example","presence":"online"},)"
                              R"({"user_id":"@b:us.example","presence":"offline"}]})")}));
  ASSERT_EQ(items.size(), 2U);
  EXPECT_EQ(items[0].lane, matrix::kPresenceLane);
  EXPECT_EQ(items[0].key, "@a:us.example");
  EXPECT_EQ(items[1].key, "@b:us.example");
  EXPECT_EQ(items[1].body,
            R"({"content":{"push":[{"presence":"offline","user_id":"@b:us.example"}]},)"
            R"("edu_type":"m.presence"})");
  EXPECT_EQ(items[1].index, 0U);
}

// req: matrix.edu.4, matrix.egress.4
TEST(Items, ReceiptsAreTakenApartByRoomTypeUserAndThread) {
  const std::vector<Item> items = taken(transaction(
      {},
      {unit("m.receipt", R"({"!r:far":{"m.read":{"@a:us.example":{"event_ids":["$1"],"data":{}},)"
                         R"("@b:us.example":{"event_ids":["$2"],"data":{"thread_id":"$t"}}}}})"),
       unit("m.receipt", R"({"!r:far":{"m.read":{"@b:us.example":{"event_ids":["$3"],)"
                         R"("data":{}}}}})")}));
  ASSERT_EQ(items.size(), 3U);
  EXPECT_EQ(items[0].lane, matrix::kReceiptLane);
  EXPECT_NE(items[1].key, items[2].key) << "a thread is no part of the room's own receipt";
  EXPECT_EQ(items[2].index, 1U);
}

TEST(Items, UnknownTypesGoInOrder) {
  const Item item = one(unit("org.example.thing", R"({"a":1.5})"));
  EXPECT_EQ(item.lane, matrix::kOtherLane);
  EXPECT_EQ(item.key, "");
  EXPECT_EQ(item.fault, "");
}

struct FaultCase {
  std::string name;
  bool is_event;
  std::string item;
  std::string fault;
};
void PrintTo(const FaultCase& each, std::ostream* out) { *out << each.name; }

class ItemFaults : public ::testing::TestWithParam<FaultCase> {};

// One that cannot be sent is set apart with its reason, and the others are taken.
// req: matrix.egress.8
TEST_P(ItemFaults, AreNamedAndCostTheOthersNothing) {
  const FaultCase& it = GetParam();
  const std::string good_event = event("!a:us");
  const std::string good_unit = unit("org.example.thing", "{}");
  const std::vector<Item> items =
      it.is_event ? taken(transaction({good_event, it.item, good_event}, {good_unit}))
                  : taken(transaction({good_event}, {good_unit, it.item, good_unit}));
  ASSERT_EQ(items.size(), 4U);
  int faults = 0;
  for (const Item& item : items) {
    if (item.fault.empty()) continue;
    ++faults;
    EXPECT_NE(item.fault.find(it.fault), std::string::npos) << item.fault;
    EXPECT_EQ(item.is_event, it.is_event);
    EXPECT_EQ(item.index, 1U);
    EXPECT_LE(item.body.size(), 65'536U);
    EXPECT_TRUE(it.item.starts_with(item.body.substr(0, 10)) || !it.is_event);
  }
  EXPECT_EQ(faults, 1);
  const std::string answer = transaction_answer(items);
  EXPECT_NE(answer.find(it.fault), std::string::npos) << answer;
}

std::string padded(std::size_t bytes) {
  std::string out = event("!a:us", R"(,"pad":")");
  out.resize(out.size() - 1);
  out.append(bytes - out.size() - 2, 'x').append("\"}");
  return out;
}

INSTANTIATE_TEST_SUITE_P(
    Items, ItemFaults,
    ::testing::Values(
        FaultCase{"ANumberForAnEvent", true, "17", "no object"},
        FaultCase{"AnEventWithoutType", true, R"({"room_id":"!a:us"})", "no type"},
        FaultCase{"AnEventWithoutRoom", true, R"({"type":"m.x","sender":"@u:us.example"})",
                  "room_id is missing"},
        FaultCase{"AnEventThatIsTooLarge", true, padded(65'537), "too large"},
        FaultCase{"AnEventThatIsTooDeep", true,
                  R"({"type":"m.x","sender":"@u:us.example","room_id":"!a:us",)"
                  R"("depth":9007199254740992})",
                  "depth"},
        FaultCase{"ATextForAUnit", false, R"("typing")", "no object"},
        FaultCase{"AUnitWithoutType", false, R"({"content":{}})", "no type"},
        FaultCase{"AUnitWithoutContent", false, R"({"edu_type":"m.typing"})", "no content"},
        FaultCase{"AMessageToAForeignDevice", false,
                  R"({"edu_type":"m.direct_to_device","content":{"messages":{"@v:other":{}}}})",
                  "another server"},
        FaultCase{"PresenceOfAForeignUser", false,
                  R"({"edu_type":"m.presence","content":{"push":[{"user_id":"@v:other"}]}})",
                  "another server"},
        FaultCase{"ADeviceListOfAForeignUser", false,
                  R"({"edu_type":"m.device_list_update","content":{"user_id":"@v:other"}})",
                  "another server"}),
    [](const auto& each) { return each.param.name; });

// req: matrix.egress.8
TEST(Items, TheLargestEventIsTaken) {
  const std::vector<Item> items = taken(transaction({padded(65'536)}, {}));
  ASSERT_EQ(items.size(), 1U);
  EXPECT_EQ(items.front().fault, "");
}

struct BodyCase {
  std::string name;
  std::string body;
  ErrorCode code;
};
void PrintTo(const BodyCase& each, std::ostream* out) { *out << each.name; }

class BadTransaction : public ::testing::TestWithParam<BodyCase> {};

TEST_P(BadTransaction, IsRefusedAsAWhole) {
  std::string why;
  EXPECT_EQ(refused(GetParam().body, &why), GetParam().code) << why;
  EXPECT_FALSE(why.empty());
}

std::string deep(int levels) {
  std::string out = R"({"type":"m.x","content":)";
  out.append(static_cast<std::size_t>(levels), '[').append(static_cast<std::size_t>(levels), ']');
  return out + "}";
}

INSTANTIATE_TEST_SUITE_P(
    Items, BadTransaction,
    ::testing::Values(
        BodyCase{"NoJson", "hello", ErrorCode::kInvalid},
        BodyCase{"Empty", "", ErrorCode::kInvalid}, BodyCase{"AList", "[]", ErrorCode::kInvalid},
        BodyCase{"Cut", transaction({event("!a:us")}, {}).substr(0, 60), ErrorCode::kInvalid},
        BodyCase{"DoubledNames", R"({"origin":"us.example","pdus":[],"pdus":[]})",
                 ErrorCode::kConflict},
        BodyCase{"DoubledNamesInAnEvent", transaction({R"({"type":"m.x","type":"m.y"})"}, {}),
                 ErrorCode::kConflict},
        BodyCase{"TooDeep", transaction({deep(98)}, {}), ErrorCode::kLimit},
        BodyCase{"InvalidUtf8", transaction({event("!a:us", ",\"x\":\"\xC3\x28\"")}, {}),
                 ErrorCode::kInvalid},
        BodyCase{"ALoneSurrogate", transaction({event("!a:us", R"(,"x":"\ud800")")}, {}),
                 ErrorCode::kInvalid},
        BodyCase{"FiftyOneEvents", transaction(std::vector<std::string>(51, event("!a:us")), {}),
                 ErrorCode::kLimit},
        BodyCase{"OneHundredAndOneUnits",
                 transaction({}, std::vector<std::string>(101, unit("m.x", "{}"))),
                 ErrorCode::kLimit},
        // req: matrix.egress.9
        BodyCase{"AnotherOrigin", transaction({event("!a:us")}, {}, "other.example"),
                 ErrorCode::kNotFound},
        BodyCase{"NoOrigin", R"({"pdus":[]})", ErrorCode::kNotFound}),
    [](const auto& each) { return each.param.name; });

TEST(Items, AnswerIsEmptyWhenNothingIsWrong) {
  EXPECT_EQ(transaction_answer(taken(transaction({event("!a:us")}, {}))), R"({"pdus":{}})");
}

// req: matrix.egress.8
TEST(Items, AnswerNamesEventsByIdAndUnitsByPlace) {
  const std::vector<Item> items = taken(
      transaction({R"({"room_id":"!a:us","event_id":"$1:us"})", "17"}, {R"({"content":{}})"}));
  EXPECT_EQ(transaction_answer(items),
            R"({"pdus":{"$1:us":{"error":"it has no type"},"#1":{"error":"it is no object"}},)"
            R"("edus":[{"index":0,"error":"it has no type"}]})");
}

}  // namespace
}  // namespace postrider::matrix_door
