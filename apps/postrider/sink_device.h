// The sinks that stand for the far sides of the device profile, as verbs of `postrider sink`.
#pragma once

#include <string_view>

#include "apps/postrider/commands.h"

namespace postrider {

bool is_device_sink(std::string_view name);
int run_device_sink(Arguments arguments);  // the first one is its name

}  // namespace postrider
