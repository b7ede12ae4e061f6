#include "postrider/protocols/reticulum/announce.h"

#include "postrider/base/codec.h"

namespace postrider::reticulum {
namespace {

std::string signed_part(const Announce& announce) {
  std::string out(view(announce.destination));
  out += view(announce.keys);
  out += view(announce.name);
  out += view(announce.random);
  if (announce.ratchet) out += view(*announce.ratchet);
  out += announce.app_data;
  return out;
}

constexpr std::uint8_t kRatchetsVersion = 1;

}  // namespace

AnnounceRandom announce_random(const Bytes<5>& random, std::uint64_t seconds) {
  AnnounceRandom out{};
  std::copy(random.begin(), random.end(), out.begin());
  for (std::size_t i = 0; i < 5; ++i)
    out[5 + i] = static_cast<std::uint8_t>(seconds >> (8 * (4 - i)));
  return out;
}

std::uint64_t announce_seconds(const AnnounceRandom& random) {
  std::uint64_t seconds = 0;
  for (std::size_t i = 5; i < random.size(); ++i) seconds = seconds << 8 | random[i];
  return seconds;
}

std::optional<std::uint64_t> credible_seconds(const AnnounceRandom& random, Timestamp wall) {
  const std::uint64_t seconds = announce_seconds(random);
  if (seconds < kClockSecondsMin) return std::nullopt;
  const auto now = static_cast<std::uint64_t>(std::max<std::int64_t>(wall.ms(), 0) / 1000);
  const bool have_clock = now >= kClockSecondsMin;
  if (have_clock && seconds > now + kSecondsAheadMax) return std::nullopt;
  return seconds;
}

std::uint64_t next_announce_seconds(Timestamp wall, std::uint64_t last_seconds) {
  const auto now = static_cast<std::uint64_t>(std::max<std::int64_t>(wall.ms(), 0) / 1000);
  return std::max(now, last_seconds + 1);
}

std::string make_announce(const Identity& identity, const AnnounceOrder& order) {
  Announce announce{.destination = single_destination(order.name, identity.hash()),
                    .keys = identity.public_keys(),
                    .name = order.name,
                    .random = order.random,
                    .ratchet = order.ratchet,
                    .app_data = order.app_data};
  announce.signature = identity.sign(signed_part(announce));
  std::string data(view(announce.keys));
  data += view(announce.name);
  data += view(announce.random);
  if (announce.ratchet) data += view(*announce.ratchet);
  data += view(announce.signature);
  data += announce.app_data;
  return encode_packet({.kind = PacketKind::kAnnounce,
                        .destination_kind = DestinationKind::kSingle,
                        .context_flag = order.ratchet.has_value(),
                        .destination = announce.destination,
                        .context = order.is_path_response ? Context::kPathResponse : Context::kNone,
                        .data = data});
}

Result<Announce> read_announce(const Packet& packet) {
  if (packet.kind != PacketKind::kAnnounce || packet.destination_kind != DestinationKind::kSingle)
    return fail(ErrorCode::kCorrupt, "not the announce of a destination");
  Reader in(packet.data);
  Announce out{.destination = packet.destination};
  const std::string_view keys = in.raw(out.keys.size());
  const std::string_view name = in.raw(out.name.size());
  const std::string_view random = in.raw(out.random.size());
  const std::string_view ratchet = in.raw(packet.context_flag ? sizeof(Key) : 0);
  const std::string_view signature = in.raw(out.signature.size());
  if (!in.ok()) return fail(ErrorCode::kCorrupt, "announce is cut off");
  out.keys = *exactly<64>(keys);
  out.name = *exactly<10>(name);
  out.random = *exactly<10>(random);
  if (packet.context_flag) out.ratchet = exactly<32>(ratchet);
  out.signature = *exactly<64>(signature);
  out.app_data = in.rest();
  out.is_path_response = packet.context == Context::kPathResponse;
  if (single_destination(out.name, identity_hash(out.keys)) != out.destination)
    return fail(ErrorCode::kInvalid, "announce of an address that its keys do not give");
  return out;
}

AnnounceVerdict judge_announce(const Announce& announce, const PublicKeys* known) {
  if (known != nullptr && *known != announce.keys) return AnnounceVerdict::kForeignKey;
  const Key key = signing_part(announce.keys);
  return is_signed_by(key, signed_part(announce), view(announce.signature))
             ? AnnounceVerdict::kGood
             : AnnounceVerdict::kBadSignature;
}

Ratchets::~Ratchets() {
  for (Key& secret : secrets_) wipe(secret);
}

bool Ratchets::rotate(Timestamp wall, Random& random) {
  if (!secrets_.empty() && wall < rotated_ + kRotateAfter) return false;
  if (secrets_.size() == kKeptMax) {
    wipe(secrets_.back());
    secrets_.pop_back();
  }
  secrets_.push_back(random.bytes<32>());
  std::rotate(secrets_.begin(), secrets_.end() - 1, secrets_.end());
  rotated_ = wall;
  return true;
}

std::optional<Key> Ratchets::newest_public() const {
  if (secrets_.empty()) return std::nullopt;
  return x25519_public(secrets_.front());
}

std::string Ratchets::encode() const {
  std::string out;
  Writer writer(out);
  writer.u8(kRatchetsVersion).i64(rotated_.ms());
  for (const Key& secret : secrets_) writer.raw(view(secret));
  seal_record(out);
  return out;
}

Result<Ratchets> Ratchets::decode(std::string_view bytes) {
  Reader in = open_record(bytes, kRatchetsVersion);
  Ratchets out;
  out.rotated_ = Timestamp(in.i64());
  while (in.ok() && !in.rest().empty() && out.secrets_.size() < kKeptMax) {
    if (const auto secret = exactly<32>(in.raw(sizeof(Key)))) out.secrets_.push_back(*secret);
  }
  if (!in.at_end()) return fail(ErrorCode::kCorrupt, "ratchets");
  return out;
}

}  // namespace postrider::reticulum
