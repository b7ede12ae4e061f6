// SocketPlace: an address as the system's calls want it, and the calls that all kinds of lines
// share. None of them blocks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <sys/socket.h>

#include "postrider/transports/wire/line_address.h"

namespace postrider {

struct SocketPlace {
  sockaddr_storage storage{};
  socklen_t size = sizeof(sockaddr_storage);

  int family() const { return storage.ss_family; }
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): the interface of the system
  sockaddr* raw() { return reinterpret_cast<sockaddr*>(&storage); }
  const sockaddr* raw() const { return reinterpret_cast<const sockaddr*>(&storage); }
};

SocketPlace place_of(const LineEndpoint& endpoint);
SocketPlace place_of_unix(std::string_view path, bool abstract);
std::string text_of(const SocketPlace& place);  // "192.0.2.1:4242", "unix"

// A socket without an owner yet, or -1 with errno.
int new_socket(int family, int type);
std::string own_place(int descriptor);
std::string error_text(int error);  // "Connection refused"

}  // namespace postrider
