// Records and events in words, for the reader of a trace.
#pragma once

#include <string>

#include "postrider/model/event.h"
#include "postrider/model/seams/store.h"

namespace postrider::sim {

std::string describe(const Write& write);
std::string describe(const Event& event);

}  // namespace postrider::sim
