#include "postrider/transports/wire/socket_place.h"

#include <algorithm>
#include <cstring>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/un.h>
#include <system_error>

namespace postrider {

SocketPlace place_of(const LineEndpoint& endpoint) {
  SocketPlace out;
  if (endpoint.address.is_v4()) {
    sockaddr_in v4{};
    v4.sin_family = AF_INET;
    v4.sin_port = htons(endpoint.port);
    v4.sin_addr.s_addr = htonl(endpoint.address.v4_value());
    std::memcpy(&out.storage, &v4, sizeof v4);
    out.size = sizeof v4;
    return out;
  }
  sockaddr_in6 v6{};
  v6.sin6_family = AF_INET6;
  v6.sin6_port = htons(endpoint.port);
  std::memcpy(&v6.sin6_addr, endpoint.address.bytes().data(), endpoint.address.bytes().size());
  std::memcpy(&out.storage, &v6, sizeof v6);
  out.size = sizeof v6;
  return out;
}

SocketPlace place_of_unix(std::string_view path, bool abstract) {
  sockaddr_un place{};
  place.sun_family = AF_UNIX;
  const std::size_t at = abstract ? 1 : 0;  // an abstract name begins with a zero byte
  const std::size_t size = std::min(path.size(), sizeof place.sun_path - 1 - at);
  std::memcpy(place.sun_path + at, path.data(), size);
  SocketPlace out;
  std::memcpy(&out.storage, &place, sizeof place);
  out.size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + size + 1);
  return out;
}

std::string text_of(const SocketPlace& place) {
  if (place.family() == AF_INET) {
    sockaddr_in v4{};
    std::memcpy(&v4, &place.storage, sizeof v4);
    return to_string(LineEndpoint{IpAddress::v4(ntohl(v4.sin_addr.s_addr)), ntohs(v4.sin_port)});
  }
  if (place.family() == AF_INET6) {
    sockaddr_in6 v6{};
    std::memcpy(&v6, &place.storage, sizeof v6);
    IpAddress::Bytes bytes{};
    std::memcpy(bytes.data(), &v6.sin6_addr, bytes.size());
    return to_string(LineEndpoint{IpAddress::v6(bytes), ntohs(v6.sin6_port)});
  }
  return "unix";
}

int new_socket(int family, int type) {
  const int descriptor = ::socket(family, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (descriptor < 0 || type != SOCK_STREAM || family == AF_UNIX) return descriptor;
  const int on = 1;
  ::setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  ::setsockopt(descriptor, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
  return descriptor;
}

std::string own_place(int descriptor) {
  SocketPlace place;
  if (::getsockname(descriptor, place.raw(), &place.size) != 0) return {};
  return text_of(place);
}

std::string error_text(int error) { return std::generic_category().message(error); }

}  // namespace postrider
