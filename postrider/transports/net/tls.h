// TLS, mostly for a client, by OpenSSL and without I/O: TlsStream turns plain bytes into encrypted
// ones and back, a connection moves the encrypted ones. Used on the loop's thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "postrider/base/result.h"

// NOLINTBEGIN(readability-identifier-naming): OpenSSL's names
using SSL = struct ssl_st;
using SSL_CTX = struct ssl_ctx_st;
using SSL_SESSION = struct ssl_session_st;
using BIO = struct bio_st;
// NOLINTEND(readability-identifier-naming)

namespace postrider {

struct TlsFree {
  void operator()(SSL* ssl) const;
  void operator()(SSL_SESSION* session) const;
};

// Shared by all connections that trust the same authorities.
using TlsContext = std::shared_ptr<SSL_CTX>;

// Trusts the certificates of a file, or the system's when `file` is empty.
Result<TlsContext> tls_context_of_file(const std::string& file);
// Trusts these certificates and no others, also when they are not authorities: whoever names the
// very certificate of a destination means that one.
Result<TlsContext> tls_context_of_pem(std::string_view pem);

// For a library that makes its own streams of the context: each of them must be with this host and
// names it. Not for a context that others share.
Result<void> bind_tls_context(const TlsContext& context, const std::string& host, bool is_address);

// The last session of one destination, to shorten the next handshake. Shared, because a stream may
// learn of a session after its destination was forgotten.
struct TlsMemory {
  std::unique_ptr<SSL_SESSION, TlsFree> session;
};

enum class TlsStep : std::uint8_t {
  kDone,    // something came of it
  kMore,    // needs bytes of the peer
  kClosed,  // the peer has said good-bye
  kFailed,
};

// What is to be spoken inside, agreed upon in the handshake (ALPN).
enum class TlsProtocol : std::uint8_t { kHttp1, kHttp2, kNotSaid };

class TlsStream {
 public:
  // `host` is a name or an address; the certificate must be for it.
  TlsStream(const TlsContext& context, const std::string& host, bool is_address,
            std::shared_ptr<TlsMemory> memory, TlsProtocol protocol = TlsProtocol::kHttp1);
  // Of either side, as it was made ready: what it verifies, whom it calls, who it is.
  TlsStream(const TlsContext& context, std::unique_ptr<SSL, TlsFree> ready);
  TlsStream(const TlsStream&) = delete;
  TlsStream& operator=(const TlsStream&) = delete;

  void feed(std::string_view encrypted);
  // kDone: encrypted, and the peer is who it should be. HTTP/2 is spoken only with a peer that has
  // chosen it (RFC 9113 §3.2), HTTP/1.1 also with one that says nothing.
  TlsStep handshake();
  TlsStep read(char* into, std::size_t room, std::size_t& got);
  bool write(std::string_view plain);  // all of it, or the stream is broken
  void say_goodbye();
  std::string_view unsent();  // encrypted bytes for the peer
  void sent(std::size_t bytes);
  bool resumed() const;
  // SHA-256 of the public key that the far side has shown (its SubjectPublicKeyInfo); empty: none.
  std::string peer_key() const;

 private:
  friend int keep_tls_session(SSL* ssl, SSL_SESSION* session);
  TlsStep step_of(int returned) const;
  bool agreed() const;

  TlsContext context_;
  std::unique_ptr<SSL, TlsFree> ssl_;
  BIO* in_ = nullptr;  // both belong to ssl_
  BIO* out_ = nullptr;
  std::shared_ptr<TlsMemory> memory_;
  TlsProtocol protocol_;
};

}  // namespace postrider
