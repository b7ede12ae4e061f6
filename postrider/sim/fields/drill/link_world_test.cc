// Worlds of several machines: the drill of stations.
#include "postrider/sim/fields/drill/link_world.h"

#include <cstdlib>
#include <string>
#include <string_view>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace postrider::sim {
namespace {

std::string all_of(const LinkReport& report) {
  std::string out;
  for (const std::string& violation : report.violations) out += violation + "\n";
  return out;
}

// req: station.sim.1, station.sim.2, station.sim.3, station.sim.4, station.sim.5, station.sim.7
// req: station.sim.8
TEST(LinkWorlds, EverythingArrivesOnceWhateverGoesWrong) {
  constexpr std::uint64_t kSeeds = 60;
  Wires::Counts wires;
  Site::Counts sites;
  std::uint64_t repeated = 0;
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    LinkOptions options;
    options.seed = seed;
    options.machines = seed % 4 == 0 ? 3 : 2;
    const LinkReport report = simulate_links(options);
    ASSERT_TRUE(report.violations.empty()) << "seed " << seed << "\n" << all_of(report);
    // Sent, and handed to the application.
    EXPECT_EQ(report.delivered, 2U * options.messages);
    repeated += report.repeated;
    wires.refused += report.wires.refused;
    wires.resets += report.wires.resets;
    wires.dead += report.wires.dead;
    wires.clogs += report.wires.clogs;
    wires.lost += report.wires.lost;
    wires.doubled += report.wires.doubled;
    wires.half_open += report.wires.half_open;
    for (const Site::Counts& site : report.sites) {
      sites.processes += site.processes - 1;
      sites.epochs += site.epochs - site.processes;
      sites.aborts += site.aborts;
      sites.refused += site.refused;
    }
  }
  // Every kind of trouble was there.
  EXPECT_GT(wires.refused, 0U);
  EXPECT_GT(wires.resets, 0U);
  EXPECT_GT(wires.dead, 0U);
  EXPECT_GT(wires.clogs, 0U);
  EXPECT_GT(wires.lost, 0U);
  EXPECT_GT(wires.doubled, 0U);
  EXPECT_GT(wires.half_open, 0U);
  EXPECT_GT(sites.processes, 0U);
  EXPECT_GT(sites.epochs, 0U);
  EXPECT_GT(sites.refused, 0U);
  EXPECT_GT(repeated, 0U) << "a request that had arrived came again";
}

TEST(LinkWorlds, WithoutFaultsEachMessageIsSentOnce) {  // req: station.sim.1
  LinkOptions options;
  options.faults = false;
  const LinkReport report = simulate_links(options);
  ASSERT_TRUE(report.violations.empty()) << all_of(report);
  EXPECT_EQ(report.repeated, 0U);
  std::uint64_t starts = 0;
  for (const Site::Counts& site : report.sites) starts += site.starts;
  EXPECT_EQ(starts, options.messages) << "a mailbox starts nothing";
}

TEST(LinkWorlds, TheSameSeedIsTheSameWorld) {  // req: station.sim.1
  LinkOptions options;
  options.seed = 7;
  const std::uint64_t hash = simulate_links(options).trace_hash;
  EXPECT_EQ(simulate_links(options).trace_hash, hash);
  options.seed = 8;
  EXPECT_NE(simulate_links(options).trace_hash, hash);
}

// Of so many crash points one is tried; at night all of them.
std::uint64_t each_point() {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): no thread sets variables
  const char* const points = std::getenv("POSTRIDER_CRASH_POINTS");
  return points != nullptr && std::string_view(points) == "all" ? 1 : 50;
}

// Crash points of one world of two machines, by turns with the batch in commit kept.
TEST(LinkWorlds, NoCrashPointLosesOrDoublesAMessage) {  // req: station.sim.6
  LinkOptions options;
  options.seed = 3;
  options.messages = 40;
  options.span = 5min;
  options.faults = false;
  const LinkReport whole = simulate_links(options);
  ASSERT_TRUE(whole.violations.empty()) << all_of(whole);
  ASSERT_EQ(whole.points.size(), 2U);
  for (std::uint32_t machine = 0; machine < 2; ++machine) {
    EXPECT_GT(whole.points[machine], 200U);
    for (std::uint64_t point = 1 + machine; point <= whole.points[machine]; point += each_point()) {
      options.crash = {.machine = machine, .after = point, .keep = point / each_point() % 2 == 0};
      const LinkReport report = simulate_links(options);
      EXPECT_EQ(report.sites[machine].processes, 2U);
      ASSERT_TRUE(report.violations.empty()) << "machine " << machine << ", point " << point << "\n"
                                             << all_of(report);
    }
  }
}

struct LinkHunt {
  LinkBug bug;
  const char* name;
  const char* words;  // of the violation that names it
};
class PlantedLinkBug : public ::testing::TestWithParam<LinkHunt> {};

// req: station.bug.1, station.bug.2, station.bug.3, station.bug.4, station.bug.5, station.bug.6
// req: station.bug.7
TEST_P(PlantedLinkBug, IsCaught) {
  constexpr std::uint64_t kSeedsMax = 60;
  for (std::uint64_t seed = 1; seed <= kSeedsMax; ++seed) {
    LinkOptions options;
    options.seed = seed;
    options.bug = GetParam().bug;
    const LinkReport report = simulate_links(options);
    if (report.violations.empty()) continue;
    EXPECT_NE(all_of(report).find(GetParam().words), std::string::npos) << all_of(report);
    return;
  }
  ADD_FAILURE() << "not within " << kSeedsMax << " seeds";
}

INSTANTIATE_TEST_SUITE_P(
    LinkWorlds, PlantedLinkBug,
    ::testing::Values(
        LinkHunt{LinkBug::kProofBeforeCommit, "ProofBeforeCommit", "not durable there"},
        LinkHunt{LinkBug::kWakeUpLostWithEpoch, "WakeUpLostWithEpoch", "did not end as delivered"},
        LinkHunt{LinkBug::kTokenUsedTwice, "TokenUsedTwice", "was used again"},
        LinkHunt{LinkBug::kEntropyRepeated, "EntropyRepeated", "entropy a second time"},
        LinkHunt{LinkBug::kLineUsedAfterEnd, "LineUsedAfterEnd", "which is over or never was"},
        LinkHunt{LinkBug::kCardInAnotherCommit, "CardInAnotherCommit", "was given twice"},
        LinkHunt{LinkBug::kAwaitLostWithEpoch, "AwaitLostWithEpoch", "did not end as delivered"}),
    [](const ::testing::TestParamInfo<LinkHunt>& hunt) { return std::string(hunt.param.name); });

RC_GTEST_PROP(LinkFrames, AnyBytesAreTakenOrRefused, (const std::string& bytes)) {
  const LinkTaken taken = take_link_frame(bytes);
  if (taken.how == LinkTaken::How::kFrame) {
    RC_ASSERT(taken.bytes <= bytes.size());
    RC_ASSERT(encode_link_frame(taken.frame) == bytes.substr(0, taken.bytes));
  }
}

RC_GTEST_PROP(LinkFrames, AreReadAsTheyAreWritten, (const std::string& body)) {
  const LinkFrame frame{.kind = LinkKind::kProof,
                        .id = "0123456789abcdef0123456789abcdef",
                        .nonce = "nonce-nonce-nonce-nonce-nonce-32",
                        .body = body};
  const std::string bytes = encode_link_frame(frame);
  for (std::size_t cut = 0; cut < bytes.size(); ++cut)
    RC_ASSERT(take_link_frame(std::string_view(bytes).substr(0, cut)).how == LinkTaken::How::kMore);
  const LinkTaken taken = take_link_frame(bytes);
  RC_ASSERT(taken.how == LinkTaken::How::kFrame);
  RC_ASSERT(taken.frame.body == body);
}

}  // namespace
}  // namespace postrider::sim
