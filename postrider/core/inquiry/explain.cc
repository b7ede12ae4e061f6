// Where a message is, since when, why, and what comes next; told from the state by which the engine
// decides.
#include "postrider/base/check.h"
#include "postrider/core/inquiry/inquiry.h"

namespace postrider::core {
namespace {

constexpr std::uint32_t kGapRows = 256;  // of one read

}  // namespace

std::optional<Answer> Inquiry::explain(Step& step, MessageId id) {
  const Lookup::Located located = lookup_.locate(step, id);
  if (!located.known) return std::nullopt;
  Answer answer;
  answer.id = id;
  if (located.slot != kNoSlot) {
    const Entry& entry = window_[located.slot];
    Explanation out = explain_entry(step, entry);
    if (entry.details) out.attempt_list = entry.details->past.attempts;
    const Slot resident = entry.destination;
    if (!find_gap(step, entry, out) || !find_batch(step, resident, out)) return std::nullopt;
    answer.view = std::move(out);
    return answer;
  }
  const Letters::Buried buried = letters_.find_content(step, id);
  const Destinations::Destined destined = destinations_.find_destination(step, id.destination());
  if (!buried.known || !destined.known) return std::nullopt;
  if (!buried.end) return explain_unreadable(step, id);
  Explanation out;
  out.id = id;
  out.phase = buried.end->phase;
  out.state = name_of(out.phase);
  out.place = Explanation::Place::kEnded;
  out.accepted = buried.end->accepted;
  out.since = buried.end->at;
  out.attempts = buried.end->attempts;
  out.failure = buried.end->cause;
  out.reason = buried.end->reason;
  out.origin = buried.end->origin;
  out.attempt_list = attempt_history_of(*buried.end).attempts;
  out.why = !buried.letter             ? "it has ended"
            : leaves_letter(out.phase) ? "it has ended and left a dead letter"
                                       : "it has ended, and its content is kept";
  name_destination(destined, out);
  answer.view = std::move(out);
  return answer;
}

void Inquiry::name_destination(const Destinations::Destined& destined, Explanation& out) const {
  if (destined.slot == kNoSlot) return;
  out.destination = residents_[destined.slot].name;
  out.health = residents_[destined.slot].route.health;
}

// A message whose record cannot be read lives on in quarantine, where only an operator can help.
std::optional<Answer> Inquiry::explain_unreadable(Step& step, MessageId id) {
  const auto* hot = step.get(keys::quarantine(keys::hot(id.sequence(), keys::Part::kMessage)));
  const auto* cold = step.get(keys::quarantine(keys::cold(id, keys::Part::kMessage)));
  const Destinations::Destined destined = destinations_.find_destination(step, id.destination());
  if (hot == nullptr || cold == nullptr || !destined.known) return std::nullopt;
  Answer answer;
  answer.id = id;
  if (!hot->has_value() && !cold->has_value()) {
    answer.code = AnswerCode::kNotFound;
    answer.detail = "there is no such message, or no longer";
    return answer;
  }
  Explanation out;
  out.id = id;
  out.phase = Phase::kParked;
  out.state = "quarantined";
  out.place = Explanation::Place::kQuarantine;
  out.next = Explanation::Next::kOperator;
  out.why = "its record cannot be read; it was put into quarantine";
  name_destination(destined, out);
  answer.view = std::move(out);
  return answer;
}

Explanation Inquiry::explain_entry(const Step& step, const Entry& entry) const {
  const Resident& resident = residents_[entry.destination];
  const StateRow& state = window_.state_of(entry);
  Explanation out;
  out.id = entry.message.id;
  out.destination = resident.name;
  out.state = state.name;
  out.phase = state.phase;
  out.accepted = entry.message.accepted;
  out.since = entry.state.since.is_set() && !(entry.visitor() && !entry.stored)
                  ? entry.state.since
                  : entry.message.accepted;
  out.expires = entry.message.expires;
  out.attempts = entry.state.attempts;
  out.failure = entry.state.failure;
  out.reason = entry.reason_text();
  out.health = resident.route.health;
  out.cancel_wanted = entry.state.cancel_wanted;
  out.origin = entry.message.origin;
  out.fanout = FanoutId(entry.message.shared.id);
  explain_next(step, entry, resident, out);
  return out;
}

bool Inquiry::waits_behind(const Lane& lane, const Entry& entry) const {
  const MessageId id = entry.message.id;
  if (lane.owes_before(id, true)) return true;
  const bool others_busy = lane.in_memory - (entry.ready() ? 0U : 1U) != lane.ready;
  return others_busy || (lane.first != kNoSlot && window_[lane.first].message.id < id);
}

// Which of its shared gates holds it up, in the profile's words.
void Inquiry::explain_gates(const Step& step, const Entry& entry, const Resident& resident,
                            Explanation& out) const {
  if (resident.bound->profile->gates.words == nullptr) return;
  for (const GateName name : entry.message.gates) {
    const SharedGate* gate = gates_.find(name);
    if (gate == nullptr) continue;
    const GateState::Permit permit = gates_.permit_at(*gate, step.now);
    if (permit.open) continue;
    const GateWords words = resident.bound->profile->gates.words(name);
    out.why = gate->shut(step.now) ? words.closed : words.busy;
    out.next_at = permit.again;
    return;
  }
}

void Inquiry::explain_next(const Step& step, const Entry& entry, const Resident& resident,
                           Explanation& out) const {
  using Place = Explanation::Place;
  using Next = Explanation::Next;
  switch (out.phase) {
    case Phase::kInFlight:
      if (entry.waits == Waits::kForProbe) {
        out.place = Place::kAtPeer;
        out.why = "nobody knows what became of it; the next question waits";
        out.next = Next::kAttempt;
        out.next_at = entry.state.due;
        return;
      }
      out.place = Place::kOnTheWire;
      out.why = "an attempt is open";
      out.next = Next::kOutcome;
      out.next_at = entry.state.due;
      return;
    case Phase::kAwaiting:
      out.place = Place::kAtPeer;
      out.why = "the far side has it; news will come";
      out.next = Next::kNews;
      out.next_at = entry.state.due;
      return;
    case Phase::kParked:
      out.place = Place::kParked;
      out.why = "an operator must look at it";
      out.next = Next::kOperator;
      if (!window_.state_of(entry).revives) return;
      out.why = "the destination was out of reach; it goes back in line when that answers again";
      out.next = Next::kNews;
      out.next_at = resident.route.revive_at;
      return;
    case Phase::kQueued:
    case Phase::kBackoff: break;
    case Phase::kDelivered:
    case Phase::kDead:
    case Phase::kExpired:
    case Phase::kCancelled:
    case Phase::kIndeterminate: POSTRIDER_CHECK(false);
  }
  const Lane* lane = nullptr;
  for (const Lane& candidate : resident.lanes) {
    if (candidate.number == entry.message.id.lane()) lane = &candidate;
  }
  out.place = entry.visitor() ? Place::kDisk : Place::kWindow;
  out.next = Next::kAttempt;
  if (resident.bound->policy.pulled) {
    out.place = Place::kDisk;
    out.why = "it lies in a mailbox until its reader confirms it";
    out.next = Next::kNews;
    return;
  }
  const Timestamp due = window_.due_of(entry.message, entry.state);
  if (due > step.now) {
    out.place = Place::kSleeping;
    out.next_at = due;
    out.why = out.phase == Phase::kBackoff ? "it waits for its next attempt"
                                           : "it is not to be sent earlier";
  } else if (lane != nullptr && resident.bound->policy.lane_kind(lane->number) == LaneKind::kFifo &&
             waits_behind(*lane, entry)) {
    out.why = "messages before it in its lane come first";
  } else if (window_.is_claimed(entry)) {
    out.why = "it leaves with others in one request: " +
              ids_.text(resident.route.batch.leader) + " leads";
  } else if (!entry.ready() && !entry.visitor()) {
    out.why = entry.message.ordered ? "earlier messages of its order come first"
                                    : "it waits at a gate that it shares with others";
    explain_gates(step, entry, resident, out);
  } else {
    out.why =
        entry.visitor() ? "it waits on disk for a place in the window" : "it waits for its turn";
    const int every = resident.bound->policy.lower_every;
    if (lane != nullptr && lane->first != kNoSlot && every > 0 &&
        window_[lane->first].message.id.high < entry.message.id.high)
      out.why = "higher priorities of its lane go first; of " + std::to_string(every) +
                " starts one is for lower ones";
    const GateLimits& limits = resident.bound->policy.route;
    const GateState::Permit permit = resident.gate.permit(limits, step.now);
    if (!permit.open && permit.again > step.now && limits.spacing > Duration(0)) {
      out.why = "spacing: the last one of its queue left a moment ago";
      out.next_at = permit.again;
    } else if (!permit.open && resident.gate.in_use() >= limits.in_use_max &&
               limits.in_use_max > 0) {
      out.why = "cap: all " + std::to_string(limits.in_use_max) + " places are taken";
    } else if (resident.at_group) {
      out.why = "its group of destinations has no place free";
    } else if (resident.crowded) {
      out.why = "places are kept for destinations that are known to answer";
    } else if (resident.held_back && resident.bound->policy.adapts &&
               resident.gate.in_use() >= resident.throttle.places()) {
      out.why = "the destination failed lately and gets " +
                std::to_string(resident.throttle.places()) + " at a time";
    }
  }
  const Route& route = resident.route;
  if (route.health == Health::kPaused || route.health == Health::kDisabled) {
    out.next = Next::kOperator;
    out.next_at = Timestamp();
    out.why = "the destination is " + std::string(name_of(route.health)) + ": " + route.reason;
  } else if (route.closed_until > step.now && route.closed_until > out.next_at) {
    out.next_at = route.closed_until;
    out.why = "the destination is closed: " + route.reason;
  }
}

// The batch that it is claimed for. False: its leader must be read first.
bool Inquiry::find_batch(Step& step, Slot resident, Explanation& out) {
  const Route& route = residents_[resident].route;
  const OpenBatch& batch = route.batch;
  if (!batch.is_open() || (batch.leader != out.id && !batch.claims(out.id))) return true;
  BatchView view{.number = route.claims, .attempts = 0, .members = {batch.leader}};
  view.members.insert(view.members.end(), batch.followers.begin(), batch.followers.end());
  const Lookup::Located leader = lookup_.locate(step, batch.leader);
  if (!leader.known) return false;
  if (leader.slot != kNoSlot) view.attempts = window_[leader.slot].state.attempts;
  out.batch = std::move(view);
  return true;
}

// A message that was parked out of the way before it, and still is. False: that must be read first.
bool Inquiry::find_gap(Step& step, const Entry& entry, Explanation& out) {
  if (!window_.in_order(entry)) return true;
  const Resident& resident = residents_[entry.destination];
  const MessageId id = entry.message.id;
  const bool fifo = resident.bound->policy.lane_kind(id.lane()) == LaneKind::kFifo;
  const std::string last = keys::parked(id);
  for (std::string first = keys::parked({id.high, 0}); !first.empty();) {
    const Rows* rows = step.scan({first, last, kGapRows});
    if (rows == nullptr) return false;
    for (const Row& row : rows->rows) {
      const auto parked = keys::parse_parked(row.first);
      const auto gate = keys::parse_parked_as_gap(row.second.view());
      if (!parked || !gate || !(fifo || *gate == entry.message.gates[0])) continue;
      out.gap = *parked;
      out.why += "; a gap: " + ids_.text(*parked) + " was parked before it";
      return true;
    }
    first = rows->complete ? std::string() : rows->next;
  }
  return true;
}

}  // namespace postrider::core
