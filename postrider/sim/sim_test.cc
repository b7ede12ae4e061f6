// The simulator as a whole: worlds are the same for the same seed, every fault strikes, every row
// is used, and the seeds that once found a bug pass. Trace hashes of thirty seeds are written down;
// with POSTRIDER_REWRITE=1 they are written anew, which is right when the engine decides otherwise
// than before, and wrong when it only should not.
#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "postrider/base/hash.h"
#include "postrider/sim/fields/all.h"
#include "postrider/sim/runner.h"

namespace postrider::sim {
namespace {

const std::string kSource = POSTRIDER_SOURCE_DIR;

SimOptions world_of(const Field& field, const Trials::Size& size, std::uint64_t seed) {
  SimOptions options;
  options.profile = field.profile().name;
  options.seed = seed;
  options.span = size.span;
  options.destinations = size.destinations;
  options.messages = size.messages;
  options.faults.set();
  return options;
}

// The same for all fields, whatever their own trials are.
SimOptions small(const Field& field, std::uint64_t seed) {
  return world_of(field, {10 * 24h, 8, 300}, seed);
}

void expect_well(const Report& report, const SimOptions& options) {
  for (const std::string& violation : report.violations) {
    ADD_FAILURE() << violation << "\nto see it again: " << reproduction(options, options.seed);
  }
}

TEST(Simulation, HasTheTraceHashesThatAreWrittenDown) {  // req: engine.sim.1
  const std::string path = kSource + "/tests/seeds/hashes.txt";
  std::string now =
      "# profile, seed, trace hash of 10 days, 8 destinations, 300 messages, all faults; the same "
      "in every build.\n";
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    for (const Field* field : all_fields().list()) {
      const SimOptions options = small(*field, seed);
      const Report report = simulate(options);
      expect_well(report, options);
      char line[64];
      std::snprintf(line, sizeof line, "%s %llu %016llx\n", options.profile.c_str(),
                    static_cast<unsigned long long>(seed),
                    static_cast<unsigned long long>(report.trace_hash));
      now += line;
    }
  }
  if (std::getenv("POSTRIDER_REWRITE") != nullptr) std::ofstream(path) << now;
  std::ifstream file(path);
  std::stringstream written;
  written << file.rdbuf();
  EXPECT_EQ(written.str(), now) << "if the engine is meant to decide otherwise: "
                                   "POSTRIDER_REWRITE=1 and look at the difference";
}

class WorldsOf : public ::testing::TestWithParam<const Field*> {
 protected:
  const Field& field() const { return *GetParam(); }
};

TEST_P(WorldsOf, AreTheSameForTheSameSeed) {  // req: engine.sim.1, engine.sim.10
  const Trials::Size size = field().trials().fresh;
  const Report once = simulate(world_of(field(), size, 11));
  const Report again = simulate(world_of(field(), size, 11));
  EXPECT_EQ(once.trace_hash, again.trace_hash);
  EXPECT_EQ(once.events, again.events);
  EXPECT_NE(once.trace_hash, simulate(world_of(field(), size, 12)).trace_hash);
}

// A row that says the same as that of another method is used when that is, if the field says so.
bool is_used_elsewhere(const Field& field, const Summary& summary, const RowUse& missed) {
  return std::any_of(summary.rows.begin(), summary.rows.end(), [&](const RowUse& row) {
    return row.times > 0 && row.row == missed.row && field.rows_alike(row.method, missed.method);
  });
}

// What no world reaches, and why, is said by the field; nothing else may be missed.
// req: engine.sim.17, engine.sim.18, engine.sim.19, engine.sim.22, engine.sim.23, engine.sim.24
TEST_P(WorldsOf, HaveEveryFaultAndUseEveryRow) {
  const Trials trials = field().trials();
  SimOptions options = world_of(field(), trials.standard, 1);
  Summary summary;
  for (; options.seed <= trials.standard_seeds; ++options.seed) {
    const Report report = simulate(options);
    expect_well(report, options);
    add(summary, report);
  }
  for (const RowUse& row : summary.rows) {
    if (row.times > 0 || is_used_elsewhere(field(), summary, row)) continue;
    EXPECT_NE(row.unreachable, "") << "never used: " << row.method << " " << row.row;
  }
  if (!is_standard(options, trials.standard_seeds)) return;  // too short for rare faults
  for (const Fault fault : summary.never_struck(options.faults))
    ADD_FAILURE() << name_of(fault) << " never struck";
  EXPECT_GT(summary.comparisons, 1000U) << "restored copies are compared";
}

// Every commit looks at a new corner: the seeds follow from its name.
std::uint64_t seed_of_commit() {
  std::ifstream head(kSource + "/.git/HEAD");
  std::string word;
  std::string name;
  head >> word >> name;
  if (word != "ref:") return hash64(word) % 1'000'000'000;
  std::ifstream ref(kSource + "/.git/" + name);
  std::string commit;
  ref >> commit;
  return hash64(commit) % 1'000'000'000;
}

// req: engine.sim.19, device.adm.6, device.adm.10, device.adm.11, device.ev.1, device.poll.5
// req: device.crash.2 by scenario A20
TEST_P(WorldsOf, PassSeedsOfThisCommit) {
  const std::uint64_t first = seed_of_commit();
  const Trials trials = field().trials();
  if (trials.fresh_seeds == 0) GTEST_SKIP() << "its fresh worlds have open findings";
  for (std::uint64_t i = 0; i < trials.fresh_seeds; ++i) {
    const SimOptions options = world_of(field(), trials.fresh, first + i);
    expect_well(simulate(options), options);
  }
}

// Nothing is lost on the way, so no fate stays open, and everything ends.
TEST_P(WorldsOf, HaveNoFaultsWithoutFaults) {
  SimOptions options = world_of(field(), field().trials().fresh, 2);
  options.faults.reset();
  const Report report = simulate(options);
  expect_well(report, options);
  EXPECT_EQ(report.restarts, 1U);
  for (const std::uint64_t struck : report.faults) EXPECT_EQ(struck, 0U);
  EXPECT_EQ(report.counters.indeterminate, 0U);
  EXPECT_EQ(report.counters.live(), 0U);
  EXPECT_GT(report.counters.delivered, options.messages / 2);
}

INSTANTIATE_TEST_SUITE_P(Fields, WorldsOf,
                         ::testing::ValuesIn(all_fields().list().begin(),
                                             all_fields().list().end()),
                         [](const ::testing::TestParamInfo<const Field*>& field) {
                           return std::string(field.param->profile().name);
                         });

TEST(Seeds, ThatFoundABugPass) {  // req: engine.sim.25, engine.gate.22
  std::ifstream file(kSource + "/tests/seeds/found.txt");
  int count = 0;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    std::istringstream words(line);
    SimOptions options;
    std::int64_t days = 0;
    std::string faults;
    words >> options.profile >> options.seed >> days >> options.destinations >> options.messages >>
        faults;
    ASSERT_TRUE(words) << line;
    options.span = Duration(24h) * days;
    const auto set = parse_faults(faults);
    ASSERT_TRUE(set.has_value()) << line;
    options.faults = *set;
    ASSERT_NE(all_fields().find(options.profile), nullptr) << line;
    SCOPED_TRACE(line);
    expect_well(simulate(options), options);
    ++count;
  }
  EXPECT_GT(count, 5);
}

Report staged(WorldKind world, std::uint32_t messages = 0) {
  SimOptions options;
  options.world = world;
  options.messages = messages;
  const Report report = simulate(options);
  expect_well(report, options);
  EXPECT_EQ(report.counters.live(), 0U);
  EXPECT_EQ(report.figures.size(), 1U);
  for (const Figure& figure : report.figures) {
    std::printf("%s: %llu at most, %llu allowed\n", figure.what.c_str(),
                static_cast<unsigned long long>(figure.worst),
                static_cast<unsigned long long>(figure.most));
    EXPECT_LE(figure.worst, figure.most) << figure.what;
  }
  return report;
}

TEST(StagedWorld,
     WhoAnswersWaitsForNobodyThoughNearlyAllHang) {  // req: engine.fair.4, engine.sim.62
  const Report report = staged(WorldKind::kHang);
  ASSERT_EQ(report.figures.size(), 1U);
  EXPECT_EQ(report.figures[0].most, 0U);
  EXPECT_GT(report.figures[0].looked, 500U);
  EXPECT_GT(report.attempts, report.messages + 1000) << "the others hang";
}

// A million with POSTRIDER_FLOOD=1000000, which takes minutes.
TEST(StagedWorld, AFloodLetsTheMessageOfAnotherTenantPass) {  // req: engine.fair.5
  const char* size = std::getenv("POSTRIDER_FLOOD");
  const auto messages =
      size == nullptr ? 0U : static_cast<std::uint32_t>(std::strtoul(size, nullptr, 10));
  const Report report = staged(WorldKind::kFlood, messages);
  ASSERT_EQ(report.figures.size(), 1U);
  EXPECT_GT(report.figures[0].worst, 0U) << "somebody must have waited";
  EXPECT_GT(report.figures[0].looked, 100U);
  EXPECT_GT(report.messages, messages);
}

TEST(StagedWorld, AStormStaysWithinTheSlowStart) {  // req: engine.fair.6
  const Report report = staged(WorldKind::kStorm);
  ASSERT_EQ(report.figures.size(), 1U);
  EXPECT_EQ(report.messages, 10'000U);
  EXPECT_GT(report.figures[0].worst, 10U) << "it is more than the far side takes";
}

// What messages make like a template goes, comes again, and goes again.
TEST(IdleWorlds, Pass) {  // req: engine.sim.82, engine.template.9, engine.template.11
  for (const char* profile : {"drill", "mailbox"}) {
    for (std::uint64_t seed = 1; seed <= 12; ++seed) {
      SimOptions options = world_of(*all_fields().find(profile), {3 * 24h, 5, 150}, seed);
      options.idle = true;
      expect_well(simulate(options), options);
    }
  }
}

std::string_view why_no_world(const RowUse& row) {
  if (row.row.find(") ignore") != std::string::npos) return "no peer tells of a batch unasked";
  return {};
}

// Webhooks in batches. req: webhook.batch.14
TEST(BatchWorlds, PassAndUseEveryRow) {
  const Field& field = *all_fields().find("webhook");
  Summary summary;
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    SimOptions options = world_of(field, {5 * 24h, 6, 300}, seed);
    options.batches = true;
    const Report report = simulate(options);
    expect_well(report, options);
    add(summary, report);
  }
  for (const RowUse& row : summary.rows) {
    if (row.method != "batch" || row.times > 0 || !why_no_world(row).empty()) continue;
    ADD_FAILURE() << "never used: " << row.row;
  }
}

TEST(FaultList, NamesWhatItDoesNotKnow) {
  const auto some = parse_faults("bit-rot,clog");
  ASSERT_TRUE(some.has_value());
  EXPECT_EQ(some->count(), 2U);
  const auto bad = parse_faults("bit-rot,rain");
  ASSERT_FALSE(bad.has_value());
  EXPECT_NE(bad.error().detail.find("rain"), std::string::npos);
}

TEST(Reproduction, IsACommandThatDoesItAgain) {  // req: engine.sim.16
  SimOptions options = small(*all_fields().list().front(), 5);
  options.profile = "x";
  EXPECT_EQ(reproduction(options, 7),
            "postrider sim --profile x --seed 7 --days 10 --destinations 8 --messages 300 "
            "--faults all");
  options.faults = *parse_faults("clog");
  EXPECT_NE(reproduction(options, 7).find("--faults clog"), std::string::npos);
}

}  // namespace
}  // namespace postrider::sim
