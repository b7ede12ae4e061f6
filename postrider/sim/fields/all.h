// All fields of this tree. A new one changes one line of all.cc.
#pragma once

#include "postrider/sim/world/field.h"

namespace postrider::sim {

const Fields& all_fields();

}  // namespace postrider::sim
