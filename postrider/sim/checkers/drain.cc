// Checker 16: a destination that is being drained takes nothing new, does not go while it has
// messages, and goes soon after the last.
#include <map>
#include <set>

#include "postrider/sim/checkers/all.h"

namespace postrider::sim {
namespace {

class DrainChecker final : public Checker {
 public:
  DrainChecker(const CheckerContext& context, Notebook& /*notebook*/)
      : verdicts_(context.verdicts) {}

  void began(const Moment& when, Epoch /*epoch*/) override { began_ = when.truth; }

  void batch(const Batch& batch) override {
    std::set<std::uint64_t> changed;
    for (const DestinationNote* note : batch.configured) changed.insert(note->id.value());
    for (const MessageNote* note : batch.entered) {
      const std::uint64_t destination = note->id.destination().value();
      ++live_[destination];
      // Within the batch that changes it, either may have come first.
      if (draining_.contains(destination) && !changed.contains(destination))
        verdicts_.violation(16, "a message entered what is being drained: " + to_string(note->id));
    }
    for (const MessageNote* note : batch.left) {
      const std::uint64_t destination = note->id.destination().value();
      if (--live_[destination] > 0) continue;
      const auto at = draining_.find(destination);
      if (at != draining_.end()) at->second = batch.when.truth;
    }
    for (const DestinationNote* note : batch.configured) note_change(*note, batch.when.truth);
    for (const auto& [destination, since] : draining_) {
      if (live_[destination] > 0 || batch.when.truth - std::max(since, began_) < kPatience)
        continue;
      verdicts_.violation(
          16, "a drained destination is empty and does not go: " + std::to_string(destination));
      draining_.erase(destination);
      break;
    }
  }

 private:
  // Slow commits, a full disk and restoring included.
  static constexpr Duration kPatience = 1h;

  void note_change(const DestinationNote& note, Timestamp now) {
    const std::uint64_t destination = note.id.value();
    if (note.config.removed && live_[destination] > 0)
      verdicts_.violation(16, "a destination went that had messages: " + note.config.name);
    if (note.config.draining && !note.config.removed) {
      draining_.try_emplace(destination, now);
    } else {
      draining_.erase(destination);
    }
  }

  Verdicts& verdicts_;
  Timestamp began_;                              // of the newest process
  std::map<std::uint64_t, Timestamp> draining_;  // since when, or since it is empty
  std::map<std::uint64_t, std::int64_t> live_;   // messages of each destination
};

}  // namespace

std::unique_ptr<Checker> make_drain_checker(const CheckerContext& context, Notebook& notebook) {
  return std::make_unique<DrainChecker>(context, notebook);
}

}  // namespace postrider::sim
