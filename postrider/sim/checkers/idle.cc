// Checker 50, second half: a destination that goes because it was idle was idle: nothing came to it
// and nothing of it ended for its idle life, it was not paused, and it had no settings of its own.
// And what is idle goes: at the end of a world nothing is left that was due long ago.
#include <map>
#include <set>
#include <string>

#include "postrider/sim/checkers/all.h"

namespace postrider::sim {
namespace {

class IdleChecker final : public Checker {
 public:
  IdleChecker(const CheckerContext& context, Notebook& notebook)
      : verdicts_(context.verdicts), notebook_(notebook) {}

  void damaged(const Moment& /*when*/, std::string_view key) override {
    damaged_ = damaged_ || key[0] == keys::kLike || key[0] == keys::kTemplate;
  }

  void batch(const Batch& batch) override {
    // Before what the same commit brought: it may have made the destination again.
    for (const LogEntry& entry : batch.log) {
      if (entry.kind == LogEntry::Kind::kRemoved && entry.id.destination().is_set())
        check_gone(entry);
    }
    for (const MessageNote* note : batch.entered) {
      ++live_[note->id.destination().value()];
      use(note->id.destination(), note->accepted);
    }
    for (const MessageNote* note : batch.left) --live_[note->id.destination().value()];
    for (const EndRecord& end : batch.ends) use(end.id.destination(), end.at);
    // By its policy as it is now: what goes does not have one any more.
    for (const DestinationNote* note : batch.configured) lives_[note->id.value()] = *note;
  }

  void finished(const Finished& finished) override {
    if (damaged_) return;
    std::set<std::uint64_t> lettered;
    for (const auto& [id, letter] : notebook_.all_letters())
      lettered.insert(id.destination().value());
    for (const auto& [number, note] : notebook_.destinations()) {
      if (!stays(*note) && live_[number] == 0 && !lettered.contains(number))
        check_left(*note, finished.when.engine);
    }
  }

 private:
  // Walks come an eighth of the life apart, and a mark is as much too early; the rest is for slow
  // commits and reads.
  static constexpr Duration kPatience = 1h;

  void use(DestinationId id, Timestamp at) {
    Timestamp& last = used_[id.value()];
    last = std::max(last, at);
  }
  Timestamp meant(Timestamp at) const { return notebook_.meta().wall.meant(at); }

  // At a mailbox a reader may wait, and then it stays.
  static bool stays(const DestinationNote& note) {
    const bool closed = note.route && (note.route->health == Health::kPaused ||
                                       note.route->health == Health::kDisabled ||
                                       note.route->closed_until.is_set());
    return note.damaged || note.config.removed || note.config.like.empty() || !note.own.empty() ||
           closed || note.policy.pulled || note.policy.idle_life == Duration(0);
  }

  void check_gone(const LogEntry& entry) {
    const auto known = lives_.find(entry.id.destination().value());
    if (known == lives_.end()) return complain("something went that was not there", entry.reason);
    const DestinationNote& note = known->second;
    if (!note.own.empty()) complain("it had settings of its own, and went as idle", entry.reason);
    if (note.config.like.empty()) complain("it stood alone, and went as idle", entry.reason);
    const auto used = used_.find(known->first);
    if (used != used_.end() && meant(used->second) + note.policy.idle_life > meant(entry.at))
      complain("it was used within its idle life, and went", entry.reason);
  }

  void check_left(const DestinationNote& note, Timestamp now) {
    const auto wide = notebook_.templates().find(note.config.like);
    if (wide == notebook_.templates().end()) return;
    const Timestamp used =
        std::max({used_[note.id.value()], wide->second.idle_since, note.configured});
    const Duration life = note.policy.idle_life;
    if (meant(used) + life + life / 4 + kPatience < now)
      complain("it is idle and does not go", note.config.name);
  }

  void complain(const std::string& what, const std::string& which) {
    verdicts_.violation(50, what + ": " + which);
  }

  Verdicts& verdicts_;
  Notebook& notebook_;
  bool damaged_ = false;                            // something by which idle ones are found
  std::map<std::uint64_t, Timestamp> used_;         // by destination: the last use
  std::map<std::uint64_t, std::int64_t> live_;      // messages of each
  std::map<std::uint64_t, DestinationNote> lives_;  // as each was after the batch before
};

}  // namespace

std::unique_ptr<Checker> make_idle_checker(const CheckerContext& context, Notebook& notebook) {
  return std::make_unique<IdleChecker>(context, notebook);
}

}  // namespace postrider::sim
