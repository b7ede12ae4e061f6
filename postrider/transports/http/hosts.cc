#include "postrider/transports/http/hosts.h"

#include <utility>

#include "postrider/protocols/http_text.h"
#include "postrider/transports/http/target.h"

namespace postrider {

Hosts::Hosts(TlsContext usual, std::size_t unused_max)
    : usual_(std::move(usual)), unused_max_(unused_max) {}

Host& Hosts::take(std::string_view origin, std::string_view trust) {
  std::string_view key = origin;
  if (!trust.empty()) {
    key_.assign(origin).append("\n").append(trust);
    key = key_;
  }
  auto found = hosts_.find(key);
  if (found == hosts_.end()) {
    found = hosts_.try_emplace(std::string(key)).first;
    found->second.key = &found->first;
    fill(found->second, origin, trust);
  } else if (found->second.users == 0) {
    found->second.Hook<UnusedHost>::unlink();
    --unused_;
  }
  ++found->second.users;
  return found->second;
}

void Hosts::leave(Host& host) {
  if (--host.users > 0) return;
  unused_list_.push_back(host);
  ++unused_;
  if (unused_ <= unused_max_) return;
  const std::string key = *unused_list_.front().key;  // the map frees the original while it looks
  hosts_.erase(hosts_.find(key));
  --unused_;
}

void Hosts::fill(Host& host, std::string_view origin, std::string_view trust) {
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

Result<TlsContext> Hosts::context_of(std::string_view trust) {
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
