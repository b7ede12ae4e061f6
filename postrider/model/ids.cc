#include "postrider/model/ids.h"

#include <array>
#include <cstring>

#include "postrider/base/check.h"
#include "postrider/base/hash.h"
#include "postrider/model/id_address.h"

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

std::string digits_of(std::uint64_t high, std::uint64_t low) {
  std::string text(32, '0');
  for (std::size_t i = 0; i < 8; ++i) {
    const std::size_t shift = 56 - 8 * i;
    std::memcpy(&text[2 * i], &kPairs[2 * ((high >> shift) & 255)], 2);
    std::memcpy(&text[16 + 2 * i], &kPairs[2 * ((low >> shift) & 255)], 2);
  }
  return text;
}

template <class Parsed>
std::optional<Parsed> parse_digits(std::string_view text) {
  if (text.size() != 32) return std::nullopt;
  Parsed id;
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

}  // namespace

std::string to_string(DestinationId id) { return digits_of(id.value() << 20, 0).substr(0, 11); }

std::string to_string(PublicId id) { return digits_of(id.high, id.low); }
std::optional<PublicId> parse_public_id(std::string_view text) {
  return parse_digits<PublicId>(text);
}

std::string to_string(MessageId id) { return digits_of(id.high, id.low); }
std::optional<MessageId> parse_message_id(std::string_view text) {
  return parse_digits<MessageId>(text);
}

}  // namespace postrider
