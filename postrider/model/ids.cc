#include "postrider/model/ids.h"

#include <array>
#include <cstring>

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

namespace {

// Two digits for each byte: an id is written with every attempt.
constexpr auto kPairs = [] {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::array<char, 512> pairs{};
  for (std::size_t i = 0; i < 256; ++i) {
    pairs[2 * i] = kDigits[i >> 4];
    pairs[2 * i + 1] = kDigits[i & 15];
  }
  return pairs;
}();

}  // namespace

std::string to_string(MessageId id) {
  std::string text(32, '0');
  for (std::size_t i = 0; i < 8; ++i) {
    const std::size_t shift = 56 - 8 * i;
    std::memcpy(&text[2 * i], &kPairs[2 * ((id.high >> shift) & 255)], 2);
    std::memcpy(&text[16 + 2 * i], &kPairs[2 * ((id.low >> shift) & 255)], 2);
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
