// Checker 20: messages parked for want of reach. After a success they go back in line soon, in
// order and with fresh attempts; without one only the oldest is tried, and not too often.
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "postrider/sim/checkers/all.h"

namespace postrider::sim {
namespace {

class RevivalChecker final : public Checker {
 public:
  RevivalChecker(const CheckerContext& context, Notebook& notebook)
      : verdicts_(context.verdicts), notebook_(notebook) {}

  void began(const Moment& when, Epoch /*epoch*/) override {
    newest_ = when.incarnation;
    open_.clear();
    answered_.clear();
    owed_.clear();
    for (auto& [number, way] : ways_) way.excused = true;  // a walk that was cut off begins anew
  }

  void asked(const Asked& asked) override {
    if (const auto* retry = std::get_if<RetryNow>(&asked.event)) hurried_.insert(retry->id);
    if (const auto* redrive = std::get_if<Redrive>(&asked.event)) hurried_.insert(redrive->id);
    const auto* job = std::get_if<StartJob>(&asked.event);
    bulk_ = bulk_ || (job != nullptr && job->order.action == JobAction::kRetry);
    const auto* resume = std::get_if<Resume>(&asked.event);
    const DestinationNote* note =
        resume == nullptr ? nullptr : std::as_const(notebook_).find(resume->destination);
    if (note != nullptr) ways_[note->id.value()].excused = true;
    const auto* seen = std::get_if<PeerSeen>(&asked.event);
    const DestinationNote* alive =
        seen == nullptr ? nullptr : std::as_const(notebook_).find(seen->destination);
    // Where contact clears a route, a sign of life is a success.
    if (alive != nullptr && alive->policy.health.contact_clears)
      ways_[alive->id.value()].success = asked.when.truth;
  }

  void left(const Left& left) override {
    if (left.when.incarnation == newest_ && is_send(left.call))
      open_[left.start.attempt.value()] = left.start.message;
  }
  void aborted(const Aborted& aborted) override {
    if (aborted.when.incarnation == newest_) open_.erase(aborted.attempt.value());
  }

  void outcome(const Outcomed& outcome) override {
    const auto at = open_.find(outcome.attempt.value());
    if (at == open_.end() || outcome.when.incarnation != newest_) return;
    const MessageId id = at->second;
    open_.erase(at);
    const MessageNote* note = notebook_.find(id);
    if (note == nullptr || note->destination == nullptr || !is_good(outcome.reply)) return;
    ways_[note->destination->id.value()].success = outcome.when.truth;
    // What any profile takes for a success, if it is heard in time. Others may be one.
    if (outcome.reply.status == 200) answered_.insert(id);
  }

  void receipt(const Receipted& receipt) override {
    ways_[receipt.id.destination().value()].success = receipt.when.truth;
  }

  void batch(const Batch& batch) override {
    for (const Batch::RoutePut& put : batch.routes) {
      if (put.route.health != Health::kNormal) forget_owed(put.note->id);
      const bool released = put.before && put.before->reason.starts_with("hold '") &&
                            put.route.health != Health::kPaused;
      if (released) ways_[put.note->id.value()].excused = true;
    }
    for (const DestinationNote* note : batch.configured) {
      ways_[note->id.value()].excused = true;
      forget_owed(note->id);
    }
    for (const EndRecord& end : batch.ends) {
      const bool surely = answered_.erase(end.id) > 0;
      if (end.phase != Phase::kDelivered) continue;
      // News by name is a success too.
      ways_[end.id.destination().value()].success = batch.when.truth;
      if (surely) owe_all(end, batch.when.truth);
    }
    // First all that went back, then what is left.
    for (const Batch::StatePut& put : batch.states) note_state(put, batch);
    for (const MessageNote* note : batch.left)
      ways_[note->id.destination().value()].parked.erase(note->id);
    for (const Batch::StatePut& put : batch.states) check_order(put, batch);
    check_owed(batch.when.truth);
  }

 private:
  static constexpr Duration kPatience = 10min;  // slow commits and reads, and a full event queue

  struct Since {
    Timestamp state;  // engine time
    Timestamp truth;
  };
  struct Way {
    std::map<MessageId, Since> parked;
    Timestamp success;    // true time of the last one that may be one
    Timestamp tried;      // engine time at which one was tried without a success
    bool excused = true;  // the next such trial may come at any time
    Timestamp excused_at;
  };
  struct Owed {  // must be back in line by then
    MessageId id;
    Timestamp since;
    Timestamp until;
  };

  static bool is_good(const WireReply& reply) {
    return reply.end == WireEnd::kAnswered && reply.status >= 200 && reply.status < 300;
  }
  static bool is_open(const MessageNote& note) {
    const DestinationNote& way = *note.destination;
    return !way.damaged && !way.config.removed &&
           (!way.route || way.route->health == Health::kNormal);
  }
  static bool revives(const MessageNote& note, const State& state) {
    return note.destination != nullptr && note.destination->profile != nullptr &&
           note.destination->profile->states[state.state].revives;
  }
  static bool went_back(const Batch::StatePut& put) {
    return put.revived > 0 && !revives(*put.note, put.state);
  }
  // When it did so. The record at the end of a slow commit is that of a later state.
  static Timestamp went_back_at(const Batch::StatePut& put, const Batch& batch) {
    Timestamp back = put.state.since;
    std::optional<State> before = put.before;
    for (const auto& [note, state] : batch.steps) {
      if (note != put.note) continue;
      if (before && revives(*note, *before) && !revives(*note, state)) back = state.since;
      before = state;
    }
    return back;
  }

  // It was heard that the destination is there: whoever waits for that goes back in line.
  void owe_all(const EndRecord& end, Timestamp now) {
    const MessageNote* note = notebook_.find(end.id);
    if (note == nullptr || note->destination == nullptr || !is_open(*note)) return;
    for (const auto& [id, since] : ways_[end.id.destination().value()].parked) {
      const MessageNote* waits = notebook_.find(id);
      if (waits != nullptr && !waits->damaged && waits->reach_from && *waits->reach_from <= end.at)
        owed_.push_back({id, since.state, now + kPatience});
    }
  }

  void forget_owed(DestinationId id) {
    std::erase_if(owed_, [id](const Owed& owed) { return owed.id.destination() == id; });
  }

  void note_state(const Batch::StatePut& put, const Batch& batch) {
    const MessageNote& note = *put.note;
    Way& way = ways_[note.id.destination().value()];
    if (revives(note, put.state)) {
      if (note.live()) way.parked[note.id] = {put.state.since, batch.when.truth};
      if (!note.damaged && note.live()) check_parked(note, put.state);
      return;
    }
    if (!went_back(put)) return;
    const auto at = way.parked.find(note.id);
    if (at == way.parked.end()) return;
    const Since since = at->second;
    way.parked.erase(at);
    if (bulk_ || hurried_.contains(note.id) || note.damaged || note.destination->damaged) return;
    const bool queued = note.destination->profile->states[put.state.state].phase == Phase::kQueued;
    if (queued && put.state.attempts != 0)
      verdicts_.violation(20, "back in line without fresh attempts: " + to_string(note.id));
    if (way.success + kPatience >= since.truth && way.success.is_set()) return;
    // Nobody was there, so it was a trial.
    const Timestamp back = went_back_at(put, batch);
    const Duration every = note.destination->policy.health.revive_every;
    if (way.excused) way.excused_at = back;
    // All that stand behind each other go with the first.
    const bool with_it = way.excused_at.is_set() && back <= way.excused_at + kPatience;
    if (!with_it && back < way.tried + every)
      verdicts_.violation(20, "tried too early although nobody was there: " + to_string(note.id));
    way.tried = back;
    way.excused = false;
  }

  void check_parked(const MessageNote& note, const State& state) {
    if (note.destination->configured >= state.since) return;
    const Duration every = note.destination->policy.health.revive_every;
    if (!note.reach_from ||
        (*note.reach_from != state.since && *note.reach_from != state.since + every))
      verdicts_.violation(
          20, "parked for want of reach, and does not come back: " + to_string(note.id));
  }

  // Whoever was parked for long and stands before it must have gone back with it, or before.
  void check_order(const Batch::StatePut& put, const Batch& batch) {
    if (bulk_ || !went_back(put) || put.note->damaged || hurried_.contains(put.note->id)) return;
    const Way& way = ways_[put.note->id.destination().value()];
    const Timestamp back = went_back_at(put, batch);
    for (const auto& [id, since] : way.parked) {
      if (id >= put.note->id) return;
      const MessageNote* waits = notebook_.find(id);
      if (waits == nullptr || waits->damaged || !waits->reach_from ||
          *waits->reach_from + kPatience > back || since.truth + kPatience > batch.when.truth)
        continue;
      verdicts_.violation(20, to_string(put.note->id) + " went back before " + to_string(id));
    }
  }

  void check_owed(Timestamp now) {
    while (!owed_.empty() && owed_.front().until < now) {
      const Owed owed = owed_.front();
      owed_.erase(owed_.begin());
      const Way& way = ways_[owed.id.destination().value()];
      const auto at = way.parked.find(owed.id);
      const MessageNote* note = notebook_.find(owed.id);
      if (at == way.parked.end() || at->second.state != owed.since || note == nullptr ||
          note->damaged || !note->live())
        continue;
      verdicts_.violation(20,
                          "still parked although the destination answered: " + to_string(owed.id));
    }
  }

  Verdicts& verdicts_;
  Notebook& notebook_;
  Incarnation newest_ = 0;
  std::map<std::uint64_t, Way> ways_;  // by destination
  std::map<std::uint64_t, MessageId> open_;
  bool bulk_ = false;             // a job puts whom it meets back in line
  std::set<MessageId> hurried_;   // an operator had to do with them
  std::set<MessageId> answered_;  // and the end must tell whether that was heard
  std::vector<Owed> owed_;        // by time
};

}  // namespace

std::unique_ptr<Checker> make_revival_checker(const CheckerContext& context, Notebook& notebook) {
  return std::make_unique<RevivalChecker>(context, notebook);
}

}  // namespace postrider::sim
