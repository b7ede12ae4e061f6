// The field of packs: destinations that take batches, peers that take so many members and no more.
#pragma once

#include "postrider/sim/world/field.h"

namespace postrider::sim {

const Field& pack_field();

}  // namespace postrider::sim
