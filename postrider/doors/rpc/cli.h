// postrider call, and postrider op ls | show | wait | cancel.
#pragma once

#include "postrider/cli/commands.h"

namespace postrider::rpc_door {

int run_call(Arguments arguments);
int run_op(Arguments arguments);

}  // namespace postrider::rpc_door
