// Checker 28: trails. Every change of state that the disk saw of a message whose method keeps a
// trail is in it, with its time, and the last one is where the message is, or how it ended. Only a
// question that is asked once more leaves nothing.
#include <algorithm>
#include <unordered_map>

#include "postrider/model/attempts.h"
#include "postrider/sim/checkers/all.h"

namespace postrider::sim {
namespace {

class TrailChecker final : public Checker {
 public:
  TrailChecker(const CheckerContext& context, Notebook& notebook)
      : verdicts_(context.verdicts), notebook_(notebook) {}

  void batch(const Batch& batch) override {
    std::unordered_map<MessageId, std::vector<State>> moved;
    for (const auto& [note, state] : batch.steps) {
      if (!keeps(*note)) continue;
      std::vector<State>& states = moved[note->id];
      const bool known = known_.contains(note->id);
      const State before = states.empty() ? known_[note->id] : states.back();
      const bool same =
          (known || !states.empty()) && before.state == state.state && before.since == state.since;
      const bool asked_again =
          before.state == state.state && known && is_question(*note, state.state);
      if (!same && !asked_again) states.push_back(state);
    }
    for (const Batch::StatePut& put : batch.states) {
      if (!keeps(*put.note)) continue;
      known_[put.note->id] = put.state;
      if (put.note->end) continue;
      const auto trail = read(put.past, {put.state.since, put.reason});
      if (!trail) return verdicts_.violation(28, "a trail cannot be read: " + name(*put.note));
      check_moves(*put.note, moved[put.note->id], *trail);
      if (put.state.attempts > 0) check_last(*put.note, *trail, put.state.state, {});
    }
    for (const EndRecord& end : batch.ends) {
      const MessageNote* note = notebook_.find(end.id);
      if (note == nullptr || !keeps(*note)) continue;
      const auto trail = read(end.past, {end.at, end.reason});
      if (!trail) return verdicts_.violation(28, "a trail cannot be read: " + name(*note));
      check_moves(*note, moved[note->id], *trail);
      check_end(*note, end, *trail);
      known_.erase(end.id);
    }
  }

 private:
  static bool keeps(const MessageNote& note) {
    return !note.damaged && note.destination != nullptr && !note.destination->damaged &&
           note.destination->profile != nullptr &&
           note.destination->profile->methods[note.method].trail;
  }
  static Result<Trail> read(std::string_view bytes, const PastBeside& beside) {
    POSTRIDER_TRY(past, decode_attempt_history(bytes, beside));
    return std::move(past.trail);
  }
  static std::string name(const MessageNote& note) { return to_string(note.id); }
  static const StateRow& row_of(const MessageNote& note, StateIndex state) {
    return note.destination->profile->states[state];
  }
  static bool is_question(const MessageNote& note, StateIndex state) {
    const StateRow& row = row_of(note, state);
    return row.phase == Phase::kInFlight && row.timer != TimeOut::kAttempt;
  }

  void check_moves(const MessageNote& note, const std::vector<State>& states, const Trail& trail) {
    if (trail.size() >= kTrailStepsMax) return;  // the oldest steps are gone
    for (const State& state : states) {
      const bool accepted = state.attempts == 0 && state.since == note.accepted;
      if (accepted) continue;
      const bool there = std::any_of(trail.begin(), trail.end(), [&state](const TrailStep& step) {
        return step.state == state.state &&
               (step.at == state.since || (step.times > 1 && step.at < state.since));
      });
      if (!there)
        verdicts_.violation(28, "a step is not in the trail: " + name(note) + " to " +
                                    std::string(row_of(note, state.state).name));
    }
  }

  void check_last(const MessageNote& note, const Trail& trail, StateIndex state, Timestamp at) {
    if (!trail.empty() && trail.back().state == state &&
        (!at.is_set() || trail.back().times > 1 || trail.back().at == at))
      return;
    verdicts_.violation(28, "a trail ends elsewhere than in " +
                                std::string(row_of(note, state).name) + ": " + name(note));
  }

  void check_end(const MessageNote& note, const EndRecord& end, const Trail& trail) {
    if (!trail.empty() && row_of(note, trail.back().state).phase == end.phase &&
        trail.back().at == end.at)
      return;
    verdicts_.violation(28, "an end is not in its trail: " + name(note));
  }

  Verdicts& verdicts_;
  Notebook& notebook_;
  std::unordered_map<MessageId, State> known_;  // the last durable one
};

}  // namespace

std::unique_ptr<Checker> make_trail_checker(const CheckerContext& context, Notebook& notebook) {
  return std::make_unique<TrailChecker>(context, notebook);
}

}  // namespace postrider::sim
