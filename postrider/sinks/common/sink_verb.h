// SinkVerb: a far side as a verb of `postrider sink`. Each folder of sinks/ has a table of its own,
// sinks/all.cc brings the tables together, and the program names no far side.
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "postrider/cli/options.h"
#include "postrider/sinks/common/far_side.h"

namespace postrider {

using SinkVerb = Command (*)();
using SinkVerbs = std::span<const SinkVerb>;

// Announces the chosen ports as one line of JSON, `port` and "control", runs until a signal and
// prints the summary; or complains about what could not be opened. Returns the exit code.
int run_far_side(const Parsed& parsed, std::string_view port,
                 const Result<std::unique_ptr<FarSide>>& opened);

}  // namespace postrider
