#include "postrider/transports/net/tls.h"

#include <algorithm>
#include <climits>
#include <utility>

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include "postrider/base/check.h"

namespace postrider {

// Called by OpenSSL with a session that it gives away: 1 says that we keep it.
int keep_tls_session(SSL* ssl, SSL_SESSION* session) {
  auto* stream = static_cast<TlsStream*>(SSL_get_app_data(ssl));
  if (stream == nullptr) return 0;  // a library's, by bind_tls_context
  stream->memory_->session.reset(session);
  return 1;
}

namespace {

constexpr unsigned char kAlpnHttp1[] = "\x08http/1.1";
constexpr unsigned char kAlpnHttp2[] = "\x02h2";

// OpenSSL keeps a queue of errors per thread; a leftover would be blamed on the next stream.
class ErrorQueue {
 public:
  ErrorQueue() { ERR_clear_error(); }
  ~ErrorQueue() { ERR_clear_error(); }
  ErrorQueue(const ErrorQueue&) = delete;
  ErrorQueue& operator=(const ErrorQueue&) = delete;
};

Result<TlsContext> bare_context() {
  TlsContext context(SSL_CTX_new(TLS_client_method()), &SSL_CTX_free);
  if (context == nullptr) return fail(ErrorCode::kUnavailable, "OpenSSL gives no context");
  SSL_CTX* raw = context.get();
  SSL_CTX_set_verify(raw, SSL_VERIFY_PEER, nullptr);
  SSL_CTX_set_min_proto_version(raw, TLS1_2_VERSION);
  SSL_CTX_set_options(raw, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
  // Kept connections are many and quiet: they need no record buffers meanwhile.
  SSL_CTX_set_mode(raw, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE |
                            SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  SSL_CTX_set_session_cache_mode(raw, SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
  SSL_CTX_sess_set_new_cb(raw, &keep_tls_session);
  return context;
}

int int_of(std::size_t size) { return size > INT_MAX ? INT_MAX : static_cast<int>(size); }

}  // namespace

void TlsFree::operator()(SSL* ssl) const { SSL_free(ssl); }
void TlsFree::operator()(SSL_SESSION* session) const { SSL_SESSION_free(session); }

Result<TlsContext> tls_context_of_file(const std::string& file) {
  const ErrorQueue errors;
  POSTRIDER_TRY(context, bare_context());
  const bool good = file.empty() ? SSL_CTX_set_default_verify_paths(context.get()) == 1
                                 : SSL_CTX_load_verify_file(context.get(), file.c_str()) == 1;
  if (!good) return fail(ErrorCode::kInvalid, "no certificates can be read from '" + file + "'");
  return context;
}

Result<TlsContext> tls_context_of_pem(std::string_view pem) {
  const ErrorQueue errors;
  POSTRIDER_TRY(context, bare_context());
  const std::unique_ptr<BIO, decltype(&BIO_free)> bytes(
      BIO_new_mem_buf(pem.data(), int_of(pem.size())), &BIO_free);
  X509_STORE* store = SSL_CTX_get_cert_store(context.get());
  X509_STORE_set_flags(store, X509_V_FLAG_PARTIAL_CHAIN);
  int count = 0;
  while (bytes != nullptr) {
    const std::unique_ptr<X509, decltype(&X509_free)> certificate(
        PEM_read_bio_X509(bytes.get(), nullptr, nullptr, nullptr), &X509_free);
    if (certificate == nullptr) break;
    if (X509_STORE_add_cert(store, certificate.get()) != 1)
      return fail(ErrorCode::kInvalid, "a certificate cannot be used");
    ++count;
  }
  // The end shows as "no start line"; anything else is a certificate that cannot be read.
  const bool at_end = ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE;
  if (count == 0 || !at_end) return fail(ErrorCode::kInvalid, "no certificates in PEM");
  return context;
}

Result<void> bind_tls_context(const TlsContext& context, const std::string& host, bool is_address) {
  const ErrorQueue errors;
  X509_VERIFY_PARAM* wanted = SSL_CTX_get0_param(context.get());
  X509_VERIFY_PARAM_set_hostflags(wanted, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
  const bool bound = is_address ? X509_VERIFY_PARAM_set1_ip_asc(wanted, host.c_str()) == 1
                                : X509_VERIFY_PARAM_set1_host(wanted, host.c_str(), host.size());
  if (!bound) return fail(ErrorCode::kInvalid, "'" + host + "' cannot be in a certificate");
  // The library was given an address to connect to and names that, which is no name.
  SSL_CTX_set_info_callback(context.get(), [](const SSL* ssl, int where, int) {
    if ((where & SSL_CB_HANDSHAKE_START) == 0 || SSL_is_init_finished(ssl) == 1) return;
    SSL* own = const_cast<SSL*>(ssl);
    const char* name = X509_VERIFY_PARAM_get0_host(SSL_get0_param(own), 0);
    if (name == nullptr) return;
    SSL_ctrl(own, SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name, const_cast<char*>(name));
  });
  return {};
}

TlsStream::TlsStream(const TlsContext& context, const std::string& host, bool is_address,
                     std::shared_ptr<TlsMemory> memory, TlsProtocol protocol)
    : context_(context),
      ssl_(SSL_new(context.get())),
      in_(BIO_new(BIO_s_mem())),
      out_(BIO_new(BIO_s_mem())),
      memory_(std::move(memory)),
      protocol_(protocol) {
  POSTRIDER_CHECK(ssl_ != nullptr && in_ != nullptr && out_ != nullptr);  // out of memory
  SSL_set_bio(ssl_.get(), in_, out_);
  SSL_set_app_data(ssl_.get(), this);
  SSL_set_connect_state(ssl_.get());
  X509_VERIFY_PARAM* wanted = SSL_get0_param(ssl_.get());
  bool bound = false;
  if (is_address) {
    bound = X509_VERIFY_PARAM_set1_ip_asc(wanted, host.c_str()) == 1;
  } else {
    X509_VERIFY_PARAM_set_hostflags(wanted, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
    bound = X509_VERIFY_PARAM_set1_host(wanted, host.c_str(), host.size()) == 1 &&
            // What the macro SSL_set_tlsext_host_name does, without its cast.
            SSL_ctrl(ssl_.get(), SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name,
                     const_cast<char*>(host.c_str())) == 1;
  }
  bound = bound && (protocol == TlsProtocol::kHttp2
                        ? SSL_set_alpn_protos(ssl_.get(), kAlpnHttp2, sizeof kAlpnHttp2 - 1)
                        : SSL_set_alpn_protos(ssl_.get(), kAlpnHttp1, sizeof kAlpnHttp1 - 1)) == 0;
  POSTRIDER_CHECK(bound);  // without it any certificate would do
  if (memory_->session != nullptr) SSL_set_session(ssl_.get(), memory_->session.get());
}

TlsStream::TlsStream(const TlsContext& context, std::unique_ptr<SSL, TlsFree> ready)
    : context_(context),
      ssl_(std::move(ready)),
      in_(BIO_new(BIO_s_mem())),
      out_(BIO_new(BIO_s_mem())),
      protocol_(TlsProtocol::kNotSaid) {
  POSTRIDER_CHECK(ssl_ != nullptr && in_ != nullptr && out_ != nullptr);  // out of memory
  SSL_set_bio(ssl_.get(), in_, out_);
}

TlsStep TlsStream::step_of(int returned) const {
  switch (SSL_get_error(ssl_.get(), returned)) {
    case SSL_ERROR_WANT_READ: return TlsStep::kMore;
    case SSL_ERROR_ZERO_RETURN: return TlsStep::kClosed;
    default: return TlsStep::kFailed;
  }
}

void TlsStream::feed(std::string_view encrypted) {
  const int taken = BIO_write(in_, encrypted.data(), int_of(encrypted.size()));
  POSTRIDER_CHECK(taken == int_of(encrypted.size()));  // memory takes all, or there is none
}

TlsStep TlsStream::handshake() {
  const ErrorQueue errors;
  const int returned = SSL_do_handshake(ssl_.get());
  if (returned != 1) return step_of(returned);
  // OpenSSL has refused already; this says it a second time, in the one place that matters.
  const bool good = SSL_get_verify_result(ssl_.get()) == X509_V_OK && agreed();
  return good ? TlsStep::kDone : TlsStep::kFailed;
}

bool TlsStream::agreed() const {
  if (protocol_ != TlsProtocol::kHttp2) return true;
  const unsigned char* chosen = nullptr;
  unsigned int size = 0;
  SSL_get0_alpn_selected(ssl_.get(), &chosen, &size);
  return size == 2 && chosen[0] == 'h' && chosen[1] == '2';
}

TlsStep TlsStream::read(char* into, std::size_t room, std::size_t& got) {
  const ErrorQueue errors;
  const int returned = SSL_read(ssl_.get(), into, int_of(room));
  if (returned <= 0) return step_of(returned);
  got = static_cast<std::size_t>(returned);
  return TlsStep::kDone;
}

bool TlsStream::write(std::string_view plain) {
  const ErrorQueue errors;
  while (!plain.empty()) {
    const int written = SSL_write(ssl_.get(), plain.data(), int_of(plain.size()));
    if (written <= 0) return false;
    plain.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

void TlsStream::say_goodbye() {
  const ErrorQueue errors;
  if (SSL_is_init_finished(ssl_.get()) == 1) SSL_shutdown(ssl_.get());
}

std::string_view TlsStream::unsent() {
  char* data = nullptr;
  const long size = BIO_get_mem_data(out_, &data);  // NOLINT(google-runtime-int): OpenSSL's type
  return {data, static_cast<std::size_t>(size)};
}

void TlsStream::sent(std::size_t bytes) {
  // A memory BIO moves its bytes only when it must, so reading is how they are dropped.
  char nowhere[4096];
  while (bytes > 0) {
    const int dropped = BIO_read(out_, nowhere, int_of(std::min(bytes, sizeof nowhere)));
    POSTRIDER_CHECK(dropped > 0);
    bytes -= static_cast<std::size_t>(dropped);
  }
}

std::string TlsStream::peer_key() const {
  const ErrorQueue errors;
  const X509* const certificate = SSL_get0_peer_certificate(ssl_.get());
  if (certificate == nullptr) return {};
  unsigned char* encoded = nullptr;
  const int size = i2d_X509_PUBKEY(X509_get_X509_PUBKEY(certificate), &encoded);
  if (size <= 0) return {};
  std::string digest(EVP_MAX_MD_SIZE, '\0');
  unsigned int length = 0;
  const int hashed =
      EVP_Digest(encoded, static_cast<std::size_t>(size),
                 reinterpret_cast<unsigned char*>(digest.data()), &length, EVP_sha256(), nullptr);
  OPENSSL_free(encoded);
  if (hashed != 1) return {};
  digest.resize(length);
  return digest;
}

bool TlsStream::resumed() const { return SSL_session_reused(ssl_.get()) == 1; }

}  // namespace postrider
