// The process ends at each operation on the journal's files and at each load of the map, with and
// without the power: what comes up again is what was acknowledged, or that and the commit that was
// under way.
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "postrider/stores/conformance_model.h"
#include "postrider/stores/layered/contents_testing.h"
#include "postrider/stores/layered/layered_store.h"
#include "postrider/stores/memory_map.h"
#include "postrider/stores/segments/journal_testing.h"

namespace postrider::layered {
namespace {

using segments::ModelDisk;

// Whole or not at all, as the real one takes its files in. A load counts as an operation of the
// disk, and the process may end before it or behind it.
class MortalMap final : public Map {
 public:
  MortalMap(MemoryMap& map, ModelDisk& disk) : map_(map), disk_(disk) {}
  Result<void> load(const Run& run) override {
    ++disk_.operations;
    if (disk_.dead()) return fail(ErrorCode::kUnavailable, "killed");
    if (auto loaded = map_.load(run); !loaded) return loaded;
    ++disk_.operations;
    if (disk_.dead()) return fail(ErrorCode::kUnavailable, "killed");
    return {};
  }
  Result<GroupNumber> loaded() override { return map_.loaded(); }
  Result<Found> read(const Reads& reads) override { return map_.read(reads); }

 private:
  MemoryMap& map_;
  ModelDisk& disk_;
};

// Batches that are the same in each life, because each is drawn from its own seed and the contents
// before it.
struct Script {
  std::vector<WriteBatch> batches;
  std::vector<Contents> after;  // [n]: after n batches
};
Script make_script(std::uint64_t seed, int count) {
  Script out;
  BatchMaker maker(seed);
  out.after.emplace_back();
  for (int i = 0; i < count; ++i) {
    WriteBatch batch = maker.make(out.after.back());
    batch.put("size", std::string(maker.rng().below(6'000), 'x'));
    Contents model = out.after.back();
    apply_to(model, batch);
    out.batches.push_back(std::move(batch));
    out.after.push_back(std::move(model));
  }
  return out;
}

struct Ran {
  std::size_t acknowledged = 0;
  std::size_t begun = 0;
};

// One life: goes on in the script until the process ends.
Ran live(ModelDisk& disk, MemoryMap& memory, const Script& script, std::size_t from,
         std::uint64_t seed) {
  Ran ran{from, from};
  Rng rng(seed);
  auto journal = segments::open_on(disk);
  if (disk.dead() || !journal) return ran;
  MortalMap map(memory, disk);
  LayeredStore store(**journal, map);
  const auto epoch = store.acquire(0);
  if (disk.dead() || !epoch) return ran;
  while (ran.begun < script.batches.size()) {
    const WriteBatch& batch = script.batches[ran.begun];
    auto written = store.write(*epoch, batch);
    if (written.outcome == CommitOutcome::kFailed && store.is_full() && !disk.dead()) {
      (void)store.spill();
      if (disk.dead()) return ran;
      written = store.write(*epoch, batch);
    }
    ++ran.begun;
    if (disk.dead()) return ran;
    if (written.outcome != CommitOutcome::kDurable) {
      ADD_FAILURE() << written.reason;
      return ran;
    }
    ran.acknowledged = ran.begun;
    if (rng.below(6) == 0) (void)store.spill();
    if (disk.dead()) return ran;
  }
  return ran;
}

// How many batches of the script the store holds, if that is what was told or one more.
std::size_t recover_and_compare(ModelDisk& disk, MemoryMap& memory, const Script& script,
                                const Ran& ran, const std::string& when) {
  auto journal = segments::open_on(disk);
  EXPECT_TRUE(journal.has_value()) << when << ": " << (journal ? "" : journal.error().detail);
  if (!journal) return ran.acknowledged;
  LayeredStore store(**journal, memory);
  const auto begun = store.begin((*journal)->found());
  EXPECT_TRUE(begun.has_value()) << when << ": " << (begun ? "" : begun.error().detail);
  if (!begun) return ran.acknowledged;
  const Contents held = contents_of(store);
  if (held == script.after[ran.acknowledged]) return ran.acknowledged;
  EXPECT_EQ(held, script.after[ran.begun]) << when;
  return ran.begun;
}

class LayeredCrash : public ::testing::TestWithParam<bool> {};

TEST_P(LayeredCrash, AtEachOperationLosesNothingThatWasAcknowledged) {  // req: engine.journal.2
  const bool power = GetParam();
  std::uint64_t groups = 0;
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    const Script script = make_script(seed, 60);
    std::uint64_t operations = 0;
    {
      ModelDisk disk;
      MemoryMap memory;
      live(disk, memory, script, 0, seed);
      operations = disk.operations;
    }
    ASSERT_GT(operations, 200U);
    for (std::uint64_t at = 0; at < operations; ++at) {
      const std::string when = std::to_string(seed) + " at " + std::to_string(at);
      Rng rng(at);
      ModelDisk disk;
      MemoryMap memory;
      disk.dies_at = at;
      const Ran ran = live(disk, memory, script, 0, seed);
      if (power) disk.cut_power(rng);
      disk.revive();
      const std::size_t held = recover_and_compare(disk, memory, script, ran, when);
      // The next life ends as well, and the one after it comes to the end of the script.
      disk.dies_at = rng.below(40);
      const Ran second = live(disk, memory, script, held, at);
      if (power) disk.cut_power(rng);
      disk.revive();
      const std::size_t more = recover_and_compare(disk, memory, script, second, when + " again");
      const Ran third = live(disk, memory, script, more, at);
      ASSERT_EQ(third.acknowledged, script.batches.size()) << when;
      ASSERT_EQ(recover_and_compare(disk, memory, script, third, when), script.batches.size());
      groups += script.batches.size();
      if (::testing::Test::HasFailure()) return;
    }
  }
  EXPECT_GT(groups, 10'000U);
}
INSTANTIATE_TEST_SUITE_P(Both, LayeredCrash, ::testing::Bool(),
                         [](const auto& power) { return power.param ? "PowerCut" : "Kill"; });

}  // namespace
}  // namespace postrider::layered
