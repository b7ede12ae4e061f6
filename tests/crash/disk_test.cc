// What the daemon does when its disk fails or is full, and in which order it writes, syncs and
// answers.
#include <array>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <fstream>
#include <string>
#include <string_view>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>

#include "postrider/node/daemon.h"
#include "postrider/stores/rocks/check.h"
#include "tests/crash/stage.h"

namespace postrider::crash {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kEndMax(60'000);

int status_of(const std::optional<HttpAnswer>& answer) { return answer ? answer->status : 0; }

class BrokenDisk : public ::testing::TestWithParam<const char*> {};

// req: daemon.disk.1
TEST_P(BrokenDisk, EndsTheDaemonWithItsOwnCodeAndLosesNothing) {
  Stage stage(POSTRIDER_BINARY);
  const std::string mark = stage.path("fault");
  ASSERT_TRUE(stage.start({"--break", std::string(GetParam()) + mark})) << stage.log();
  ASSERT_TRUE(stage.put_destination());
  stage.receiver.set_mood(0, Mood::kDead);
  std::uint64_t accepted = 0;
  while (accepted < 20) {
    ASSERT_EQ(status_of(stage.submit(accepted + 1)), 202);
    ++accepted;
  }
  std::ofstream(mark).put('x');
  // The fault is noticed within a moment; until then some are still accepted.
  std::uint64_t next = accepted;
  while (status_of(stage.submit(++next)) == 202) ++accepted;
  EXPECT_EQ(stage.daemon().wait_end(kEndMax), kExitStoreFailed);
  const std::string log = stage.log();
  EXPECT_NE(log.find("stopped: the store failed"), std::string::npos) << log;
  EXPECT_NE(log.find("input/output error"), std::string::npos) << log;

  ASSERT_EQ(::unlink(mark.c_str()), 0);
  const auto report = check_store(stage.store());
  ASSERT_TRUE(report.has_value()) << report.error().detail;
  EXPECT_TRUE(report->whole());
  EXPECT_GE(report->counters.accepted, accepted);
  EXPECT_LE(report->counters.accepted, accepted + 1) << "only the last one is in doubt";
  stage.receiver.set_mood(0, Mood::kHealthy);
  ASSERT_TRUE(stage.start()) << stage.log();
  EXPECT_TRUE(stage.wait_all_ended());
  EXPECT_EQ(stage.books.stats(stage.address())->delivered, report->counters.accepted);
}

INSTANTIATE_TEST_SUITE_P(At, BrokenDisk,
                         ::testing::Values("write-error-while=", "sync-error-while="),
                         [](const ::testing::TestParamInfo<const char*>& name) {
                           return std::string(name.index == 0 ? "AWrite" : "ASync");
                         });

// req: daemon.disk.2, daemon.disk.3
TEST(FullDisk, IsRefusedStartsNothingAndRecoversByItself) {
  Stage stage(POSTRIDER_BINARY);
  const std::string mark = stage.path("fault");
  ASSERT_TRUE(stage.start({"--break", "full-while=" + mark}, {"POSTRIDER_DOOR_RESTART_PAUSE=20ms"}))
      << stage.log();
  ASSERT_TRUE(stage.put_destination());
  stage.receiver.set_mood(0, Mood::kDead);  // so that there are attempts to be started
  std::uint64_t accepted = 0;
  std::uint64_t next = 0;
  for (; next < 20; ++accepted) ASSERT_EQ(status_of(stage.submit(++next)), 202);
  std::ofstream(mark).put('x');
  auto refused = stage.submit(++next);
  for (; status_of(refused) == 202; refused = stage.submit(++next)) ++accepted;
  ASSERT_EQ(status_of(refused), 503) << (refused ? refused->body : "no answer");
  EXPECT_NE(member(refused->body, "detail"), "");

  stage.receiver.begin_life(1);  // what was sent before is in the log
  stage.receiver.set_mood(0, Mood::kHealthy);
  const std::size_t arrivals = stage.receiver.size();
  // Far longer than a wait of the destination and many looks at the disk.
  const auto until = std::chrono::steady_clock::now() + milliseconds(700);
  while (std::chrono::steady_clock::now() < until) {
    const auto answer = stage.submit(++next);
    ASSERT_EQ(status_of(answer), 503);
    EXPECT_NE(answer->head.find("retry-after"), std::string::npos);
  }
  stage.receiver.begin_life(2);
  EXPECT_EQ(stage.receiver.size(), arrivals) << "no attempt starts while the disk is full";

  ASSERT_EQ(::unlink(mark.c_str()), 0);
  auto answer = stage.submit(++next);
  while (status_of(answer) == 503) answer = stage.submit(++next);
  ASSERT_EQ(status_of(answer), 202) << stage.log();
  ++accepted;
  ASSERT_TRUE(stage.wait_all_ended());
  const auto counters = stage.books.stats(stage.address());
  ASSERT_TRUE(counters.has_value());
  EXPECT_GE(counters->accepted, accepted);
  EXPECT_LE(counters->accepted, accepted + 1) << "only the commit that failed is in doubt";
  EXPECT_EQ(counters->delivered, counters->accepted);
  stage.daemon().signal(SIGTERM);
  EXPECT_EQ(stage.daemon().wait_end(kEndMax), 0) << stage.log();
}

std::vector<std::string> lines_of(const std::string& path) {
  std::vector<std::string> out;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) out.push_back(line);
  return out;
}

bool has(std::string_view line, std::string_view text) {
  return line.find(text) != std::string_view::npos;
}

// The first line from `from` on that has all the texts; lines.size(): none has.
std::size_t find_line(const std::vector<std::string>& lines, std::size_t from,
                      const std::vector<std::string>& texts) {
  for (std::size_t i = from; i < lines.size(); ++i) {
    bool all = true;
    for (const std::string& text : texts) all = all && has(lines[i], text);
    if (all) return i;
  }
  return lines.size();
}

// req: daemon.crash.9
TEST(SystemCalls, AMessageIsWrittenThenSyncedThenAnswered) {
  if (std::system("strace -o /dev/null true >/dev/null 2>&1") != 0)
    GTEST_SKIP() << "strace is not there, or this machine does not let it trace";
  Stage stage(POSTRIDER_BINARY);
  const std::string trace = stage.path("trace");
  // The leak sanitizer does not work under strace.
  ASSERT_TRUE(stage.start(
      {}, {},
      {"/usr/bin/strace", "-E", "ASAN_OPTIONS=detect_leaks=0", "-f", "-y", "-s", "100000", "-o",
       trace, "-e", "trace=write,pwrite64,writev,fdatasync,fsync,sendto,sendmsg", "setpriv",
       "--pdeathsig", "KILL"}))
      << stage.log();
  ASSERT_TRUE(stage.put_destination());
  constexpr std::uint64_t kMessages = 20;
  for (std::uint64_t serial = 1; serial <= kMessages; ++serial)
    ASSERT_EQ(status_of(stage.submit(serial)), 202);
  std::vector<std::string> lines = lines_of(trace);
  // strace tells its own child first: that is the daemon.
  ASSERT_FALSE(lines.empty());
  ASSERT_EQ(::kill(static_cast<pid_t>(std::stol(lines.front())), SIGTERM), 0);
  ASSERT_EQ(stage.daemon().wait_end(kEndMax), 0) << stage.log();
  lines = lines_of(trace);

  std::size_t at = 0;
  for (std::uint64_t serial = 1; serial <= kMessages; ++serial) {
    const std::size_t written = find_line(lines, at, {"write", ".log>", body_of(serial, false)});
    ASSERT_LT(written, lines.size()) << "message " << serial << " is not written to the log";
    // The sync of the same file by the same thread, begun after the write, and its good end.
    const std::string thread = lines[written].substr(0, lines[written].find(' ') + 1);
    std::size_t synced = find_line(lines, written + 1, {thread, "fdatasync(", ".log>"});
    if (synced < lines.size() && has(lines[synced], "<unfinished"))
      synced = find_line(lines, synced + 1, {thread, "fdatasync resumed"});
    ASSERT_LT(synced, lines.size());
    EXPECT_TRUE(has(lines[synced], "= 0")) << lines[synced];
    const std::size_t answered = find_line(lines, at, {"send", "HTTP/1.1 202"});
    ASSERT_LT(answered, lines.size());
    EXPECT_GT(answered, synced) << "message " << serial << " is answered before it is synced";
    at = answered + 1;
  }
}

}  // namespace
}  // namespace postrider::crash
