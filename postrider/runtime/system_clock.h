// SystemClock: the machine's two clocks. `boot` counts while the machine sleeps, too.
#pragma once

#include "postrider/model/clock.h"

namespace postrider {

class SystemClock final : public Clock {
 public:
  Instant read() const override;
};

}  // namespace postrider
