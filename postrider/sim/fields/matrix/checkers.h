// Laws of Matrix worlds, from what the receivers really saw.
#pragma once

#include <memory>

#include "postrider/sim/fields/matrix/far_sides.h"
#include "postrider/sim/world/checkers.h"

namespace postrider::sim {

// 60: what is delivered was applied, repeats of a transaction are the same bytes, nothing is
// unsigned or malformed, and events of a room are applied in their order.
std::unique_ptr<Checker> make_matrix_checker(const CheckerContext& context, Notebook& notebook,
                                             const MatrixFarSides& sides);

}  // namespace postrider::sim
