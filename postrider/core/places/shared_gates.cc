#include "postrider/core/places/shared_gates.h"

#include <algorithm>

#include "postrider/base/check.h"
#include "postrider/base/planted.h"

namespace postrider::core {
namespace {

constexpr Duration kTrialLook{1000};  // a probe waits so long for the trial of another message

Duration wait_of(const GateLimits& limits, std::uint16_t closings) {
  Duration wait = limits.closed_base;
  for (std::uint16_t i = 1; i < closings && wait < limits.closed_max; ++i) wait *= 2;
  return std::max(limits.closed_base, std::min(wait, limits.closed_max));
}

}  // namespace

GateState::Permit SharedGates::permit_at(const SharedGate& gate, Timestamp now) {
  if (!gate.shut(now)) return gate.state.permit(gate.limits, now);
  return {.open = false, .again = gate.closed_until > now ? gate.closed_until : Timestamp()};
}

// How long a question of this message has to wait at its gates.
Duration SharedGates::shut_for(const Entry& entry, Timestamp now) const {
  Duration longest{0};
  for (const GateName name : entry.message.gates) {
    const auto found = name == 0 ? gates_.end() : gates_.find(name);
    if (found == gates_.end() || !found->second.shut(now)) continue;
    if (found->second.trial == entry.message.id) continue;
    const Timestamp until = found->second.closed_until;
    longest = std::max(longest, until > now ? until - now : kTrialLook);
  }
  return longest;
}

void SharedGates::begin_trial(const Step& step, Entry& entry) {
  for (const GateName name : entry.message.gates) {
    const auto found = name == 0 ? gates_.end() : gates_.find(name);
    if (found == gates_.end()) continue;
    SharedGate& gate = found->second;
    if (!gate.closed_until.is_set() || gate.shut(step.now)) continue;
    if (planted(Bug::kEverybodyTries)) continue;
    gate.trial = entry.message.id;
    Attempt* attempt = attempts_.of(entry);
    POSTRIDER_CHECK(attempt != nullptr);
    attempt->decides_gate = true;
  }
}

// The call that should have decided says nothing: the next one decides.
void SharedGates::give_up_trial(Step& step, Entry& entry) {
  if (Attempt* attempt = attempts_.of(entry)) attempt->decides_gate = false;
  for (const GateName name : entry.message.gates) {
    const auto found = name == 0 ? gates_.end() : gates_.find(name);
    if (found == gates_.end() || found->second.trial != entry.message.id) continue;
    found->second.trial = MessageId();
    step.freed_gates.push_back(name);
  }
}

// By the word with which the profile begins to explain such a gate.
void SharedGates::note_closing(const Entry& entry, GateName name) {
  ++tallies_.gates_closed;
  const ProfileSpec& profile = *residents_[entry.destination].bound->profile;
  if (profile.gates.words == nullptr) return;
  const std::string_view why = profile.gates.words(name).closed;
  count(tallies_.closings, why.substr(0, why.find(':')));
}

// What became of an attempt, told to the gates of its message that count failures.
void SharedGates::strike_gates(Step& step, Slot slot) {
  Entry& entry = window_[slot];
  if (!has_gates(entry.message)) return;
  const std::uint16_t failure = strike_on(entry.state.failure);
  for (const GateName name : entry.message.gates) {
    const auto found = name == 0 ? gates_.end() : gates_.find(name);
    if (found == gates_.end() || found->second.limits.strikes_max == 0) continue;
    SharedGate& gate = found->second;
    if ((failure & gate.limits.strikes_on) == 0) {
      // A far side that fails has answered, even if that does not tell what became of the message.
      const bool answered = entry.state.certainty == Certainty::kAnswered ||
                            entry.state.failure == FailureClass::kServer;
      if (gate.limits.relents && answered) open_gate(step, name);
      continue;
    }
    if (gate.strikes < UINT16_MAX) ++gate.strikes;
    // Where only a sign of life opens the gate, an answer from a relay on the way decides nothing:
    // what counts is the fate of the attempt, and its message holds the gate until then.
    const bool held = !gate.limits.relents && gate.holder == entry.message.id;
    const bool decides = held || gate.trial == entry.message.id;
    if (planted(Bug::kGateNeverCloses)) continue;
    if (gate.strikes < gate.limits.strikes_max || (gate.closed_until.is_set() && !decides))
      continue;
    gate.trial = MessageId();
    ++gate.closings;
    note_closing(entry, name);
    gate.closed_until = step.now + wait_of(gate.limits, gate.closings);
    timers_.cancel(gate.timer);
    gate.timer = timers_.arm(gate.closed_until, Timer{.kind = TimerKind::kGate, .id = {name, 0}});
  }
  const Attempt* attempt = attempts_.of(entry);
  if (attempt != nullptr && attempt->decides_gate) give_up_trial(step, entry);
}

void SharedGates::open_gate(Step& step, GateName name) {
  const auto found = gates_.find(name);
  if (found == gates_.end() || found->second.strikes == 0) return;
  SharedGate& gate = found->second;
  gate.strikes = gate.closings = 0;
  gate.trial = MessageId();
  if (!gate.closed_until.is_set()) return;
  gate.closed_until = Timestamp();
  step.freed_gates.push_back(name);
}

// A device behind the gate is there after all, so nothing keeps it shut any more.
void SharedGates::hear_alive(Step& step, GateName name) {
  if (!planted(Bug::kAliveIgnored)) open_gate(step, name);
  const auto gate = gates_.find(name);
  POSTRIDER_CHECK(gate == gates_.end() || !gate->second.shut(step.now));
}

void SharedGates::give_back_one(Step& step, std::pair<const GateName, SharedGate>& gate,
                                MessageId id) {
  gate.second.state.give_back();
  if (gate.second.holder == id) gate.second.holder = MessageId();
  step.freed_gates.push_back(gate.first);
}

void SharedGates::take_gates(Step& step, Entry& entry) {
  Resident& resident = residents_[entry.destination];
  const bool lasts = entry.message.lasting != 0 && lasting_.contains(entry.message.id);
  const bool had = std::exchange(entry.holds_gates, true);
  if (!had) {
    resident.gate.take(resident.bound->policy.route, step.now);
    limit_groups_.take_group(step, entry);
  }
  for (std::size_t i = 0; i < kGatesMax; ++i) {
    const GateName name = entry.message.gates[i];
    const bool lasting = (entry.message.lasting >> i & 1) != 0;
    if (name == 0 || (lasting ? lasts : had)) continue;
    SharedGate& gate = shared_gate(entry.destination, name);
    if (window_.goes_by_lane(entry)) {
      gate.state.occupy();  // perhaps as the second one
    } else {
      gate.state.take(gate.limits, step.now);
    }
    gate.holder = entry.message.id;
  }
  if (entry.message.lasting == 0 || lasts) return;
  HeldGates& held = lasting_[entry.message.id];
  for (std::size_t i = 0; i < kGatesMax; ++i) {
    if ((entry.message.lasting >> i & 1) != 0) held.gates[i] = entry.message.gates[i];
  }
}

void SharedGates::give_back_gates(Step& step, Slot slot) {
  Entry& entry = window_[slot];
  if (!entry.holds_gates) return;
  entry.holds_gates = false;
  Resident& resident = residents_[entry.destination];
  resident.gate.give_back();
  limit_groups_.leave_group(step, entry);
  step.look_at(entry.destination);
  const auto gates = entry.message.gates;
  const std::uint8_t lasting = entry.message.lasting;
  for (std::size_t i = 0; i < kGatesMax; ++i) {
    const GateName name = gates[i];
    if (name == 0 || (lasting >> i & 1) != 0) continue;
    const auto gate = gates_.find(name);
    POSTRIDER_CHECK(gate != gates_.end());
    give_back_one(step, *gate, entry.message.id);
  }
}

void SharedGates::release_lasting(Step& step, MessageId id) {
  const auto held = lasting_.find(id);
  if (held == lasting_.end()) return;
  for (const GateName name : held->second.gates) {
    if (name == 0) continue;
    const auto gate = gates_.find(name);
    POSTRIDER_CHECK(gate != gates_.end());
    give_back_one(step, *gate, id);
  }
  lasting_.erase(held);
}

// Which message it was cannot be read any more, but the message that held gates is known.
void SharedGates::release_unreadable(Step& step, Sequence sequence) {
  for (const auto& [id, held] : lasting_) {
    if (id.sequence() == sequence) return release_lasting(step, id);
  }
}

void SharedGates::occupy_gates(Entry& entry) {
  entry.holds_gates = true;
  residents_[entry.destination].gate.occupy();
  limit_groups_.occupy_group(entry);
  for (std::size_t i = 0; i < kGatesMax; ++i) {
    const GateName name = entry.message.gates[i];
    if (name == 0 || (entry.message.lasting >> i & 1) != 0) continue;
    SharedGate& gate = shared_gate(entry.destination, name);
    gate.state.occupy();
    // Late news may have brought back a message that had left its gate to another one. Of the two
    // that whose call is open answers for what names nothing.
    if (!gate.holder.is_set() || window_.phase_of(entry) == Phase::kInFlight)
      gate.holder = entry.message.id;
  }
}

// A restart finds the messages that hold gates until their end: they have made an attempt.
void SharedGates::hold_lasting(Slot destination, const Message& message, const State& state) {
  if (message.lasting == 0 || !state.first_attempt.is_set()) return;
  if (planted(Bug::kLastingGateForgotten)) return;
  const auto [held, is_new] = lasting_.try_emplace(message.id);
  if (!is_new) return;
  for (std::size_t i = 0; i < kGatesMax; ++i) {
    if ((message.lasting >> i & 1) == 0) continue;
    held->second.gates[i] = message.gates[i];
    SharedGate& gate = shared_gate(destination, message.gates[i]);
    gate.state.occupy();
    if (!planted(Bug::kHolderForgotten)) gate.holder = message.id;
  }
}

SharedGate& SharedGates::shared_gate(Slot destination, GateName name) {
  const auto [place, is_new] = gates_.try_emplace(name);
  SharedGate& gate = place->second;
  if (is_new) {
    const Bound& bound = *residents_[destination].bound;
    if (bound.profile->gates.limits != nullptr)
      gate.limits = bound.profile->gates.limits(name, bound.policy);
    gate.state.drain(gate.limits, started_);
  }
  return gate;
}

}  // namespace postrider::core
