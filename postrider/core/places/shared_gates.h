// SharedGates: gates that messages of several destinations share: which messages hold a place,
// which wait for one, and which gates failures have closed. After some failures in a row nothing
// passes for a while; then one attempt decides.
//
// Invariants
//   - `in_use` of a gate is the number of entries with `holds_gates` that name it, and of
//     messages that hold it until their end.
//   - `lasting_` has exactly the live messages that have started and name a lasting gate,
//     wherever they are, except those that were parked out of the way of others.
//   - A waiter whose id is not the slot's any more, or that is ready, is stale and is passed
//     over.
//   - A gate that is shut and not closed until a time has a trial under way.
#pragma once

#include <unordered_map>

#include "postrider/base/time.h"
#include "postrider/core/places/attempts.h"
#include "postrider/core/places/limit_groups.h"
#include "postrider/core/rules/timers.h"
#include "postrider/core/step.h"
#include "postrider/core/window/residents.h"
#include "postrider/core/window/window.h"
#include "postrider/model/answer.h"

namespace postrider::core {

class SharedGates {
 public:
  SharedGates(Tallies& tallies, Timers& timers, Timestamp started, Residents& residents,
              Window& window, Attempts& attempts, LimitGroups& limit_groups)
      : tallies_(tallies),
        timers_(timers),
        started_(started),
        residents_(residents),
        window_(window),
        attempts_(attempts),
        limit_groups_(limit_groups) {}
  SharedGates(const SharedGates&) = delete;
  SharedGates& operator=(const SharedGates&) = delete;

  static GateState::Permit permit_at(const SharedGate& gate, Timestamp now);
  Duration shut_for(const Entry& entry, Timestamp now) const;
  void begin_trial(const Step& step, Entry& entry);
  void give_up_trial(Step& step, Entry& entry);
  void strike_gates(Step& step, Slot slot);
  void hear_alive(Step& step, GateName name);
  void take_gates(Step& step, Entry& entry);
  void give_back_gates(Step& step, Slot slot);
  void release_lasting(Step& step, MessageId id);
  void release_unreadable(Step& step, Sequence sequence);
  void occupy_gates(Entry& entry);
  void hold_lasting(Slot destination, const Message& message, const State& state);
  SharedGate& shared_gate(Slot destination, GateName name);
  void wait_at_gate(Step& step, Slot slot, GateName name, Timestamp again);
  Slot holder_behind(const Lane& lane) const;
  void leave_lines(Step& step, Slot slot);
  bool lets_older_pass(Step& step, Slot slot);

  static bool has_gates(const Message& message) {
    return (message.gates[0] | message.gates[1] | message.gates[2]) != 0;
  }
  static_assert(kGatesMax == 3);
  bool holds_lasting(MessageId id) const { return lasting_.contains(id); }
  const SharedGate* find(GateName name) const {  // null: it is like a new one
    const auto found = gates_.find(name);
    return name == 0 || found == gates_.end() ? nullptr : &found->second;
  }
  // The next message that may try to start; none: its timer is armed, or nothing waits, and a gate
  // that nothing uses is forgotten.
  Slot next_waiter(const Step& step, GateName name);

 private:
  void note_closing(const Entry& entry, GateName name);
  void open_gate(Step& step, GateName name);
  static void give_back_one(Step& step, std::pair<const GateName, SharedGate>& gate, MessageId id);

  Tallies& tallies_;
  Timers& timers_;
  Timestamp started_;
  Residents& residents_;
  Window& window_;
  Attempts& attempts_;
  LimitGroups& limit_groups_;
  std::unordered_map<GateName, SharedGate> gates_;
  std::unordered_map<MessageId, HeldGates> lasting_;  // messages that hold gates until their end
};

}  // namespace postrider::core
