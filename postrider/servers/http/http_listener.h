// HttpListener: one bound address, and the clients that it accepts. On the loop's thread.
#pragma once

#include <memory>
#include <string>
#include <sys/types.h>

#include "postrider/servers/http/http_server.h"
#include "postrider/servers/http/http_socket.h"

namespace postrider {

struct HttpPeer {
  char text[46] = "";  // an address without its port, or "unix"; ends with 0
  bool local = false;  // came through a Unix socket
};

// One accept(): a descriptor, or -1 with the error number.
struct HttpAccepted {
  int fd = -1;
  int error = 0;
};

class HttpListener {
 public:
  static Result<std::unique_ptr<HttpListener>> open(const HttpListen& where);
  ~HttpListener();  // removes the file of a Unix socket, if it still is ours
  HttpListener(const HttpListener&) = delete;
  HttpListener& operator=(const HttpListener&) = delete;

  HttpAccepted accept(HttpPeer& peer) const;
  int fd() const { return fd_; }
  const std::string& address() const { return address_; }  // as really bound
  const TlsIdentity* tls() const { return tls_.get(); }

 private:
  HttpListener() = default;
  Result<void> open_tcp(const std::string& address);
  Result<void> open_unix(const std::string& path);

  int fd_ = -1;
  bool local_ = false;
  std::string address_;
  std::string path_;  // of a Unix socket
  dev_t device_ = 0;  // which file it is, lest we remove somebody else's
  ino_t inode_ = 0;
  std::unique_ptr<TlsIdentity> tls_;
};

}  // namespace postrider
