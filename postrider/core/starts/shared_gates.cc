// Shared gates: who takes them and gives them back, and those that failures close, because a far
// side that many destinations lead to, or a device, does not answer. After some failures in a row
// nobody passes for a while; then one call decides.
#include <algorithm>

#include "postrider/base/planted.h"
#include "postrider/core/engine_impl.h"

namespace postrider {
namespace {

constexpr Duration kTrialLook{1000};  // a question waits so long for somebody else's trial

Duration wait_of(const GateLimits& limits, std::uint16_t closings) {
  Duration wait = limits.closed_base;
  for (std::uint16_t i = 1; i < closings && wait < limits.closed_max; ++i) wait *= 2;
  return std::max(limits.closed_base, std::min(wait, limits.closed_max));
}

}  // namespace

GateState::Permit Engine::Impl::permit_at(const SharedGate& gate, Timestamp now) {
  if (!gate.shut(now)) return gate.state.permit(gate.limits, now);
  return {.open = false, .again = gate.closed_until > now ? gate.closed_until : Timestamp()};
}

// How long a question of this message has to wait at its gates.
Duration Engine::Impl::shut_for(const Entry& entry, Timestamp now) const {
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

// A question whose time has come; while its gates are shut it waits on. That is not written down:
// after a crash every open question is asked anew.
void Engine::Impl::probe_again(Step& step, Slot slot) {
  Entry& entry = entries_[slot];
  const Duration shut = has_gates(entry.message) ? shut_for(entry, step.now) : Duration(0);
  if (shut <= Duration(0)) return start_attempt(step, slot, entry.state.state, AttemptKind::kProbe);
  entry.state.due = step.now + shut;
  entry.timer =
      timers_.arm(entry.state.due, Timer{.kind = TimerKind::kState, .id = entry.message.id});
}

void Engine::Impl::begin_trial(const Step& step, Entry& entry) {
  for (const GateName name : entry.message.gates) {
    const auto found = name == 0 ? gates_.end() : gates_.find(name);
    if (found == gates_.end()) continue;
    SharedGate& gate = found->second;
    if (!gate.closed_until.is_set() || gate.shut(step.now)) continue;
    if (planted(Bug::kEverybodyTries)) continue;
    gate.trial = entry.message.id;
    entry.tries_gate = true;
  }
}

// The call that should have decided says nothing: the next one decides.
void Engine::Impl::give_up_trial(Step& step, Entry& entry) {
  entry.tries_gate = false;
  for (const GateName name : entry.message.gates) {
    const auto found = name == 0 ? gates_.end() : gates_.find(name);
    if (found == gates_.end() || found->second.trial != entry.message.id) continue;
    found->second.trial = MessageId();
    step.freed_gates.push_back(name);
  }
}

// By the word with which the profile begins to explain such a gate.
void Engine::Impl::note_closing(const Entry& entry, GateName name) {
  ++tallies_.gates_closed;
  const ProfileSpec& profile = *residents_[entry.destination].bound->profile;
  if (profile.gates.words == nullptr) return;
  const std::string_view why = profile.gates.words(name).closed;
  count(tallies_.closings, why.substr(0, why.find(':')));
}

// What became of an attempt, told to the gates of its message that count failures.
void Engine::Impl::strike_gates(Step& step, Slot slot) {
  Entry& entry = entries_[slot];
  if (!has_gates(entry.message)) return;
  const std::uint16_t failure = strike_on(entry.state.failure);
  for (const GateName name : entry.message.gates) {
    const auto found = name == 0 ? gates_.end() : gates_.find(name);
    if (found == gates_.end() || found->second.limits.strikes_max == 0) continue;
    SharedGate& gate = found->second;
    if ((failure & gate.limits.strikes_on) == 0) {
      // Who fails has answered, even when nobody can tell from it what became of the message.
      const bool answered = entry.state.certainty == Certainty::kAnswered ||
                            entry.state.failure == FailureClass::kServer;
      if (gate.limits.relents && answered) open_gate(step, name);
      continue;
    }
    if (gate.strikes < UINT16_MAX) ++gate.strikes;
    // Where only a sign of life opens it, an answer from those on the way there decides nothing:
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
  if (entry.tries_gate) give_up_trial(step, entry);
}

void Engine::Impl::open_gate(Step& step, GateName name) {
  const auto found = gates_.find(name);
  if (found == gates_.end() || found->second.strikes == 0) return;
  SharedGate& gate = found->second;
  gate.strikes = gate.closings = 0;
  gate.trial = MessageId();
  if (!gate.closed_until.is_set()) return;
  gate.closed_until = Timestamp();
  step.freed_gates.push_back(name);
}

// Somebody behind the gate is there after all, so nothing keeps it shut any more.
void Engine::Impl::hear_alive(Step& step, GateName name) {
  if (!planted(Bug::kAliveIgnored)) open_gate(step, name);
  const auto gate = gates_.find(name);
  POSTRIDER_CHECK(gate == gates_.end() || !gate->second.shut(step.now));
}

void Engine::Impl::give_back_one(Step& step, std::pair<const GateName, SharedGate>& gate,
                                 MessageId id) {
  gate.second.state.give_back();
  if (gate.second.holder == id) gate.second.holder = MessageId();
  step.freed_gates.push_back(gate.first);
}

void Engine::Impl::take_gates(Step& step, Entry& entry) {
  Resident& resident = residents_[entry.destination];
  const bool lasts = entry.message.lasting != 0 && lasting_.contains(entry.message.id);
  const bool had = std::exchange(entry.holds_gates, true);
  if (!had) {
    resident.gate.take(resident.bound->policy.route, step.now);
    take_group(step, entry);
  }
  for (std::size_t i = 0; i < kGatesMax; ++i) {
    const GateName name = entry.message.gates[i];
    const bool lasting = (entry.message.lasting >> i & 1) != 0;
    if (name == 0 || (lasting ? lasts : had)) continue;
    SharedGate& gate = shared_gate(entry.destination, name);
    if (goes_by_lane(entry)) {
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

void Engine::Impl::release_lasting(Step& step, MessageId id) {
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

// Nobody can read any more which message it was, but whoever held gates until its end is known.
void Engine::Impl::release_unreadable(Step& step, Sequence sequence) {
  for (const auto& [id, held] : lasting_) {
    if (id.sequence() == sequence) return release_lasting(step, id);
  }
}

}  // namespace postrider
