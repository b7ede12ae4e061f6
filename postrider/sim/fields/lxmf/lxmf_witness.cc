// What the world sees of its machines: what leaves them, what is durable, and what they work at.
#include "postrider/base/codec.h"
#include "postrider/sim/fields/lxmf/lxmf_inside.h"

namespace postrider::sim::lxmf_world {

// Each write is one frame, or one datagram without a frame.
void LxmfWorld::leaves(const std::string& machine, std::string_view bytes) {
  const auto here = static_cast<std::uint32_t>(machine[0] - 'a');
  if (bytes.starts_with('\x7e')) {
    reticulum::FrameReader reader;
    reader.feed(bytes, [&](std::string_view raw) { packet_leaves(here, raw); });
  } else {
    packet_leaves(here, bytes);
  }
}

void LxmfWorld::packet_leaves(std::uint32_t machine, std::string_view raw) {
  const auto packet = reticulum::decode_packet(raw);
  if (!packet) return violation(places_[machine].name + " writes what is no packet");
  constexpr std::array<const char*, 4> kKinds = {"data", "announce", "link-request", "proof"};
  trace_.line(agenda_.now(), kKinds[static_cast<std::size_t>(packet->kind)])
      .word(places_[machine].name)
      .word(lxmf::hex_of(view(packet->destination)))
      .number(std::uint64_t{raw.size()})
      .end();
  switch (packet->kind) {
    case reticulum::PacketKind::kAnnounce: return announce_leaves(machine, *packet);
    case reticulum::PacketKind::kLinkRequest: ++report_.link_requests; break;
    case reticulum::PacketKind::kProof: return;
    case reticulum::PacketKind::kData:
      if (packet->destination_kind != reticulum::DestinationKind::kSingle) return;
      ++report_.opportunistic;
      break;
  }
  // Both begin with a key that was drawn for them alone; one packet may leave by several lines.
  const std::string key(packet->data.substr(0, 32));
  const std::string whole = lxmf::hex_of(view(reticulum::packet_hash(raw)));
  if (ephemeral_.contains(key + whole)) return;
  if (!ephemeral_.insert(key).second)
    violation(places_[machine].name + " drew a key of a packet a second time");
  ephemeral_.insert(key + whole);
}

void LxmfWorld::announce_leaves(std::uint32_t machine, const reticulum::Packet& packet) {
  Place& place = places_[machine];
  ++report_.announces;
  const auto announce = reticulum::read_announce(packet);
  if (!announce || !announce->ratchet)
    return violation(place.name + " announces without a ratchet");
  if (!place.ratchets.contains(std::string(view(*announce->ratchet))))
    violation(place.name + " announces a ratchet that is not durable");
  const std::uint64_t seconds = reticulum::announce_seconds(announce->random);
  if (seconds < place.announced) violation(place.name + " announces with an earlier time");
  place.announced = std::max(place.announced, seconds);
}

// What is durable is found in the records themselves, whatever the engine says.
void LxmfWorld::durable(std::uint32_t machine, const Applied& applied) {
  Place& place = places_[machine];
  for (const Write& write : applied.batch.writes()) {
    if (write.key.empty() || write.value.size() == 0) continue;
    const std::string_view value = write.value.view();
    if (write.key[0] == keys::kCard) {
      durable_card(place, write.key, value);
    } else if (write.key[0] == keys::kEnd) {
      if (const auto end = decode_end(value)) durable_end(place, *end);
    } else if (const auto hot = keys::parse_hot(write.key)) {
      if (hot->part == keys::Part::kMessage) durable_message(place, write.value);
    } else if (const auto cold = keys::parse_cold(write.key)) {
      if (cold->part == keys::Part::kMessage) durable_message(place, write.value);
    }
  }
}

// The id that a message of ours has on the network stays what it was when it was accepted.
void LxmfWorld::durable_message(Place& place, const Blob& record) {
  const auto message = decode_message(record);
  const auto texts = message ? decode_texts(message->attributes) : NamedTexts{};
  for (const auto& [name, text] : texts ? *texts : NamedTexts{}) {
    if (name != "id") continue;
    const auto received = lxmf::unpack(message->body);
    if (!received || lxmf::hex_of(view(received->id)) != text)
      violation(place.name + " stores a message that is not the one of its id");
    place.sent[message->id] = text;
  }
}

void LxmfWorld::durable_card(Place& place, std::string_view key, std::string_view value) {
  const auto parsed = keys::parse_card(key);
  const auto card = decode_card(value);
  if (!parsed || !card) return;
  if (parsed->drawer == lxmf::kSeen) place.seen.insert(lxmf::hex_of(parsed->key));
  if (parsed->drawer == lxmf::kKept) place.kept.insert(lxmf::hex_of(parsed->key));
  if (parsed->drawer == lxmf::kUploads) {
    const std::string transient = lxmf::hex_of(view(lxmf::transient_id(card->bytes)));
    const auto known = place.uploaded.try_emplace(lxmf::hex_of(parsed->key), transient);
    if (known.first->second != transient)
      violation(place.name + " seals " + known.first->first + " a second time");
  }
  if (parsed->drawer != lxmf::kOwn) return;
  const auto own = lxmf::decode_own(card->bytes);
  const auto ratchet = own ? own->ratchets.newest_public() : std::nullopt;
  if (ratchet) place.ratchets.insert(std::string(view(*ratchet)));
}

// The law of the protocol: what the sender holds for delivered, the recipient has.
void LxmfWorld::durable_end(Place& place, const EndRecord& end) {
  const auto sent = place.sent.find(end.id);
  if (sent == place.sent.end() || end.phase != Phase::kDelivered) return;
  trace_.line(agenda_.now(), "delivered").word(place.name).word(sent->second).end();
  if (const auto upload = place.uploaded.find(sent->second); upload != place.uploaded.end()) {
    ++report_.sent_to_node;
    if (!places_[0].kept.contains(upload->second))
      violation(place.name + " holds " + sent->second +
                " for sent, which is not durable at its node");
    return;
  }
  const bool arrived = std::any_of(places_.begin(), places_.end(), [&](const Place& other) {
    return &other != &place && other.seen.contains(sent->second);
  });
  if (!arrived && options_.bug != LxmfBug::kForgetsSeen)
    violation(place.name + " holds " + sent->second +
              " for delivered, which is not durable at its recipient");
}

// A stamp that was searched for is not searched for again, unless its process was killed or its
// shard made anew.
void LxmfWorld::starts(std::uint32_t machine, const StartAttempt& start) {
  if (start.request.verb != kWorkVerb) return;
  ++report_.stamps;
  trace_.line(agenda_.now(), "stamps").word(places_[machine].name).end();
  Reader reader(start.request.body);
  reader.u32();
  const std::uint32_t cost = reader.u32();
  if (!places_[machine].searched.insert({start.message, cost}).second)
    violation(places_[machine].name + " works for a stamp a second time");
}

}  // namespace postrider::sim::lxmf_world
