// Checker 42: turns. While a destination waits for nothing but its turn, each other tenant starts
// no more than its weight in one round, and each other destination of its own tenant once. Looked
// at are destinations that had nothing to do, until their first message starts: whatever else may
// hold one up is not counted. In staged worlds it also keeps the figures of those that are watched.
#include <algorithm>
#include <deque>
#include <map>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "postrider/sim/checkers/all.h"
#include "postrider/sim/world/staged.h"

namespace postrider::sim {
namespace {

class TurnsChecker final : public Checker {
 public:
  TurnsChecker(const CheckerContext& context, Notebook& notebook)
      : verdicts_(context.verdicts),
        notebook_(notebook),
        world_(context.world),
        figures_(context.figures),
        all_alike_(context.shard.engine.limits.open_attempts_max < kPlacesOfOneKept),
        remembers_(context.shard.engine.limits.residents_max >= kManyDestinations) {}

  void began(const Moment& when, Epoch /*epoch*/) override {
    newest_ = when.incarnation;
    waits_.clear();
    open_.clear();
    for (auto& [number, line] : lines_) line.open = 0, line.proven = false;
  }
  void damaged(const Moment& /*when*/, std::string_view /*key*/) override { blind_ = true; }

  void batch(const Batch& batch) override {
    for (const Batch::StatePut& put : batch.states) waits_.erase(number_of(*put.note));
    for (const MessageNote* note : batch.moved) waits_.erase(number_of(*note));
    for (const Batch::RoutePut& put : batch.routes) waits_.erase(put.note->id.value());
    for (const MessageNote* note : batch.left) {
      waits_.erase(number_of(*note));
      started_.erase(note->id.sequence().value());
      if (--lines_[number_of(*note)].live < 0) lines_[number_of(*note)].live = 0;
    }
    for (const DestinationNote* note : batch.configured) configure(batch, *note);
    for (const MessageNote* note : batch.entered) enter(batch, *note);
  }

  void left(const Left& left) override {
    const MessageNote* note = notebook_.find(left.start.message);
    if (left.when.incarnation != newest_ || note == nullptr || note->destination == nullptr) return;
    const std::uint64_t number = number_of(*note);
    if (const auto own = waits_.find(number); own != waits_.end()) {
      look(own->second, note->destination->config.name);
      waits_.erase(own);
    }
    ++lines_[number].open;
    open_[left.start.attempt.value()] = number;
    const bool first = started_.insert(note->id.sequence().value()).second;
    const Timestamp decided = decided_at(left).value_or(left.decided_after);
    for (auto& [waiting, wait] : waits_) {
      if (wait.since < decided) pass(wait, *note, first && is_by_turn(*note, decided));
    }
  }

  void aborted(const Aborted& aborted) override {
    if (aborted.when.incarnation == newest_) close(aborted.attempt);
  }
  void outcome(const Outcomed& outcome) override {
    if (outcome.when.incarnation != newest_) return;
    const auto at = open_.find(outcome.attempt.value());
    if (at == open_.end()) return;
    lines_[at->second].proven = outcome.reply.end == WireEnd::kAnswered &&
                                outcome.reply.status >= 200 && outcome.reply.status < 300;
    close(outcome.attempt);
  }

  void finished(const Finished& /*finished*/) override {
    for (const auto& [number, wait] : waits_) look(wait, wait.name);
    if (figures_ == nullptr || (world_ != WorldKind::kHang && world_ != WorldKind::kFlood)) return;
    figure_.most = most();
    figure_.what = world_ == WorldKind::kHang
                       ? "foreign sends that a healthy message waits for"
                       : "sends of the flood that another's message waits for";
    if (figure_.looked == 0) verdicts_.violation(42, "nobody waited that is watched");
    figures_->push_back(figure_);
  }

 private:
  // Of so many places one is kept for destinations that are known to answer; the others may then
  // wait for something else than their turn.
  static constexpr std::uint32_t kPlacesOfOneKept = 8;
  // With fewer in memory it is forgotten who answered.
  static constexpr std::uint32_t kManyDestinations = 64;
  // Somebody may stand in the ring under the name of his former tenant for a while.
  static constexpr Duration kSettles{1h};

  struct Line {  // of a destination
    std::int64_t live = 0;
    std::uint32_t open = 0;
    bool proven = false;
    std::uint64_t tenant = 0;
    bool known = false;
    Timestamp moved;  // to another tenant
  };
  struct Wait {
    std::string name;
    MessageId id;
    Timestamp since;  // engine time
    std::uint64_t tenant = 0;
    std::uint64_t weight = 1;
    std::uint64_t own = 0;      // starts of its own tenant
    std::uint64_t foreign = 0;  // all sends but its own
    std::map<std::uint64_t, std::uint64_t> tenants;
    std::map<std::uint64_t, std::uint64_t> neighbours;  // destinations of its own tenant
  };

  static std::uint64_t number_of(const MessageNote& note) { return note.id.destination().value(); }

  void configure(const Batch& batch, const DestinationNote& note) {
    waits_.erase(note.id.value());
    Line& line = lines_[note.id.value()];
    if (line.known && line.tenant != note.policy.tenant) line.moved = batch.when.engine;
    line.known = true;
    line.proven = false;  // one that was removed and made again is a new one
    line.tenant = note.policy.tenant;
    std::uint64_t& weight = weights_[note.policy.tenant];
    weight = std::max<std::uint64_t>({1, weight, note.policy.tenant_weight});
  }

  void enter(const Batch& batch, const MessageNote& note) {
    Line& line = lines_[number_of(note)];
    const auto waiting = waits_.find(number_of(note));
    if (waiting != waits_.end()) {
      ++line.live;
      if (!is_plain(note)) waits_.erase(waiting);  // it may take the turn and not use it
      return;
    }
    if (line.live++ > 0 || line.open > 0 || batch.when.incarnation != newest_) return;
    const Field* field = note.destination == nullptr ? nullptr : note.destination->field;
    const bool proven =
        line.proven && remembers_ && field != nullptr && field->customs().answers_prove;
    if (!is_plain(note) || !(all_alike_ || proven)) return;
    Wait& wait = waits_[number_of(note)];
    wait.name = note.destination->config.name;
    wait.id = note.id;
    wait.since = note.accepted;
    wait.tenant = note.destination->policy.tenant;
    wait.weight = std::max<std::uint64_t>(1, note.destination->policy.tenant_weight);
  }

  static bool has_no_gate(const MessageNote& note) {
    return note.gates[0] == 0 && note.destination != nullptr && note.destination->policy.group == 0;
  }
  // Nothing but its turn holds it up.
  bool is_plain(const MessageNote& note) const {
    if (!has_no_gate(note) || !note.hot || note.not_before.is_set()) return false;
    const DestinationNote& destination = *note.destination;
    const GateLimits& limits = destination.policy.route;
    if (destination.damaged || destination.configured >= note.accepted) return false;
    if (limits.spacing > Duration(0) || limits.tokens_per_second > 0) return false;
    if (destination.policy.members_max > 0) return false;  // what is ready may wait for its batch
    const auto& route = destination.route;
    return !route || (route->health == Health::kNormal && !route->failing_since.is_set() &&
                      !route->closed_until.is_set());
  }
  // It took its tenant's turn, and not that of a gate or a group.
  bool is_by_turn(const MessageNote& note, Timestamp decided) {
    const Line& line = lines_[number_of(note)];
    return has_no_gate(note) && note.destination->configured < decided &&
           (!line.moved.is_set() || decided - line.moved > kSettles);
  }

  void pass(Wait& wait, const MessageNote& note, bool by_turn) {
    ++wait.foreign;
    const std::uint64_t tenant = note.destination->policy.tenant;
    if (tenant == wait.tenant) {
      ++wait.own;
      if (by_turn && ++wait.neighbours[number_of(note)] > 1)
        complain("twice by a destination of its own tenant", wait);
    } else if (by_turn) {
      const std::uint64_t rounds = 1 + wait.own / wait.weight + (wait.own > 0 ? 1 : 0);
      if (++wait.tenants[tenant] > weights_[tenant] * rounds)
        complain("more often than its weight by another tenant", wait);
    }
    if (is_watched(world_, wait.name) && watched(wait) > most())
      complain(std::to_string(watched(wait)) + " times by those it is not to wait for", wait);
  }
  void complain(const std::string& what, const Wait& wait) {
    if (!blind_) verdicts_.violation(42, "passed " + what + ": " + to_string(wait.id));
  }

  std::uint64_t most() const {
    return world_ == WorldKind::kHang ? kHangForeignMax : kFloodPassMax;
  }
  std::uint64_t watched(const Wait& wait) const {
    if (world_ == WorldKind::kHang) return wait.foreign;
    std::uint64_t most = 0;
    for (const auto& [tenant, starts] : wait.tenants) most = std::max(most, starts);
    return most;
  }
  void look(const Wait& wait, const std::string& name) {
    if (!is_watched(world_, name)) return;
    ++figure_.looked;
    figure_.worst = std::max(figure_.worst, watched(wait));
  }

  void close(AttemptId attempt) {
    const auto at = open_.find(attempt.value());
    if (at == open_.end()) return;
    Line& line = lines_[at->second];
    if (line.open > 0) --line.open;
    open_.erase(at);
  }

  Verdicts& verdicts_;
  Notebook& notebook_;
  WorldKind world_;
  std::vector<Figure>* figures_;
  bool all_alike_;  // no place is kept for anybody
  bool remembers_;
  bool blind_ = false;
  Incarnation newest_ = 0;
  Figure figure_;
  std::map<std::uint64_t, Line> lines_;
  std::map<std::uint64_t, Wait> waits_;                    // by destination
  std::map<std::uint64_t, std::uint64_t> weights_;         // by tenant, the largest there was
  std::unordered_set<std::uint64_t> started_;              // sequences of live messages
  std::unordered_map<std::uint64_t, std::uint64_t> open_;  // attempts, by whom
};

// The storm: how many attempts there are in any second after the far side is back.
class StormChecker final : public Checker {
 public:
  StormChecker(const CheckerContext& context, Notebook& /*notebook*/)
      : verdicts_(context.verdicts), figures_(context.figures) {}

  void began(const Moment& when, Epoch /*epoch*/) override {
    if (!began_.is_set()) began_ = when.truth;
  }
  void left(const Left& left) override {
    const Duration age = left.when.truth - began_;
    if (age < kStormReturns || age >= kStormSpan || !is_send(left.call)) return;
    const Timestamp now = left.when.truth;
    while (!recent_.empty() && now - recent_.front() >= Duration(1s)) recent_.pop_front();
    recent_.push_back(now);
    ++figure_.looked;
    figure_.worst = std::max<std::uint64_t>(figure_.worst, recent_.size());
    if (recent_.size() == kStormStartsMax + 1)
      verdicts_.violation(42, "more attempts in a second than a slow start allows");
  }
  void finished(const Finished& /*finished*/) override {
    if (figures_ == nullptr) return;
    figure_.what = "attempts in a second after the far side is back";
    figure_.most = kStormStartsMax;
    figures_->push_back(figure_);
  }

 private:
  Verdicts& verdicts_;
  std::vector<Figure>* figures_;
  Timestamp began_;
  Figure figure_;
  std::deque<Timestamp> recent_;  // starts of the last second
};

}  // namespace

std::unique_ptr<Checker> make_turns_checker(const CheckerContext& context, Notebook& notebook) {
  return std::make_unique<TurnsChecker>(context, notebook);
}

std::unique_ptr<Checker> make_storm_checker(const CheckerContext& context, Notebook& notebook) {
  return std::make_unique<StormChecker>(context, notebook);
}

}  // namespace postrider::sim
