// Checker 18: durable intent. As long as nobody can know whether an attempt arrived, the next one
// is the same bytes; a question asks by the name that was noted; and questions follow the ladder.
#include <unordered_map>
#include <unordered_set>

#include "postrider/sim/fields/drill/checkers/all.h"

namespace postrider::sim {
namespace {

class IntentChecker final : public Checker {
 public:
  IntentChecker(const CheckerContext& context, Notebook& notebook)
      : verdicts_(context.verdicts), notebook_(notebook) {}

  void began(const Moment& when, Epoch /*epoch*/) override { newest_ = when.incarnation; }

  void left(const Left& left) override {
    const MessageNote* note = notebook_.find(left.start.message);
    if (left.call.method != "task" || note == nullptr || note->damaged ||
        note->destination == nullptr)
      return;
    if (!is_send(left.call)) return check_question(*note, left);
    Story& story = stories_[note->id];
    const bool same_settings =
        story.configured.is_set() && story.configured == note->destination->configured;
    if (!story.text.empty() && story.open && same_settings && story.text != left.call.text)
      verdicts_.violation(18, "a resend is not the same bytes: " + to_string(note->id));
    // What a replaced owner sends is recorded nowhere; and news may have closed it in the commit
    // that brought it.
    story.open = left.when.incarnation == newest_ && !awaits(*note);
    story.text = left.call.text;
    // What is sent in the commit that changes the settings may be of before that.
    const bool settled = note->destination->configured < left.decided_after;
    story.configured = settled ? note->destination->configured : Timestamp();
    story.attempt = left.start.attempt;
    message_of_[left.start.attempt.value()] = note->id;
  }

  void outcome(const Outcomed& outcome) override {
    const auto at = message_of_.find(outcome.attempt.value());
    if (at == message_of_.end()) return;
    const bool unknown =
        outcome.reply.end == WireEnd::kTimedOut || outcome.reply.end == WireEnd::kReset;
    Story& story = stories_[at->second];
    if (story.attempt == outcome.attempt && !unknown) story.open = false;
    message_of_.erase(at);
  }

  void batch(const Batch& batch) override {
    // News of any kind may have closed it.
    for (const Batch::NamePut& put : batch.names) {
      if (put.tail.find("drill/task") == std::string::npos) continue;
      for (const NameEntry::Holder& holder : put.entry.holders) {
        stories_[holder.id].open = false;
        given_.insert(holder.id);
      }
    }
    for (const Batch::StatePut& put : batch.states) {
      if (put.note->damaged || put.note->destination == nullptr) continue;
      const ProfileSpec* profile = put.note->destination->profile;
      if (profile == nullptr || profile->methods[put.state.method].name != "task") continue;
      const StateRow& row = profile->states[put.state.state];
      Story& story = stories_[put.note->id];
      if (put.awaited) story.open = false;
      if (row.timer == TimeOut::kPoll) check_schedule(put, batch);
    }
    for (const EndRecord& end : batch.ends) {
      stories_.erase(end.id);
      given_.erase(end.id);
    }
  }

 private:
  struct Story {
    std::string text;
    AttemptId attempt;
    Timestamp configured;
    bool open = false;
  };

  static bool awaits(const MessageNote& note) {
    const ProfileSpec* profile = note.destination->profile;
    return profile != nullptr && note.state &&
           profile->states[note.state->state].phase == Phase::kAwaiting;
  }

  void check_question(const MessageNote& note, const Left& left) {
    if (!note.state || note.destination->profile == nullptr) return;
    const std::string_view state = note.destination->profile->states[note.state->state].name;
    if (state != "polling" || !given_.contains(note.id)) return;
    if (left.call.task.empty())
      verdicts_.violation(18, "a question without the name that was noted: " + to_string(note.id));
  }

  // From the words of the specification: the first step whose bound the age has not reached.
  void check_schedule(const Batch::StatePut& put, const Batch& batch) {
    const Policy& policy = put.note->destination->policy;
    if (put.note->destination->configured + Duration(5min) > batch.when.engine) return;
    const Duration age = put.state.since - notebook_.accepted_of(*put.note);
    std::size_t step = 0;
    while (step + 1 < policy.poll.steps_used && age >= policy.poll.steps[step].below) ++step;
    if (put.state.due - put.state.since < policy.poll.steps[step].wait)
      verdicts_.violation(18, "asked sooner than the ladder says: " + to_string(put.note->id));
  }

  Verdicts& verdicts_;
  Notebook& notebook_;
  Incarnation newest_ = 0;
  std::unordered_map<MessageId, Story> stories_;
  std::unordered_map<std::uint64_t, MessageId> message_of_;
  std::unordered_set<MessageId> given_;  // those that have a name at the far side
};

}  // namespace

std::unique_ptr<Checker> make_intent_checker(const CheckerContext& context, Notebook& notebook) {
  return std::make_unique<IntentChecker>(context, notebook);
}

}  // namespace postrider::sim
