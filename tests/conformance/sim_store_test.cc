// The simulator's store is held to the same contract as every other. It lives here because sim may
// not include stores.
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "postrider/sim/world/store.h"
#include "postrider/stores/conformance.h"
#include "postrider/stores/conformance_once.h"
#include "postrider/stores/memory.h"

namespace postrider {
namespace {

struct SimHarness {
  sim::Agenda agenda{Timestamp(1'000'000)};
  sim::SimDisk disk;
  sim::StoreSurroundings around{.agenda = agenda, .disk = disk, .after_operation = {}};
  sim::SimStore handle{around};

  Store& store() { return handle; }
  void settle() {
    while (!agenda.empty()) agenda.run_next();
  }
};
INSTANTIATE_TYPED_TEST_SUITE_P(Simulated, StoreConformance, SimHarness);
INSTANTIATE_TYPED_TEST_SUITE_P(Simulated, StoreOnceRules, SimHarness);

// Random batches with crashes. A memory store gets exactly the batches that must be durable, and
// those that the crash kept; both must hold the same after each crash and at the end.
class CrashingPair {
 public:
  explicit CrashingPair(std::uint64_t seed)
      : maker_(seed), drawn_faults_(slow_stores(), Rng(seed + 1)) {
    around_.faults = &drawn_faults_;
    around_.rng = Rng(seed + 2);
    restart();
  }

  void run(int operations) {
    for (int i = 0; i < operations; ++i) {
      const std::uint64_t choice = maker_.rng().below(10);
      if (choice < 5 && pending_.size() < 3) {
        commit();
      } else if (choice < 9) {
        if (!agenda_.empty()) agenda_.run_next();
      } else {
        crash();
      }
      if (::testing::Test::HasFatalFailure()) return;
    }
    while (!agenda_.empty()) agenda_.run_next();
    EXPECT_EQ(disk_.contents(), memory_.contents());
    EXPECT_GT(crashes_, 0);
    EXPECT_GT(lost_, 0);
    EXPECT_GT(kept_, 0);
  }

 private:
  static sim::Faults::Options slow_stores() {
    sim::Faults::Options options;
    options.enabled.set(static_cast<std::size_t>(sim::Fault::kSlowCommit));
    options.start = Timestamp(1'000'000);
    options.span = 24h;
    return options;
  }

  void restart() {
    handle_ = std::make_unique<sim::SimStore>(around_);
    epoch_ = *handle_->acquire(0);
    memory_epoch_ = *memory_.acquire(0);
    next_ = disk_.contents();
  }

  void commit() {
    auto batch = std::make_shared<const WriteBatch>(maker_.make(next_));
    apply_to(next_, *batch);
    pending_.push_back(batch);
    handle_->commit(epoch_, batch, [this](CommitOutcome outcome) {
      EXPECT_EQ(outcome, CommitOutcome::kDurable);
      make_durable();
    });
  }

  // The oldest pending batch counts as written from now on.
  void make_durable() {
    memory_.commit(memory_epoch_, pending_.front(),
                   [](CommitOutcome outcome) { EXPECT_EQ(outcome, CommitOutcome::kDurable); });
    pending_.pop_front();
  }

  void crash() {
    ++crashes_;
    const std::size_t undurable = handle_->undurable();
    const std::size_t kept = maker_.rng().below(undurable + 1);
    handle_->crash(kept);
    // What was durable and not told yet, and what the crash kept, is there; the rest never was.
    const std::size_t survive = pending_.size() - undurable + kept;
    lost_ += static_cast<int>(undurable - kept);
    kept_ += static_cast<int>(kept);
    for (std::size_t i = 0; i < survive; ++i) make_durable();
    pending_.clear();
    ASSERT_EQ(disk_.contents(), memory_.contents()) << "after crash " << crashes_;
    restart();
  }

  sim::Agenda agenda_{Timestamp(1'000'000)};
  sim::SimDisk disk_;
  BatchMaker maker_;
  sim::Faults drawn_faults_;
  sim::StoreSurroundings around_{.agenda = agenda_, .disk = disk_, .after_operation = {}};
  std::unique_ptr<sim::SimStore> handle_;
  MemoryStore memory_{{.remember_once = true}};
  Epoch epoch_;
  Epoch memory_epoch_;
  Contents next_;  // what the next batch will meet
  std::deque<std::shared_ptr<const WriteBatch>> pending_;
  int crashes_ = 0;
  int lost_ = 0;
  int kept_ = 0;
};

TEST(SimStoreCrashes,
     RandomOperationsEndEqualOnBothStores) {  // req: engine.store.1, engine.store.12
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    CrashingPair(seed * 1000).run(1000);
    if (HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace postrider
