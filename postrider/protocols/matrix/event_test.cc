#include "postrider/protocols/matrix/event.h"

#include <algorithm>

#include <gtest/gtest.h>

namespace postrider::matrix {
namespace {

std::string with(std::string event, std::string_view more) {
  event.insert(event.size() - 1, "," + std::string(more));
  return event;
}

bool has_id(const std::vector<std::string>& ids, std::string_view id) {
  return std::find(ids.begin(), ids.end(), id) != ids.end();
}

const std::string kMessage =
    R"({"auth_events":["$A","$B","$C"],"content":{"body":"café ☃","msgtype":"m.text"},"depth":7,)"
    R"("origin_server_ts":1700000000000,"prev_events":["$P"],"room_id":"!r:domain",)"
    R"("sender":"@u:domain","type":"m.room.message"})";

const std::string kMember =
    R"({"auth_events":["$A","$B"],"content":{"displayname":"U","join_authorised_via_users_server":)"
    R"("@adm:domain","membership":"join"},"depth":2,"origin_server_ts":1700000000001,)"
    R"("prev_events":["$A"],"room_id":"!r:domain","sender":"@u:domain","state_key":"@u:domain",)"
    R"("type":"m.room.member"})";

// req: matrix.pdu.3, matrix.sig.2
TEST(EventIdVectors, OfAMessage) {
  const std::string event =
      with(kMessage, R"("hashes":{"sha256":"XCMBv7bAk7JVkeoTRnklbmUjcmReaTvzpkpyGhq9EQk"},)"
                     R"("signatures":{"domain":{"ed25519:1":"x"}},"unsigned":{"age_ts":5})");
  const std::vector<std::string> ids = event_ids(event);
  ASSERT_FALSE(ids.empty());
  EXPECT_EQ(ids.front(), "$SNmusr3mfweF-PTV3zJ4kpQfP3fICbnBzOU5f1xMo1A");
  // Versions 4 and later agree, and version 3 writes the same hash in another way.
  ASSERT_EQ(ids.size(), 2U);
  EXPECT_EQ(ids.back(), "$SNmusr3mfweF+PTV3zJ4kpQfP3fICbnBzOU5f1xMo1A");
}

// req: matrix.pdu.3, matrix.sig.2
TEST(EventIdVectors, OfAMessageWithItsOrigin) {
  const std::string event =
      with(kMessage, R"("hashes":{"sha256":"0rG/4V04iau9MD4UVMPnUXKyMBwQ+oNF0jloAenaXZU"},)"
                     R"("origin":"domain")");
  const std::vector<std::string> ids = event_ids(event);
  EXPECT_TRUE(has_id(ids, "$XtQBGpkL4HG35YWVuFxgaq6Cbgpcjs0BtwanpXKG0g4"));  // version 10
  EXPECT_LE(ids.size(), 3U);
}

// req: matrix.pdu.3, matrix.sig.2
TEST(EventIdVectors, OfARestrictedJoin) {
  const std::string event =
      with(kMember, R"("hashes":{"sha256":"gjOKJT36LMue7k77rlYd4MCz7hA2GUOAg7hveyPPbw4"})");
  const std::vector<std::string> ids = event_ids(event);
  EXPECT_EQ(ids.front(), "$eDtm9yj_uUJy3OCprfDnTH7I5-sN-8rKVelrBTrzgrw");
  EXPECT_TRUE(has_id(ids, "$MUpQQposLYffAeSftmTh-10MysqJSEDy6P5sbXj1h0w"));  // version 8
}

struct WaysCase {
  const char* type;
  const char* content;
  std::size_t ways;
};

// req: matrix.pdu.3
TEST(EventIds, AreFourAtMost) {
  // With `origin` the top level differs from version 11 on; version 3 has another base64.
  const WaysCase cases[] = {
      {"m.room.message", R"({"body":"x"})", 3},
      {"m.room.member",
       R"({"membership":"join","join_authorised_via_users_server":"@a:b","third_party_invite":{"signed":{},"display_name":"x"}})",
       4},
      {"m.room.join_rules", R"({"join_rule":"restricted","allow":[]})", 4},
      {"m.room.aliases", R"({"aliases":["#a:b"]})", 4},
      {"m.room.power_levels", R"({"users":{},"invite":50})", 3},
      {"m.room.create", R"({"creator":"@a:b","room_version":"9"})", 3},
      {"m.room.redaction", R"({"redacts":"$x"})", 3},
      {"m.room.history_visibility", R"({"history_visibility":"shared","x":1})", 3},
      {"m.room.name", R"(5)", 3},
  };
  for (const WaysCase& one : cases) {
    const std::string event = std::string(R"({"type":")") + one.type +
                              R"(","sender":"@a:b","room_id":"!r:b","origin":"b","content":)" +
                              one.content + "}";
    const std::vector<std::string> ids = event_ids(event);
    EXPECT_EQ(ids.size(), one.ways) << one.type;
    EXPECT_LE(ids.size(), kEventIdsMax);
    for (const std::string& id : ids) EXPECT_EQ(id.size(), 44U);
  }
}

// req: matrix.pdu.3
TEST(EventIds, DependOnWhatARedactionKeepsOnly) {
  const auto id = [](std::string_view content) {
    return event_ids(R"({"type":"m.room.member","sender":"@a:b","room_id":"!r:b","content":)" +
                     std::string(content) + "}")
        .front();
  };
  EXPECT_EQ(id(R"({"membership":"join"})"), id(R"({"displayname":"x","membership":"join"})"));
  EXPECT_NE(id(R"({"membership":"join"})"), id(R"({"membership":"leave"})"));
  EXPECT_EQ(id(R"({"membership":"join","third_party_invite":{"signed":1,"display_name":"x"}})"),
            id(R"({"membership":"join","third_party_invite":{"signed":1}})"));
  EXPECT_EQ(id(R"({"membership":"join","third_party_invite":5})"), id(R"({"membership":"join"})"));
}

// req: matrix.pdu.3
TEST(EventIds, OfTheFirstVersionsAreCarried) {
  EXPECT_EQ(event_ids(with(kMessage, R"("event_id":"$1:domain")")),
            std::vector<std::string>{"$1:domain"});
}

TEST(EventIds, OfNoObjectAreNone) {
  for (const std::string_view text : {"", "[]", "5", "{", "{\"a\":1,\"a\":2}"})
    EXPECT_TRUE(event_ids(text).empty()) << text;
}

// req: matrix.cj.2, matrix.pdu.3
TEST(EventIds, HashNumbersOfOldRoomsAsTheyAreWritten) {
  const auto ids = [](std::string_view level) {
    return event_ids(R"({"type":"m.room.power_levels","sender":"@a:b","content":{"ban":)" +
                     std::string(level) + "}}");
  };
  EXPECT_FALSE(ids("50.0").empty());
  EXPECT_NE(ids("50.0"), ids("50"));
  EXPECT_NE(ids("123456789012345678901234567890"), ids("123456789012345678901234567891"));
}

TEST(ReadEvent, TellsWhereItBelongs) {
  const Result<EventFacts> facts = read_event(kMember);
  ASSERT_TRUE(facts) << facts.error().detail;
  EXPECT_EQ(*facts, (EventFacts{.type = "m.room.member",
                                .sender = "@u:domain",
                                .room_id = "!r:domain",
                                .state_key = "@u:domain",
                                .event_id = "",
                                .has_previous = true}));
  EXPECT_FALSE(read_event(kMessage)->state_key);
}

TEST(ReadEvent, OfACreateEventOfVersion12NamesTheRoom) {
  const std::string event =
      R"({"type":"m.room.create","sender":"@a:b","state_key":"","content":{"room_version":"12"},)"
      R"("prev_events":[],"auth_events":[],"depth":1})";
  const Result<EventFacts> facts = read_event(event);
  ASSERT_TRUE(facts) << facts.error().detail;
  EXPECT_EQ(facts->room_id, "!" + event_ids(event).front().substr(1));
  EXPECT_FALSE(facts->has_previous);
}

// req: matrix.fan.9
TEST(ReadEvent, RefusesWhatCannotBeSent) {
  const auto event = [](std::string_view depth) {
    return R"({"type":"x","sender":"@a:b","room_id":"!r:b","depth":)" + std::string(depth) + "}";
  };
  EXPECT_TRUE(read_event(event("9007199254740991")));
  EXPECT_TRUE(read_event(event("-9007199254740991")));
  for (const std::string_view depth :
       {"9007199254740992", "-9007199254740992", "1.5", "\"7\"", "99999999999999999999"})
    EXPECT_FALSE(read_event(event(depth))) << depth;
  for (const std::string_view text :
       {"[]", "{}", R"({"type":"x","sender":"@a:b"})", R"({"type":"x","room_id":"!r"})",
        R"({"sender":"@a:b","room_id":"!r"})", R"({"type":5,"sender":"@a:b","room_id":"!r"})"})
    EXPECT_FALSE(read_event(text)) << text;
  std::string large = event("1");
  large.insert(large.size() - 1, ",\"content\":\"" + std::string(kEventBytesMax, 'x') + "\"");
  ASSERT_FALSE(read_event(large));
  EXPECT_EQ(read_event(large).error().code, ErrorCode::kLimit);
}

}  // namespace
}  // namespace postrider::matrix
