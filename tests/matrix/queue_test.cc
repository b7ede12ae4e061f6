// The queue of one server, and many of them side by side.
#include <set>

#include "tests/support/matrix_rig.h"

namespace postrider {
namespace {

using Texts = std::vector<std::string>;

class ServerQueue : public MatrixRig {
 protected:
  static std::string name_of(std::size_t n) { return "s" + std::to_string(n) + ".example"; }
  static std::string server_of(const StartAttempt& start) {
    const std::string target = start.request.target.substr(std::string("matrix://").size());
    return target.substr(0, target.find('/'));
  }
  Texts servers_tried() const {
    Texts out;
    for (const StartAttempt& start : starts()) out.push_back(server_of(start));
    return out;
  }
  // All that is open ends so.
  void end_open(int status) {
    const std::vector<StartAttempt> all = starts();
    for (; ended_ < all.size(); ++ended_) {
      AttemptEnded event = answer(all[ended_].attempt, status);
      event.reply.body = "{}";
      post(std::move(event));
    }
  }
  void forget_starts() { ended_ = 0; }

 private:
  std::size_t ended_ = 0;
};

TEST_F(ServerQueue, GoesOnUntilItIsEmptyAndPollsNothing) {  // req: matrix.q.3
  make();
  send("!a", "0");
  EXPECT_EQ(starts().size(), 1U) << "at once";
  for (int i = 0; i < 120; ++i) send("!a", "e");
  for (int i = 0; i < 130; ++i) to_device("d");
  reply(200);
  pass(10ms);
  std::size_t transactions = 0;
  for (; stats().counters.live() != 0 && transactions < 9; ++transactions) {
    EXPECT_LE(events().size(), 50U);
    EXPECT_LE(units().size(), 90U);
    reply(200);
    pass(10ms);
  }
  EXPECT_LE(transactions, 4U);
  EXPECT_EQ(stats().counters.delivered, 251U);
  const std::size_t started = starts().size();
  const std::uint64_t reads = store.reads();
  pass(1h);
  EXPECT_EQ(starts().size(), started);
  EXPECT_LE(store.reads() - reads, 61U) << "nothing looks whether there is something to do";
}

TEST_F(ServerQueue, KeepsAWindowInMemoryAndTheRestOnDisk) {  // req: matrix.q.4
  make();
  for (int i = 0; i < 2'000; ++i) {
    send("!a", std::to_string(i));
    if (i % 4 == 0) to_device(std::to_string(i));
  }
  EXPECT_LE(server().in_window, 2U * 110U);
  EXPECT_TRUE(server().owed);
  EXPECT_EQ(stats().counters.live(), 2'500U);
  Texts got;
  Texts devices;
  for (int round = 0; stats().counters.live() != 0 && round < 200; ++round) {
    for (const std::string& text : events()) got.push_back(text);
    for (const std::string& text : units()) devices.push_back(text);
    EXPECT_LE(server().in_window, 2U * 110U);
    reply(200);
    pass(10ms);
  }
  ASSERT_EQ(got.size(), 2'000U) << "nothing was dropped";
  for (std::size_t i = 0; i < got.size(); ++i) ASSERT_EQ(got[i], std::to_string(i));
  EXPECT_EQ(devices.size(), 500U);
}

TEST_F(ServerQueue, OpensOnlySoManyRequestsAndTakesTurns) {  // req: matrix.http.7
  make({{"open_requests_max", "2"}, {"linger", "0"}}, "matrix:*");
  for (int round = 0; round < 3; ++round) {
    for (std::size_t n = 0; n < 6; ++n) send("!a", "e", 0, "matrix:" + name_of(n));
  }
  EXPECT_EQ(starts().size(), 2U);
  for (std::size_t done = 0; done < 4; ++done) {
    AttemptEnded event = answer(starts()[done].attempt, 200);
    event.reply.body = "{}";
    post(std::move(event));
    pass(10ms);
    EXPECT_EQ(starts().size(), done + 3) << "one place is free, and one starts";
  }
  const Texts tried = servers_tried();
  EXPECT_EQ(std::set<std::string>(tried.begin(), tried.end()).size(), 6U)
      << "none goes again before all have gone";
}

// F13.
// req: matrix.wake.2
TEST_F(ServerQueue, OfAThousandServersIsTriedSoonAfterAStart) {
  for (const char* policy : {"better", "compatible"}) {
    const std::string begin(policy);
    make({{"policy", policy}}, "matrix:" + begin + ".*");
    for (std::size_t n = 0; n < 1'000; ++n) {
      send("!a", "e", 0, "matrix:" + begin + "." + name_of(n));
    }
  }
  shard.reset();
  forget_starts();
  restart();
  std::set<std::string> tried;
  for (int second = 0; second < 10; ++second) {
    end_open(503);
    pass(1s);
    for (const std::string& server : servers_tried()) tried.insert(server);
  }
  EXPECT_EQ(tried.size(), 2'000U);
}

TEST_F(ServerQueue, ServersWakeInTheOrderOfTheirTimes) {  // req: matrix.wake.2
  for (const auto& [server, first] :
       std::map<std::string, const char*>{{"a", "60s"}, {"b", "20s"}, {"c", "40s"}}) {
    make({{"interval_first", first}, {"tries", "1"}}, "matrix:" + server + ".example");
    send("!a", "e", 0, "matrix:" + server + ".example");
  }
  end_open(503);
  pass(70s);
  EXPECT_EQ(servers_tried(), (Texts{"a.example", "b.example", "c.example", "b.example",
                                    "c.example", "a.example"}));
}

TEST_F(ServerQueue, ASignOfLifeEndsAPauseBetweenTries) {  // req: matrix.wake.4
  make({{"policy", "compatible"}});
  send("!a", "e");
  for (int tries = 0; tries < 3; ++tries) {
    reply(503, "{}");
    until_next_start();
  }
  const std::string target = starts().back().request.target;
  reply(503, "{}");
  const std::size_t before = starts().size();
  pass(20s);
  ASSERT_EQ(starts().size(), before) << "it pauses for at least 48 s";
  post(PeerSeen{.ticket = Ticket(++questions), .destination = kFar});
  pass(100ms);
  ASSERT_EQ(starts().size(), before + 1);
  EXPECT_EQ(starts().back().request.target, target) << "the same transaction";
}

// req: matrix.wake.3, matrix.wake.6
TEST_F(ServerQueue, ASignOfLifeEndsABackOffOnce) {
  make();
  send("!a", "e");
  for (int round = 0; round < 6; ++round) {
    fail_until_closed();
    until_next_start();
  }
  fail_until_closed();
  ASSERT_GT(route().interval, 100s);
  const std::size_t before = starts().size();
  post(PeerSeen{.ticket = Ticket(++questions), .destination = kFar});
  pass(100ms);
  EXPECT_EQ(starts().size(), before + 1) << "no new item was needed";
  post(PeerSeen{.ticket = Ticket(++questions), .destination = kFar});
  pass(100ms);
  EXPECT_EQ(starts().size(), before + 1) << "it is open already";
}

TEST_F(ServerQueue, IsMadeLikeItsTemplateInTheSameCommit) {  // req: matrix.dest.1
  make({}, "matrix:*");
  store.holds_commits = true;
  Submit event = event_in("!a", "e");
  event.caller.ticket = Ticket(++questions);
  post(std::move(event));
  ASSERT_EQ(store.commits_held(), 1U);
  bool made = false;
  bool kept = false;
  for (const Write& write : store.held_batch().writes()) {
    const auto config = decode_config(write.value.view());
    if (config && config->name == kFar) {
      made = true;
      EXPECT_EQ(config->like, "matrix:*");
      EXPECT_TRUE(config->settings.empty()) << "the name of the template alone";
    }
    kept = kept || write.value.view().find("m.room.message") != std::string::npos;
  }
  EXPECT_TRUE(made);
  EXPECT_TRUE(kept) << "the server and what it is owed are one commit";
  store.holds_commits = false;
  store.release_commit();
  turn();
  EXPECT_EQ(starts().size(), 1U);
}

TEST_F(ServerQueue, FollowsItsTemplateFromTheNextDecisionOn) {  // req: matrix.dest.2
  make({{"tries", "1"}, {"interval_first", "10s"}}, "matrix:*");
  make({{"tries", "1"}, {"interval_first", "30s"}}, "matrix:own.example");
  send("!a", "e");
  send("!a", "e", 0, "matrix:own.example");
  make({{"tries", "1"}, {"interval_first", "20s"}}, "matrix:*");
  end_open(503);
  EXPECT_EQ(route().interval, 20s) << "it was made before the change";
  EXPECT_EQ(route("matrix:own.example").interval, 30s) << "a setting of its own";
}

}  // namespace
}  // namespace postrider
