// The sink that stands for another Matrix server, as a verb of `postrider sink`.
#pragma once

#include <string_view>

#include "apps/postrider/commands.h"

namespace postrider {

bool is_matrix_sink(std::string_view name);
int run_matrix_sink(Arguments arguments);  // the first one is its name

}  // namespace postrider
