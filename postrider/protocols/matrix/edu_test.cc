#include "postrider/protocols/matrix/edu.h"

#include <set>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "postrider/protocols/matrix/json_fields.h"

namespace postrider::matrix {
namespace {

constexpr EduNames kNames{.origin = "us", .destination = "them"};

EduParts taken(std::string_view edu) {
  const Result<EduParts> parts = take_apart(edu, kNames);
  EXPECT_TRUE(parts) << edu << ": " << (parts ? "" : parts.error().detail);
  return parts.value_or(EduParts{});
}

std::vector<std::string> packed(const std::vector<EduPart>& parts) {
  std::vector<const EduPart*> pointers;
  for (const EduPart& part : parts) pointers.push_back(&part);
  return put_together(pointers);
}

std::string receipt_edu(std::string_view room, std::string_view user, std::string_view thread) {
  const std::string data =
      thread.empty() ? R"({"ts":1})" : R"({"thread_id":")" + std::string(thread) + R"(","ts":1})";
  return R"({"content":{")" + std::string(room) + R"(":{"m.read":{")" + std::string(user) +
         R"(":{"data":)" + data + R"(,"event_ids":["$e"]}}}},"edu_type":"m.receipt"})";
}

// req: matrix.edu.2
TEST(TakeApart, KeysTypingByRoomAndUser) {
  const std::string edu =
      R"({"edu_type":"m.typing", "content":{"room_id":"!r:x","user_id":"@u:us","typing":true}})";
  const EduParts parts = taken(edu);
  ASSERT_EQ(parts.parts.size(), 1U);
  EXPECT_EQ(parts.parts[0], (EduPart{EduKind::kTyping, "!r:x @u:us", edu}));
}

// req: matrix.edu.3, matrix.egress.4
TEST(TakeApart, MakesOnePartOfEachUserOfPresence) {
  const EduParts parts = taken(
      R"({"edu_type":"m.presence","content":{"push":[{"user_id":"@a:us","presence":"online"},)"
      R"({"presence":"offline","user_id":"@b:us","last_active_ago":5}]}})");
  ASSERT_EQ(parts.parts.size(), 2U);
  EXPECT_EQ(
      parts.parts[0],
      (EduPart{
          EduKind::kPresence, "@a:us",
          R"({"content":{"push":[{"presence":"online","user_id":"@a:us"}]},"edu_type":"m.presence"})"}));
  EXPECT_EQ(parts.parts[1].key, "@b:us");
  EXPECT_TRUE(parts.refused.empty());
}

// req: matrix.edu.4, matrix.egress.4
TEST(TakeApart, KeysReceiptsByRoomTypeUserAndThread) {
  const EduParts parts = taken(
      R"({"edu_type":"m.receipt","content":{"!a":{"m.read":{"@u:us":{"event_ids":["$1"],"data":{"ts":1}},)"
      R"("@v:us":{"event_ids":["$2"],"data":{"ts":2,"thread_id":"$t"}}}},)"
      R"("!b":{"m.read":{"@u:us":{"event_ids":["$3"],"data":{"thread_id":"main"}}},)"
      R"("m.fully":{"@u:us":{"event_ids":["$4"]}}}}})");
  std::vector<std::string> keys;
  for (const EduPart& part : parts.parts) {
    EXPECT_EQ(part.kind, EduKind::kReceipt);
    keys.push_back(part.key);
  }
  EXPECT_EQ(keys, (std::vector<std::string>{"!a m.read @u:us ", "!a m.read @v:us t$t",
                                            "!b m.read @u:us tmain", "!b m.fully @u:us "}));
  EXPECT_EQ(parts.parts[1].bytes,
            R"({"content":{"!a":{"m.read":{"@v:us":{"data":{"thread_id":"$t","ts":2},)"
            R"("event_ids":["$2"]}}}},"edu_type":"m.receipt"})");
}

// req: matrix.edu.4
TEST(TakeApart, TellsThreadsApart) {
  std::set<std::string> keys;
  for (const std::string_view thread : {"", "main", "$t", "$u"})
    keys.insert(taken(receipt_edu("!r", "@u:us", thread)).parts[0].key);
  EXPECT_EQ(keys.size(), 4U);
  EXPECT_EQ(taken(receipt_edu("!r", "@u:us", "$t")).parts[0].key,
            taken(receipt_edu("!r", "@u:us", "$t")).parts[0].key);
}

// req: matrix.edu.5
TEST(TakeApart, LeavesMessagesToDevicesAsTheyCame) {
  const std::string edu =
      R"({"content":{"message_id":"0123456789012345678901234567890123456789","messages":)"
      R"({"@a:them":{"*":"a text, which the receiver refuses"}},"sender":"@u:us","type":"m.x"},)"
      R"("edu_type":"m.direct_to_device"})";
  const EduParts parts = taken(edu);
  ASSERT_EQ(parts.parts.size(), 1U);
  EXPECT_EQ(parts.parts[0], (EduPart{EduKind::kToDevice, "", edu}));
  // Without messages it is harmless, or the receiver's to refuse.
  EXPECT_EQ(taken(R"({"content":{},"edu_type":"m.direct_to_device"})").parts.size(), 1U);
}

// req: matrix.edu.12
TEST(TakeApart, RefusesMessagesForAForeignUser) {
  for (const std::string_view user : {"@a:third", "@a:THEM", "@a", "a:them", ""}) {
    const EduParts parts = taken(R"({"content":{"messages":{"@ok:them":{},")" + std::string(user) +
                                 R"(":{"*":{}}}},"edu_type":"m.direct_to_device"})");
    EXPECT_TRUE(parts.parts.empty()) << user;
    ASSERT_EQ(parts.refused.size(), 1U) << user;
    EXPECT_EQ(parts.refused[0].reason, "the recipient is of another server");
  }
}

// req: matrix.edu.6, matrix.edu.7
TEST(TakeApart, KeepsEveryDeviceListAndTheLastSigningKeys) {
  const EduParts list = taken(
      R"({"content":{"device_id":"D","prev_id":[1],"stream_id":2,"user_id":"@u:us"},"edu_type":"m.device_list_update"})");
  EXPECT_EQ(list.parts[0].kind, EduKind::kDeviceList);
  EXPECT_EQ(list.parts[0].key, "");
  const EduParts keys =
      taken(R"({"content":{"master_key":{},"user_id":"@u:us"},"edu_type":"m.signing_key_update"})");
  EXPECT_EQ(keys.parts[0].kind, EduKind::kSigningKeys);
  const EduParts old = taken(
      R"({"content":{"master_key":{},"user_id":"@u:us"},"edu_type":"org.matrix.signing_key_update"})");
  EXPECT_EQ(old.parts[0].kind, EduKind::kSigningKeys);
  EXPECT_NE(keys.parts[0].key, old.parts[0].key);
  EXPECT_FALSE(keys.parts[0].key.empty());
}

struct ForeignCase {
  const char* name;
  std::string edu;
};
class ForeignEdu : public ::testing::TestWithParam<ForeignCase> {};

// req: matrix.edu.6
TEST_P(ForeignEdu, IsRefusedWithTheReason) {
  const EduParts parts = taken(GetParam().edu);
  EXPECT_TRUE(parts.parts.empty());
  ASSERT_EQ(parts.refused.size(), 1U);
  EXPECT_FALSE(parts.refused[0].reason.empty());
  EXPECT_FALSE(parts.refused[0].bytes.empty());
}

INSTANTIATE_TEST_SUITE_P(
    Foreign, ForeignEdu,
    ::testing::Values(
        ForeignCase{"Presence",
                    R"({"content":{"push":[{"user_id":"@a:them"}]},"edu_type":"m.presence"})"},
        ForeignCase{"PresenceWithoutUser",
                    R"({"content":{"push":[{"presence":"online"}]},"edu_type":"m.presence"})"},
        ForeignCase{"PresenceIsAText", R"({"content":{"push":["x"]},"edu_type":"m.presence"})"},
        ForeignCase{"PresenceWithoutList", R"({"content":{"push":{}},"edu_type":"m.presence"})"},
        ForeignCase{"Typing",
                    R"({"content":{"user_id":"@a:them","room_id":"!r"},"edu_type":"m.typing"})"},
        ForeignCase{"TypingWithoutRoom",
                    R"({"content":{"user_id":"@a:us"},"edu_type":"m.typing"})"},
        ForeignCase{"TypingWithoutUser", R"({"content":{"room_id":"!r"},"edu_type":"m.typing"})"},
        ForeignCase{"DeviceList",
                    R"({"content":{"user_id":"@a:them"},"edu_type":"m.device_list_update"})"},
        ForeignCase{"SigningKeysWithoutUser",
                    R"({"content":{"master_key":{}},"edu_type":"m.signing_key_update"})"},
        ForeignCase{"Receipt",
                    R"({"content":{"!r":{"m.read":{"@a:them":{}}}},"edu_type":"m.receipt"})"},
        ForeignCase{"ReceiptIsAText",
                    R"({"content":{"!r":{"m.read":{"@a:us":"x"}}},"edu_type":"m.receipt"})"},
        ForeignCase{"ReceiptsAreAList", R"({"content":{"!r":[]},"edu_type":"m.receipt"})"},
        ForeignCase{"ReceiptTypeIsAText",
                    R"({"content":{"!r":{"m.read":1}},"edu_type":"m.receipt"})"}),
    [](const auto& given) { return std::string(given.param.name); });

TEST(TakeApart, KeepsTheGoodBesideTheBad) {
  const EduParts parts = taken(
      R"({"content":{"push":[{"user_id":"@a:us"},{"user_id":"@b:them"},{"user_id":"@c:us"}]},"edu_type":"m.presence"})");
  EXPECT_EQ(parts.parts.size(), 2U);
  EXPECT_EQ(parts.refused.size(), 1U);
}

// req: matrix.egress.4
TEST(TakeApart, LeavesUnknownTypesAsTheyCame) {
  const std::string edu = R"({ "content" : {"user_id":"@a:them"}, "edu_type":"org.example.new" })";
  EXPECT_EQ(taken(edu).parts, (std::vector<EduPart>{{EduKind::kOther, "", edu}}));
}

TEST(TakeApart, RefusesWhatIsNoUnit) {
  for (const std::string_view edu :
       {"", "[]", "{}", R"({"content":{}})", R"({"edu_type":"m.x"})",
        R"({"edu_type":"","content":{}})", R"({"edu_type":5,"content":{}})",
        R"({"edu_type":"m.x","content":[]})"})
    EXPECT_FALSE(take_apart(edu, kNames)) << edu;
}

TEST(TakeApart, HasALimitOfValues) {
  std::string push;
  for (std::size_t i = 0; i < kEduPartsMax + 1; ++i)
    push += (i > 0 ? "," : "") + std::string(R"({"user_id":"@a:us"})");
  const Result<EduParts> parts =
      take_apart(R"({"content":{"push":[)" + push + R"(]},"edu_type":"m.presence"})", kNames);
  ASSERT_FALSE(parts);
  EXPECT_EQ(parts.error().code, ErrorCode::kLimit);
}

TEST(EduKeys, OfLongNamesAreShortAndDiffer) {
  const std::string room = "!" + std::string(254, 'r');
  const std::string user = "@" + std::string(250, 'u') + ":us";
  std::set<std::string> keys;
  for (const std::string& thread :
       {std::string(), std::string(255, 't'), std::string(254, 't') + "u"}) {
    const std::string key = taken(receipt_edu(room, user, thread)).parts[0].key;
    EXPECT_LE(key.size(), kEduKeyBytesMax);
    keys.insert(key);
  }
  keys.insert(taken(receipt_edu(room.substr(1) + "x", user, "")).parts[0].key);
  EXPECT_EQ(keys.size(), 4U);
  const EduParts typing = taken(R"({"edu_type":"m.typing","content":{"room_id":")" + room +
                                R"(","user_id":")" + user + R"("}})");
  EXPECT_LE(typing.parts[0].key.size(), kEduKeyBytesMax);
}

TEST(EduKeys, CannotBeMistakenForOthers) {
  const auto key = [](std::string_view room, std::string_view user) {
    return taken(R"({"edu_type":"m.typing","content":{"room_id":")" + std::string(room) +
                 R"(","user_id":")" + std::string(user) + R"("}})")
        .parts.at(0)
        .key;
  };
  EXPECT_NE(key("!a @b", "@c:us"), key("!a", "@b @c:us"));
  EXPECT_NE(key("!a%20b", "@y:us"), key("!a b", "@y:us"));
}

// req: matrix.edu.1, matrix.edu.3
TEST(PutTogether, MakesTwoUnitsOfAHundredUsers) {
  std::vector<EduPart> parts;
  for (int i = 0; i < 100; ++i) {
    const EduParts one = taken(R"({"content":{"push":[{"user_id":"@u)" + std::to_string(i) +
                               R"(:us"}]},"edu_type":"m.presence"})");
    parts.push_back(one.parts.at(0));
  }
  const std::vector<std::string> edus = packed(parts);
  ASSERT_EQ(edus.size(), 2U);
  std::set<std::string> users;
  for (const std::string& edu : edus) {
    EXPECT_TRUE(is_canonical(edu, Numbers::kIntegers));
    const EduParts again = taken(edu);
    EXPECT_EQ(again.parts.size(), 50U);
    for (const EduPart& part : again.parts) users.insert(part.key);
  }
  EXPECT_EQ(users.size(), 100U);
}

// req: matrix.edu.1, matrix.edu.4
TEST(PutTogether, PutsReceiptsIntoAsFewUnitsAsTheirThreadsAllow) {
  std::vector<EduPart> parts;
  const auto add = [&parts](std::string_view room, std::string_view user, std::string_view thread) {
    parts.push_back(taken(receipt_edu(room, user, thread)).parts.at(0));
  };
  add("!b", "@u:us", "");
  add("!a", "@u:us", "");
  add("!a", "@v:us", "");
  add("!a", "@u:us", "$t");
  add("!a", "@u:us", "$s");
  add("!b", "@u:us", "$t");
  const std::vector<std::string> edus = packed(parts);
  ASSERT_EQ(edus.size(), 3U);
  EXPECT_EQ(
      edus[0],
      R"({"content":{"!a":{"m.read":{"@u:us":{"data":{"ts":1},"event_ids":["$e"]},)"
      R"("@v:us":{"data":{"ts":1},"event_ids":["$e"]}}},)"
      R"("!b":{"m.read":{"@u:us":{"data":{"ts":1},"event_ids":["$e"]}}}},"edu_type":"m.receipt"})");
  std::set<std::string> wanted;
  std::set<std::string> found;
  for (const EduPart& part : parts) wanted.insert(part.key + part.bytes);
  for (const std::string& edu : edus) {
    EXPECT_TRUE(is_canonical(edu, Numbers::kIntegers)) << edu;
    const EduParts again = taken(edu);
    for (const EduPart& part : again.parts) found.insert(part.key + part.bytes);
  }
  EXPECT_EQ(found, wanted);
}

TEST(PutTogether, PutsTypesOfOneRoomBesideEachOther) {
  const std::string edu =
      R"({"content":{"!a":{"m.read":{"@u:us":{}},"m.read.private":{"@u:us":{},"@v:us":{}}},"!b":{"m.read":{"@u:us":{}}}},"edu_type":"m.receipt"})";
  EXPECT_EQ(packed(taken(edu).parts), std::vector<std::string>{edu});
}

TEST(PutTogether, LeavesUnitsWhereTheirFirstPartStood) {
  const std::string typing =
      R"({"content":{"room_id":"!r","user_id":"@u:us"},"edu_type":"m.typing"})";
  const std::vector<EduPart> parts = {
      taken(receipt_edu("!a", "@u:us", "")).parts[0],
      taken(typing).parts[0],
      taken(receipt_edu("!b", "@u:us", "")).parts[0],
      // A unit that is no part of ours goes as it is.
      {EduKind::kPresence, "", R"({"content":{"push":[]},"edu_type":"m.presence"})"},
      {EduKind::kReceipt, "", "no JSON"}};
  const std::vector<std::string> edus = packed(parts);
  ASSERT_EQ(edus.size(), 4U);
  EXPECT_EQ(taken(edus[0]).parts.size(), 2U);
  EXPECT_EQ(edus[1], typing);
  EXPECT_EQ(edus[2], parts[3].bytes);
  EXPECT_EQ(edus[3], "no JSON");
}

// req: matrix.edu.1
TEST(ReceiptGroup, TellsHowManyUnitsAreNeeded) {
  const std::string one = taken(receipt_edu("!a", "@u:us", "")).parts[0].key;
  const std::string two = taken(receipt_edu("!a", "@u:us", "$t")).parts[0].key;
  const std::string three = taken(receipt_edu("!b", "@u:us", "$t")).parts[0].key;
  EXPECT_EQ(receipt_group(one), receipt_group(two));
  EXPECT_NE(receipt_group(one), receipt_group(three));
  const std::string room(255, 'r');
  EXPECT_EQ(receipt_group(taken(receipt_edu(room, "@u:us", "")).parts[0].key),
            receipt_group(taken(receipt_edu(room, "@u:us", "$t")).parts[0].key));
}

RC_GTEST_PROP(PutTogether, LosesAndDoublesNothing, ()) {
  std::vector<EduPart> parts;
  std::set<std::string> keys;
  for (int left = *rc::gen::inRange(0, 60); left > 0; --left) {
    const std::string edu = receipt_edu("!" + std::to_string(*rc::gen::inRange(0, 4)),
                                        "@" + std::to_string(*rc::gen::inRange(0, 4)) + ":us",
                                        *rc::gen::element<std::string>("", "main", "$t"));
    const EduPart part = take_apart(edu, kNames)->parts.at(0);
    if (keys.insert(part.key).second) parts.push_back(part);
  }
  const std::vector<std::string> edus = packed(parts);
  RC_ASSERT(edus.size() <= 3U);
  std::size_t count = 0;
  for (const std::string& edu : edus) {
    const Result<EduParts> again = take_apart(edu, kNames);
    for (const EduPart& part : again->parts) count += keys.count(part.key);
  }
  RC_ASSERT(count == keys.size());
}

}  // namespace
}  // namespace postrider::matrix
