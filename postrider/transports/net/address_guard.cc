#include "postrider/transports/net/address_guard.h"

#include <algorithm>
#include <arpa/inet.h>
#include <charconv>
#include <optional>

namespace postrider {
namespace {

constexpr std::size_t kNameBytesMax = 253;  // RFC 1035 §2.3.4, without the last dot
constexpr std::uint8_t kV4Offset = 96;

constexpr IpRange v4_range(std::uint32_t first, std::uint8_t bits) {
  return {IpAddress::v4(first), static_cast<std::uint8_t>(kV4Offset + bits)};
}
constexpr IpRange v6_range(std::uint16_t first, std::uint16_t second, std::uint8_t bits) {
  return {
      IpAddress::v6({static_cast<std::uint8_t>(first >> 8), static_cast<std::uint8_t>(first),
                     static_cast<std::uint8_t>(second >> 8), static_cast<std::uint8_t>(second)}),
      bits};
}

// The special-purpose registry (RFC 6890 and its successors): everything that is not a public host.
constexpr auto kNotPublicV4 = std::to_array<IpRange>({
    v4_range(0x00000000, 8),   // 0.0.0.0/8         this network; Linux takes it for loopback
    v4_range(0x0A000000, 8),   // 10.0.0.0/8        private
    v4_range(0x64400000, 10),  // 100.64.0.0/10     carrier-grade NAT
    v4_range(0x7F000000, 8),   // 127.0.0.0/8       loopback
    v4_range(0xA9FE0000, 16),  // 169.254.0.0/16    link-local, metadata services
    v4_range(0xAC100000, 12),  // 172.16.0.0/12     private
    v4_range(0xC0000000, 24),  // 192.0.0.0/24      protocol assignments
    v4_range(0xC0000200, 24),  // 192.0.2.0/24      documentation
    v4_range(0xC0586300, 24),  // 192.88.99.0/24    6to4 relays
    v4_range(0xC0A80000, 16),  // 192.168.0.0/16    private
    v4_range(0xC6120000, 15),  // 198.18.0.0/15     benchmarks
    v4_range(0xC6336400, 24),  // 198.51.100.0/24   documentation
    v4_range(0xCB007100, 24),  // 203.0.113.0/24    documentation
    v4_range(0xE0000000, 4),   // 224.0.0.0/4       multicast
    v4_range(0xF0000000, 4),   // 240.0.0.0/4       reserved, broadcast
});
// Only 2000::/3 is given out as global unicast. All else (loopback, unique-local, link-local,
// multicast, the IPv4-compatible and translated forms) is out without being listed.
constexpr IpRange kGlobalV6 = v6_range(0x2000, 0, 3);
constexpr auto kNotPublicV6 = std::to_array<IpRange>({
    v6_range(0x2001, 0x0000, 23),  // protocol assignments, Teredo, benchmarks
    v6_range(0x2001, 0x0db8, 32),  // documentation
    v6_range(0x3fff, 0x0000, 20),  // documentation
});
constexpr IpRange kNat64 = v6_range(0x0064, 0xff9b, 96);
constexpr IpRange kSixToFour = v6_range(0x2002, 0, 16);

// The IPv4 address that the far end of a translation will talk to.
std::optional<IpAddress> embedded_v4(const IpAddress& address) {
  if (kNat64.holds(address)) return IpAddress::v4(address.four_bytes(12));
  if (kSixToFour.holds(address)) return IpAddress::v4(address.four_bytes(2));
  return std::nullopt;
}

template <std::size_t kCount>
bool any_holds(const std::array<IpRange, kCount>& ranges, const IpAddress& address) {
  return std::any_of(ranges.begin(), ranges.end(),
                     [&](const IpRange& range) { return range.holds(address); });
}

bool is_public(const IpAddress& address) {
  if (address.is_v4()) return !any_holds(kNotPublicV4, address);
  if (const auto inner = embedded_v4(address)) return !any_holds(kNotPublicV4, *inner);
  return kGlobalV6.holds(address) && !any_holds(kNotPublicV6, address);
}

std::optional<IpAddress> parse_v6(std::string_view text) {
  IpAddress::Bytes bytes{};
  if (inet_pton(AF_INET6, std::string(text).c_str(), bytes.data()) != 1) return std::nullopt;
  return IpAddress::v6(bytes);
}

std::optional<IpAddress> parse_plain_v4(std::string_view text) {
  in_addr value{};
  if (inet_pton(AF_INET, std::string(text).c_str(), &value) != 1) return std::nullopt;
  return IpAddress::v4(ntohl(value.s_addr));
}

constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }
constexpr bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

// One part of an IPv4 address as inet_aton reads it: 0x is hexadecimal, a leading 0 octal.
std::optional<std::uint64_t> parse_part(std::string_view part) {
  int base = 10;
  if (part.starts_with("0x") || part.starts_with("0X")) {
    base = 16;
    part.remove_prefix(2);
    if (part.empty()) return 0;
  } else if (part.size() > 1 && part.front() == '0') {
    base = 8;
    part.remove_prefix(1);
  }
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), value, base);
  if (error != std::errc() || end != part.data() + part.size()) return std::nullopt;
  return value;
}

bool ends_in_number(std::string_view host) {
  const std::string_view last = host.substr(host.rfind('.') + 1);  // npos + 1 is 0
  if (last.empty()) return false;
  if (std::all_of(last.begin(), last.end(), is_digit)) return true;
  return (last.starts_with("0x") || last.starts_with("0X")) && parse_part(last).has_value();
}

// All parts but the last are one byte each; the last fills what is left.
std::optional<IpAddress> parse_loose_v4(std::string_view host) {
  std::uint64_t value = 0;
  int parts = 0;
  for (bool last = false; !last; ++parts) {
    const std::size_t dot = host.find('.');
    last = dot == std::string_view::npos;
    const auto part = parse_part(host.substr(0, dot));
    if (!part || parts == 4) return std::nullopt;
    const int bytes_left = 4 - parts;
    const std::uint64_t part_max = last ? (std::uint64_t{1} << (8 * bytes_left)) - 1 : 255;
    if (*part > part_max) return std::nullopt;
    value |= last ? *part : *part << (8 * (bytes_left - 1));
    if (!last) host.remove_prefix(dot + 1);
  }
  return IpAddress::v4(static_cast<std::uint32_t>(value));
}

bool is_name(std::string_view host) {
  if (host.empty() || host.size() > kNameBytesMax || host.front() == '.') return false;
  if (host.find("..") != std::string_view::npos) return false;
  return std::all_of(host.begin(), host.end(), [](char c) {
    return is_digit(c) || is_letter(c) || c == '-' || c == '_' || c == '.';
  });
}

}  // namespace

bool IpAddress::is_v4() const {
  return std::equal(bytes_.begin(), bytes_.begin() + 12, IpAddress::v4(0).bytes_.begin());
}

std::uint32_t IpAddress::four_bytes(std::size_t at) const {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < 4; ++i) value = value << 8 | bytes_.at(at + i);
  return value;
}

std::string to_string(const IpAddress& address) {
  char text[INET6_ADDRSTRLEN] = {};
  if (address.is_v4()) {
    const in_addr value{htonl(address.v4_value())};
    inet_ntop(AF_INET, &value, text, sizeof text);
  } else {
    inet_ntop(AF_INET6, address.bytes().data(), text, sizeof text);
  }
  return text;
}

bool IpRange::holds(const IpAddress& address) const {
  const std::size_t whole = bits / 8;
  const auto& a = first.bytes();
  const auto& b = address.bytes();
  if (!std::equal(a.begin(), a.begin() + static_cast<std::ptrdiff_t>(whole), b.begin()))
    return false;
  const unsigned rest = bits % 8;
  return rest == 0 || (a.at(whole) ^ b.at(whole)) >> (8 - rest) == 0;
}

Result<IpRange> parse_ip_range(std::string_view text) {
  const auto wrong = [&](std::string_view why) {
    return fail(ErrorCode::kInvalid, "'" + std::string(text) + "' " + std::string(why));
  };
  const std::size_t slash = text.find('/');
  const std::string_view host = text.substr(0, slash);
  const auto plain_v4 = parse_plain_v4(host);
  const auto address = plain_v4 ? plain_v4 : parse_v6(host);
  if (!address) return wrong("is no address; write 10.0.0.0/8 or fd00::/8");
  unsigned bits = plain_v4 ? 32 : 128;
  if (slash != std::string_view::npos) {
    const std::string_view digits = text.substr(slash + 1);
    unsigned given = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), given);
    if (error != std::errc() || end != digits.data() + digits.size() || given > bits)
      return wrong("has no length of a prefix behind its slash");
    bits = given;
  }
  if (plain_v4) bits += kV4Offset;
  const IpRange range{*address, static_cast<std::uint8_t>(bits)};
  for (unsigned i = bits; i < 128; ++i) {
    if ((address->bytes().at(i / 8) >> (7 - i % 8) & 1) != 0)
      return wrong("has bits set behind its prefix");
  }
  return range;
}

HostReading read_host(std::string_view host) {
  const auto address = [](std::optional<IpAddress> found) {
    return found ? HostReading{HostKind::kAddress, *found} : HostReading{};
  };
  if (host.starts_with('[')) {
    return address(host.ends_with(']') ? parse_v6(host.substr(1, host.size() - 2)) : std::nullopt);
  }
  if (host.ends_with('.')) host.remove_suffix(1);
  if (ends_in_number(host)) return address(parse_loose_v4(host));
  return {is_name(host) ? HostKind::kName : HostKind::kNonsense, {}};
}

Result<AddressGuard> AddressGuard::make(const std::vector<std::string>& allow) {
  AddressGuard guard;
  for (const std::string& text : allow) {
    POSTRIDER_TRY(range, parse_ip_range(text));
    guard.allow_.push_back(range);
  }
  return guard;
}

bool AddressGuard::allowed(const IpAddress& address) const {
  return std::any_of(allow_.begin(), allow_.end(),
                     [&](const IpRange& range) { return range.holds(address); });
}

bool AddressGuard::permits(const IpAddress& address) const {
  if (is_public(address) || allowed(address)) return true;
  const auto inner = embedded_v4(address);
  return inner && allowed(*inner);
}

}  // namespace postrider
