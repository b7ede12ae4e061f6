// The addresses of lines, taken apart. What they say may come from outside. Pure; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "postrider/base/result.h"
#include "postrider/transports/net/address_guard.h"

namespace postrider {

struct LineAddress {
  enum class Kind : std::uint8_t { kTcp, kUdp, kUnix, kSocks5 };
  Kind kind = Kind::kTcp;
  bool tls = false;        // "tls://"
  HostReading host;        // of all but kUnix
  std::string name;        // of a host that is a name, in lower case
  std::uint16_t port = 0;  // a listener may have 0: any
  std::string path;        // kUnix: of the file, or the abstract name without its "@"
  bool abstract = false;   // kUnix
  std::string behind;      // kSocks5: "abc.onion:443"
};

inline constexpr std::size_t kLineAddressBytesMax = 512;
inline constexpr std::size_t kUnixPathBytesMax = 107;  // sockaddr_un, with the byte at its end

// "tcp://b.example:4242", "tls://…", "udp://[::]:4242", "unix:/run/x", "unix:@rns/default",
// "socks5://127.0.0.1:9050/abc.onion:443". The error says what is wrong.
Result<LineAddress> parse_line_address(std::string_view text);

struct LineEndpoint {
  IpAddress address;
  std::uint16_t port = 0;
  friend bool operator==(const LineEndpoint&, const LineEndpoint&) = default;
};
// "192.0.2.1:4242", "[2001:db8::1]:4242": what a datagram came from or goes to. Never a name.
std::optional<LineEndpoint> parse_line_endpoint(std::string_view text);
std::string to_string(const LineEndpoint& endpoint);

}  // namespace postrider
