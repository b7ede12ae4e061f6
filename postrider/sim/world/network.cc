#include "postrider/sim/world/network.h"

#include <algorithm>
#include <array>

namespace postrider::sim {
namespace {

// What a connection that was given up still carries to a far side. Two looks at the queue of a far
// side prove that a request is not there only because this is shorter than the time between them.
constexpr Duration kLingers{2'000};

}  // namespace

Network::Network(Surroundings around, std::uint32_t peers, Rng rng)
    : around_(std::move(around)), rng_(rng), cuts_(peers) {
  for (std::uint32_t i = 0; i < peers; ++i) {
    const Rng own = rng_.fork(i);
    peers_.emplace_back(own, around_.field.make_application(own));
  }
}

Timestamp Network::arrival(Duration travel) const {
  return std::max(around_.agenda.now() + travel, clogged_until_);
}

Duration Network::travel() {
  if (around_.faults.strikes(Fault::kDelay, around_.agenda.now()))
    return Duration(rng_.between(200, 20'000));
  return Duration(rng_.between(1, 50));
}

bool Network::cut_off(std::uint32_t peer, Direction direction) const {
  const Cut& cut = cuts_[peer];
  return around_.agenda.now() < (direction == Direction::kOut ? cut.out_until : cut.back_until);
}

void Network::cut(std::uint32_t peer, Direction direction, Timestamp until) {
  (direction == Direction::kOut ? cuts_[peer].out_until : cuts_[peer].back_until) = until;
}

void Network::heal() {
  for (Cut& cut : cuts_) cut = Cut{};
  for (Peer& peer : peers_) peer.set_mood(Mood::kHealthy);
  if (around_.far_sides != nullptr) around_.far_sides->heal();
  clogged_until_ = Timestamp();
}

void Network::start(Incarnation process, const StartAttempt& start, const Call& call) {
  const Key key{process, start.attempt.value()};
  const std::uint32_t number = peer_of(start.request.target) % peers();
  const Timestamp now = around_.agenda.now();
  Attempt& attempt = open_[key];
  attempt = Attempt{call, number, now, start.request.time_out, false, false};
  if (!start.request.held_back.empty()) {
    WireReply reply;
    reply.end = WireEnd::kHeldBack;
    reply.body = start.request.held_back;
    return end_with(key, arrival(Duration(0)), std::move(reply));
  }
  if (call.to_field) return send_to_far_side(key, start, number);

  const WireEnd end = peer(number).reach();
  if (end != WireEnd::kAnswered && end != WireEnd::kTimedOut) {
    WireReply reply;
    reply.end = end;
    end_with(key, arrival(travel()), std::move(reply));
    return;
  }
  if (rng_.chance(1, 2)) {  // some transports tell when the request is out
    around_.agenda.at(arrival(Duration(rng_.between(0, 20))), [this, key] {
      const auto at = open_.find(key);
      if (at != open_.end() && !at->second.aborted)
        post(key.first, AttemptNews{AttemptId(key.second), On::kSent});
    });
  }
  if (around_.faults.strikes(Fault::kSilentTransport, now)) return;
  time_out(key, attempt);
  if (end == WireEnd::kTimedOut || cut_off(number, Direction::kOut)) return;
  if (around_.faults.strikes(Fault::kRequestLost, now)) return;
  const bool reply_lost = around_.faults.strikes(Fault::kReplyLost, now);
  around_.agenda.at(arrival(travel()), [this, key, call, number, reply_lost] {
    arrive(key, call, number, !reply_lost);
  });
  // The second copy of a request that was refused could be obeyed, which only its sender could
  // prevent: what must not run twice goes over a connection, where copies do not happen.
  if (!call.once && around_.faults.strikes(Fault::kDuplicateRequest, now)) {
    const Duration apart(rng_.between(0, 5'000));
    const Duration later = travel() + apart;
    around_.agenda.at(arrival(later),
                      [this, key, call, number] { arrive(key, call, number, false); });
  }
}

// One connection, so no copies; and what it is about cannot be read from outside, so no rumours.
void Network::send_to_far_side(Key key, const StartAttempt& start, std::uint32_t number) {
  Attempt& attempt = open_[key];
  attempt.connection = std::make_shared<Connection>();
  const Timestamp now = around_.agenda.now();
  const WireEnd end = peer(number).reach();
  if (end != WireEnd::kAnswered && end != WireEnd::kTimedOut) {
    WireReply reply;
    reply.end = end;
    return end_with(key, arrival(travel()), std::move(reply));
  }
  if (around_.faults.strikes(Fault::kSilentTransport, now)) return;
  time_out(key, attempt);
  if (end == WireEnd::kTimedOut || cut_off(number, Direction::kOut)) return;
  if (around_.faults.strikes(Fault::kRequestLost, now)) return;
  const bool answers = !around_.faults.strikes(Fault::kReplyLost, now);
  const std::uint64_t ticket = ++last_ticket_;
  const std::uint64_t tag = start.message.sequence().value();
  around_.agenda.at(arrival(travel()), [this, key, ticket, tag, number, answers,
                                        connection = attempt.connection, request = start.request] {
    const Timestamp closed = connection->closed;
    if (closed.is_set() && around_.agenda.now() - closed > kLingers) return;
    if (peer(number).reach() != WireEnd::kAnswered) return;
    asked_[ticket] = {key, number, answers};
    around_.far_sides->set_mood(number, peer(number).mood());
    around_.far_sides->request(ticket, tag, number, request);
  });
}

void Network::answered_by_far_side(std::uint64_t ticket, WireReply reply) {
  const auto found = asked_.find(ticket);
  if (found == asked_.end()) return;
  const Asked asked = found->second;
  if (!asked.answers || cut_off(asked.peer, Direction::kBack)) return;
  const Timestamp at = arrival(travel());
  const bool again = around_.faults.strikes(Fault::kDuplicateAnswer, around_.agenda.now());
  if (again) {
    around_.agenda.at(at + Duration(rng_.between(0, 3'000)),
                      [this, key = asked.key, reply] { tell_again(key, reply); });
  }
  end_with(asked.key, at, std::move(reply));
}

void Network::close(Attempt& attempt) {
  if (attempt.connection != nullptr && !attempt.connection->closed.is_set())
    attempt.connection->closed = around_.agenda.now();
}

// Every transport gives up by itself: sometimes just before, sometimes after the engine does.
void Network::time_out(Key key, const Attempt& attempt) {
  WireReply reply;
  reply.end = rng_.chance(1, 5) ? WireEnd::kReset : WireEnd::kTimedOut;
  const Duration wait = attempt.time_out > Duration(0) ? attempt.time_out : Duration(60'000);
  const Duration early =
      Duration(rng_.below(2) == 0 ? -rng_.between(0, wait.count() / 10) : rng_.between(0, 2'000));
  end_with(key, around_.agenda.now() + wait + early, std::move(reply));
}

// The application at the other end gets the request. A duplicate of the network executes too, but
// nobody hears.
void Network::arrive(Key key, const Call& call, std::uint32_t number, bool answers) {
  Peer& receiver = peer(number);
  if (receiver.reach() != WireEnd::kAnswered) return;
  if (around_.faults.strikes(Fault::kPeerRejects, around_.agenda.now())) receiver.rejects_next();
  std::vector<Receipt> receipts;
  receiver.note_time(around_.agenda.now());
  PeerAnswer answer = receiver.receive(call, receipts);
  around_.witness.reached(
      {around_.moment(key.first), AttemptId(key.second), call, number, answer.executed});
  for (const Receipt& receipt : receipts) send_receipt(receipt);
  send_false_receipts(call, answer.executed, answers);
  if (!answers || cut_off(number, Direction::kBack)) return;
  const Timestamp at = arrival(answer.thinking + travel());
  const bool again = around_.faults.strikes(Fault::kDuplicateAnswer, around_.agenda.now());
  if (again) {
    around_.agenda.at(at + Duration(rng_.between(0, 3'000)),
                      [this, key, reply = answer.reply] { tell_again(key, reply); });
  }
  end_with(key, at, std::move(answer.reply));
}

void Network::end_with(Key key, Timestamp at, WireReply reply) {
  around_.agenda.at(at, [this, key, reply = std::move(reply)] { tell(key, reply); });
}

void Network::tell(Key key, const WireReply& reply) {
  const auto at = open_.find(key);
  if (at == open_.end() || at->second.told) return;
  Attempt& attempt = at->second;
  close(attempt);
  if (attempt.aborted && !around_.faults.strikes(Fault::kLateAnswer, around_.agenda.now())) {
    open_.erase(at);
    return;
  }
  attempt.told = true;
  around_.witness.outcome({around_.moment(key.first), AttemptId(key.second), reply});
  open_.erase(at);
  post(key.first, AttemptEnded{AttemptId(key.second), reply});
}

void Network::tell_again(Key key, const WireReply& reply) {
  post(key.first, AttemptEnded{AttemptId(key.second), reply});
}

void Network::abort(Incarnation process, AttemptId attempt) {
  const auto at = open_.find(Key{process, attempt.value()});
  if (at == open_.end()) return;
  at->second.aborted = true;
  close(at->second);
}

void Network::process_died(Incarnation process) {
  // Requests on their way still arrive; nobody is there for the answers.
  const auto first = open_.lower_bound(Key{process, 0});
  const auto last = open_.lower_bound(Key{process + 1, 0});
  for (auto at = first; at != last; ++at) close(at->second);
  open_.erase(first, last);
}

void Network::send_receipt(const Receipt& receipt) {
  Duration wait = receipt.after;
  if (around_.faults.strikes(Fault::kLateReceipt, around_.agenda.now()))
    wait += Duration(rng_.between(600'000, 90'000'000));
  if (!receipt.text.empty()) {
    around_.agenda.after(wait, [this, receipt] { around_.arrive(receipt.text); });
    return;
  }
  around_.agenda.after(wait, [this, receipt] { deliver_receipt(receipt.id, receipt.signal); });
}

// Receipts that nobody asked for: of what is long done, of what never was, with signals that make
// no sense there. None of them claims a delivery that did not happen, because nobody could tell
// that apart from the truth; for the same reason none denies what must not be repeated.
void Network::send_false_receipts(const Call& call, bool executed, bool answers) {
  const Timestamp now = around_.agenda.now();
  // Lies are told about what is probably still alive.
  if (!executed || !answers || call.lingers || recent_.empty()) remember(call);
  const bool unheard = executed && !answers && rng_.chance(1, 2);
  if (executed && (unheard || around_.faults.strikes(Fault::kLateReceipt, now))) {
    const Duration wait(unheard ? rng_.between(1'000, 600'000) : rng_.between(60'000, 90'000'000));
    around_.agenda.after(wait, [this, id = call.id] { deliver_receipt(id, On::kConfirmed); });
  }
  if (!around_.faults.strikes(Fault::kWrongReceipt, now)) return;
  for (int i = 0; i < 12; ++i) {
    const Recent& about = recent_[rng_.below(recent_.size())];
    if (!about.once) rumour(about.id);
  }
}

void Network::rumour(MessageId about) {
  constexpr std::array<On, 16> kWrong = {
      On::kAccepted, On::kProgressed, On::kAcked,      On::kStillHeld, On::kFailed,   On::kPeerSeen,
      On::kNoRoute,  On::kNoLink,     On::kStaleRoute, On::kSent,      On::kTimedOut, On::kRejected,
      On::kDue,      On::kExhausted,  On::kExpired,    On::kCancelled};
  constexpr std::array<std::int64_t, 3> kDelays = {50, 5'000, 1'000'000};
  if (!around_.faults.enabled(Fault::kWrongReceipt)) return;
  const On signal = kWrong[rng_.below(kWrong.size())];
  if (rng_.chance(1, 8)) about.low ^= rng_.next();
  const Duration wait(rng_.between(0, kDelays[rng_.below(kDelays.size())]));
  around_.agenda.after(wait, [this, about, signal] { deliver_receipt(about, signal); });
}

void Network::remember(const Call& call) {
  const Recent about{call.id, call.once};
  if (recent_.size() < kRecentMax) {
    recent_.push_back(about);
  } else {
    recent_[recent_next_++ % kRecentMax] = about;
  }
}

void Network::deliver_receipt(MessageId id, On signal) {
  const Incarnation process = around_.running();
  if (process == 0) return;
  around_.witness.receipt({around_.moment(process), id, signal});
  post(process, ReceiptArrived{id, signal, "receipt"});
}

// A full event queue is backpressure: what came from the wire waits and is offered again.
void Network::post(Incarnation process, Event event) {
  if (around_.post(process, event)) return;
  around_.agenda.after(Duration(rng_.between(10, 500)),
                       [this, process, event = std::move(event)] { post(process, event); });
}

}  // namespace postrider::sim
