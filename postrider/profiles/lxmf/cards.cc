#include "postrider/profiles/lxmf/cards.h"

#include <utility>

#include "postrider/base/codec.h"
#include "postrider/profiles/lxmf/settings.h"
#include "postrider/protocols/lxmf/propagation.h"
#include "postrider/protocols/lxmf/text_form.h"

namespace postrider::lxmf {
namespace {

using reticulum::exactly;
using reticulum::view;

// Whatever a peer says of the life of its ticket.
constexpr Duration kTicketKept = 2 * kTicketLife;

tl::unexpected<Error> corrupt(std::string_view what) {
  return fail(ErrorCode::kCorrupt, std::string(what));
}

Card card_of(std::string_view drawer, std::string_view key, std::string bytes, Timestamp expires) {
  return {.drawer = std::string(drawer),
          .key = std::string(key),
          .bytes = std::move(bytes),
          .expires = expires};
}

// A peer, the path to it, and a sign of life of the recipient that it is.
Received receive_heard(const Inbound& inbound) {
  Received out;
  Reader reader(inbound.bytes);
  const auto address = exactly<16>(reader.raw(16));
  const std::string_view peer = reader.text();
  const std::string_view path = reader.text();
  const auto decoded = decode_peer(peer);
  if (!reader.at_end() || !address || !decoded || !decode_path_card(path)) return out;
  if (decoded->is_node) {  // uploads that wait for it go on
    Subject subject;
    subject.gate = gate_of(hex_of(view(*address)));
    subject.alive = true;
    subject.waits = false;
    out.subjects.push_back(std::move(subject));
  }
  out.cards.push_back(
      card_of(kPeers, view(*address), std::string(peer), inbound.now + kPeerKept));
  out.cards.push_back(card_of(kPaths, view(*address), std::string(path),
                              inbound.now + reticulum::PathTable::kLife));
  out.alive_destinations.push_back(recipient_name(*address));
  out.reply = kReplyDone;
  return out;
}

// The time of announces only grows, whatever the clock says: peers would take no older one.
Received receive_own(const Inbound& inbound) {
  Received out;
  Reader reader(inbound.bytes);
  const auto address = exactly<16>(reader.raw(16));
  const std::string_view bytes = reader.text();
  const auto own = decode_own(bytes);
  if (!reader.at_end() || !address || !own) return out;
  const std::string* const before = inbound.cabinet->card(kOwn, view(*address));
  if (inbound.cabinet->lacks()) return out;
  const auto last = before != nullptr ? decode_own(*before) : corrupt("none");
  if (last && last->seconds >= own->seconds) {
    out.reply = kReplyLate;
    return out;
  }
  out.cards.push_back(card_of(kOwn, view(*address), std::string(bytes), {}));
  out.reply = kReplyDone;
  return out;
}

// A message goes to its application once, in the commit that remembers its id; a copy is told to be
// known, so that it is proven again.
Received receive_message(const Inbound& inbound) {
  Received out;
  Reader reader(inbound.bytes);
  const auto carriage = static_cast<Carriage>(reader.u8());
  const std::uint8_t verdict = reader.u8();
  const std::uint8_t stamped = reader.u8();
  StampReading stamp;
  stamp.value = reader.u8();
  std::optional<Digest> transient;
  if (reader.u8() != 0) transient = exactly<32>(reader.raw(32));
  auto received = reader.ok() ? unpack(reader.rest()) : corrupt("arrival");
  if (!received || verdict > static_cast<std::uint8_t>(SignatureVerdict::kInvalid) ||
      stamped > static_cast<std::uint8_t>(StampVerdict::kTooWeak))
    return out;
  const auto signature = static_cast<SignatureVerdict>(verdict);
  stamp.verdict = static_cast<StampVerdict>(stamped);
  std::string inbox;
  for (const auto& [name, value] : inbound.settings) {
    if (name == kInboxSetting) inbox = value;
  }
  const std::string* const before = inbound.cabinet->card(kSeen, view(received->id));
  if (inbound.cabinet->lacks()) return out;
  if (transient)
    out.cards.push_back(card_of(kFetched, view(*transient), {}, inbound.now + kFetchedKept));
  if (before != nullptr) {
    out.reply = kReplyKnown;
    return out;
  }
  out.cards.push_back(card_of(kSeen, view(received->id), {}, inbound.now + kSeenKept));
  NestedSubmit submit;
  submit.destination = std::move(inbox);
  submit.body = message_as_json(*received, carriage, signature, stamp);
  out.submits.push_back(std::move(submit));
  if (const auto ticket = ticket_of(received->message, signature)) {
    out.cards.push_back(
        card_of(kTickets, ticket->key, encode_ticket(ticket->ticket), inbound.now + kTicketKept));
  }
  out.firm = true;  // it will be proven
  out.reply = kReplyDone;
  return out;
}

// Into the mailbox of its recipient, once.
Received receive_upload(const Inbound& inbound) {
  Received out;
  if (inbound.bytes.size() < kItemBytesMin - sizeof(Stamp)) return out;
  const Digest id = transient_id(inbound.bytes);
  const std::string* const before = inbound.cabinet->card(kKept, view(id));
  if (inbound.cabinet->lacks()) return out;
  if (before != nullptr) {
    out.reply = kReplyKnown;
    return out;
  }
  out.cards.push_back(card_of(kKept, view(id), {}, inbound.now + kKeptKnown));
  NestedSubmit submit;
  submit.destination = kept_for(*exactly<16>(inbound.bytes.substr(0, 16)));
  submit.body = inbound.bytes;
  out.submits.push_back(std::move(submit));
  out.firm = true;  // it will be proven
  out.reply = kReplyDone;
  return out;
}

}  // namespace

std::string kept_for(const Address& recipient) {
  return std::string(kKeptPrefix) + hex_of(view(recipient));
}

std::string encode_peer(const PeerCard& peer) {
  std::string out;
  Writer writer(out);
  writer.raw(view(peer.keys))
      .u8(static_cast<std::uint8_t>((peer.ratchet ? 1 : 0) | (peer.is_node ? 2 : 0)));
  if (peer.ratchet) writer.raw(view(*peer.ratchet));
  writer.i64(peer.heard.ms()).text(std::string_view(peer.app_data).substr(0, kAppDataBytesMax));
  return out;
}

Result<PeerCard> decode_peer(std::string_view bytes) {
  Reader reader(bytes);
  PeerCard out;
  const auto keys = exactly<64>(reader.raw(64));
  const std::uint8_t flags = reader.u8();
  if ((flags & 1U) != 0) out.ratchet = exactly<32>(reader.raw(32));
  out.is_node = (flags & 2U) != 0;
  out.heard = Timestamp(reader.i64());
  out.app_data = reader.text();
  if (!reader.at_end() || !keys) return corrupt("card of a peer");
  out.keys = *keys;
  return out;
}

std::string encode_path_card(const PathCard& card) {
  std::string out;
  Writer(out).text(card.interface).text(reticulum::encode_path(card.path));
  return out;
}

Result<PathCard> decode_path_card(std::string_view bytes) {
  Reader reader(bytes);
  PathCard out;
  out.interface = reader.text();
  const std::string_view path = reader.text();
  if (!reader.at_end()) return corrupt("card of a path");
  POSTRIDER_TRY(decoded, reticulum::decode_path(path));
  out.path = std::move(decoded);
  return out;
}

std::string encode_own(const OwnCard& card) {
  std::string out;
  Writer(out).u64(card.seconds).text(card.ratchets.encode());
  return out;
}

Result<OwnCard> decode_own(std::string_view bytes) {
  Reader reader(bytes);
  OwnCard out;
  out.seconds = reader.u64();
  const std::string_view ratchets = reader.text();
  if (!reader.at_end()) return corrupt("card of an own destination");
  POSTRIDER_TRY(decoded, reticulum::Ratchets::decode(ratchets));
  out.ratchets = std::move(decoded);
  return out;
}

std::string encode_heard(const Address& destination, const PeerCard& peer, const PathCard& path) {
  std::string out;
  Writer(out).raw(view(destination)).text(encode_peer(peer)).text(encode_path_card(path));
  return out;
}

std::string encode_own_change(const Address& destination, const OwnCard& card) {
  std::string out;
  Writer(out).raw(view(destination)).text(encode_own(card));
  return out;
}

std::string encode_inbound(const InboundForm& form, std::string_view packed) {
  std::string out;
  Writer writer(out);
  writer.u8(static_cast<std::uint8_t>(form.carriage))
      .u8(static_cast<std::uint8_t>(form.signature))
      .u8(static_cast<std::uint8_t>(form.stamp.verdict))
      .u8(form.stamp.value)
      .u8(form.transient ? 1 : 0);
  if (form.transient) writer.raw(view(*form.transient));
  writer.raw(packed);
  return out;
}

std::string ticket_key(const Address& own, const Address& giver) {
  return std::string(view(own)).append(view(giver));
}

std::optional<TicketCard> ticket_of(const LxmfMessage& message, SignatureVerdict verdict) {
  if (verdict != SignatureVerdict::kVerified) return std::nullopt;
  const auto ticket = ticket_in(message.fields);
  if (!ticket) return std::nullopt;
  return TicketCard{ticket_key(message.destination, message.source), *ticket};
}

Received receive_arrival(const Inbound& inbound) {
  if (inbound.source.kind == kArrivedPeer) return receive_heard(inbound);
  if (inbound.source.kind == kArrivedOwn) return receive_own(inbound);
  if (inbound.source.kind == kArrivedMessage) return receive_message(inbound);
  if (inbound.source.kind == kArrivedUpload) return receive_upload(inbound);
  return {};
}

}  // namespace postrider::lxmf
