// The sink that stands for another Matrix server, as a verb of `postrider sink`.
#pragma once

#include "postrider/sinks/common/sink_verb.h"

namespace postrider {

SinkVerbs matrix_sinks();

}  // namespace postrider
