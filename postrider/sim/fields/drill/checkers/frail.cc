// Checker 26: a gate that failures in a row close. After so many refused connections nobody passes
// for a while, neither to send nor to ask; then one send decides, and the others wait for it. Goes
// by the records that let the attempts out. What may have opened the gate is believed to have done
// so.
#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>
#include <vector>

#include "postrider/sim/fields/drill/checkers/all.h"
#include "postrider/sim/fields/drill/drill.h"

namespace postrider::sim {
namespace {

class FrailChecker final : public Checker {
 public:
  FrailChecker(const CheckerContext& context, Notebook& notebook)
      : verdicts_(context.verdicts), notebook_(notebook) {}

  // Nothing of it is stored.
  void began(const Moment& when, Epoch /*epoch*/) override {
    newest_ = when.incarnation;
    message_of_.clear();
    refused_.clear();
    open();
    sure_ = true;
  }

  // News of any kind may be an answer, or a sign of life, and may be read later than it came.
  void asked(const Asked& asked) override {
    if (std::holds_alternative<Arrived>(asked.event)) doubt(asked.when.truth);
  }
  void receipt(const Receipted& receipt) override { doubt(receipt.when.truth); }

  void left(const Left& left) override {
    const MessageNote* note = notebook_.find(left.start.message);
    if (note == nullptr || !is_frail(*note) || left.when.incarnation != newest_) return;
    message_of_[left.start.attempt.value()] = {note->id, left.call.sends};
    const auto at = decided_at(left);
    if (left.call.sends || !at || note->damaged || !closed_.is_set()) return;
    if (*at > closed_ && *at < opens_)
      verdicts_.violation(26, "asked through a gate that is closed: " + to_string(note->id));
  }

  void outcome(const Outcomed& outcome) override {
    const auto at = message_of_.find(outcome.attempt.value());
    if (at == message_of_.end() || outcome.when.incarnation != newest_) return;
    const auto [id, sends] = at->second;
    message_of_.erase(at);
    const bool refused =
        outcome.reply.end == WireEnd::kRefused || outcome.reply.end == WireEnd::kNoName;
    // A question that is refused counts as well, but no record says when.
    if (outcome.reply.end == WireEnd::kAnswered || (refused && !sends)) {
      doubt(outcome.when.truth);
    } else if (refused) {
      refused_[id] = outcome.when.engine;
    }
  }

  void batch(const Batch& batch) override {
    if (batch.when.truth < doubtful_until_) open();
    std::vector<Happening> list;
    // Ends first: at the same moment a trial may end and the next one begin.
    for (const EndRecord& end : batch.ends) {
      const MessageNote* note = notebook_.find(end.id);
      if (note != nullptr && is_frail(*note))
        list.push_back({end.at, note, std::nullopt, end.cause});
    }
    for (const auto& [note, state] : batch.steps) {
      if (is_frail(*note)) list.push_back({state.since, note, state, state.failure});
    }
    std::stable_sort(list.begin(), list.end(), [](const Happening& one, const Happening& other) {
      return one.at < other.at;
    });
    for (const Happening& happening : list) follow(happening);
    if (batch.when.truth < doubtful_until_) open();
  }

 private:
  static constexpr Duration kDoubt = 10min;  // slow commits and reads, and a full event queue

  struct Happening {
    Timestamp at;
    const MessageNote* note;
    std::optional<State> state;  // none: it ended
    FailureClass failure;
  };

  static bool is_frail(const MessageNote& note) {
    static const GateName kName = drill_gate_name(kDrillFrail);
    return std::find(note.gates.begin(), note.gates.end(), kName) != note.gates.end() &&
           note.destination != nullptr && note.destination->profile != nullptr &&
           note.destination->profile->name == "drill";
  }

  void open() {
    strikes_ = 0;
    sure_ = false;
    closed_ = opens_ = tried_ = first_strike_ = Timestamp();
    trial_ = MessageId();
  }
  void doubt(Timestamp truth) {
    doubtful_until_ = std::max(doubtful_until_, truth + kDoubt);
    open();
  }

  void follow(const Happening& happening) {
    const MessageId id = happening.note->id;
    const std::uint16_t before = std::exchange(
        attempts_[id], happening.state ? happening.state->attempts : std::uint16_t{0});
    const bool starts = happening.state && happening.state->attempts > before;
    const auto refused = refused_.find(id);
    // Refused, and this is what became of it.
    if (refused != refused_.end() && happening.at >= refused->second && !starts) {
      refused_.erase(refused);
      if (happening.failure == FailureClass::kConnect) strike(happening);
    }
    if (trial_ == id && happening.at > tried_) trial_ = MessageId();  // it has decided, or is over
    if (starts && !happening.note->damaged) start(happening);
    if (!happening.state) attempts_.erase(id);
  }

  void strike(const Happening& happening) {
    const bool decides = trial_ == happening.note->id;
    if (closed_.is_set() && !decides) return;
    if (strikes_++ == 0) first_strike_ = happening.at;
    if (strikes_ < kDrillStrikes) return;
    closed_ = happening.at;
    // What seemed to open it perhaps did not, and then the first of these strikes closed it.
    opens_ = (sure_ ? closed_ : first_strike_) + kDrillClosed;
    sure_ = true;
    trial_ = MessageId();
  }

  void start(const Happening& happening) {
    if (!closed_.is_set() || happening.at <= closed_) return;
    const std::string name = to_string(happening.note->id);
    if (happening.at < opens_)
      return verdicts_.violation(26, "started through a gate that is closed: " + name);
    if (trial_.is_set() && trial_ != happening.note->id && happening.at > tried_)
      return verdicts_.violation(26, "started while another one tries the gate: " + name);
    trial_ = happening.note->id;
    tried_ = happening.at;
  }

  Verdicts& verdicts_;
  Notebook& notebook_;
  Incarnation newest_ = 0;
  Timestamp doubtful_until_;                                                  // true time
  std::unordered_map<std::uint64_t, std::pair<MessageId, bool>> message_of_;  // and: it sends
  std::map<MessageId, Timestamp> refused_;  // engine time, at which or after which it is read
  std::map<MessageId, std::uint16_t> attempts_;
  std::uint16_t strikes_ = 0;
  bool sure_ = true;  // strikes_ are all that there were
  Timestamp first_strike_;
  Timestamp opens_;   // at the earliest
  Timestamp closed_;  // engine time; unset: open
  Timestamp tried_;   // when the trial began
  MessageId trial_;
};

}  // namespace

std::unique_ptr<Checker> make_frail_checker(const CheckerContext& context, Notebook& notebook) {
  return std::make_unique<FrailChecker>(context, notebook);
}

}  // namespace postrider::sim
