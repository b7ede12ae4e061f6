// Announces in and out, and path requests.
#include <algorithm>

#include "postrider/profiles/lxmf/station.h"
#include "postrider/protocols/lxmf/app_data.h"

namespace postrider::lxmf {
namespace {

constexpr Duration kAnnounceAgain{1'000};  // when the store did not take it
constexpr Duration kAnnounceFresh{5'000};  // so long one announce answers all that ask
constexpr Duration kRequestEvery{5'000};   // path requests for one destination
constexpr std::size_t kRequestedMax = 20'000;
constexpr std::size_t kKnownMax = 100'000;

bool is_of_lxmf(const reticulum::NameHash& name) {
  static const reticulum::NameHash kDelivery = reticulum::name_hash(kDeliveryName);
  return name == kDelivery;
}

bool is_of_node(const reticulum::NameHash& name) {
  static const reticulum::NameHash kPropagation = reticulum::name_hash(kPropagationName);
  return name == kPropagation;
}

std::string node_app_data(const NodeSetup& setup, std::uint64_t seconds) {
  NodeData data;
  data.time = seconds;
  data.active = true;
  data.message_kb_max = setup.message_kb_max;
  data.sync_kb_max = setup.sync_kb_max;
  data.stamp_cost = setup.cost;
  data.cost_flexibility = setup.flexibility;
  data.name = setup.display_name;
  return encode_node_data(data);
}

}  // namespace

std::optional<std::size_t> LxmfStation::own_of(const Address& delivery) const {
  const auto found = own_by_address_.find(delivery);
  if (found == own_by_address_.end()) return std::nullopt;
  return found->second;
}

void LxmfStation::announce_due(Call& call) {
  if (!loaded_ || reading_) return;
  for (std::size_t i = 0; i < own_.size(); ++i) {
    const Own& own = own_[i];
    const bool due = own.next.is_set() && own.next <= call.boot;
    if (due || !own.on.empty() || !own.answers.empty()) announce(i, call);
  }
}

// The time and the ratchet of an announce are durable before it leaves: a peer would take no later
// announce with an earlier time, and would seal for a ratchet that is lost.
void LxmfStation::announce(std::size_t number, Call& call) {
  Own& own = own_[number];
  if (own.asked) return;
  const bool due = own.next.is_set() && own.next <= call.boot;
  if (due && !interfaces_.any_up()) own.next = {};  // the first interface that is up asks for it
  if (!due && own.announced.is_set() && call.boot < own.announced + kAnnounceFresh)
    return send_announce(own, call);
  if (!interfaces_.any_up()) return;
  own.asked = true;
  own.asked_card = own.card;
  own.asked_card.ratchets.rotate(call.wall, call.random);
  own.asked_card.seconds = reticulum::next_announce_seconds(call.wall, own.card.seconds);
  const Token token = next_token();
  own_asked_[token.value()] = number;
  call.wanted.emplace_back(station::Post{
      token, arrival(kArrivedOwn, encode_own_change(own.delivery, own.asked_card))});
}

void LxmfStation::own_durable(std::size_t number, const Answer& answer, Call& call) {
  Own& own = own_[number];
  own.asked = false;
  if (answer.reply != kReplyDone) {
    own.next = call.boot + kAnnounceAgain;
    if (answer.reply == kReplyLate) query(kOwn, {}, call);
    return;
  }
  own.card = std::move(own.asked_card);
  own.random = reticulum::announce_random(call.random.bytes<5>(), own.card.seconds);
  own.announced = call.boot;
  if (!own.next.is_set() || own.next <= call.boot) {
    for (const InterfaceId interface : interfaces_.all_up()) own.on.insert(interface);
    own.next = {};
    if (setup_.announce_every > Duration(0)) own.next = call.boot + setup_.announce_every;
  }
  send_announce(own, call);
}

void LxmfStation::send_announce(Own& own, Call& call) {
  for (const bool answers : {false, true}) {
    std::set<InterfaceId>& to = answers ? own.answers : own.on;
    if (to.empty()) continue;
    const std::string packet = make_own_announce(own, answers);
    for (const InterfaceId interface : std::exchange(to, {})) {
      if (interfaces_.send(interface, packet, call.wanted)) ++counts_.announced;
    }
  }
}

std::string LxmfStation::make_own_announce(const Own& own, bool answers_request) const {
  DeliveryData data;
  data.display_name = own.setup.display_name;
  if (own.setup.stamp_cost > 0) data.stamp_cost = own.setup.stamp_cost;
  const std::string app_data = own.is_node ? node_app_data(*setup_.node, own.card.seconds)
                                           : encode_delivery_data(data);
  return reticulum::make_announce(own.setup.identity,
                                  {.name = reticulum::name_hash(own.is_node ? kPropagationName
                                                                            : kDeliveryName),
                                   .random = own.random,
                                   .ratchet = own.card.ratchets.newest_public(),
                                   .app_data = app_data,
                                   .is_path_response = answers_request});
}

void LxmfStation::take_announce(InterfaceId interface, std::uint8_t hops, std::string_view raw,
                                bool waited, Call& call) {
  const auto packet = reticulum::decode_packet(raw);
  const auto announce = packet ? reticulum::read_announce(*packet)
                               : Result<reticulum::Announce>(fail(ErrorCode::kCorrupt, "packet"));
  if (!announce) {
    ++counts_.bad_announces;
    return;
  }
  const bool is_known_kind = is_of_lxmf(announce->name) || is_of_node(announce->name);
  if (own_of(announce->destination) || !is_known_kind) return;
  const auto known = peers_.find(announce->destination);
  if (known == peers_.end()) {
    if (peers_.size() >= kKnownMax) return;
    if (!waited && !gates_[interface.value()].offer(announce->destination, raw, hops, call.boot))
      return;
  }
  const auto verdict = reticulum::judge_announce(
      *announce, known == peers_.end() ? nullptr : &known->second.keys);
  if (verdict != reticulum::AnnounceVerdict::kGood) {
    ++counts_.bad_announces;
    return;
  }
  ++counts_.announces;
  if (!paths_.learn(*announce,
                    {.hops = hops, .interface = interface, .relay = packet->transport_id},
                    call.wall))
    return;
  heard(*announce, interface, call);
}

// A peer told its keys and the way to it. Both are written down; that also is a sign of life, which
// opens the route of the recipient.
void LxmfStation::heard(const reticulum::Announce& announce, InterfaceId interface, Call& call) {
  PeerCard& peer = peers_[announce.destination];
  peer.keys = announce.keys;
  peer.ratchet = announce.ratchet;
  peer.heard = call.wall;
  peer.is_node = is_of_node(announce.name);
  peer.app_data = std::string(announce.app_data.substr(0, kAppDataBytesMax));
  unproven_.erase(announce.destination);
  dropped_.erase(announce.destination);
  starved_.erase(announce.destination);
  requested_.erase(announce.destination);
  doubted_nodes_.erase(announce.destination);
  const reticulum::Path* path = paths_.find(announce.destination, call.wall);
  if (path == nullptr) return;
  post(arrival(kArrivedPeer, encode_heard(announce.destination, peer,
                                          {interfaces_.name(interface), *path})),
       call);
  for (const AttemptId id : syncs_with(announce.destination)) {
    const auto attempt = attempts_.find(id.value());
    if (attempt != attempts_.end()) look_sync(attempt->second, call);
  }
}

void LxmfStation::take_path_request(InterfaceId interface, std::string_view data, Call& call) {
  const auto request = reticulum::read_path_request(data);
  if (!request || !seen_requests_.add(request->seen_key)) return;
  const auto own = own_of(request->wanted);
  if (!own) return;
  ++counts_.path_answers;
  own_[*own].answers.insert(interface);
  announce_due(call);
}

// All messages to a recipient share one request.
void LxmfStation::request_path(const Address& wanted, Duration after, Call& call) {
  if (requested_.size() >= kRequestedMax) requested_.clear();
  Timestamp& last = requested_[wanted];
  if (last.is_set() && call.boot < last + kRequestEvery) return;
  if (std::exchange(last, call.boot).is_set()) {  // the last one was not answered
    for (const InterfaceId interface : interfaces_.all_up()) doubt(interface);
  }
  ++counts_.path_requests;
  std::string packet = reticulum::make_path_request(wanted, call.random.bytes<16>());
  if (after > Duration(0)) {
    send_later({call.boot + after, {}, std::move(packet)});
  } else {
    interfaces_.send_to_all(packet, call.wanted);
  }
}

}  // namespace postrider::lxmf
