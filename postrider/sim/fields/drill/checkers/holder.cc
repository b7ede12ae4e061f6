// Checker 27: news that names a gate of one place is heard by whoever holds it, also after a
// restart, and is told when the name that it asks for was last given.
#include <algorithm>
#include <charconv>
#include <map>
#include <set>

#include "postrider/base/codec.h"
#include "postrider/sim/fields/drill/checkers/all.h"
#include "postrider/sim/fields/drill/drill.h"

namespace postrider::sim {
namespace {

struct Nudge {  // what the notes of its holder say
  Timestamp at;
  Timestamp witness;
};

std::optional<Nudge> nudge_in(std::string_view notes) {
  constexpr std::string_view kMark = ";nudged=";
  const std::size_t from = notes.find(kMark);
  if (from == std::string_view::npos) return std::nullopt;
  const char* last = notes.data() + notes.size();
  std::int64_t at = 0;
  std::int64_t witness = 0;
  const auto first = std::from_chars(notes.data() + from + kMark.size(), last, at);
  if (first.ec != std::errc() || first.ptr == last) return std::nullopt;
  std::from_chars(first.ptr + 1, last, witness);
  return Nudge{Timestamp(at), Timestamp(witness)};
}

class HolderChecker final : public Checker {
 public:
  HolderChecker(const CheckerContext& context, Notebook& notebook)
      : verdicts_(context.verdicts), notebook_(notebook) {}

  void began(const Moment& when, Epoch /*epoch*/) override { began_ = when.truth; }
  void damaged(const Moment& /*when*/, std::string_view key) override {
    if (key[0] == keys::kName || key[0] == keys::kArrival) blind_ = true;
  }

  void batch(const Batch& batch) override {
    std::map<std::string, std::set<Timestamp>> given;  // by this batch, and the last before
    for (const auto& [order, at] : last_) given[order].insert({at, meant(at)});
    for (const Batch::NamePut& put : batch.names) {
      Reader reader(put.tail);
      if (reader.text() != "drill/last") continue;
      const std::string order(reader.rest());
      // What the batch told before may go by none at all.
      if (!last_.contains(order)) given[order].insert(Timestamp());
      given[order].insert({put.entry.at, meant(put.entry.at)});
      last_[order] = put.entry.at;
    }
    for (const Batch::StatePut& put : batch.states) {
      if (const auto nudge = nudge_in(put.notes)) nudges_[put.note->id] = *nudge;
    }
    for (const ArrivalRecord& arrival : batch.arrivals) {
      constexpr std::string_view kVerb = "nudge ";
      if (arrival.bytes.starts_with(kVerb))
        check(batch, arrival.at, arrival.bytes.substr(kVerb.size()), given);
    }
    for (const Batch::StatePut& put : batch.states) {
      const MessageNote& note = *put.note;
      if (may_hold(note) && put.state.first_attempt.is_set() && note.live())
        holders_[note.order].insert(note.id);
    }
    for (const MessageNote* note : batch.left) {
      holders_[note->order].erase(note->id);
      nudges_.erase(note->id);
    }
  }

 private:
  static constexpr Duration kPatience = 20min;  // to find out who holds what
  static constexpr Duration kMemory = 7 * 24h;  // of names; they are kept for a little longer

  // Stamps from before a leap mean a later time, once it is believed.
  Timestamp meant(Timestamp engine) const { return notebook_.meta().wall.meant(engine); }

  // One of a line has no other gate than that.
  static bool may_hold(const MessageNote& note) {
    return !note.order.empty() && std::find(note.gates.begin(), note.gates.end(),
                                            drill_order_gate(note.order)) != note.gates.end();
  }

  void check(const Batch& batch, Timestamp at, const std::string& order,
             const std::map<std::string, std::set<Timestamp>>& given) {
    const std::set<MessageId>& holders = holders_[order];
    if (blind_ || holders.size() != 1 || batch.when.truth - began_ < kPatience) return;
    const MessageNote* note = notebook_.find(*holders.begin());
    if (note == nullptr || note->damaged || !note->live() || note->destination == nullptr ||
        note->destination->damaged)
      return;
    // A second one of the same moment changes nothing, and is not written.
    const auto nudge = nudges_.find(note->id);
    if (nudge != nudges_.end() && nudge->second.at >= at)
      return check_witness(*note, nudge->second, order, given);
    verdicts_.violation(27, "news of a gate was not heard by who holds it: " + to_string(note->id));
  }

  void check_witness(const MessageNote& note, const Nudge& nudge, const std::string& order,
                     const std::map<std::string, std::set<Timestamp>>& given) {
    const auto times = given.find(order);
    if (times == given.end()) {
      if (nudge.witness.is_set())
        verdicts_.violation(27, "told of a name that was never given: " + to_string(note.id));
      return;
    }
    if (nudge.at - *times->second.rbegin() > kMemory || times->second.contains(nudge.witness))
      return;
    verdicts_.violation(
        27, "told of another time than when the name was last given: " + to_string(note.id));
  }

  Verdicts& verdicts_;
  Notebook& notebook_;
  bool blind_ = false;  // records that this goes by were damaged
  Timestamp began_;
  std::map<std::string, Timestamp> last_;               // when the name of an order was last given
  std::map<std::string, std::set<MessageId>> holders_;  // by order
  std::map<MessageId, Nudge> nudges_;                   // the last one of each, as it is durable
};

}  // namespace

std::unique_ptr<Checker> make_holder_checker(const CheckerContext& context, Notebook& notebook) {
  return std::make_unique<HolderChecker>(context, notebook);
}

}  // namespace postrider::sim
