// The vocabulary of delivery: phases, signals (On), verbs (Do), and the rows in which a profile
// says what follows what. The three lists are closed; a profile adds tables, never words. `sound`
// checks a table at compile time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace postrider {

enum class Phase : std::uint8_t {
  kQueued,     // waits for its turn
  kInFlight,   // an attempt is open
  kAwaiting,   // the far side has it; news will come
  kBackoff,    // waits for its next attempt
  kParked,     // waits for an operator, or for its route; listed with the dead letters
  kDelivered,  // ends from here on
  kDead,
  kExpired,
  kCancelled,
  kIndeterminate,  // may or may not have happened, and no answer can tell any more
};
inline constexpr std::size_t kPhases = 10;

enum class On : std::uint8_t {
  kDue,         // its turn has come: admitted, back-off over, or revived
  kNoRoute,     // there is no way to the destination, or it has gone
  kNoLink,      // the way is known, but nothing listens
  kStaleRoute,  // the way led elsewhere
  kSent,        // handed to the wire
  kAccepted,    // the far side took it
  kProgressed,  // it moved on beyond the far side
  kAcked,       // arrived, without an answer yet
  kAnswered,    // arrived, with an answer
  kConfirmed,   // a receipt says it arrived
  kStillHeld,   // asked: the far side still has it
  kFailed,      // the attempt is over without success
  kRejected,    // refused for good
  kTimedOut,    // the state's timer fired
  kExhausted,   // the retry rule has nothing left
  kExpired,     // its expiry has come
  kCancelled,   // a caller asked to stop it
  kPeerSeen,    // the destination gave a sign of life
  kOutOfReach,  // exhausted, by failures that say nothing but that the destination is not there
  kPoison,      // it fails again and again while messages wait behind it: out of their way
  kSkipped,     // the same, for good
};
inline constexpr std::size_t kSignals = 21;

// Whether news from the network may carry it. The other signals are the engine's own: no far side
// decides that a message is due, late, used up or unwanted.
constexpr bool may_come_from_outside(On signal) {
  return signal != On::kDue && signal != On::kTimedOut && signal != On::kExhausted &&
         signal != On::kOutOfReach && signal != On::kPoison && signal != On::kSkipped &&
         signal != On::kExpired && signal != On::kCancelled;
}

enum class Do : std::uint8_t {
  kIgnore,
  kStartAttempt,
  kFindRoute,
  kAwait,
  kProbe,
  kRetry,
  kNextMethod,
  kComplete,
  kPark,
  kDeadLetter,
  kDrop,
  kRelease,
  kMarkIndeterminate,
};
inline constexpr std::size_t kVerbs = 13;

// What a row tells the route's health.
enum class Raise : std::uint8_t { kNone, kOk, kFail, kGone, kSeen };

// Which time-out of the policy a state's timer takes. kRetry is armed by the verb retry with the
// rule's delay; kPoll goes by the policy's ladder and the message's age.
enum class TimeOut : std::uint8_t {
  kNone,
  kAttempt,
  kProbe,
  kStage,
  kRetry,
  kCall,  // an attempt at something that takes long
  kLate,  // the last stage before the answer
  kPair,  // one of two receipts is there
  kPoll,  // until the next question
};
inline constexpr std::size_t kTimeOuts = 9;

std::string_view name_of(Phase phase);
std::string_view name_of(On signal);
std::string_view name_of(Do verb);
std::string_view name_of(Raise raise);
std::string_view name_of(TimeOut time_out);

constexpr bool is_end(Phase phase) { return phase >= Phase::kDelivered; }

using StateIndex = std::uint8_t;
inline constexpr std::size_t kStatesMax = 32;

struct StateRow {
  std::string_view name;  // the protocol's own word
  Phase phase = Phase::kQueued;
  TimeOut timer = TimeOut::kNone;
  On timer_signal = On::kTimedOut;
  bool keeps_gates = false;  // in-flight states always do; an awaiting state may
  bool revives = false;      // parked until the route hears of a success; else for an operator
  bool refreshes = false;    // attempts are counted anew when it is left
};

using StateMask = std::uint32_t;
constexpr StateMask in(StateIndex state) { return StateMask{1} << state; }

struct Transition {
  StateMask from = 0;
  On on = On::kDue;
  StateIndex to = 0;  // ignored by kIgnore: the state stays
  Do verb = Do::kIgnore;
  Raise raise = Raise::kNone;
  std::string_view why;
};

// One way of delivering. `durable_intent`: the attempt is recorded before the wire and comes back
// as timed-out after a crash; without it a crash during an attempt simply repeats the attempt.
// `trail`: what happened is kept step by step, and told after the end.
struct Method {
  std::string_view name;
  StateIndex initial = 0;
  bool durable_intent = false;
  std::span<const Transition> rows;
  bool trail = false;
  // A cancel that comes while an attempt is open counts when that has failed. Else it changes
  // nothing.
  bool cancels_later = true;
  // An answered failure leaves the recorded bytes as they are: they are made anew only after the
  // message was released. Else after any answer.
  bool keeps_bytes = false;
  // Each start is a request of its own: it is stamped anew, also while an earlier one may arrive.
  bool renews = false;
  // A repeated key whose message ended cancelled or indeterminate is admitted again.
  bool readmits = false;
};

constexpr const Transition* find_row(std::span<const Transition> rows, StateIndex state,
                                     On signal) {
  for (const Transition& row : rows) {
    if (row.on == signal && (row.from & in(state)) != 0) return &row;
  }
  return nullptr;
}

namespace lifecycle_detail {

constexpr StateMask used_states(StateIndex initial, std::span<const Transition> rows) {
  StateMask used = in(initial);
  for (const Transition& row : rows) used |= row.from | (row.verb == Do::kIgnore ? 0 : in(row.to));
  return used;
}

constexpr bool uses(std::span<const Transition> rows, On signal) {
  for (const Transition& row : rows) {
    if (row.on == signal) return true;
  }
  return false;
}

constexpr bool fits(Do verb, Phase to) {
  switch (verb) {
    case Do::kIgnore: return true;
    case Do::kStartAttempt:
    case Do::kFindRoute:
    case Do::kProbe: return to == Phase::kInFlight;
    case Do::kAwait:
      return to == Phase::kAwaiting || to == Phase::kQueued || to == Phase::kInFlight;
    case Do::kRetry: return to == Phase::kBackoff;
    case Do::kNextMethod:
    case Do::kRelease: return to == Phase::kQueued;
    case Do::kComplete: return to == Phase::kDelivered;
    case Do::kPark: return to == Phase::kParked;
    case Do::kDeadLetter: return to == Phase::kDead || to == Phase::kExpired;
    case Do::kDrop: return to == Phase::kCancelled;
    case Do::kMarkIndeterminate: return to == Phase::kIndeterminate;
  }
  return false;
}

constexpr bool all_queued(std::span<const StateRow> states, StateMask from) {
  for (std::size_t i = 0; i < states.size(); ++i) {
    const auto s = static_cast<StateIndex>(i);
    if ((from & in(s)) != 0 && states[s].phase != Phase::kQueued) return false;
  }
  return true;
}

constexpr int rows_for(std::span<const Transition> rows, StateIndex state, On signal) {
  int count = 0;
  for (const Transition& row : rows)
    count += row.on == signal && (row.from & in(state)) != 0 ? 1 : 0;
  return count;
}

// What keeps a live state from being for ever: its timer, its admission, or (parked) an operator's
// due.
constexpr bool moves(const StateRow& state, StateIndex index, std::span<const Transition> rows) {
  const On signal = state.timer == TimeOut::kNone ? On::kDue : state.timer_signal;
  if (state.timer == TimeOut::kNone && state.phase != Phase::kQueued &&
      state.phase != Phase::kParked)
    return false;
  // Not by find_row: comparing a pointer to the first row with nullptr is no constant under
  // -fsanitize=undefined (g++ 12).
  for (const Transition& row : rows) {
    if (row.on == signal && (row.from & in(index)) != 0) return row.verb != Do::kIgnore;
  }
  return false;
}

constexpr StateMask closure(StateMask start, std::span<const Transition> rows, bool backwards) {
  for (StateMask before = 0; before != start;) {
    before = start;
    for (const Transition& row : rows) {
      if (row.verb == Do::kIgnore) continue;
      if (backwards && (start & in(row.to)) != 0) start |= row.from;
      if (!backwards && (start & row.from) != 0) start |= in(row.to);
    }
  }
  return start;
}

}  // namespace lifecycle_detail

// True when the table leaves nothing open: each (live state, used signal) pair has exactly one row
// and ends have none; every state is reachable, can end, and moves by itself; verbs lead where they
// say; every table answers due, exhausted, expired and cancelled; exhaustion never asks for another
// retry; a send starts from a queued state only; and only parked states revive, into a queued one.
constexpr bool sound(std::span<const StateRow> states, const Method& method) {
  namespace d = lifecycle_detail;
  if (states.empty() || states.size() > kStatesMax) return false;
  for (const On must : {On::kDue, On::kExhausted, On::kExpired, On::kCancelled}) {
    if (!d::uses(method.rows, must)) return false;
  }
  const StateMask used = d::used_states(method.initial, method.rows);
  if (states.size() < kStatesMax && (used >> states.size()) != 0) return false;
  if (states[method.initial].phase != Phase::kQueued) return false;

  StateMask ends = 0;
  for (std::size_t i = 0; i < states.size(); ++i) {
    const auto s = static_cast<StateIndex>(i);
    if ((used & in(s)) == 0) continue;
    if (is_end(states[s].phase)) ends |= in(s);
    if (!is_end(states[s].phase) && !d::moves(states[s], s, method.rows)) return false;
    for (std::size_t signal = 0; signal < kSignals; ++signal) {
      const On on = static_cast<On>(signal);
      const int want = !is_end(states[s].phase) && d::uses(method.rows, on) ? 1 : 0;
      if (d::rows_for(method.rows, s, on) != want) return false;
    }
  }
  for (const Transition& row : method.rows) {
    if (row.verb != Do::kIgnore && !d::fits(row.verb, states[row.to].phase)) return false;
    // A send starts from a queued state only: there gates, health and fairness are asked before the
    // row is looked up.
    if (row.verb == Do::kStartAttempt && !d::all_queued(states, row.from)) return false;
    const bool over = row.on == On::kExhausted || row.on == On::kOutOfReach ||
                      row.on == On::kPoison || row.on == On::kSkipped;
    if (over && (row.verb == Do::kRetry || row.verb == Do::kIgnore)) return false;
  }
  for (std::size_t i = 0; i < states.size(); ++i) {
    const auto s = static_cast<StateIndex>(i);
    if ((used & in(s)) == 0 || !states[s].revives) continue;
    const Transition* due = find_row(method.rows, s, On::kDue);
    if (states[s].phase != Phase::kParked || states[due->to].phase != Phase::kQueued) return false;
  }
  return d::closure(in(method.initial), method.rows, false) == used &&
         d::closure(ends, method.rows, true) == used;
}

}  // namespace postrider
