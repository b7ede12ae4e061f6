// World: one simulation, from a seed to a report. Two phases: first everything goes wrong that can,
// and nothing may be lost, repeated or promised too early; then faults stop, and everything must
// end within a time that follows from the policies. The same seed gives the same world.
#pragma once

#include "postrider/sim/world/checkers.h"
#include "postrider/sim/world/field.h"
#include "postrider/sim/world/options.h"

namespace postrider::sim {

// What is not the world's own: the fields that it may meet, and the checkers of all worlds.
struct Equipment {
  const Fields& fields;
  CheckerLister* checkers;
};

Report simulate(const SimOptions& options, const Equipment& equipment);

}  // namespace postrider::sim
