// ULID: how 128 bits are written on the routes of the device profile, 26 characters of Crockford's
// base 32. Ours are message ids, as they are shown outside, and ids of events; the text sorts as
// the bits do, which of message ids says nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace postrider::device {

struct Ulid {
  std::uint64_t high = 0;
  std::uint64_t low = 0;
  friend auto operator<=>(const Ulid&, const Ulid&) = default;
};
inline constexpr std::size_t kUlidDigits = 26;

std::string to_ulid(std::uint64_t high, std::uint64_t low);  // capital letters
// In either case; the letters I, L, O and U are none of its digits, and the first is at most 7.
std::optional<Ulid> parse_ulid(std::string_view text);

}  // namespace postrider::device
