// Checkers 1 and 11: a message that was accepted has exactly one end or is live; the end is in the
// log and in the counters in the same batch in which the message goes; and accepted = ended + live,
// after every commit.
#include <map>

#include "postrider/sim/checkers/all.h"

namespace postrider::sim {
namespace {

std::uint64_t count_of(const Counters& counters, Phase phase) {
  switch (phase) {
    case Phase::kDelivered: return counters.delivered;
    case Phase::kDead: return counters.dead;
    case Phase::kExpired: return counters.expired;
    case Phase::kCancelled: return counters.cancelled;
    case Phase::kIndeterminate: return counters.indeterminate;
    case Phase::kQueued:
    case Phase::kInFlight:
    case Phase::kAwaiting:
    case Phase::kBackoff:
    case Phase::kParked: break;
  }
  return 0;
}

class EndsChecker final : public Checker {
 public:
  EndsChecker(const CheckerContext& context, Notebook& notebook)
      : verdicts_(context.verdicts), notebook_(notebook) {}

  void batch(const Batch& batch) override {
    check_ends(batch);
    check_log(batch);
    check_sums(batch);
  }

  void finished(const Finished& /*finished*/) override {
    if (notebook_.live() != 0) verdicts_.violation(1, "messages are left that never ended");
  }

 private:
  void check_ends(const Batch& batch) {
    std::map<MessageId, Phase> ended;
    for (const EndRecord& end : batch.ends) {
      ended.emplace(end.id, end.phase);
      const MessageNote* note = notebook_.find(end.id);
      if (!is_end(end.phase)) verdicts_.violation(1, "an end that is none: " + to_string(end.id));
      if (note != nullptr && note->live())
        verdicts_.violation(1, "a message has an end and is still there: " + to_string(end.id));
    }
    for (const MessageNote* note : batch.left) {
      if (ended.contains(note->id) || note->quarantined) continue;
      verdicts_.violation(1, "a message went without an end: " + to_string(note->id));
    }
  }

  void check_log(const Batch& batch) {
    std::map<MessageId, Phase> told;
    for (const LogEntry& entry : batch.log) {
      if (entry.kind != LogEntry::Kind::kEnd) continue;
      if (!told.emplace(entry.id, entry.phase).second)
        verdicts_.violation(1, "the log tells one end twice: " + to_string(entry.id));
    }
    for (const EndRecord& end : batch.ends) {
      const auto at = told.find(end.id);
      if (at == told.end() || at->second != end.phase)
        verdicts_.violation(1, "the log does not tell the end of " + to_string(end.id));
    }
    if (told.size() != batch.ends.size())
      verdicts_.violation(1, "the log tells ends that did not happen");
  }

  void check_sums(const Batch& batch) {
    if (!batch.meta) return verdicts_.violation(11, "a commit without counters");
    const Counters& before = batch.meta_before.counters;
    const Counters& after = batch.meta->counters;
    if (after.accepted - before.accepted != batch.entered.size())
      verdicts_.violation(11, "accepted is not counted rightly");
    for (const Phase phase : {Phase::kDelivered, Phase::kDead, Phase::kExpired, Phase::kCancelled,
                              Phase::kIndeterminate}) {
      std::uint64_t ends = 0;
      for (const EndRecord& end : batch.ends) ends += end.phase == phase ? 1 : 0;
      if (count_of(after, phase) - count_of(before, phase) != ends) {
        verdicts_.violation(11, std::string(name_of(phase)) + " is not counted rightly");
      }
    }
    if (after.quarantined - before.quarantined != batch.quarantined)
      verdicts_.violation(11, "quarantined is not counted rightly");
    const std::uint64_t there = notebook_.records() + notebook_.lost();
    if (after.live() != there) {
      verdicts_.violation(11, "accepted − ended = " + std::to_string(after.live()) + ", but " +
                                  std::to_string(there) + " are there");
    }
    std::uint64_t letters = 0;
    for (const EndRecord& end : batch.ends)
      letters += end.phase == Phase::kDead || end.phase == Phase::kExpired ? 1 : 0;
    if (letters != batch.dead_puts)
      verdicts_.violation(11, "dead letters and dead messages differ");
    const std::uint64_t taken =
        (after.redriven - before.redriven) + (after.dropped - before.dropped) + batch.letters_lost;
    if (taken != batch.dead_removes)
      verdicts_.violation(11, "dead letters went that were neither redriven nor dropped");
    check_letters(after);
  }

  // Every dead letter is there, or somebody knows where it went.
  void check_letters(const Counters& now) {
    const std::uint64_t gone = now.redriven + now.dropped + now.removed_dead;
    const std::uint64_t there = notebook_.letters() + notebook_.letters_lost();
    if (now.dead + now.expired == gone + there) return;
    verdicts_.violation(11, "dead + expired = " + std::to_string(now.dead + now.expired) +
                                ", but " + std::to_string(gone) + " letters went and " +
                                std::to_string(there) + " are there");
  }

  Verdicts& verdicts_;
  Notebook& notebook_;
};

}  // namespace

std::unique_ptr<Checker> make_ends_checker(const CheckerContext& context, Notebook& notebook) {
  return std::make_unique<EndsChecker>(context, notebook);
}

}  // namespace postrider::sim
