// The target of a request, a URL, taken apart. Pure; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace postrider {

// "https://example.org:8443" of "https://example.org:8443/hook?a=1". Requests with equal origins
// can share connections. Empty when it is no URL of ours.
std::string_view origin_of(std::string_view url);

// What goes into the request line behind the origin. `path` is written behind a "/" when
// `needs_slash`. Nothing when a byte of it could break the request line.
struct RequestPath {
  std::string_view path;
  bool needs_slash = false;
};
std::optional<RequestPath> path_of(std::string_view url, std::string_view origin);

struct OriginParts {
  bool tls = false;
  std::string_view authority;  // host and port as written, for the host line
  std::string_view host;       // IPv6 in its brackets
  std::uint16_t port = 0;
};
// Nothing when it has no host, user information, or a bad port.
std::optional<OriginParts> parse_origin(std::string_view origin);

}  // namespace postrider
