// The field of Matrix servers: transactions for receivers that verify, remember and count.
#pragma once

#include "postrider/sim/world/field.h"

namespace postrider::sim {

const Field& matrix_field();

}  // namespace postrider::sim
