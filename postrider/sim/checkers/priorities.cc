// Checker 35: a lower priority waits for a bounded number of higher starts. While something of it
// waits that nothing but its turn holds up, the starts of higher priorities in its lane are at most
// as many as the rule allows between two turns, for each priority that has turns. Where waiting
// counts, nobody starts before one in memory that is worth more.
#include <algorithm>
#include <deque>
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
    for (auto& [name, lane] : lanes_) lane.passes.clear(), lane.in_memory.clear();
  }
  void damaged(const Moment& /*when*/, std::string_view /*key*/) override { blind_ = true; }

  void batch(const Batch& batch) override {
    for (const MessageNote* note : batch.entered) enter(*note);
    for (const Batch::StatePut& put : batch.states) settle(*put.note);
    for (const MessageNote* note : batch.moved) {
      lane_of(*note).in_memory.erase(note->id);
      lane_of(*note).on_disk.insert(note->id);
    }
    for (const MessageNote* note : batch.left) {
      settle(*note);
      Lane& lane = lane_of(*note);
      lane.gated.erase(note->id);
      lane.on_disk.erase(note->id);
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
    // A batch that leaves again is no turn: nothing else of its destination can have one.
    if (!left.call.batch.empty() && !batches_.insert(left.call.batch).second) return;
    const Timestamp decided = decided_at(left).value_or(left.decided_after);
    Lane& lane = lane_of(*note);
    const Policy& policy = note->destination->policy;
    const bool fifo = policy.lane_kind(note->id.lane()) == LaneKind::kFifo;
    const bool first = lane.waiting[note->id.priority()].contains(note->id.sequence().value());
    const bool settled = note->destination->configured < decided;
    if (first && !fifo && lane.on_disk.empty() && settled && !lane.passed_lately(note->id))
      check_age(lane, *note, {decided, left.when.engine});
    lane.note_start(note->id, policy.lower_every);
    settle(*note);
    // Turns are also had by those who then wait at a gate, and spent on looking at those who sleep.
    const bool plain = !fifo && lane.gated.empty() && lane.others.size() <= kOthersMax &&
                       policy.lower_every > 0 && settled;
    if (!plain) return lane.passes.clear();
    // Whoever is the highest meanwhile is passed by nobody, and stands behind the others when one
    // comes that is higher.
    if (!lane.live.empty()) lane.passes.erase(lane.live.rbegin()->first);
    for (const auto& [priority, waiting] : lane.waiting) {
      if (priority >= note->id.priority() || waiting.empty()) continue;
      if (waiting.begin()->second >= decided) continue;
      Passes& passes = lane.passes[priority];
      for (const auto& [other, count] : lane.live) passes.priorities.insert(other);
      passes.priorities.insert(note->id.priority());
      ++passes.starts;
      if (passes.starts >
              policy.lower_every * std::max<std::size_t>(1, passes.priorities.size() - 1) &&
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
    std::set<std::uint16_t> priorities;  // that there were meanwhile
  };
  struct Lane {
    // By priority: sequences that wait for their first start and for nothing else, and since when.
    std::map<std::uint16_t, std::map<std::uint64_t, Timestamp>> waiting;
    std::map<std::uint16_t, Passes> passes;
    std::map<std::uint16_t, std::uint32_t> live;
    std::set<MessageId> in_memory;  // of those that wait, accepted straight into the window
    std::set<MessageId> on_disk;
    std::set<MessageId> gated;
    std::set<MessageId> others;        // perhaps in back-off, parked, or not to be sent yet
    std::deque<std::uint16_t> starts;  // priorities of the latest

    // A higher one started a moment ago: then this one may have its turn among the lower ones,
    // though it is the highest that waits.
    bool passed_lately(MessageId id) const {
      return std::any_of(starts.begin(), starts.end(),
                         [&](std::uint16_t other) { return other > id.priority(); });
    }
    void note_start(MessageId id, int lower_every) {
      starts.push_back(id.priority());
      while (starts.size() > 2 * static_cast<std::size_t>(lower_every)) starts.pop_front();
    }
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
    if (!note.hot) lane.on_disk.insert(note.id);
    if (note.gates[0] != 0) {
      lane.gated.insert(note.id);
    } else if (note.not_before.is_set()) {
      lane.others.insert(note.id);
    } else {
      lane.waiting[note.id.priority()].emplace(note.id.sequence().value(), note.accepted);
      if (note.hot) lane.in_memory.insert(note.id);
    }
  }

  struct Span {
    Timestamp from;
    Timestamp until;
  };
  // Each full step of waiting is worth one priority, among those in memory. The highest priority
  // has no turn but this; nobody in memory was worth more when it was decided. With something on
  // disk, one that has an order may have had to wait for that.
  void check_age(const Lane& lane, const MessageNote& note, const Span& decided) {
    const Duration step = note.destination->policy.age_step;
    if (step <= Duration(0) || lane.live.empty()) return;
    if (lane.live.rbegin()->first != note.id.priority()) return;
    const std::int64_t worth = note.id.priority() + (decided.until - note.accepted) / step;
    for (const MessageId& id : lane.in_memory) {
      const auto& waiting = lane.waiting.at(id.priority());
      const auto other = waiting.find(id.sequence().value());
      if (other == waiting.end() || other->second >= decided.from) continue;
      if (id.priority() + (decided.from - other->second) / step > worth && !blind_)
        verdicts_.violation(35, "started before one that had waited for longer: " + to_string(id));
    }
  }

  // It had its turn, or something else became of it.
  void settle(const MessageNote& note) {
    Lane& lane = lane_of(note);
    lane.passes.erase(note.id.priority());
    lane.waiting[note.id.priority()].erase(note.id.sequence().value());
    lane.in_memory.erase(note.id);
    if (note.live()) lane.others.insert(note.id);
  }

  Verdicts& verdicts_;
  Notebook& notebook_;
  std::set<std::string> batches_;  // that have left
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
