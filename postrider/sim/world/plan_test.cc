// What a seed may make of the options: limits that somebody could have set, down to the smallest.
#include "postrider/sim/world/plan.h"

#include <algorithm>
#include <map>
#include <string>

#include <gtest/gtest.h>

#include "postrider/shard/limits.h"

namespace postrider::sim {
namespace {

// req: engine.limit.3
TEST(SimPlan, DrawsOnlyLimitsThatCanBeConfigured) {
  for (const std::uint32_t messages : {150U, 6000U}) {
    SimOptions options;
    options.messages = messages;
    for (std::uint64_t seed = 0; seed < 3000; ++seed) {
      Rng rng(seed);
      const auto legal = check_limits(draw_shard_options(options, true, rng));
      ASSERT_TRUE(legal) << legal.error().detail;
    }
  }
}

// A range whose low end no world ever has promises more than was tried.
// req: engine.limit.2
TEST(SimPlan, DrawsTheSmallestOfWhatBoundsMemoryAndWork) {
  std::map<std::string, std::int64_t, std::less<>> least;
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    Rng rng(seed);
    const ShardOptions drawn = draw_shard_options(SimOptions{}, true, rng);
    for (const LimitRow& row : limits::kRows) {
      const std::int64_t value = value_of(row, drawn);
      const auto [known, is_new] = least.try_emplace(std::string(row.name), value);
      if (!is_new) known->second = std::min(known->second, value);
    }
  }
  for (const std::string_view name :
       {"attempts_kept_max",   "open_attempts_max", "window_bytes_max", "hot_sleepers_max",
        "hot_sleep_max",       "residents_max",     "due_rows_max",     "restore_rows_max",
        "timers_per_step_max", "answer_rows_max",   "lane_waiters_max", "recent_names_max",
        "dead_groups_max",     "jobs_running_max",  "jobs_kept_max",    "job_rows_max",
        "census_pages_max",    "census_counts_max", "body_rows_max",    "event_queue_max",
        "parked_max",          "turn_events_max",   "turn_bytes_max",   "recent_cards_max"}) {
    const auto row = std::find_if(limits::kRows.begin(), limits::kRows.end(),
                                  [&](const LimitRow& one) { return one.name == name; });
    ASSERT_NE(row, limits::kRows.end()) << name;
    EXPECT_EQ(least.find(name)->second, row->range.low) << name;
  }
}

}  // namespace
}  // namespace postrider::sim
