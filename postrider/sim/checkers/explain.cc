// Checker 14: what explain says comes next is what comes next. An attempt does not come before the
// time that was told, nor when only an operator was said to help; and when nothing comes between,
// it comes.
#include <map>
#include <set>
#include <unordered_map>

#include "postrider/sim/checkers/all.h"

namespace postrider::sim {
namespace {

class ExplainChecker final : public Checker {
 public:
  ExplainChecker(const CheckerContext& context, Notebook& notebook)
      : verdicts_(context.verdicts), notebook_(notebook) {}

  void began(const Moment& when, Epoch /*epoch*/) override {
    newest_ = when.incarnation;
    forget_all();
  }
  void died(const Moment& /*when*/) override { forget_all(); }

  void asked(const Asked& asked) override {
    std::visit(
        [this](const auto& event) {
          // Commands change what comes next, of one message or of all of a destination.
          if constexpr (requires {
                          event.caller;
                          event.id;
                        }) {
            promises_.erase(event.id);
            ++commands_[event.id];
          }
          if constexpr (requires { event.config; }) {
            disturb(event.config.name);
            for (const auto& [number, note] : notebook_.destinations()) {
              if (note->config.like == event.config.name) disturb(note->config.name);
            }
          }
        },
        asked.event);
    const auto* query = std::get_if<Query>(&asked.event);
    if (query != nullptr && query->what == Query::What::kExplain)
      note_question(asked.ticket, query->id);
    if (const auto* pause = std::get_if<Pause>(&asked.event)) disturb(pause->destination);
    if (const auto* resume = std::get_if<Resume>(&asked.event)) disturb(resume->destination);
    if (const auto* wake = std::get_if<Wake>(&asked.event)) disturb(wake->destination);
    if (const auto* seen = std::get_if<PeerSeen>(&asked.event)) disturb(seen->destination);
  }

  void receipt(const Receipted& receipt) override { promises_.erase(receipt.id); }

  void told(const Told& told) override {
    const auto* seen = std::get_if<Explanation>(&told.answer.view);
    if (seen == nullptr || is_end(seen->phase) || told.when.incarnation != newest_) return;
    const MessageNote* note = notebook_.find(seen->id);
    if (note == nullptr || note->damaged || note->destination == nullptr ||
        note->destination->damaged)
      return;
    const auto question = questions_.find(told.ticket.value());
    if (question == questions_.end() || question->second.commands != commands_[seen->id]) return;
    promises_[seen->id] = {seen->next,
                           seen->next_at,
                           told.when.engine,
                           question->second.disturbances,
                           crowds_[note->destination->id.value()],
                           ++last_promise_};
    questions_.erase(question);
    if (seen->next == Explanation::Next::kAttempt)
      looks_.emplace(std::max(seen->next_at, told.when.engine), Look{seen->id, last_promise_});
  }

  void left(const Left& left) override {
    if (left.when.incarnation == newest_) attempts_.insert(left.start.attempt.value());
    const auto at = promises_.find(left.start.message);
    if (at == promises_.end()) return;
    const Promise promise = at->second;
    const MessageNote* note = notebook_.find(left.start.message);
    promises_.erase(at);
    if (note == nullptr || note->destination == nullptr || left.when.incarnation != newest_) return;
    if (note->damaged || note->destination->damaged) return;
    if (promise.disturbances != disturbed_[note->destination->config.name]) return;
    const Timestamp decided = decided_at(left).value_or(left.when.engine);
    if (decided <= promise.told) return;  // the answer itself waited for the disk
    if (promise.next == Explanation::Next::kAttempt && promise.at.is_set() &&
        decided < promise.at) {
      verdicts_.violation(
          14, "an attempt came before the time that was told: " + to_string(left.start.message));
    }
    if (promise.next == Explanation::Next::kOperator) {
      verdicts_.violation(14, "an attempt came though only an operator was said to help: " +
                                  to_string(left.start.message));
    }
  }

  void aborted(const Aborted& aborted) override {
    close(aborted.when.incarnation, aborted.attempt);
  }
  void outcome(const Outcomed& outcome) override {
    close(outcome.when.incarnation, outcome.attempt);
  }

  void batch(const Batch& batch) override {
    // A change of the route or of the message itself makes what was told obsolete.
    for (const Batch::RoutePut& put : batch.routes) disturb(put.note->config.name);
    for (const Batch::StatePut& put : batch.states) promises_.erase(put.note->id);
    for (const EndRecord& end : batch.ends) promises_.erase(end.id);
    for (const MessageNote* note : batch.entered) {
      ++live_[note->id.destination().value()];
      crowd(*note);
    }
    for (const MessageNote* note : batch.left) {
      --live_[note->id.destination().value()];
      crowd(*note);
    }
    if (!batch.meta) return;
    // Engine time may jump, when a wall clock that was set stands; then there must be time to act
    // as well.
    while (!looks_.empty() && looks_.begin()->first < batch.meta->clock_floor) {
      last_looks_.emplace(batch.when.truth + kPatience, looks_.begin()->second);
      looks_.erase(looks_.begin());
    }
    while (!last_looks_.empty() && last_looks_.begin()->first < batch.when.truth) {
      look(last_looks_.begin()->second, batch.meta->clock_floor);
      last_looks_.erase(last_looks_.begin());
    }
  }

 private:
  static constexpr Duration kPatience =
      10min;  // slow commits, slow reads and a full event queue included

  struct Promise {
    Explanation::Next next = Explanation::Next::kNothing;
    Timestamp at;
    Timestamp told;
    std::uint64_t disturbances = 0;
    std::uint64_t crowd = 0;  // comings and goings at the destination
    std::uint64_t serial = 0;
  };
  struct Look {  // at what became of this promise
    MessageId id;
    std::uint64_t promise = 0;
  };

  struct Question {  // how things stood when it was asked
    std::uint64_t commands = 0;
    std::uint64_t disturbances = 0;
  };

  void note_question(Ticket ticket, MessageId id) {
    const MessageNote* note = notebook_.find(id);
    if (note == nullptr || note->destination == nullptr) return;
    questions_[ticket.value()] = {commands_[id], disturbed_[note->destination->config.name]};
  }

  void forget_all() {
    questions_.clear();
    promises_.clear();
    looks_.clear();
    last_looks_.clear();
    attempts_.clear();
  }

  void crowd(const MessageNote& note) { ++crowds_[note.id.destination().value()]; }
  void disturb(const std::string& destination) { ++disturbed_[destination]; }

  void close(Incarnation incarnation, AttemptId attempt) {
    if (incarnation == newest_) attempts_.erase(attempt.value());
  }

  // The time has come and gone. With the way open, nobody ahead and no gate to wait for, an attempt
  // must have come.
  void look(const Look& look, Timestamp now) {
    const MessageId id = look.id;
    const auto at = promises_.find(id);
    if (at == promises_.end() || at->second.serial != look.promise) return;
    const MessageNote* note = notebook_.find(id);
    if (note == nullptr || !note->live() || note->damaged ||
        (note->expires.is_set() && notebook_.expires_of(*note) <= now))
      return;
    const DestinationNote& destination = *note->destination;
    const bool open_way = !destination.route || (destination.route->health == Health::kNormal);
    const bool undisturbed = at->second.disturbances == disturbed_[destination.config.name];
    bool gated = destination.policy.group != 0;
    for (const GateName gate : note->gates) gated = gated || gate != 0;
    const bool alone = live_[destination.id.value()] == 1 && attempts_.empty() &&
                       at->second.crowd == crowds_[destination.id.value()];
    if (open_way && undisturbed && alone && !gated)
      verdicts_.violation(14, "an attempt was said to come and did not: " + to_string(id));
    promises_.erase(at);
  }

  Verdicts& verdicts_;
  Notebook& notebook_;
  Incarnation newest_ = 0;
  std::unordered_map<MessageId, Promise> promises_;
  std::unordered_map<std::uint64_t, Question> questions_;
  std::unordered_map<MessageId, std::uint64_t> commands_;
  std::uint64_t last_promise_ = 0;
  std::multimap<Timestamp, Look> looks_;       // by engine time
  std::multimap<Timestamp, Look> last_looks_;  // by true time
  std::map<std::string, std::uint64_t> disturbed_;
  std::map<std::uint64_t, std::uint32_t> live_;  // messages of each destination
  std::map<std::uint64_t, std::uint64_t> crowds_;
  std::set<std::uint64_t> attempts_;  // open
};

}  // namespace

std::unique_ptr<Checker> make_explain_checker(const CheckerContext& context, Notebook& notebook) {
  return std::make_unique<ExplainChecker>(context, notebook);
}

}  // namespace postrider::sim
