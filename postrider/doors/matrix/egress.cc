#include "postrider/doors/matrix/egress.h"

#include <algorithm>
#include <optional>
#include <utility>

#include <openssl/crypto.h>

#include "postrider/doors/matrix/config.h"
#include "postrider/doors/matrix/replies.h"
#include "postrider/protocols/matrix/signing.h"
#include "postrider/protocols/matrix/transaction.h"
#include "postrider/protocols/web/http_text.h"

namespace postrider::matrix_door {
namespace {

constexpr std::string_view kBearer = "bearer ";
constexpr std::string_view kScheme = "matrix-federation://";
constexpr std::string_view kSend = "/_matrix/federation/v1/send/";
constexpr std::uint32_t kConnectionsMax = 4096;
constexpr std::uint64_t kHeldBytesMax = 64ULL << 20;
constexpr std::uint32_t kHeadBytesMax = 32 * 1024;

// Also of a target whose server name is none: what it is for decides how it is refused.
bool is_send(const HttpRequest& request) {
  if (request.method != "PUT" || !request.target.starts_with(kScheme)) return false;
  const std::size_t path = request.target.find('/', kScheme.size());
  return path != std::string_view::npos && request.target.substr(path).starts_with(kSend);
}

bool names_no_server(std::string_view target) {
  if (!target.starts_with(kScheme)) return true;
  target.remove_prefix(kScheme.size());
  return target.empty() || target.front() == '/';
}

}  // namespace

Egress::Egress(EgressOptions options, Relays& relays, TakeTransaction take)
    : options_(std::move(options)),
      digest_(matrix::sha256(options_.secret)),
      relays_(relays),
      take_(std::move(take)) {}

HttpLimits Egress::limits(HttpLimits usual) {
  usual.connections_max = std::min(usual.connections_max, kConnectionsMax);
  usual.head_bytes_max = std::max(usual.head_bytes_max, kHeadBytesMax);
  usual.body_bytes_max = matrix::TransactionLimits{}.bytes_max;
  usual.held_bytes_max = std::min(usual.held_bytes_max, kHeldBytesMax);
  return usual;
}

// Exactly one, and the right one. Hashes are compared, in constant time, so that nothing of the
// secret can be measured.
bool Egress::knows_secret(const HttpRequest& request) const {
  const auto is_ours = [](const HttpHeader& header) {
    return header.first == "proxy-authorization";
  };
  if (std::count_if(request.headers.begin(), request.headers.end(), is_ours) != 1) return false;
  const std::string_view given = request.header("proxy-authorization");
  if (given.size() <= kBearer.size() || given.size() > kBearer.size() + kSecretBytesMax)
    return false;
  if (to_lower(given.substr(0, kBearer.size())) != kBearer) return false;
  const auto digest = matrix::sha256(given.substr(kBearer.size()));
  return CRYPTO_memcmp(digest.data(), digest_.data(), digest.size()) == 0;
}

bool Egress::may_speak_to(std::string_view server) const {
  const auto& allowed = options_.allow_servers;
  return allowed.empty() || std::find(allowed.begin(), allowed.end(), server) != allowed.end();
}

void Egress::refuse(const HttpExchangePtr& exchange, const HttpResponse& response) {
  ++counts_.refused;
  exchange->respond(response);
}

std::optional<matrix::EgressTarget> Egress::check(const HttpRequest& request,
                                                  const HttpExchangePtr& exchange) {
  if (!knows_secret(request)) {
    ++counts_.unauthorized;
    exchange->respond(matrix_error(401, "the secret is missing, given twice or wrong"));
    return std::nullopt;
  }
  const bool send = is_send(request);
  // A relay that is refused is answered like one that failed, so that the homeserver goes on with
  // other servers.
  const auto no = [&](int status, std::string_view why) {
    refuse(exchange, send ? matrix_error(status, why) : not_relayed(why));
    return std::nullopt;
  };
  if (names_no_server(request.target)) {
    refuse(exchange, matrix_error(400, "the target must be matrix-federation://SERVER/path"));
    return std::nullopt;
  }
  auto target = matrix::parse_egress_target(request.target);
  if (!target) return no(400, target.error().detail);
  if (target->server.text == options_.server_name) return no(400, "the server is ourselves");
  if (!may_speak_to(target->server.text)) return no(403, "the server is not in the allow-list");
  if (!send) target->transaction_id.clear();
  if (send && target->transaction_id.empty())
    return no(400, "a transaction has an id of one segment");
  return std::move(*target);
}

HttpHandler Egress::handler() {
  HttpHandler handler;
  handler.forwards = true;
  handler.handle = [this](const HttpRequest& request, HttpExchangePtr exchange) {
    const auto target = check(request, exchange);
    if (!target) return;
    if (target->transaction_id.empty()) {
      static_cast<void>(relays_.relay(request, *target, exchange));
      return;
    }
    ++counts_.transactions;
    take_({.target = *target, .body = request.body, .exchange = std::move(exchange)});
  };
  handler.stream = [this](const HttpRequest& request,
                          const HttpExchangePtr& exchange) -> HttpBodySink {
    const auto target = check(request, exchange);
    if (!target || !target->transaction_id.empty()) return {};
    return relays_.relay(request, *target, exchange);
  };
  handler.refuse = [](int status, std::string_view detail) { return matrix_error(status, detail); };
  return handler;
}

}  // namespace postrider::matrix_door
