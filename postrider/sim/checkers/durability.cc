// Checkers 2 and 12: whatever leaves the process is durable, answers to questions never go back,
// and no name is used twice over all incarnations.
#include <map>
#include <unordered_map>

#include "postrider/sim/checkers/all.h"

namespace postrider::sim {
namespace {

class DurabilityChecker final : public Checker {
 public:
  DurabilityChecker(const CheckerContext& context, Notebook& notebook)
      : verdicts_(context.verdicts), notebook_(notebook) {}

  void began(const Moment& when, Epoch epoch) override {
    newest_ = when.incarnation;
    if (epoch <= last_epoch_) verdicts_.violation(12, "an epoch was given out twice");
    last_epoch_ = epoch;
  }

  void batch(const Batch& batch) override {
    for (const MessageNote* note : batch.entered) {
      if (note->id.sequence().value() >> kCounterBits != batch.applied.epoch.value()) {
        verdicts_.violation(
            12, "a sequence does not belong to its owner's epoch: " + to_string(note->id));
      }
    }
    // Within one batch a destination may go and come back, and its letters with it.
    for (const DestinationNote* note : batch.configured) {
      std::erase_if(letters_,
                    [&](const auto& asked) { return asked.second.destination() == note->id; });
    }
  }

  void left(const Left& left) override {
    const MessageNote* note = notebook_.find(left.start.message);
    if (note == nullptr)
      return verdicts_.violation(2, "an attempt left before its message was durable");
    if (left.call.id != left.start.message)
      return verdicts_.violation(2, "a request names another message than it is for");
    const Timestamp decided = decided_at(left).value_or(left.decided_after);
    // A replaced owner that does not know it may send, and its engine time is another one.
    if (note->end && left.when.incarnation == newest_ && decided > note->end->at)
      verdicts_.violation(1, "an attempt of a message that has ended: " + to_string(note->id));
    const bool carries_body = is_send(left.call) && left.call.carries_body;
    if (carries_body && left.call.body_hash != note->body_hash)
      verdicts_.violation(2, "a request carries another body than was accepted");
    if (note->destination == nullptr || note->destination->profile == nullptr || note->end) return;
    const ProfileSpec& profile = *note->destination->profile;
    if (!is_send(left.call) || !profile.methods[note->method].durable_intent || note->damaged)
      return;
    // News may have moved it on in the very turn in which it was started.
    const bool recorded =
        note->state && (profile.states[note->state->state].phase == Phase::kInFlight ||
                        (note->state->attempts > 0 && note->state->since >= left.decided_after));
    if (!recorded)
      verdicts_.violation(2,
                          "an attempt left whose intent was not durable: " + to_string(note->id));
  }

  void asked(const Asked& asked) override {
    if (const auto* query = std::get_if<Query>(&asked.event))
      questions_[asked.ticket.value()] = query->id;
    if (const auto* redrive = std::get_if<Redrive>(&asked.event))
      note_letter(asked.ticket, redrive->id);
    if (const auto* drop = std::get_if<Drop>(&asked.event)) note_letter(asked.ticket, drop->id);
  }

  void told(const Told& told) override {
    const MessageNote* note = notebook_.find(told.answer.id);
    if (told.answer.code == AnswerCode::kAccepted && note == nullptr &&
        !std::holds_alternative<FanoutView>(told.answer.view)) {
      return verdicts_.violation(
          2, "a message was promised that is not durable: " + to_string(told.answer.id));
    }
    if (const auto* stats = std::get_if<Stats>(&told.answer.view)) check_counters(stats->counters);
    if (const auto* explanation = std::get_if<Explanation>(&told.answer.view))
      check_explanation(*explanation);
    if (const auto* page = std::get_if<MessagePage>(&told.answer.view)) {
      for (const Explanation& one : page->messages) check_explanation(one);
    }
    if (const auto* whole = std::get_if<MessageView>(&told.answer.view))
      check_explanation(whole->explanation);
    check_letter(told);
    const auto asked = questions_.find(told.ticket.value());
    if (asked == questions_.end()) return;
    const MessageNote* subject = notebook_.find(asked->second);
    if (told.answer.code == AnswerCode::kNotFound && subject != nullptr && subject->live() &&
        !subject->damaged) {
      verdicts_.violation(2, "a live message was not found: " + to_string(subject->id));
    }
    questions_.erase(asked);
  }

 private:
  // A dead letter that is there can be redriven and dropped, for as long as it is there.
  void note_letter(Ticket ticket, MessageId id) {
    // One whose destination was gone may be back when the answer is told.
    const DestinationNote* destination = notebook_.find(id.destination());
    const bool reachable = destination != nullptr && !destination->config.removed;
    if (reachable && notebook_.letter(id) != nullptr) letters_[ticket.value()] = id;
  }
  void check_letter(const Told& told) {
    const auto asked = letters_.find(told.ticket.value());
    if (asked == letters_.end()) return;
    const MessageId id = asked->second;
    letters_.erase(asked);
    const LetterNote* letter = notebook_.letter(id);
    const DestinationNote* destination = notebook_.find(id.destination());
    const bool there = letter != nullptr && !letter->damaged && destination != nullptr &&
                       !destination->config.removed;
    if (there && told.answer.code == AnswerCode::kNotFound)
      verdicts_.violation(2, "a dead letter was not found: " + to_string(id));
  }

  void check_counters(const Counters& seen) {
    const Counters& durable = notebook_.counters();
    const bool ahead = seen.accepted > durable.accepted || seen.ended() > durable.ended() ||
                       seen.delivered > durable.delivered;
    if (ahead) verdicts_.violation(2, "counters were told that are not durable");
    const bool back = seen.accepted < seen_.accepted || seen.ended() < seen_.ended() ||
                      seen.delivered < seen_.delivered;
    if (back) verdicts_.violation(2, "counters went back");
    if (seen.accepted != seen.ended() + seen.live())
      verdicts_.violation(11, "counters that do not add up");
    seen_ = seen;
  }

  void check_explanation(const Explanation& seen) {
    const MessageNote* note = notebook_.find(seen.id);
    if (note == nullptr)
      return verdicts_.violation(2, "a message was explained that is not durable");
    if (seen.place == Explanation::Place::kQuarantine) {
      if (!note->quarantined)
        verdicts_.violation(2, "a message was said to be unreadable: " + to_string(seen.id));
      return;
    }
    if (is_end(seen.phase)) {
      if (!note->end || note->end->phase != seen.phase)
        verdicts_.violation(2, "an end was told that is not durable: " + to_string(seen.id));
      ended_.emplace(seen.id, seen.phase);
      return;
    }
    if (ended_.contains(seen.id))
      verdicts_.violation(2, "a message that had ended was told to live: " + to_string(seen.id));
    if (seen.accepted != note->accepted || seen.expires != note->expires ||
        seen.origin != note->origin) {
      verdicts_.violation(2, "a message was explained wrongly: " + to_string(seen.id));
    }
  }

  Verdicts& verdicts_;
  Notebook& notebook_;
  Epoch last_epoch_;
  Incarnation newest_ = 0;
  Counters seen_;
  std::unordered_map<MessageId, Phase> ended_;
  std::unordered_map<std::uint64_t, MessageId> questions_;
  std::unordered_map<std::uint64_t, MessageId> letters_;  // that were there when it was asked
};

// What must not run twice does not, whatever the network and the crashes do. Two copies of one
// request are the network's doing; two attempts are ours.
class OnceChecker final : public Checker {
 public:
  OnceChecker(const CheckerContext& context, Notebook& /*notebook*/)
      : verdicts_(context.verdicts) {}

  void reached(const Reached& reached) override {
    if (!reached.executed || !reached.call.once) return;
    const std::pair<Incarnation, std::uint64_t> attempt{reached.when.incarnation,
                                                        reached.attempt.value()};
    const auto [at, is_new] = ran_.try_emplace(reached.call.id, attempt);
    if (!is_new && at->second != attempt)
      verdicts_.violation(3, "what must happen once ran twice: " + to_string(reached.call.id));
  }

 private:
  Verdicts& verdicts_;
  std::unordered_map<MessageId, std::pair<Incarnation, std::uint64_t>> ran_;
};

}  // namespace

std::unique_ptr<Checker> make_durability_checker(const CheckerContext& context,
                                                 Notebook& notebook) {
  return std::make_unique<DurabilityChecker>(context, notebook);
}

std::unique_ptr<Checker> make_once_checker(const CheckerContext& context, Notebook& notebook) {
  return std::make_unique<OnceChecker>(context, notebook);
}

}  // namespace postrider::sim
