// What the profiles have computed beside the loop (model/seams/work.h).
#pragma once

#include <span>

#include "postrider/model/seams/work.h"

namespace postrider {

std::span<const WorkKind> all_work();

}  // namespace postrider
