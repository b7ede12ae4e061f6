// Checker 7, routes: nothing starts while a route waits, is paused or disabled; one probe at a
// time; a route closes for as long as the rule says, and the next wait follows from the stored one;
// only a delivery or an operator clears it, never mere contact. A wait beyond the rule's bound is
// deep, and no other; in catch-up only its lanes start, and it ends when they owe nothing. The
// strikes of messages that ran out of attempts are told, and a position never goes back.
#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "postrider/sim/checkers/all.h"

namespace postrider::sim {
namespace {

bool is_good(const WireReply& reply) {
  return reply.end == WireEnd::kAnswered && reply.status >= 200 && reply.status < 300;
}

bool closed(Health health) {
  return health == Health::kWait || health == Health::kDeep || health == Health::kPaused ||
         health == Health::kDisabled;
}

Health health_of(const std::optional<Route>& route) {
  return route ? route->health : Health::kNormal;
}

// One attempt at a time: nothing has succeeded yet.
bool tries_one(const Route& route) {
  return route.health == Health::kProbe ||
         (route.health == Health::kCatchUp && route.failing_since.is_set());
}

__extension__ using Wide = __int128;

// The shortest and the longest wait that may follow from what is stored, without the maximum.
std::pair<Wide, Wide> next_waits(const HealthRule& rule, const std::optional<Route>& before) {
  const Wide base = rule.wait_base.count();
  const Wide last = before ? Wide{before->interval.count()} : 0;
  if (last == 0) return {base, base};
  const Wide grown = last * rule.factor_percent / 100;
  return {grown * rule.jitter_low / 1000 - 1, grown * rule.jitter_high / 1000 + 1};
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
    const auto* seen = std::get_if<PeerSeen>(&asked.event);
    if (seen != nullptr) seen_[seen->destination] = asked.when.truth;
    released_ = released_ || std::holds_alternative<DropHold>(asked.event) ||
                std::holds_alternative<PutHold>(asked.event);
  }

  void batch(const Batch& batch) override {
    for (const MessageNote* note : batch.entered) live_.insert(note->id);
    for (const MessageNote* note : batch.left) {
      if (!note->live()) live_.erase(note->id);
    }
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
      const Health before = health_of(put.before);
      if (!put.note->damaged) check_change(put, evidence);
      if (!put.note->damaged) check_wait(put);
      if (!put.note->damaged && put.before && put.route.position < put.before->position)
        verdicts_.violation(7, "a position went back: " + put.note->config.name);
      if (put.route.health == Health::kCatchUp && before != Health::kCatchUp)
        evidence.behind = batch.when.truth;
      // A trouble begins when the route leaves normal; that was decided a little before it became
      // durable.
      if (before == Health::kNormal && put.route.health != Health::kNormal)
        evidence.trouble = batch.when.truth - kCommitMost;
    }
    for (const Batch::StatePut& put : batch.states) check_spent(put, batch);
    check_catch_ups(batch.when);
  }

 private:
  static constexpr Duration kCommitMost = 2min;
  static constexpr Duration kCaughtUpMost =
      2h;  // a page may have to be read to see that none is owed

  struct Attempt {
    DestinationId destination;
    bool send = false;
  };
  struct Evidence {
    std::uint32_t open = 0;  // sends
    Timestamp good;     // true time of the last delivery or receipt that the process was told of
    Timestamp trouble;  // true time since when the route is not normal, as the disk says
    Timestamp behind;   // true time since when it catches up and owes something
  };

  // Whether a message that was sent and is waited for may keep a catch-up open.
  bool has_sent(const DestinationNote& destination) const {
    const auto last = live_.lower_bound({(destination.id.value() + 1) << 20, 0});
    return std::any_of(live_.lower_bound({destination.id.value() << 20, 0}), last,
                       [&](MessageId id) {
                         const MessageNote* note = notebook_.find(id);
                         if (note == nullptr || !note->state || destination.profile == nullptr)
                           return false;
                         const Phase phase = destination.profile->states[note->state->state].phase;
                         return phase == Phase::kInFlight || phase == Phase::kAwaiting;
                       });
  }

  // Whether a message is in line in a lane that starts in catch-up, since before `since` if that is
  // said. What is parked is not owed, nor what sleeps on disk until after `until`; the head of a
  // FIFO lane keeps its lane waiting.
  bool owes(const DestinationNote& destination, Timestamp until, Timestamp since = {}) const {
    const auto last = live_.lower_bound({(destination.id.value() + 1) << 20, 0});
    for (auto at = live_.lower_bound({destination.id.value() << 20, 0}); at != last; ++at) {
      const MessageNote* note = notebook_.find(*at);
      if (note == nullptr || note->damaged || note->parked ||
          !destination.policy.starts_in_catch_up(at->lane()))
        continue;
      const bool fifo = destination.policy.lane_kind(at->lane()) == LaneKind::kFifo;
      const Timestamp in_line = note->state ? note->state->since : note->accepted;
      if (since.is_set() && in_line >= since) continue;
      if (!note->cold || !note->state || fifo || note->state->due <= until) return true;
    }
    return false;
  }

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
    if (tries_one(route) && evidence.open > 0)
      verdicts_.violation(7, "a second probe: " + to_string(left.start.message));
    // A batch that was open before goes on.
    const bool open_batch = route.batch.leader == left.start.message;
    if (route.health == Health::kCatchUp && destination.configured < route.health_since &&
        !open_batch && !destination.policy.starts_in_catch_up(left.start.message.lane()))
      verdicts_.violation(
          7, "a start of a lane that does not go in catch-up: " + to_string(left.start.message));
  }

  void check_change(const Batch::RoutePut& put, const Evidence& evidence) {
    const Route& after = put.route;
    const Health before = health_of(put.before);
    const auto resumed = resumed_.find(put.note->config.name);
    const Timestamp resume = resumed == resumed_.end() ? Timestamp() : resumed->second;
    if (before != Health::kNormal && after.health == Health::kNormal) {
      const bool troubled = before == Health::kWait || before == Health::kProbe;
      // A catch-up may be over because nothing was owed, or nothing was ever delivered.
      const bool behind = before == Health::kDeep || before == Health::kCatchUp;
      const bool drained = behind && (!owes(*put.note, Timestamp(), after.health_since) ||
                                      !after.delivered_at.is_set());
      const bool cleared = drained || ((troubled || behind) && evidence.good >= evidence.trouble);
      const bool held = put.before && put.before->reason.starts_with("hold '") && released_;
      const auto seen = seen_.find(put.note->config.name);
      const bool contact = put.note->policy.health.contact_clears && seen != seen_.end() &&
                           seen->second >= evidence.trouble;
      if (!cleared && !held && !contact && resume < evidence.trouble) {
        verdicts_.violation(7, "a route was cleared by nobody: " + put.note->config.name);
      }
    }
  }

  // Written from the words of the specification: how long a route closes, and whether that is deep.
  void check_wait(const Batch::RoutePut& put) {
    const Route& after = put.route;
    const Health before = health_of(put.before);
    const bool closes = after.health == Health::kWait || after.health == Health::kDeep;
    const bool closed = before == Health::kWait || before == Health::kDeep;
    // What changed with its settings, or twice within a batch, says nothing.
    const bool again = closed && put.before && put.before->health_since == after.health_since;
    const bool settled = put.note->configured < after.health_since;
    if (!closes || again || !settled) return;
    const HealthRule& rule = put.note->policy.health;
    const Wide max = rule.wait_max.count();
    if (!rule.keeps_interval()) {
      Duration wait = rule.wait_base;
      for (std::uint16_t i = 1; i < after.waits && wait < rule.wait_max; ++i) wait = 2 * wait;
      if (rule.wait_max > Duration(0)) wait = std::min(wait, rule.wait_max);
      if (after.closed_until < after.health_since + wait)
        verdicts_.violation(7, "a route closed for too short a time: " + put.note->config.name);
      return;
    }
    if (after.interval <= Duration(0) && rule.wait_base > Duration(0))
      return verdicts_.violation(7, "a wait was not written down: " + put.note->config.name);
    if (after.closed_until < after.health_since + after.interval)
      verdicts_.violation(7, "a route closed for too short a time: " + put.note->config.name);
    // Between the two records there was one closing.
    const bool next = put.before && after.waits == put.before->waits + 1 &&
                      (put.before->waits == 0 || put.before->interval > Duration(0));
    auto [low, high] = next_waits(rule, next ? put.before : std::nullopt);
    if (max > 0) low = std::min(low, max), high = std::min(high, max);
    const Wide wait = after.interval.count();
    if ((next || after.waits == 1) && (wait < low || wait > high))
      verdicts_.violation(
          7, "a wait that does not follow from the last one: " + put.note->config.name + " " +
                 std::to_string(after.interval.count()));
    const bool far = rule.deep_after > Duration(0) && after.interval > rule.deep_after;
    // That a destination begins in catch-up is not written down.
    const bool fell_back = before == Health::kCatchUp || closed || rule.begins_behind;
    if (after.health == Health::kDeep ? !far && !fell_back : far)
      verdicts_.violation(7, "a wait of " + std::to_string(after.interval.count()) + " ms is " +
                                 std::string(name_of(after.health)) + ": " + put.note->config.name);
  }

  // Whether the state is one into which a row strikes when nothing is left to try.
  static bool strikes_when_spent(const MessageNote& note, const State& state) {
    for (const Transition& row : note.destination->profile->methods[state.method].rows) {
      if (row.on == On::kExhausted && row.raise == Raise::kFail && row.to == state.state)
        return true;
    }
    return false;
  }

  // A message whose attempts are spent, and whose row then strikes: the route must know.
  void check_spent(const Batch::StatePut& put, const Batch& batch) {
    const DestinationNote* destination = put.note->destination;
    if (destination == nullptr || destination->profile == nullptr || destination->damaged ||
        put.note->damaged)
      return;
    const StateRow& state = destination->profile->states[put.state.state];
    const bool anew = !put.before || put.before->since != put.state.since;
    if (!state.refreshes || !anew || destination->configured >= put.state.since) return;
    // What a far side wishes is obeyed without a strike.
    const RetryRule& rule = destination->policy.rule(put.state.failure);
    if (!rule.strikes || rule.holds_route || !strikes_when_spent(*put.note, put.state)) return;
    const Evidence& evidence = evidence_[destination->id.value()];
    const bool well = evidence.good.is_set() && evidence.good + kCommitMost >= batch.when.truth;
    const bool resumed = resumed_.contains(destination->config.name) || released_;
    const auto seen = seen_.find(destination->config.name);
    const bool roused = destination->policy.health.contact_clears && seen != seen_.end() &&
                        seen->second + kCommitMost >= batch.when.truth;
    if (well || resumed || roused ||
        (destination->route && destination->route->failing_since.is_set()))
      return;
    verdicts_.violation(
        7, "a round of attempts failed, and the route does not know: " + to_string(put.note->id));
  }

  // A catch-up is over when its lanes owe nothing.
  void check_catch_ups(const Moment& when) {
    for (auto& [id, evidence] : evidence_) {
      if (!evidence.behind.is_set()) continue;
      const DestinationNote* destination = notebook_.find(DestinationId(id));
      const bool over = destination == nullptr || destination->damaged ||
                        health_of(destination->route) != Health::kCatchUp;
      if (over) {
        evidence.behind = Timestamp();
      } else if (owes(*destination, when.engine - kCommitMost) || has_sent(*destination) ||
                 when.incarnation != newest_) {
        evidence.behind = when.truth;
      } else if (evidence.behind + kCaughtUpMost < when.truth) {
        verdicts_.violation(7, "a route catches up with nothing: " + destination->config.name);
        evidence.behind = Timestamp();
      }
    }
  }

  Verdicts& verdicts_;
  Notebook& notebook_;
  Incarnation newest_ = 0;
  std::map<std::uint64_t, Attempt> open_;
  std::map<std::uint64_t, Evidence> evidence_;
  std::set<MessageId> live_;
  std::map<std::string, Timestamp> resumed_;
  std::map<std::string, Timestamp> seen_;  // signs of life
  bool released_ = false;                  // somebody changed a hold: whoever it paused may go on
};

}  // namespace

std::unique_ptr<Checker> make_health_checker(const CheckerContext& context, Notebook& notebook) {
  return std::make_unique<HealthChecker>(context, notebook);
}

}  // namespace postrider::sim
