// Timekeeper: makes engine time, by which everything is decided, of a clock that never jumps and a
// wall clock that may. Engine time starts at max(stored floor, wall + stored bias) and then follows
// the boot-time clock. Errors below 1 s are corrected by at most 500 ppm; a larger forward offset
// of the wall is adopted only after it has stood for 10 minutes; a backward one never, it is kept
// as a bias. So engine time never stops or decreases, and a wall clock that is set forward and back
// neither expires nor delays anything.
//
// A start at which the wall is more than a day ahead of the floor is a long stop, or a wall clock
// that is wrong until it is set. When the kernel calls its clock synchronised the wall is
// believed at once. Otherwise it is in doubt: engine time goes on from the floor until the wall has
// stood for 10 minutes, or is called synchronised; a wall that goes back to a day or less is
// believed as it would have been at the start.
#pragma once

#include <optional>

#include "postrider/base/time.h"
#include "postrider/model/seams/clock.h"
#include "postrider/model/wall_books.h"

namespace postrider {

class Timekeeper {
 public:
  struct Step {  // the wall clock was set, by more than a minute: the operator should know
    Duration by;
  };

  Timekeeper(Instant start, Timestamp floor, WallBooks books);

  // Engine time at `instant`. Calls must not go back in boot time.
  Timestamp now(Instant instant);

  // Bias: engine time minus wall time, as far as it is accepted. Leaps: those that were believed.
  const WallBooks& books() const { return books_; }
  Duration bias() const { return books_.bias; }
  // How far the wall is ahead of engine time and not believed; 0: nothing is in doubt.
  Duration doubt() const { return books_.in_doubt() ? error() : Duration(0); }
  // When to look again, in boot time, if nothing else happens; unset: whenever.
  std::optional<Timestamp> next_look() const;

  std::optional<Step> take_step();        // a step seen since the last call
  std::optional<DoubtNews> take_doubt();  // the newest since the last call

  // The wall was behind the floor at the start, or not believed: time before it is lost.
  bool began_at_floor() const { return began_at_floor_; }

 private:
  bool began_at_floor_ = false;
  Duration error() const { return wall_ + books_.bias - engine_; }
  void correct(Duration elapsed);
  void watch_forward();
  void watch_doubt(bool synchronised);
  void end_doubt(Duration by, DoubtNews::Kind how);

  Timestamp engine_;
  Timestamp boot_;  // of the last call
  Timestamp wall_;  // of the last call
  WallBooks books_;
  std::int64_t allowance_ =
      0;  // what the rate of correction has allowed and not used, in millionths of a millisecond
  Duration standing_{0};  // the smallest forward offset since `standing_since_`; 0: there is none
  Timestamp standing_since_;  // in boot time
  std::optional<Step> step_;
  std::optional<DoubtNews> doubt_news_;
};

}  // namespace postrider
