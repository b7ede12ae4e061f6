// What makes one transaction, when it is durable, and what is left of one that is refused.
#include <functional>

#include "tests/support/matrix_rig.h"

namespace postrider {
namespace {

using Texts = std::vector<std::string>;

class TransactionOf : public MatrixRig {
 protected:
  // One event is on its way, and `more` come meanwhile; then these leave together.
  void gather(const std::function<void()>& more) {
    send("!first", "first");
    more();
    reply(200);
    pass(10ms);
  }
  static std::string numbered(std::string stem, std::size_t n) {
    return stem += std::to_string(n);
  }
};

TEST_F(TransactionOf, IsDurableBeforeItLeaves) {  // req: matrix.txn.3
  make();
  send("!a", "1");
  to_device("2");
  send("!b", "3");
  know_server();
  store.holds_commits = true;
  reply(200);
  store.release_commit();
  pass(10ms);
  ASSERT_EQ(store.commits_held(), 1U);
  EXPECT_EQ(starts().size(), 1U) << "no byte leaves before the claim is durable";
  const auto claimed = route_in(store.held_batch());
  ASSERT_TRUE(claimed.has_value());
  EXPECT_TRUE(claimed->batch.is_open());
  EXPECT_EQ(claimed->batch.followers.size(), 1U);
  const MessageId leader = claimed->batch.leader;
  store.release_commit();
  turn();
  ASSERT_EQ(starts().size(), 2U);
  EXPECT_EQ(events(), Texts{"3"});
  EXPECT_EQ(units(), Texts{"2"});
  const auto state = stored(leader);
  ASSERT_TRUE(state.has_value());
  EXPECT_NE(state->intent.hash, 0U) << "the hash of its bytes";
  EXPECT_TRUE(state->intent.at.is_set());
}

TEST_F(TransactionOf, OpenAtACrashGoesFirstAgain) {  // req: matrix.re.2, matrix.txn.4
  make();
  gather([&] {
    send("!a", "1");
    to_device("2");
  });
  const StartAttempt before = starts().back();
  const std::string body(before.request.body);
  send("!a", "newer");
  to_device("newer");
  restart();
  pass(2s);
  ASSERT_EQ(starts().size(), 1U);
  EXPECT_EQ(starts()[0].request.target, before.request.target);
  EXPECT_EQ(starts()[0].request.body, body);
  reply(200);
  pass(10ms);
  EXPECT_EQ(events(), Texts{"newer"});
}

TEST_F(TransactionOf, PositionNeverGoesBack) {  // req: matrix.txn.7, matrix.cu.13
  make();
  send("!a", "1", 9);
  reply(200);
  pass(10ms);
  EXPECT_EQ(route().position, 9U);
  send("!a", "2", 4);
  EXPECT_EQ(events(), Texts{"2"}) << "a lower position that came later is sent all the same";
  reply(200);
  pass(10ms);
  EXPECT_EQ(route().position, 9U);
  restart();
  EXPECT_EQ(route().position, 9U);
  EXPECT_TRUE(starts().empty()) << "what was delivered is not sent again";
}

// req: matrix.txn.9
TEST_F(TransactionOf, MembersReturnInTheirOrderWithoutThoseThatExpired) {
  make({{"rides", "0"}});
  gather([&] {
    for (std::size_t i = 1; i <= 4; ++i) send("!a", numbered("e", i));
    typing("t");
  });
  ASSERT_EQ(events(), (Texts{"e1", "e2", "e3", "e4"}));
  ASSERT_EQ(units(), Texts{"t"});
  pass(31s);
  reply(413, "{}");
  pass(10ms);
  EXPECT_EQ(units(), Texts{});
  EXPECT_EQ(events(), (Texts{"e1", "e2"})) << "half of the members, from the front";
  reply(200);
  pass(10ms);
  EXPECT_EQ(events(), (Texts{"e3", "e4"}));
  reply(200);
  pass(10ms);
  EXPECT_EQ(stats().counters.live(), 0U);
  EXPECT_EQ(stats().counters.expired, 1U);
}

TEST_F(TransactionOf, IsHalvedWhenRefusedAndDoubledWhenTaken) {  // req: matrix.txn.11
  make();
  gather([&] {
    for (std::size_t i = 1; i <= 40; ++i) send("!a", numbered("e", i));
  });
  for (const std::size_t members : {40U, 20U, 10U, 5U, 2U}) {
    ASSERT_EQ(events().size(), members);
    reply(413, "{}");
    pass(10ms);
  }
  EXPECT_EQ(events(), Texts{"e1"}) << "down to 1";
  for (std::size_t i = 41; i <= 200; ++i) send("!a", numbered("e", i));
  std::vector<std::size_t> sizes;
  for (; stats().counters.live() != 0 && sizes.size() < 50; reply(200), pass(10ms))
    sizes.push_back(events().size());
  sizes.resize(7);
  EXPECT_EQ(sizes, (std::vector<std::size_t>{1, 1, 2, 4, 8, 16, 32}))
      << "one by one until what was refused last has ended";
  EXPECT_EQ(stats().counters.delivered, 201U);
}

TEST_F(TransactionOf, FillsWhileTheReceiverIsSlow) {  // req: matrix.txn.13
  make();
  std::map<Duration, AttemptId> due;
  std::size_t answered_of = 0;
  std::size_t pdus = 0;
  const auto look = [&] {
    for (; answered_of < starts().size(); ++answered_of) {
      pdus += texts_in(starts()[answered_of], "pdus").size();
      due.emplace(elapsed + 20ms, starts()[answered_of].attempt);
    }
    while (!due.empty() && due.begin()->first <= elapsed) {
      AttemptEnded event = answer(due.begin()->second, 200);
      event.reply.body = R"({"pdus":{}})";
      due.erase(due.begin());
      post(std::move(event));
    }
  };
  for (int ms = 0; ms < 4'000; ++ms) {
    if (ms % 2 == 0) send(ms % 4 == 0 ? "!a" : "!b", "x");
    pass(1ms);
    look();
  }
  pass(100ms);
  look();
  ASSERT_GE(pdus, 1'900U);
  EXPECT_GE(pdus, 10 * starts().size()) << starts().size() << " transactions";
}

// F4.
// req: matrix.edu.8
TEST_F(TransactionOf, CostsNoUnitWhenItFails) {
  make({{"rides", "0"}});
  gather([&] {
    typing("typing");
    send_unit(matrix::kReceiptLane, "m.receipt", "r", "!r m.read @u");
    to_device("device");
    send_unit(matrix::kDeviceLane, "m.device_list_update", "list");
  });
  EXPECT_GE(units().size(), 3U);
  const std::size_t live = stats().counters.live();
  reply(413, "{}");
  pass(10ms);
  EXPECT_EQ(stats().counters.live(), live);
  refuse();
  until_next_start();
  std::size_t rounds = 0;
  for (; stats().counters.live() != 0 && rounds < 20; ++rounds) {
    reply(200);
    pass(10ms);
  }
  EXPECT_EQ(stats().counters.delivered, live + 1);
}

TEST_F(TransactionOf, AnOlderValueIsNotDisturbedByANewerOne) {  // req: matrix.edu.9
  make({{"rides", "0"}});
  send_unit(matrix::kTypingLane, "m.typing", "old", "!r @u", 30s);
  ASSERT_EQ(units(), Texts{"old"});
  send_unit(matrix::kTypingLane, "m.typing", "new", "!r @u", 30s);
  refuse();
  until_next_start();
  EXPECT_EQ(units(), Texts{"old"}) << "under way: the same bytes";
  reply(200);
  pass(10ms);
  EXPECT_EQ(units(), Texts{"new"});
}

TEST_F(TransactionOf, MessagesToDevicesKeepOrderIdsAndNumber) {  // req: matrix.edu.5
  make();
  Texts want;
  gather([&] {
    for (std::size_t i = 1; i <= 130; ++i) {
      to_device(numbered("d", i));
      want.push_back(numbered("d", i));
    }
  });
  Texts got;
  for (int round = 0; stats().counters.live() != 0 && round < 20; ++round) {
    const Texts now = units();
    EXPECT_LE(now.size(), 90U);
    refuse();
    restart();
    pass(2s);
    EXPECT_EQ(units(), now) << "the same again after a failure and a restart";
    got.insert(got.end(), now.begin(), now.end());
    reply(200);
    pass(10ms);
  }
  EXPECT_EQ(got, want);
}

TEST_F(TransactionOf, DeviceListsKeepTheirOrder) {  // req: matrix.edu.6
  make();
  Texts want;
  gather([&] {
    for (std::size_t i = 1; i <= 30; ++i) {
      send_unit(matrix::kDeviceLane, "m.device_list_update", numbered("l", i));
      want.push_back(numbered("l", i));
    }
  });
  EXPECT_EQ(units(), want);
}

TEST_F(TransactionOf, KeyedUnitsSurviveARestartUntilTheyExpire) {  // req: matrix.re.4
  make({{"rides", "0"}});
  send("!a", "1");
  send_unit(matrix::kReceiptLane, "m.receipt", "r", "!r m.read @u");
  typing("t");
  fail_until_closed();
  restart();
  pass(5s);
  reply(200);
  pass(10ms);
  EXPECT_EQ(units().size(), 2U);
  refuse();
  pass(100ms);
  typing("late");
  shard.reset();
  elapsed += 31s;
  restart();
  for (std::size_t i = 0; stats().counters.live() != 0 && i < 10; ++i) {
    if (starts().empty()) until_next_start();
    reply(200);
    pass(10ms);
  }
  EXPECT_EQ(stats().counters.expired, 1U);
}

}  // namespace
}  // namespace postrider
