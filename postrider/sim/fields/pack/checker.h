// The checker of packs.
#pragma once

#include "postrider/sim/checkers/all.h"

namespace postrider::sim {

CheckerMaker make_batch_checker;  // 54: a batch is one thing, from its claim to its end

}  // namespace postrider::sim
