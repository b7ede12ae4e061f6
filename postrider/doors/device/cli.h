// postrider device …: commands for devices, from the command line.
#pragma once

#include "postrider/cli/commands.h"

namespace postrider::device_door {

int run_device(Arguments arguments);

}  // namespace postrider::device_door
