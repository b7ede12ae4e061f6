// Checker 55: values of keys, and riders. A message is superseded by a newer one of its lane and key
// only, and never while it is in an open batch; so the newest of each key is delivered, or lives. In
// a lane that keeps the latest, a newer message that comes into memory ends the older ones that wait
// there, and when a sweep is over no older value is left of what it was to look at. A message that
// rides leads no batch before its time.
#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>

#include "postrider/sim/fields/pack/checker.h"

namespace postrider::sim {
namespace {

class LatestChecker final : public Checker {
 public:
  LatestChecker(const CheckerContext& context, Notebook& notebook)
      : verdicts_(context.verdicts), notebook_(notebook) {}

  void began(const Moment& when, Epoch /*epoch*/) override { newest_ = when.incarnation; }

  void damaged(const Moment& /*when*/, std::string_view key) override {
    if (key[0] == keys::kRoute || key[0] == keys::kConfig) blind_ = true;
  }

  void batch(const Batch& batch) override {
    touched_.clear();
    for (const Batch::RoutePut& put : batch.routes) note_route(put, batch.when.engine);
    for (const Batch::StatePut& put : batch.states) touch(put.note->id, batch.when.engine);
    for (const MessageNote* note : batch.moved) touched_.insert(note->id);
    for (const MessageNote* note : batch.left) {
      if (!note->key.empty()) values_[place_of(*note)].live.erase(note->id);
    }
    for (const MessageNote* note : batch.entered) enter(*note);
    for (const EndRecord& end : batch.ends) check_end(end);
    for (const MessageNote* note : batch.entered) check_older(*note);
    for (const Batch::RoutePut& put : batch.routes) {
      const bool swept = put.before && put.before->latest_until.is_set() &&
                         !put.route.latest_until.is_set();
      if (swept) check_swept(put);
    }
  }

  void left(const Left& left) override {
    const MessageNote* note = notebook_.find(left.start.message);
    if (blind_ || left.when.incarnation != newest_ || note == nullptr || note->damaged ||
        left.call.batch.empty() || !is_settled(*note))
      return;
    const Duration rides = note->destination->policy.lane_rule(note->id.lane()).rides;
    if (left.when.engine < notebook_.accepted_of(*note) + rides / 2)
      verdicts_.violation(55, "led a batch although it rides: " + to_string(note->id));
  }

 private:
  using Place = std::tuple<std::uint64_t, std::uint8_t, std::string>;  // destination, lane, key
  struct Values {
    std::set<MessageId> live;
    Sequence newest;
  };
  static Place place_of(const MessageNote& note) {
    return {note.id.destination().value(), note.id.lane(), note.key};
  }

  // Nothing changed the policy since it came.
  static bool is_settled(const MessageNote& note) {
    return note.destination != nullptr && !note.destination->damaged &&
           note.destination->configured < note.accepted;
  }

  void touch(MessageId id, Timestamp at) {
    touched_.insert(id);
    last_touch_[id] = at;
  }

  // Of several states of a route in one commit the last one counts.
  void note_route(const Batch::RoutePut& put, Timestamp at) {
    OpenBatch& open = open_[put.note->id.value()];
    const auto touch_all = [&](const OpenBatch& batch) {
      if (!batch.is_open()) return;
      touch(batch.leader, at);
      for (const MessageId id : batch.followers) touch(id, at);
    };
    if (open != put.route.batch) {
      touch_all(open);
      touch_all(put.route.batch);
    }
    open = put.route.batch;
  }

  bool is_out(MessageId id) const {
    const auto open = open_.find(id.destination().value());
    return open != open_.end() && open->second.is_open() &&
           (open->second.leader == id || open->second.claims(id));
  }

  void enter(const MessageNote& note) {
    if (note.key.empty()) return;
    Values& values = values_[place_of(note)];
    values.live.insert(note.id);
    values.newest = std::max(values.newest, note.id.sequence());
  }

  void check_end(const EndRecord& end) {
    const MessageNote* note = notebook_.find(end.id);
    if (note == nullptr || end.reason != "superseded" || note->damaged) return;
    if (end.phase != Phase::kCancelled)
      verdicts_.violation(55, "superseded, and not cancelled: " + to_string(end.id));
    if (note->key.empty() || values_[place_of(*note)].newest <= end.id.sequence())
      verdicts_.violation(55, "superseded, and nothing is newer: " + to_string(end.id));
    if (!blind_ && is_out(end.id))
      verdicts_.violation(55, "superseded while its batch was open: " + to_string(end.id));
  }

  // It waits, as far as its records say, and nothing was done to it by this commit.
  bool waits(const MessageNote& note) const {
    if (note.damaged || note.quarantined || note.parked || note.end || !note.live() ||
        touched_.contains(note.id) || is_out(note.id))
      return false;
    const ProfileSpec& profile = *note.destination->profile;
    if (!profile.methods[note.method].durable_intent) return false;  // nobody knows
    return !note.state || profile.states[note.state->state].phase == Phase::kQueued;
  }

  // What stands in the hot space is in memory, or asleep.
  void check_older(const MessageNote& note) {
    if (note.key.empty() || blind_ || !note.hot || !is_settled(note)) return;
    if (note.destination->policy.lane_rule(note.id.lane()).latest != Latest::kAlways) return;
    for (const MessageId id : values_[place_of(note)].live) {
      const MessageNote* older = notebook_.find(id);
      if (older != nullptr && id.sequence() < note.id.sequence() && older->hot && waits(*older))
        verdicts_.violation(55, "waits on although a newer value came: " + to_string(id));
    }
  }

  void check_swept(const Batch::RoutePut& put) {
    const Timestamp until = put.before->latest_until;
    const DestinationNote& destination = *put.note;
    if (blind_ || destination.damaged || destination.configured >= until) return;
    const auto first = values_.lower_bound({destination.id.value(), 0, {}});
    for (auto it = first;
         it != values_.end() && std::get<0>(it->first) == destination.id.value(); ++it) {
      const LaneRule& rule = destination.policy.lane_rule(std::get<1>(it->first));
      const bool keeps = rule.keep > Duration(0) && rule.keep_max > 0;
      if (rule.latest == Latest::kNever || (rule.latest == Latest::kWhenBehind && keeps)) continue;
      if (rule.dropped_when_deep) continue;  // another walk
      check_values(it->second, until);
    }
  }

  // Of those that waited all the time one may be left. The sweep goes from the end of the lane, so
  // it must have met the newer one first.
  void check_values(const Values& values, Timestamp until) {
    const MessageNote* newer = nullptr;
    for (auto it = values.live.rbegin(); it != values.live.rend(); ++it) {
      const MessageNote* note = notebook_.find(*it);
      if (note == nullptr || note->accepted > until || !note->cold || !waits(*note)) continue;
      const auto touched = last_touch_.find(*it);
      if (touched != last_touch_.end() && touched->second >= until) continue;
      if (newer != nullptr && newer->id.sequence() > note->id.sequence())
        verdicts_.violation(55, "an older value was left by a sweep: " + to_string(*it));
      if (newer == nullptr || newer->id.sequence() < note->id.sequence()) newer = note;
    }
  }

  Verdicts& verdicts_;
  Notebook& notebook_;
  Incarnation newest_ = 0;
  bool blind_ = false;
  std::map<Place, Values> values_;
  std::unordered_map<std::uint64_t, OpenBatch> open_;  // by destination, as it is durable
  std::unordered_map<MessageId, Timestamp> last_touch_;
  std::set<MessageId> touched_;  // by this commit
};

}  // namespace

std::unique_ptr<Checker> make_latest_checker(const CheckerContext& context, Notebook& notebook) {
  return std::make_unique<LatestChecker>(context, notebook);
}

}  // namespace postrider::sim
