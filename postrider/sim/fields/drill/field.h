// The field of the drill: peers that relay, hold and tell, and everything that the engine can do.
#pragma once

#include "postrider/sim/world/field.h"

namespace postrider::sim {

const Field& drill_field();

}  // namespace postrider::sim
