// Timekeeper: makes engine time, by which everything is decided, of a clock that never jumps and a
// wall clock that may. Engine time starts at max(stored floor, wall + stored bias) and then follows
// the boot-time clock. Errors below 1 s are corrected by at most 500 ppm; a larger forward offset
// of the wall is adopted only after it has stood for 10 minutes; a backward one never, it is kept
// as a bias. So engine time never stops or decreases, and a wall clock that is set forward and back
// neither expires nor delays anything.
#pragma once

#include <optional>

#include "postrider/base/time.h"
#include "postrider/model/clock.h"

namespace postrider {

class Timekeeper {
 public:
  struct Step {  // the wall clock was set, by more than a minute: the operator should know
    Duration by;
  };

  Timekeeper(Instant start, Timestamp floor, Duration bias);

  // Engine time at `instant`. Calls must not go back in boot time.
  Timestamp now(Instant instant);

  Duration bias() const { return bias_; }  // engine time minus wall time, as far as it is accepted
  std::optional<Step> take_step();         // a step seen since the last call

 private:
  Duration error() const { return wall_ + bias_ - engine_; }
  void correct(Duration elapsed);
  void watch_forward();

  Timestamp engine_;
  Timestamp boot_;  // of the last call
  Timestamp wall_;  // of the last call
  Duration bias_{0};
  std::int64_t allowance_ =
      0;  // what the rate of correction has allowed and not used, in millionths of a millisecond
  Duration standing_{0};  // the smallest forward offset since `standing_since_`; 0: there is none
  Timestamp standing_since_;  // in boot time
  std::optional<Step> step_;
};

}  // namespace postrider
