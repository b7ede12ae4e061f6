#include "postrider/transports/net/origin_host.h"

#include <utility>

#include "postrider/protocols/web/http_text.h"
#include "postrider/transports/net/target.h"

namespace postrider {

namespace {

// Where to connect to; nonsense stays nonsense.
void aim_at(OriginHost& host, std::string_view host_text, std::uint16_t port) {
  const HostReading reading = read_host(host_text);
  host.kind = reading.kind;
  host.address = reading.address;
  host.port = port;
  host.name = reading.kind == HostKind::kAddress ? to_string(reading.address) : to_lower(host_text);
}

}  // namespace

std::string OriginHost::certificate_name() const {
  return peer.ends_with('.') ? peer.substr(0, peer.size() - 1) : peer;
}

void OriginHosts::fill(OriginHost& host, std::string_view origin, std::string_view trust,
                       std::string_view via) {
  const auto parsed = parse_origin(origin);
  if (!parsed) return;
  aim_at(host, parsed->host, parsed->port);
  host.tls = parsed->tls;
  host.authority = parsed->authority;
  host.peer = host.name;
  host.peer_is_address = host.kind == HostKind::kAddress;
  if (!via.empty() && host.kind != HostKind::kNonsense) {
    const std::string elsewhere = std::string(host.tls ? "https://" : "http://").append(via);
    const auto place = parse_origin(elsewhere);
    host.kind = HostKind::kNonsense;
    if (place) aim_at(host, place->host, place->port);
  }
  if (!host.tls) return;
  auto context = context_of(trust);
  host.trusted = context.has_value();
  if (!context) return;
  host.tls_context = std::move(*context);
  host.tls_memory = std::make_shared<TlsMemory>();
}

Result<TlsContext> OriginHosts::context_of(std::string_view trust) {
  if (trust.empty()) {
    if (usual_ != nullptr) return usual_;
    POSTRIDER_TRY(system, tls_context_of_file(""));
    usual_ = system;
    return usual_;
  }
  const auto found = contexts_.find(trust);
  if (found != contexts_.end()) {
    if (TlsContext context = found->second.lock()) return context;
  }
  POSTRIDER_TRY(context, tls_context_of_pem(trust));
  std::erase_if(contexts_, [](const auto& entry) { return entry.second.expired(); });
  contexts_[std::string(trust)] = context;
  return context;
}

}  // namespace postrider
