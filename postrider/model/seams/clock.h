// Clock: the seam to time. `boot` never stops and never jumps; `wall` may do both. core/timekeeper
// makes engine time of them.
#pragma once

#include "postrider/base/time.h"

namespace postrider {

struct Instant {
  Timestamp boot;
  Timestamp wall;
  // Whether the kernel calls its wall clock synchronised. Looked at when a process starts, and
  // while it doubts the wall.
  bool synchronised = true;
};

class Clock {
 public:
  virtual ~Clock() = default;
  virtual Instant read() const = 0;  // without `synchronised`, which costs a call of the system
  virtual bool synchronised() const { return true; }
};

}  // namespace postrider
