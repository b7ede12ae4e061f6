// Checker 46, of the drill: a sign of life of a destination ends the back-off of its messages whose
// table has a row for that, wherever they are.
#include <map>
#include <string>
#include <vector>

#include "postrider/sim/fields/drill/checkers/all.h"

namespace postrider::sim {
namespace {

class SeenChecker final : public Checker {
 public:
  SeenChecker(const CheckerContext& context, Notebook& notebook)
      : verdicts_(context.verdicts), notebook_(notebook) {}

  // A walk that a process did not finish is forgotten with it.
  void began(const Moment& /*when*/, Epoch /*epoch*/) override { signs_.clear(); }
  void died(const Moment& /*when*/) override { signs_.clear(); }

  void asked(const Asked& asked) override {
    constexpr std::string_view kHere = "here ";
    if (const auto* seen = std::get_if<PeerSeen>(&asked.event))
      signs_.push_back({asked.when, seen->destination});
    const auto* arrived = std::get_if<Arrived>(&asked.event);
    if (arrived != nullptr && arrived->bytes.starts_with(kHere))
      signs_.push_back({asked.when, arrived->bytes.substr(kHere.size())});
  }

  void batch(const Batch& batch) override {
    for (const MessageNote* note : batch.left) {
      if (!note->live()) sleeping_.erase(note->id);
    }
    for (const Batch::StatePut& put : batch.states) {
      if (hears(*put.note, put.state)) {
        Sleep& sleep = sleeping_[put.note->id];
        if (sleep.due != put.state.due) sleep = {put.state.due, batch.when.truth};
      } else {
        sleeping_.erase(put.note->id);
      }
    }
    std::erase_if(signs_, [&](const Sign& sign) {
      const bool old = sign.when.truth + kPatience < batch.when.truth &&
                       sign.when.engine + kPatience < batch.when.engine;
      if (old) check(sign);
      return old;
    });
  }

 private:
  static constexpr Duration kPatience = 10min;
  static constexpr Duration kCommitMost = 2min;

  struct Sign {
    Moment when;
    std::string destination;
  };
  struct Sleep {
    Timestamp due;
    Timestamp stored;  // true time
  };

  static bool hears(const MessageNote& note, const State& state) {
    if (note.destination == nullptr || note.destination->profile == nullptr) return false;
    const ProfileSpec& profile = *note.destination->profile;
    if (profile.states[state.state].phase != Phase::kBackoff) return false;
    const Transition* row =
        find_row(profile.methods[state.method].rows, state.state, On::kPeerSeen);
    return row != nullptr && row->verb != Do::kIgnore;
  }

  void check(const Sign& sign) {
    const DestinationNote* destination = notebook_.find(sign.destination);
    if (destination == nullptr || destination->damaged) return;
    const auto last = sleeping_.lower_bound({(destination->id.value() + 1) << 20, 0});
    for (auto at = sleeping_.lower_bound({destination->id.value() << 20, 0}); at != last; ++at) {
      const MessageNote* note = notebook_.find(at->first);
      const bool before = at->second.stored + kCommitMost < sign.when.truth;
      const bool sleeps_on = at->second.due > sign.when.engine + 2 * kPatience;
      if (note == nullptr || note->damaged || !before || !sleeps_on) continue;
      verdicts_.violation(46, "a sign of life did not end a back-off: " + to_string(at->first));
    }
  }

  Verdicts& verdicts_;
  Notebook& notebook_;
  std::vector<Sign> signs_;
  std::map<MessageId, Sleep> sleeping_;  // as the disk has them
};

}  // namespace

std::unique_ptr<Checker> make_seen_checker(const CheckerContext& context, Notebook& notebook) {
  return std::make_unique<SeenChecker>(context, notebook);
}

}  // namespace postrider::sim
