#include "postrider/model/id_codec.h"

#include <array>
#include <bit>

namespace postrider {
namespace {

// Big-endian, as ids are written.
BlockCipher::Block block_of(std::uint64_t high, std::uint64_t low) {
  const std::array<std::uint64_t, 2> halves{__builtin_bswap64(high), __builtin_bswap64(low)};
  return std::bit_cast<BlockCipher::Block>(halves);
}

template <class Id>
Id id_of(const BlockCipher::Block& block) {
  const auto halves = std::bit_cast<std::array<std::uint64_t, 2>>(block);
  Id id;
  id.high = __builtin_bswap64(halves[0]);
  id.low = __builtin_bswap64(halves[1]);
  return id;
}

}  // namespace

PublicId IdCodec::outside(MessageId id) const {
  return id.is_set() ? id_of<PublicId>(cipher_.encipher(block_of(id.high, id.low))) : PublicId();
}

MessageId IdCodec::inside(PublicId id) const {
  return id.is_set() ? id_of<MessageId>(cipher_.decipher(block_of(id.high, id.low))) : MessageId();
}

std::optional<MessageId> IdCodec::parse(std::string_view text) const {
  const auto id = parse_public_id(text);
  return id ? std::optional(inside(*id)) : std::nullopt;
}

}  // namespace postrider
