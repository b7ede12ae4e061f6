// When what is in the journal goes into the map. Pure.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>

namespace postrider::journaled {

using SteadyTime = std::chrono::steady_clock::time_point;

struct SpillRule {
  // Enough for a run that is worth a file, and few enough that one can be written while the next
  // fills.
  static constexpr std::uint32_t kSealedMax = 4;
  // Segments that are left for ends when nothing new is accepted any more.
  static constexpr std::uint32_t kSegmentsForEnds = 4;

  std::chrono::milliseconds after{30'000};
  std::chrono::milliseconds idle{5'000};
};

struct JournalState {
  std::uint32_t sealed = 0;             // segments that are not written to any more
  std::optional<SteadyTime> oldest;     // of what is in no run yet; none: nothing is there
  SteadyTime newest;
};

// When to spill: now, or a time in the future; none: not before something is written.
inline std::optional<SteadyTime> spill_at(const JournalState& state, const SpillRule& rule,
                                          SteadyTime now) {
  if (!state.oldest) return std::nullopt;
  if (state.sealed >= SpillRule::kSealedMax) return now;
  return std::max(now, std::min(*state.oldest + rule.after, state.newest + rule.idle));
}

// Whether new messages are accepted.
inline bool takes_new(std::uint32_t in_use, std::uint32_t segments_max) {
  return segments_max <= SpillRule::kSegmentsForEnds ||
         in_use <= segments_max - SpillRule::kSegmentsForEnds;
}

}  // namespace postrider::journaled
