#include "postrider/protocols/reticulum/link.h"

#include <cmath>

#include "postrider/base/check.h"
#include "postrider/protocols/reticulum/msgpack.h"
#include "postrider/protocols/reticulum/proof.h"
#include "postrider/protocols/reticulum/sha256.h"

namespace postrider::reticulum {
namespace {

constexpr std::size_t kSignallingBytes = 3;
constexpr std::size_t kRequestBytes = 64;
constexpr std::size_t kProofBytes = 96;
constexpr char kKeepaliveAsk = static_cast<char>(0xFF);
constexpr char kKeepaliveAnswer = static_cast<char>(0xFE);
constexpr Duration kEstablishPerHop = 6s;
constexpr Duration kHandshakeExtra = 360s;
constexpr Duration kRttMax = 600s;  // what a peer may claim

// What the responder proves: that it has the key of the destination, and chose this link.
std::string proven_part(const Address& link, const Key& agreement, const Key& signing,
                        std::string_view signalling) {
  std::string out(view(link));
  out += view(agreement);
  out += view(signing);
  out += signalling;
  return out;
}

bool is_possible_mtu(std::uint32_t mtu) {
  return mtu == 0 || (mtu >= LinkSignalling::kMtuMin && mtu <= kPacketBytesMax);
}

std::optional<LinkSignalling> signalling_in(std::string_view data, std::size_t before) {
  const auto bytes = exactly<kSignallingBytes>(data.substr(before));
  return bytes ? std::optional(decode_signalling(*bytes)) : std::nullopt;
}

}  // namespace

std::string encode_signalling(const LinkSignalling& signalling) {
  const std::uint32_t value =
      static_cast<std::uint32_t>(signalling.mode) << 21 | (signalling.mtu & 0x1FFFFF);
  return {static_cast<char>(value >> 16), static_cast<char>(value >> 8), static_cast<char>(value)};
}

LinkSignalling decode_signalling(const Bytes<3>& bytes) {
  const std::uint32_t value = static_cast<std::uint32_t>(bytes[0]) << 16 |
                              static_cast<std::uint32_t>(bytes[1]) << 8 | bytes[2];
  return {.mode = static_cast<std::uint8_t>(value >> 21), .mtu = value & 0x1FFFFF};
}

Address link_id(std::string_view raw_request) {
  std::string hashable = hashable_part(raw_request);
  const std::size_t plain = 1 + sizeof(Address) + 1 + kRequestBytes;
  if (hashable.size() > plain) hashable.resize(plain);
  return short_hash({hashable});
}

Link Link::open(const Target& target, const LinkSettings& settings, Timestamp now, Random& random,
                std::vector<std::string>& out) {
  Link link(SigningKey(random.bytes<32>()), target.interface, settings);
  link.is_opener_ = true;
  link.target_ = target;
  link.agreement_ = random.bytes<32>();
  link.peer_signing_ = signing_part(target.keys);
  link.began_ = now;
  const int hops = std::max<int>(1, target.hops.value_or(1));
  link.establish_until_ = now + 6s + settings.serialisation + hops * kEstablishPerHop;
  std::string data(view(x25519_public(link.agreement_)));
  data += view(link.signing_.public_key());
  data += encode_signalling({.mtu = settings.mtu});
  std::string raw = encode_packet({.kind = PacketKind::kLinkRequest,
                                   .destination_kind = DestinationKind::kSingle,
                                   .destination = target.destination,
                                   .data = data});
  link.id_ = link_id(raw);
  out.push_back(std::move(raw));
  return link;
}

Result<Link> Link::answer(const Arrival& request, const Identity& owner,
                          const LinkSettings& settings, Timestamp now, Random& random,
                          std::vector<std::string>& out) {
  const Packet& packet = request.packet;
  const bool is_plain = packet.data.size() == kRequestBytes;
  if (packet.kind != PacketKind::kLinkRequest ||
      (!is_plain && packet.data.size() != kRequestBytes + kSignallingBytes))
    return fail(ErrorCode::kCorrupt, "link request of an impossible length");
  const auto signalling = is_plain ? std::nullopt : signalling_in(packet.data, kRequestBytes);
  if (signalling && signalling->mode != LinkSignalling::kModeAes256)
    return fail(ErrorCode::kInvalid, "link request with mode " + std::to_string(signalling->mode));
  if (signalling && !is_possible_mtu(signalling->mtu))
    return fail(ErrorCode::kInvalid, "link request with MTU " + std::to_string(signalling->mtu));
  Link link(owner.signing(), request.interface, settings);
  link.state_ = LinkState::kHandshake;
  link.id_ = link_id(request.raw);
  link.peer_signing_ = *exactly<32>(packet.data.substr(32, 32));
  if (signalling && signalling->mtu != 0) link.mtu_ = std::min(signalling->mtu, settings.mtu);
  link.began_ = now;
  link.establish_until_ = now + std::max<int>(1, request.hops) * kEstablishPerHop + kHandshakeExtra;
  Key secret = random.bytes<32>();
  const Key ours = x25519_public(secret);
  const bool agreed = link.agree(secret, *exactly<32>(packet.data.substr(0, 32)));
  wipe(secret);
  if (!agreed) return fail(ErrorCode::kInvalid, "link request with a bad key");
  const std::string said = is_plain ? std::string() : encode_signalling({.mtu = link.mtu_});
  const Signature signature =
      owner.sign(proven_part(link.id_, ours, owner.signing().public_key(), said));
  out.push_back(
      encode_packet({.kind = PacketKind::kProof,
                     .destination_kind = DestinationKind::kLink,
                     .destination = link.id_,
                     .context = Context::kLinkRequestProof,
                     .data = std::string(view(signature)) + std::string(view(ours)) + said}));
  return link;
}

bool Link::agree(const Key& secret, const Key& other) {
  const Result<Key> shared = x25519(secret, other);
  if (!shared) return false;
  key_ = hkdf<64>(view(*shared), view(id_));
  return true;
}

void Link::wipe_keys() {
  wipe(key_);
  wipe(agreement_);
}

LinkReading Link::damaged() {
  ++damaged_;
  return {};
}

LinkReading Link::closed(LinkEnd end) {
  state_ = LinkState::kClosed;
  end_ = end;
  wipe_keys();
  return {.what = LinkReading::What::kClosed};
}

void Link::heard(Timestamp now, bool payload) {
  heard_ = now;
  if (payload) payload_ = now;
  if (state_ == LinkState::kStale) state_ = LinkState::kActive;
}

void Link::become_active(Timestamp now) {
  state_ = LinkState::kActive;
  was_active_ = true;
  keepalive_sent_ = now;
  heard(now, true);
}

Duration Link::keepalive() const {
  const Duration wanted(rtt_.count() * 36'000 / 175);
  return std::clamp<Duration>(wanted, 5s, 360s);
}

LinkReading Link::take(const Arrival& arrival, Timestamp now, Random& random,
                       std::vector<std::string>& out) {
  if (state_ == LinkState::kClosed || arrival.packet.destination != id_) return {};
  if (arrival.interface != interface_) {
    ++foreign_;
    return {};
  }
  switch (state_) {
    case LinkState::kOpening: return take_request_proof(arrival, now, random, out);
    case LinkState::kHandshake: return take_rtt(arrival, now);
    case LinkState::kActive:
    case LinkState::kStale: return take_live(arrival, now, out);
    case LinkState::kClosed: return {};
  }
  POSTRIDER_CHECK(false);
}

LinkReading Link::take_request_proof(const Arrival& arrival, Timestamp now, Random& random,
                                     std::vector<std::string>& out) {
  const Packet& packet = arrival.packet;
  const std::string_view data = packet.data;
  if (packet.kind != PacketKind::kProof || packet.context != Context::kLinkRequestProof ||
      (data.size() != kProofBytes && data.size() != kProofBytes + kSignallingBytes))
    return damaged();
  if (target_.hops && arrival.hops != *target_.hops) return damaged();
  const Key theirs = *exactly<32>(data.substr(64, 32));
  if (!is_signed_by(peer_signing_,
                    proven_part(id_, theirs, peer_signing_, data.substr(kProofBytes)),
                    data.substr(0, 64)))
    return damaged();
  if (const auto said = signalling_in(data, kProofBytes)) {
    if (said->mode != LinkSignalling::kModeAes256) return closed(LinkEnd::kOtherMode);
    if (!is_possible_mtu(said->mtu)) return damaged();
    if (said->mtu != 0) mtu_ = std::min(said->mtu, settings_.mtu);
  }
  if (!agree(agreement_, theirs)) return damaged();
  wipe(agreement_);
  rtt_ = now - began_;
  become_active(now);
  std::string told;
  // A clock of milliseconds sees none between neighbours; a peer that is told 0 would wait for 0.
  MsgpackWriter(told).real(static_cast<double>(std::max<std::int64_t>(rtt_.count(), 1)) / 1000.0);
  out.push_back(send(Context::kLinkRtt, told, now, random));
  return {.what = LinkReading::What::kActive};
}

LinkReading Link::take_rtt(const Arrival& arrival, Timestamp now) {
  const Packet& packet = arrival.packet;
  if (packet.kind != PacketKind::kData || packet.context != Context::kLinkRtt) return damaged();
  const auto plain = open_token(key_, packet.data);
  if (!plain) return damaged();
  MsgpackReader in(*plain);
  const double told = in.real();
  if (!in.at_end() || !std::isfinite(told) || told < 0) return damaged();
  const double bounded = std::min(told * 1000.0, static_cast<double>(kRttMax.count()));
  rtt_ = std::max(now - began_, Duration(static_cast<std::int64_t>(bounded)));
  become_active(now);
  return {.what = LinkReading::What::kActive};
}

LinkReading Link::take_live(const Arrival& arrival, Timestamp now, std::vector<std::string>& out) {
  const Packet& packet = arrival.packet;
  using What = LinkReading::What;
  if (packet.kind == PacketKind::kProof) {
    // Whether it proves anything is not known here; a forged one must not keep a dead link alive.
    const bool is_resource = packet.context == Context::kResourceProof;
    if (!is_resource && packet.context != Context::kNone) return damaged();
    return {.what = is_resource ? What::kClear : What::kProof,
            .context = packet.context,
            .plain = std::string(packet.data)};
  }
  if (packet.kind != PacketKind::kData) return damaged();
  if (packet.context == Context::kKeepalive) return take_keepalive(packet.data, now, out);
  if (packet.context == Context::kResource || packet.context == Context::kCacheRequest) {
    return {.what = What::kClear, .context = packet.context, .plain = std::string(packet.data)};
  }
  auto plain = open_token(key_, packet.data);
  if (!plain) return damaged();
  return take_plain(packet.context, std::move(*plain), now);
}

LinkReading Link::take_plain(Context context, std::string plain, Timestamp now) {
  if (context == Context::kLinkClose) {
    if (!equal_in_constant_time(plain, view(id_))) return damaged();
    return closed(LinkEnd::kByPeer);
  }
  heard(now, context != Context::kLinkRtt);
  if (context == Context::kLinkRtt) return {};
  if (context == Context::kLinkIdentify) return take_identify(plain);
  return {.what = LinkReading::What::kPlain, .context = context, .plain = std::move(plain)};
}

LinkReading Link::take_identify(std::string_view plain) {
  const auto keys = exactly<64>(plain.substr(0, 64));
  if (is_opener_ || identified_ || plain.size() != 128 || !keys) return damaged();
  const std::string said = std::string(view(id_)) + std::string(view(*keys));
  if (!is_signed_by(signing_part(*keys), said, plain.substr(64))) return damaged();
  identified_ = keys;
  return {.what = LinkReading::What::kIdentified, .keys = *keys};
}

LinkReading Link::take_keepalive(std::string_view data, Timestamp now,
                                 std::vector<std::string>& out) {
  if (data.size() != 1) return damaged();
  const bool is_ask = data[0] == kKeepaliveAsk;
  if (is_ask == is_opener_ || (!is_ask && data[0] != kKeepaliveAnswer)) return damaged();
  heard(now, false);
  if (is_ask) out.push_back(packet_of(Context::kKeepalive, {&kKeepaliveAnswer, 1}));
  return {};
}

std::optional<Timestamp> Link::next_deadline() const {
  switch (state_) {
    case LinkState::kOpening:
    case LinkState::kHandshake: return establish_until_;
    case LinkState::kActive:
    case LinkState::kStale: break;
    case LinkState::kClosed: return std::nullopt;
  }
  Timestamp next = payload_ + settings_.idle_max;
  next = std::min(
      next, state_ == LinkState::kStale ? stale_since_ + stale_grace() : heard_ + 2 * keepalive());
  if (is_opener_) next = std::min(next, std::max(heard_, keepalive_sent_) + keepalive());
  return next;
}

LinkReading Link::on_time(Timestamp now, Random& random, std::vector<std::string>& out) {
  if (state_ == LinkState::kClosed) return {};
  if (!is_usable()) return now >= establish_until_ ? closed(LinkEnd::kTimedOut) : LinkReading{};
  const bool is_idle = now >= payload_ + settings_.idle_max;
  const bool is_dead = state_ == LinkState::kStale && now >= stale_since_ + stale_grace();
  if (is_idle || is_dead) {
    close(is_dead ? LinkEnd::kWentStale : LinkEnd::kIdle, random, out);
    return {.what = LinkReading::What::kClosed};
  }
  if (is_opener_ && now >= std::max(heard_, keepalive_sent_) + keepalive()) {
    keepalive_sent_ = now;
    out.push_back(packet_of(Context::kKeepalive, {&kKeepaliveAsk, 1}));
  }
  if (state_ == LinkState::kActive && now >= heard_ + 2 * keepalive()) {
    state_ = LinkState::kStale;
    stale_since_ = now;
  }
  return {};
}

std::string Link::packet_of(Context context, std::string_view data) const {
  return encode_packet({.kind = PacketKind::kData,
                        .destination_kind = DestinationKind::kLink,
                        .destination = id_,
                        .context = context,
                        .data = data});
}

std::string Link::send(Context context, std::string_view plain, Timestamp now, Random& random) {
  POSTRIDER_CHECK(is_usable());
  if (context != Context::kLinkRtt) payload_ = now;
  return packet_of(context, seal(plain, random));
}

std::string Link::send_clear(Context context, std::string_view data, Timestamp now) {
  POSTRIDER_CHECK(is_usable());
  payload_ = now;
  return packet_of(context, data);
}

std::string Link::seal(std::string_view plain, Random& random) const {
  return seal_token(key_, random.bytes<16>(), plain);
}

Result<std::string> Link::open_sealed_bytes(std::string_view token) const {
  return open_token(key_, token);
}

std::string Link::prove(const Digest& packet) const {
  return make_link_proof(signing_, id_, packet);
}

std::string Link::prove_resource(const Digest& resource, const Digest& proof) const {
  return encode_packet({.kind = PacketKind::kProof,
                        .destination_kind = DestinationKind::kLink,
                        .destination = id_,
                        .context = Context::kResourceProof,
                        .data = std::string(view(resource)) + std::string(view(proof))});
}

std::string Link::identify(const Identity& identity, Timestamp now, Random& random) {
  POSTRIDER_CHECK(is_opener_);
  const std::string said = std::string(view(id_)) + std::string(view(identity.public_keys()));
  std::string plain(view(identity.public_keys()));
  plain += view(identity.sign(said));
  return send(Context::kLinkIdentify, plain, now, random);
}

void Link::close(LinkEnd end, Random& random, std::vector<std::string>& out) {
  if (state_ == LinkState::kClosed) return;
  if (is_usable() && end != LinkEnd::kInterfaceLost)
    out.push_back(packet_of(Context::kLinkClose, seal(view(id_), random)));
  closed(end);
}

}  // namespace postrider::reticulum
