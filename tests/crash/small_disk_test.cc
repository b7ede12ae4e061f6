// The daemon on a real file system that is too small: it is never ended by it, says what is wrong,
// loses nothing, and goes on by itself when there is room.
#include <chrono>
#include <csignal>
#include <cstdint>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include "postrider/stores/rocks/check.h"
#include "postrider/stores/rocks/small_disk_testing.h"
#include "tests/crash/stage.h"

namespace postrider::crash {
namespace {

using std::chrono::milliseconds;

constexpr std::uint64_t kMiB = 1U << 20;
constexpr milliseconds kSmallEndMax(60'000);
constexpr milliseconds kPatience(90'000);
constexpr std::size_t kLong = 20'000;

class SmallDiskDaemon : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!disk.is_there()) GTEST_SKIP() << SmallDisk::kRefused;
  }
  bool start(const std::vector<std::string>& settings = {}) {
    std::vector<std::string> all = {"POSTRIDER_DOOR_RESTART_PAUSE=50ms"};
    all.insert(all.end(), settings.begin(), settings.end());
    return stage.start({}, all);
  }
  // The status of one more submission; 0: no answer.
  int submit(std::size_t longer = kLong) {
    const auto answer = stage.submit(++serial, longer);
    const int status = answer ? answer->status : 0;
    if (status == 202) ++accepted;
    if (status == 503) why_refused = member(answer->body, "type");
    // Its commit met the full disk: only the store knows.
    if (status == 503 && why_refused.ends_with("interrupted")) ++in_doubt;
    return status;
  }
  // Until one is refused, which is what it returns.
  int submit_until_refused() {
    int status = submit();
    while (status == 202) status = submit();
    return status;
  }
  // Until one is accepted; false: none is within our patience, or the daemon is gone.
  bool submit_until_accepted() {
    const auto until = std::chrono::steady_clock::now() + kPatience;
    while (std::chrono::steady_clock::now() < until) {
      const int status = submit(100);
      if (status != 503) return status == 202;
      std::this_thread::sleep_for(milliseconds(50));
    }
    return false;
  }
  void expect_all_delivered() {
    ASSERT_TRUE(stage.wait_all_ended()) << stage.log();
    const auto counters = stage.books.stats(stage.address());
    ASSERT_TRUE(counters.has_value());
    EXPECT_EQ(counters->delivered, counters->accepted);
    EXPECT_GE(counters->accepted, accepted);
    EXPECT_LE(counters->accepted, accepted + in_doubt);
  }
  void expect_stops_whole() {
    stage.daemon().signal(SIGTERM);
    EXPECT_EQ(stage.daemon().wait_end(kSmallEndMax), 0) << stage.log();
    const auto report = check_store(stage.store());
    ASSERT_TRUE(report.has_value()) << report.error().detail;
    EXPECT_TRUE(report->whole());
  }

  SmallDisk disk{80 * kMiB};
  Stage stage{POSTRIDER_BINARY, disk.path("store")};
  std::uint64_t serial = 0;
  std::uint64_t accepted = 0;
  std::uint64_t in_doubt = 0;
  std::string why_refused;  // the last one
};

// req: daemon.disk.4
TEST_F(SmallDiskDaemon, ThatFindsItsDiskFullSaysSoAndStartsWithRoom) {
  ASSERT_TRUE(start()) << stage.log();
  ASSERT_TRUE(stage.put_destination());
  stage.receiver.set_mood(0, Mood::kDead);
  while (serial < 300) ASSERT_EQ(submit(), 202);
  stage.daemon().kill_now();
  for (const std::uint64_t leave : {0 * kMiB, 1 * kMiB, 3 * kMiB}) {
    disk.fill(leave);
    EXPECT_FALSE(start());
    EXPECT_EQ(stage.daemon().wait_end(kSmallEndMax), 1) << stage.log();
  }
  const std::string log = stage.log();
  EXPECT_NE(log.find("postrider serve: the disk has no room to open the store in " + stage.store()),
            std::string::npos)
      << log;
  EXPECT_NE(log.find("make room outside of the directory"), std::string::npos) << log;
  disk.empty();
  stage.receiver.set_mood(0, Mood::kHealthy);
  ASSERT_TRUE(start()) << stage.log();
  expect_all_delivered();
  expect_stops_whole();
}

// What is kept for that is given up at a start, too.
// req: daemon.disk.4
TEST_F(SmallDiskDaemon, ThatFindsItsDiskFullStartsOnItsReserve) {
  const std::vector<std::string> reserve = {"POSTRIDER_STORE_FREE_BYTES_RESERVE=16MiB"};
  ASSERT_TRUE(start(reserve)) << stage.log();
  ASSERT_TRUE(stage.put_destination());
  stage.receiver.set_mood(0, Mood::kDead);
  while (serial < 300) ASSERT_EQ(submit(), 202);
  ASSERT_TRUE(std::filesystem::exists(disk.path("store/RESERVE")));
  stage.daemon().kill_now();
  disk.fill(0);
  stage.receiver.set_mood(0, Mood::kHealthy);
  ASSERT_TRUE(start(reserve)) << stage.log();
  expect_all_delivered();
  expect_stops_whole();
}

// req: daemon.disk.2, daemon.disk.3
TEST_F(SmallDiskDaemon, ThatFillsItsDiskIsNotEndedByItAndDeliversEverythingWithRoom) {
  ASSERT_TRUE(start()) << stage.log();
  ASSERT_TRUE(stage.put_destination());
  stage.receiver.set_mood(0, Mood::kDead);
  for (const std::uint64_t leave : {30 * kMiB, 2 * kMiB, 1 * kMiB}) {
    disk.fill(leave);
    ASSERT_EQ(submit_until_refused(), 503) << stage.log();
    // Many looks at the disk later it is still there.
    for (int i = 0; i < 20; ++i) {
      const int status = submit();
      ASSERT_TRUE(status == 503 || status == 202) << status << stage.log();
      if (status == 503) std::this_thread::sleep_for(milliseconds(20));
    }
    // Killed with the disk full it has a record in its log that was cut off, as on any other day.
    if (leave == 2 * kMiB) stage.daemon().kill_now();
    disk.empty();
    if (leave == 2 * kMiB) {
      ASSERT_TRUE(start()) << stage.log();
    }
    ASSERT_TRUE(submit_until_accepted()) << stage.log();
  }
  stage.receiver.set_mood(0, Mood::kHealthy);
  expect_all_delivered();
  expect_stops_whole();
}

// Nothing but its own dead records fills the disk.
// req: daemon.disk.5
TEST_F(SmallDiskDaemon, ThatDeliveredEverythingTakesNewMessagesSoon) {
  ASSERT_TRUE(start({"POSTRIDER_STORE_FREE_BYTES_MIN=32MiB"})) << stage.log();
  ASSERT_TRUE(stage.put_destination());
  for (int round = 0; round < 2; ++round) {
    stage.receiver.set_mood(0, Mood::kDead);
    ASSERT_EQ(submit_until_refused(), 503) << stage.log();
    EXPECT_TRUE(why_refused.ends_with("no-space")) << why_refused;
    // What can be given back while all of it lives is given back, and taken as well.
    for (int refusals = 0; refusals < 60; ++refusals) {
      const int status = submit();
      ASSERT_TRUE(status == 503 || status == 202) << status << stage.log();
      if (status == 503) std::this_thread::sleep_for(milliseconds(50));
      if (status == 202) refusals = 0;
    }
    stage.receiver.set_mood(0, Mood::kHealthy);
    ASSERT_TRUE(stage.wait_all_ended()) << stage.log();
    ASSERT_TRUE(submit_until_accepted()) << stage.log();
  }
  expect_all_delivered();
  expect_stops_whole();
}

}  // namespace
}  // namespace postrider::crash
