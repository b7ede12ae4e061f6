// The sinks that stand for the far sides of the device profile, as verbs of `postrider sink`.
#pragma once

#include "postrider/sinks/common/sink_verb.h"

namespace postrider {

SinkVerbs device_sinks();

}  // namespace postrider
