// The modelled receiver answers as a real one does.
#include "postrider/sim/fields/matrix/receiver.h"

#include <string>

#include <gtest/gtest.h>

#include "postrider/protocols/matrix/x_matrix.h"

namespace postrider::sim {
namespace {

class ReceiverRig {
 public:
  explicit ReceiverRig(ReceiverOptions options = {})
      : receiver(with_keys(std::move(options)), Rng(1)) {}

  static matrix::SigningKey key() {
    matrix::Seed seed{};
    seed[0] = 3;
    return matrix::SigningKey::make("ed25519:a", seed);
  }
  static ReceiverOptions with_keys(ReceiverOptions options) {
    if (options.server_name.empty()) options.server_name = "far.example";
    options.keys = {{.id = "ed25519:a", .key = key().public_key()}};
    return options;
  }
  static std::string authorization(const std::string& id, const std::string& body,
                                   const std::string& destination = "far.example",
                                   const std::string& origin = "us.example") {
    const std::string uri = "/_matrix/federation/v1/send/" + id;
    const matrix::RequestWords words{
        .method = "PUT", .uri = uri, .origin = origin, .destination = destination};
    std::string scratch;
    const auto content = matrix::signed_content(body, scratch);
    return matrix::authorization_of(
        words, key().id(), key().sign(matrix::signed_request(words, content ? *content : "")));
  }
  void send(const std::string& id, const std::string& body, const std::string& header) {
    const std::string uri = "/_matrix/federation/v1/send/" + id;
    receiver.call(
        now,
        {.ticket = ++ticket, .method = "PUT", .uri = uri, .authorization = header, .body = body});
  }
  // The status of the one answer that is due now; 0: none is; −1: it is cut off.
  int answer() {
    const auto replies = receiver.due(now);
    if (replies.empty()) return 0;
    EXPECT_EQ(replies.size(), 1U);
    last = replies.back();
    return last.cut ? -1 : last.status;
  }
  int put(const std::string& id, const std::string& body) {
    send(id, body, authorization(id, body));
    return answer();
  }

  Receiver receiver;
  Timestamp now{1'000};
  std::uint64_t ticket = 0;
  ReceiverReply last;
};

std::string event(int n) {
  return R"({"content":{},"depth":)" + std::to_string(n) +
         R"(,"room_id":"!r:us","sender":"@u:us.example","type":"m.x"})";
}
std::string to_device(const std::string& id) {
  return R"({"content":{"message_id":")" + id +
         R"(","messages":{},"sender":"@u:us.example","type":"m.x"},"edu_type":"m.direct_to_device"})";
}
std::string body_of(const std::string& pdus, const std::string& edus = "") {
  return R"({"edus":[)" + edus + R"(],"origin":"us.example","origin_server_ts":1,"pdus":[)" + pdus +
         "]}";
}

TEST(Receiver, AppliesATransactionOnceAndAnswersRepeatsFromMemory) {
  ReceiverRig rig;
  const std::string body = body_of(event(1) + "," + event(2), to_device("a"));
  EXPECT_EQ(rig.put("1", body), 200);
  EXPECT_EQ(rig.last.body, R"({"pdus":{}})");
  rig.now = rig.now + Duration(23 * 3'600'000);
  EXPECT_EQ(rig.put("1", body), 200);
  EXPECT_EQ(rig.receiver.counts().repeats, 1U);
  EXPECT_EQ(rig.receiver.counts().transactions, 1U);
  ASSERT_EQ(rig.receiver.applied().size(), 3U);
  for (const Receiver::Applied& item : rig.receiver.applied()) EXPECT_EQ(item.times, 1U);
  EXPECT_EQ(rig.receiver.applied()[1].room, "!r:us");
  EXPECT_EQ(rig.receiver.applied()[2].id, "@u:us.example a");
}

TEST(Receiver, ForgetsTransactionsAfterADay) {
  ReceiverRig rig;
  const std::string body = body_of(event(1), to_device("a"));
  EXPECT_EQ(rig.put("1", body), 200);
  rig.now = rig.now + Duration(24 * 3'600'000);
  EXPECT_EQ(rig.put("1", body), 200);
  EXPECT_EQ(rig.receiver.counts().transactions, 2U);
  EXPECT_EQ(rig.receiver.counts().doubled, 2U);
}

TEST(Receiver, NoticesARepeatWithOtherBytes) {
  ReceiverRig rig;
  EXPECT_EQ(rig.put("1", body_of(event(1))), 200);
  EXPECT_EQ(rig.put("1", body_of(event(2))), 200);
  EXPECT_EQ(rig.receiver.counts().changed, 1U);
  EXPECT_EQ(rig.receiver.counts().events, 1U);
}

TEST(Receiver, WorksOnOneTransactionOfAnOriginAtATime) {
  ReceiverRig rig;
  rig.receiver.faults.slow_ms = 100;
  EXPECT_EQ(rig.put("1", body_of(event(1))), 0);
  EXPECT_EQ(rig.put("2", body_of(event(2))), 429);
  const std::string body = body_of(event(1));
  rig.send("1", body, ReceiverRig::authorization("1", body));
  EXPECT_EQ(*rig.receiver.next(), rig.now + 100ms);
  rig.now = rig.now + 100ms;
  EXPECT_EQ(rig.receiver.due(rig.now).size(), 2U) << "the repeat waits for the same answer";
  rig.receiver.faults.slow_ms = 0;
  EXPECT_EQ(rig.put("2", body_of(event(2))), 200);
  EXPECT_EQ(rig.receiver.counts().busy, 1U);
  EXPECT_EQ(rig.receiver.counts().doubled, 0U);
}

TEST(Receiver, FailsTheWholeTransactionForOneBadUnitAgainAndAgain) {
  ReceiverOptions options;
  options.poison = "poison";
  ReceiverRig rig(std::move(options));
  const std::string body = body_of(event(1), to_device("a") + "," + to_device("poison"));
  EXPECT_EQ(rig.put("1", body), 500);
  EXPECT_EQ(rig.put("1", body), 500);
  EXPECT_EQ(rig.put("2", body_of("", R"({"edu_type":"m.typing"})")), 500) << "without content";
  EXPECT_EQ(rig.receiver.counts().poisoned, 3U);
  EXPECT_TRUE(rig.receiver.applied().empty());
  EXPECT_EQ(rig.put("3", body_of(event(1), to_device("a"))), 200);
}

TEST(Receiver, RefusesWhatIsNotForItOrNotSigned) {
  ReceiverRig rig;
  const std::string body = body_of(event(1));
  rig.send("1", body, "");
  EXPECT_EQ(rig.answer(), 401);
  rig.send("1", body, "X-Matrix nonsense");
  EXPECT_EQ(rig.answer(), 400);
  rig.send("1", body, ReceiverRig::authorization("2", body));
  EXPECT_EQ(rig.answer(), 401) << "signed for another path";
  rig.send("1", body, ReceiverRig::authorization("1", body, "other.example"));
  EXPECT_EQ(rig.answer(), 401);
  EXPECT_EQ(rig.put("1", "{"), 400);
  EXPECT_EQ(rig.receiver.counts().unauthorized, 3U);
  EXPECT_TRUE(rig.receiver.applied().empty());
}

TEST(Receiver, RefusesTooManyItems) {
  ReceiverRig rig;
  std::string events = event(0);
  for (int i = 1; i < 51; ++i) events += "," + event(i);
  EXPECT_EQ(rig.put("1", body_of(events)), 400);
  EXPECT_EQ(rig.last.body, "{}");
}

TEST(Receiver, DoesBadlyWhenItIsTold) {
  ReceiverRig rig;
  rig.receiver.faults.fail = 100;
  EXPECT_EQ(rig.put("1", body_of(event(1))), 503);
  rig.receiver.faults = {.hang = 100};
  EXPECT_EQ(rig.put("1", body_of(event(1))), 0);
  EXPECT_FALSE(rig.receiver.next().has_value());
  EXPECT_TRUE(rig.receiver.applied().empty());
  rig.receiver.faults = {.lose_answers = 100};
  EXPECT_EQ(rig.put("1", body_of(event(1))), -1);
  EXPECT_EQ(rig.receiver.applied().size(), 1U);
  rig.receiver.faults = {};
  EXPECT_EQ(rig.put("1", body_of(event(1))), 200);
  EXPECT_EQ(rig.receiver.counts().repeats, 1U);
}

}  // namespace
}  // namespace postrider::sim
