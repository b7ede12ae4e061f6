// Checker 35: a lower priority waits for a bounded number of higher starts. While something of it
// waits that nothing but its turn holds up, the starts of higher priorities in its lane are at most
// as many as the rule allows between two turns, for each priority that has turns.
#include <algorithm>
#include <map>
#include <set>

#include "postrider/sim/checkers/all.h"

namespace postrider::sim {
namespace {

class PrioritiesChecker final : public Checker {
 public:
  PrioritiesChecker(const CheckerContext& context, Notebook& notebook)
      : verdicts_(context.verdicts), notebook_(notebook) {}

  // How many were passed is forgotten by a restart, and taken for as many as may be.
  void began(const Moment& when, Epoch /*epoch*/) override {
    newest_ = when.incarnation;
    for (auto& [name, lane] : lanes_) lane.passes.clear();
  }
  void damaged(const Moment& /*when*/, std::string_view /*key*/) override { blind_ = true; }

  void batch(const Batch& batch) override {
    for (const MessageNote* note : batch.entered) enter(*note);
    for (const Batch::StatePut& put : batch.states) settle(*put.note);
    for (const MessageNote* note : batch.left) {
      settle(*note);
      Lane& lane = lane_of(*note);
      lane.gated.erase(note->id);
      lane.others.erase(note->id);
      const auto of = lane.live.find(note->id.priority());
      if (of != lane.live.end() && --of->second == 0) lane.live.erase(of);
    }
    for (const DestinationNote* note : batch.configured) {
      for (auto& [name, lane] : lanes_) {
        if (name.first == note->id.value()) lane.passes.clear();
      }
    }
  }

  void left(const Left& left) override {
    const MessageNote* note = notebook_.find(left.start.message);
    if (note == nullptr || left.when.incarnation != newest_ || !is_start(left)) return;
    if (note->destination == nullptr || note->end) return;
    const Timestamp decided = decided_at(left).value_or(left.decided_after);
    Lane& lane = lane_of(*note);
    const Policy& policy = note->destination->policy;
    const bool fifo = policy.lane_kind(note->id.lane()) == LaneKind::kFifo;
    settle(*note);
    // Turns are also had by those who then wait at a gate, and spent on looking at those who sleep.
    const bool plain = !fifo && lane.gated.empty() && lane.others.size() <= kOthersMax &&
                       policy.lower_every > 0 && note->destination->configured < decided;
    if (!plain) return lane.passes.clear();
    for (const auto& [priority, waiting] : lane.waiting) {
      if (priority >= note->id.priority() || waiting.empty()) continue;
      if (waiting.begin()->second >= decided) continue;
      Passes& passes = lane.passes[priority];
      passes.priorities = std::max(passes.priorities, lane.live.size());
      ++passes.starts;
      if (passes.starts > policy.lower_every * std::max<std::size_t>(1, passes.priorities - 1) &&
          !blind_)
        verdicts_.violation(35, "passed by " + std::to_string(passes.starts) +
                                    " of higher priorities: " +
                                    to_string(MessageId{note->id.high, waiting.begin()->first}) +
                                    " of priority " + std::to_string(priority));
    }
  }

 private:
  static constexpr std::size_t kOthersMax = 8;

  struct Passes {
    std::size_t starts = 0;
    std::size_t priorities = 0;  // the most that there were at a time
  };
  struct Lane {
    // By priority: sequences that wait for their first start and for nothing else, and since when.
    std::map<std::uint16_t, std::map<std::uint64_t, Timestamp>> waiting;
    std::map<std::uint16_t, Passes> passes;
    std::map<std::uint16_t, std::uint32_t> live;
    std::set<MessageId> gated;
    std::set<MessageId> others;  // perhaps in back-off, parked, or not to be sent yet
  };

  static bool is_start(const Left& left) {
    return is_send(left.call) || left.start.request.verb == "FIND";
  }

  Lane& lane_of(const MessageNote& note) {
    return lanes_[{note.id.destination().value(), note.id.lane()}];
  }

  void enter(const MessageNote& note) {
    Lane& lane = lane_of(note);
    ++lane.live[note.id.priority()];
    if (note.gates[0] != 0) {
      lane.gated.insert(note.id);
    } else if (note.not_before.is_set()) {
      lane.others.insert(note.id);
    } else {
      lane.waiting[note.id.priority()].emplace(note.id.sequence().value(), note.accepted);
    }
  }

  // It had its turn, or something else became of it.
  void settle(const MessageNote& note) {
    Lane& lane = lane_of(note);
    lane.passes.erase(note.id.priority());
    lane.waiting[note.id.priority()].erase(note.id.sequence().value());
    if (note.live()) lane.others.insert(note.id);
  }

  Verdicts& verdicts_;
  Notebook& notebook_;
  Incarnation newest_ = 0;
  bool blind_ = false;
  std::map<std::pair<std::uint64_t, std::uint8_t>, Lane> lanes_;
};

}  // namespace

std::unique_ptr<Checker> make_priorities_checker(const CheckerContext& context,
                                                 Notebook& notebook) {
  return std::make_unique<PrioritiesChecker>(context, notebook);
}

}  // namespace postrider::sim
