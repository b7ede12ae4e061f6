// HttpSocket: the bytes of one accepted connection, plain or through TLS. Never blocks, never
// raises SIGPIPE. TlsIdentity: certificate and key of a listener, shared by its connections.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "postrider/base/result.h"

struct ssl_ctx_st;
struct ssl_st;

namespace postrider {

class TlsIdentity {
 public:
  // TLS 1.2 and later. An Error names the file and what is wrong with it.
  static Result<std::unique_ptr<TlsIdentity>> load(const std::string& certificate_file,
                                                   const std::string& key_file);
  ~TlsIdentity();
  TlsIdentity(const TlsIdentity&) = delete;
  TlsIdentity& operator=(const TlsIdentity&) = delete;

  ssl_ctx_st* context() const { return context_; }

 private:
  explicit TlsIdentity(ssl_ctx_st* context) : context_(context) {}
  ssl_ctx_st* context_;
};

enum class IoState : std::uint8_t { kDone, kWouldBlock, kClosed, kFailed };

struct IoCount {
  IoState state = IoState::kDone;
  std::size_t bytes = 0;  // with kDone
};

class HttpSocket {
 public:
  explicit HttpSocket(int fd) : fd_(fd) {}
  ~HttpSocket();
  HttpSocket(const HttpSocket&) = delete;
  HttpSocket& operator=(const HttpSocket&) = delete;

  bool start_tls(const TlsIdentity& identity);
  IoCount read(std::span<char> into);
  IoCount write(std::string_view bytes);
  void end_writing();  // the client sees the end; we may go on reading
  void close();

  int fd() const { return fd_; }
  bool is_tls() const { return tls_ != nullptr; }
  bool in_handshake() const;
  // A read that would block because TLS must write first.
  bool wants_to_write() const { return wants_to_write_; }

 private:
  IoCount tls_count(int code);

  int fd_;
  bool wants_to_write_ = false;
  ssl_st* tls_ = nullptr;
};

}  // namespace postrider
