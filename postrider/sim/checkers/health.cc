// Checker 7, routes: nothing starts while a route waits, is paused or disabled; one probe at a
// time; a route closes for as long as the rule says; and only a delivery or an operator clears it,
// never mere contact.
#include <map>

#include "postrider/sim/checkers/all.h"

namespace postrider::sim {
namespace {

bool is_good(const WireReply& reply) {
  return reply.end == WireEnd::kAnswered && reply.status >= 200 && reply.status < 300;
}

bool closed(Health health) {
  return health == Health::kWait || health == Health::kPaused || health == Health::kDisabled;
}

class HealthChecker final : public Checker {
 public:
  HealthChecker(const CheckerContext& context, Notebook& notebook)
      : verdicts_(context.verdicts), notebook_(notebook) {}

  void began(const Moment& when, Epoch /*epoch*/) override {
    newest_ = when.incarnation;
    open_.clear();
    for (auto& [id, evidence] : evidence_) evidence.open = 0;
  }

  void left(const Left& left) override {
    if (left.when.incarnation != newest_) return;
    const MessageNote* note = notebook_.find(left.start.message);
    if (note == nullptr || note->destination == nullptr) return;
    const DestinationNote& destination = *note->destination;
    Evidence& evidence = evidence_[destination.id.value()];
    if (is_send(left.call) && destination.route && !destination.damaged)
      check_start(destination, evidence, left);
    open_[left.start.attempt.value()] = {destination.id, is_send(left.call)};
    if (is_send(left.call)) ++evidence.open;
  }

  void aborted(const Aborted& aborted) override {
    close(aborted.when.incarnation, aborted.attempt);
  }

  void outcome(const Outcomed& outcome) override {
    const auto at = open_.find(outcome.attempt.value());
    if (at != open_.end() && outcome.when.incarnation == newest_ && is_good(outcome.reply)) {
      evidence_[at->second.destination.value()].good = outcome.when.truth;
    }
    close(outcome.when.incarnation, outcome.attempt);
  }

  void receipt(const Receipted& receipt) override {
    const bool good = receipt.signal == On::kConfirmed || receipt.signal == On::kAnswered ||
                      receipt.signal == On::kAccepted;
    if (good) evidence_[receipt.id.destination().value()].good = receipt.when.truth;
  }

  void asked(const Asked& asked) override {
    const auto* resume = std::get_if<Resume>(&asked.event);
    if (resume != nullptr) resumed_[resume->destination] = asked.when.truth;
    released_ = released_ || std::holds_alternative<DropHold>(asked.event) ||
                std::holds_alternative<PutHold>(asked.event);
  }

  void batch(const Batch& batch) override {
    // News by name is a delivery too; that it was news and no invention is another checker's
    // matter.
    for (const EndRecord& end : batch.ends) {
      const MessageNote* note = notebook_.find(end.id);
      if (end.phase == Phase::kDelivered && note != nullptr && note->destination != nullptr &&
          note->destination->profile != nullptr &&
          note->destination->profile->methods[note->method].name == "task")
        evidence_[end.id.destination().value()].good = batch.when.truth;
    }
    for (const Batch::RoutePut& put : batch.routes) {
      Evidence& evidence = evidence_[put.note->id.value()];
      const Health before = put.before ? put.before->health : Health::kNormal;
      if (!put.note->damaged) check_change(put, evidence);
      // A trouble begins when the route leaves normal; that was decided a little before it became
      // durable.
      if (before == Health::kNormal && put.route.health != Health::kNormal)
        evidence.trouble = batch.when.truth - kCommitMost;
    }
  }

 private:
  static constexpr Duration kCommitMost = 2min;

  struct Attempt {
    DestinationId destination;
    bool send = false;
  };
  struct Evidence {
    std::uint32_t open = 0;  // sends
    Timestamp good;     // true time of the last delivery or receipt that the process was told of
    Timestamp trouble;  // true time since when the route is not normal, as the disk says
  };

  void close(Incarnation incarnation, AttemptId attempt) {
    if (incarnation != newest_) return;
    const auto at = open_.find(attempt.value());
    if (at == open_.end()) return;
    if (at->second.send) --evidence_[at->second.destination.value()].open;
    open_.erase(at);
  }

  void check_start(const DestinationNote& destination, const Evidence& evidence, const Left& left) {
    const Route& route = *destination.route;
    const Timestamp decided = decided_at(left).value_or(left.decided_after);
    if (decided <= route.health_since)
      return;  // decided before the route changed, in the same turn
    if (closed(route.health))
      return verdicts_.violation(7, "an attempt to a route that is " +
                                        std::string(name_of(route.health)) + ": " +
                                        to_string(left.start.message));
    if (route.health == Health::kProbe && evidence.open > 0)
      verdicts_.violation(7, "a second probe: " + to_string(left.start.message));
  }

  void check_change(const Batch::RoutePut& put, const Evidence& evidence) {
    const Route& after = put.route;
    const Health before = put.before ? put.before->health : Health::kNormal;
    const auto resumed = resumed_.find(put.note->config.name);
    const Timestamp resume = resumed == resumed_.end() ? Timestamp() : resumed->second;
    if (before != Health::kNormal && after.health == Health::kNormal) {
      const bool troubled = before == Health::kWait || before == Health::kProbe;
      const bool cleared = troubled && evidence.good >= evidence.trouble;
      const bool held = put.before && put.before->reason.starts_with("hold '") && released_;
      if (!cleared && !held && resume < evidence.trouble) {
        verdicts_.violation(7, "a route was cleared by nobody: " + put.note->config.name);
      }
    }
    if (after.health != Health::kWait || before == Health::kWait) return;
    const HealthRule& rule = put.note->policy.health;
    Duration wait = rule.wait_base;
    for (std::uint16_t i = 1; i < after.waits && wait < rule.wait_max; ++i) wait = 2 * wait;
    if (rule.wait_max > Duration(0)) wait = std::min(wait, rule.wait_max);
    const bool settled = put.note->configured < after.health_since;
    if (settled && after.closed_until < after.health_since + wait) {
      verdicts_.violation(7, "a route closed for too short a time: " + put.note->config.name);
    }
  }

  Verdicts& verdicts_;
  Notebook& notebook_;
  Incarnation newest_ = 0;
  std::map<std::uint64_t, Attempt> open_;
  std::map<std::uint64_t, Evidence> evidence_;
  std::map<std::string, Timestamp> resumed_;
  bool released_ = false;  // somebody changed a hold: whoever it paused may go on
};

}  // namespace

std::unique_ptr<Checker> make_health_checker(const CheckerContext& context, Notebook& notebook) {
  return std::make_unique<HealthChecker>(context, notebook);
}

}  // namespace postrider::sim
