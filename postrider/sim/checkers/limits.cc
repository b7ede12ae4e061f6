// Checker 7, gates: slots, spacing and tokens of routes and of shared gates, the limit of the whole
// engine, and one open attempt per message. Limits bind starts; what was started before a limit
// shrank may go on.
#include <map>
#include <set>

#include "postrider/sim/checkers/all.h"

namespace postrider::sim {
namespace {

class LimitsChecker final : public Checker {
 public:
  LimitsChecker(const CheckerContext& context, Notebook& notebook)
      : verdicts_(context.verdicts),
        notebook_(notebook),
        open_max_(context.shard.engine.limits.open_attempts_max) {}

  void began(const Moment& when, Epoch /*epoch*/) override {
    newest_ = when.incarnation;
    // A state that keeps its gates does so over a crash; attempts do not survive it.
    open_.clear();
    by_message_.clear();
    for (auto& [name, gate] : gates_) gate.attempts = 0;
  }

  void left(const Left& left) override {
    if (left.when.incarnation != newest_)
      return;  // an owner that was replaced and does not know it
    MessageNote* note = notebook_.find(left.start.message);
    if (note == nullptr || note->destination == nullptr) return;
    if (by_message_.contains(note->id))
      verdicts_.violation(7, "a message has two open attempts: " + to_string(note->id));
    const bool sends = is_send(left.call);
    taken_.erase(note->id);
    if (sends && open_.size() >= open_max_)
      verdicts_.violation(7, "too many attempts are open in the engine");
    // A question in a state that kept its gates keeps them on; what was durable before is not what
    // counts now.
    const bool held = held_.erase(note->id) > 0;
    if (sends) {
      for (const auto& [name, limits] : gates_of(*note)) check_gate(name, limits, *note, left);
    }
    open_[left.start.attempt.value()] = {note->id, sends || held};
    by_message_.insert(note->id);
    if (!sends && !held) return;
    for (const auto& [name, limits] : gates_of(*note)) ++gates_[name].attempts;
    if (held) {
      for (const auto& [name, limits] : gates_of(*note)) --gates_[name].held;
    }
  }

  void aborted(const Aborted& aborted) override {
    close(aborted.when.incarnation, aborted.attempt);
  }
  void outcome(const Outcomed& outcome) override {
    const auto at = open_.find(outcome.attempt.value());
    const bool ours = at != open_.end() && outcome.when.incarnation == newest_;
    if (ours && at->second.holds && outcome.reply.end == WireEnd::kAnswered &&
        outcome.reply.status == 202)
      taken_.insert(at->second.message);
    close(outcome.when.incarnation, outcome.attempt);
  }

  void batch(const Batch& batch) override {
    for (const auto& [note, state] : batch.steps) {
      if (gives_back_gates(*note, state)) taken_.erase(note->id);
    }
    for (const Batch::StatePut& put : batch.states) {
      // Gates that were given back on the way are not taken again by a state that would keep them:
      // only an answer leads straight from an attempt with slots into such a state.
      if (!keeps_gates(*put.note, put.state)) taken_.erase(put.note->id);
      hold(*put.note, taken_.contains(put.note->id));
    }
    for (MessageNote* note : batch.left) {
      hold(*note, false);
      taken_.erase(note->id);
    }
  }

 private:
  struct Attempt {
    MessageId message;
    bool holds = false;
  };
  struct Gate {
    std::uint32_t attempts = 0;  // open, with a slot
    std::uint32_t held = 0;      // slots of messages whose state keeps them
    GateLimits limits;
    Timestamp last;        // engine time of the last start …
    Timestamp last_truth;  // … and its true time, or a little before
    Incarnation incarnation = 0;
    std::uint64_t missing = 0;  // thousandths of tokens, at `last`
  };
  using Named = std::pair<std::uint64_t, GateLimits>;

  static bool keeps_gates(const MessageNote& note, const State& state) {
    if (note.destination == nullptr || note.destination->profile == nullptr) return false;
    const StateRow& row = note.destination->profile->states[state.state];
    return row.phase == Phase::kAwaiting && row.keeps_gates;
  }

  // A state on the way, perhaps only within one commit.
  static bool gives_back_gates(const MessageNote& note, const State& state) {
    if (note.destination == nullptr || note.destination->profile == nullptr) return false;
    const StateRow& row = note.destination->profile->states[state.state];
    return row.phase != Phase::kInFlight && !row.keeps_gates;
  }

  // Routes and shared gates stand in one map; the names of shared ones are odd, numbers of
  // destinations are made even.
  std::vector<Named> gates_of(const MessageNote& note) const {
    std::vector<Named> list;
    const DestinationNote& destination = *note.destination;
    list.emplace_back(destination.id.value() << 1, destination.policy.route);
    for (const GateName name : note.gates) {
      if (name == 0 || destination.profile->gates.limits == nullptr) continue;
      list.emplace_back(name, destination.profile->gates.limits(name, destination.policy));
    }
    return list;
  }

  void hold(MessageNote& note, bool holds) {
    if (note.destination == nullptr || held_.contains(note.id) == holds) return;
    for (const auto& [name, limits] : gates_of(note)) {
      if (holds) ++gates_[name].held;
      if (!holds) --gates_[name].held;
    }
    if (holds) held_.insert(note.id);
    if (!holds) held_.erase(note.id);
  }

  void close(Incarnation incarnation, AttemptId attempt) {
    if (incarnation != newest_) return;
    const auto at = open_.find(attempt.value());
    if (at == open_.end()) return;
    MessageNote* note = notebook_.find(at->second.message);
    if (at->second.holds && note != nullptr) {
      for (const auto& [name, limits] : gates_of(*note)) --gates_[name].attempts;
    }
    by_message_.erase(at->second.message);
    open_.erase(at);
  }

  void check_gate(std::uint64_t name, const GateLimits& limits, const MessageNote& note,
                  const Left& left) {
    Gate& gate = gates_[name];
    const Timestamp now = decided_at(left).value_or(Timestamp());
    const bool settled =
        note.destination->configured < left.decided_after;  // else old and new limits meet
    if (settled && limits.in_use_max != 0 && gate.attempts + gate.held >= limits.in_use_max) {
      verdicts_.violation(7, "more attempts than slots (" + std::to_string(gate.attempts) +
                                 " open, " + std::to_string(gate.held) +
                                 " held): " + to_string(note.id));
    }
    if (!now.is_set()) return;
    if (gate.limits != limits) {
      gate.missing = 0;
      gate.last = Timestamp();
      gate.limits = limits;
    }
    // Engine times of two processes do not compare: what the first one knew of the time may never
    // have become durable, and the wall may have been set back. True time does.
    const Duration gap =
        gate.incarnation == newest_ ? now - gate.last : left.when.truth - gate.last_truth;
    if (settled && gate.last.is_set() && gap < limits.spacing)
      verdicts_.violation(7, "two starts too close to each other: " + to_string(note.id));
    if (settled && limits.tokens_per_second != 0) check_tokens(gate, limits, note, gap);
    if (!settled) gate.missing = 0;
    gate.last = now;
    gate.last_truth = left.when.truth - (left.when.engine - now) - Duration(1);
    gate.incarnation = newest_;
  }

  void check_tokens(Gate& gate, const GateLimits& limits, const MessageNote& note, Duration gap) {
    const auto elapsed = gate.last.is_set() ? static_cast<std::uint64_t>(gap.count()) : 0;
    const std::uint64_t refilled = elapsed * limits.tokens_per_second;
    gate.missing = gate.missing > refilled ? gate.missing - refilled : 0;
    gate.missing += 1000;
    const std::uint64_t capacity = 1000 * std::max<std::uint64_t>(1, limits.tokens_max);
    if (gate.missing > capacity)
      verdicts_.violation(7, "a start without a token: " + to_string(note.id));
  }

  Verdicts& verdicts_;
  Notebook& notebook_;
  std::size_t open_max_;
  Incarnation newest_ = 0;
  std::map<std::uint64_t, Attempt> open_;
  std::set<MessageId> by_message_;
  std::set<MessageId> held_;
  std::set<MessageId> taken_;  // whose last attempt was answered with "accepted"
  std::map<std::uint64_t, Gate> gates_;
};

}  // namespace

std::unique_ptr<Checker> make_limits_checker(const CheckerContext& context, Notebook& notebook) {
  return std::make_unique<LimitsChecker>(context, notebook);
}

}  // namespace postrider::sim
