// Checkers 5 and 6: a FIFO lane sends its oldest live message and no other, and so does an order
// within a lane; nothing starts after its expiry.
#include <map>
#include <set>
#include <tuple>

#include "postrider/sim/checkers/all.h"

namespace postrider::sim {
namespace {

class OrderChecker final : public Checker {
 public:
  OrderChecker(const CheckerContext& context, Notebook& notebook)
      : verdicts_(context.verdicts), notebook_(notebook) {}

  void batch(const Batch& batch) override {
    // In one commit with a change of its destination: perhaps before it, and bound by nothing.
    const std::set<const DestinationNote*> changed(batch.configured.begin(),
                                                   batch.configured.end());
    for (const MessageNote* note : batch.entered) {
      Lane& lane = lane_of(*note);
      if (is_fifo(*note) && !changed.contains(note->destination))
        lane.live.insert(note->id.sequence().value());
    }
    for (const MessageNote* note : batch.left) forget(*note);
    // What an operator has in hand blocks nobody, and comes back out of order.
    for (const Batch::StatePut& put : batch.states) {
      if (put.note->was_parked) forget(*put.note);
    }
  }

  void damaged(const Moment& /*when*/, std::string_view key) override {
    const auto hot = keys::parse_hot(key);
    const auto cold = keys::parse_cold(key);
    const MessageNote* note =
        hot ? notebook_.find(hot->sequence) : (cold ? notebook_.find(cold->id) : nullptr);
    if (note != nullptr) forget(*note);
  }

  void left(const Left& left) override {
    const MessageNote* note = notebook_.find(left.start.message);
    if (note == nullptr || note->destination == nullptr || !is_fifo(*note)) return;
    const Lane& lane = lane_of(*note);
    const std::uint64_t sequence = note->id.sequence().value();
    if (lane.live.contains(sequence) && *lane.live.begin() != sequence) {
      const MessageNote* first = notebook_.find(Sequence(*lane.live.begin()));
      verdicts_.violation(5, to_string(note->id) + " overtook " +
                                 (first == nullptr ? "another" : to_string(first->id)));
    }
  }

 private:
  struct Lane {
    std::set<std::uint64_t> live;  // accepted while the lane was FIFO
    bool fifo = false;
  };

  // The lane's kind may change; then what was accepted before is bound by nothing.
  bool is_fifo(const MessageNote& note) {
    if (note.destination == nullptr) return false;
    Lane& lane = lane_of(note);
    const bool fifo = note.destination->policy.lane_kind(note.id.lane()) == LaneKind::kFifo;
    if (fifo != lane.fifo) lane.live.clear();
    lane.fifo = fifo;
    return fifo;
  }

  Lane& lane_of(const MessageNote& note) {
    return lanes_[{note.id.destination().value(), note.id.lane()}];
  }
  void forget(const MessageNote& note) { lane_of(note).live.erase(note.id.sequence().value()); }

  Verdicts& verdicts_;
  Notebook& notebook_;
  std::map<std::pair<std::uint64_t, std::uint8_t>, Lane> lanes_;
};

// Messages of a lane with one key start in the order of acceptance, the next only after the end of
// the former. One that was not to be sent earlier has its place from its time on.
class LineChecker final : public Checker {
 public:
  LineChecker(const CheckerContext& context, Notebook& notebook)
      : verdicts_(context.verdicts), notebook_(notebook) {}

  void began(const Moment& when, Epoch /*epoch*/) override { newest_ = when.incarnation; }

  void batch(const Batch& batch) override {
    for (const MessageNote* note : batch.entered) {
      if (!note->line.empty() && !note->not_before.is_set())
        line_of(*note).insert(note->id.sequence().value());
    }
    for (const MessageNote* note : batch.left) forget(*note);
    // Whoever was parked out of the way blocks nobody, and comes back out of order.
    for (const MessageNote* note : batch.gaps) forget(*note);
  }

  void damaged(const Moment& /*when*/, std::string_view key) override {
    const auto hot = keys::parse_hot(key);
    const auto cold = keys::parse_cold(key);
    const MessageNote* note =
        hot ? notebook_.find(hot->sequence) : (cold ? notebook_.find(cold->id) : nullptr);
    if (note != nullptr) forget(*note);
  }

  void left(const Left& left) override {
    const MessageNote* note = notebook_.find(left.start.message);
    if (note == nullptr || left_lines_.contain(*note)) return;
    if (note->line.empty() || note->damaged || note->end || !is_send(left.call) ||
        left.when.incarnation != newest_)
      return;
    const std::set<std::uint64_t>& line = line_of(*note);
    if (line.empty() || *line.begin() >= note->id.sequence().value()) return;
    const MessageNote* first = notebook_.find(Sequence(*line.begin()));
    verdicts_.violation(5, to_string(note->id) + " overtook in its order " +
                               (first == nullptr ? "another" : to_string(first->id)));
  }

 private:
  using Line = std::tuple<std::uint64_t, std::uint8_t, std::string>;

  std::set<std::uint64_t>& line_of(const MessageNote& note) {
    return lines_[{note.id.destination().value(), note.id.lane(), note.line}];
  }
  void forget(const MessageNote& note) {
    if (!note.line.empty()) line_of(note).erase(note.id.sequence().value());
  }

  Verdicts& verdicts_;
  Notebook& notebook_;
  Incarnation newest_ = 0;
  std::map<Line, std::set<std::uint64_t>> lines_;  // live ones
  LeftLines left_lines_;
};

class ExpiryChecker final : public Checker {
 public:
  ExpiryChecker(const CheckerContext& context, Notebook& notebook)
      : verdicts_(context.verdicts), notebook_(notebook), clock_(context.clock) {}

  void left(const Left& left) override {
    const MessageNote* note = notebook_.find(left.start.message);
    if (note == nullptr || !note->expires.is_set() || !is_send(left.call)) return;
    // A batch goes again whatever became of its members: as far as its record tells, it may have
    // arrived, also when a kill kept it from leaving.
    if (!left.call.batch.empty()) {
      const auto claimed = claimed_.find(note->id);
      const bool known = claimed != claimed_.end();
      if (known && claimed->second.at < notebook_.expires_of(*note)) return;
      // A route that cannot be read forgets its batch, and the leader opens another one.
      if (known && route_lost_) return;
    }
    const Timestamp decided = decided_at(left).value_or(left.decided_after);
    if (decided >= notebook_.expires_of(*note))
      verdicts_.violation(6, "an expired message was sent: " + to_string(note->id));
  }

  void damaged(const Moment& /*when*/, std::string_view key) override {
    route_lost_ = route_lost_ || key[0] == keys::kRoute;
  }

  void batch(const Batch& batch) override {
    for (const Batch::RoutePut& put : batch.routes) {
      if (!put.route.batch.is_open()) continue;
      Claim& claim = claimed_[put.route.batch.leader];
      if (claim.number != put.route.claims) claim = {put.route.claims, batch.when.engine};
    }
    for (const EndRecord& end : batch.ends) {
      const MessageNote* note = notebook_.find(end.id);
      if (note == nullptr || end.phase != Phase::kExpired) continue;
      if (may_be_early(*note, end)) continue;
      if (!note->expires.is_set() || end.at < notebook_.expires_of(*note))
        verdicts_.violation(6, "a message expired before its time: " + to_string(end.id));
    }
  }

 private:
  bool may_be_early(const MessageNote& note, const EndRecord& end) const {
    const Field* field = note.destination == nullptr ? nullptr : note.destination->field;
    const Timestamp wall_max = clock_.read().wall + 2 * clock_.worst_error_since(Timestamp());
    return field != nullptr &&
           field->may_expire_early(note, {end, notebook_.accepted_of(note), wall_max});
  }

  Verdicts& verdicts_;
  Notebook& notebook_;
  const SimClock& clock_;
  struct Claim {
    std::uint64_t number = 0;
    Timestamp at;
  };
  std::map<MessageId, Claim> claimed_;  // by the leader, its last batch
  bool route_lost_ = false;
};

}  // namespace

std::unique_ptr<Checker> make_order_checker(const CheckerContext& context, Notebook& notebook) {
  return std::make_unique<OrderChecker>(context, notebook);
}

std::unique_ptr<Checker> make_line_checker(const CheckerContext& context, Notebook& notebook) {
  return std::make_unique<LineChecker>(context, notebook);
}

std::unique_ptr<Checker> make_expiry_checker(const CheckerContext& context, Notebook& notebook) {
  return std::make_unique<ExpiryChecker>(context, notebook);
}

}  // namespace postrider::sim
