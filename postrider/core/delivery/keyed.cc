// Messages that are values of a key: which of them a newer one takes the place of.
#include <algorithm>

#include "postrider/base/planted.h"
#include "postrider/core/delivery/delivery.h"
#include "postrider/core/rules/lane_rules.h"

namespace postrider::core {
namespace {

constexpr std::string_view kSuperseded = "superseded";

}  // namespace

void Delivery::locate_values(Step& step, Slot resident, std::uint8_t lane, std::string_view key) {
  const Resident& its = residents_[resident];
  if (!takes_latest(its.bound->policy.lane_rule(lane), its.route)) return;
  const MessageId first = MessageId::make(its.id, lane, 0, Sequence(0));
  for (const LaneKeys::Value& value : window_.keys().of(first, key)) {
    if (value.slot != kNoSlot) continue;
    const Lookup::Located located = lookup_.locate(step, value.id);
    if (located.known && located.slot == kNoSlot)  // it cannot be read any more
      window_.keys().forget(value.id, key);
  }
}

void Delivery::supersede(Step& step, Slot resident, std::uint8_t lane, std::string_view key,
                         Sequence newer) {
  const LaneRule& rule = residents_[resident].bound->policy.lane_rule(lane);
  if (!takes_latest(rule, residents_[resident].route)) return;
  const MessageId first = MessageId::make(residents_[resident].id, lane, 0, Sequence(0));
  for (const LaneKeys::Value& value : window_.keys().of(first, key)) {
    if (value.id.sequence() >= newer) return;
    const Slot slot = window_.find(value.id);
    if (slot == kNoSlot) continue;
    const Entry& entry = window_[slot];
    if (entry.message.key() != key || stays_anyway(rule, age_of(step, entry), 0)) continue;
    end_replaced(step, slot);
  }
}

// Whether a newer message of its lane and key is in memory, and the lane keeps the latest only.
bool Delivery::is_replaced(const Step& step, const Entry& entry) const {
  const Resident& resident = residents_[entry.destination];
  const MessageId id = entry.message.id;
  const LaneRule& rule = resident.bound->policy.lane_rule(id.lane());
  if (!takes_latest(rule, resident.route) || stays_anyway(rule, age_of(step, entry), 0))
    return false;
  for (const LaneKeys::Value& value : window_.keys().of(id, entry.message.key())) {
    if (value.id.sequence() > id.sequence() && value.slot != kNoSlot &&
        window_[value.slot].message.key() == entry.message.key())
      return true;
  }
  return false;
}

void Delivery::end_if_replaced(Step& step, Slot slot) {
  if (is_replaced(step, window_[slot])) end_replaced(step, slot);
}

// What waits on disk is swept when it has doubled, so each message is looked at a few times.
void Delivery::note_cold_value(Step& step, Slot resident, std::uint8_t lane) {
  const Resident& its = residents_[resident];
  if (its.sweeping || !takes_latest(its.bound->policy.lane_rule(lane), its.route)) return;
  const std::uint64_t doubled = std::max<std::uint64_t>(limits_.sweep_cold_min, 2 * its.swept_cold);
  if (its.cold_messages >= doubled) routes_.sweep_values(step, resident);
}

Duration Delivery::age_of(const Step& step, const Entry& entry) const {
  return step.now - entry.message.accepted - window_.later(entry.message);
}

bool Delivery::end_replaced(Step& step, Slot slot) {
  if (call_off(step, slot, kSuperseded)) {
    ++tallies_.superseded;
    return true;
  }
  const Entry& entry = window_[slot];
  if (!planted(Bug::kSweptWhileOut) || window_.phase_of(entry) == Phase::kParked) return false;
  window_.set_reason(window_[slot], kSuperseded);
  const std::span<const StateRow> states = residents_[entry.destination].bound->profile->states;
  StateIndex cancelled = 0;
  while (states[cancelled].phase != Phase::kCancelled) ++cancelled;
  end(step, slot, cancelled);
  return true;
}

}  // namespace postrider::core
