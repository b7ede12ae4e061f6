// postrider demo device, a verb of `postrider demo`.
#pragma once

#include "apps/postrider/commands.h"

namespace postrider {

int run_device_demo(Arguments arguments);

}  // namespace postrider
