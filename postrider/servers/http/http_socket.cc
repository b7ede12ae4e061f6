#include "postrider/servers/http/http_socket.h"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdint>
#include <fcntl.h>
#include <sys/socket.h>
#include <system_error>
#include <unistd.h>
#include <utility>

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>

namespace postrider {
namespace {

// A BIO over a socket like OpenSSL's own, but without SIGPIPE.
int bio_write(BIO* bio, const char* bytes, int size) {
  BIO_clear_retry_flags(bio);
  const int fd = *static_cast<const int*>(BIO_get_data(bio));
  const ssize_t sent = ::send(fd, bytes, static_cast<std::size_t>(size), MSG_NOSIGNAL);
  if (sent < 0 && (errno == EAGAIN || errno == EINTR)) BIO_set_retry_write(bio);
  return static_cast<int>(sent);
}

int bio_read(BIO* bio, char* into, int size) {
  BIO_clear_retry_flags(bio);
  const int fd = *static_cast<const int*>(BIO_get_data(bio));
  const ssize_t got = ::recv(fd, into, static_cast<std::size_t>(size), 0);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) BIO_set_retry_read(bio);
  return static_cast<int>(got);
}

long bio_control(BIO*, int command, long, void*) { return command == BIO_CTRL_FLUSH ? 1 : 0; }

int bio_create(BIO* bio) {
  BIO_set_init(bio, 1);
  return 1;
}

const BIO_METHOD* bio_method() {
  static const BIO_METHOD* const kMethod = [] {
    BIO_METHOD* method = BIO_meth_new(BIO_TYPE_SOURCE_SINK | BIO_get_new_index(), "postrider");
    BIO_meth_set_write(method, bio_write);
    BIO_meth_set_read(method, bio_read);
    BIO_meth_set_ctrl(method, bio_control);
    BIO_meth_set_create(method, bio_create);
    return method;
  }();
  return kMethod;
}

std::string tls_reason() {
  const unsigned long code = ERR_peek_last_error();
  const char* reason = code == 0 ? nullptr : ERR_reason_error_string(code);
  return reason != nullptr ? reason : "unknown error";
}

// OpenSSL's own word for a missing file is not one that an operator understands.
Result<void> check_readable(std::string_view what, const std::string& file) {
  const int fd = ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) {
    return fail(ErrorCode::kInvalid, std::string(what) + " " + file + " cannot be read: " +
                                         std::generic_category().message(errno));
  }
  ::close(fd);
  return {};
}

int choose_protocol(SSL*, const unsigned char** out, unsigned char* out_size,
                    const unsigned char* offered, unsigned int offered_size, void*) {
  static constexpr unsigned char kOurs[] = "\x08http/1.1";
  unsigned char* chosen = nullptr;
  const int found =
      SSL_select_next_proto(&chosen, out_size, kOurs, sizeof(kOurs) - 1, offered, offered_size);
  if (found != OPENSSL_NPN_NEGOTIATED) return SSL_TLSEXT_ERR_NOACK;
  *out = chosen;
  return SSL_TLSEXT_ERR_OK;
}

void set_options(SSL_CTX* context) {
  SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
  SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION |
                                   SSL_OP_CIPHER_SERVER_PREFERENCE | SSL_OP_IGNORE_UNEXPECTED_EOF);
  // Idle connections give their buffers back; our own buffer may move between two writes.
  SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE |
                                SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);  // tickets are enough
  SSL_CTX_set_alpn_select_cb(context, choose_protocol, nullptr);
  // A key with a pass phrase must fail instead of asking on the terminal.
  SSL_CTX_set_default_passwd_cb(context, [](char*, int, int, void*) { return -1; });
}

}  // namespace

Result<std::unique_ptr<TlsIdentity>> TlsIdentity::load(const std::string& certificate_file,
                                                       const std::string& key_file) {
  if (certificate_file.empty() || key_file.empty()) {
    return fail(ErrorCode::kInvalid, "TLS needs both a certificate file and a key file");
  }
  for (const auto& [what, file] :
       {std::pair("certificate file", &certificate_file), std::pair("key file", &key_file)}) {
    Result<void> readable = check_readable(what, *file);
    if (!readable) return tl::unexpected<Error>(readable.error());
  }
  ERR_clear_error();
  std::unique_ptr<TlsIdentity> identity(new TlsIdentity(SSL_CTX_new(TLS_server_method())));
  if (identity->context_ == nullptr) return fail(ErrorCode::kUnavailable, "TLS: " + tls_reason());
  set_options(identity->context_);
  if (SSL_CTX_use_certificate_chain_file(identity->context_, certificate_file.c_str()) != 1) {
    return fail(ErrorCode::kInvalid, "certificate file " + certificate_file +
                                         " holds no certificate in PEM form: " + tls_reason());
  }
  if (SSL_CTX_use_PrivateKey_file(identity->context_, key_file.c_str(), SSL_FILETYPE_PEM) != 1) {
    const bool other = ERR_GET_REASON(ERR_peek_last_error()) == X509_R_KEY_VALUES_MISMATCH;
    return fail(ErrorCode::kInvalid,
                other
                    ? "key file " + key_file + " does not belong to " + certificate_file
                    : "key file " + key_file + " holds no plain key in PEM form: " + tls_reason());
  }
  return identity;
}

TlsIdentity::~TlsIdentity() { SSL_CTX_free(context_); }

HttpSocket::~HttpSocket() { close(); }

// A TLS client is told that this is the end, lest it takes the answer for a cut one.
void HttpSocket::close() {
  if (tls_ != nullptr && SSL_in_init(tls_) == 0) {
    SSL_shutdown(tls_);
    ERR_clear_error();
  }
  SSL_free(tls_);
  tls_ = nullptr;
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

bool HttpSocket::start_tls(const TlsIdentity& identity) {
  tls_ = SSL_new(identity.context());
  BIO* bio = BIO_new(bio_method());
  if (tls_ == nullptr || bio == nullptr) {
    BIO_free(bio);
    ERR_clear_error();
    return false;
  }
  BIO_set_data(bio, &fd_);
  SSL_set_bio(tls_, bio, bio);
  SSL_set_accept_state(tls_);
  return true;
}

bool HttpSocket::in_handshake() const { return tls_ != nullptr && SSL_in_init(tls_) != 0; }

IoCount HttpSocket::tls_count(int code) {
  if (code > 0) return {IoState::kDone, static_cast<std::size_t>(code)};
  const int error = SSL_get_error(tls_, code);
  ERR_clear_error();
  wants_to_write_ = error == SSL_ERROR_WANT_WRITE;
  if (error == SSL_ERROR_WANT_READ || wants_to_write_) return {IoState::kWouldBlock};
  return {error == SSL_ERROR_ZERO_RETURN ? IoState::kClosed : IoState::kFailed};
}

IoCount HttpSocket::read(std::span<char> into) {
  wants_to_write_ = false;
  if (tls_ != nullptr) {
    const std::size_t size = std::min<std::size_t>(into.size(), INT_MAX);
    return tls_count(SSL_read(tls_, into.data(), static_cast<int>(size)));
  }
  const ssize_t got = ::recv(fd_, into.data(), into.size(), 0);
  if (got > 0) return {IoState::kDone, static_cast<std::size_t>(got)};
  if (got == 0) return {IoState::kClosed};
  return {errno == EAGAIN || errno == EINTR ? IoState::kWouldBlock : IoState::kFailed};
}

IoCount HttpSocket::write(std::string_view bytes) {
  if (tls_ != nullptr) {
    const std::size_t size = std::min<std::size_t>(bytes.size(), INT_MAX);
    return tls_count(SSL_write(tls_, bytes.data(), static_cast<int>(size)));
  }
  const ssize_t sent = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
  if (sent >= 0) return {IoState::kDone, static_cast<std::size_t>(sent)};
  return {errno == EAGAIN || errno == EINTR ? IoState::kWouldBlock : IoState::kFailed};
}

void HttpSocket::end_writing() {
  if (tls_ != nullptr && SSL_in_init(tls_) == 0) {
    SSL_shutdown(tls_);
    ERR_clear_error();
  }
  ::shutdown(fd_, SHUT_WR);
}

}  // namespace postrider
