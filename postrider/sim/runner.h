// Runner: many seeds, one summary, and the verdict on all of them together.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "postrider/sim/world/options.h"
#include "postrider/sim/world/world.h"

namespace postrider::sim {

// The fields and checkers of this tree.
Equipment equipment();
// A world of these.
Report simulate(const SimOptions& options);

struct Summary {
  std::uint64_t seeds = 0;
  std::uint64_t events = 0;
  std::uint64_t messages = 0;
  std::uint64_t attempts = 0;
  std::uint64_t restarts = 0;
  std::uint64_t comparisons = 0;  // with a restored copy
  std::uint64_t trace_hash = 0;   // of all worlds together
  Duration virtual_time{0};
  Counters counters;
  std::array<std::uint64_t, kFaults> faults{};
  std::vector<RowUse> rows;
  std::vector<DestinationReport> destinations;  // by name
  std::vector<Figure> figures;                  // of staged worlds, the worst
  struct Finding {
    std::uint64_t seed = 0;
    std::string what;
  };
  std::vector<Finding> violations;

  std::vector<Fault> never_struck(const FaultSet& enabled) const;
  struct Missed {
    std::string row;
    std::string reason;  // empty: no excuse
  };
  std::vector<Missed> rows_never_hit() const;
};

// Adds one world to the summary.
void add(Summary& summary, const Report& report);

// A run that is large enough for every fault to strike and every row to be used: then a miss is a
// failure.
bool is_standard(const SimOptions& options, std::uint64_t seeds);

// The command that does it again.
std::string reproduction(const SimOptions& options, std::uint64_t seed);

}  // namespace postrider::sim
