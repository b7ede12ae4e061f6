// postrider matrix: the servers of a homeserver's federation from the command line.
#pragma once

#include "postrider/cli/commands.h"

namespace postrider::matrix_door {

int run_matrix(Arguments arguments);

}  // namespace postrider::matrix_door
