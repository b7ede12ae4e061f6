// DrillApplication: what a peer of the drill does with what it takes. It holds relayed messages and
// tasks, is asked about them, and tells later what became of them.
#pragma once

#include <memory>

#include "postrider/base/rng.h"
#include "postrider/sim/world/peer.h"

namespace postrider::sim {

std::unique_ptr<Application> make_drill_application(Rng rng);

}  // namespace postrider::sim
