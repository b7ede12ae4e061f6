// postrider lxmf: identities from the command line.
#pragma once

#include "postrider/cli/commands.h"

namespace postrider::lxmf_door {

int run_lxmf(Arguments arguments);

}  // namespace postrider::lxmf_door
