// Checker 25: news of network servers. Once it is durable it has moved the attempt that it names: a
// transmission, an acknowledgement and its refusal, in any order and before any of the others. An
// acknowledgement and the uplink that answers are one answer exactly when they are less than ten
// seconds apart.
#include <map>
#include <unordered_map>

#include "postrider/protocols/meter/frame.h"
#include "postrider/sim/checkers/all.h"
#include "postrider/sim/fields/device/checkers/all.h"
#include "postrider/sim/fields/device/checkers/arrivals.h"
#include "postrider/sim/fields/device/checkers/notes.h"

namespace postrider::sim {
namespace {

using chirpstack::Event;
using chirpstack::EventKind;

constexpr Duration kPairWindow{10'000};
constexpr Duration kPatience = 20min;  // slow reads, slow commits, a full event queue

constexpr StateMask kBeforeAir =
    in(device::kSending) | in(device::kCheckSend) | in(device::kAtServer) | in(device::kCheckNs);
constexpr StateMask kBeforeAck = kBeforeAir | in(device::kOnAir) | in(device::kCheckAir);
// Where an uplink may be taken for the answer without the acknowledgement's id.
constexpr StateMask kHears = in(device::kOnAir) | in(device::kCheckAir) | in(device::kHalfAck);

class RadioChecker final : public Checker {
 public:
  RadioChecker(const CheckerContext& context, Notebook& notebook)
      : verdicts_(context.verdicts),
        notebook_(notebook),
        few_(context.shard.engine.pending_news.count < 1000) {}

  void began(const Moment& when, Epoch /*epoch*/) override { began_ = when.truth; }
  void died(const Moment& when) override { began_ = when.truth + Duration(24h); }

  void batch(const Batch& batch) override {
    std::map<std::string, std::vector<Half>> ups;  // of this batch, by device
    for (const ArrivalRecord& arrival : batch.arrivals) {
      const auto event = event_in(arrival);
      if (!event) continue;
      check_item(*event, batch);
      if (event->deduplication_id.empty()) continue;
      Half half{arrival.at, *event};
      if (event->kind == EventKind::kUp) ups[event->dev_eui].push_back(half);
      join(half, batch.when.truth);
    }
    for (const EndRecord& end : batch.ends) check_pairing(end, ups);
    for (const Batch::NamePut& put : batch.names) {
      const auto item = item_in(put.tail);
      if (item && !put.entry.holders.empty()) items_[*item] = put.entry.holders.back();
    }
    for (const MessageNote* note : batch.left) waiting_.erase(note->id);
    check_waiting(batch.when.truth);
  }

 private:
  struct Half {
    Timestamp at;
    Event event;
  };
  struct Pair {
    std::optional<Half> ack;
    std::optional<Half> up;
  };
  struct Waits {
    Timestamp since;  // both halves were durable
    std::string pair;
  };

  static std::string pair_of(const Event& event) {
    return event.dev_eui + '/' + event.deduplication_id;
  }

  const MessageNote* named(const std::string& item, bool current) const {
    const auto at = items_.find(item);
    if (at == items_.end()) return nullptr;
    const MessageNote* note = notebook_.find(at->second.id);
    const bool there = is_command(note) && note->live() && !note->damaged && !note->end &&
                       !note->destination->damaged;
    if (!there || (current && (!note->state || note->state->attempts != at->second.attempt)))
      return nullptr;
    return note;
  }

  // The name was known before this batch, so the news has done its work in it.
  void check_item(const Event& event, const Batch& batch) {
    const MessageNote* note = named(event.queue_item_id, true);
    if (note == nullptr || event.queue_item_id.empty()) return;
    StateMask left = 0;
    if (event.kind == EventKind::kTxAck) left = kBeforeAir;
    if (event.kind == EventKind::kAck) left = event.acknowledged ? kBeforeAck : kBeforeAir;
    if (event.kind == EventKind::kLog && says_discarded(event)) left = kBeforeAir;
    if ((left & in(note->state->state)) == 0 || was_elsewhere(*note, left, batch)) return;
    verdicts_.violation(25, "news (" + std::string(name_of(event.kind)) +
                                ") did not move what it names: " + to_string(note->id));
  }

  // A batch may hold many turns: it was moved, and other news brought it back.
  static bool was_elsewhere(const MessageNote& note, StateMask left, const Batch& batch) {
    for (const Batch::StatePut& put : batch.states) {
      if (put.note == &note && put.before && (left & in(put.before->state)) == 0) return true;
    }
    for (const auto& [who, state] : batch.steps) {
      if (who == &note && (left & in(state.state)) == 0) return true;
    }
    return false;
  }

  void join(const Half& half, Timestamp truth) {
    const bool ack = half.event.kind == EventKind::kAck && half.event.acknowledged;
    if (!ack && half.event.kind != EventKind::kUp) return;
    Pair& pair = pairs_[pair_of(half.event)];
    std::optional<Half>& mine = ack ? pair.ack : pair.up;
    if (mine) return;  // a repeat
    mine = half;
    if (!pair.ack || !pair.up || apart(pair) >= kPairWindow) return;
    const MessageNote* note = named(pair.ack->event.queue_item_id, false);
    if (note == nullptr || !is_answer(*note, pair.up->event)) return;
    waiting_.emplace(note->id, Waits{truth, pair_of(half.event)});
  }

  // As the engine reckons: stamps from before a leap mean a later time.
  Duration apart(const Pair& pair) const {
    const WallBooks& wall = notebook_.meta().wall;
    const Duration apart = wall.meant(pair.ack->at) - wall.meant(pair.up->at);
    return apart < Duration(0) ? -apart : apart;
  }

  static bool is_answer(const MessageNote& note, const Event& up) {
    const device::Request& request = command_of(note)->command.request;
    const auto read = device::read_uplink(up.data, request.meter, &request);
    return read && read->kind == device::UplinkKind::kAnswer;
  }

  void check_waiting(Timestamp truth) {
    if (few_) return;
    for (const auto& [id, waits] : waiting_) {
      const MessageNote* note = notebook_.find(id);
      if (note == nullptr || note->damaged || truth - std::max(waits.since, began_) <= kPatience)
        continue;
      // A leap that was believed since then may lie between them.
      if (apart(pairs_.at(waits.pair)) >= kPairWindow) continue;
      verdicts_.violation(25, "both halves of its answer are there: " + to_string(id));
      waiting_.erase(id);
      return;
    }
  }

  // Answered by one uplink, in a state in which only the acknowledgement's id could tell whose it
  // is: then the two were less than the window apart.
  void check_pairing(const EndRecord& end, const std::map<std::string, std::vector<Half>>& ups) {
    const MessageNote* note = notebook_.find(end.id);
    if (!is_command(note) || end.phase != Phase::kDelivered || !note->last_state || note->damaged ||
        !command_of(*note)->is_push || (kHears & in(note->last_state->state)) != 0)
      return;
    if (waiting_.contains(end.id)) return;  // two halves that came before were joined at last
    for (const auto& [device, halves] : ups) {
      if (halves.size() != 1 || !is_answer(*note, halves.front().event)) continue;
      const auto pair = pairs_.find(pair_of(halves.front().event));
      if (pair == pairs_.end() || !pair->second.ack || apart(pair->second) < kPairWindow) continue;
      const auto item = items_.find(pair->second.ack->event.queue_item_id);
      if (item != items_.end() && item->second.id == end.id)
        verdicts_.violation(25,
                            "answered by an uplink that came too late for its acknowledgement: " +
                                to_string(end.id));
    }
  }

  Verdicts& verdicts_;
  Notebook& notebook_;
  bool few_;  // halves are thrown away because they are too many
  Timestamp began_;
  std::unordered_map<std::string, NameEntry::Holder> items_;
  std::unordered_map<std::string, Pair> pairs_;
  std::map<MessageId, Waits> waiting_;
};

}  // namespace

std::unique_ptr<Checker> make_radio_checker(const CheckerContext& context, Notebook& notebook) {
  return std::make_unique<RadioChecker>(context, notebook);
}

}  // namespace postrider::sim
