#include "postrider/transports/wire/line_address.h"

#include <algorithm>
#include <charconv>

#include "postrider/protocols/web/http_text.h"

namespace postrider {
namespace {

tl::unexpected<Error> wrong(std::string_view text, std::string_view why) {
  return fail(ErrorCode::kInvalid, "the address '" + std::string(text) + "' " + std::string(why));
}

struct HostAndPort {
  std::string_view host;  // IPv6 in its brackets
  std::uint16_t port = 0;
};

std::optional<HostAndPort> split(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos || colon == 0) return std::nullopt;
  const std::string_view digits = text.substr(colon + 1);
  HostAndPort out{.host = text.substr(0, colon)};
  const char* const end = digits.data() + digits.size();
  const auto [behind, error] = std::from_chars(digits.data(), end, out.port);
  if (digits.empty() || error != std::errc() || behind != end) return std::nullopt;
  return out;
}

bool printable(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c < '\x7f'; });
}

Result<LineAddress> parse_unix(std::string_view text, std::string_view path) {
  LineAddress out{.kind = LineAddress::Kind::kUnix};
  out.abstract = path.starts_with('@');
  if (out.abstract) path.remove_prefix(1);
  if (!out.abstract && !path.starts_with('/')) return wrong(text, "needs a whole path");
  if (path.empty() || path.size() > kUnixPathBytesMax) return wrong(text, "has no fitting path");
  out.path = path;
  return out;
}

}  // namespace

Result<LineAddress> parse_line_address(std::string_view text) {
  if (text.size() > kLineAddressBytesMax || !printable(text))
    return fail(ErrorCode::kInvalid, "an address has at most 512 bytes, all of them printable");
  if (text.starts_with("unix:")) return parse_unix(text, text.substr(5));
  LineAddress out;
  std::string_view rest = text;
  const auto begins = [&rest](std::string_view scheme) {
    if (!rest.starts_with(scheme)) return false;
    rest.remove_prefix(scheme.size());
    return true;
  };
  if (begins("tls://")) {
    out.tls = true;
  } else if (begins("udp://")) {
    out.kind = LineAddress::Kind::kUdp;
  } else if (begins("socks5://")) {
    out.kind = LineAddress::Kind::kSocks5;
    const std::size_t slash = rest.find('/');
    if (slash == std::string_view::npos || slash + 1 == rest.size())
      return wrong(text, "does not say what is behind the proxy");
    out.behind = rest.substr(slash + 1);
    rest = rest.substr(0, slash);
  } else if (!begins("tcp://")) {
    return wrong(text, "begins with none of tcp://, tls://, udp://, unix:, socks5://");
  }
  const auto parts = split(rest);
  if (!parts) return wrong(text, "has no host and port");
  out.host = read_host(parts->host);
  out.port = parts->port;
  if (out.host.kind == HostKind::kNonsense) return wrong(text, "has no host that can be read");
  if (out.host.kind == HostKind::kName) out.name = to_lower(parts->host);
  return out;
}

std::optional<LineEndpoint> parse_line_endpoint(std::string_view text) {
  if (text.size() > kLineAddressBytesMax) return std::nullopt;
  const auto parts = split(text);
  if (!parts) return std::nullopt;
  const HostReading host = read_host(parts->host);
  if (host.kind != HostKind::kAddress) return std::nullopt;
  return LineEndpoint{host.address, parts->port};
}

std::string to_string(const LineEndpoint& endpoint) {
  const std::string port = ":" + std::to_string(endpoint.port);
  if (endpoint.address.is_v4()) return to_string(endpoint.address) + port;
  return "[" + to_string(endpoint.address) + "]" + port;
}

}  // namespace postrider
