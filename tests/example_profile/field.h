// The field of the pager profile: simulated worlds in which pages go to pager centres.
#pragma once

#include "postrider/sim/world/field.h"

namespace postrider::sim {

const Field& pager_field();

}  // namespace postrider::sim
