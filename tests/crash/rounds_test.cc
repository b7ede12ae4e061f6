// The short form of `make crash`: a share of its rounds, and the proof that they notice what they
// must notice.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>

#include <gtest/gtest.h>

#include "tests/crash/conductor.h"

namespace postrider::crash {
namespace {

class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    path_ = testing::TempDir() + "postrider-crash-XXXXXX";
    if (::mkdtemp(path_.data()) == nullptr) std::abort();
  }
  ~TemporaryDirectory() {
    // What was found is kept for whoever has to find out why.
    std::error_code ignored;
    if (!testing::Test::HasFailure()) std::filesystem::remove_all(path_, ignored);
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

Findings run(RoundsOptions options, const std::string& broken = "files") {
  const TemporaryDirectory directory;
  options.directory = directory.path();
  options.arguments = {"serve", "--break", broken};
  options.sinks = POSTRIDER_BINARY;
  if (options.daemon.empty()) options.daemon = POSTRIDER_BINARY;
  Conductor conductor(options, [](const RoundsTotals&) {});
  return conductor.run();
}

std::string text_of(const Findings& findings) {
  std::string out;
  for (std::size_t i = 0; i < findings.size() && i < 20; ++i) out.append(findings[i]).append("\n");
  return out;
}

bool has(const Findings& findings, std::string_view kind) {
  for (const std::string& finding : findings) {
    if (finding.starts_with(kind)) return true;
  }
  return false;
}

std::uint64_t seed_of_commit() {
  const std::string git = std::string(POSTRIDER_SOURCE_DIR) + "/.git/";
  std::ifstream head(git + "HEAD");
  std::string word;
  std::string name;
  head >> word >> name;
  if (word != "ref:") return std::hash<std::string>()(word);
  std::ifstream ref(git + name);
  std::string commit;
  ref >> commit;
  return std::hash<std::string>()(commit);
}

// req: engine.kill.1, daemon.crash.1, daemon.crash.2, daemon.crash.3, daemon.crash.4
// req: daemon.crash.5, daemon.crash.6
TEST(CrashRounds, KillsAtRandomInstantsLoseAndChangeNothing) {
  const Findings findings = run(
      {.seed = 1, .rounds = 20, .rounds_per_campaign = 10, .accepted_max = 120, .seconds_max = 10});
  EXPECT_TRUE(findings.empty()) << text_of(findings);
}

TEST(CrashRounds, KillsAtInstantsOfThisCommitLoseAndChangeNothing) {
  const std::uint64_t seed = seed_of_commit();
  const Findings findings = run({.seed = seed,
                                 .rounds = 20,
                                 .rounds_per_campaign = 10,
                                 .accepted_max = 120,
                                 .seconds_max = 10});
  EXPECT_TRUE(findings.empty()) << "seed " << seed << "\n" << text_of(findings);
}

TEST(CrashRounds, StopsOnRequestExitWithZeroUnderLoadAndWhileRestoring) {  // req: daemon.stop.1
  const Findings findings =
      run({.seed = 3,
           .rounds = 10,
           .rounds_per_campaign = 10,
           .manners = {Manner::kStopLoad, Manner::kStopRestore, Manner::kKillLoad}});
  EXPECT_TRUE(findings.empty()) << text_of(findings);
}

TEST(CrashProof, ADaemonThatNeverSyncsIsNoticed) {  // req: daemon.crash.7
  EXPECT_TRUE(has(run({.seed = 1, .rounds = 20}, "sync"), "lost:"));
}

TEST(CrashProof, ADaemonThatAnswersBeforeItCommitsIsNoticed) {  // req: daemon.crash.8
  EXPECT_TRUE(has(run({.daemon = POSTRIDER_PLANTED_BINARY,
                       .environment = {"POSTRIDER_PLANT=reply-before-commit"},
                       .seed = 1,
                       .rounds = 100}),
                  "lost:"));
}

// Rounds of devices: each campaign ends by waiting for what the far sides still hold.
RoundsOptions of_devices(RoundsOptions options) {
  options.world = WorldKind::kDevice;
  options.clients = 2;
  options.accepted_max = 20;
  options.rounds_per_campaign = options.rounds;
  return options;
}

// req: device.crash.1, device.crash.2
TEST(DeviceCrashRounds, LoseNoCommandAndNoEventAndDoubleNoAct) {
  const std::uint64_t seed = seed_of_commit();
  const Findings findings = run(of_devices({.seed = seed, .rounds = 10}));
  EXPECT_TRUE(findings.empty()) << "seed " << seed << "\n" << text_of(findings);
}

TEST(DeviceCrashProof, ADaemonThatNeverSyncsIsNoticed) {
  EXPECT_TRUE(has(run(of_devices({.seed = 1, .rounds = 10}), "sync"), "lost:"));
}

}  // namespace
}  // namespace postrider::crash
