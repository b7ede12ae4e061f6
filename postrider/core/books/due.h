// Due: entries of the store's due space, and the timers of the part that is near. Entries beyond
// the horizon stay on disk; pages of them come into the wheel in time.
//
// Invariants
//   - Every due entry before `loaded_until` has a timer, or has fired.
//   - A timer without an entry is harmless: whatever it wakes looks at the record and goes to
//     sleep again.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "postrider/base/time.h"
#include "postrider/core/engine.h"
#include "postrider/core/rules/timers.h"
#include "postrider/core/step.h"
#include "postrider/model/records/keys.h"
#include "postrider/model/seams/store.h"

namespace postrider::core {

class Due {
 public:
  Due(const EngineLimits& limits, Timers& timers) : limits_(limits), timers_(timers) {}
  Due(const Due&) = delete;
  Due& operator=(const Due&) = delete;

  TimerHandle put_due(Step& step, Timestamp at, keys::DueKind kind, MessageId id,
                      std::string_view value = {});
  // A page of due entries. Returns the timers of expiries, which their messages cancel when they
  // end.
  std::vector<std::pair<MessageId, TimerHandle>> load_due(Step& step);
  Timestamp loaded_until() const { return loaded_until_; }

 private:
  const EngineLimits& limits_;
  Timers& timers_;
  Timestamp loaded_until_;  // due entries before it are in the wheel
  std::string cursor_ = keys::space(keys::kDue);
  std::optional<Scan> scan_;  // the page on its way …
  Timestamp scan_until_;      // … and how far it goes
};

}  // namespace postrider::core
