#include "postrider/model/id_codec.h"

namespace postrider {
namespace {

BlockCipher::Block block_of(std::uint64_t high, std::uint64_t low) {
  BlockCipher::Block block{};
  for (std::size_t i = 0; i < 8; ++i) {
    block[i] = static_cast<std::uint8_t>(high >> (56 - 8 * i));
    block[8 + i] = static_cast<std::uint8_t>(low >> (56 - 8 * i));
  }
  return block;
}

template <class Id>
Id id_of(const BlockCipher::Block& block) {
  Id id;
  for (std::size_t i = 0; i < 8; ++i) {
    id.high = id.high << 8 | block[i];
    id.low = id.low << 8 | block[8 + i];
  }
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
