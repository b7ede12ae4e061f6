// Checker 36: a message that is in the way of others of its order makes way when the rule says so,
// not earlier and not later; the gap that it leaves is told in the log and marked in the same
// commit, and explain tells those behind it.
#include <map>
#include <set>

#include "postrider/sim/checkers/all.h"

namespace postrider::sim {
namespace {

class GapsChecker final : public Checker {
 public:
  GapsChecker(const CheckerContext& context, Notebook& notebook)
      : verdicts_(context.verdicts), notebook_(notebook) {}

  void asked(const Asked& asked) override {
    const auto* query = std::get_if<Query>(&asked.event);
    if (query != nullptr && query->what == Query::What::kExplain)
      questions_[asked.ticket.value()] = {asked.when.truth, asked.when.engine};
  }

  void told(const Told& told) override {
    const auto* seen = std::get_if<Explanation>(&told.answer.view);
    const auto question = questions_.find(told.ticket.value());
    if (seen == nullptr || question == questions_.end()) return;
    const Question asked = question->second;
    questions_.erase(question);
    const MessageNote* note = notebook_.find(seen->id);
    if (note == nullptr || is_end(seen->phase) || note->damaged || note->destination == nullptr)
      return;
    if (seen->gap.is_set() && !ever_.contains(seen->gap))
      verdicts_.violation(36, "explain tells of a gap that never was: " + to_string(seen->id));
    const bool settled = note->destination->configured < asked.engine;
    if (seen->gap.is_set() || !settled || !is_in_order(*note) || blind_) return;
    const bool fifo = note->destination->policy.lane_kind(note->id.lane()) == LaneKind::kFifo;
    const auto first = gaps_.lower_bound({seen->id.high, 0});
    for (auto at = first; at != gaps_.end() && at->first < seen->id; ++at) {
      const MessageNote* gap = notebook_.find(at->first);
      if (gap == nullptr || !gap->gap || at->second >= asked.truth) continue;
      if (fifo || *gap->gap == note->gates[0])
        verdicts_.violation(36, "explain does not tell of a gap before " + to_string(seen->id));
    }
  }

  void damaged(const Moment& /*when*/, std::string_view /*key*/) override { blind_ = true; }

  void batch(const Batch& batch) override {
    std::set<MessageId> marked;
    for (const MessageNote* note : batch.gaps) {
      marked.insert(note->id);
      ever_.insert(note->id);
      gaps_[note->id] = batch.when.truth;
    }
    for (const MessageNote* note : batch.left) gaps_.erase(note->id);
    std::set<MessageId> told;
    for (const LogEntry& entry : batch.log) {
      if (entry.kind != LogEntry::Kind::kGap) continue;
      told.insert(entry.id);
      check_gap(entry, marked.contains(entry.id), batch);
    }
    for (const MessageId id : marked) {
      if (!told.contains(id))
        verdicts_.violation(36, "a gap is not told in the log: " + to_string(id));
    }
    for (const Batch::StatePut& put : batch.states) {
      check_retry(put);
      // By that a restart would know that it holds its key.
      if (marked.contains(put.note->id) && !put.note->line.empty() && put.note->gap &&
          *put.note->gap != 0 && put.state.first_attempt.is_set())
        verdicts_.violation(36,
                            "parked out of the way, and holds its key: " + to_string(put.note->id));
    }
  }

 private:
  struct Question {
    Timestamp truth;
    Timestamp engine;
  };

  void check_gap(const LogEntry& entry, bool marked, const Batch& batch) {
    const bool parked = entry.phase == Phase::kParked;
    if (parked && !marked)
      verdicts_.violation(36, "parked out of the way without a mark: " + to_string(entry.id));
    bool ended = false;
    for (const EndRecord& end : batch.ends) ended = ended || end.id == entry.id;
    if (!parked && !ended)
      verdicts_.violation(36, "skipped, and did not end: " + to_string(entry.id));
    const MessageNote* note = notebook_.find(entry.id);
    if (note == nullptr || note->destination == nullptr || note->damaged) return;
    if (note->destination->configured >= entry.at || note->destination->damaged) return;
    if (!is_in_the_way(*note, entry.attempts))
      verdicts_.violation(36, "taken out of the way too early: " + to_string(entry.id));
    if (parked && note->destination->policy.on_poison != OnPoison::kPark)
      verdicts_.violation(36, "parked although the rule says skip: " + to_string(entry.id));
  }

  // Nothing was sent, or the far side had too much to do: that says nothing about the message.
  void check_retry(const Batch::StatePut& put) {
    const MessageNote& note = *put.note;
    if (note.destination == nullptr || note.destination->profile == nullptr) return;
    if (note.damaged || note.destination->damaged) return;
    const State& state = put.state;
    const Phase phase = note.destination->profile->states[state.state].phase;
    if (phase != Phase::kBackoff || (put.before && put.before->due == state.due)) return;
    if (state.certainty == Certainty::kNotSent || state.failure == FailureClass::kThrottled) return;
    if (note.destination->configured >= state.since) return;
    if (is_in_the_way(note, state.attempts))
      verdicts_.violation(36,
                          "tried again although it is in the way of others: " + to_string(note.id) +
                              " attempt " + std::to_string(state.attempts));
  }

  Verdicts& verdicts_;
  Notebook& notebook_;
  bool blind_ = false;
  std::map<std::uint64_t, Question> questions_;
  std::map<MessageId, Timestamp> gaps_;  // and when they were marked
  std::set<MessageId> ever_;
};

}  // namespace

std::unique_ptr<Checker> make_gaps_checker(const CheckerContext& context, Notebook& notebook) {
  return std::make_unique<GapsChecker>(context, notebook);
}

}  // namespace postrider::sim
