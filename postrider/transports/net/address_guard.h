// AddressGuard: which network addresses we may connect to. A destination's URL is written by
// somebody else, and names resolve to what their owner likes; without the guard a webhook could
// reach the machine's own services or a cloud's metadata service. Pure; any thread.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "postrider/base/result.h"

namespace postrider {

// An IPv4 address is kept as ::ffff:a.b.c.d. That is how the kernel reads the mapped form too, so
// the two spellings of one place cannot be judged differently.
class IpAddress {
 public:
  using Bytes = std::array<std::uint8_t, 16>;

  constexpr IpAddress() = default;
  static constexpr IpAddress v4(std::uint32_t value) {
    return IpAddress({0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF,
                      static_cast<std::uint8_t>(value >> 24),
                      static_cast<std::uint8_t>(value >> 16), static_cast<std::uint8_t>(value >> 8),
                      static_cast<std::uint8_t>(value)});
  }
  static constexpr IpAddress v6(const Bytes& bytes) { return IpAddress(bytes); }

  bool is_v4() const;
  std::uint32_t v4_value() const { return four_bytes(12); }
  std::uint32_t four_bytes(std::size_t at) const;  // in host order
  constexpr const Bytes& bytes() const { return bytes_; }
  friend auto operator<=>(const IpAddress&, const IpAddress&) = default;

 private:
  constexpr explicit IpAddress(const Bytes& bytes) : bytes_(bytes) {}
  Bytes bytes_{};
};
std::string to_string(const IpAddress& address);

struct IpRange {
  IpAddress first;
  std::uint8_t bits = 0;  // of all 128; an IPv4 range has at least 96
  bool holds(const IpAddress& address) const;
};
// "10.0.0.0/8", "fd00::/8", or one address. An Error when bits behind the prefix are set: that is
// mostly a slip, and a guard should not guess.
Result<IpRange> parse_ip_range(std::string_view text);

enum class HostKind : std::uint8_t { kName, kAddress, kNonsense };
struct HostReading {
  HostKind kind = HostKind::kNonsense;
  IpAddress address;
};
// Reads the host of a URL, IPv6 in its brackets. Whatever ends in a number is an IPv4 address in
// one of its many spellings (0177.1, 0x7f000001, 2130706433) or nonsense, and never a name to ask
// for.
HostReading read_host(std::string_view host);

class AddressGuard {
 public:
  // An Error names the entry that is wrong.
  static Result<AddressGuard> make(const std::vector<std::string>& allow);
  bool permits(const IpAddress& address) const;

 private:
  bool allowed(const IpAddress& address) const;
  std::vector<IpRange> allow_;
};

}  // namespace postrider
