#include "postrider/api/access.h"

#include <algorithm>
#include <arpa/inet.h>
#include <netinet/in.h>

#include <openssl/crypto.h>
#include <openssl/evp.h>

#include "postrider/base/check.h"
#include "postrider/protocols/web/http_text.h"

namespace postrider::api {
namespace {

constexpr std::string_view kScheme = "bearer ";

std::string words_of(Scopes scopes) {
  std::string words;
  const auto add = [&](Scopes scope, std::string_view word) {
    if ((scopes & scope) != 0) words.append(words.empty() ? "" : " or ").append(word);
  };
  add(kSubmit, "submit");
  add(kRead, "read");
  add(kOperate, "operate");
  add(kReceive, "receive");
  return words;
}

// The secret of an Authorization header; empty when it is none of ours.
std::string_view secret_of(const HttpRequest& request) {
  const std::string_view header = request.header("authorization");
  if (header.size() <= kScheme.size()) return {};
  if (to_lower(header.substr(0, kScheme.size())) != kScheme) return {};
  const std::string_view secret = header.substr(kScheme.size());
  return secret.size() > kTokenSecretBytesMax ? std::string_view() : secret;
}

// The name or address of a Host header, without port and brackets, in lower case.
std::string host_of(std::string_view header) {
  const std::size_t bracket = header.starts_with('[') ? header.find(']') : std::string_view::npos;
  if (bracket != std::string_view::npos) return to_lower(header.substr(1, bracket - 1));
  std::string host = to_lower(header.substr(0, header.find(':')));
  if (host.ends_with('.')) host.pop_back();
  return host;
}

bool is_loopback_literal(const std::string& host) {
  in_addr four{};
  if (::inet_pton(AF_INET, host.c_str(), &four) == 1) return (ntohl(four.s_addr) >> 24) == 127;
  in6_addr six{};
  return ::inet_pton(AF_INET6, host.c_str(), &six) == 1 && IN6_IS_ADDR_LOOPBACK(&six);
}

}  // namespace

// It says so by Sec-Fetch-Site, or, where the connection is not trusted with that, by an Origin
// that is not the host it asks.
bool is_foreign_page(const HttpRequest& request) {
  const std::string_view site = request.header("sec-fetch-site");
  if (!site.empty()) return site != "same-origin" && site != "none";
  const std::string_view origin = request.header("origin");
  const std::size_t scheme = origin.find("://");
  if (origin.empty()) return false;
  return scheme == std::string_view::npos || origin.substr(scheme + 3) != request.header("host");
}

void Access::set_names(const std::vector<std::string>& names) {
  names_.clear();
  for (const std::string& name : names) names_.push_back(host_of(name));
}

// HTTP/1.0 may come without a Host; no browser does.
std::optional<Problem> Access::misdirected(const HttpRequest& request) const {
  if (!entries_.empty() || request.local) return std::nullopt;
  const std::string_view header = request.header("host");
  if (header.empty()) return std::nullopt;
  const std::string host = host_of(header);
  if (host == "localhost" || is_loopback_literal(host)) return std::nullopt;
  if (std::find(names_.begin(), names_.end(), host) != names_.end()) return std::nullopt;
  return complaint(ProblemType::kWrongHost,
                   "without tokens the daemon answers to localhost, loopback addresses and the "
                   "names in server.names only; ask by one of them, or give it a token");
}

Access::Digest Access::digest_of(std::string_view secret) {
  Digest digest{};
  // EVP_sha256() is looked up anew in each call of the one-shot functions; fetched once it is not.
  static const EVP_MD* const sha256 = EVP_MD_fetch(nullptr, "SHA256", nullptr);
  POSTRIDER_CHECK(
      EVP_Digest(secret.data(), secret.size(), digest.data(), nullptr, sha256, nullptr) == 1);
  return digest;
}

void Access::set_tokens(const std::vector<AccessToken>& tokens) {
  entries_.clear();
  for (const AccessToken& token : tokens) {
    Scopes scopes = 0;
    if (token.may_submit) scopes |= kSubmit;
    if (token.may_read) scopes |= kRead;
    if (token.may_operate) scopes |= kOperate;
    if (token.may_receive) scopes |= kReceive;
    entries_.push_back(
        {digest_of(token.secret), token.tenant, token.name, scopes, token.mailboxes});
  }
}

const Access::Entry* Access::find(std::string_view secret) const {
  const Digest digest = digest_of(secret);
  const Entry* found = nullptr;
  // All of them, whichever it is.
  for (const Entry& entry : entries_) {
    if (CRYPTO_memcmp(entry.digest.data(), digest.data(), digest.size()) == 0) found = &entry;
  }
  return found;
}

Checked<Access::Admitted> Access::admit(const HttpRequest& request, Scopes needed) const {
  const Admitted anyone{kDefaultTenant, request.local ? "socket" : "http"};
  if (needed == kNoToken || request.local) return anyone;
  if (entries_.empty()) {
    // A token cannot be sent by accident; without one every page that is open in a browser on this
    // machine could act for whoever looks at it. What it asks for it cannot read, there is no CORS.
    const bool asks = request.method == "GET" || request.method == "HEAD";
    if (asks || !is_foreign_page(request)) return anyone;
    return refuse(ProblemType::kForbidden,
                  "a page of another site asked the browser for this, and the daemon has no tokens "
                  "by which to tell who is who");
  }
  const std::string_view secret = secret_of(request);
  if (secret.empty()) {
    return refuse(ProblemType::kUnauthorized,
                  "send a token with the scope " + words_of(needed) +
                      " in the header Authorization: Bearer …, or use the Unix socket");
  }
  const Entry* entry = find(secret);
  if (entry == nullptr) {
    return refuse(ProblemType::kUnauthorized,
                  "this token is not known; look whether it was replaced");
  }
  if ((entry->scopes & needed) == 0) {
    return refuse(ProblemType::kForbidden, "this needs a token with the scope " + words_of(needed));
  }
  return Admitted{entry->tenant, entry->name, entry->mailboxes};
}

std::optional<Access::Admitted> Access::admit_token(std::string_view secret,
                                                    Scopes needed) const {
  if (secret.empty() || secret.size() > kTokenSecretBytesMax) return std::nullopt;
  const Entry* entry = find(secret);
  if (entry == nullptr || (entry->scopes & needed) == 0) return std::nullopt;
  return Admitted{entry->tenant, entry->name, entry->mailboxes};
}

Scopes Access::scopes_of(const HttpRequest& request) const {
  if (request.local || entries_.empty()) return kAnyScope;
  const Entry* entry = find(secret_of(request));
  return entry == nullptr ? Scopes{0} : entry->scopes;
}

}  // namespace postrider::api
