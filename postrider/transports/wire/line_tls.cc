#include "postrider/transports/wire/line_tls.h"

#include <algorithm>
#include <climits>
#include <utility>

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

namespace postrider {
namespace {

using OwnedSsl = std::unique_ptr<SSL, TlsFree>;

std::unique_ptr<BIO, decltype(&BIO_free)> bytes_of(std::string_view text) {
  const auto size = static_cast<int>(std::min<std::size_t>(text.size(), INT_MAX));
  return {BIO_new_mem_buf(text.data(), size), &BIO_free};
}

// A key that needs a password is refused instead of asked for at the terminal.
int no_password(char* /*into*/, int /*room*/, int /*writes*/, void* /*argument*/) { return -1; }

// A pinned key is compared when the handshake is over; until then any certificate will do.
int take_any(int /*good*/, X509_STORE_CTX* context) {
  X509_STORE_CTX_set_error(context, X509_V_OK);
  return 1;
}

bool show(SSL* ssl, const LineIdentity& identity) {
  if (SSL_use_certificate(ssl, identity.chain.front().get()) != 1) return false;
  for (std::size_t i = 1; i < identity.chain.size(); ++i) {
    // What the macro SSL_add1_chain_cert does, without its cast.
    if (SSL_ctrl(ssl, SSL_CTRL_CHAIN_CERT, 1, identity.chain[i].get()) != 1) return false;
  }
  return SSL_use_PrivateKey(ssl, identity.key.get()) == 1 && SSL_check_private_key(ssl) == 1;
}

bool bind_name(SSL* ssl, const LinePeer& peer) {
  X509_VERIFY_PARAM* wanted = SSL_get0_param(ssl);
  if (peer.is_address) return X509_VERIFY_PARAM_set1_ip_asc(wanted, peer.name.c_str()) == 1;
  X509_VERIFY_PARAM_set_hostflags(wanted, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
  return X509_VERIFY_PARAM_set1_host(wanted, peer.name.c_str(), peer.name.size()) == 1;
}

bool say_name(SSL* ssl, const LinePeer& peer) {
  if (peer.is_address || peer.name.empty()) return true;
  return SSL_ctrl(ssl, SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name,
                  const_cast<char*>(peer.name.c_str())) == 1;
}

}  // namespace

Result<LineIdentity> read_line_identity(std::string_view pem) {
  ERR_clear_error();
  LineIdentity out;
  const auto keys = bytes_of(pem);
  if (keys != nullptr)
    out.key.reset(PEM_read_bio_PrivateKey(keys.get(), nullptr, &no_password, nullptr),
                  &EVP_PKEY_free);
  const auto certificates = bytes_of(pem);
  while (certificates != nullptr) {
    std::shared_ptr<X509> certificate(
        PEM_read_bio_X509(certificates.get(), nullptr, &no_password, nullptr), &X509_free);
    if (certificate == nullptr) break;
    out.chain.push_back(std::move(certificate));
  }
  ERR_clear_error();
  if (out.key == nullptr) return fail(ErrorCode::kInvalid, "there is no private key in PEM");
  if (out.chain.empty()) return fail(ErrorCode::kInvalid, "there is no certificate in PEM");
  const bool fits = X509_check_private_key(out.chain.front().get(), out.key.get()) == 1;
  ERR_clear_error();
  if (!fits) return fail(ErrorCode::kInvalid, "the first certificate is not that of the key");
  return out;
}

Result<std::unique_ptr<TlsStream>> call_by_tls(const TlsContext& trust,
                                               const LineIdentity* identity, const LinePeer& peer) {
  ERR_clear_error();
  OwnedSsl ssl(SSL_new(trust.get()));
  bool good = ssl != nullptr;
  if (good && !peer.pinned.empty()) {
    SSL_set_verify(ssl.get(), SSL_VERIFY_PEER, &take_any);
  } else {
    good = good && !peer.name.empty() && bind_name(ssl.get(), peer);
  }
  good = good && say_name(ssl.get(), peer);
  good = good && (identity == nullptr || show(ssl.get(), *identity));
  ERR_clear_error();
  if (!good) return fail(ErrorCode::kUnavailable, "TLS cannot be begun");
  SSL_set_connect_state(ssl.get());
  return std::make_unique<TlsStream>(trust, std::move(ssl));
}

Result<TlsContext> listener_context(const LineIdentity& identity, bool pinned) {
  ERR_clear_error();
  TlsContext context(SSL_CTX_new(TLS_server_method()), &SSL_CTX_free);
  if (context == nullptr) return fail(ErrorCode::kUnavailable, "OpenSSL gives no context");
  SSL_CTX* raw = context.get();
  SSL_CTX_set_min_proto_version(raw, TLS1_2_VERSION);
  // A line stays open; nothing is gained by resuming, and a ticket would be a secret to look after.
  SSL_CTX_set_options(raw, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_NO_TICKET);
  SSL_CTX_set_num_tickets(raw, 0);
  SSL_CTX_set_mode(raw, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE |
                            SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  SSL_CTX_set_session_cache_mode(raw, SSL_SESS_CACHE_OFF);
  bool good = SSL_CTX_use_certificate(raw, identity.chain.front().get()) == 1;
  for (std::size_t i = 1; good && i < identity.chain.size(); ++i)
    good = SSL_CTX_ctrl(raw, SSL_CTRL_CHAIN_CERT, 1, identity.chain[i].get()) == 1;
  good = good && SSL_CTX_use_PrivateKey(raw, identity.key.get()) == 1;
  if (pinned) SSL_CTX_set_verify(raw, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, &take_any);
  ERR_clear_error();
  if (!good) return fail(ErrorCode::kInvalid, "key and certificate cannot be used");
  return context;
}

Result<std::unique_ptr<TlsStream>> answer_by_tls(const TlsContext& context) {
  ERR_clear_error();
  OwnedSsl ssl(SSL_new(context.get()));
  if (ssl == nullptr) return fail(ErrorCode::kUnavailable, "TLS cannot be begun");
  SSL_set_accept_state(ssl.get());
  return std::make_unique<TlsStream>(context, std::move(ssl));
}

}  // namespace postrider
