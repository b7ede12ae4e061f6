#include "postrider/protocols/reticulum/seen.h"

namespace postrider::reticulum {

bool may_repeat(const Packet& packet) {
  if (packet.kind == PacketKind::kAnnounce)
    return packet.destination_kind == DestinationKind::kSingle;
  return packet.context == Context::kKeepalive || packet.context == Context::kResource ||
         packet.context == Context::kResourceRequest || packet.context == Context::kResourceProof ||
         packet.context == Context::kCacheRequest || packet.context == Context::kChannel;
}

bool is_for_endpoint(const Packet& packet, std::uint8_t hops, const Address* own_transport_id) {
  if (packet.kind == PacketKind::kAnnounce) return true;
  if (packet.transport_id &&
      (own_transport_id == nullptr || *packet.transport_id != *own_transport_id))
    return false;
  const bool near_only = packet.destination_kind == DestinationKind::kPlain ||
                         packet.destination_kind == DestinationKind::kGroup;
  return !near_only || hops <= 1;
}

}  // namespace postrider::reticulum
