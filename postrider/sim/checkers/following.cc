// Checker 19: what follows from other messages. A newer message of a key ends the older ones that
// wait, and no others; an end that sends a message on sends exactly one, or says why not; and of
// those that hold a gate until their end no two are under way.
#include <map>
#include <set>
#include <unordered_map>

#include "postrider/sim/checkers/all.h"

namespace postrider::sim {
namespace {

class FollowingChecker final : public Checker {
 public:
  FollowingChecker(const CheckerContext& context, Notebook& notebook)
      : verdicts_(context.verdicts), notebook_(notebook) {}

  void began(const Moment& when, Epoch /*epoch*/) override { newest_ = when.incarnation; }
  void damaged(const Moment& /*when*/, std::string_view key) override {
    if (key[0] == keys::kName || key[0] == keys::kNested || key[0] == keys::kConfig) blind_ = true;
  }

  void left(const Left& left) override {
    const MessageNote* note = notebook_.find(left.start.message);
    if (note == nullptr || note->lasting == 0 || note->damaged || !is_send(left.call) ||
        left.when.incarnation != newest_ || note->end || left_lines_.contain(*note))
      return;
    // It started, ran out of time and was parked in one commit; what leaves is given up at once.
    if (note->parked && note->state && !note->state->first_attempt.is_set()) return;
    for (std::size_t i = 0; i < kGatesMax; ++i) {
      if ((note->lasting >> i & 1) == 0) continue;
      for (const MessageId other : under_way_[note->gates[i]]) {
        const MessageNote* holder = notebook_.find(other);
        if (other == note->id || holder == nullptr || holder->damaged) continue;
        verdicts_.violation(19, "started although another one holds its gate to the end: " +
                                    to_string(note->id) + " and " + to_string(other));
      }
    }
  }

  void batch(const Batch& batch) override {
    for (const Batch::StatePut& put : batch.states) {
      if (put.note->lasting == 0 || !put.note->live()) continue;
      // One that was parked out of the way of others gave its gate back.
      const bool holds = put.state.first_attempt.is_set();
      for (std::size_t i = 0; i < kGatesMax; ++i) {
        if ((put.note->lasting >> i & 1) == 0) continue;
        if (holds) under_way_[put.note->gates[i]].insert(put.note->id);
        if (!holds) under_way_[put.note->gates[i]].erase(put.note->id);
      }
    }
    for (const MessageNote* note : batch.left) {
      for (std::size_t i = 0; i < kGatesMax; ++i) {
        if ((note->lasting >> i & 1) != 0) under_way_[note->gates[i]].erase(note->id);
      }
      if (!note->supersedes.empty()) of_key_[key_of(*note)].erase(note->id);
    }
    for (const EndRecord& end : batch.ends) check_end(end);
    for (const LogEntry& entry : batch.log) {
      if (entry.kind == LogEntry::Kind::kUnsent) owed_.erase(entry.id);
    }
    for (const MessageNote* note : batch.entered) {
      const MessageNote* from = note->nested ? notebook_.find(note->origin) : nullptr;
      // When a start and an end send on, nobody can tell whose refusal was told.
      const bool one = from != nullptr && from->begins.empty();
      if (note->nested && !note->damaged && owed_.erase(note->origin) == 0 && !blind_ && one)
        verdicts_.violation(19, "a second message followed from one: " + to_string(note->origin));
    }
    changed_.clear();
    for (const Batch::StatePut& put : batch.states) changed_.insert(put.note->id);
    for (const MessageNote* note : batch.entered) enter(*note);
  }

  void finished(const Finished& /*finished*/) override {
    if (blind_) return;
    for (const MessageId id : owed_)
      verdicts_.violation(19, "an end should have sent a message on: " + to_string(id));
  }

 private:
  using Key = std::pair<std::uint64_t, std::string>;
  static Key key_of(const MessageNote& note) {
    return {note.id.destination().value(), note.supersedes};
  }

  void check_end(const EndRecord& end) {
    const MessageNote* note = notebook_.find(end.id);
    if (note == nullptr) return;
    if (end.reason == "superseded" && (end.phase != Phase::kCancelled || under_way(*note)))
      verdicts_.violation(19, "superseded, and not while it waited: " + to_string(end.id));
    if (!note->then.empty()) owed_.insert(end.id);
  }

  // What the disk said last of a message whose attempts are recorded.
  static bool under_way(const MessageNote& note) {
    if (note.destination == nullptr || note.destination->profile == nullptr || note.damaged ||
        !note.last_state || note.last_state->method != note.method)
      return false;
    const ProfileSpec& profile = *note.destination->profile;
    const Phase phase = profile.states[note.last_state->state].phase;
    return profile.methods[note.method].durable_intent &&
           (phase == Phase::kInFlight || phase == Phase::kAwaiting);
  }

  // The attempts of this method are on disk: what is not under way there waits, and must be gone.
  void enter(const MessageNote& note) {
    if (note.supersedes.empty() || note.destination == nullptr ||
        note.destination->profile == nullptr || note.nested || !note.live())
      return;
    std::set<MessageId>& others = of_key_[key_of(note)];
    const ProfileSpec& profile = *note.destination->profile;
    for (const MessageId id : others) {
      const MessageNote* older = notebook_.find(id);
      if (older == nullptr || older->damaged || blind_ || crowded_.contains(key_of(note))) continue;
      // Names are forgotten after a time, and a bounded number of older messages is known.
      if (note.accepted - older->accepted > Duration(7 * 24h)) continue;
      if (changed_.contains(id)) continue;  // perhaps after the newer one came
      if (!profile.methods[older->method].durable_intent || older->parked) continue;
      const Phase phase = older->state ? profile.states[older->state->state].phase : Phase::kQueued;
      if (phase == Phase::kQueued || phase == Phase::kBackoff)
        verdicts_.violation(19, "waits on although it was superseded: " + to_string(id));
    }
    others.insert(note.id);
    if (others.size() > 6) crowded_.insert(key_of(note));
  }

  Verdicts& verdicts_;
  Notebook& notebook_;
  Incarnation newest_ = 0;
  bool blind_ = false;
  LeftLines left_lines_;
  std::map<GateName, std::set<MessageId>> under_way_;
  std::map<Key, std::set<MessageId>> of_key_;
  std::set<Key> crowded_;        // keys that once had more than the engine looks at
  std::set<MessageId> changed_;  // by this batch
  std::set<MessageId> owed_;     // ends from which a message must follow
};

}  // namespace

std::unique_ptr<Checker> make_following_checker(const CheckerContext& context, Notebook& notebook) {
  return std::make_unique<FollowingChecker>(context, notebook);
}

}  // namespace postrider::sim
