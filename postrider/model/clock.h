// Clock: the seam to time. `boot` never stops and never jumps; `wall` may do both. core/timekeeper
// makes engine time of them.
#pragma once

#include "postrider/base/time.h"

namespace postrider {

struct Instant {
  Timestamp boot;
  Timestamp wall;
};

class Clock {
 public:
  virtual ~Clock() = default;
  virtual Instant read() const = 0;
};

}  // namespace postrider
