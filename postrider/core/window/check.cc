#include "postrider/core/window/check.h"

#include "postrider/base/check.h"

namespace postrider::core {
namespace {

// A queued entry waits for its turn, in its lane or at a gate, unless it was read for this event
// only.
std::string_view check_place(const Entry& entry, Phase phase) {
  const bool queued = phase == Phase::kQueued;
  switch (entry.waits) {
    case Waits::kNowhere: return queued ? "a queued entry waits nowhere" : "";
    case Waits::kInLane:
    case Waits::kAtGate:
    case Waits::kAtLastingGate:
    case Waits::kBehindOrder:
    case Waits::kClaimed: return queued ? "" : "an entry waits for its turn and is not queued";
    case Waits::kForProbe:
      return phase == Phase::kInFlight ? "" : "an entry waits for its probe and is not in flight";
    case Waits::kVisiting: return "a visitor outlived its step";
  }
  POSTRIDER_CHECK(false);
  return {};
}

}  // namespace

std::string_view check(const Entry& entry, const StateRow& state) {
  if (is_end(state.phase)) return "a message that has ended is in memory";
  if (state.phase == Phase::kParked) return "a parked message is in memory";
  const std::string_view place = check_place(entry, state.phase);
  if (!place.empty()) return place;
  const bool open = entry.attempt != kNoSlot;
  if (open && state.phase != Phase::kInFlight) return "an attempt is open outside of a flight";
  const bool probe_waits = entry.waits == Waits::kForProbe;
  if (state.phase == Phase::kInFlight && open == probe_waits)
    return "an entry in flight has either an open attempt or a probe to wait for";
  const bool under_way = state.phase == Phase::kInFlight || state.phase == Phase::kAwaiting;
  if (entry.holds_gates && !under_way) return "an entry holds gates and is not under way";
  if (entry.hot() && entry.marked) return "a hot entry is marked as one that holds gates on disk";
  if (entry.hot() && entry.due_entry.is_set()) return "a hot entry has a due entry";
  if (entry.dirty) return "notes or an intent were not written";
  if (entry.leaves_gap) return "an entry in memory leaves a gap";
  const bool linked = entry.next != kNoSlot || entry.prev != kNoSlot;
  if (linked && !entry.ready()) return "an entry stands in a ready list and is not ready";
  return {};
}

void LaneCounts::add(const Entry& entry) {
  ++in_memory;
  ready += entry.ready() ? 1U : 0U;
  at_gates += entry.at_gate() ? 1U : 0U;
  at_lasting += entry.waits == Waits::kAtLastingGate ? 1U : 0U;
  at_order += entry.waits == Waits::kBehindOrder ? 1U : 0U;
  cold += entry.hot() ? 0U : 1U;
}

std::string_view check(const Lane& lane, const LaneCounts& counted) {
  if (lane.in_memory != counted.in_memory) return "a lane miscounts its entries";
  if (lane.ready != counted.ready) return "a lane miscounts its ready entries";
  if (lane.at_gates != counted.at_gates) return "a lane miscounts its entries at gates";
  if (lane.at_lasting != counted.at_lasting) return "a lane miscounts its entries at lasting gates";
  if (lane.at_order != counted.at_order) return "a lane miscounts its entries behind their order";
  if (lane.cold.size() != counted.cold) return "a lane miscounts its cold entries";
  if ((lane.first == kNoSlot) != (lane.ready == 0)) return "a ready list and its count disagree";
  return {};
}

}  // namespace postrider::core
