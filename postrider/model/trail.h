// Trail: what happened to a message, step by step, for methods that keep it. Bounded: two states
// that take turns (asked, waits, asked, …) are counted, and the oldest steps go first.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "postrider/base/result.h"
#include "postrider/base/time.h"
#include "postrider/model/lifecycle.h"

namespace postrider {

inline constexpr std::size_t kTrailStepsMax = 96;
inline constexpr std::size_t kStepReasonBytesMax = 200;

struct TrailStep {
  Timestamp at;  // the first time, when it is counted
  StateIndex state = 0;
  On on = On::kDue;  // what led there
  std::uint16_t times = 1;
  std::string reason = {};
  friend bool operator==(const TrailStep&, const TrailStep&) = default;
};
using Trail = std::vector<TrailStep>;

void add_step(Trail& trail, TrailStep step);

std::string encode_trail(const Trail& trail);
Result<Trail> decode_trail(std::string_view bytes);

}  // namespace postrider
