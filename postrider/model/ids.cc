#include "postrider/model/ids.h"

#include "postrider/base/check.h"
#include "postrider/base/hash.h"

namespace postrider {

DestinationId destination_id(std::string_view placement, std::string_view name,
                             std::uint64_t probe) {
  POSTRIDER_CHECK(probe < kProbes);
  const std::uint64_t shard = hash64(placement, 1) % kShards;
  const std::uint64_t number = ((hash64(name, 2) & 0xFFFFFF) << 8) | probe;
  return DestinationId((shard << 32) | number);
}

std::string to_string(MessageId id) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text(32, '0');
  for (std::size_t i = 0; i < 16; ++i) {
    text[15 - i] = kDigits[(id.high >> (4 * i)) & 15];
    text[31 - i] = kDigits[(id.low >> (4 * i)) & 15];
  }
  return text;
}

std::optional<MessageId> parse_message_id(std::string_view text) {
  if (text.size() != 32) return std::nullopt;
  MessageId id;
  for (std::size_t i = 0; i < 32; ++i) {
    const char c = text[i];
    std::uint64_t digit = 0;
    if (c >= '0' && c <= '9') {
      digit = static_cast<std::uint64_t>(c - '0');
    } else if (c >= 'a' && c <= 'f') {
      digit = static_cast<std::uint64_t>(c - 'a') + 10;
    } else {
      return std::nullopt;
    }
    std::uint64_t& half = i < 16 ? id.high : id.low;
    half = (half << 4) | digit;
  }
  return id;
}

}  // namespace postrider
