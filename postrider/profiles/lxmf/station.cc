#include "postrider/profiles/lxmf/station.h"

#include <algorithm>

#include "postrider/protocols/reticulum/packet.h"

namespace postrider::lxmf {
namespace {

using reticulum::DestinationKind;
using reticulum::exactly;
using reticulum::PacketKind;

constexpr std::uint32_t kCardsOfPage = 500;
constexpr Duration kReadAgain{1'000};
constexpr std::size_t kPeersMax = 100'000;
constexpr std::size_t kLaterMax = 65'536;

}  // namespace

LxmfStation::LxmfStation(StationSetup setup)
    : setup_(std::move(setup)), interfaces_(setup_.interfaces) {
  for (const IdentitySetup& identity : setup_.identities) {
    Own own{.setup = identity};
    own.delivery = reticulum::single_destination(reticulum::name_hash(kDeliveryName),
                                                 identity.identity.hash());
    own_by_address_[own.delivery] = own_.size();
    own_.push_back(std::move(own));
  }
  if (!setup_.node) return;
  Own own{.setup = {setup_.node->name, setup_.node->identity, {}, setup_.node->display_name}};
  own.is_node = true;
  own.delivery = reticulum::single_destination(reticulum::name_hash(kPropagationName),
                                               setup_.node->identity.hash());
  own_by_address_[own.delivery] = own_.size();
  own_.push_back(std::move(own));
}

void LxmfStation::on(const StationNow& now, const station::Happened& happened, Wants& wanted) {
  Call call{now.instant.boot, now.instant.wall, reticulum::EntropyRandom(now.entropy), wanted};
  if (std::holds_alternative<station::NewEpoch>(happened)) {
    begin(call);
  } else if (const auto* opened = std::get_if<station::LineOpened>(&happened)) {
    if (const auto up = interfaces_.opened(*opened, call.boot, wanted)) interface_up(*up, call);
  } else if (const auto* took = std::get_if<station::LineTook>(&happened)) {
    interfaces_.took(*took, call.boot, [&](InterfaceId interface, std::string_view raw) {
      packet(interface, raw, call);
    });
  } else if (const auto* over = std::get_if<station::LineClosed>(&happened)) {
    if (const auto lost = interfaces_.closed(over->line, call.boot)) interface_lost(*lost, call);
  } else if (const auto* start = std::get_if<station::Started>(&happened)) {
    started(*start, call);
  } else if (const auto* abort = std::get_if<station::Aborted>(&happened)) {
    aborted(abort->attempt, call);
  } else if (const auto* answer = std::get_if<station::Told>(&happened)) {
    told(*answer, call);
  } else if (const auto* work = std::get_if<station::Exchanged>(&happened)) {
    exchanged(*work, call);
  } else if (std::holds_alternative<station::DeadlineReached>(happened)) {
    deadlines(call);
  }
  leave_doubted(call);
  ended_talks_.clear();
}

// Attempts and posts of an earlier epoch are over. Links and receipts stay: what is proven later is
// told by the message's id.
void LxmfStation::begin(Call& call) {
  attempts_.clear();
  due_.clear();
  waiting_.clear();
  arrivals_.clear();
  queries_.clear();
  own_asked_.clear();
  upload_reads_.clear();
  fetched_reads_.clear();
  syncs_.clear();
  gets_.clear();
  unread_.clear();
  for (auto& [id, outgoing] : outgoing_) outgoing.attempt = {};
  for (auto& [id, send] : link_sends_) send.attempt = {};
  for (Own& own : own_) own.asked = false;
  reading_ = true;
  for (const std::string_view drawer : {kPeers, kPaths, kOwn, kTickets}) query(drawer, {}, call);
}

void LxmfStation::query(std::string_view drawer, const std::string& from, Call& call) {
  Query query;
  query.what = Query::What::kCards;
  query.profile = kProfileName;
  query.drawer = drawer;
  query.card = from;
  query.limit = kCardsOfPage;
  const Token token = next_token();
  queries_[token.value()] = drawer;
  call.wanted.emplace_back(station::Post{token, std::move(query)});
}

void LxmfStation::told(const station::Told& told, Call& call) {
  const std::uint64_t token = told.token.value();
  if (const auto asked = queries_.extract(token); !asked.empty()) {
    const auto* page = std::get_if<CardPage>(&told.answer.view);
    if (page == nullptr) {  // the door is shut for a moment
      unread_.push_back(asked.mapped());
      read_again_ = call.boot + kReadAgain;
      return;
    }
    return take_cards(asked.mapped(), *page, call);
  }
  if (const auto own = own_asked_.extract(token); !own.empty())
    return own_durable(own.mapped(), told.answer, call);
  if (const auto upload = upload_reads_.extract(token); !upload.empty())
    return upload_read(upload.mapped(), told.answer, call);
  if (const auto read = fetched_reads_.extract(token); !read.empty())
    return fetched_read(read.mapped(), told.answer, call);
  if (auto get = gets_.extract(token); !get.empty())
    return kept_read(std::move(get.mapped()), told.answer, call);
  const auto found = arrivals_.extract(token);
  if (found.empty()) return;
  const AnswerCode code = told.answer.code;
  const bool taken = code == AnswerCode::kAccepted || code == AnswerCode::kDone;
  if (!taken || told.answer.reply.empty()) {
    ++counts_.refused;
    return drop(found.mapped(), true, call);  // it is not proven, and its sender comes again
  }
  const Arrival& arrival = found.mapped();
  if (arrival.is_upload) {
    ++counts_.uploads_taken;
    return prove(arrival, call);
  }
  ++(told.answer.reply == kReplyKnown ? counts_.known : counts_.received);
  if (arrival.ticket && told.answer.reply == kReplyDone)
    tickets_.insert_or_assign(arrival.ticket->key, arrival.ticket->ticket);
  if (arrival.by == Arrival::By::kSync)
    return fetched_stored(
        arrival.sync, arrival.place,
        told.answer.reply == kReplyKnown ? SyncFate::kKnown : SyncFate::kFresh, call);
  prove(arrival, call);
}

void LxmfStation::take_cards(std::string_view drawer, const CardPage& page, Call& call) {
  for (const Card& card : page.cards) take_card(drawer, card, call);
  if (!page.next.empty()) return query(drawer, page.next, call);
  if (queries_.empty() && unread_.empty() && reading_) ready(call);
}

void LxmfStation::take_card(std::string_view drawer, const Card& card, Call& call) {
  if (drawer == kTickets) {
    const auto ticket = decode_ticket(card.bytes);
    if (ticket && tickets_.size() < kPeersMax) tickets_.insert_or_assign(card.key, *ticket);
    return;
  }
  const auto address = exactly<16>(card.key);
  if (!address) return;
  if (drawer == kPeers) {
    auto peer = decode_peer(card.bytes);
    if (peer && peers_.size() < kPeersMax) peers_.insert_or_assign(*address, std::move(*peer));
  } else if (drawer == kPaths) {
    auto path = decode_path_card(card.bytes);
    const auto interface = path ? interfaces_.find(path->interface) : std::nullopt;
    // What was heard since is newer than the card.
    if (!interface || paths_.find(*address, call.wall) != nullptr) return;
    path->path.interface = *interface;
    paths_.put(*address, std::move(path->path));
  } else if (const auto own = own_of(*address)) {
    auto decoded = decode_own(card.bytes);
    if (decoded && decoded->seconds >= own_[*own].card.seconds)
      own_[*own].card = std::move(*decoded);
  }
}

// All is known that was durable: lines are opened, and what was started meanwhile is looked at.
void LxmfStation::ready(Call& call) {
  reading_ = false;
  if (!loaded_) {
    loaded_ = true;
    interfaces_.open(call.boot, call.wanted);
    for (Own& own : own_) own.next = call.boot;
  }
  for (const station::Started& one : std::exchange(waiting_, {})) started(one, call);
  announce_due(call);
}

void LxmfStation::interface_up(InterfaceId interface, Call& call) {
  gates_.try_emplace(interface.value());
  for (Own& own : own_) own.on.insert(interface);
  announce_due(call);
  for (const Address& recipient : std::exchange(starved_, {}))
    post(PeerSeen{{}, recipient_name(recipient)}, call);
}

void LxmfStation::interface_lost(const Interfaces::Lost& lost, Call& call) {
  close_links(lost.interface, call);
  gates_.erase(lost.interface.value());
  for (Own& own : own_) {
    own.on.erase(lost.interface);
    own.answers.erase(lost.interface);
  }
  if (lost.gone) paths_.forget_interface(lost.interface);
}

// Something that was sent by them was not answered. Not before the call is over: an attempt or link
// that is being looked at may be among those that end with the line.
void LxmfStation::leave_doubted(Call& call) {
  for (std::size_t i = 0; i < doubted_.size(); ++i) {
    if (const auto lost = interfaces_.hang_up_silent(doubted_[i], call.boot, call.wanted))
      interface_lost(*lost, call);
  }
  doubted_.clear();
}

void LxmfStation::packet(InterfaceId interface, std::string_view raw, Call& call) {
  ++counts_.packets_in;
  const auto decoded = reticulum::decode_packet(raw);
  if (!decoded) {
    ++(decoded.error().code == ErrorCode::kInvalid ? counts_.masked : counts_.damaged);
    return;
  }
  const reticulum::Packet& packet = *decoded;
  const auto hops = static_cast<std::uint8_t>(std::min(packet.hops + 1, 255));
  if (!reticulum::is_for_endpoint(packet, hops, nullptr)) {
    ++counts_.not_for_us;
    return;
  }
  if (!reticulum::may_repeat(packet) && !seen_.add(reticulum::packet_hash(raw))) {
    ++counts_.doubled;
    return;
  }
  switch (packet.kind) {
    case PacketKind::kAnnounce: return take_announce(interface, hops, raw, false, call);
    case PacketKind::kLinkRequest:
      if (const auto own = own_of(packet.destination))
        return take_link_request(*own, interface, hops, packet, raw, call);
      return;
    case PacketKind::kProof:
      if (!take_link_packet(interface, hops, packet, raw, call)) take_proof(packet, call);
      return;
    case PacketKind::kData: return data_packet(interface, hops, packet, raw, call);
  }
}

void LxmfStation::data_packet(InterfaceId interface, std::uint8_t hops,
                              const reticulum::Packet& packet, std::string_view raw, Call& call) {
  switch (packet.destination_kind) {
    case DestinationKind::kPlain:
      if (packet.destination == reticulum::path_request_destination())
        take_path_request(interface, packet.data, call);
      return;
    case DestinationKind::kSingle:
      if (const auto own = own_of(packet.destination); own && !own_[*own].is_node)
        take_opportunistic(*own, interface, packet, raw, call);
      return;
    case DestinationKind::kLink: take_link_packet(interface, hops, packet, raw, call); return;
    case DestinationKind::kGroup: return;
  }
}

void LxmfStation::send_later(Later later) {
  if (later_.size() >= kLaterMax) return;
  const auto at = std::upper_bound(later_.begin(), later_.end(), later.due,
                                   [](Timestamp due, const Later& one) { return due < one.due; });
  later_.insert(at, std::move(later));
}

void LxmfStation::deadlines(Call& call) {
  if (!unread_.empty() && read_again_ <= call.boot) {
    for (const std::string& drawer : std::exchange(unread_, {})) query(drawer, {}, call);
  }
  if (loaded_) interfaces_.open(call.boot, call.wanted);
  for (; !later_.empty() && later_.front().due <= call.boot; later_.pop_front()) {
    const Later& one = later_.front();
    if (one.interface.is_set()) {
      interfaces_.send(one.interface, one.packet, call.wanted);
    } else {
      interfaces_.send_to_all(one.packet, call.wanted);
    }
  }
  while (!due_.empty() && due_.begin()->first <= call.boot) {
    const auto attempt = attempts_.find(due_.begin()->second);
    end(AttemptId(due_.begin()->second),
        attempt == attempts_.end() ? Word::kUnproven : attempt->second.at_due, call);
  }
  for (auto& [number, gate] : gates_) {
    while (const auto held = gate.release(call.boot))
      take_announce(InterfaceId(number), held->hops, held->raw, true, call);
  }
  std::vector<Address> links;
  for (const auto& [id, talk] : talks_) {
    const auto next = talk.conversation->next_deadline();
    if (next && *next <= call.boot) links.push_back(id);
  }
  for (const Address& id : links) {
    const auto found = talks_.find(id);
    if (found == talks_.end()) continue;
    reticulum::LinkOutput out;
    found->second.conversation->on_time(call.boot, call.random, out);
    leave(id, out, call);
  }
  announce_due(call);
}

std::optional<Timestamp> LxmfStation::next_deadline() const {
  std::optional<Timestamp> next;
  const auto not_after = [&next](std::optional<Timestamp> at) {
    if (at) next = next ? std::min(*next, *at) : *at;
  };
  if (!unread_.empty()) not_after(read_again_);
  if (loaded_) not_after(interfaces_.next_deadline());
  if (!later_.empty()) not_after(later_.front().due);
  if (!due_.empty()) not_after(due_.begin()->first);
  for (const auto& [number, gate] : gates_) not_after(gate.next_deadline());
  for (const auto& [id, talk] : talks_) not_after(talk.conversation->next_deadline());
  if (loaded_ && !reading_) {
    for (const Own& own : own_) {
      if (!own.asked && own.next.is_set()) not_after(own.next);
    }
  }
  return next;
}

Arrived LxmfStation::arrival(std::string_view kind, std::string bytes) const {
  Arrived out;
  out.profile = kProfileName;
  out.source = {.origin = "station", .kind = std::string(kind), .format = "lxmf"};
  out.bytes = std::move(bytes);
  return out;
}

void LxmfStation::tell(StationFigures& figures) const {
  figures.push_back({"lxmf packets in", counts_.packets_in});
  figures.push_back({"lxmf packets that came before", counts_.doubled});
  figures.push_back({"lxmf packets damaged", counts_.damaged});
  figures.push_back({"lxmf packets masked for a private network", counts_.masked});
  figures.push_back({"lxmf packets for others", counts_.not_for_us});
  figures.push_back({"lxmf announces heard", counts_.announces});
  figures.push_back({"lxmf announces refused", counts_.bad_announces});
  figures.push_back({"lxmf announces sent", counts_.announced});
  figures.push_back({"lxmf path requests sent", counts_.path_requests});
  figures.push_back({"lxmf path requests answered", counts_.path_answers});
  figures.push_back({"lxmf transmissions", counts_.sent});
  figures.push_back({"lxmf proofs", counts_.proofs});
  figures.push_back({"lxmf proofs that came late", counts_.late_proofs});
  figures.push_back({"lxmf proofs of nothing sent", counts_.unknown_proofs});
  figures.push_back({"lxmf proofs forged", counts_.forged_proofs});
  figures.push_back({"lxmf messages received", counts_.received});
  figures.push_back({"lxmf messages that came before", counts_.known});
  figures.push_back({"lxmf messages not taken", counts_.refused});
  figures.push_back({"lxmf packets that cannot be opened", counts_.undecryptable});
  figures.push_back({"lxmf messages proven", counts_.proven});
  figures.push_back({"lxmf messages without the stamp they need", counts_.unstamped});
  figures.push_back({"lxmf uploads to nodes", counts_.uploads});
  figures.push_back({"lxmf uploads taken by our node", counts_.uploads_taken});
  figures.push_back({"lxmf uploads refused by our node", counts_.uploads_refused});
  figures.push_back({"lxmf requests answered by our node", counts_.gets});
  figures.push_back({"lxmf syncs", counts_.syncs});
  figures.push_back({"lxmf messages fetched from nodes", counts_.synced});
  figures.push_back({"lxmf messages left at nodes", counts_.left_at_node});
  figures.push_back({"lxmf links opened", counts_.links_opened});
  figures.push_back({"lxmf links answered", counts_.links_answered});
  figures.push_back({"lxmf links gone", counts_.links_down});
  figures.push_back({"lxmf links now", talks_.size()});
  figures.push_back({"lxmf peers known", peers_.size()});
  figures.push_back({"lxmf paths known", paths_.size()});
  figures.push_back({"lxmf interfaces lost", interfaces_.lost()});
}

}  // namespace postrider::lxmf
