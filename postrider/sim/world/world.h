// World: one simulation, from a seed to a report. Two phases: first everything goes wrong that can,
// and nothing may be lost, repeated or promised too early; then faults stop, and everything must
// end within a time that follows from the policies. The same seed gives the same world.
#pragma once

#include "postrider/sim/options.h"

namespace postrider::sim {

Report simulate(const SimOptions& options);

}  // namespace postrider::sim
