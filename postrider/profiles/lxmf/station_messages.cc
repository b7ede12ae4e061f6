// Looks at messages, single packets and their proofs, and messages that arrive.
#include <algorithm>
#include <charconv>

#include "postrider/profiles/lxmf/station.h"
#include "postrider/profiles/lxmf/table.h"
#include "postrider/protocols/lxmf/text_form.h"

namespace postrider::lxmf {
namespace {

constexpr std::size_t kOutgoingMax = 65'536;
constexpr std::size_t kArrivalsMax = 512;
constexpr std::size_t kStarvedMax = 10'000;
constexpr std::uint32_t kUnprovenMax = 2;    // then the path is dropped
constexpr Duration kProofFloor{4};           // a peer loses proofs that come earlier
constexpr Duration kProofBase{6'000};        // what a proof may take, …
constexpr Duration kProofOfHop{6'000};       // … and for each hop
constexpr std::uint8_t kHopsWithoutPath = 2;
constexpr Duration kRequestAfterDrop{500};

std::optional<std::uint32_t> number_in(std::string_view text) {
  std::uint32_t out = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), out);
  if (text.empty() || read.ec != std::errc() || read.ptr != text.data() + text.size())
    return std::nullopt;
  return out;
}

}  // namespace

void LxmfStation::started(const station::Started& started, Call& call) {
  if (!loaded_) return waiting_.push_back(started);
  const WireRequest& request = started.request;
  Attempt attempt;
  attempt.id = started.attempt;
  attempt.message = started.message;
  attempt.recipient = address_of(request.target).value_or(Address{});
  attempt.method = static_cast<std::uint8_t>(
      number_in(request.headers.find(kHeaderMethod)).value_or(kOpportunistic));
  attempt.finds = request.headers.find(kHeaderKind) == "find";
  attempt.learns = request.headers.find(kHeaderKind) == "learn";
  if (attempt.method == kPropagated) {
    const auto node = address_of(request.headers.find(kHeaderNode));
    attempt.to = std::exchange(attempt.recipient, node.value_or(Address{}));
    attempt.has_node = node.has_value();
  }
  attempt.message_id = bytes_of(request.headers.find(kHeaderId));
  attempt.sealed = reticulum::exactly<32>(bytes_of(request.headers.find(kHeaderSealed)));
  attempt.from = request.headers.find(kHeaderFrom);
  attempt.packed = request.body;
  attempt.stamp = bytes_of(request.headers.find(kHeaderStamp));
  attempt.stamped = number_in(request.headers.find(kHeaderStamped)).value_or(0);
  attempt.wants = number_in(request.headers.find(kHeaderWants));
  Attempt& kept = attempts_[started.attempt.value()] = std::move(attempt);
  if (kept.learns) return learn(kept, call);
  if (kept.finds) return find(kept, call);
  look(kept, call);
}

void LxmfStation::aborted(AttemptId id, Call& call) {
  std::erase_if(waiting_, [id](const station::Started& one) { return one.attempt == id; });
  const auto found = attempts_.extract(id.value());
  if (found.empty()) return;
  due_.erase({found.mapped().due, id.value()});
  syncs_.erase(id.value());
  for (auto& [send, outgoing] : outgoing_) {
    if (outgoing.attempt == id) outgoing.attempt = {};
  }
  std::vector<std::pair<Address, SendId>> transfers;
  for (auto& [send, one] : link_sends_) {
    if (one.attempt != id) continue;
    one.attempt = {};
    if (!one.is_packet) transfers.emplace_back(one.link, send);
  }
  for (const auto& [link, send] : transfers) {
    const auto talk = talks_.find(link);
    if (talk == talks_.end()) continue;
    reticulum::LinkOutput out;
    talk->second.conversation->cancel(send, call.boot, call.random, out);
    leave(link, out, call);
  }
}

void LxmfStation::end(AttemptId attempt, Word word, Call& call, std::string body) {
  const auto found = attempts_.extract(attempt.value());
  if (found.empty()) return;
  const Attempt& ended = found.mapped();
  due_.erase({ended.due, attempt.value()});
  if (const auto send = outgoing_by_message_.find(ended.message);
      send != outgoing_by_message_.end())
    outgoing_[send->second].attempt = {};
  if (word == Word::kUnproven && ended.method == kOpportunistic) ++unproven_[ended.recipient];
  syncs_.erase(attempt.value());
  if (word == Word::kNoInterface && starved_.size() < kStarvedMax)
    starved_.insert(ended.recipient);
  post(AttemptEnded{attempt, reply_of(word, std::move(body))}, call);
  if (word == Word::kUnproven && ended.by.is_set()) doubt(ended.by);
}

void LxmfStation::look(Attempt& attempt, Call& call) {
  if (attempt.method == kPropagated) return look_propagated(attempt, call);
  if (attempt.method == kSync) return look_sync(attempt, call);
  if (const auto cost = add_stamp(attempt, call))
    return end(attempt.id, Word::kWantsStamp, call, std::string(1, static_cast<char>(*cost)));
  if (attempt.method == kDirect) return look_direct(attempt, call);
  look_opportunistic(attempt, call);
}

// The first look at a message without a path asks for one; a later look transmits once without. A
// path by which two transmissions in a row were not proven is dropped.
void LxmfStation::look_opportunistic(Attempt& attempt, Call& call) {
  const SendId id = outgoing_of(attempt);
  Outgoing& outgoing = outgoing_[id];
  ++outgoing.looks;
  if (!peers_.contains(attempt.recipient)) return end(attempt.id, Word::kNoPath, call);
  const reticulum::Path* path = paths_.find(attempt.recipient, call.wall);
  if (path == nullptr && (outgoing.looks == 1 || outgoing.transmissions > 0))
    return end(attempt.id, Word::kNoPath, call);
  const auto unproven = unproven_.find(attempt.recipient);
  if (path != nullptr && unproven != unproven_.end() && unproven->second >= kUnprovenMax) {
    unproven_.erase(unproven);
    dropped_.insert(attempt.recipient);
    paths_.expire(attempt.recipient);
    return end(attempt.id, Word::kStalePath, call);
  }
  transmit(attempt, outgoing, id, path, call);
}

void LxmfStation::transmit(Attempt& attempt, Outgoing& outgoing, SendId id,
                           const reticulum::Path* path, Call& call) {
  const bool up = path != nullptr ? interfaces_.is_up(path->interface) : interfaces_.any_up();
  if (!up) return end(attempt.id, Word::kNoInterface, call);
  const PeerCard& peer = peers_.at(attempt.recipient);
  std::optional<Key> ratchet = peer.ratchet;
  if (call.wall - peer.heard >= reticulum::kRatchetUsedFor) ratchet.reset();
  const auto sealed = reticulum::seal_for(peer.keys, ratchet,
                                          reticulum::fresh_seal_keys(call.random),
                                          opportunistic_part(attempt.packed));
  if (!sealed) return end(attempt.id, Word::kTooLarge, call);
  reticulum::Packet packet;
  packet.destination = attempt.recipient;
  packet.data = *sealed;
  const std::string raw = reticulum::encode_packet(packet);
  // Before the bytes leave, so no proof is too early.
  if (!receipts_.expect(reticulum::packet_hash(raw), reticulum::signing_part(peer.keys), id))
    return end(attempt.id, Word::kTooLarge, call);
  ++counts_.sent;
  ++outgoing.transmissions;
  outgoing.attempt = attempt.id;
  const std::uint8_t hops = path != nullptr ? path->hops : kHopsWithoutPath;
  if (path != nullptr) attempt.by = path->interface;
  attempt.due = call.boot + kProofBase + kProofOfHop * hops;
  due_.insert({attempt.due, attempt.id.value()});
  if (path != nullptr) {
    interfaces_.send(path->interface, reticulum::by_path(raw, *path), call.wanted);
  } else {
    interfaces_.send_to_all(raw, call.wanted);
  }
  post(AttemptNews{attempt.id, On::kSent}, call);
}

void LxmfStation::find(Attempt& attempt, Call& call) {
  if (attempt.method != kOpportunistic) return find_link(attempt, call);
  if (paths_.find(attempt.recipient, call.wall) != nullptr && peers_.contains(attempt.recipient))
    return end(attempt.id, Word::kFound, call);
  // The request is out, or was a moment ago: its answer is a sign of life, for which the route
  // waits.
  const bool dropped = dropped_.contains(attempt.recipient);
  request_path(attempt.recipient, dropped ? kRequestAfterDrop : Duration(0), call);
  end(attempt.id, Word::kNoPath, call);
}

SendId LxmfStation::outgoing_of(const Attempt& attempt) {
  const auto found = outgoing_by_message_.find(attempt.message);
  if (found != outgoing_by_message_.end()) return found->second;
  if (outgoing_order_.size() >= kOutgoingMax) {
    const SendId oldest = outgoing_order_.front();
    outgoing_order_.pop_front();
    receipts_.forget(oldest);
    if (const auto gone = outgoing_.extract(oldest); !gone.empty())
      outgoing_by_message_.erase(gone.mapped().message);
  }
  const SendId id(++last_send_);
  outgoing_[id] = {.message = attempt.message, .recipient = attempt.recipient};
  outgoing_by_message_[attempt.message] = id;
  outgoing_order_.push_back(id);
  return id;
}

void LxmfStation::take_proof(const reticulum::Packet& packet, Call& call) {
  const reticulum::ProofReading reading = receipts_.settle(packet.destination, packet.data);
  switch (reading.verdict) {
    case reticulum::ProofVerdict::kUnknown: ++counts_.unknown_proofs; return;
    case reticulum::ProofVerdict::kForged:
    case reticulum::ProofVerdict::kDamaged: ++counts_.forged_proofs; return;
    case reticulum::ProofVerdict::kProven: break;
  }
  const auto found = outgoing_.extract(reading.id);
  if (found.empty()) return;
  const Outgoing& outgoing = found.mapped();
  outgoing_by_message_.erase(outgoing.message);
  receipts_.forget(reading.id);
  unproven_.erase(outgoing.recipient);
  ++counts_.proofs;
  if (outgoing.attempt.is_set()) return end(outgoing.attempt, Word::kProven, call);
  ++counts_.late_proofs;
  post(ReceiptArrived{outgoing.message, On::kConfirmed, "proven late"}, call);
}

void LxmfStation::take_opportunistic(std::size_t own, InterfaceId interface,
                                     const reticulum::Packet& packet, std::string_view raw,
                                     Call& call) {
  const Own& to = own_[own];
  const auto plain =
      reticulum::open_sealed(to.setup.identity, to.card.ratchets.secrets(), packet.data);
  if (!plain) {
    ++counts_.undecryptable;
    return;
  }
  Arrival arrival;
  arrival.by = Arrival::By::kPacket;
  arrival.own = own;
  arrival.interface = interface;
  arrival.digest = reticulum::packet_hash(raw);
  arrival.at = call.boot;
  take_message(from_opportunistic(to.delivery, *plain), Carriage::kOpportunistic, arrival, call);
}

void LxmfStation::take_message(std::string_view packed, Carriage carriage, Arrival arrival,
                               Call& call) {
  auto received = unpack(packed);
  const auto own = received ? own_of(received->message.destination) : std::nullopt;
  if (!own || own_[*own].is_node) {
    ++counts_.damaged;
    return drop(arrival, false, call);
  }
  if (arrivals_.size() + measured_.size() >= kArrivalsMax) {
    ++counts_.refused;
    return drop(arrival, true, call);
  }
  arrival.own = *own;
  const auto source = peers_.find(received->message.source);
  const Key signer =
      source != peers_.end() ? reticulum::signing_part(source->second.keys) : Key{};
  arrival.form.carriage = carriage;
  arrival.form.signature =
      judge_signature(*received, source != peers_.end() ? &signer : nullptr);
  arrival.ticket = ticket_of(received->message, arrival.form.signature);
  const auto stamp = judge_stamp(*received, own_[*own], call);
  if (!stamp) return measure(std::move(arrival), *received, packed, call);
  arrival.form.stamp = *stamp;
  take_stamped(std::move(arrival), packed, call);
}

// Nothing follows from it. What a sync brought must be told so, and a resource that a node cannot
// keep is refused, so that its sender need not wait.
void LxmfStation::drop(const Arrival& arrival, bool is_refused, Call& call) {
  if (arrival.by == Arrival::By::kSync)
    return fetched_stored(arrival.sync, arrival.place,
                          is_refused ? std::nullopt : std::optional(SyncFate::kUndecryptable),
                          call);
  if (!arrival.is_upload || arrival.by != Arrival::By::kResource) return;
  const auto talk = talks_.find(arrival.link);
  if (talk == talks_.end()) return;
  reticulum::LinkOutput out;
  talk->second.conversation->refuse_resource(arrival.digest, call.boot, call.random, out);
  leave(arrival.link, out, call);
}

// The message lies in its inbox. Not earlier than the floor: a peer registers its receipt after it
// has sent.
void LxmfStation::prove(const Arrival& arrival, Call& call) {
  ++counts_.proven;
  if (arrival.by == Arrival::By::kPacket) {
    std::string proof =
        reticulum::make_proof(own_[arrival.own].setup.identity.signing(), arrival.digest);
    if (arrival.at + kProofFloor > call.boot)
      return send_later({arrival.at + kProofFloor, arrival.interface, std::move(proof)});
    interfaces_.send(arrival.interface, proof, call.wanted);
    return;
  }
  const auto talk = talks_.find(arrival.link);
  if (talk == talks_.end()) return;  // its sender comes again
  reticulum::LinkOutput out;
  if (arrival.by == Arrival::By::kResource) {
    talk->second.conversation->prove_resource(arrival.digest, call.boot, out);
  } else {
    talk->second.conversation->prove_packet(arrival.digest, call.boot, out);
  }
  leave(arrival.link, out, call);
}

}  // namespace postrider::lxmf
