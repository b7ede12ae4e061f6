// The checkers of packs beside those of batches.
#pragma once

#include "postrider/sim/checkers/all.h"

namespace postrider::sim {

CheckerMaker make_latest_checker;  // 55: newer values take the place of older ones; riders

}  // namespace postrider::sim
