// Idle: destinations that messages made like a template go when nothing came to them and nothing of
// them ended for the `idle_life` of the template.
//
// Each template with an idle life has a walk over the entries of what is like it, an eighth of the
// life apart. An entry says when its destination was used last, at most an eighth of the life too
// early, so the walk reads nothing else of a destination that was used lately.
//
// Invariants
//   - A destination goes when it is empty, and not before its idle life is over.
//   - What an operator said of a destination outlives the idle life: with settings of its own,
//   paused
//     or disabled it stays. So does one with dead letters, and a mailbox at which a reader waits.
//   - Uses are known from when the template got this idle life on, over restarts too; the template
//     says when that was, and what was used before counts from then.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "postrider/core/books/receipts.h"
#include "postrider/core/books/waiters.h"
#include "postrider/core/desk/settings.h"
#include "postrider/core/engine.h"
#include "postrider/core/rules/timers.h"
#include "postrider/core/step.h"
#include "postrider/core/window/destinations.h"
#include "postrider/core/window/residents.h"
#include "postrider/core/window/templates.h"

namespace postrider::core {

class Idle {
 public:
  Idle(const EngineLimits& limits, Receipts& receipts, Timers& timers, const Waiters& waiters,
       Residents& residents, const Templates& templates, Destinations& destinations,
       Settings& settings)
      : limits_(limits),
        receipts_(receipts),
        timers_(timers),
        waiters_(waiters),
        residents_(residents),
        templates_(templates),
        destinations_(destinations),
        settings_(settings) {}
  Idle(const Idle&) = delete;
  Idle& operator=(const Idle&) = delete;

  // The templates were read, or changed, or the time of a walk has come.
  void look(Step& step);
  void walk(Step& step, const Chore& chore);
  void remove_idle(Step& step, const Chore& chore);

 private:
  struct Walk {
    Timestamp next;
    bool runs = false;
  };
  void arm();
  // Whether it was last used so long ago. `mark`: what the entry says; unset: nothing.
  bool is_over(Timestamp now, const Templates::Template& wide, const Resident* resident,
               Timestamp mark) const;
  bool may_go(Timestamp now, const Resident& resident) const;
  void end_walk(Timestamp now, const std::string& name);

  const EngineLimits& limits_;
  Receipts& receipts_;
  Timers& timers_;
  const Waiters& waiters_;
  Residents& residents_;
  const Templates& templates_;
  Destinations& destinations_;
  Settings& settings_;
  std::map<std::string, Walk, std::less<>> walks_;  // by template
  TimerHandle timer_ = 0;
};

}  // namespace postrider::core
