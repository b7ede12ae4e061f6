#include "postrider/transports/net/origin_host.h"

#include <utility>

#include "postrider/protocols/web/http_text.h"
#include "postrider/transports/net/target.h"

namespace postrider {

std::string OriginHost::certificate_name() const {
  return name.ends_with('.') ? name.substr(0, name.size() - 1) : name;
}

void OriginHosts::fill(OriginHost& host, std::string_view origin, std::string_view trust) {
  const auto parsed = parse_origin(origin);
  if (!parsed) return;
  const HostReading reading = read_host(parsed->host);
  host.kind = reading.kind;
  host.address = reading.address;
  host.port = parsed->port;
  host.tls = parsed->tls;
  host.authority = parsed->authority;
  host.name =
      reading.kind == HostKind::kAddress ? to_string(reading.address) : to_lower(parsed->host);
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
