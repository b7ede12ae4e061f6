// What TLS needs to know of a line: whom we trust, who we are, and which key the far side must
// show. Used on the loop's thread.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "postrider/base/result.h"
#include "postrider/transports/net/tls.h"

// NOLINTBEGIN(readability-identifier-naming): OpenSSL's names
using X509 = struct x509_st;
using EVP_PKEY = struct evp_pkey_st;
// NOLINTEND(readability-identifier-naming)

namespace postrider {

inline constexpr std::size_t kPeerKeyBytes = 32;  // SHA-256

// Who we are: a private key and the certificates that lead from it to an authority, our own first.
struct LineIdentity {
  std::shared_ptr<EVP_PKEY> key;
  std::vector<std::shared_ptr<X509>> chain;
};
// Both in PEM, in any order. The error never repeats the text, which is a secret.
Result<LineIdentity> read_line_identity(std::string_view pem);

struct LinePeer {
  std::string name;         // the certificate must be for it; unused with a pinned key
  bool is_address = false;  // `name` is one
  std::string pinned;       // of kPeerKeyBytes; empty: the certificate decides
};
// `trust`: which authorities are trusted; `identity` may be null.
Result<std::unique_ptr<TlsStream>> call_by_tls(const TlsContext& trust,
                                               const LineIdentity* identity, const LinePeer& peer);

// For all lines that a listener accepts. With a pinned key each of them must show that key.
Result<TlsContext> listener_context(const LineIdentity& identity, bool pinned);
Result<std::unique_ptr<TlsStream>> answer_by_tls(const TlsContext& context);

}  // namespace postrider
