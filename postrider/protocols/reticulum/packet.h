// Packets of Reticulum: header, hash, and how the header changes for a relay. A Packet only views
// the bytes that it was read from, and is never stored. Pure functions; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "postrider/base/result.h"
#include "postrider/protocols/reticulum/bytes.h"

namespace postrider::reticulum {

inline constexpr std::size_t kMtu = 500;
inline constexpr std::size_t kPacketBytesMin = 20;
inline constexpr std::size_t kPacketBytesMax = 262'144;
inline constexpr std::size_t kHeaderBytes = 19;
inline constexpr std::uint8_t kHopsMax = 128;  // a packet that travelled so far is not sent on

enum class DestinationKind : std::uint8_t { kSingle = 0, kGroup = 1, kPlain = 2, kLink = 3 };
enum class PacketKind : std::uint8_t { kData = 0, kAnnounce = 1, kLinkRequest = 2, kProof = 3 };
// Peers may use others; they are kept as they are, and known by no name.
enum class Context : std::uint8_t {
  kNone = 0x00,
  kResource = 0x01,
  kResourceAdvertisement = 0x02,
  kResourceRequest = 0x03,
  kResourceHashmapUpdate = 0x04,
  kResourceProof = 0x05,
  kResourceCancelledBySender = 0x06,
  kResourceRefusedByReceiver = 0x07,
  kCacheRequest = 0x08,
  kRequest = 0x09,
  kResponse = 0x0A,
  kPathResponse = 0x0B,
  kCommand = 0x0C,
  kCommandStatus = 0x0D,
  kChannel = 0x0E,
  kKeepalive = 0xFA,
  kLinkIdentify = 0xFB,
  kLinkClose = 0xFC,
  kLinkProof = 0xFD,
  kLinkRtt = 0xFE,
  kLinkRequestProof = 0xFF,
};

struct Packet {
  PacketKind kind = PacketKind::kData;
  DestinationKind destination_kind = DestinationKind::kSingle;
  bool context_flag = false;
  bool transported = false;             // the transport type
  std::optional<Address> transport_id;  // of the next relay: the longer header
  std::uint8_t hops = 0;
  Address destination{};
  Context context = Context::kNone;
  std::string_view data;
};

std::string encode_packet(const Packet& packet);
// kCorrupt: too short or too long; kInvalid: it is masked for a private network.
Result<Packet> decode_packet(std::string_view raw);

// What identifies a packet, before and after relays. The raw bytes must be those of a packet that
// can be decoded.
std::string hashable_part(std::string_view raw);
Digest packet_hash(std::string_view raw);

// A short header made a long one, so that the relay takes it. The context flag is lost in it.
std::string for_relay(std::string_view raw, const Address& relay);

}  // namespace postrider::reticulum
