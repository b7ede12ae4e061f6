// SystemClock: the machine's two clocks. `boot` counts while the machine sleeps, too.
#pragma once

#include "postrider/model/seams/clock.h"

namespace postrider {

class SystemClock final : public Clock {
 public:
  Instant read() const override;
  // What the kernel was told by whoever sets its clock (adjtimex). False where nobody does.
  bool synchronised() const override;
};

}  // namespace postrider
