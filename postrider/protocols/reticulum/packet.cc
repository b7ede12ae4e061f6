#include "postrider/protocols/reticulum/packet.h"

#include "postrider/base/check.h"
#include "postrider/protocols/reticulum/sha256.h"

namespace postrider::reticulum {
namespace {

constexpr std::uint8_t kMaskedBit = 0x80;
constexpr std::uint8_t kLongHeaderBit = 0x40;
constexpr std::uint8_t kContextFlagBit = 0x20;
constexpr std::uint8_t kTransportedBit = 0x10;
constexpr std::size_t kAddressBytes = sizeof(Address);

std::uint8_t flags_of(std::string_view raw) { return static_cast<std::uint8_t>(raw[0]); }

}  // namespace

std::string encode_packet(const Packet& packet) {
  auto flags = static_cast<std::uint8_t>(static_cast<unsigned>(packet.destination_kind) << 2 |
                                         static_cast<unsigned>(packet.kind));
  if (packet.transport_id) flags |= kLongHeaderBit;
  if (packet.context_flag) flags |= kContextFlagBit;
  if (packet.transported) flags |= kTransportedBit;
  std::string out;
  out.reserve(kHeaderBytes + kAddressBytes + packet.data.size());
  out.push_back(static_cast<char>(flags));
  out.push_back(static_cast<char>(packet.hops));
  if (packet.transport_id) out += view(*packet.transport_id);
  out += view(packet.destination);
  out.push_back(static_cast<char>(packet.context));
  out += packet.data;
  return out;
}

Result<Packet> decode_packet(std::string_view raw) {
  if (raw.size() < kPacketBytesMin || raw.size() > kPacketBytesMax)
    return fail(ErrorCode::kCorrupt, "packet of " + std::to_string(raw.size()) + " bytes");
  const std::uint8_t flags = flags_of(raw);
  if ((flags & kMaskedBit) != 0)
    return fail(ErrorCode::kInvalid, "packet of a private network on an open interface");
  Packet out;
  out.kind = static_cast<PacketKind>(flags & 3);
  out.destination_kind = static_cast<DestinationKind>((flags >> 2) & 3);
  out.context_flag = (flags & kContextFlagBit) != 0;
  out.transported = (flags & kTransportedBit) != 0;
  out.hops = static_cast<std::uint8_t>(raw[1]);
  std::string_view rest = raw.substr(2);
  if ((flags & kLongHeaderBit) != 0) {
    if (raw.size() < kHeaderBytes + kAddressBytes)
      return fail(ErrorCode::kCorrupt, "packet ends in its header");
    out.transport_id = exactly<kAddressBytes>(rest.substr(0, kAddressBytes));
    rest.remove_prefix(kAddressBytes);
  }
  out.destination = *exactly<kAddressBytes>(rest.substr(0, kAddressBytes));
  out.context = static_cast<Context>(rest[kAddressBytes]);
  out.data = rest.substr(kAddressBytes + 1);
  return out;
}

std::string hashable_part(std::string_view raw) {
  POSTRIDER_CHECK(raw.size() >= kHeaderBytes);
  std::string out(1, static_cast<char>(flags_of(raw) & 0x0F));
  const bool is_long = (flags_of(raw) & kLongHeaderBit) != 0;
  out += raw.substr(is_long ? 2 + kAddressBytes : 2);
  return out;
}

Digest packet_hash(std::string_view raw) { return sha256(hashable_part(raw)); }

std::string for_relay(std::string_view raw, const Address& relay) {
  POSTRIDER_CHECK(raw.size() >= kHeaderBytes);
  POSTRIDER_CHECK((flags_of(raw) & kLongHeaderBit) == 0);
  std::string out;
  out.push_back(static_cast<char>(kLongHeaderBit | kTransportedBit | (flags_of(raw) & 0x0F)));
  out.push_back(raw[1]);
  out += view(relay);
  out += raw.substr(2);
  return out;
}

}  // namespace postrider::reticulum
