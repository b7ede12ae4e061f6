// Which values and events of Matrix a server still hears of, and what travels with others: the
// profile's lanes, over the real engine.
#include <array>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "postrider/model/secrets.h"
#include "postrider/profiles/matrix/lanes.h"
#include "postrider/profiles/matrix/profile.h"
#include "postrider/profiles/matrix/types.h"
#include "tests/support/task_rig.h"

namespace postrider {
namespace {

using Ids = std::vector<MessageId>;
using namespace matrix;  // NOLINT(google-build-using-namespace): its lanes

class MatrixValues : public TaskRig {
 protected:
  MatrixValues() {
    static const std::array<const ProfileSpec*, 1> kProfiles = {&kMatrix};
    options.engine.profiles = kProfiles;
    auto secrets = std::make_shared<Secrets>();
    secrets->put("k", "ed25519 1 YJDBA9Xnr2sVqXD9Vj7XVUnmFZcZrlw8Md7kMW+3XA1");
    options.engine.secrets = std::move(secrets);
  }

  // An event is on its way, so that what comes then waits.
  void make(NamedTexts settings = {}) {
    open();
    Configure event;
    event.caller.ticket = Ticket(++questions);
    event.config.name = "matrix:them.example";
    event.config.profile = "matrix";
    event.config.settings = std::move(settings);
    event.config.settings.emplace_back("server_name", "us.example");
    event.config.settings.emplace_back("key", "k");
    post(event);
  }
  MessageId send(std::uint8_t lane, std::string body, std::string_view key = {},
                 Duration life = {}) {
    Submit event = submit(++questions, "matrix:them.example");
    if (!key.empty())
      event.attributes = encode_texts({{std::string(kKeyAttribute), std::string(key)}});
    event.lane = lane;
    event.body = std::move(body);
    if (life > Duration(0)) event.expires = instant().wall + life;
    post(event);
    EXPECT_EQ(code_of(questions), AnswerCode::kAccepted) << told(questions).detail;
    return id_of(questions);
  }
  static std::string unit(std::string_view type, std::string_view content) {
    return R"({"content":)" + std::string(content) + R"(,"edu_type":")" + std::string(type) +
           R"("})";
  }
  MessageId send_event(std::string_view room = "!r:us.example") {
    return send(kEventLane,
                R"({"auth_events":[],"content":{"body":")" + std::to_string(questions) +
                    R"("},"depth":7,"hashes":{"sha256":"x"},"origin_server_ts":1700000000000,)" +
                    R"("prev_events":["$p"],"room_id":")" + std::string(room) +
                    R"(","sender":"@u:us.example","type":"m.room.message"})");
  }
  MessageId send_presence(const std::string& user, const std::string& text = "online") {
    return send(kPresenceLane,
                unit("m.presence", R"({"push":[{"presence":")" + text + R"(","user_id":")" + user +
                                       R"("}]})"),
                user);
  }
  MessageId send_typing(const std::string& user) {
    return send(kTypingLane,
                unit("m.typing", R"({"room_id":"!r","typing":true,"user_id":")" + user + R"("})"),
                "!r " + user, 30s);
  }
  MessageId send_receipt(const std::string& event, const std::string& thread = {}) {
    return send(kReceiptLane,
                unit("m.receipt", R"({"!r":{"m.read":{"@u":{"data":{"thread_id":")" + thread +
                                      R"("},"event_ids":[")" + event + R"("]}}}})"),
                "!r m.read @u " + thread);
  }
  MessageId send_signing_key(const std::string& user) {
    return send(kDeviceLane, unit("m.signing_key_update", R"({"user_id":")" + user + R"("})"),
                "m.signing_key_update " + user);
  }
  MessageId send_to_device() {
    return send(kToDeviceLane, unit("m.direct_to_device", R"({"message_id":"m","messages":{},)"
                                                          R"("sender":"@u","type":"t"})"));
  }
  void deliver() {
    AttemptEnded end = answer(last_attempt(), 200);
    end.reply.body = R"({"pdus":{}})";
    post(end);
    pass(10ms);  // the linger between two transactions
  }
  void fail() { post(ended(last_attempt(), WireEnd::kRefused)); }
  std::string body() const { return std::string(starts().back().request.body); }
  std::size_t times(std::string_view text) const {
    std::size_t found = 0;
    const std::string all = body();
    for (std::size_t at = all.find(text); at != std::string::npos; at = all.find(text, at + 1))
      ++found;
    return found;
  }
  Route route() {
    Query question = ask(++questions, Query::What::kDestination);
    question.destination = "matrix:them.example";
    post(question);
    return view_of<DestinationView>(questions).route;
  }
  void go_deep() {
    for (int i = 0; i < 60 && route().health != Health::kDeep; ++i) {
      const std::size_t before = starts().size();
      fail();
      for (int waits = 0; waits < 200 && starts().size() == before; ++waits) {
        if (route().health == Health::kDeep) break;
        pass(10s);
      }
    }
    ASSERT_EQ(route().health, Health::kDeep);
    for (int i = 0; i < 80; ++i) turn();
  }
  Ids live_of(const Ids& ids) {
    Ids out;
    for (const MessageId one : ids) {
      if (!is_end(phase(one))) out.push_back(one);
    }
    return out;
  }
  bool superseded(MessageId which) { return explained(which).reason == "superseded"; }
};

TEST_F(MatrixValues, OfTypingTheLastIsKeptForAWhile) {  // req: matrix.edu.2
  make();
  send_event();
  const MessageId old = send_typing("@a");
  const MessageId other = send_typing("@b");
  const MessageId now = send_typing("@a");
  EXPECT_TRUE(superseded(old));
  EXPECT_EQ(live_of({other, now}).size(), 2U);
  pass(31s);
  EXPECT_EQ(phase(now), Phase::kExpired);
}

TEST_F(MatrixValues, OfPresenceTheLastOfAUserLeavesOnce) {  // req: matrix.edu.3
  make();
  send_event();
  for (const char* const text : {"online", "offline"}) {
    for (int user = 100; user < 200; ++user) send_presence("@u" + std::to_string(user), text);
  }
  pass(5s);
  deliver();
  for (int unit_number = 0; unit_number < 2; ++unit_number) {
    EXPECT_EQ(times("m.presence"), 1U);
    EXPECT_EQ(times("user_id"), 50U);
    EXPECT_EQ(times("offline"), 50U) << "the last value";
    deliver();
  }
  EXPECT_EQ(starts().size(), 3U);
}

TEST_F(MatrixValues, ReceiptsAreKeptByThread) {  // req: matrix.edu.4
  make();
  send_event();
  const MessageId old = send_receipt("$1");
  const MessageId of_thread = send_receipt("$1", "$t");
  const MessageId now = send_receipt("$2");
  EXPECT_TRUE(superseded(old));
  EXPECT_EQ(live_of({of_thread, now}).size(), 2U);
}

TEST_F(MatrixValues, OfSigningKeysTheLastIsKeptDurably) {  // req: matrix.edu.7
  make();
  send_event();
  const MessageId old = send_signing_key("@a");
  const MessageId other = send_signing_key("@b");
  const MessageId now = send_signing_key("@a");
  EXPECT_TRUE(superseded(old));
  restart();
  EXPECT_EQ(live_of({other, now}).size(), 2U);
  EXPECT_TRUE(route().batch.is_open());
  pass(5min);
  deliver();
  EXPECT_EQ(times("m.signing_key_update"), 2U);
}

TEST_F(MatrixValues, OutliveATransactionThatFailed) {  // req: matrix.edu.8
  make();
  send_event();
  const MessageId presence = send_presence("@a");
  deliver();
  pass(5s);
  ASSERT_EQ(times("m.presence"), 1U);
  fail();
  EXPECT_FALSE(is_end(phase(presence)));
  pass(10min);
  EXPECT_EQ(times("m.presence"), 1U);
  deliver();
  EXPECT_EQ(phase(presence), Phase::kDelivered);
}

TEST_F(MatrixValues, WaitWhileAnOlderOneIsUnderWay) {  // req: matrix.edu.9
  make({{"rides", "0"}});
  const MessageId old = send_presence("@a");
  const MessageId now = send_presence("@a", "offline");
  EXPECT_FALSE(is_end(phase(old)));
  EXPECT_EQ(times("online"), 1U);
  deliver();
  EXPECT_EQ(phase(old), Phase::kDelivered);
  EXPECT_EQ(times("offline"), 1U);
  deliver();
  EXPECT_EQ(phase(now), Phase::kDelivered);
}

TEST_F(MatrixValues, ADeepServerKeepsWhatLasts) {  // req: matrix.edu.10
  make({{"deep_after", "1m"}});
  send_event();
  deliver();
  send_event();
  const Ids lost = {send_presence("@a"), send_receipt("$1")};
  const MessageId typing = send_typing("@a");
  const Ids kept = {send_to_device(), send_to_device()};
  const MessageId old = send_signing_key("@a");
  const MessageId now = send_signing_key("@a");
  go_deep();
  EXPECT_TRUE(live_of(lost).empty());
  EXPECT_TRUE(is_end(phase(typing)));
  EXPECT_EQ(live_of(kept), kept);
  EXPECT_EQ(live_of({old, now}), Ids{now});
}

TEST_F(MatrixValues, ReceiptsAndPresenceTravelWithOthers) {  // req: matrix.edu.13
  make();
  const MessageId presence = send_presence("@a");
  const MessageId receipt = send_receipt("$1");
  pass(2s);
  EXPECT_TRUE(starts().empty());
  send_event();
  ASSERT_EQ(starts().size(), 1U);
  EXPECT_EQ(times("m.presence") + times("m.receipt"), 2U);
  deliver();
  EXPECT_TRUE(live_of({presence, receipt}).empty());
  send_receipt("$2");
  pass(2s);
  EXPECT_EQ(starts().size(), 1U);
  pass(3s);
  EXPECT_EQ(starts().size(), 2U) << "alone after its time";
  EXPECT_EQ(times("m.receipt"), 1U);
}

TEST_F(MatrixValues, ANewEventReplacesThatOfItsRoomInCatchUp) {  // req: matrix.cu.7
  make({{"policy", "compatible"}, {"interval_first", "10s"}, {"deep_after", "1s"}});
  send_event();
  deliver();
  send_event("!a");
  const Ids old = {send_event("!b"), send_event("!c"), send_event("!b")};
  go_deep();
  EXPECT_EQ(live_of(old), (Ids{old[1], old[2]})) << "of each room the newest";
  pass(route().closed_until - instant().wall);
  ASSERT_EQ(route().health, Health::kCatchUp);
  const MessageId now = send_event("!b");
  EXPECT_TRUE(superseded(old[2]));
  EXPECT_FALSE(is_end(phase(now)));
}

TEST_F(MatrixValues, OfEventsBeyondABoundTheNewestOfEachRoomIsKept) {  // req: matrix.cu.11
  make({{"interval_first", "10s"}, {"deep_after", "1s"}, {"keep_events", "4"}});
  send_event();
  deliver();
  send_event("!lead");
  Ids ids;
  for (const char* const room : {"!a", "!b", "!a", "!b", "!c", "!c", "!c", "!c"})
    ids.push_back(send_event(room));
  go_deep();
  // The last four stay; of the others !a and !b have no newer event.
  EXPECT_EQ(live_of(ids), (Ids{ids[2], ids[3], ids[4], ids[5], ids[6], ids[7]}));
}

}  // namespace
}  // namespace postrider
