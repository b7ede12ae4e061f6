// Checker 17, of the drill: news and its name find each other, whichever came first, also over a
// crash; and two halves are one answer exactly when they are less than the window apart. Known from
// what lies on disk: names, and arrivals as they came.
#include <map>
#include <string>

#include "postrider/base/codec.h"
#include "postrider/sim/fields/drill/checkers/all.h"
#include "postrider/sim/fields/drill/drill.h"

namespace postrider::sim {
namespace {

std::string word_of(std::string_view text, int number) {
  for (; number > 0 && !text.empty(); --number) {
    const std::size_t space = text.find(' ');
    text = space == std::string_view::npos ? std::string_view() : text.substr(space + 1);
  }
  return std::string(text.substr(0, text.find(' ')));
}

class PairingChecker final : public Checker {
 public:
  PairingChecker(const CheckerContext& context, Notebook& notebook)
      : verdicts_(context.verdicts),
        notebook_(notebook),
        few_(context.shard.engine.pending_news.count < 1000) {}

  void began(const Moment& when, Epoch /*epoch*/) override { began_ = when.truth; }
  void died(const Moment& when) override { began_ = when.truth + Duration(24h); }
  void damaged(const Moment& /*when*/, std::string_view key) override {
    if (key[0] == keys::kName || key[0] == keys::kPendingNews || key[0] == keys::kArrival)
      blind_ = true;
  }

  void batch(const Batch& batch) override {
    for (const ArrivalRecord& arrival : batch.arrivals) arrive(arrival, batch.when);
    for (const Batch::NamePut& put : batch.names) name(put, batch.when);
    for (const EndRecord& end : batch.ends) {
      waiting_.erase(end.id);
      if (end.notes.find(";paired") != std::string::npos) check_pair(end);
    }
    for (const MessageNote* note : batch.left) waiting_.erase(note->id);
    if (blind_ || few_) return;
    for (const auto& [id, waits] : waiting_) {
      const MessageNote* note = notebook_.find(id);
      if (note == nullptr || note->damaged || note->destination == nullptr ||
          note->destination->damaged)
        continue;
      if (batch.when.truth - std::max(waits.since, began_) <= kPatience) continue;
      // A leap that was believed since then may lie between them.
      if (apart(waits.name, waits.news) >= waits.window) continue;
      return verdicts_.violation(17, "news did not reach its message: " + to_string(id));
    }
  }

 private:
  static constexpr Duration kPatience = 20min;  // slow reads, slow commits, a full event queue
  static constexpr Duration kHalfAge = 30min;   // halves are kept for longer

  struct Name {
    MessageId id;
    Timestamp at;
  };
  struct Waits {
    Timestamp since;  // both were durable
    Timestamp name;
    Timestamp news;
    Duration window;
  };

  // As the engine reckons: stamps from before a leap mean a later time.
  Timestamp meant(Timestamp engine) const { return notebook_.meta().wall.meant(engine); }
  Duration apart(Timestamp a, Timestamp b) const {
    return a < b ? meant(b) - meant(a) : meant(a) - meant(b);
  }

  // A name as the disk has it: text of the scope, then the name.
  void name(const Batch::NamePut& put, const Moment& when) {
    Reader reader(put.tail);
    const std::string scope(reader.text());
    if (!scope.starts_with("drill/") || put.entry.holders.empty()) return;
    const std::string name(reader.rest());
    const Name named{put.entry.holders.back().id, put.entry.at};
    if (!names_.emplace(name, named).second) return;
    const auto news = news_.find(name);
    if (news != news_.end()) meet(named, news->second, scope == "drill/pair", when);
  }

  void arrive(const ArrivalRecord& arrival, const Moment& when) {
    const std::string verb = word_of(arrival.bytes, 0);
    if (verb == "ack") acks_[word_of(arrival.bytes, 2)] = arrival.at;
    if (verb == "pair") pairs_[word_of(arrival.bytes, 1)] = arrival.at;
    if (verb != "done" && verb != "pair") return;
    const std::string name = word_of(arrival.bytes, 1);
    if (!news_.emplace(name, arrival.at).second) return;
    const auto named = names_.find(name);
    if (named != names_.end()) meet(named->second, arrival.at, verb == "pair", when);
  }

  // Both are there: an answer, if they are not too far apart. A name may itself follow from news
  // that waited for a name; then the other half has waited as long, and may be thrown away by now.
  void meet(const Name& name, Timestamp news, bool pair, const Moment& when) {
    const Duration window = pair ? kDrillPairWindow : Duration(kHalfAge);
    if (apart(name.at, news) >= window || when.engine - meant(news) >= kHalfAge) return;
    const MessageNote* note = notebook_.find(name.id);
    if (note != nullptr && note->live() && !note->end)
      waiting_.emplace(name.id, Waits{when.truth, name.at, news, window});
  }

  void check_pair(const EndRecord& end) {
    const MessageNote* note = notebook_.find(end.id);
    if (note == nullptr || note->damaged || blind_) return;
    for (const auto& [key, at] : acks_) {
      const auto named = names_.find(key);
      const auto pair = pairs_.find(key);
      if (named == names_.end() || named->second.id != end.id || pair == pairs_.end()) continue;
      if (apart(at, pair->second) < kDrillPairWindow) return;
    }
    verdicts_.violation(17, "two halves were paired that are too far apart: " + to_string(end.id));
  }

  Verdicts& verdicts_;
  Notebook& notebook_;
  bool few_;            // halves are thrown away because they are too many
  bool blind_ = false;  // records that this goes by were damaged
  Timestamp began_;
  std::map<std::string, Name> names_;
  std::map<std::string, Timestamp> news_;
  std::map<std::string, Timestamp> acks_;
  std::map<std::string, Timestamp> pairs_;
  std::map<MessageId, Waits> waiting_;
};

}  // namespace

std::unique_ptr<Checker> make_pairing_checker(const CheckerContext& context, Notebook& notebook) {
  return std::make_unique<PairingChecker>(context, notebook);
}

}  // namespace postrider::sim
