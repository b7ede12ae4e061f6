// Checker 44: an end that is no delivery does not hide one. When a process dies, an attempt that is
// open and has no durable intent is forgotten; a message that is then cancelled, or expires, says
// that the attempt may have arrived.
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "postrider/sim/checkers/all.h"

namespace postrider::sim {
namespace {

class LostChecker final : public Checker {
 public:
  LostChecker(const CheckerContext& context, Notebook& notebook)
      : verdicts_(context.verdicts), notebook_(notebook) {}

  void began(const Moment& when, Epoch /*epoch*/) override {
    newest_ = when.incarnation;
    for (const auto& [attempt, id] : open_) lost_.insert(id);
    open_.clear();
  }

  // What a replaced owner sends is known to nobody.
  void left(const Left& left) override {
    if (left.when.incarnation != newest_ || !is_send(left.call)) return;
    const MessageNote* note = notebook_.find(left.start.message);
    if (note == nullptr || note->destination == nullptr || note->destination->profile == nullptr)
      return;
    const auto& methods = note->destination->profile->methods;
    const std::size_t method = note->state ? note->state->method : note->method;
    if (method < methods.size() && !methods[method].durable_intent)
      open_[left.start.attempt.value()] = note->id;
  }
  void outcome(const Outcomed& outcome) override { open_.erase(outcome.attempt.value()); }
  void aborted(const Aborted& aborted) override { open_.erase(aborted.attempt.value()); }

  // A state that is written while the attempt is open says how it ended, also when the process died
  // before it told the transport.
  void batch(const Batch& batch) override {
    for (const Batch::StatePut& put : batch.states) {
      const DestinationNote* destination = put.note->destination;
      if (destination == nullptr || destination->profile == nullptr) continue;
      if (destination->profile->states[put.state.state].phase == Phase::kInFlight) continue;
      std::erase_if(open_, [&](const auto& one) { return one.second == put.note->id; });
    }
    for (const EndRecord& end : batch.ends) {
      const bool silent = end.phase == Phase::kCancelled || end.phase == Phase::kExpired;
      const MessageNote* note = notebook_.find(end.id);
      if (lost_.erase(end.id) == 0 || !silent || note == nullptr || note->damaged) continue;
      if (end.reason.find(kLostAttempt) == std::string::npos)
        verdicts_.violation(44, "an attempt was open when the process died, and nothing says so: " +
                                    to_string(end.id));
    }
  }

 private:
  Verdicts& verdicts_;
  Notebook& notebook_;
  Incarnation newest_ = 0;
  std::unordered_map<std::uint64_t, MessageId> open_;  // by attempt
  std::unordered_set<MessageId> lost_;
};

}  // namespace

std::unique_ptr<Checker> make_lost_checker(const CheckerContext& context, Notebook& notebook) {
  return std::make_unique<LostChecker>(context, notebook);
}

}  // namespace postrider::sim
