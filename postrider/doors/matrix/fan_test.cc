#include "postrider/doors/matrix/fan.h"

#include <gtest/gtest.h>

namespace postrider::matrix_door {
namespace {

using Servers = std::vector<std::string>;

std::string event_of(std::string_view sender, std::string_view previous = R"(["$p"])",
                     std::string_view depth = "7") {
  return R"({"auth_events":[],"content":{},"depth":)" + std::string(depth) +
         R"(,"hashes":{"sha256":"x"},"origin_server_ts":1,"prev_events":)" + std::string(previous) +
         R"(,"room_id":"!r:us.example","sender":")" + std::string(sender) +
         R"(","type":"m.room.message"})";
}

struct Case {
  std::string members = {};  // beside the event
  std::string event = event_of("@u:us.example");
  Servers allow = {};

  Result<Fan> fan() const {
    const std::string text = R"({"event":)" + event + members + "}";
    json::JsonDocument document;
    EXPECT_TRUE(document.parse(text, {.depth_max = 100, .values_max = 100'000}));
    POSTRIDER_TRY(read, read_host_event(document.root()));
    return fan_of(read, {.origin = "us.example", .allow_servers = allow});
  }
  Servers servers() const {
    const auto found = fan();
    EXPECT_TRUE(found) << (found ? "" : found.error().detail);
    return found ? found->servers : Servers{"failed"};
  }
  std::string complaint() const {
    const auto found = fan();
    return found ? std::string() : found.error().detail;
  }
};

const std::string kThree = R"(,"servers":["a.example","us.example","b.example"])";

// req: matrix.fan.1
TEST(HostFan, TakesEventsOfOurUsersAndThoseThatWeSendForOthers) {
  EXPECT_EQ((Case{.members = kThree}.servers()), (Servers{"a.example", "b.example"}));
  EXPECT_EQ((Case{.members = kThree, .event = event_of("@u:other.example")}.servers()), Servers());
  EXPECT_EQ((Case{.members = kThree + R"(,"send_on_behalf_of":"other.example")",
                  .event = event_of("@u:other.example")}
                 .servers()),
            (Servers{"a.example", "b.example"}));
  EXPECT_EQ((Case{.members = kThree + R"(,"out_of_band":true)"}.servers()), Servers());
  EXPECT_EQ((Case{.members = kThree + R"(,"proactively_send":false)"}.servers()), Servers());
  EXPECT_EQ((Case{.members = kThree + R"(,"out_of_band":true)"}.fan()->why), "it is out of band");
}

// req: matrix.fan.2
TEST(HostFan, LeavesOutOurselvesAndTheServerThatItIsSentFor) {
  EXPECT_EQ((Case{.members = kThree + R"(,"send_on_behalf_of":"a.example")",
                  .event = event_of("@u:a.example")}
                 .servers()),
            Servers{"b.example"});
  EXPECT_EQ((Case{.members = R"(,"servers":["a.example","a.example"])"}.servers()),
            Servers{"a.example"});
}

// req: matrix.fan.3
TEST(HostFan, KnowsRoomsInPartAndInvitationsThatAreTakenBack) {
  EXPECT_EQ((Case{.members = kThree, .event = event_of("@u:us.example", "[]")}.servers()),
            Servers());
  EXPECT_EQ((Case{.members = kThree + R"(,"partial_state_servers":["c.example"])"}.servers()),
            Servers{"c.example"});
  EXPECT_EQ((Case{.members = kThree + R"(,"rescinded_invitee":"@v:d.example")"}.servers()),
            (Servers{"a.example", "b.example", "d.example"}));
  EXPECT_NE((Case{.members = kThree + R"(,"rescinded_invitee":"nobody")"}.complaint()), "");
}

// req: matrix.fan.4
TEST(HostFan, KeepsToTheAllowList) {
  EXPECT_EQ((Case{.members = kThree, .allow = {"b.example"}}.servers()), Servers{"b.example"});
  EXPECT_EQ((Case{.members = kThree, .allow = {"x.example"}}.servers()), Servers());
}

// req: matrix.fan.9
TEST(HostFan, RefusesEventsThatNoServerCouldTake) {
  EXPECT_NE(
      (Case{.members = kThree, .event = event_of("@u:us.example", R"(["$p"])", "9007199254740992")}
           .complaint()),
      "");
  EXPECT_NE((Case{.event = event_of("@u:us.example", "[\"" + std::string(70'000, 'x') + "\"]")}
                 .complaint()),
            "");
}

TEST(HostFan, RefusesWhatItDoesNotKnow) {
  for (const char* members :
       {R"(,"servers":"a.example")", R"(,"servers":[1])", R"(,"servers":["a b"])",
        R"(,"out_of_band":1)", R"(,"position":-1)", R"(,"position":0)", R"(,"position":1.5)",
        R"(,"position":"7")", R"(,"flag":true)", R"(,"send_on_behalf_of":7)"})
    EXPECT_NE((Case{.members = members}.complaint()), "") << members;
}

}  // namespace
}  // namespace postrider::matrix_door
