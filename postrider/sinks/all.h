// Every far side that `postrider sink` can be, beside the plain receiver of webhooks. No registry
// and no static registration: the list in all.cc is the list.
#pragma once

#include <string>
#include <vector>

#include "postrider/cli/options.h"

namespace postrider {

const std::vector<Command>& sink_commands();
std::string sink_names(std::string_view between);  // "chirpstack calin"

}  // namespace postrider
