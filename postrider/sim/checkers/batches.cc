// Checker 54: batches. A destination has one open batch at a time, over all incarnations. What
// leaves is a batch that was written down, with exactly its members, and a batch that leaves again
// is the same bytes, where the profile says so. A batch is given up only when its leader ended, or was put back for another
// try with other members, or its route became deep. Its members end together, in one commit. After
// a batch that was too much for the far side the next one has at most half of its members.
#include "postrider/sim/checkers/batches.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>

namespace postrider::sim {
namespace {

std::string name_of_batch(const Route& route) {
  return to_string(route.batch.leader) + "-" + std::to_string(route.claims);
}

class BatchChecker final : public Checker {
 public:
  BatchChecker(const CheckerContext& context, Notebook& notebook, BatchLaws laws)
      : verdicts_(context.verdicts), notebook_(notebook), laws_(std::move(laws)) {}

  void began(const Moment& when, Epoch /*epoch*/) override { newest_ = when.incarnation; }

  void damaged(const Moment& /*when*/, std::string_view key) override {
    if (key[0] == keys::kRoute || key[0] == keys::kConfig) blind_ = true;
  }

  void batch(const Batch& batch) override {
    std::map<MessageId, Phase> ends;
    for (const EndRecord& end : batch.ends) ends[end.id] = end.phase;
    // First what became of batches, then what ended without one. Of several states of a route in
    // one commit the last one counts: the others are never seen.
    std::map<std::uint64_t, const Batch::RoutePut*> routes;
    for (const Batch::RoutePut& put : batch.routes) {
      note_written(put.route, batch.when.engine);
      routes[put.note->id.value()] = &put;
    }
    for (const auto& [destination, put] : routes) read_route(*put, ends);
    for (const EndRecord& end : batch.ends) check_end(end, ends);
  }

  void left(const Left& left) override {
    if (blind_ || left.when.incarnation != newest_) return;
    const MessageNote* note = notebook_.find(left.start.message);
    if (note == nullptr || note->damaged) return;
    if (left.call.batch.empty()) return check_alone(left);
    const auto written = written_.find(left.call.batch);
    if (written == written_.end())
      return verdicts_.violation(54, "a batch left that was not written down: " + left.call.batch);
    if (written->second.followers != left.call.members)
      verdicts_.violation(54, "a batch left with other members: " + left.call.batch);
    const auto [sent, first] = bytes_.try_emplace(left.call.batch, left.call.body_hash);
    if (laws_.same_bytes && !first && sent->second != left.call.body_hash &&
        !has_damaged(written->second))
      verdicts_.violation(54, "a batch left again with other bytes: " + left.call.batch);
    by_attempt_[left.start.attempt.value()] = left.call.batch;
    const Policy* policy = note->destination == nullptr ? nullptr : &note->destination->policy;
    const bool settled = policy != nullptr && note->destination->configured < written->second.at;
    if (first && settled &&
        left.call.members.size() + 1 > std::max<std::size_t>(1, policy->members_max))
      verdicts_.violation(54, "a batch has too many members: " + left.call.batch);
  }

  void outcome(const Outcomed& outcome) override {
    const auto at = by_attempt_.find(outcome.attempt.value());
    if (at == by_attempt_.end()) return;
    const bool refused = outcome.reply.end == WireEnd::kAnswered &&
                         (outcome.reply.status == 413 || outcome.reply.status == 422);
    if (refused && outcome.when.incarnation == newest_) refused_.insert(at->second);
    by_attempt_.erase(at);
  }

 private:
  // A message that leaves without a batch waits for the end of one that is open.
  void check_alone(const Left& left) {
    const auto open = open_.find(left.start.message.destination().value());
    if (open == open_.end() || open->second.empty()) return;
    if (written_.at(open->second).at < left.decided_after)
      verdicts_.violation(54, "started although a batch is open: " + to_string(left.start.message));
  }

  struct Written {
    MessageId leader;
    std::vector<MessageId> followers;
    Timestamp at;
    std::vector<MessageId> members = followers;  // when it was opened
  };

  void note_written(const Route& route, Timestamp at) {
    if (!route.batch.is_open() || blind_) return;
    const auto [known, fresh] = written_.try_emplace(
        name_of_batch(route), Written{route.batch.leader, route.batch.followers, at});
    // One that cannot be read any more is left out.
    if (!fresh && has_damaged(known->second)) known->second.followers = route.batch.followers;
    if (!fresh && known->second.followers != route.batch.followers)
      verdicts_.violation(54, "a batch was written with other members: " + name_of_batch(route));
  }

  void read_route(const Batch::RoutePut& put, const std::map<MessageId, Phase>& ends) {
    const std::uint64_t destination = put.note->id.value();
    const std::string now = put.route.batch.is_open() ? name_of_batch(put.route) : std::string();
    std::string& open = open_[destination];
    if (now == open || blind_) {
      open = now;
      return;
    }
    if (!open.empty()) check_given_up(open, put, ends);
    if (!now.empty()) {
      if (!opened_.insert(now).second)
        verdicts_.violation(54, "the name of a batch was used twice: " + now);
      const std::size_t members = put.route.batch.followers.size() + 1;
      const auto half = half_.find(destination);
      if (half != half_.end() && members > half->second)
        verdicts_.violation(54, "a batch is as large as the one that was too much: " + now);
      half_.erase(destination);
    }
    open = now;
  }

  // The leader must have ended, or wait for a turn with other members.
  void check_given_up(const std::string& name, const Batch::RoutePut& put,
                      const std::map<MessageId, Phase>& ends) {
    const Written& was = written_.at(name);
    const MessageNote* leader = notebook_.find(was.leader);
    if (leader == nullptr || leader->damaged || leader->quarantined || has_damaged(was)) return;
    const auto end = ends.find(was.leader);
    if (end != ends.end()) {
      const bool together = end->second == Phase::kDelivered;
      for (const MessageId id : was.followers) {
        const auto its = ends.find(id);
        const bool same = its != ends.end() && its->second == end->second;
        if (together && !same)
          verdicts_.violation(54, "a member did not end with its batch: " + to_string(id));
      }
      return;
    }
    const bool deep = put.route.health == Health::kDeep;
    // Without a record it waits for its first turn.
    const std::string_view state =
        leader->state && leader->destination != nullptr && leader->destination->profile != nullptr
            ? leader->destination->profile->states[leader->state->state].name
            : laws_.free_states.front();
    const bool free = std::find(laws_.free_states.begin(), laws_.free_states.end(), state) !=
                      laws_.free_states.end();
    // It may have started again, in the same commit, with another batch.
    const bool leads_again = put.route.batch.leader == was.leader;
    if (!free && !deep && !leads_again)
      verdicts_.violation(
          54, "an open batch was given up: " + name + ", its leader is " + std::string(state));
    if (refused_.erase(name) != 0 && !was.followers.empty())
      half_[put.note->id.value()] = (was.followers.size() + 1) / 2;
  }

  // A follower ends with its leader and not otherwise.
  void check_end(const EndRecord& end, const std::map<MessageId, Phase>& ends) {
    if (blind_) return;
    const auto open = open_.find(end.id.destination().value());
    if (open == open_.end() || open->second.empty()) return;
    const Written& batch = written_.at(open->second);
    if (has_damaged(batch)) return;
    const bool follows =
        std::find(batch.followers.begin(), batch.followers.end(), end.id) != batch.followers.end();
    if (follows && !ends.contains(batch.leader) && !entered_after(end, batch))
      verdicts_.violation(54, "a member ended while its batch was open: " + to_string(end.id));
  }

  // One that was delivered by an earlier batch cannot be in this one.
  static bool entered_after(const EndRecord& end, const Written& batch) {
    return end.at < batch.at;
  }

  bool has_damaged(const Written& batch) const {
    return std::any_of(batch.members.begin(), batch.members.end(), [this](MessageId id) {
      const MessageNote* note = notebook_.find(id);
      return note == nullptr || note->damaged || note->quarantined;
    });
  }

  Verdicts& verdicts_;
  Notebook& notebook_;
  const BatchLaws laws_;
  Incarnation newest_ = 0;
  bool blind_ = false;
  std::map<std::uint64_t, std::string> open_;  // by destination, as it is durable
  std::unordered_map<std::string, Written> written_;
  std::set<std::string> opened_;
  std::unordered_map<std::string, std::uint64_t> bytes_;
  std::unordered_map<std::uint64_t, std::string> by_attempt_;
  std::set<std::string> refused_;              // batches that were too much
  std::map<std::uint64_t, std::size_t> half_;  // what the next batch may have
};

}  // namespace

std::unique_ptr<Checker> make_batch_checker(const CheckerContext& context, Notebook& notebook,
                                            BatchLaws laws) {
  return std::make_unique<BatchChecker>(context, notebook, std::move(laws));
}

}  // namespace postrider::sim
