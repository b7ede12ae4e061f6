// Checker 13: records and bytes stay within the write budget. A message delivered at its first
// attempt costs one put_once, one remove_once and its end; a retry of a hot one costs one small
// state record; a commit costs one meta record and at most one page.
#include <set>
#include <unordered_map>

#include "postrider/sim/checkers/all.h"

namespace postrider::sim {
namespace {

class BudgetChecker final : public Checker {
 public:
  BudgetChecker(const CheckerContext& context, Notebook& notebook)
      : verdicts_(context.verdicts), notebook_(notebook) {}

  void asked(const Asked& asked) override {
    // Commands on a message may cost more than its own life does.
    std::visit(
        [this](const auto& event) {
          if constexpr (requires {
                          event.caller;
                          event.id;
                        })
            stories_[event.id].commanded = true;
          if constexpr (requires { event.caller.key; }) {
            if (event.caller.key.kind != OperationKey::Kind::kNone) ++keyed_;
          }
        },
        asked.event);
    bulk_ = bulk_ || std::holds_alternative<StartJob>(asked.event);
  }

  void left(const Left& left) override {
    if (is_send(left.call)) ++stories_[left.start.message].sends;
  }
  void receipt(const Receipted& receipt) override { stories_[receipt.id].commanded = true; }

  void batch(const Batch& batch) override {
    if (batch.meta_puts != 1)
      verdicts_.violation(13,
                          "a commit wrote " + std::to_string(batch.meta_puts) + " meta records");
    if (batch.log_puts > (batch.log.empty() ? 0U : 1U))
      verdicts_.violation(13, "a commit wrote more than one page");
    for (const Write& write : batch.applied.batch.writes()) check_bytes(write);
    for (const MessageNote* note : batch.entered) {
      if (note->overhead > kMessageOverheadMax)
        verdicts_.violation(13, "a message costs too many bytes: " + to_string(note->id));
    }
    ledger_puts_ += batch.ledger_puts;
    if (ledger_puts_ > keyed_) verdicts_.violation(13, "more ledger entries than keyed commands");
    for (const EndRecord& end : batch.ends) {
      const auto at = stories_.find(end.id);
      const MessageNote* note = notebook_.find(end.id);
      if (at == stories_.end() || note == nullptr) continue;
      check_message(*note, at->second, end);
      stories_.erase(at);
    }
  }

 private:
  static constexpr std::uint32_t kMessageOverheadMax = 100;
  static constexpr std::size_t kStateBytesMax = 64;  // beyond the reason
  static constexpr std::size_t kIntentBytes = 28;
  static constexpr std::size_t kAttemptsBytes = 5;  // of a list, beside its attempts
  static constexpr std::size_t kAttemptBytesMax = 12;
  static constexpr std::size_t kReasonBytesMax = 200;

  struct Story {
    std::uint32_t sends = 0;
    bool commanded = false;
  };

  void check_bytes(const Write& write) {
    const bool message_space = write.key[0] == keys::kHot || write.key[0] == keys::kCold;
    if (write.kind != Write::Kind::kPut || !message_space) return;
    const auto stored = decode_state(write.value.view());
    const std::size_t more =
        stored ? stored->notes.size() + past_bytes_max(*stored) + kIntentBytes : 0;
    if (write.value.size() > kStateBytesMax + kReasonBytesMax + more)
      verdicts_.violation(13, "a state record is too large");
  }

  // A trail is as long as its steps; an attempt costs a few bytes, and a reason once.
  static std::size_t past_bytes_max(const StoredState& stored) {
    const auto past = decode_attempt_history(stored.past, {stored.state.since, stored.reason});
    if (!past) return 0;
    std::size_t most = past->trail.empty() ? 0 : encode_trail(past->trail).size();
    if (past->attempts.empty()) return most;
    most += kAttemptsBytes + kAttemptBytesMax * past->attempts.notes.size();
    std::set<std::string> said = {stored.reason.substr(0, kAttemptReasonBytesMax)};
    for (const AttemptNote& note : past->attempts.notes) {
      if (said.insert(note.reason).second) most += 1 + note.reason.size();
    }
    return most;
  }

  // Only messages whose life was plain: never on disk only, no commands, no receipts, no attempt
  // lost in a crash.
  void check_message(const MessageNote& note, const Story& story, const EndRecord& end) {
    const bool plain = !bulk_ && end.phase == Phase::kDelivered && !note.was_cold &&
                       !story.commanded && !note.damaged && !note.expires.is_set() &&
                       story.sends == end.attempts && is_simple(note);
    if (!plain) return;
    const std::uint32_t retries = story.sends - 1;
    const std::uint32_t allowed =
        3 + retries + (retries > 0 ? 1 : 0);  // the state record is removed in the end
    if (note.writes != allowed) {
      verdicts_.violation(13, "a message cost " + std::to_string(note.writes) +
                                  " records instead of " + std::to_string(allowed) + ": " +
                                  to_string(note.id));
    }
  }

  // A method without awaiting states and without intent: nothing but attempts and back-offs.
  static bool is_simple(const MessageNote& note) {
    if (note.destination == nullptr || note.destination->profile == nullptr) return false;
    const Method& method = note.destination->profile->methods[note.method];
    return method.name == "post" && !method.durable_intent;
  }

  Verdicts& verdicts_;
  Notebook& notebook_;
  std::unordered_map<MessageId, Story> stories_;
  std::uint64_t keyed_ = 0;
  bool bulk_ = false;  // jobs command whom they meet
  std::uint64_t ledger_puts_ = 0;
};

}  // namespace

std::unique_ptr<Checker> make_budget_checker(const CheckerContext& context, Notebook& notebook) {
  return std::make_unique<BudgetChecker>(context, notebook);
}

}  // namespace postrider::sim
