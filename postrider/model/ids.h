// The names of things. A MessageId is 128 bits and is the message's address: reading, explaining
// and cancelling by it are point reads, and no index by id exists. It has no text form here:
// outside it is shown as a PublicId (model/id_codec.h).
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "postrider/base/ids.h"

namespace postrider {

using Ticket = Id<struct TicketTag>;        // a caller that waits for an answer
using AttemptId = Id<struct AttemptIdTag>;  // one attempt of one incarnation of the engine
using Epoch = Id<struct EpochTag>;          // one incarnation of a shard's owner

// epoch(24) ‖ counter(40): the store hands out each epoch once, so no sequence is ever used twice,
// whatever was lost.
using Sequence = Id<struct SequenceTag>;
inline constexpr int kCounterBits = 40;
constexpr Sequence first_sequence(Epoch epoch) { return Sequence(epoch.value() << kCounterBits); }

// shard(12) ‖ name hash(24) ‖ probe(8). The number follows from the name; the probe tells apart
// names whose hashes are equal. 4,096 virtual shards for ever: they are part of every id that was
// given out.
using DestinationId = Id<struct DestinationIdTag>;
inline constexpr std::uint64_t kShards = 4096;
inline constexpr std::uint64_t kProbes = 256;
DestinationId destination_id(std::string_view placement, std::string_view name,
                             std::uint64_t probe);
// What serialises events: all probes of one hash share it, so it can be told from the name alone.
constexpr std::uint64_t order_key(DestinationId id) { return id.value() >> 8; }
std::string to_string(DestinationId id);  // 11 hexadecimal digits

inline constexpr std::uint8_t kLanes = 16;

// shard(12) ‖ destination(32) ‖ lane(4) ‖ inverted priority(16) ‖ sequence(64): ordered as the lane
// is served.
struct MessageId {
  std::uint64_t high = 0;
  std::uint64_t low = 0;

  static constexpr MessageId make(DestinationId destination, std::uint8_t lane,
                                  std::uint16_t priority, Sequence sequence) {
    const auto inverted = static_cast<std::uint16_t>(~priority);
    return {(destination.value() << 20) | (static_cast<std::uint64_t>(lane & 15) << 16) | inverted,
            sequence.value()};
  }
  constexpr DestinationId destination() const { return DestinationId(high >> 20); }
  constexpr std::uint8_t lane() const { return static_cast<std::uint8_t>((high >> 16) & 15); }
  constexpr std::uint16_t priority() const { return static_cast<std::uint16_t>(~high); }
  constexpr Sequence sequence() const { return Sequence(low); }
  constexpr bool is_set() const { return high != 0 || low != 0; }

  friend constexpr auto operator<=>(const MessageId&, const MessageId&) = default;
};

// A message id as it is known outside: the address, enciphered with the key of its store. It
// has no parts, and its order means nothing.
struct PublicId {
  std::uint64_t high = 0;
  std::uint64_t low = 0;

  constexpr bool is_set() const { return high != 0 || low != 0; }
  friend constexpr auto operator<=>(const PublicId&, const PublicId&) = default;
};
std::string to_string(PublicId id);  // 32 hexadecimal digits
std::optional<PublicId> parse_public_id(std::string_view text);

// Drawn when a store is made, and kept in its meta record. All zero: none was drawn.
using IdKey = std::array<std::uint8_t, 16>;

}  // namespace postrider

template <>
struct std::hash<postrider::MessageId> {
  std::size_t operator()(const postrider::MessageId& id) const noexcept {
    return static_cast<std::size_t>((id.high ^ (id.low * 0x9E3779B97F4A7C15ULL)) *
                                    0xD6E8FEB86659FD93ULL);
  }
};

template <>
struct std::hash<postrider::PublicId> {
  std::size_t operator()(const postrider::PublicId& id) const noexcept {
    return static_cast<std::size_t>(id.high ^ id.low);  // they are as good as drawn
  }
};
