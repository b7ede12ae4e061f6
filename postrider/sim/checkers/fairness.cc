// Checker 29: fairness. The places of a group are shared by its destinations, a destination takes
// no more of the engine's places than it leaves, and a route that was closed starts slowly. All are
// bounds: what the checker cannot see may only have made the true numbers tighter.
#include <algorithm>
#include <map>
#include <unordered_map>

#include "postrider/sim/checkers/all.h"

namespace postrider::sim {
namespace {

class FairnessChecker final : public Checker {
 public:
  FairnessChecker(const CheckerContext& context, Notebook& notebook)
      : verdicts_(context.verdicts),
        notebook_(notebook),
        open_max_(context.shard.engine.limits.open_attempts_max),
        remembers_(context.shard.engine.limits.residents_max >= kManyDestinations) {}

  void began(const Moment& when, Epoch /*epoch*/) override {
    newest_ = when.incarnation;
    open_.clear();
    in_group_.clear();
    slow_.clear();  // what a route learnt is forgotten; a closed one is noticed when it is told
                    // again
  }

  void left(const Left& left) override {
    if (left.when.incarnation != newest_ || !is_send(left.call)) return;
    const MessageNote* note = notebook_.find(left.start.message);
    if (note == nullptr || note->destination == nullptr) return;
    const DestinationNote& destination = *note->destination;
    // Else old and new settings meet, and it may have a place in neither group.
    const bool settled = destination.configured < left.decided_after;
    const Policy& policy = destination.policy;
    Open attempt{destination.id.value(), settled ? policy.group : 0, false};
    check_share(*note);
    if (attempt.group != 0) check_group(policy, *note);
    const auto slow = slow_.find(destination.id.value());
    if (slow != slow_.end() && slow->second.closed < left.decided_after) {
      attempt.counted = true;
      ++slow->second.open;
      if (settled && remembers_ && policy.adapts && slow->second.open > slow->second.places)
        verdicts_.violation(29,
                            "a route that was closed did not start slowly: " + to_string(note->id));
    }
    open_[left.start.attempt.value()] = attempt;
  }

  void aborted(const Aborted& aborted) override {
    if (aborted.when.incarnation == newest_) close(aborted.attempt);
  }
  void outcome(const Outcomed& outcome) override {
    if (outcome.when.incarnation != newest_) return;
    const auto at = open_.find(outcome.attempt.value());
    if (at == open_.end()) return;
    if (outcome.reply.end == WireEnd::kAnswered) grow(at->second.destination);
    close(outcome.attempt);
  }
  void receipt(const Receipted& receipt) override { grow(receipt.id.destination().value()); }

  void batch(const Batch& batch) override {
    for (const Batch::RoutePut& put : batch.routes) {
      const auto found = slow_.find(put.note->id.value());
      const bool open = put.route.health == Health::kNormal;
      // Attempts from before the closing are not counted: they only take places away.
      if (open && found != slow_.end()) found->second.open_again = true;
      if (!open && (found == slow_.end() || found->second.open_again)) {
        slow_[put.note->id.value()] = {.closed = batch.when.engine};
        for (auto& [number, attempt] : open_) {
          if (attempt.destination == put.note->id.value()) attempt.counted = false;
        }
      }
    }
    for (const DestinationNote* note : batch.configured) slow_.erase(note->id.value());
    for (const EndRecord& end : batch.ends) {
      if (end.phase == Phase::kDelivered) grow(end.id.destination().value());
    }
  }

 private:
  // With fewer in memory a destination is forgotten when it has nothing to do, with what it learnt.
  static constexpr std::uint32_t kManyDestinations = 64;

  struct Open {
    std::uint64_t destination = 0;
    std::uint64_t group = 0;
    bool counted = false;  // since its route was closed
  };
  struct Slow {
    Timestamp closed;  // engine time
    bool open_again = false;
    std::uint32_t open = 0;
    std::uint32_t places = 1;  // one, and at most one more by each success
  };

  void grow(std::uint64_t destination) {
    const auto slow = slow_.find(destination);
    if (slow != slow_.end()) ++slow->second.places;
  }

  // Outcomes are seen here before the engine hears of them, so it counted no fewer.
  void check_share(const MessageNote& note) {
    std::size_t own = 0;
    for (const auto& [number, attempt] : open_)
      own += attempt.destination == note.destination->id.value() ? 1U : 0U;
    if (own > 0 && own + open_.size() >= open_max_)
      verdicts_.violation(29,
                          "a destination takes more places than it leaves: " + to_string(note.id));
  }

  void check_group(const Policy& policy, const MessageNote& note) {
    const std::uint32_t most = policy.group_limits.in_use_max;
    if (most != 0 && in_group_[policy.group] >= most)
      verdicts_.violation(29, "more attempts than places in a group: " + to_string(note.id));
    ++in_group_[policy.group];
  }

  void close(AttemptId attempt) {
    const auto at = open_.find(attempt.value());
    if (at == open_.end()) return;
    if (at->second.group != 0) --in_group_[at->second.group];
    const auto slow = slow_.find(at->second.destination);
    if (at->second.counted && slow != slow_.end() && slow->second.open > 0) --slow->second.open;
    open_.erase(at);
  }

  Verdicts& verdicts_;
  Notebook& notebook_;
  std::size_t open_max_;
  bool remembers_;
  Incarnation newest_ = 0;
  std::unordered_map<std::uint64_t, Open> open_;
  std::unordered_map<std::uint64_t, std::uint32_t> in_group_;
  std::unordered_map<std::uint64_t, Slow> slow_;
};

}  // namespace

std::unique_ptr<Checker> make_fairness_checker(const CheckerContext& context, Notebook& notebook) {
  return std::make_unique<FairnessChecker>(context, notebook);
}

}  // namespace postrider::sim
