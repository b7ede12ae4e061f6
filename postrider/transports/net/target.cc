#include "postrider/transports/net/target.h"

#include <algorithm>
#include <charconv>

namespace postrider {
namespace {

constexpr std::string_view kHttp = "http://";
constexpr std::string_view kHttps = "https://";

std::size_t scheme_size(std::string_view url) {
  if (url.starts_with(kHttp)) return kHttp.size();
  return url.starts_with(kHttps) ? kHttps.size() : 0;
}

bool is_plain(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c > 0x20 && c < 0x7F; });
}

}  // namespace

std::string_view origin_of(std::string_view url) {
  const std::size_t scheme = scheme_size(url);
  if (scheme == 0) return {};
  return url.substr(0, url.find_first_of("/?#", scheme));
}

std::optional<RequestPath> path_of(std::string_view url, std::string_view origin) {
  std::string_view path = url.substr(origin.size());
  path = path.substr(0, path.find('#'));  // a fragment is never sent
  if (!is_plain(path)) return std::nullopt;
  return RequestPath{path, !path.starts_with('/')};
}

std::optional<OriginParts> parse_origin(std::string_view origin) {
  OriginParts out{.tls = origin.starts_with(kHttps), .authority = origin.substr(scheme_size(origin))};
  if (!is_plain(out.authority) || out.authority.find('@') != std::string_view::npos)
    return std::nullopt;
  const std::size_t bracket = out.authority.rfind(']');
  const std::size_t colon =
      out.authority.find(':', bracket == std::string_view::npos ? 0 : bracket);
  out.host = out.authority.substr(0, colon);
  out.port = out.tls ? 443 : 80;
  if (out.host.empty()) return std::nullopt;
  if (colon == std::string_view::npos) return out;
  const std::string_view port = out.authority.substr(colon + 1);
  const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), out.port);
  if (error != std::errc() || end != port.data() + port.size() || out.port == 0)
    return std::nullopt;
  return out;
}

}  // namespace postrider
