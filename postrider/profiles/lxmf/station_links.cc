// Links: opened for messages that go DIRECT, answered, and used both ways.
#include <algorithm>

#include "postrider/profiles/lxmf/station.h"
#include "postrider/profiles/lxmf/table.h"
#include "postrider/protocols/lxmf/app_data.h"

namespace postrider::lxmf {
namespace {

using reticulum::LinkOutput;

constexpr std::size_t kTalksMax = 1024;
// What the inbox takes of one message, with room for its form there.
constexpr std::uint64_t kResourceBytesMax = 180'000;
constexpr std::size_t kCompressedHereMax = 64 * 1024;  // a larger one would hold up the others
constexpr Duration kRequestAfterLink{500};
constexpr Duration kNodeIdleMax = 180s;

}  // namespace

reticulum::ConversationSettings LxmfStation::settings_on(InterfaceId interface) const {
  reticulum::ConversationSettings out;
  out.link.mtu = interfaces_.mtu(interface);
  out.resource_bytes_max = kResourceBytesMax;
  return out;
}

reticulum::ConversationSettings LxmfStation::settings_to(const Address& recipient,
                                                         InterfaceId interface) const {
  reticulum::ConversationSettings out = settings_on(interface);
  const auto peer = peers_.find(recipient);
  if (peer != peers_.end() && peer->second.is_node) out.link.idle_max = kNodeIdleMax;
  return out;
}

// A link of our own goes before one that the peer opened.
LxmfStation::Talk* LxmfStation::active_link(const Address& recipient) {
  for (const auto* links : {&links_to_, &backchannels_}) {
    const auto link = links->find(recipient);
    if (link == links->end()) continue;
    const auto talk = talks_.find(link->second);
    if (talk != talks_.end() && talk->second.conversation->link().is_usable())
      return &talk->second;
  }
  return nullptr;
}

std::vector<AttemptId> LxmfStation::finds_for(const Address& recipient) const {
  std::vector<AttemptId> out;
  for (const auto& [id, attempt] : attempts_) {
    if (attempt.finds && attempt.recipient == recipient) out.emplace_back(id);
  }
  return out;
}

void LxmfStation::look_direct(Attempt& attempt, Call& call) {
  if (Talk* talk = active_link(attempt.recipient)) {
    if (!send_on(*talk, attempt, call)) end(attempt.id, Word::kTooLarge, call);
    return;
  }
  if (closed_links_.erase(attempt.recipient) > 0) {
    request_path(attempt.recipient, Duration(0), call);
    return end(attempt.id, Word::kStalePath, call);
  }
  const bool known = peers_.contains(attempt.recipient) &&
                     paths_.find(attempt.recipient, call.wall) != nullptr;
  end(attempt.id, known ? Word::kNoLink : Word::kNoPath, call);
}

// The attempt stays open until the link is active or gone; all messages to a recipient wait for one
// link.
void LxmfStation::find_link(Attempt& attempt, Call& call) {
  const AttemptId id = attempt.id;
  const bool to_node = attempt.method == kPropagated;
  const Address recipient = attempt.recipient;
  if (active_link(recipient) != nullptr) return end(id, Word::kFound, call);
  if (links_to_.contains(recipient)) return;
  if (const auto word = open_link(recipient, call))
    end(id, *word == Word::kNoPath && to_node ? Word::kNodeNoPath : *word, call);
}

// A word: why none is opened.
std::optional<Word> LxmfStation::open_link(const Address& recipient, Call& call) {
  const auto peer = peers_.find(recipient);
  const reticulum::Path* path = paths_.find(recipient, call.wall);
  if (peer == peers_.end() || path == nullptr) {
    request_path(recipient, Duration(0), call);
    return Word::kNoPath;
  }
  if (!interfaces_.is_up(path->interface)) return Word::kNoInterface;
  if (talks_.size() >= kTalksMax) return Word::kLinkTimedOut;
  LinkOutput out;
  Talk talk;
  talk.conversation = Conversation::open({.destination = recipient,
                                          .keys = peer->second.keys,
                                          .hops = path->hops,
                                          .interface = path->interface},
                                         settings_to(recipient, path->interface), budget_,
                                         call.boot, call.random, out);
  talk.peer = recipient;
  talk.opener = true;
  talk.interface = path->interface;
  const Address id = talk.conversation->link().id();
  links_to_[recipient] = id;
  talks_.insert_or_assign(id, std::move(talk));
  ++counts_.links_opened;
  // The request goes to a destination; all that follows goes to the link.
  for (std::string& raw : out.packets) raw = reticulum::by_path(raw, *path);
  leave(id, out, call);
  return std::nullopt;
}

bool LxmfStation::send_on(Talk& talk, Attempt& attempt, Call& call) {
  const SendId id(++last_send_);
  const Address link = talk.conversation->link().id();
  const bool is_packet = content_size(attempt.packed) <= kDirectPacketSizeMax;
  LinkOutput out;
  bool sent = false;
  if (is_packet) {
    sent = talk.conversation->send_packet(id, attempt.packed, call.boot, call.random, out);
  } else {
    reticulum::ResourceBody body;
    body.bytes = attempt.packed;
    const auto peer = peers_.find(attempt.recipient);
    const bool compressed = peer == peers_.end() ||
                            decode_delivery_data(peer->second.app_data).takes_compressed;
    if (compressed && body.bytes.size() <= kCompressedHereMax) compress_segments(body);
    sent = talk.conversation->send_resource(id, std::move(body), call.boot, call.random, out);
  }
  if (!sent) return false;
  ++counts_.sent;
  LinkSend send;
  send.message = attempt.message;
  send.attempt = attempt.id;
  send.is_packet = is_packet;
  send.link = link;
  send.source = reticulum::exactly<16>(std::string_view(attempt.packed).substr(16, 16)).value();
  link_sends_[id] = send;
  leave(link, out, call);
  return true;
}

void LxmfStation::take_link_request(std::size_t own, InterfaceId interface, std::uint8_t hops,
                                    const reticulum::Packet& packet, std::string_view raw,
                                    Call& call) {
  if (talks_.size() >= kTalksMax) return;
  LinkOutput out;
  auto answered = Conversation::answer(
      {.packet = packet, .raw = raw, .interface = interface, .hops = hops},
      own_[own].setup.identity, settings_on(interface), budget_, call.boot, call.random, out);
  if (!answered) {
    ++counts_.damaged;
    return;
  }
  Talk talk;
  talk.conversation = std::move(*answered);
  talk.interface = interface;
  talk.own = own;
  const Address id = talk.conversation->link().id();
  if (!talks_.try_emplace(id, std::move(talk)).second) return;
  ++counts_.links_answered;
  leave(id, out, call);
}

bool LxmfStation::take_link_packet(InterfaceId interface, std::uint8_t hops,
                                   const reticulum::Packet& packet, std::string_view raw,
                                   Call& call) {
  const auto talk = talks_.find(packet.destination);
  if (talk == talks_.end()) return false;
  LinkOutput out;
  talk->second.conversation->take(
      {.packet = packet, .raw = raw, .interface = interface, .hops = hops}, call.boot, call.random,
      out);
  leave(packet.destination, out, call);
  return true;
}

void LxmfStation::leave(const Address& link, LinkOutput& out, Call& call) {
  const Address id = link;  // it may be a part of what ends here
  if (const auto talk = talks_.find(id); talk != talks_.end()) {
    for (const std::string& raw : out.packets)
      interfaces_.send(talk->second.interface, raw, call.wanted);
  }
  for (reticulum::LinkEvent& event : out.events) happened(id, event, call);
}

void LxmfStation::happened(const Address& link, reticulum::LinkEvent& event, Call& call) {
  Arrival arrival;
  arrival.link = link;
  arrival.at = call.boot;
  if (std::holds_alternative<reticulum::LinkUp>(event)) {
    link_up(link, call);
  } else if (const auto* down = std::get_if<reticulum::LinkDown>(&event)) {
    link_down(link, *down, call);
  } else if (const auto* peer = std::get_if<reticulum::PeerIdentified>(&event)) {
    identified(link, peer->keys);
  } else if (const auto* packet = std::get_if<reticulum::PacketArrived>(&event)) {
    arrival.by = Arrival::By::kLinkPacket;
    arrival.digest = packet->packet;
    arrived(link, packet->plain, std::move(arrival), call);
  } else if (const auto* resource = std::get_if<reticulum::ResourceArrived>(&event)) {
    arrival.by = Arrival::By::kResource;
    arrival.digest = resource->resource;
    arrived(link, resource->body, std::move(arrival), call);
  } else if (const auto* ended = std::get_if<reticulum::SendEnded>(&event)) {
    send_ended(link, *ended, call);
  } else if (const auto* request = std::get_if<reticulum::RequestArrived>(&event)) {
    take_get(link, *request, call);
  } else if (const auto* response = std::get_if<reticulum::ResponseArrived>(&event)) {
    const auto send = link_sends_.extract(response->id);
    if (!send.empty()) sync_answered(send.mapped(), response->value, call);
  }
}

// At a link of our node it is an upload; what a node says on a link of ours is a word.
void LxmfStation::arrived(const Address& link, std::string_view plain, Arrival arrival,
                          Call& call) {
  const auto talk = talks_.find(link);
  if (talk == talks_.end()) return;
  if (!talk->second.opener && own_[talk->second.own].is_node)
    return take_upload(plain, std::move(arrival), call);
  if (talk->second.opener && node_data(*talk->second.peer)) return node_says(link, plain, call);
  take_message(plain, Carriage::kDirect, std::move(arrival), call);
}

void LxmfStation::link_up(const Address& link, Call& call) {
  const auto talk = talks_.find(link);
  if (talk == talks_.end() || !talk->second.peer) return;
  const Address peer = *talk->second.peer;
  for (const AttemptId attempt : finds_for(peer)) end(attempt, Word::kFound, call);
  for (const AttemptId attempt : syncs_with(peer)) {
    if (Talk* active = active_link(peer)) begin_sync(attempt, *active, call);
  }
}

void LxmfStation::link_down(const Address& link, const reticulum::LinkDown& down, Call& call) {
  auto found = talks_.extract(link);
  if (found.empty()) return;
  ++counts_.links_down;
  Talk& talk = ended_talks_.emplace_back(std::move(found.mapped()));
  const bool failed = down.end == reticulum::LinkEnd::kTimedOut ||
                      down.end == reticulum::LinkEnd::kWentStale;
  if (failed) doubt(talk.interface);
  if (!talk.peer) return;
  const Address peer = *talk.peer;
  for (auto* links : {&links_to_, &backchannels_}) {
    const auto entry = links->find(peer);
    if (entry != links->end() && entry->second == link) links->erase(entry);
  }
  if (!talk.opener) return;
  const bool by_choice = down.end == reticulum::LinkEnd::kIdle ||
                         down.end == reticulum::LinkEnd::kByPeer;
  if (!down.was_active) {
    paths_.expire(peer);
    request_path(peer, kRequestAfterLink, call);
  } else if (!by_choice) {
    closed_links_.insert(peer);
  }
  for (const AttemptId attempt : finds_for(peer)) end(attempt, Word::kLinkTimedOut, call);
  for (const AttemptId attempt : syncs_with(peer)) end(attempt, Word::kLinkTimedOut, call);
  settle_uploads(peer, down.end == reticulum::LinkEnd::kByPeer, call);
}

// From now on messages to this peer may go back over its own link.
void LxmfStation::identified(const Address& link, const reticulum::PublicKeys& keys) {
  const auto talk = talks_.find(link);
  if (talk == talks_.end() || talk->second.opener) return;
  const Address peer = reticulum::single_destination(reticulum::name_hash(kDeliveryName),
                                                     reticulum::identity_hash(keys));
  talk->second.peer = peer;
  backchannels_[peer] = link;
  PeerCard& card = peers_[peer];
  if (!card.heard.is_set()) card.keys = keys;
}

void LxmfStation::send_ended(const Address& link, const reticulum::SendEnded& ended, Call& call) {
  const auto found = link_sends_.extract(ended.id);
  if (found.empty()) return;
  const LinkSend& send = found.mapped();
  if (send.use == LinkSend::Use::kRequest) return sync_broke(send.attempt, call);
  if (send.use == LinkSend::Use::kUpload) return upload_ended(send, ended.end, call);
  switch (ended.end) {
    case reticulum::SendEnd::kProven: {
      ++counts_.proofs;
      if (send.attempt.is_set()) {
        end(send.attempt, Word::kProven, call);
      } else {
        ++counts_.late_proofs;
        post(ReceiptArrived{send.message, On::kConfirmed, "proven late"}, call);
      }
      const auto talk = talks_.find(link);
      if (talk != talks_.end()) identify(talk->second, link, send.source, call);
      return;
    }
    case reticulum::SendEnd::kRefused: return end(send.attempt, Word::kRefused, call);
    case reticulum::SendEnd::kFailed: break;
  }
  end(send.attempt, Word::kLinkClosed, call);
  // An unproven packet says that the link leads nowhere.
  const auto talk = talks_.find(link);
  if (!send.attempt.is_set() || talk == talks_.end()) return;
  LinkOutput out;
  talk->second.conversation->close(reticulum::LinkEnd::kByUs, call.random, out);
  leave(link, out, call);
}

// Once, behind the first message that was delivered: the peer may then answer over this link.
void LxmfStation::identify(Talk& talk, const Address& link, const Address& source, Call& call) {
  const auto own = own_of(source);
  if (!talk.opener || talk.identified || !own) return;
  talk.identified = true;
  talk.as = source;
  LinkOutput out;
  talk.conversation->identify(own_[*own].setup.identity, call.boot, call.random, out);
  leave(link, out, call);
}

void LxmfStation::close_links(InterfaceId interface, Call& call) {
  std::vector<Address> over;
  for (const auto& [id, talk] : talks_) {
    if (talk.interface == interface) over.push_back(id);
  }
  for (const Address& id : over) {
    const auto talk = talks_.find(id);
    if (talk == talks_.end()) continue;
    LinkOutput out;
    talk->second.conversation->close(reticulum::LinkEnd::kInterfaceLost, call.random, out);
    leave(id, out, call);
  }
}

}  // namespace postrider::lxmf
