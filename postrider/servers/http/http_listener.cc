#include "postrider/servers/http/http_listener.h"

#include <arpa/inet.h>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string_view>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <system_error>
#include <unistd.h>

namespace postrider {
namespace {

constexpr std::string_view kUnixPrefix = "unix:";

tl::unexpected<Error> fail_errno(const std::string& what) {
  const ErrorCode code = errno == EADDRINUSE ? ErrorCode::kConflict : ErrorCode::kUnavailable;
  return fail(code, what + ": " + std::generic_category().message(errno));
}

union Address {
  sockaddr any;
  sockaddr_in v4;
  sockaddr_in6 v6;
  sockaddr_storage room;

  socklen_t size() const { return any.sa_family == AF_INET ? sizeof(v4) : sizeof(v6); }
};

bool parse_tcp(std::string_view text, Address& address) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos || colon == 0) return false;
  std::string host(text.substr(0, colon));
  const std::string_view port_text = text.substr(colon + 1);
  std::uint16_t port = 0;
  const char* end = port_text.data() + port_text.size();
  const auto [stop, error] = std::from_chars(port_text.data(), end, port);
  if (error != std::errc() || stop != end) return false;

  std::memset(&address, 0, sizeof(address));
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') {
    host = host.substr(1, host.size() - 2);
    address.v6.sin6_family = AF_INET6;
    address.v6.sin6_port = htons(port);
    return ::inet_pton(AF_INET6, host.c_str(), &address.v6.sin6_addr) == 1;
  }
  if (host == "localhost") host = "127.0.0.1";
  address.v4.sin_family = AF_INET;
  address.v4.sin_port = htons(port);
  return ::inet_pton(AF_INET, host.c_str(), &address.v4.sin_addr) == 1;
}

void write_host(const Address& address, char (&text)[46]) {
  if (address.any.sa_family == AF_INET6) {
    ::inet_ntop(AF_INET6, &address.v6.sin6_addr, text, sizeof(text));
  } else {
    ::inet_ntop(AF_INET, &address.v4.sin_addr, text, sizeof(text));
  }
}

std::string to_text(const Address& address) {
  char host[46] = "";
  write_host(address, host);
  if (address.any.sa_family == AF_INET6) {
    return "[" + std::string(host) + "]:" + std::to_string(ntohs(address.v6.sin6_port));
  }
  return std::string(host) + ":" + std::to_string(ntohs(address.v4.sin_port));
}

void set_option(int fd, int level, int option) {
  const int on = 1;
  ::setsockopt(fd, level, option, &on, sizeof(on));
}

enum class UnixPath : std::uint8_t { kFree, kStale, kLive, kOther };

// A daemon that died leaves its socket file behind; nobody answers there.
UnixPath look_at(const sockaddr_un& address) {
  struct stat info {};
  if (::lstat(address.sun_path, &info) != 0) return UnixPath::kFree;
  if (!S_ISSOCK(info.st_mode)) return UnixPath::kOther;
  const int probe = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (probe < 0) return UnixPath::kLive;
  const int code = ::connect(probe, reinterpret_cast<const sockaddr*>(&address), sizeof(address));
  const bool refused = code != 0 && errno == ECONNREFUSED;
  ::close(probe);
  return refused ? UnixPath::kStale : UnixPath::kLive;
}

}  // namespace

Result<std::unique_ptr<HttpListener>> HttpListener::open(const HttpListen& where) {
  std::unique_ptr<HttpListener> listener(new HttpListener);
  if (!where.certificate_file.empty() || !where.key_file.empty()) {
    POSTRIDER_TRY(tls, TlsIdentity::load(where.certificate_file, where.key_file));
    listener->tls_ = std::move(tls);
  }
  const bool local = where.address.starts_with(kUnixPrefix);
  Result<void> opened = local ? listener->open_unix(where.address.substr(kUnixPrefix.size()))
                              : listener->open_tcp(where.address);
  if (!opened) return tl::unexpected<Error>(opened.error());
  if (::listen(listener->fd_, SOMAXCONN) != 0) return fail_errno("listen on " + where.address);
  return listener;
}

HttpListener::~HttpListener() {
  struct stat info {};
  if (!path_.empty() && ::lstat(path_.c_str(), &info) == 0 && info.st_dev == device_ &&
      info.st_ino == inode_) {
    ::unlink(path_.c_str());
  }
  if (fd_ >= 0) ::close(fd_);
}

Result<void> HttpListener::open_tcp(const std::string& text) {
  Address address{};
  if (!parse_tcp(text, address)) {
    return fail(ErrorCode::kInvalid, "'" + text +
                                         "' is not an address to listen on; write 127.0.0.1:8460, "
                                         "[::1]:8460 or unix:/path");
  }
  fd_ = ::socket(address.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd_ < 0) return fail_errno("listen on " + text);
  set_option(fd_, SOL_SOCKET, SO_REUSEADDR);
  if (address.any.sa_family == AF_INET6) set_option(fd_, IPPROTO_IPV6, IPV6_V6ONLY);
  // Accepted sockets inherit both.
  set_option(fd_, IPPROTO_TCP, TCP_NODELAY);
  set_option(fd_, SOL_SOCKET, SO_KEEPALIVE);
  if (::bind(fd_, &address.any, address.size()) != 0) return fail_errno("listen on " + text);
  socklen_t size = sizeof(address);
  if (::getsockname(fd_, &address.any, &size) != 0) return fail_errno("listen on " + text);
  address_ = to_text(address);
  return {};
}

Result<void> HttpListener::open_unix(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof(address.sun_path)) {
    return fail(ErrorCode::kInvalid, "the path of a Unix socket has 1 to " +
                                         std::to_string(sizeof(address.sun_path) - 1) +
                                         " bytes, not " + std::to_string(path.size()));
  }
  std::memcpy(address.sun_path, path.data(), path.size());
  switch (look_at(address)) {
    case UnixPath::kFree: break;
    case UnixPath::kStale: ::unlink(path.c_str()); break;
    case UnixPath::kLive: return fail(ErrorCode::kConflict, "somebody listens on " + path);
    case UnixPath::kOther: return fail(ErrorCode::kConflict, path + " exists and is not a socket");
  }
  fd_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd_ < 0) return fail_errno("listen on " + path);
  // The file takes its mode from the socket (Linux), so that it is never open to others.
  if (::fchmod(fd_, S_IRUSR | S_IWUSR) != 0) return fail_errno("listen on " + path);
  if (::bind(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
    return fail_errno("listen on " + path);
  }
  struct stat info {};
  if (::lstat(path.c_str(), &info) != 0) return fail_errno("listen on " + path);
  device_ = info.st_dev;
  inode_ = info.st_ino;
  path_ = path;
  local_ = true;
  address_ = std::string(kUnixPrefix) + path;
  return {};
}

HttpAccepted HttpListener::accept(HttpPeer& peer) const {
  Address address{};
  socklen_t size = sizeof(address);
  const int fd = ::accept4(fd_, &address.any, &size, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (fd < 0) return {-1, errno};
  peer.local = local_;
  if (local_) {
    std::memcpy(peer.text, "unix", 5);
  } else {
    write_host(address, peer.text);
  }
  return {fd, 0};
}

}  // namespace postrider
