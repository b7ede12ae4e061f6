// Holds: rules that pause the destinations that they fit. A destination is looked at when a rule
// changes and when it comes into memory, so starts ask nothing new: what is held is paused, and
// says why.
//
// Invariants
//   - Before a step starts anything, every resident that came into memory or was configured in
//     it has been held against the rules.
//   - The reason of a paused route begins with the mark exactly when a hold paused it.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "postrider/core/delivery/routes.h"
#include "postrider/core/desk/operations.h"
#include "postrider/core/engine.h"
#include "postrider/core/step.h"
#include "postrider/core/window/destinations.h"
#include "postrider/core/window/residents.h"
#include "postrider/model/holds.h"

namespace postrider::core {

class Holds {
 public:
  Holds(const EngineLimits& limits, Residents& residents, Destinations& destinations,
        Routes& routes, Operations& operations, std::vector<Hold> holds)
      : limits_(limits),
        residents_(residents),
        destinations_(destinations),
        routes_(routes),
        operations_(operations),
        rules_() {
    for (Hold& hold : holds) rules_.emplace(hold.rule.name, hold);
  }
  Holds(const Holds&) = delete;
  Holds& operator=(const Holds&) = delete;

  static bool is_held(const Resident& resident);
  void look_at_holds(Step& step);
  void look_at_held(Step& step, const Chore& chore);
  void on(Step& step, const PutHold& put);
  void on(Step& step, const DropHold& drop);
  Answer list_holds() const;
  std::size_t size() const { return rules_.size(); }

 private:
  const HoldRule* hold_on(const Resident& resident) const;
  void apply_holds(Step& step, Slot slot);
  void apply_holds_to_all(Step& step);
  static void look_at_all_held(Step& step);

  const EngineLimits& limits_;
  Residents& residents_;
  Destinations& destinations_;
  Routes& routes_;
  Operations& operations_;
  std::map<std::string, Hold> rules_;
};

}  // namespace postrider::core
