// LimitGroups: destinations that share one limit on open attempts, and which of them wait.
//
// Invariants
//   - `in_use` of a group is the number of entries that name it.
//   - A resident stands among the waiters of at most one group, and `at_group` says so.
#pragma once

#include <deque>
#include <unordered_map>

#include "postrider/base/time.h"
#include "postrider/core/rules/gates.h"
#include "postrider/core/rules/timers.h"
#include "postrider/core/step.h"
#include "postrider/core/window/residents.h"
#include "postrider/core/window/window.h"

namespace postrider::core {

class LimitGroups {
 public:
  struct LimitGroup {
    GateState state;
    GateLimits limits;
    std::deque<Slot> waiters;
    TimerHandle timer = 0;
  };
  LimitGroups(Timers& timers, Timestamp started, Residents& residents)
      : timers_(timers), started_(started), residents_(residents) {}
  LimitGroups(const LimitGroups&) = delete;
  LimitGroups& operator=(const LimitGroups&) = delete;

  bool enter_group(Step& step, Slot slot);
  void take_group(const Step& step, Entry& entry);
  void occupy_group(Entry& entry);
  void leave_group(Step& step, Entry& entry);

  // The next destination that may start something; none: its timer is armed, or nothing waits, and
  // a group that nothing uses is forgotten.
  Slot next_waiter(const Step& step, GateName name);
  void leave_waiters(Slot slot);  // it is forgotten

 private:
  LimitGroup& group_of(const Policy& policy);

  Timers& timers_;
  Timestamp started_;
  Residents& residents_;
  std::unordered_map<GateName, LimitGroup> groups_;
};

}  // namespace postrider::core
